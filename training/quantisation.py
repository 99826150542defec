"""What rounding to integers costs: the integer twin against the float network it was made from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.board import CHECKERS
from engine.evaluator import Evaluator, Nets
from engine.kernels.facts import RACE, ROW_SPACE, ROWS, TABLES
from engine.kernels.float_network import evaluate_float
from engine.kernels.network import ONE
from engine.outcome import OUTCOMES
from engine.rules import RuleSet
from engine.weights import Net
from training.selfplay import play_round

GAMES = 200
_SEED = 20261202


@dataclass(frozen=True, slots=True)
class QuantisationLoss:
    """Equity differences over after-positions of self-play."""

    positions: int
    mean: float
    """Mean absolute difference."""
    largest: float


def quantisation_loss(net: Net, rules: RuleSet, games: int = GAMES) -> QuantisationLoss:
    """Compare both on the positions of some games that the net plays against itself."""
    evaluator = Evaluator(Nets(net))
    boards = play_round(Nets(net), rules, _SEED, 0, games, 0.0).boards
    integer = evaluator.after_positions(boards, rules.start.checkers) @ rules.utility / ONE - 1.0
    exact = float_outcomes(net, boards, rules.start.checkers) @ rules.utility - 1.0
    difference = np.abs(integer - exact)
    return QuantisationLoss(len(boards), float(difference.mean()), float(difference.max()))


def float_outcomes(net: Net, boards: NDArray[np.int8], checkers: int = CHECKERS) -> NDArray[np.float64]:
    """Outcomes float64[N, 5] of the float network, after the same limits as the integer twin's."""
    raw, classes = raw_outcomes(net, boards)
    races = classes == RACE
    p = raw.astype(np.float64)
    counts = boards.astype(np.int64)
    own = np.maximum(counts, 0)
    other = np.maximum(-counts, 0)
    p[other.sum(axis=1) < checkers, 1] = 0.0
    p[own.sum(axis=1) < checkers, 3] = 0.0
    p[:, 1] = np.minimum(p[:, 1], p[:, 0])
    p[:, 3] = np.minimum(p[:, 3], 1.0 - p[:, 0])
    p[races & (other[:, :7].sum(axis=1) == 0), 2] = 0.0
    p[races & (own[:, 19:].sum(axis=1) == 0), 4] = 0.0
    p[:, 2] = np.minimum(p[:, 2], p[:, 1])
    p[:, 4] = np.minimum(p[:, 4], p[:, 3])
    return p


def raw_outcomes(net: Net, boards: NDArray[np.int8]) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """(outcomes float32[N, 5] of the float network before the rules' limits, classes int64[N])."""
    a = net.arrays
    outcomes = np.empty((len(boards), OUTCOMES), dtype=np.float32)
    classes = np.empty(len(boards), dtype=np.int64)
    evaluate_float(
        np.ascontiguousarray(boards),
        a["table"].reshape(TABLES, ROWS, net.width),
        a["bias"],
        a["second"],
        a["second_bias"],
        a["last"],
        a["last_bias"],
        np.zeros(ROW_SPACE, dtype=np.int32),
        outcomes,
        classes,
    )
    return outcomes, classes
