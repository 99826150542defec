"""Evaluating positions: the nets of an evaluator, ready to answer on one thread."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine import outcome as outcomes
from engine.bearoff import NO_DATABASES
from engine.board import CHECKERS, Board, flip
from engine.kernels.bearoff import BearoffArrays
from engine.kernels.facts import TABLES
from engine.kernels.filter import FILTER_ROWS, FilterNet
from engine.kernels.network import LAST, ONE, IntNet, evaluate_boards
from engine.kernels.play import Engine, Workspace, rank_roll
from engine.kernels.search import HIGHEST_LEVEL, value_after
from engine.kernels.vectors import SMALL_TILE
from engine.memory import writable
from engine.rules import RuleSet
from engine.scratch import make_memory, make_workspace
from engine.weights import Net, quantise, quantise_filter

INNER_PLAYS = 4
"""Plays of a roll, the filter net's best, that the main net looks at inside a search tree."""
LUCK_PLAYS = 3
"""The same where the luck of a roll is worked out."""


@dataclass(frozen=True, slots=True)
class Nets:
    """The main net and the filter net that goes with it (None: the main net looks at every play everywhere)."""

    main: Net
    filter: Net | None = None

    @property
    def digest(self) -> str:
        """Names both."""
        return f"{self.main.digest}-{self.filter.digest if self.filter else 'all'}"

    def integers(self) -> IntegerNets:
        """Their integer twins.

        Raises:
            InputError: weights so large that sums could overflow.
        """
        return IntegerNets(quantise(self.main), quantise_filter(self.filter) if self.filter else None, self.digest)


@dataclass(frozen=True, slots=True, eq=False)
class IntegerNets:
    """The twins of a pair of nets: all that playing needs, in a third of the memory of both."""

    main: IntNet
    filter: FilterNet | None
    digest: str
    """Of the nets they are twins of."""


@dataclass(frozen=True, slots=True)
class Valuation:
    """What a position is worth: the five probabilities and the cubeless equity, both in the mover's view."""

    outcome: tuple[float, float, float, float, float]
    equity: float


class Evaluator:
    """Nets with their work space; don't share one between threads."""

    def __init__(self, nets: Nets | IntegerNets, bearoff: BearoffArrays = NO_DATABASES) -> None:
        twins = nets.integers() if isinstance(nets, Nets) else nets
        self.nets = nets
        self._bearoff = bearoff
        self._main = twins.main
        self._filter = twins.filter or _no_filter()
        self._keep, self._luck_keep = (INNER_PLAYS, LUCK_PLAYS) if twins.filter else (0, 0)
        width = self._filter.bias.shape[1]
        self.workspaces: tuple[Workspace, ...] = tuple(
            make_workspace(self._main.bias.shape[1], width) for _ in range(HIGHEST_LEVEL)
        )
        self._engines: dict[tuple[RuleSet, bool], Engine] = {}

    def engine(self, rules: RuleSet, endings: bool = True) -> Engine:
        """What the kernels need to play by a rule set; without `endings` no game ends in the databases."""
        key = (rules, endings)
        if key not in self._engines:
            self._engines[key] = Engine(
                net=self._main,
                filter=self._filter,
                bearoff=self._bearoff if endings and rules.databases_hold else NO_DATABASES,
                keep=self._keep,
                luck_keep=self._luck_keep,
                memory=make_memory(),
                utility=rules.utility,
                flags=rules.move_flags,
                checkers=rules.start.checkers,
            )
        return self._engines[key]

    def forget(self) -> None:
        """Empty what searches remember: it changes no answer, only the time that it takes."""
        for engine in self._engines.values():
            engine.memory.boards[:] = 0

    def after_positions(self, boards: NDArray[np.int8], checkers: int = CHECKERS) -> NDArray[np.int64]:
        """The main net's outcomes of after-positions (int8[N, 26]), in the view of the players who just moved.

        Args:
            checkers: of each side at the start: only a side that still has them all can lose a gammon.

        Returns:
            int64[N, 5] in 1/2**20, cumulative; exact for finished games.
        """
        result = np.zeros((len(boards), outcomes.OUTCOMES), dtype=np.int64)
        s = self.workspaces[0].main
        evaluate_boards(writable(boards), self._main, NO_DATABASES, checkers, s, result)
        return result

    def after_position(self, board: Board, rules: RuleSet, level: int) -> NDArray[np.int64]:
        """Outcome int64[5] in 1/2**20 of one after-position at a level, in the view of the player who just moved."""
        result = np.zeros(outcomes.OUTCOMES, dtype=np.int64)
        _, w4, w3, w2 = self.workspaces
        value_after(writable(board), level, self.engine(rules), w4, w3, w2, result)
        return result

    def plays(self, board: Board, dice: tuple[int, int], rules: RuleSet) -> tuple[NDArray[np.int8], NDArray[np.int64]]:
        """All legal plays with their 1-ply outcomes, in generation order.

        Returns:
            (after-positions int8[P, 26], outcomes int64[P, 5] in 1/2**20), both in the mover's view.
        """
        w = self.workspaces[0]
        n = rank_roll(writable(board), dice[0], dice[1], self.engine(rules), w)
        return w.main.plays[:n].copy(), w.main.outcomes[:n].copy()

    def before_roll(self, board: Board, rules: RuleSet, level: int = 1) -> Valuation:
        """A position whose mover is about to roll, in the mover's view."""
        before = self.after_position(flip(board), rules, level)
        return valuation(outcomes.invert(before / ONE), rules)


def valuation(outcome: NDArray[np.float64], rules: RuleSet) -> Valuation:
    """Probabilities (float64[5]) with their cubeless equity in the same view."""
    win, gammon, backgammon, lose_gammon, lose_backgammon = (float(p) for p in outcome)
    equity = float(outcomes.cubeless_equity(outcome, rules))
    return Valuation((win, gammon, backgammon, lose_gammon, lose_backgammon), equity)


def _no_filter() -> FilterNet:
    """Stands where no filter net is used; nothing reads it."""
    return FilterNet(
        table=np.zeros((TABLES, 1, FILTER_ROWS, SMALL_TILE), dtype=np.int16),
        bias=np.zeros((TABLES, SMALL_TILE), dtype=np.int16),
        last=np.zeros((TABLES, SMALL_TILE // 2 + 1, LAST, 2), dtype=np.int16),
        last_bias=np.zeros((TABLES, LAST), dtype=np.int32),
    )
