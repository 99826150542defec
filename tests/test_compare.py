"""Comparing two evaluators on recorded decisions: both meet the same ones."""

from __future__ import annotations

import math

import numpy as np
import pytest
from nets import random_net

from engine.board import START
from engine.errors import InputError
from engine.evaluator import Evaluator, Nets
from engine.rules import INTERNATIONAL
from engine.search import rank_plays
from training.benchmark import CheckerDecision, score_checker
from training.compare import PairedScore, paired_benchmark

A = Evaluator(Nets(random_net(6)))
B = Evaluator(Nets(random_net(7)))
DICE = ((3, 1), (6, 2), (5, 4), (6, 5))


def decisions() -> list[CheckerDecision]:
    """On the opening, with losses that follow no order that either net knows."""
    found = []
    for dice in DICE:
        plays = sorted(play.after.tobytes() for play in rank_plays(A, np.array(START), dice, INTERNATIONAL))
        losses = {play: 0.01 * number for number, play in enumerate(plays)}
        found.append(CheckerDecision(tuple(int(c) for c in START), dice, losses, 9.0))
    return found


def losses_of(evaluator: Evaluator) -> list[float]:
    """What the choice on each decision loses, one score at a time."""
    return [score_checker(evaluator, iter([one])).meq_per_decision for one in decisions()]


def test_the_difference_is_taken_decision_by_decision() -> None:
    found = paired_benchmark(A, B, decisions(), 1)
    differences = [x - y for x, y in zip(losses_of(A), losses_of(B), strict=True)]
    mean = sum(differences) / 4
    spread = math.sqrt(sum((d - mean) ** 2 for d in differences) / 3)
    assert len({round(d, 6) for d in differences}) > 1, "equal differences would test no spread"
    assert found.decisions == 4
    assert found.difference == pytest.approx(mean)
    assert found.difference == pytest.approx(found.a_meq - found.b_meq)
    assert found.se == pytest.approx(spread / 2)
    assert found.interval95 == pytest.approx((mean - 1.96 * spread / 2, mean + 1.96 * spread / 2))
    assert found.differing == sum(d != 0 for d in differences)  # every play has a loss of its own here


def test_an_evaluator_differs_in_nothing_from_itself() -> None:
    found = paired_benchmark(A, A, iter(decisions()), 1)
    assert (found.difference, found.se, found.differing) == (0.0, 0.0, 0)
    assert not found.a_is_better
    assert not found.a_is_worse


def test_changing_sides_changes_the_sign() -> None:
    one, other = paired_benchmark(A, B, decisions(), 1), paired_benchmark(B, A, decisions(), 1)
    assert one.difference == pytest.approx(-other.difference)
    assert one.se == pytest.approx(other.se)


@pytest.mark.parametrize(
    ("difference", "better", "worse"), [(-2.0, True, False), (1.9, False, False), (2.0, False, True)]
)
def test_a_difference_counts_when_its_interval_leaves_out_zero(difference: float, better: bool, worse: bool) -> None:
    score = PairedScore(100, 10.0 + difference, 10.0, difference, 1.0, 50)
    assert (score.a_is_better, score.a_is_worse) == (better, worse)


def test_one_decision_proves_nothing() -> None:
    found = paired_benchmark(A, B, decisions()[:1], 1)
    assert math.isinf(found.se)
    assert not found.a_is_better
    assert not found.a_is_worse


def test_no_decisions_have_no_difference() -> None:
    with pytest.raises(InputError, match="no decisions"):
        paired_benchmark(A, B, [], 1)
