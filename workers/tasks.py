"""What is sent to a worker and what comes back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.board import Board
from engine.cube import CubePlay
from engine.efficiency import CubeEfficiency
from engine.match import MatchState
from engine.met import MatchEquityTable
from engine.position import Position
from engine.rollout import Candidate, RolloutSettings, TrialRows
from engine.search import MoveFilter
from engine.versus import VersusSettings


@dataclass(frozen=True)
class RolloutTask:
    """Trials `first .. first + count - 1` of some candidates, all on the same dice."""

    settings: RolloutSettings
    candidates: tuple[Candidate, ...]
    series: tuple[str, ...]
    """Content key of each candidate's trials, in the order of `candidates`."""
    first: int
    count: int

    def __repr__(self) -> str:
        last = self.first + self.count - 1
        return f"trials {self.first}-{last} of {len(self.candidates)} candidate(s), series {', '.join(self.series)}"


@dataclass(frozen=True)
class RolloutOutput:
    """Rows of each candidate, in the order of the task."""

    rows: tuple[TrialRows, ...]


@dataclass(frozen=True, eq=False)
class SearchTask:
    """A roll in a position of an opening book: which plays are worth trials? Its output is its `SearchedPlay`s."""

    entry: str
    """Id of the book's entry."""
    position: Position
    """With dice, at the score of the player to decide."""
    level: int
    filter: MoveFilter
    cube: CubePlay | None
    """None: values are cubeless points."""
    margin: float
    """Equity: plays no further behind the best one."""
    most: int
    """Of these at most so many."""

    def __repr__(self) -> str:
        return f"{self.level}-ply search for entry {self.entry}"


@dataclass(frozen=True, eq=False)
class SearchedPlay:
    """A play that a search puts near the best one."""

    play: str
    after: Board
    """In the mover's view."""
    equity: float
    """Mover's view, at the stakes of the search."""
    level: int


@dataclass(frozen=True)
class GnubgOpponent:
    """GNU Backgammon plays B."""

    version: str
    """The one that the question is about."""


@dataclass(frozen=True)
class MatchTask:
    """Pairs `first .. first + count - 1` between A and B; its output is their `engine.versus.PairRows`."""

    settings: VersusSettings
    level_a: int
    level_b: int
    opponent: GnubgOpponent | None
    """None: the second pair of nets."""
    first: int
    count: int

    def __repr__(self) -> str:
        return f"pairs {self.first}-{self.first + self.count - 1} of a match"


@dataclass(frozen=True, eq=False)
class Table:
    """What values with the cube depend on besides the position; equal for all questions of a batch."""

    met: MatchEquityTable | None
    efficiency: CubeEfficiency
    bearoff_checkers: int
    """Of a side in the two-sided database."""


@dataclass(frozen=True, eq=False)
class NodeBatch:
    """After-positions to be valued at a level; its output is `NodeValues`."""

    table: Table
    level: int
    matches: tuple[MatchState, ...]
    match_of: NDArray[np.int32]
    """[N]: which of `matches` each belongs to, which has the view of the player who is on roll next."""
    boards: NDArray[np.int8]
    """[N, 26], the view of the player who has just moved."""

    def __repr__(self) -> str:
        return f"{len(self.boards)} positions at {self.level}-ply"


@dataclass(frozen=True, eq=False)
class NodeValues:
    """See `engine.cubeful.CubefulEvaluator.after_position`."""

    outcomes: NDArray[np.int64]
    """[N, 5] in 1/2**20, the view of the player who has just moved."""
    rolling: NDArray[np.int64]
    """[N, MOST_STATES] in 1/2**30, the view of the player on roll; zero beyond the states of the question."""


@dataclass(frozen=True, eq=False)
class RollBatch:
    """Rolls whose plays are to be valued at 1-ply, with the luck of the roll; its output is `RollPlays`."""

    table: Table
    matches: tuple[MatchState, ...]
    match_of: NDArray[np.int32]
    """[N]: the view of the player who has rolled."""
    boards: NDArray[np.int8]
    """[N, 26], his view."""
    dice: NDArray[np.int8]
    """[N, 2], the higher first."""
    wanted: NDArray[np.int8]
    """[W, 26]: after-positions whose values are wanted however bad they are."""
    wanted_of: NDArray[np.int32]
    """[W], rising: which roll each belongs to."""
    keep: int
    """Plays of a roll to give back, the best ones."""
    every_play: bool
    """Luck by all plays of all rolls, rather than by those that the filter net likes."""

    def __repr__(self) -> str:
        return f"{len(self.boards)} rolls at 1-ply"


@dataclass(frozen=True, eq=False)
class RollPlays:
    """Plays of some rolls: the best ones and those that were wanted, of each roll the best first."""

    legal: NDArray[np.int32]
    """[N]: how many legal plays there are."""
    starts: NDArray[np.int32]
    """[N + 1]: the plays of roll n are those from `starts[n]` up to `starts[n + 1]`."""
    afters: NDArray[np.int8]
    """[K, 26], the view of the player who has rolled."""
    outcomes: NDArray[np.int64]
    """[K, 5] in 1/2**20."""
    values: NDArray[np.int64]
    """[K] in 1/2**30, with the cube."""
    cubeless: NDArray[np.int64]
    """[K], see `engine.cubeful.RolledPlays`."""
    order: NDArray[np.int16]
    """[K]: places in the order of generation."""
    rolls: NDArray[np.int64]
    """[N, 21] in 1/2**30: what the best play of each roll would have been worth."""
