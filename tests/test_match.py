"""Statistics of matches: sums, errors, and a test that may be looked at often."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from engine.errors import InputError
from engine.kernels.network import ONE
from engine.tally import Estimate
from engine.versus import PairRows
from training.match import MatchTest, PairTally, Verdict


def rows_of(pairs: int, seed: int = 1) -> PairRows:
    """Points with luck that explains a part of them."""
    random = np.random.default_rng(seed)
    points = random.choice([-3, -2, -1, 1, 2, 3], size=(pairs, 2), p=[0.01, 0.14, 0.33, 0.36, 0.15, 0.01])
    luck = 0.9 * points * ONE + random.normal(0.0, 0.4 * ONE, size=(pairs, 2))
    return np.concatenate([points, luck.round()], axis=1).astype(np.int32)


def test_the_raw_estimate_is_the_mean_over_pairs_with_its_standard_error() -> None:
    rows = rows_of(500)
    means = rows[:, :2].mean(axis=1)
    raw = PairTally.of(rows).raw
    assert raw.mean == pytest.approx(means.mean())
    assert raw.se == pytest.approx(means.std(ddof=1) / math.sqrt(500))


def test_the_reduced_estimate_is_a_regression_on_luck() -> None:
    rows = rows_of(500)
    y, g = rows[:, :2].mean(axis=1), rows[:, 2:].mean(axis=1) / ONE
    slope = np.cov(y, g, bias=True)[0, 1] / g.var()
    tally = PairTally.of(rows)
    assert tally.coefficient == pytest.approx(slope)
    rest = y - slope * g
    assert tally.reduced.mean == pytest.approx(rest.mean())
    assert tally.reduced.se == pytest.approx(rest.std(ddof=1) / math.sqrt(500))
    assert tally.reduced.se < tally.raw.se / 2
    assert (tally.mean_luck.mean, tally.mean_luck.se) == pytest.approx((g.mean(), g.std(ddof=1) / math.sqrt(500)))


def test_tallies_merge_to_the_same_bits_in_any_order() -> None:
    rows = rows_of(60)
    whole = PairTally.of(rows)
    parts = [PairTally.of(rows[a:b]) for a, b in ((0, 7), (7, 8), (8, 60))]
    for order in itertools.permutations(parts):
        merged = PairTally()
        for part in order:
            merged = merged.merge(part)
        assert merged == whole


def test_results_are_counted_by_points() -> None:
    rows = np.array([[1, -2, 0, 0], [3, 1, 0, 0], [0, -1, 0, 0]], dtype=np.int32)
    tally = PairTally.of(rows)
    assert tally.results == (0, 1, 1, 1, 2, 0, 1)
    assert (tally.games, tally.unfinished) == (6, 1)
    assert tally.raw.mean == pytest.approx(2 / 6)


def test_few_pairs_or_none_say_little() -> None:
    assert math.isnan(PairTally().raw.mean)
    one = PairTally.of(rows_of(1))
    assert math.isinf(one.raw.se)
    assert one.coefficient == 1.0
    assert PairTally.of(np.tile([1, -1, 5, -5], (100, 1)).astype(np.int32)).reduced == Estimate(0.0, 0.0)


# --- the test --------------------------------------------------------------------------------------------------------


def test_one_look_is_the_usual_interval() -> None:
    test = MatchTest(100)
    assert test.pairs_at(1) == 100
    low, high = test.interval(Estimate(0.1, 0.02), 1)
    assert (low, high) == pytest.approx((0.1 - 1.96 * 0.02, 0.1 + 1.96 * 0.02), abs=1e-5)


def test_looks_share_the_error_probability() -> None:
    test = MatchTest(1000, looks=10)
    assert [test.pairs_at(look) for look in (1, 5, 10)] == [100, 500, 1000]
    chances = [2 * (1 - 0.5 * (1 + math.erf(test.critical_value(k) / math.sqrt(2)))) for k in range(1, 11)]
    assert chances[:9] == pytest.approx([0.001] * 9)
    assert sum(chances) == pytest.approx(0.05)


def test_intervals_of_all_looks_together_hold_the_truth_as_often_as_promised() -> None:
    # 4,000 matches of equal players, each looked at ten times: the chance that any interval leaves out zero.
    test = MatchTest(1000, looks=10)
    steps = np.random.default_rng(7).normal(size=(4000, 10)).cumsum(axis=1)
    wrong = 0
    for path in steps:
        looks = (Estimate(path[k - 1] / k, 1 / math.sqrt(k)) for k in range(1, 11))
        wrong += any(test.judge(found, k) is not Verdict.UNDECIDED for k, found in enumerate(looks, 1))
    assert 0.03 < wrong / 4000 < 0.05


@pytest.mark.parametrize(
    ("mean", "margin", "verdict"),
    [
        (0.05, None, Verdict.A_BETTER),
        (-0.05, None, Verdict.B_BETTER),
        (0.01, None, Verdict.UNDECIDED),
        (0.01, 0.04, Verdict.EQUAL),
        (0.01, 0.02, Verdict.UNDECIDED),
        (-0.01, 0.04, Verdict.EQUAL),
        (0.03, 0.06, Verdict.A_BETTER),  # by less than the margin, but better all the same
    ],
)
def test_a_verdict_needs_an_interval_without_zero_or_within_the_margin(
    mean: float, margin: float | None, verdict: Verdict
) -> None:
    assert MatchTest(1000, margin=margin).judge(Estimate(mean, 0.01), 1) is verdict


def test_an_early_look_asks_for_more() -> None:
    test = MatchTest(1000, looks=10)
    assert test.judge(Estimate(0.03, 0.01), 1) is Verdict.UNDECIDED
    assert test.judge(Estimate(0.03, 0.01), 10) is Verdict.A_BETTER
    assert test.judge(Estimate(0.04, 0.01), 1) is Verdict.A_BETTER


def test_one_pair_decides_nothing() -> None:
    assert MatchTest(1).judge(PairTally.of(rows_of(1)).raw, 1) is Verdict.UNDECIDED


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"pairs": 0}, "games"),
        ({"pairs": 1000, "looks": 0}, "looks"),
        ({"pairs": 1000, "looks": 21}, "looks"),
        ({"pairs": 499, "looks": 10}, "games"),
        ({"pairs": 1000, "margin": 0.0}, "margin"),
        ({"pairs": 1000, "margin": 1.5}, "margin"),
    ],
)
def test_tests_that_cannot_be_are_refused(arguments: dict[str, float], field: str) -> None:
    with pytest.raises(InputError, match=field):
        MatchTest(**arguments)  # type: ignore[arg-type]
