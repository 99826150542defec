"""Tallies: exact under any order of merging, and the usual statistics when read."""

from __future__ import annotations

import itertools
import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import InternalError
from engine.kernels.network import ONE
from engine.rollout import ROW, TrialRows
from engine.rules import INTERNATIONAL, TAVLA, RuleSet
from engine.tally import Tally

FIELDS = ("outcome_sums", "outcome_squares", "equity_sums", "equity_products", "luck_sums", "luck_squares")


def random_rows(seed: int, candidates: int, trials: int, luck: int = 2**22) -> list[TrialRows]:
    """Rows as a rollout leaves them, of arbitrary numbers."""
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(candidates):
        rows = np.empty((trials, ROW), dtype=np.int32)
        rows[:, :5] = rng.integers(0, ONE + 1, (trials, 5))
        rows[:, 5:] = rng.integers(-luck, luck + 1, (trials, 5))
        made.append(rows)
    return made


def part(rows: list[TrialRows], start: int, stop: int) -> list[TrialRows]:
    """The trials of a range."""
    return [of_one[start:stop] for of_one in rows]


def same(left: Tally, right: Tally) -> bool:
    """Equal to the last bit."""
    return left.trials == right.trials and all(
        getattr(left, name).tolist() == getattr(right, name).tolist() for name in FIELDS
    )


def points(rows: TrialRows, rules: RuleSet) -> tuple[np.ndarray, np.ndarray]:
    """(equity without luck, equity of the luck) of each trial in floating point."""
    x = rows.astype(np.float64) / ONE
    third = 1.0 if rules is INTERNATIONAL else 0.0
    worth = np.array([2.0, 1.0, third, -1.0, -third])
    luck = x[:, 5:] @ worth
    return x[:, :5] @ worth - 1.0 - luck, luck


def standard_error(values: np.ndarray) -> float:
    """Of the mean."""
    return float(values.std(ddof=1)) / math.sqrt(len(values))


@given(
    seed=st.integers(0, 10**6),
    candidates=st.integers(1, 3),
    cuts=st.lists(st.integers(0, 40), max_size=5),
    order=st.randoms(use_true_random=False),
)
@settings(max_examples=80, deadline=None)
def test_parts_merged_in_any_order_and_grouping_are_the_whole(
    seed: int, candidates: int, cuts: list[int], order: random.Random
) -> None:
    rows = random_rows(seed, candidates, 40)
    whole = Tally.of(rows, INTERNATIONAL)
    edges = [0, *sorted(cuts), 40]
    tallies = [Tally.of(part(rows, a, b), INTERNATIONAL) for a, b in itertools.pairwise(edges)]
    while len(tallies) > 1:
        order.shuffle(tallies)
        tallies.append(tallies.pop().merge(tallies.pop()))
    assert same(tallies[0], whole)


@given(seed=st.integers(0, 10**6))
@settings(max_examples=20, deadline=None)
def test_the_empty_tally_changes_nothing(seed: int) -> None:
    tally = Tally.of(random_rows(seed, 2, 9), INTERNATIONAL)
    assert same(Tally.empty(2).merge(tally), tally)
    assert same(tally.merge(Tally.empty(2)), tally)


@pytest.mark.parametrize("rules", [INTERNATIONAL, TAVLA], ids=lambda rules: rules.name)
@given(seed=st.integers(0, 10**6), trials=st.integers(2, 60))
@settings(max_examples=40, deadline=None)
def test_estimates_equal_means_and_standard_errors_of_the_trials(rules: RuleSet, seed: int, trials: int) -> None:
    rows = random_rows(seed, 2, trials)
    tally = Tally.of(rows, rules)
    for i in range(2):
        equity, luck = points(rows[i], rules)
        assert tally.equity(i).mean == pytest.approx(equity.mean(), abs=1e-9)
        assert tally.equity(i).se == pytest.approx(standard_error(equity), abs=1e-9)
        assert tally.luck(i).mean == pytest.approx(luck.mean(), abs=1e-9)
        assert tally.luck(i).se == pytest.approx(standard_error(luck), abs=1e-9)
        reduced = (rows[i][:, :5].astype(np.float64) - rows[i][:, 5:]) / ONE
        for o, estimate in enumerate(tally.outcome(i)):
            assert estimate.mean == pytest.approx(reduced[:, o].mean(), abs=1e-9)
            assert estimate.se == pytest.approx(standard_error(reduced[:, o]), abs=1e-9)


@given(seed=st.integers(0, 10**6), trials=st.integers(2, 60))
@settings(max_examples=40, deadline=None)
def test_a_difference_is_that_of_the_pairs_of_trials(seed: int, trials: int) -> None:
    first, second = random_rows(seed, 2, trials)
    second[:, 5:] = first[:, 5:]  # the luck both share leaves the error of the difference, not that of each equity
    tally = Tally.of([first, second], INTERNATIONAL)
    pairs = points(first, INTERNATIONAL)[0] - points(second, INTERNATIONAL)[0]
    assert tally.difference(0, 1).mean == pytest.approx(pairs.mean(), abs=1e-9)
    assert tally.difference(0, 1).se == pytest.approx(standard_error(pairs), abs=1e-9)
    assert tally.difference(1, 0).mean == -tally.difference(0, 1).mean
    assert tally.difference(1, 0).se == tally.difference(0, 1).se
    assert (tally.difference(1, 1).mean, tally.difference(1, 1).se) == (0.0, 0.0)


def test_a_difference_needs_the_same_dice_to_be_sharp() -> None:
    first, second = random_rows(3, 2, 500)
    second[:, 5:] = first[:, 5:]
    tally = Tally.of([first, second], INTERNATIONAL)
    assert tally.difference(0, 1).se < tally.equity(0).se / 3


def test_blocks_of_many_trials_are_exact() -> None:
    trials = 2**13 + 7000
    rows = random_rows(11, 2, trials, luck=2**21)
    tally = Tally.of(rows, INTERNATIONAL)
    assert tally.trials == trials
    equities = []
    for of_one in rows:
        worth = [[int(w) for w in INTERNATIONAL.utility] @ (row[:5] - row[5:]) for row in of_one.astype(object)]
        equities.append([int(value) - ONE for value in worth])
    assert tally.equity_sums.tolist() == [sum(e) for e in equities]
    expected = [[sum(a * b for a, b in zip(e, f, strict=True)) for f in equities] for e in equities]
    assert tally.equity_products.tolist() == expected


def test_the_largest_values_do_not_overflow() -> None:
    trials = 2**13
    rows = np.zeros((trials, ROW), dtype=np.int32)
    rows[:, 5] = -(2**24 - 2**20)  # e = 2 * (2**24 - 2**20) - 2**20, just below 2**25
    tally = Tally.of([rows], INTERNATIONAL)
    e = 2 * (2**24 - 2**20) - 2**20
    assert e > 0.9 * 2**25
    assert tally.equity_products.tolist() == [[trials * e * e]]
    merged = tally
    for _ in range(10):
        merged = merged.merge(merged)
    assert merged.equity_products.tolist() == [[1024 * trials * e * e]]


def test_values_beyond_the_range_are_our_fault() -> None:
    rows = np.zeros((3, ROW), dtype=np.int32)
    rows[1, 5] = 2**25
    with pytest.raises(InternalError, match="outside the range"):
        Tally.of([rows], INTERNATIONAL)


def test_candidates_with_different_trials_are_our_fault() -> None:
    first, second = random_rows(0, 2, 10)
    for wrong in (second[:9], second[:, :5], second[:0]):
        with pytest.raises(InternalError, match="the same trials"):
            Tally.of([first, wrong], INTERNATIONAL)


def test_without_trials_nothing_is_known_and_with_one_no_error() -> None:
    nothing = Tally.empty(1).equity(0)
    assert math.isnan(nothing.mean)
    assert nothing.se == math.inf
    rows = random_rows(4, 1, 1)
    one = Tally.of(rows, INTERNATIONAL).equity(0)
    assert one.mean == pytest.approx(points(rows[0], INTERNATIONAL)[0][0], abs=1e-9)
    assert one.se == math.inf


def test_equal_trials_have_no_error() -> None:
    rows = np.tile(random_rows(8, 1, 1)[0], (1000, 1))
    assert Tally.of([rows], INTERNATIONAL).equity(0).se == 0.0
