"""The same bits on every CPU: the shipped net on ten thousand positions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from safetensors import safe_open

from engine.evaluator import Evaluator, Nets
from engine.kernels.facts import CLASSES, WIDTH, rows_of
from engine.network import Network
from engine.rules import INTERNATIONAL
from engine.weights import shipped_net
from training.quantisation import float_outcomes, raw_outcomes

GOLDEN = Path(__file__).parent / "golden" / "network.safetensors"


def test_the_shipped_net_gives_the_recorded_bits_on_ten_thousand_positions() -> None:
    net = shipped_net()
    with safe_open(GOLDEN, framework="numpy") as file:
        assert file.metadata()["net"] == net.digest, "another net is shipped: look at it, then run make golden"
        boards, expected = file.get_tensor("boards"), file.get_tensor("outcomes")
    assert len(boards) == 10_000
    found = Evaluator(Nets(net)).after_positions(boards)
    assert np.array_equal(found, expected)


def test_the_compiled_float_network_equals_torch_to_a_hundred_thousandth() -> None:
    net = shipped_net()
    with safe_open(GOLDEN, framework="numpy") as file:
        boards = file.get_tensor("boards")[::-1][:4000].copy()  # from the end: all classes are there
    rows = np.empty((len(boards), WIDTH), dtype=np.int32)
    classes = np.empty(len(boards), dtype=np.int64)
    rows_of(boards, rows, classes)
    model = Network(net.width)
    model.load_state_dict({name: torch.from_numpy(array) for name, array in net.arrays.items()})
    with torch.no_grad():
        expected = torch.sigmoid(model(torch.from_numpy(rows).long(), torch.from_numpy(classes))).numpy()
    found, found_classes = raw_outcomes(net, boards)
    assert np.array_equal(found_classes, classes)
    assert set(classes.tolist()) == set(range(CLASSES))
    assert np.abs(found - expected).max() < 1e-5


def test_rounding_to_integers_costs_less_than_half_a_thousandth_on_average() -> None:
    net = shipped_net()
    with safe_open(GOLDEN, framework="numpy") as file:
        boards, integer = file.get_tensor("boards"), file.get_tensor("outcomes")
    exact = float_outcomes(net, boards) @ INTERNATIONAL.utility - 1.0
    difference = np.abs(integer @ INTERNATIONAL.utility / 2**20 - 1.0 - exact)
    assert difference.mean() < 0.0005
    assert difference.max() < 0.01
