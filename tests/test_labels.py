"""Labels that no position can have are told from those that one can."""

from __future__ import annotations

import math

import numpy as np
import pytest

from engine.board import START, make_board
from engine.kernels.selfplay import Exploration
from engine.rules import INTERNATIONAL
from training.labels import ESTIMATE_TOLERANCE, possible, to_the_edge
from training.positions import Labelling, ShardMaker, ShardTask
from training.recipe import LabelKind
from training.starts import StartKind, StartMix

ONE_OFF = make_board([0, -14] + [0] * 21 + [15, 0, 0])  # the opponent has borne off a checker


def verdict(label: list[float], board: np.ndarray = START, checkers: int = 15, tolerance: float = 1e-5) -> bool:
    """Whether one label can be."""
    found = possible(board[np.newaxis], np.array([label], dtype=np.float32), checkers, tolerance)
    assert found.shape == (1,)
    return bool(found[0])


@pytest.mark.parametrize(
    "label",
    [
        [0.5, 0.1, 0.01, 0.1, 0.01],
        [1.0, 1.0, 1.0, 0.0, 0.0],
        [0.0, 0.0, 0.0, 1.0, 1.0],
        [0.3, 0.3, 0.0, 0.7, 0.7],
        [0.3, 0.300001, 0.0, 0.7, 0.7],  # rounding
    ],
)
def test_chances_that_nest_are_possible(label: list[float]) -> None:
    assert verdict(label)


@pytest.mark.parametrize(
    "label",
    [
        [1.1, 0.1, 0.0, 0.0, 0.0],
        [-0.1, 0.0, 0.0, 0.1, 0.0],
        [0.5, 0.6, 0.0, 0.1, 0.0],
        [0.5, 0.1, 0.2, 0.1, 0.0],
        [0.5, 0.1, 0.0, 0.6, 0.0],
        [0.5, 0.1, 0.0, 0.1, 0.2],
        [0.5, 0.1, 0.0, 0.1, -0.1],
        [math.nan, 0.1, 0.0, 0.1, 0.0],
        [0.5, 0.1, 0.0, 0.1, math.inf],
    ],
)
def test_chances_out_of_order_are_impossible(label: list[float]) -> None:
    assert not verdict(label)


def test_nobody_wins_a_gammon_against_a_side_that_has_borne_off() -> None:
    assert verdict([0.9, 0.0, 0.0, 0.1, 0.0], ONE_OFF)
    assert not verdict([0.9, 0.2, 0.0, 0.0, 0.0], ONE_OFF)
    flipped = np.ascontiguousarray(-ONE_OFF[::-1])
    assert verdict([0.9, 0.2, 0.0, 0.0, 0.0], flipped)
    assert not verdict([0.5, 0.0, 0.0, 0.2, 0.0], flipped)


def test_a_side_of_three_checkers_has_borne_off_when_two_are_left() -> None:
    three = make_board([0, -3] + [0] * 21 + [3, 0, 0])
    assert verdict([0.9, 0.2, 0.0, 0.0, 0.0], three, checkers=3)
    assert not verdict([0.9, 0.2, 0.0, 0.0, 0.0], three, checkers=4)


def test_estimates_may_be_a_little_off_and_are_moved_to_the_edge() -> None:
    label = [1.01, 0.2, -0.02, -0.01, 0.01]
    assert not verdict(label)
    assert verdict(label, tolerance=ESTIMATE_TOLERANCE)
    moved = to_the_edge(np.array([label], dtype=np.float32))
    np.testing.assert_allclose(moved, [[1.0, 0.2, 0.0, 0.0, 0.0]], atol=1e-6)
    assert verdict(moved[0].tolist())


def test_impossible_labels_are_left_out_of_a_shard_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    from nets import random_net

    from engine.evaluator import Nets
    from training import positions

    def spoiled(boards: np.ndarray, engine: object, w: object, outcomes: np.ndarray) -> None:
        outcomes[:] = (0.5, 0.1, 0.0, 0.1, 0.0)
        outcomes[::3, 1] = 0.6

    monkeypatch.setattr(positions, "label_2ply", spoiled)
    task = ShardTask(
        generation=0,
        index=0,
        rules=INTERNATIONAL,
        seed=1,
        first_game=0,
        games=2,
        starts=StartMix({StartKind.PRIMES: 1.0}),
        settle=0,
        half_moves=15,
        explore=Exploration(0, 0, 8),
        labels=Labelling(LabelKind.TWO_PLY),
    )
    shard = ShardMaker(Nets(random_net(3))).make(task)
    assert shard.refused == 10
    assert len(shard.boards) == len(shard.labels) == len(shard.starts) == 20
    assert (shard.labels[:, 1] < 0.5).all()
