"""What an analysis says: decisions, players, games, matches and archives, as they stand in JSON.

Frozen dataclasses, written by pydantic without a model in between. Equities and losses are points with the cube in
units of the cube (EMG in a match), in the view of the player whose decision it was.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Any

from pydantic import TypeAdapter

from cluster.book.schemas import Standing
from engine.analysis.cube_errors import CubeError
from engine.analysis.position_type import PositionType
from engine.analysis.thresholds import Grade, LuckGrade
from engine.kernels.search import HIGHEST_LEVEL

ROLLOUT = "rollout"
"""The level of what was rolled out; the others are named `1-ply`, `2-ply`, ..."""


ROLLOUT_LEVEL = HIGHEST_LEVEL + 1
"""Its number, above those of all searches."""
BOOK = "book"
"""The level of what was judged by an opening book, which is done only where it was asked for."""
BOOK_LEVEL = ROLLOUT_LEVEL + 1


def level_name(level: int) -> str:
    """Of a search, of a rollout, or of a book."""
    return {ROLLOUT_LEVEL: ROLLOUT, BOOK_LEVEL: BOOK}.get(level, f"{level}-ply")


class DecisionKind(StrEnum):
    """What had to be decided."""

    PLAY = "play"
    DOUBLE = "double"
    """To double or to roll."""
    ANSWER = "answer"
    """To take, to pass, or to turn the cube back."""


@dataclass(frozen=True, slots=True)
class PlayCandidate:
    """One play."""

    play: str
    equity: float
    loss: float
    """Against the best of the same level; against the best of all where the level is lower, then only a hint."""
    level: str
    probabilities: tuple[float, ...]
    """Win, win gammon, win backgammon, lose gammon, lose backgammon."""
    mwc: float | None = None
    """Chance to win the match; none in money play."""
    se: float | None = None
    """Of a rollout."""


@dataclass(frozen=True, slots=True)
class CubeNumbers:
    """Equities of the actions, in the view of the player who could double; of an answer in that of who answers."""

    no_double: float | None
    take: float | None
    passed: float | None
    turned_back: float | None = None
    """Beaver or raccoon, where it is allowed."""
    win: float | None = None
    """Chance to win of the player to decide, where it is known."""


@dataclass(frozen=True, slots=True)
class GivenReason:
    """One of the reasons why the best play is better."""

    reason: str
    fact: str
    best: float
    played: float
    points: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class BookOpinion:
    """What an opening book says about a play: its values, not those of the analysis."""

    book: str
    """Its name."""
    line: str
    """How it gets to the position, as `31 8/5 6/5 64`: rolls and plays in turn, ending with the roll."""
    best: str
    standing: Standing | None
    """Of what was played; None: the book doesn't list it."""
    loss: float | None
    """Of what was played, in points; None where the book doesn't list it."""
    same_stakes: bool
    """Whether the book is for this score; False: a book for money, asked in a game of a match that is much like it."""


@dataclass(frozen=True, slots=True)
class DecisionResult:
    """One decision."""

    game: int
    turn: int
    """Which of the game's turns, from 1."""
    player: int
    """1 or 2, as the record names them."""
    kind: DecisionKind
    xgid: str
    type: PositionType
    dice: tuple[int, int] | None
    done: str | None
    """Play or cube action; none where the record stops."""
    legal: bool
    counts: bool
    """Whether it is a decision in ratings: unforced, legal and known."""
    best: str
    loss: float | None
    """None: nothing was done, it isn't known, or it is illegal."""
    grade: Grade | None
    level: str
    """Of both what was done and the best."""
    error: CubeError | None = None
    candidates: tuple[PlayCandidate, ...] = ()
    """The best ones and what was played, each with its level; those of lower levels stand last."""
    cube: CubeNumbers | None = None
    sentence: str = ""
    """Why the best is better, where something was lost."""
    reasons: tuple[GivenReason, ...] = ()
    luck: float | None = None
    """Of the roll, in points; at 1-ply."""
    luck_grade: LuckGrade | None = None
    comment: str = ""
    """Of the record."""
    book: BookOpinion | None = None
    """None where no book knows the position."""


@dataclass(frozen=True, slots=True)
class GroupFigures:
    """Some decisions together."""

    decisions: int
    pr: float
    se: float | None
    loss: float
    errors: int
    """Blunders among them."""
    blunders: int


@dataclass(frozen=True, slots=True)
class PlayerFigures:
    """One player over a game, a match or an archive."""

    name: str
    decisions: int
    pr: float | None
    """None without decisions."""
    se: float | None
    """Standard error; None with fewer than two decisions."""
    strength: str | None
    """What players call the PR; none with fewer than twenty decisions."""
    mark: float | None
    """From 10 (no error) to 0."""
    errors: int
    blunders: int
    loss: float
    checker: GroupFigures | None
    cube: GroupFigures | None
    by_type: dict[str, GroupFigures]
    cube_errors: dict[str, GroupFigures]
    rolls: int
    luck: float
    """Sum over all rolls, in points."""
    lucky: int
    """Rolls that were lucky or very lucky."""
    unlucky: int


@dataclass(frozen=True, slots=True)
class GameFigures:
    """One game."""

    number: int
    score: tuple[int, int]
    crawford: bool
    winner: int | None
    points: int | None
    ending: str | None
    players: tuple[PlayerFigures, PlayerFigures]


@dataclass(frozen=True, slots=True)
class ConditionsShown:
    """How everything was valued."""

    net: str
    policy: str
    level: int
    filter: str
    met: str
    efficiency: str
    rollout_close: float
    bearoff_checkers: int
    from_book: bool = False
    """Whether plays that a book lists were judged by its values instead; their level is then `book`."""


@dataclass(frozen=True, slots=True)
class MatchAnalysis:
    """One match."""

    file: str
    """Path below what was asked for."""
    digest: str
    """Of the file's content."""
    format: str
    players: tuple[str, str]
    length: int
    """0: money."""
    rules: str
    event: str
    date: str
    final_score: tuple[int, int]
    winner: int | None
    """1 or 2; None: not finished, or money."""
    luck_adjusted: float | None
    """Of player 1: chance to have won the match without the luck of the dice; in money play points. None where the
    result isn't known."""
    figures: tuple[PlayerFigures, PlayerFigures]
    levels: dict[str, int]
    """How many counted decisions were judged at which level."""
    games: tuple[GameFigures, ...]
    decisions: tuple[DecisionResult, ...]
    """All plays, offers and answers, and turns without a double where one was close or right."""
    illegal_plays: int
    notes: tuple[str, ...]
    """What the reader had to say."""
    conditions: ConditionsShown


_adapter: Callable[[Any], TypeAdapter[Any]] = cache(TypeAdapter)


def to_json(result: object) -> bytes:
    """A result as a JSON document; the same result has the same bytes."""
    return _adapter(type(result)).dump_json(result) + b"\n"
