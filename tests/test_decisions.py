"""Cube decisions, points, offers and resignations."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nets import random_net
from test_cube import constant

from engine.bearoff import Bearoff
from engine.board import START, make_board
from engine.cube import make_question
from engine.cubeful import CubefulEvaluator, CubeValues
from engine.decision import (
    TOLERANCE,
    CubeAction,
    CubeEquities,
    answer_offer,
    cube_points,
    equities_of,
    judge,
)
from engine.errors import InputError, InternalError
from engine.evaluator import Evaluator, Nets
from engine.kernels.cube import POINT
from engine.kernels.network import ONE
from engine.match import CubeOwner, MatchState
from engine.met import load_met
from engine.position import Offer, Position
from engine.resignation import resignation
from engine.rules import rule_set
from engine.scoring import Win

NETS = Nets(random_net(4))
MET = load_met()
MONEY = MatchState()
SESSION = MatchState(jacoby=True, beaver=True)

# M has 5 and 2 left and rolls; O bears off his last checker at his next turn.
LAST_ROLL = make_board([0, 0, 1, 0, 0, 1] + [0] * 18 + [-1, 0])
# Both sides have four checkers on their ace points; M rolls.
FOUR_ACES = make_board([0, 4] + [0] * 22 + [-4, 0])
# M has 6 and 4 left: 6-4, 6-5 and the doubles from 3-3 on win.
BEHIND = make_board([0, 0, 0, 0, 1, 0, 1] + [0] * 17 + [-1, 0])


@pytest.fixture(scope="module")
def exact(databases: Bearoff) -> CubefulEvaluator:
    """Knows bear-offs exactly."""
    return CubefulEvaluator(Evaluator(NETS, databases.arrays), MET)


# Verdicts


@pytest.mark.parametrize(
    ("nd", "dt", "dp", "action", "answer"),
    [
        (0.1, -0.2, 1.0, CubeAction.NO_DOUBLE, CubeAction.TAKE),
        (0.5, 0.6, 1.0, CubeAction.DOUBLE_TAKE, CubeAction.TAKE),
        (0.9, 1.2, 1.0, CubeAction.DOUBLE_PASS, CubeAction.PASS),
        (1.1, 1.4, 1.0, CubeAction.TOO_GOOD, CubeAction.PASS),
        (1.2, 1.1, 1.0, CubeAction.TOO_GOOD, CubeAction.PASS),
        (1.1, 0.9, 1.0, CubeAction.TOO_GOOD, CubeAction.TAKE),
        (0.6, 0.6, 1.0, CubeAction.OPTIONAL, CubeAction.TAKE),
        (1.0, 1.3, 1.0, CubeAction.OPTIONAL, CubeAction.PASS),
        (-0.5, -1.5, 1.0, CubeAction.NO_DOUBLE, CubeAction.TAKE),
    ],
)
def test_the_right_action_follows_from_three_equities(
    nd: float, dt: float, dp: float, action: CubeAction, answer: CubeAction
) -> None:
    found = judge(CubeEquities(nd, dt, dp))
    assert (found.action, found.answer) == (action, answer)


def test_a_beaver_is_an_answer_of_its_own() -> None:
    # With the Jacoby rule a double can be right although it is beavered.
    assert judge(CubeEquities(-0.3, -0.05, 1.0, -0.1)).action is CubeAction.DOUBLE_BEAVER
    early = judge(CubeEquities(0.0, -0.05, 1.0, -0.1))
    assert (early.action, early.answer) == (CubeAction.NO_DOUBLE, CubeAction.BEAVER)
    assert early.losses.take == pytest.approx(0.05)
    assert judge(CubeEquities(0.5, 0.6, 1.0, 1.2)).action is CubeAction.DOUBLE_TAKE


def test_without_a_cube_to_turn_there_is_nothing_to_decide() -> None:
    found = judge(CubeEquities(0.4, None, None))
    assert (found.action, found.answer, found.losses.no_double) == (CubeAction.NO_CUBE, None, None)


equities = st.floats(-3, 3)


@given(equities, equities, st.none() | equities)
def test_actions_exclude_each_other_and_the_right_one_loses_nothing(
    nd: float, dt: float, beavered: float | None
) -> None:
    found = judge(CubeEquities(nd, dt, 1.0, beavered))
    answers = [dt, 1.0] if beavered is None else [dt, 1.0, beavered]
    double = min(answers)
    holds = {
        CubeAction.OPTIONAL: abs(nd - double) <= TOLERANCE,
        CubeAction.TOO_GOOD: nd > double + TOLERANCE and nd > 1.0,
        CubeAction.NO_DOUBLE: nd > double + TOLERANCE and nd <= 1.0,
        CubeAction.DOUBLE_TAKE: double > nd + TOLERANCE and found.answer is CubeAction.TAKE,
        CubeAction.DOUBLE_PASS: double > nd + TOLERANCE and found.answer is CubeAction.PASS,
        CubeAction.DOUBLE_BEAVER: double > nd + TOLERANCE and found.answer is CubeAction.BEAVER,
    }
    assert [action for action, true in holds.items() if true] == [found.action]
    losses = found.losses
    assert min(losses.no_double or 0.0, losses.double or 0.0) == 0.0
    answer_losses = [loss for loss in (losses.take, losses.passing, losses.beaver) if loss is not None]
    assert min(answer_losses) == 0.0 <= min(losses.no_double or 0.0, losses.double or 0.0)


# Known positions


def test_19_of_36_on_the_last_roll_is_a_double_and_a_take(exact: CubefulEvaluator) -> None:
    for match in (MONEY, MatchState(cube_value=2, cube_owner=CubeOwner.MOVER)):
        found = equities_of(exact.before_roll(LAST_ROLL, match, 1))
        assert found.no_double == pytest.approx(2 / 36, abs=1e-6)
        assert found.taken == pytest.approx(4 / 36, abs=1e-6)
        assert judge(found).action is CubeAction.DOUBLE_TAKE


def test_31_of_36_is_a_double_and_a_pass(exact: CubefulEvaluator) -> None:
    # Only doubles bear all four off at once, and O then needs one himself: M wins 31 of 36, whatever the cube.
    found = equities_of(exact.before_roll(FOUR_ACES, SESSION, 3))
    assert (round(found.no_double, 4), round(found.taken or 0, 4)) == (0.7222, 1.4444)
    assert judge(found).action is CubeAction.DOUBLE_PASS
    assert judge(found).losses.take == pytest.approx(0.4444, abs=1e-4)


def test_a_cube_at_its_cap_or_of_the_opponent_cannot_be_turned(exact: CubefulEvaluator) -> None:
    for match in (
        replace(MONEY, cube_cap=1),
        MatchState(cube_value=4, cube_owner=CubeOwner.MOVER, cube_cap=4),
        MatchState(cube_value=2, cube_owner=CubeOwner.OPPONENT),
        MatchState(length=5, score=(4, 2), crawford=True),
        MatchState(length=5, score=(3, 0), cube_value=2, cube_owner=CubeOwner.MOVER),
    ):
        assert judge(equities_of(exact.before_roll(FOUR_ACES, match, 1))).action is CubeAction.NO_CUBE


def test_the_last_turn_of_a_capped_cube_is_dead(exact: CubefulEvaluator) -> None:
    match = MatchState(cube_value=2, cube_owner=CubeOwner.MOVER, cube_cap=4)
    values = exact.before_roll(START, match, 1)
    cubeless = float(values.outcome @ match.rules.utility) / ONE - 1.0
    assert equities_of(values).taken == pytest.approx(2 * cubeless, abs=1e-7)


# Points


def gammonless(match: MatchState, x: float) -> tuple[CubefulEvaluator, CubeValues]:
    """Even chances without gammons."""
    evaluator = CubefulEvaluator(Evaluator(NETS), MET, constant(x))
    question = make_question(match, MET, constant(x))
    outcome = np.array([ONE // 2, 0, 0, 0, 0])
    return evaluator, CubeValues(question, outcome, np.zeros(int(question.game.counts[1]), dtype=np.int64))


@pytest.mark.parametrize(("x", "take"), [(0.0, 0.25), (1.0, 0.2), (0.68, 0.5 / (2 + 0.5 * 0.68))])
def test_money_take_points_are_those_of_the_books(x: float, take: float) -> None:
    evaluator, values = gammonless(MONEY, x)
    points = cube_points(evaluator, START, values)
    assert points.take == pytest.approx(take, abs=1e-5)
    assert points.cash == pytest.approx(1 - take, abs=1e-5)
    assert points.too_good is None


def test_gammons_and_the_score_move_the_points() -> None:
    evaluator, values = gammonless(MONEY, 0.68)
    outcome = np.array([ONE // 2, ONE // 4, 0, 0, 0])
    with_gammons = cube_points(evaluator, START, replace(values, outcome=outcome))
    assert with_gammons.take is not None
    assert with_gammons.too_good is not None
    assert with_gammons.take > 0.25
    assert (with_gammons.cash or 0) < with_gammons.too_good < 1.0
    # At 2-away both, a taker has the match on the game: the dead take point, 1 - the chance at 1-away, is exact.
    both_two_away = MatchState(length=5, score=(3, 3))
    evaluator, values = gammonless(both_two_away, 0.68)
    passing = MET.mwc(2, 1, crawford=True)
    assert cube_points(evaluator, START, values).take == pytest.approx(passing, abs=1e-4)


# Market


def test_market_losers_are_the_rolls_after_which_the_double_is_passed(exact: CubefulEvaluator) -> None:
    # A roll that takes both off wins at once; after any other the opponent wins.
    wins = [(a, b) for a, b in product(range(1, 7), repeat=2) if _bears_off(a, b)]
    assert len(wins) == 19
    rolls = [(high, low) for high in range(1, 7) for low in range(1, high + 1)]
    passes = exact.market_losers(LAST_ROLL, MONEY)
    assert passes.tolist() == [36 if roll in wins else 0 for roll in rolls]
    with pytest.raises(InternalError):
        exact.market_losers(LAST_ROLL, MatchState(cube_value=2, cube_owner=CubeOwner.OPPONENT))


def _bears_off(a: int, b: int) -> bool:
    """Whether checkers on 5 and 2 are both borne off."""
    if a == b:
        return a >= 2
    return max(a, b) >= 5 and min(a, b) >= 2


# Offers


def test_a_double_is_answered_in_the_view_of_the_player_who_was_doubled(exact: CubefulEvaluator) -> None:
    turned = make_board([-int(count) for count in FOUR_ACES[::-1]])
    found = answer_offer(exact, Position(turned, SESSION, offer=Offer.DOUBLE), 2)
    assert found.action is CubeAction.PASS
    assert found.equities[CubeAction.TAKE] == pytest.approx(-1.4444, abs=1e-4)
    assert found.equities[CubeAction.PASS] == -1.0
    assert found.losses.take == pytest.approx(0.4444, abs=1e-4)
    assert found.losses.beaver == pytest.approx(1.8889, abs=1e-4)  # the beaver would be accepted: four times 0.7222


def test_a_bad_double_is_beavered_and_the_beaver_dropped_at_twice_the_stake(exact: CubefulEvaluator) -> None:
    worth = 2 * 8 / 36 - 1  # of the game to the doubler, who wins with eight throws
    turned = make_board([-int(count) for count in BEHIND[::-1]])
    double = answer_offer(exact, Position(turned, SESSION, offer=Offer.DOUBLE), 1)
    assert double.action is CubeAction.BEAVER
    assert double.equities[CubeAction.BEAVER] == 2.0
    assert double.equities[CubeAction.TAKE] == pytest.approx(-2 * worth, abs=1e-6)
    beaver = answer_offer(exact, Position(BEHIND, SESSION, offer=Offer.BEAVER), 1)
    assert beaver.action is CubeAction.PASS
    assert beaver.equities[CubeAction.TAKE] == pytest.approx(4 * worth, abs=1e-6)
    assert beaver.equities[CubeAction.PASS] == -2.0
    without = answer_offer(exact, Position(turned, MONEY, offer=Offer.DOUBLE), 1)
    assert (without.action, without.losses.beaver) == (CubeAction.TAKE, None)


def test_a_beaver_by_mistake_is_raccooned_and_that_dropped_at_four_times_the_stake(exact: CubefulEvaluator) -> None:
    beaver = answer_offer(exact, Position(FOUR_ACES, SESSION, offer=Offer.BEAVER), 1)
    assert beaver.action is CubeAction.RACCOON
    assert beaver.equities[CubeAction.RACCOON] == 4.0
    assert beaver.equities[CubeAction.TAKE] == pytest.approx(4 * 0.7222, abs=1e-3)
    without = replace(SESSION, raccoon=False)
    assert answer_offer(exact, Position(FOUR_ACES, without, offer=Offer.BEAVER), 1).action is CubeAction.TAKE
    turned = make_board([-int(count) for count in FOUR_ACES[::-1]])
    raccoon = answer_offer(exact, Position(turned, SESSION, offer=Offer.RACCOON), 1)
    assert raccoon.action is CubeAction.PASS
    assert raccoon.equities == {
        CubeAction.TAKE: pytest.approx(-8 * 0.7222, abs=1e-3),
        CubeAction.PASS: -4.0,
    }


def test_a_player_who_may_not_double_has_no_cube_to_turn(exact: CubefulEvaluator) -> None:
    closed_out = make_board([0, 12] + [0] * 17 + [-2] * 6 + [1])
    passing = replace(SESSION, rules=rule_set("international+closed-out-passes"))
    free, bound = (exact.before_roll(closed_out, match) for match in (SESSION, passing))
    assert judge(equities_of(free)).action is not CubeAction.NO_CUBE
    assert judge(equities_of(bound)).action is CubeAction.NO_CUBE
    assert bound.best == bound.no_double == free.no_double


def test_only_an_offer_can_be_answered(exact: CubefulEvaluator) -> None:
    with pytest.raises(InputError, match="offer"):
        answer_offer(exact, Position(FOUR_ACES, SESSION), 1)


# Resigning


def certain(match: MatchState, outcome: list[int]) -> CubeValues:
    """A position that is worth what its outcome says, with a dead cube."""
    question = make_question(match, MET, constant(0.0))
    wins, losses = outcome[:3], outcome[3:]
    value = sum(question.points(end) * part for end, part in enumerate([*wins, *losses])) // sum(outcome)
    rolling = np.full(int(question.game.counts[1]), value, dtype=np.int64)
    return CubeValues(question, np.zeros(5, dtype=np.int64), rolling)


OWNED = MatchState(cube_value=2, cube_owner=CubeOwner.OPPONENT)


@pytest.mark.parametrize(
    ("match", "outcome", "accept", "offer"),
    [
        (OWNED, [1, 0, 0, 0, 0, 0], Win.SINGLE, Win.SINGLE),
        (OWNED, [99, 1, 0, 0, 0, 0], Win.GAMMON, Win.SINGLE),
        (OWNED, [0, 9, 1, 0, 0, 0], Win.BACKGAMMON, Win.SINGLE),
        (OWNED, [0, 0, 0, 9, 1, 0], Win.SINGLE, Win.GAMMON),
        (OWNED, [0, 0, 0, 0, 0, 1], Win.SINGLE, Win.BACKGAMMON),
        # 5 points, the mover needs 4 and the opponent 2: a gammon wins him the match, a backgammon is not offered.
        (MatchState(length=5, score=(1, 3)), [0, 0, 0, 0, 1, 9], Win.SINGLE, Win.GAMMON),
        (MatchState(jacoby=True), [0, 1, 0, 0, 0, 0], Win.SINGLE, Win.SINGLE),
    ],
)
def test_the_safe_level_is_the_lowest_that_gives_what_playing_on_is_worth(
    match: MatchState, outcome: list[int], accept: Win, offer: Win
) -> None:
    found = resignation(START, certain(match, outcome))
    assert (found.accept, found.offer) == (accept, offer)


def test_a_player_who_has_borne_off_loses_no_gammon() -> None:
    board = make_board([0, 14] + [0] * 17 + [-2, -2, -2, -3, -3, -3, 0])
    values = certain(OWNED, [0, 1, 0, 0, 0, 0])
    assert resignation(board, values).accept is Win.GAMMON
    assert resignation(board, certain(OWNED, [0, 0, 0, 0, 1, 0])).offer is Win.SINGLE


def test_a_difference_that_shows_in_no_digit_is_no_reason_to_refuse() -> None:
    values = certain(OWNED, [9999, 1, 0, 0, 0, 0])
    assert values.best > POINT
    assert resignation(START, values).accept is Win.SINGLE
