"""What a reader found in a source, before anybody has followed the games: the common language of all readers.

Players are seats of the record: `Player.X` is the one that the source names first. Scores are (X, O).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from engine.board import Board, flip, make_board
from engine.match import CubeOwner, MatchState
from engine.notation import Spoken
from engine.position import Player, Position
from engine.records.record import About, Action, CubeAnalysis, Ending, Note, PlayAnalysis, Source


@dataclass(slots=True)
class FoundPlay:
    """A roll and what the source says was done with it."""

    player: Player
    dice: tuple[int, int] | None
    spoken: Spoken | None = None
    """None: the source doesn't say (`????`), or gives boards only."""
    after: Board | None = None
    """int8[26], the mover's view, where the source gives it; it wins over `spoken` if both can't be true."""
    recorded: str = ""
    comment: str = ""
    analysis: PlayAnalysis | None = None
    spoken_candidates: Sequence[Spoken] = ()
    """What the source says about the plays of `analysis`, whose notation is then filled in."""
    cube_analysis: CubeAnalysis | None = None


@dataclass(slots=True)
class FoundCube:
    """A cube action. A double by the player who must answer one is a beaver, or a raccoon."""

    player: Player
    action: Action
    value: int | None = None
    """What the source says that the cube is turned to."""
    comment: str = ""
    cube_analysis: CubeAnalysis | None = None


FoundTurn = FoundPlay | FoundCube


@dataclass(slots=True)
class FoundGame:
    """A game as a source tells it."""

    score: tuple[int, int] | None = None
    """(X, O) before it; None: as the games before it make it."""
    number: int | None = None
    crawford: bool | None = None
    """None: the source doesn't say."""
    automatic_doubles: int = 0
    start: Position | None = None
    turns: list[FoundTurn] = field(default_factory=list)
    winner: Player | None = None
    points: int | None = None
    times: int | None = None
    """Where the source gives no points: 2 for a gammon, 3 for a backgammon."""
    ending: Ending | None = None
    """Only where the source says more than board and cube do."""
    comments: list[str] = field(default_factory=list)
    open_play: PlayAnalysis | None = None
    open_candidates: Sequence[Spoken] = ()
    open_cube: CubeAnalysis | None = None
    notes: list[Note] = field(default_factory=list)
    """Those of the reader; their game number is filled in."""


@dataclass(slots=True)
class FoundMatch:
    """A match as a source tells it."""

    source: Source
    players: tuple[str, str] = ("", "")
    match: MatchState = field(default_factory=MatchState)
    jacoby_known: bool = True
    """Whether the source says if the Jacoby rule holds; else results may tell."""
    beaver_known: bool = True
    games: list[FoundGame] = field(default_factory=list)
    about: About = field(default_factory=About)
    comment: str = ""
    notes: list[Note] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class SetUp:
    """A position as a source sets it up."""

    counts: Sequence[int]
    """26 signed counts in X's view: X's checkers are positive, place 25 is his bar, place 0 that of O."""
    player: Player
    """Whose turn it is."""
    cube: int = 1
    owner: Player | None = None
    """None: the cube is centred."""
    dice: tuple[int, int] | None = None

    def position(self, match: MatchState, score: tuple[int, int], crawford: bool) -> Position:
        """The position in a game that starts at this score.

        Raises:
            InputError: a board, a cube or a score that cannot be.
        """
        board = make_board(self.counts)
        owner = CubeOwner.CENTRED
        if self.owner is not None and self.cube > 1:
            owner = CubeOwner.MOVER if self.owner is self.player else CubeOwner.OPPONENT
        first = self.player is Player.X
        state = replace(
            match,
            score=score if first else (score[1], score[0]),
            cube_value=self.cube,
            cube_owner=owner,
            # Not all formats know caps: a cube above it shows that there was none.
            cube_cap=match.cube_cap if self.cube <= match.cube_cap else 2 * self.cube,
            crawford=crawford and match.length > 1 and max(score) == match.length - 1,
        )
        return Position(board if first else flip(board), state, self.dice, self.player)
