"""The same bits on every CPU: the shipped net on ten thousand positions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from safetensors import safe_open

from engine.evaluator import Evaluator, Nets
from engine.rules import INTERNATIONAL
from engine.weights import shipped_net
from training.quantisation import float_outcomes

GOLDEN = Path(__file__).parent / "golden" / "network.safetensors"


def test_the_shipped_net_gives_the_recorded_bits_on_ten_thousand_positions() -> None:
    net = shipped_net()
    with safe_open(GOLDEN, framework="numpy") as file:
        assert file.metadata()["net"] == net.digest, "another net is shipped: look at it, then run make golden"
        boards, expected = file.get_tensor("boards"), file.get_tensor("outcomes")
    assert len(boards) == 10_000
    found = Evaluator(Nets(net)).after_positions(boards)
    assert np.array_equal(found, expected)


def test_rounding_to_integers_costs_less_than_half_a_thousandth_on_average() -> None:
    net = shipped_net()
    with safe_open(GOLDEN, framework="numpy") as file:
        boards, integer = file.get_tensor("boards"), file.get_tensor("outcomes")
    exact = float_outcomes(net, boards) @ INTERNATIONAL.utility - 1.0
    difference = np.abs(integer @ INTERNATIONAL.utility / 2**20 - 1.0 - exact)
    assert difference.mean() < 0.0005
    assert difference.max() < 0.01
