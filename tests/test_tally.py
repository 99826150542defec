"""Tallies: exact under any order of merging, and the usual statistics when read."""

from __future__ import annotations

import itertools
import math
import random

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from engine.errors import InternalError
from engine.kernels.network import ONE
from engine.rollout import ROW, TrialRows
from engine.rules import INTERNATIONAL, TAVLA, RuleSet
from engine.tally import FEW_TRIALS, Tally

FIELDS = ("sums", "products", "outcome_sums", "outcome_products")


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


def related_rows(seed: int, candidates: int, trials: int) -> list[TrialRows]:
    """Rows whose results follow their luck, those of each candidate a little more."""
    rng = np.random.default_rng(seed)
    made = random_rows(seed, candidates, trials, luck=2**18)
    for number, rows in enumerate(made):
        share = 0.3 + 0.3 * number
        drift = rng.integers(-(2**16), 2**16, (trials, 5))
        rows[:, :5] = 2**19 + np.rint(share * rows[:, 5:]) + drift
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
    """(equity of the result, equity of the luck) of each trial in floating point."""
    x = rows.astype(np.float64) / ONE
    third = 1.0 if rules is INTERNATIONAL else 0.0
    worth = np.array([2.0, 1.0, third, -1.0, -third])
    return x[:, :5] @ worth - 1.0, x[:, 5:] @ worth


def slope(rows: TrialRows, rules: RuleSet) -> float:
    """Of the regression of the result on the luck, by numpy; 1 where it would be noise or there is no luck."""
    y, g = points(rows, rules)
    return float(np.polyfit(g, y, 1)[0]) if len(rows) >= FEW_TRIALS and g.std() > 0 else 1.0


def reduced(rows: TrialRows, rules: RuleSet) -> np.ndarray:
    """Equity of each trial less its luck, as much of it as helps."""
    y, g = points(rows, rules)
    return np.asarray(y - slope(rows, rules) * g)


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
@given(seed=st.integers(0, 10**6), trials=st.integers(2, 90))
@settings(max_examples=60, deadline=None)
@example(seed=1, trials=FEW_TRIALS - 1)
@example(seed=1, trials=FEW_TRIALS)
def test_estimates_equal_means_and_standard_errors_of_the_trials(rules: RuleSet, seed: int, trials: int) -> None:
    rows = related_rows(seed, 2, trials)
    tally = Tally.of(rows, rules)
    assert tally.candidates == 2
    for i in range(2):
        equity, luck = reduced(rows[i], rules), points(rows[i], rules)[1]
        c = slope(rows[i], rules)
        assert tally.coefficient(i) == pytest.approx(c, abs=1e-9)
        assert tally.equity(i).mean == pytest.approx(equity.mean(), abs=1e-9)
        assert tally.equity(i).se == pytest.approx(standard_error(equity), abs=1e-9)
        assert tally.luck(i).mean == pytest.approx(luck.mean(), abs=1e-9)
        assert tally.luck(i).se == pytest.approx(standard_error(luck), abs=1e-9)
        chances = (rows[i][:, :5].astype(np.float64) - c * rows[i][:, 5:]) / ONE
        for o, estimate in enumerate(tally.outcome(i)):
            assert estimate.mean == pytest.approx(chances[:, o].mean(), abs=1e-9)
            assert estimate.se == pytest.approx(standard_error(chances[:, o]), abs=1e-9)


@given(seed=st.integers(0, 10**6), trials=st.integers(2, 90))
@settings(max_examples=60, deadline=None)
def test_a_difference_is_that_of_the_pairs_of_trials(seed: int, trials: int) -> None:
    # Results follow the luck of the one closely, of the other hardly: two very different coefficients.
    first, second = related_rows(seed, 1, trials)[0], random_rows(seed + 1, 1, trials)[0]
    tally = Tally.of([first, second], INTERNATIONAL)
    if trials >= FEW_TRIALS:
        assert tally.coefficient(0) != tally.coefficient(1)
    pairs = reduced(first, INTERNATIONAL) - reduced(second, INTERNATIONAL)
    assert tally.difference(0, 1).mean == pytest.approx(pairs.mean(), abs=1e-9)
    assert tally.difference(0, 1).se == pytest.approx(standard_error(pairs), abs=1e-9)
    assert tally.difference(1, 0).mean == pytest.approx(-tally.difference(0, 1).mean, abs=1e-12)
    assert tally.difference(1, 0).se == pytest.approx(tally.difference(0, 1).se, abs=1e-12)
    assert (tally.difference(1, 1).mean, tally.difference(1, 1).se) == (0.0, 0.0)


def test_a_difference_needs_the_same_dice_to_be_sharp() -> None:
    # What both share beyond their luck leaves the error of the difference, not that of each equity.
    first = related_rows(3, 1, 500)[0]
    second = first.copy()
    second[:, 0] += np.random.default_rng(4).integers(-(2**14), 2**14, 500, dtype=np.int32)
    tally = Tally.of([first, second], INTERNATIONAL)
    assert tally.difference(0, 1).se < tally.equity(0).se / 3


def test_the_fitted_coefficient_leaves_less_error_than_any_other() -> None:
    rows = related_rows(5, 1, 400)[0]
    tally = Tally.of([rows], INTERNATIONAL)
    y, g = points(rows, INTERNATIONAL)
    assert 0.1 < tally.coefficient(0) < 0.9
    others = [standard_error(y - c * g) for c in (0.0, 1.0, tally.coefficient(0) - 0.01, tally.coefficient(0) + 0.01)]
    assert tally.equity(0).se < min(others)


@pytest.mark.parametrize("trials", [FEW_TRIALS - 1, 100])
def test_without_luck_the_coefficient_is_1_and_the_error_that_of_the_results(trials: int) -> None:
    rows = random_rows(6, 1, trials, luck=0)[0]
    tally = Tally.of([rows], INTERNATIONAL)
    y, _ = points(rows, INTERNATIONAL)
    assert tally.coefficient(0) == 1.0
    assert tally.equity(0).mean == pytest.approx(y.mean(), abs=1e-12)
    assert tally.equity(0).se == pytest.approx(standard_error(y), abs=1e-12)
    assert (tally.luck(0).mean, tally.luck(0).se) == (0.0, 0.0)


def test_with_few_trials_the_coefficient_is_1() -> None:
    rows = related_rows(7, 1, FEW_TRIALS)[0]
    assert Tally.of([rows[:-1]], INTERNATIONAL).coefficient(0) == 1.0
    assert Tally.of([rows], INTERNATIONAL).coefficient(0) != 1.0


def test_the_best_is_the_first_with_the_highest_equity() -> None:
    rows = related_rows(9, 3, 200)
    equities = [reduced(of_one, INTERNATIONAL).mean() for of_one in rows]
    assert len(set(equities)) == 3
    assert Tally.of(rows, INTERNATIONAL).best() == equities.index(max(equities))
    for order in itertools.permutations(range(3)):
        tally = Tally.of([rows[i] for i in order], INTERNATIONAL)
        assert order[tally.best()] == equities.index(max(equities))
    assert Tally.of([rows[0]] * 3, INTERNATIONAL).best() == 0


def exact_z(rows: list[TrialRows]) -> list[list[int]]:
    """Results and lucks of all candidates as Python integers, candidate by candidate."""
    worth = [int(w) for w in INTERNATIONAL.utility]
    halves = [[row[:5].tolist() for row in of_one] for of_one in rows], [[row[5:].tolist() for row in r] for r in rows]
    found = []
    for half, constant in zip(halves, (ONE, 0), strict=True):
        for of_one in half:
            found.append([sum(w * p for w, p in zip(worth, row, strict=True)) - constant for row in of_one])
    return found


def test_blocks_of_many_trials_are_exact() -> None:
    trials = 2**13 + 7000
    rows = random_rows(11, 2, trials, luck=2**21)
    tally = Tally.of(rows, INTERNATIONAL)
    assert tally.trials == trials
    z = exact_z(rows)
    assert tally.sums.tolist() == [sum(values) for values in z]
    expected = [[sum(a * b for a, b in zip(e, f, strict=True)) for f in z] for e in z]
    assert tally.products.tolist() == expected
    for i, of_one in enumerate(rows):
        columns = [[int(value) for value in column] for column in of_one.T]
        assert tally.outcome_sums[i].tolist() == [[sum(c) for c in columns[:5]], [sum(c) for c in columns[5:]]]
        pairs = [(0, 0), (0, 5), (5, 5)]
        assert tally.outcome_products[i].tolist() == [
            [sum(x * y for x, y in zip(columns[a + o], columns[b + o], strict=True)) for o in range(5)]
            for a, b in pairs
        ]


def test_the_largest_values_do_not_overflow() -> None:
    trials = 2**13
    rows = np.zeros((trials, ROW), dtype=np.int32)
    rows[:, 5] = -(2**24 - 2**20)
    g = 2 * -(2**24 - 2**20)  # the equity of this luck, just within 2**25
    y = -ONE
    assert abs(g) > 0.9 * 2**25
    tally = Tally.of([rows], INTERNATIONAL)
    assert tally.products.tolist() == [[trials * y * y, trials * y * g], [trials * y * g, trials * g * g]]
    merged = tally
    for _ in range(10):
        merged = merged.merge(merged)
    assert merged.products.tolist() == [[1024 * value for value in row] for row in tally.products.tolist()]


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
    assert one.mean == pytest.approx(reduced(rows[0], INTERNATIONAL)[0], abs=1e-9)
    assert one.se == math.inf


def test_equal_trials_have_no_error() -> None:
    rows = np.tile(random_rows(8, 1, 1)[0], (1000, 1))
    assert Tally.of([rows], INTERNATIONAL).equity(0).se == 0.0
