"""The order of a finished net's units: those that are active together share a pair.

The second layer meets the units of the first in pairs and leaves out pairs that are zero (`engine.kernels.vectors`), so
which unit stands beside which decides how many pairs are left, and nothing else: sums of integers don't depend on
their order.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.evaluator import Nets
from engine.kernels.facts import ROWS, TABLES
from engine.network import TABLE_OF
from engine.rules import RuleSet
from engine.weights import Net, make_net
from training.inputs import inputs_of
from training.selfplay import play_round

GAMES = 100
_SEED = 20261203


def with_paired_units(net: Net, rules: RuleSet, games: int = GAMES) -> Net:
    """A main net of the same values whose units are ordered by how they act on positions of self-play."""
    boards = play_round(Nets(net), rules, _SEED, 0, games, 0.0).boards
    arrays = {name: np.array(array) for name, array in net.arrays.items()}
    table = arrays["table"].reshape(TABLES, ROWS, net.width)
    for t in range(TABLES):
        active = active_units(net, boards, t)
        if len(active) == 0:
            continue
        order = paired_order(active)
        table[t] = table[t][:, order]
        arrays["bias"][t] = arrays["bias"][t][order]
        for c in np.flatnonzero(t == TABLE_OF):
            arrays["second"][c] = arrays["second"][c][order]
    return make_net(arrays, net.description, net.kind)


def active_units(net: Net, boards: NDArray[np.int8], t: int) -> NDArray[np.bool_]:
    """bool[N, H]: which units are above zero in those of the after-positions that belong to table `t`."""
    inputs = inputs_of(boards)
    rows = inputs.rows[t == TABLE_OF[inputs.classes]]
    table = net.arrays["table"].reshape(TABLES, ROWS, net.width)[t]
    sums = np.repeat(net.arrays["bias"][t][np.newaxis], len(rows), axis=0)
    for column in rows.T:  # row 0 is zero
        sums += table[column]
    found: NDArray[np.bool_] = sums > 0.0
    return found


def paired_order(active: NDArray[np.bool_]) -> NDArray[np.int64]:
    """int64[H]: an order of units (`active` bool[N, H]) in which neighbours 0-1, 2-3, ... are often active together.

    Pairs are chosen greedily, the two units that are most often active together first; ties by number.
    """
    width = active.shape[1]
    counts = active.astype(np.float32)
    together = (counts.T @ counts).astype(np.int64)
    first, second = np.triu_indices(width, 1)
    best_first = np.argsort(-together[first, second], kind="stable")
    free = np.ones(width, dtype=np.bool_)
    order: list[int] = []
    for k in best_first:
        a, b = int(first[k]), int(second[k])
        if free[a] and free[b]:
            free[a] = free[b] = False
            order += [a, b]
    order += np.nonzero(free)[0].tolist()
    return np.array(order, dtype=np.int64)
