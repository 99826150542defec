"""Evaluating positions with the integer network."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine import outcome as outcomes
from engine.board import Board, flip
from engine.kernels.network import ONE, evaluate_boards, rank_roll
from engine.rules import RuleSet
from engine.scratch import make_scratch
from engine.weights import Net, quantise


@dataclass(frozen=True, slots=True)
class Valuation:
    """What a position is worth: the five probabilities and the cubeless equity, both in the mover's view."""

    outcome: tuple[float, float, float, float, float]
    equity: float


class Evaluator:
    """One net, ready to answer on one thread (it owns work space: don't share it between threads)."""

    def __init__(self, net: Net) -> None:
        self.net = net
        self.weights = quantise(net)
        self._scratch = make_scratch(net.width)

    def after_positions(self, boards: NDArray[np.int8]) -> NDArray[np.int64]:
        """Outcomes of after-positions (int8[N, 26]), in the view of the players who just moved.

        Returns:
            int64[N, 5] in 1/2**20, cumulative; exact for finished games.
        """
        result = np.zeros((len(boards), outcomes.OUTCOMES), dtype=np.int64)
        evaluate_boards(np.ascontiguousarray(boards), self.weights, self._scratch, result)
        return result

    def plays(self, board: Board, dice: tuple[int, int], rules: RuleSet) -> tuple[NDArray[np.int8], NDArray[np.int64]]:
        """All legal plays with their 1-ply outcomes, in generation order.

        Returns:
            (after-positions int8[P, 26], outcomes int64[P, 5] in 1/2**20), both in the mover's view.
        """
        s = self._scratch
        n = rank_roll(board, dice[0], dice[1], rules.move_flags, self.weights, rules.utility, s)
        return s.plays[:n].copy(), s.outcomes[:n].copy()

    def before_roll(self, board: Board, rules: RuleSet) -> Valuation:
        """A position whose mover is about to roll, in the mover's view."""
        before = self.after_positions(flip(board)[np.newaxis])[0]
        return valuation(outcomes.invert(before / ONE), rules)


def valuation(outcome: NDArray[np.float64], rules: RuleSet) -> Valuation:
    """Probabilities (float64[5]) with their cubeless equity in the same view."""
    win, gammon, backgammon, lose_gammon, lose_backgammon = (float(p) for p in outcome)
    equity = float(outcomes.cubeless_equity(outcome, rules))
    return Valuation((win, gammon, backgammon, lose_gammon, lose_backgammon), equity)
