"""The order of units: fewer pairs to go through, the same values."""

from __future__ import annotations

import numpy as np
from nets import random_net

from engine.evaluator import Evaluator, Nets
from engine.rules import INTERNATIONAL
from engine.weights import make_net
from training.arrange import active_units, paired_order, with_paired_units
from training.selfplay import play_round


def live_pairs(active: np.ndarray) -> float:
    """Pairs of neighbours of which one is active, on average."""
    return float((active[:, 0::2] | active[:, 1::2]).sum(axis=1).mean())


def test_units_that_act_together_become_neighbours() -> None:
    rng = np.random.default_rng(1)
    causes = rng.random((500, 4)) < 0.3
    active = causes[:, [0, 1, 2, 3, 2, 0, 3, 1]]
    order = paired_order(active)
    assert sorted(order.tolist()) == list(range(8))
    assert {frozenset(pair) for pair in order.reshape(4, 2).tolist()} == {
        frozenset(pair) for pair in ([0, 5], [1, 7], [2, 4], [3, 6])
    }


def test_an_arranged_net_has_the_same_integer_values_and_fewer_live_pairs() -> None:
    arrays = {name: np.array(array) for name, array in random_net(3).arrays.items()}
    for name in ("table", "bias"):  # units that act together, far apart
        arrays[name][:, 16:] = arrays[name][:, :16]
    net = make_net(arrays)
    arranged = with_paired_units(net, INTERNATIONAL, games=2)
    assert arranged.digest != net.digest
    boards = play_round(Nets(random_net(5)), INTERNATIONAL, 1, 0, 3, 0.0).boards[:400]
    values = [Evaluator(Nets(one)).after_positions(boards).tolist() for one in (net, arranged)]
    assert values[0] == values[1]
    before, after = (active_units(one, boards, 1) for one in (net, arranged))
    assert after.sum() == before.sum()
    assert live_pairs(after) < 0.9 * live_pairs(before)
