"""Errors, blunders, performance ratings and cube errors, and that tallies merge exactly."""

from __future__ import annotations

import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.analysis.cube_errors import (
    CLOSE_CUBE,
    CubeError,
    CubeJudgement,
    cube_sentence,
    judge_answer,
    judge_doubling,
)
from engine.analysis.language import Language
from engine.analysis.luck import RollLuck
from engine.analysis.position_type import PositionType
from engine.analysis.rating import LossTally, PlayerTally, Strength, strength, strength_name
from engine.analysis.thresholds import LUCK_STEP, THRESHOLDS, Grade, LuckGrade, Thresholds, steps
from engine.decision import AnswerVerdict, CubeAction, CubeEquities, CubeLosses, judge

LOSSES = st.floats(0.0, 3.0)


def summed(losses: list[float]) -> LossTally:
    return sum((LossTally.of(loss) for loss in losses), LossTally())


# --- thresholds ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("loss", "grade"),
    [
        (0.0, Grade.RIGHT),
        (0.0199, Grade.RIGHT),
        (0.02, Grade.ERROR),
        (0.32 - 0.30, Grade.ERROR),  # 0.020000000000000018
        (0.05 - 0.03, Grade.ERROR),
        (0.0799, Grade.ERROR),
        (0.08, Grade.BLUNDER),
        (0.58 - 0.50, Grade.BLUNDER),  # 0.07999999999999996
        (1.7, Grade.BLUNDER),
    ],
)
def test_losses_are_graded_from_their_limits_on(loss: float, grade: Grade) -> None:
    assert THRESHOLDS.grade(steps(loss)) is grade


@pytest.mark.parametrize(
    ("points", "grade"),
    [
        (0.2999, LuckGrade.ORDINARY),
        (0.3, LuckGrade.LUCKY),
        (0.5999, LuckGrade.LUCKY),
        (0.6, LuckGrade.VERY_LUCKY),
        (-0.2999, LuckGrade.ORDINARY),
        (-0.3, LuckGrade.UNLUCKY),
        (-0.6, LuckGrade.VERY_UNLUCKY),
    ],
)
def test_luck_is_graded_from_its_limits_on_either_way(points: float, grade: LuckGrade) -> None:
    assert THRESHOLDS.luck_grade(steps(points, LUCK_STEP)) is grade


def test_limits_are_data() -> None:
    strict = Thresholds(error=0.005, blunder=0.05)
    assert LossTally.of(0.01, strict).errors == 1
    assert LossTally.of(0.05, strict).blunders == 1
    assert LossTally.of(0.01).errors == 0


# --- ratings ---------------------------------------------------------------------------------------------------------


def test_a_performance_rating_is_500_times_the_mean_loss() -> None:
    found = summed([0.0, 0.0, 0.03, 0.09]).rating
    assert found is not None
    assert found.decisions == 4
    assert found.pr == pytest.approx(15.0, abs=1e-3)
    assert found.se == pytest.approx(500 * statistics.stdev([0.0, 0.0, 0.03, 0.09]) / 2, abs=1e-3)


def test_without_decisions_there_is_no_rating_and_with_one_no_error_of_it() -> None:
    assert LossTally().rating is None
    assert LossTally().mark is None
    one = LossTally.of(0.01).rating
    assert one is not None
    assert one.se is None


@given(st.lists(LOSSES, min_size=2, max_size=30))
def test_rating_and_its_error_are_those_of_the_plain_formulas(losses: list[float]) -> None:
    found = summed(losses).rating
    assert found is not None
    assert found.pr == pytest.approx(500 * statistics.mean(losses), abs=1e-3)
    assert found.se == pytest.approx(500 * statistics.stdev(losses) / math.sqrt(len(losses)), abs=2e-3)


@given(st.lists(LOSSES, max_size=20), st.randoms())
def test_tallies_are_equal_to_the_bit_in_any_order_and_grouping(losses: list[float], random) -> None:  # type: ignore[no-untyped-def]
    shuffled = random.sample(losses, len(losses))
    cut = random.randint(0, len(losses))
    assert summed(shuffled[:cut]) + summed(shuffled[cut:]) == summed(losses)


def test_errors_include_blunders_and_the_largest_is_kept() -> None:
    tally = summed([0.01, 0.02, 0.3, 0.08])
    assert (tally.errors, tally.blunders, tally.largest) == (3, 2, steps(0.3))


def test_a_mark_counts_errors_once_and_blunders_twice() -> None:
    assert summed([0.0] * 10).mark == 10.0
    assert summed([0.0] * 8 + [0.03, 0.1]).mark == 7.0
    assert summed([0.2] * 3).mark == 0.0


def test_a_loss_below_zero_is_rounding_and_counts_as_none() -> None:
    assert LossTally.of(-1e-9) == LossTally.of(0.0)


@pytest.mark.parametrize(
    ("pr", "wanted"),
    [(0.0, Strength.WORLD_CHAMPION), (2.5, Strength.WORLD_CLASS), (12.4, Strength.ADVANCED), (60.0, Strength.BEGINNER)],
)
def test_a_rating_has_a_name(pr: float, wanted: Strength) -> None:
    assert strength(pr) is wanted
    assert len({strength_name(wanted, language) for language in Language}) >= 2


def test_a_player_is_summed_up_by_kind_type_and_cube_error() -> None:
    holding, race = PositionType.HOLDING, PositionType.RACE
    early = CubeJudgement(CubeError.WRONG_DOUBLE, 0.1, True)
    clear = CubeJudgement(None, 0.0, False)
    parts = [
        PlayerTally.of_play(0.05, holding),
        PlayerTally.of_play(0.0, race),
        PlayerTally.of_cube(early, holding),
        PlayerTally.of_cube(clear, race),
        PlayerTally.of_roll(RollLuck(LUCK_STEP // 2)),
    ]
    total = sum(parts, PlayerTally())
    assert (total.checker.decisions, total.cube.decisions, total.all.decisions) == (2, 1, 3)
    assert total.by_type[holding] == summed([0.05, 0.1])
    assert total.by_type[race] == summed([0.0])
    assert dict(total.cube_errors) == {CubeError.WRONG_DOUBLE: summed([0.1])}
    assert (total.luck.rolls, total.luck.lucky, total.luck.points) == (1, 1, 0.5)
    assert sum(reversed(parts), PlayerTally()) == total


# --- cube actions ----------------------------------------------------------------------------------------------------

MISSED, CASH = CubeError.MISSED_DOUBLE, CubeError.MISSED_CASH
EARLY, TOO_GOOD = CubeError.WRONG_DOUBLE, CubeError.DOUBLE_TOO_GOOD


@pytest.mark.parametrize(
    ("nd", "dt", "dp", "rolled", "doubled"),
    [
        (0.5, 0.7, 1.0, MISSED, None),
        (0.9, 1.3, 1.0, CASH, None),
        (0.5, 0.2, 1.0, None, EARLY),
        (1.2, 1.5, 1.0, None, TOO_GOOD),
        (0.6, 0.6, 1.0, None, None),
        (0.6, 0.6003, 1.0, None, None),  # closer than what counts as equal
    ],
)
def test_the_decision_to_double_has_its_kinds_of_error(
    nd: float, dt: float, dp: float, rolled: CubeError | None, doubled: CubeError | None
) -> None:
    verdict = judge(CubeEquities(nd, dt, dp))
    for action, error in ((False, rolled), (True, doubled)):
        judgement = judge_doubling(verdict, action)
        assert judgement is not None
        assert judgement.error is error
        best = max(nd, min(dt, dp))
        assert judgement.loss == pytest.approx(best - (min(dt, dp) if action else nd))


def test_where_nobody_may_double_there_is_no_decision() -> None:
    assert judge_doubling(judge(CubeEquities(0.3, None, None)), False) is None


def test_rolling_counts_as_a_decision_where_doubling_is_close_or_right() -> None:
    def rolled(nd: float, dt: float) -> bool:
        judgement = judge_doubling(judge(CubeEquities(nd, dt, 1.0)), False)
        assert judgement is not None
        return judgement.unforced

    assert not rolled(0.0, -CLOSE_CUBE - 0.01)
    assert rolled(0.0, -CLOSE_CUBE + 0.01)
    assert rolled(0.0, 0.9)  # a missed double counts, however far it is from close
    wild = judge_doubling(judge(CubeEquities(0.0, -0.9, 1.0)), True)
    assert wild is not None
    assert wild.unforced


@pytest.mark.parametrize(
    ("dt", "dp", "given_answer", "error", "loss"),
    [
        (1.3, 1.0, CubeAction.TAKE, CubeError.WRONG_TAKE, 0.3),
        (1.3, 1.0, CubeAction.PASS, None, 0.0),
        (0.7, 1.0, CubeAction.PASS, CubeError.WRONG_PASS, 0.3),
        (0.7, 1.0, CubeAction.TAKE, None, 0.0),
    ],
)
def test_answers_have_their_kinds_of_error(
    dt: float, dp: float, given_answer: CubeAction, error: CubeError | None, loss: float
) -> None:
    judgement = judge_answer(judge(CubeEquities(0.5, dt, dp)), given_answer)
    assert (judgement.error, judgement.unforced) == (error, True)
    assert judgement.loss == pytest.approx(loss)


def test_a_beaver_can_be_missed_and_can_be_wrong() -> None:
    beaver = AnswerVerdict(CubeAction.BEAVER, {}, CubeLosses(take=0.2, passing=1.2, beaver=0.0))
    take = AnswerVerdict(CubeAction.TAKE, {}, CubeLosses(take=0.0, passing=0.4, beaver=0.1))
    drop = AnswerVerdict(CubeAction.PASS, {}, CubeLosses(take=0.5, passing=0.0, raccoon=1.0))
    assert judge_answer(beaver, CubeAction.TAKE).error is CubeError.MISSED_REPLY
    assert judge_answer(beaver, CubeAction.PASS).error is CubeError.WRONG_PASS
    assert judge_answer(take, CubeAction.BEAVER).error is CubeError.WRONG_REPLY
    assert judge_answer(drop, CubeAction.RACCOON).error is CubeError.WRONG_TAKE
    assert judge_answer(beaver, CubeAction.BEAVER) == CubeJudgement(None, 0.0, True)


@pytest.mark.parametrize("language", Language)
def test_every_cube_error_has_a_sentence_of_its_own(language: Language) -> None:
    sentences = {cube_sentence(error, language) for error in CubeError}
    assert len(sentences) == len(CubeError)
    assert all(sentence.endswith(".") for sentence in sentences)
