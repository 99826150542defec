"""Rollouts: what is asked, and the trials that answer it.

A trial is a pure function of (net, settings, candidate, trial number), so any range of trials can be computed
anywhere and kept for ever; everything that depends on several trials or candidates is made from the rows in
`engine.tally`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from engine.bearoff import NO_DATABASES, TWO_SIDED_CHECKERS, check_two_sided
from engine.board import Board, flip
from engine.cube import CubeBranch, CubePlay
from engine.cube_roller import CubeRoller
from engine.errors import InputError, InternalError
from engine.evaluator import Evaluator, IntegerNets, Nets
from engine.kernels.bearoff import BearoffArrays
from engine.kernels.cube_rollout import COLUMNS
from engine.kernels.network import ONE
from engine.kernels.rollout import FirstMoves, TrialRules, roll_trials
from engine.memory import writable
from engine.rules import RuleSet

RESULT_VERSION = 2
"""Raised whenever the same question would get other bits: part of every content key."""

LEVEL_2_PLAYS = 4
LEVEL_2_MARGIN = 0.08
"""At level 2 a trial looks at the best plays by 1-ply: at most so many, none this much equity worse than the first."""

ROW = 10
"""Numbers a trial leaves: five outcomes, then the luck in each of them (1/2**20, view of the question's mover)."""

_REMEMBERED = 64
"""Candidates of which a worker remembers the first half-moves (5 kB each)."""

CUBE_ROW = 2 * COLUMNS
"""With the cube: the five outcomes and the value (equity in units of the cube), then the luck in each of the six."""

TrialRows = NDArray[np.int32]  # int32[N, ROW], or [N, CUBE_ROW] with the cube


@dataclass(frozen=True, slots=True)
class RolloutSettings:
    """How trials are played; together with the net and the candidate it fixes every bit of every trial."""

    rules: RuleSet
    seed: int = 1
    level: int = 1
    """Plies (counted from 1) with which both sides choose their plays."""
    truncate: int | None = None
    """Half-moves after which the network's value ends a trial; None plays to the end."""
    variance_reduction: bool = True
    bearoff: bool = True
    """Whether a trial ends, with exact chances, in the bear-off databases (where they hold for the rules)."""
    cube: CubePlay | None = None
    """With the cube: both sides use it in the trials; None: cubeless."""
    bearoff_checkers: int = TWO_SIDED_CHECKERS
    """Checkers a side up to which these chances are those of best play by both sides."""

    def __post_init__(self) -> None:
        if self.level not in (1, 2):
            raise InputError("level", self.level, "1 or 2 (plies with which the trials are played)")
        if not 0 <= self.seed < 2**63:
            raise InputError("seed", self.seed, "a whole number from 0 to 2**63 - 1")
        if self.truncate is not None and not 1 <= self.truncate <= 1000:
            raise InputError("truncate", self.truncate, "a whole number of half-moves from 1 to 1000")
        check_two_sided(self.bearoff_checkers)

    @property
    def row(self) -> int:
        """Numbers that a trial leaves."""
        return ROW if self.cube is None else CUBE_ROW

    @property
    def uses_bearoff(self) -> bool:
        """Whether the databases can matter."""
        return self.bearoff and self.rules.databases_hold


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """Where the trials of one candidate start."""

    board: Board
    """View of the player who rolls first."""
    mover_rolls: bool
    """Whether he is the question's mover (a position before the roll) or his opponent (the position after a play)."""
    branch: CubeBranch = CubeBranch.OPEN

    @staticmethod
    def after_play(after: Board) -> Candidate:
        """The position after a play (`after` in the mover's view)."""
        return Candidate(flip(after), mover_rolls=False)

    @staticmethod
    def before_roll(board: Board, branch: CubeBranch = CubeBranch.NO_DOUBLE) -> Candidate:
        """The mover's position before his roll."""
        return Candidate(np.array(board), mover_rolls=True, branch=branch)


class Roller:
    """Plays trials with one pair of nets on one thread.

    Args:
        bearoff: the databases; without them only questions that don't use them can be answered.
    """

    def __init__(self, nets: Nets | IntegerNets, bearoff: BearoffArrays = NO_DATABASES) -> None:
        self._evaluator = Evaluator(nets, bearoff)
        self._has_databases = bearoff is not NO_DATABASES
        self._first_moves: dict[tuple[bytes, bool, CubeBranch | None, RolloutSettings], FirstMoves] = {}
        self._cube: CubeRoller | None = None  # made when a rollout with the cube first comes

    def trials(self, candidate: Candidate, settings: RolloutSettings, first: int, count: int) -> TrialRows:
        """Rows int32[count, settings.row] of trials `first .. first + count - 1`."""
        rows = np.zeros((count, settings.row), dtype=np.int32)
        how = TrialRules(
            seed=settings.seed,
            level=settings.level,
            width=LEVEL_2_PLAYS,
            margin=round(LEVEL_2_MARGIN * ONE),
            truncate=settings.truncate or 0,
            reduce=settings.variance_reduction,
        )
        if settings.uses_bearoff and not self._has_databases:
            raise InternalError("these trials need the bear-off databases")
        moves = self._first_moves_of(candidate, settings)
        if settings.cube is not None:
            self._cube = self._cube or CubeRoller(self._evaluator)
            self._cube.trials(candidate, settings, how, first, moves, rows)
            return rows
        w, w2, *_ = self._evaluator.workspaces
        engine = self._evaluator.engine(settings.rules, endings=settings.uses_bearoff)
        roll_trials(writable(candidate.board), candidate.mover_rolls, first, how, engine, w, w2, moves, rows)
        return rows

    def _first_moves_of(self, candidate: Candidate, settings: RolloutSettings) -> FirstMoves:
        """What is already known of the first half-move of these trials; whatever the seed is."""
        branch = candidate.branch if settings.cube else None
        alike = replace(settings, seed=0, truncate=None)
        key = (candidate.board.tobytes(), candidate.mover_rolls, branch, alike)
        found = self._first_moves.pop(key, None)
        if found is None:
            columns = settings.row // 2
            found = FirstMoves(
                ready=np.zeros(36, dtype=np.bool_),
                luck36=np.zeros((36, columns), dtype=np.int64),
                plays=np.zeros((36, 26), dtype=np.int8),
                values=np.zeros((36, columns), dtype=np.int64),
            )
        self._first_moves[key] = found  # the latest goes to the end
        if len(self._first_moves) > _REMEMBERED:
            del self._first_moves[next(iter(self._first_moves))]
        return found
