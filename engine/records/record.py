"""One typed record for every format: a match, its games, their turns, with comments and analyses that were found.

Views: `Player.X` is the **first-named player** (left column of a match text, White in an SGF of GNU Backgammon, player
1 of XG, "green" of BGBlitz). Scores are (X, O). Every number of an analysis is in the view of the player whose turn it
is attached to; a cube analysis is in the view of the player who could double, also on a take or a pass.

A play is kept as the standard notation of what was done, in the mover's numbering, so that the same match gives the
same record whatever file it came from. `recorded` holds the words of the source where they say something else.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field, replace

from engine.match import MatchState
from engine.position import Player, Position


class RecordFormat(enum.Enum):
    """Kinds of files."""

    MAT = "mat"
    """Match text as Jellyfish wrote it: `25/20`, `6/0`."""
    TXT = "txt"
    """Match text as XG writes it: `Bar/20`, `6/Off`, `8/5(2)`, `Cannot Move`. Both are read by one reader."""
    SGF = "sgf"
    XG = "xg"
    """Also XG's position files, .xgp."""
    BGF = "bgf"
    GNU_TEXT = "gnu-text"
    """GNU Backgammon's text export of an analysed game or match."""
    POSITION_TEXT = "position-text"
    """Text exports of XG and BGBlitz: an XGID with a diagram, and the analysis."""
    XGID = "xgid"
    """A list of IDs, one a line: XGIDs, GNU IDs or both."""
    JSON = "json"
    """Ours, which holds everything."""


class Action(enum.Enum):
    """What a player does with a turn or a decision."""

    PLAY = "play"
    """Dice are rolled and played."""
    ROLL = "roll"
    """The dice are rolled where a double was possible. Never a turn: it is the decision before a play."""
    DOUBLE = "double"
    TAKE = "take"
    PASS = "pass"
    BEAVER = "beaver"
    RACCOON = "raccoon"


class Ending(enum.Enum):
    """How a game ended."""

    PLAYED = "played"
    """One player bore off his last checker."""
    PASSED = "passed"
    """An offer of the cube was not accepted."""
    RESIGNED = "resigned"
    """The record stops before that and says who won: resigned, conceded or settled."""
    TIME = "time"
    FORFEIT = "forfeit"


class Problem(enum.Enum):
    """What may be wrong with a record."""

    ILLEGAL_PLAY = "illegal play"
    ILLEGAL_CUBE = "illegal cube action"
    CUT = "cut"
    """The rest of the game can't be followed and was left out."""
    UNFINISHED = "unfinished"
    SCORE = "score"
    """Score, result and play don't fit together."""
    IGNORED = "ignored"
    """Something was not understood, or stands in no field of the record, and was left out."""


@dataclass(frozen=True, slots=True)
class Note:
    """One thing that a reader has to say about a record."""

    problem: Problem
    reason: str
    """A sentence without a full stop, fit to show."""
    game: int | None = None
    """Number of the game, from 1."""
    turn: int | None = None
    """Which of the game's turns, from 1."""

    def __str__(self) -> str:
        where = "".join(
            f"{name} {number}, " for name, number in (("game", self.game), ("turn", self.turn)) if number is not None
        )
        return f"{where}{self.problem.value}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Chances:
    """Five cumulative probabilities as another program gave them (a zero is a value)."""

    win: float
    win_gammon: float
    win_backgammon: float
    lose_gammon: float
    lose_backgammon: float


@dataclass(frozen=True, slots=True)
class Candidate:
    """One play of an analysis."""

    play: str
    """Standard notation."""
    equity: float
    """As the program gave it: cubeful where it looked at the cube, normalised to the cube."""
    chances: Chances | None = None
    level: str = ""
    """The program's own name for how deep it looked."""
    found: str = ""
    """The source's own words, written back where the same format is written."""


@dataclass(frozen=True, slots=True)
class PlayAnalysis:
    """What another program said about the plays of a roll."""

    candidates: tuple[Candidate, ...] = ()
    """In the order of the source."""
    luck: float | None = None
    """Equity that the roll was worth; None where nothing was said."""
    program: str = ""


class Unit(enum.Enum):
    """What the values of a cube analysis are."""

    EQUITY = "equity"
    """Points for money; in a match normalised to the cube, so that a pass costs 1."""
    MWC = "mwc"
    """Match-winning chances."""


@dataclass(frozen=True, slots=True)
class CubeAnalysis:
    """What another program said about a double, in the view of the player who could double."""

    unit: Unit = Unit.EQUITY
    no_double: float | None = None
    double_take: float | None = None
    double_pass: float | None = None
    chances: Chances | None = None
    level: str = ""
    program: str = ""
    found: str = ""


@dataclass(frozen=True, slots=True)
class Play:
    """A roll and what was done with it."""

    player: Player
    dice: tuple[int, int] | None
    """The higher first; None where the record doesn't say."""
    play: str | None
    """Standard notation in the mover's numbering, `no play` if nothing moved; None where the record doesn't say."""
    legal: bool = True
    """Illegal plays stay in the record but say nothing about skill."""
    recorded: str = ""
    """The source's own words, if the play is illegal."""
    comment: str = ""
    analysis: PlayAnalysis | None = None
    cube_analysis: CubeAnalysis | None = None
    """Of the decision before the roll."""

    @property
    def action(self) -> Action:
        """PLAY."""
        return Action.PLAY


@dataclass(frozen=True, slots=True)
class CubeTurn:
    """A double, or an answer to one."""

    player: Player
    action: Action
    comment: str = ""
    cube_analysis: CubeAnalysis | None = None


Turn = Play | CubeTurn


@dataclass(frozen=True, slots=True)
class GameResult:
    """Who won a game and how much."""

    winner: Player
    points: int
    """Cube included."""
    ending: Ending


@dataclass(frozen=True, slots=True)
class GameRecord:
    """One game, or one position if there are no turns."""

    number: int
    """From 1, as the record counts."""
    score: tuple[int, int] = (0, 0)
    """Before the game, (X, O)."""
    crawford: bool = False
    automatic_doubles: int = 0
    """How often equal opening dice turned the cube before the first turn."""
    start: Position | None = None
    """Where a game begins that doesn't begin with the usual position, with cube and dice; None: the usual one."""
    turns: tuple[Turn, ...] = ()
    result: GameResult | None = None
    """None: the record doesn't say."""
    comment: str = ""
    """Everything said about the game that belongs to no turn."""
    open_play: PlayAnalysis | None = None
    """Analysis of the decision at which the record stops."""
    open_cube: CubeAnalysis | None = None


@dataclass(frozen=True, slots=True)
class About:
    """Where, when and by whom."""

    event: str = ""
    round: str = ""
    place: str = ""
    date: str = ""
    """YYYY-MM-DD where the source could be read that way, else as it stands there."""
    annotator: str = ""
    ratings: tuple[str, str] = ("", "")
    """(X, O), as found."""
    other: tuple[tuple[str, str], ...] = ()
    """Further (name, value) pairs of the source's header."""


@dataclass(frozen=True, slots=True)
class Source:
    """What was read."""

    format: RecordFormat
    program: str = ""
    encoding: str = ""


@dataclass(frozen=True, slots=True)
class MatchRecord:
    """A match, a money session or a collection of positions."""

    players: tuple[str, str] = ("", "")
    """(X, O)."""
    match: MatchState = field(default_factory=MatchState)
    """What holds for all games: length, rules, options, cube cap. Score and cube of it mean nothing."""
    games: tuple[GameRecord, ...] = ()
    about: About = field(default_factory=About)
    comment: str = ""
    notes: tuple[Note, ...] = ()
    source: Source | None = None

    @property
    def turns(self) -> int:
        """In all games."""
        return sum(len(game.turns) for game in self.games)

    @property
    def illegal_plays(self) -> int:
        """Plays that the rules don't allow."""
        return sum(isinstance(turn, Play) and not turn.legal for game in self.games for turn in game.turns)

    @property
    def final_score(self) -> tuple[int, int]:
        """(X, O) after the last game whose result is known."""
        score = (0, 0)
        for game in self.games:
            score = game.score
            if game.result is not None:
                won = game.result.points
                score = (score[0] + won, score[1]) if game.result.winner is Player.X else (score[0], score[1] + won)
        return score

    def plays_only(self) -> MatchRecord:
        """Without everything that formats keep differently: names, comments, analyses, notes, source.

        Two records of the same match are equal in this, whatever files they came from, as far as these name the same
        player first.
        """
        return MatchRecord(match=self.match, games=tuple(_bare_game(game) for game in self.games))


def _bare_game(game: GameRecord) -> GameRecord:
    turns = tuple(_bare_turn(turn) for turn in game.turns)
    result = game.result
    if result is not None and result.ending in (Ending.TIME, Ending.FORFEIT):
        result = replace(result, ending=Ending.RESIGNED)
    return replace(game, turns=turns, result=result, comment="", open_play=None, open_cube=None)


def _bare_turn(turn: Turn) -> Turn:
    if isinstance(turn, Play):
        return replace(turn, recorded="", comment="", analysis=None, cube_analysis=None)
    return replace(turn, comment="", cube_analysis=None)
