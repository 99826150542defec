"""Stop rules: every verdict, and how often verdicts are wrong."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from itertools import pairwise
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

from engine.errors import InputError
from engine.stopping import DEFAULT_CONFIDENCE, StopReason, StopRules, Verdict, judge
from engine.tally import Estimate

EQUITY = Estimate(0.2, 0.01)


def verdict(
    rules: StopRules,
    behind: Mapping[int, Estimate],
    trials: int = 324,
    candidates: int | None = None,
    best: int = 0,
    equity: Estimate = EQUITY,
) -> Verdict:
    """Of a checkpoint at which `best` leads the others by `behind`."""
    active = sorted([best, *behind])
    return judge(rules, trials, candidates or len(active), active, best, equity, behind)


def by(standard_errors: float, se: float = 0.01) -> Estimate:
    """So many standard errors behind."""
    return Estimate(-standard_errors * se, se)


# The critical value


def test_the_critical_value_shares_the_chance_of_an_error_over_looks_and_rivals() -> None:
    rules = StopRules(1296, checkpoint=324, confidence=0.95)
    assert rules.checkpoints == (324, 648, 972, 1296)
    tail = 1 - NormalDist().cdf(rules.critical_value(3))
    assert tail * 4 * 2 == pytest.approx(0.05)
    assert rules.critical_value(1) == rules.critical_value(2)


def test_the_critical_value_grows_with_looks_rivals_and_confidence() -> None:
    for rising in (
        [StopRules(1296, checkpoint=n, confidence=0.95).critical_value(2) for n in (1296, 648, 324, 108, 36)],
        [StopRules(1296, confidence=0.95).critical_value(n) for n in (2, 3, 5, 20)],
        [StopRules(1296, confidence=p).critical_value(2) for p in (0.6, 0.9, 0.95, 0.99, 0.999)],
    ):
        assert all(a < b for a, b in pairwise(rising))


def test_a_race_without_a_confidence_takes_the_usual_one() -> None:
    race = StopRules(1296, race=True)
    assert race.critical_value(3) == StopRules(1296, confidence=DEFAULT_CONFIDENCE).critical_value(3)
    assert DEFAULT_CONFIDENCE == 0.99


# Checkpoints


@pytest.mark.parametrize(
    ("trials", "checkpoint", "expected"),
    [
        (1296, 324, (324, 648, 972, 1296)),
        (1000, 324, (324, 648, 972, 1000)),
        (324, 324, (324,)),
        (100, 324, (100,)),
        (73, 36, (36, 72, 73)),
    ],
)
@pytest.mark.parametrize("rules", [{"race": True}, {"target_se": 0.01}, {"confidence": 0.9}])
def test_checkpoints_rise_to_all_trials(
    rules: dict[str, Any], trials: int, checkpoint: int, expected: tuple[int, ...]
) -> None:
    assert StopRules(trials, checkpoint=checkpoint, **rules).checkpoints == expected


def test_without_rules_there_is_one_look_at_the_end() -> None:
    assert StopRules(1296, checkpoint=36).checkpoints == (1296,)


# Verdicts

CONFIDENT = StopRules(1296, confidence=0.95)
SHARP = StopRules(1296, target_se=0.02)
RACE = StopRules(1296, confidence=0.95, race=True)
CRITICAL = CONFIDENT.critical_value(3)


def test_the_rollout_goes_on_while_a_rival_is_not_beaten() -> None:
    assert verdict(CONFIDENT, {1: by(CRITICAL + 1), 2: by(CRITICAL - 0.01)}) == Verdict((0, 1, 2), None)


def test_it_stops_when_the_best_is_the_best_with_confidence() -> None:
    found = verdict(CONFIDENT, {1: by(CRITICAL + 1), 2: by(CRITICAL + 0.01)})
    assert found == Verdict((0, 1, 2), StopReason.CONFIDENCE)


def test_the_best_may_be_any_candidate() -> None:
    found = verdict(RACE, {0: by(CRITICAL + 1), 1: by(0.5)}, best=2)
    assert found == Verdict((1, 2), None)


def test_exactly_at_the_critical_value_nobody_is_beaten() -> None:
    behind = {1: Estimate(-CRITICAL, 1.0), 2: by(99)}
    assert verdict(CONFIDENT, behind).stop is None


def test_without_a_known_error_nobody_is_beaten() -> None:
    behind = {1: Estimate(-5.0, math.inf), 2: by(99)}
    assert verdict(RACE, behind) == Verdict((0, 1), None)


def test_confidence_comes_before_the_other_reasons() -> None:
    rules = StopRules(1296, confidence=0.95, target_se=0.02, race=True)
    found = verdict(rules, {1: by(9), 2: by(9)}, trials=1296)
    assert found == Verdict((0,), StopReason.CONFIDENCE)


@pytest.mark.parametrize(("se", "stop"), [(0.019, StopReason.STANDARD_ERROR), (0.02, StopReason.STANDARD_ERROR)])
def test_it_stops_when_all_differences_are_known_to_the_error_asked_for(se: float, stop: StopReason) -> None:
    assert verdict(SHARP, {1: Estimate(-0.001, se), 2: Estimate(0.0, 0.01)}).stop is stop


def test_it_goes_on_while_one_difference_in_contention_is_not_sharp() -> None:
    assert verdict(SHARP, {1: Estimate(-0.001, 0.021), 2: Estimate(0.0, 0.01)}).stop is None


def test_a_beaten_candidate_may_be_known_badly() -> None:
    assert verdict(SHARP, {1: Estimate(-1.0, 0.1), 2: Estimate(0.0, 0.01)}).stop is StopReason.STANDARD_ERROR
    assert verdict(SHARP, {1: Estimate(-1.0, 0.1), 2: Estimate(-1.0, 0.1)}).stop is StopReason.STANDARD_ERROR


@pytest.mark.parametrize(("se", "stop"), [(0.021, None), (0.02, StopReason.STANDARD_ERROR)])
def test_a_single_candidate_stops_by_the_error_of_its_equity(se: float, stop: StopReason | None) -> None:
    assert verdict(SHARP, {}, equity=Estimate(0.3, se)) == Verdict((0,), stop)


@pytest.mark.parametrize("rules", [CONFIDENT, RACE, StopRules(1296, race=True)])
def test_a_single_candidate_beats_nobody(rules: StopRules) -> None:
    assert verdict(rules, {}) == Verdict((0,), None)
    assert verdict(rules, {}, trials=1296) == Verdict((0,), StopReason.TRIALS)


@pytest.mark.parametrize("rules", [StopRules(1296), CONFIDENT, SHARP, StopRules(1296, race=True)])
def test_after_all_trials_it_stops_in_any_case(rules: StopRules) -> None:
    behind = {1: Estimate(-0.001, 0.03), 2: Estimate(-0.002, 0.03)}
    assert verdict(rules, behind, trials=1296) == Verdict((0, 1, 2), StopReason.TRIALS)
    assert verdict(rules, behind, trials=972).stop is None


def test_a_race_drops_who_is_beaten_and_only_a_race() -> None:
    behind = {1: by(CRITICAL + 0.01), 2: by(CRITICAL - 0.01), 3: by(50)}
    rules = StopRules(1296, confidence=0.95, race=True)
    assert verdict(rules, behind, candidates=3).active == (0, 2)
    assert verdict(CONFIDENT, behind, candidates=3).active == (0, 1, 2, 3)
    assert verdict(SHARP, behind, candidates=3).active == (0, 1, 2, 3)


def test_who_started_counts_as_a_rival_after_it_was_dropped() -> None:
    rules = StopRules(1296, confidence=0.95, race=True)
    between = (rules.critical_value(2) + rules.critical_value(9)) / 2
    assert verdict(rules, {1: by(between)}, candidates=2).stop is StopReason.CONFIDENCE
    assert verdict(rules, {1: by(between)}, candidates=9) == Verdict((0, 1), None)


def test_the_last_one_standing_ends_the_race() -> None:
    rules = StopRules(1296, race=True)
    assert verdict(rules, {1: by(9), 2: by(9)}) == Verdict((0,), StopReason.CONFIDENCE)
    assert verdict(rules, {1: by(9)}, trials=1296) == Verdict((0,), StopReason.TRIALS)


# Rules that make no sense


@pytest.mark.parametrize(
    ("wrong", "field", "expected"),
    [
        ({"checkpoint": 35}, "checkpoint", "at least 36"),
        ({"checkpoint": 0}, "checkpoint", "at least 36"),
        ({"target_se": 0.0}, "stop-se", "between 0 and 1"),
        ({"target_se": -0.1}, "stop-se", "between 0 and 1"),
        ({"target_se": 1.0}, "stop-se", "between 0 and 1"),
        ({"target_se": math.nan}, "stop-se", "between 0 and 1"),
        ({"confidence": 0.5}, "stop-confidence", "between 0.5 and 1"),
        ({"confidence": 1.0}, "stop-confidence", "between 0.5 and 1"),
        ({"confidence": 95.0}, "stop-confidence", "between 0.5 and 1"),
        ({"confidence": math.nan}, "stop-confidence", "between 0.5 and 1"),
    ],
)
def test_rules_that_make_no_sense_are_refused_by_name(wrong: dict[str, Any], field: str, expected: str) -> None:
    with pytest.raises(InputError) as caught:
        StopRules(1296, **wrong)
    assert caught.value.field == field
    assert expected in caught.value.expected


# How often verdicts are wrong

ROLLOUTS = 300
Judge = Callable[[StopRules, int, int, tuple[int, ...], int, Estimate, dict[int, Estimate]], Verdict]


def simulated(rules: StopRules, means: list[float], seed: int, judge: Judge) -> list[tuple[tuple[int, ...], bool]]:
    """(candidates left, whether confidence ended it) of rollouts whose trials are normal and share half their
    variance.
    """
    rng = np.random.default_rng(seed)
    k = len(means)
    found = []
    for _ in range(ROLLOUTS):
        trials = rng.normal(size=(rules.trials, k)) + rng.normal(size=(rules.trials, 1)) + means
        active: tuple[int, ...] = tuple(range(k))
        for checkpoint in rules.checkpoints:
            seen = trials[:checkpoint]
            best = max(active, key=lambda i: (float(seen[:, i].mean()), -i))
            behind = {i: estimate(seen[:, i] - seen[:, best]) for i in active if i != best}
            now = judge(rules, checkpoint, k, active, best, estimate(seen[:, best]), behind)
            active = now.active
            if now.stop is not None:
                break
        found.append((active, now.stop is StopReason.CONFIDENCE))
    return found


def estimate(values: np.ndarray) -> Estimate:
    """Mean with its standard error."""
    return Estimate(float(values.mean()), float(values.std(ddof=1)) / math.sqrt(len(values)))


@pytest.mark.parametrize("candidates", [2, 4])
@pytest.mark.parametrize("confidence", [0.9, 0.95])
def test_among_equals_verdicts_under_repeated_looks_are_as_rare_as_promised(candidates: int, confidence: float) -> None:
    rules = StopRules(720, checkpoint=36, confidence=confidence, race=True)
    assert len(rules.checkpoints) == 20
    found = simulated(rules, [0.0] * candidates, 17, judge)
    # Of equals any may be called the best: here it is the first, and each time it is beaten the verdict is wrong.
    assert sum(0 not in active for active, _ in found) / ROLLOUTS <= 1 - confidence
    assert sum(confident for _, confident in found) / ROLLOUTS <= 1 - confidence


def test_without_paying_for_the_looks_verdicts_would_be_wrong_too_often() -> None:
    def careless(rules: StopRules, trials: int, *rest: Any) -> Verdict:
        found = judge(StopRules(trials, confidence=rules.confidence), trials, *rest)
        return Verdict(found.active, found.stop if found.stop is StopReason.CONFIDENCE else None)

    rules = StopRules(720, checkpoint=36, confidence=0.95)
    found = simulated(rules, [0.0, 0.0], 17, careless)
    assert sum(confident for _, confident in found) / ROLLOUTS > 3 * 0.05


def test_a_candidate_that_is_better_is_found_and_saves_trials() -> None:
    rules = StopRules(720, checkpoint=36, confidence=0.95, race=True)
    found = simulated(rules, [0.0, 0.5, 0.0], 18, judge)
    assert sum(confident for _, confident in found) / ROLLOUTS > 0.95
    assert sum(active == (1,) for active, _ in found) / ROLLOUTS > 0.95
