"""What games are worth, the cube, resignations, the Crawford game and the clock."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import matches

from engine.board import START, Board, is_closed_out, make_board
from engine.clock import DELAY_SECONDS, Clock
from engine.errors import InputError
from engine.match import CubeOwner, MatchState, Side
from engine.moves import legal_plays
from engine.position import Offer, Position
from engine.rules import HYPERGAMMON, INTERNATIONAL, TAVLA, RuleSet, rule_set
from engine.scoring import (
    CubeOffer,
    GameEnd,
    Win,
    automatic_double,
    double,
    may_double,
    points_won,
    resign,
    resignation_levels,
    win,
    win_of,
)

SESSION = MatchState(beaver=True)
SINGLE_GAMES = replace(INTERNATIONAL, gammon_counts=False)


def won(places: dict[int, int]) -> Board:
    """The mover is off; the opponent's checkers by place in the mover's numbering (0 = on the bar)."""
    board = np.zeros(26, dtype=np.int8)
    for place, count in places.items():
        board[place] = -count
    return board


def following(end: GameEnd) -> MatchState:
    """The next game of a match that goes on."""
    match = end.next_game()
    assert match is not None
    return match


def test_a_loser_who_has_borne_off_four_loses_a_single_game() -> None:
    assert win_of(won({24: 11}), INTERNATIONAL) is Win.SINGLE


def test_a_loser_who_has_borne_off_none_loses_a_gammon() -> None:
    assert win_of(won({19: 14, 7: 1}), INTERNATIONAL) is Win.GAMMON


@pytest.mark.parametrize("place", [0, 1, 6])
def test_a_loser_with_a_checker_on_the_bar_or_in_the_winners_home_loses_a_backgammon(place: int) -> None:
    assert win_of(won({19: 14, place: 1}), INTERNATIONAL) is Win.BACKGAMMON
    assert win_of(won({19: 14, place: 1}), TAVLA) is Win.GAMMON


def test_a_loser_who_has_borne_off_one_loses_a_single_game_whatever_is_left_behind() -> None:
    assert win_of(won({19: 13, 0: 1}), INTERNATIONAL) is Win.SINGLE


def test_with_three_checkers_a_side_a_loser_with_all_three_on_the_board_loses_a_gammon() -> None:
    assert win_of(won({19: 2}), HYPERGAMMON) is Win.SINGLE
    assert win_of(won({19: 3}), HYPERGAMMON) is Win.GAMMON
    assert win_of(won({19: 2, 0: 1}), HYPERGAMMON) is Win.BACKGAMMON
    assert win_of(won({19: 3}), INTERNATIONAL) is Win.SINGLE


def test_a_game_that_goes_on_has_no_winner() -> None:
    board = won({19: 15})
    board[3] = 1
    with pytest.raises(InputError, match="1 checkers of the mover"):
        win_of(board, INTERNATIONAL)


@pytest.mark.parametrize(("cube", "kind", "points"), [(8, Win.GAMMON, 16), (4, Win.GAMMON, 8), (4, Win.BACKGAMMON, 12)])
def test_the_cube_multiplies_the_kind_of_win(cube: int, kind: Win, points: int) -> None:
    assert points_won(MatchState(cube_value=cube, cube_owner=CubeOwner.MOVER), kind) == points


@pytest.mark.parametrize(
    ("rules", "points"), [(INTERNATIONAL, [1, 2, 3]), (TAVLA, [1, 2, 2]), (SINGLE_GAMES, [1, 1, 1])]
)
def test_a_rule_set_says_which_kinds_of_win_count(rules: RuleSet, points: list[int]) -> None:
    assert [points_won(MatchState(rules=rules), kind) for kind in Win] == points


def test_a_take_doubles_the_cube_and_gives_it_to_the_taker_who_alone_may_redouble() -> None:
    opponent_doubles = double(MatchState())
    mine = opponent_doubles.take()
    assert (mine.cube_value, mine.cube_owner) == (2, CubeOwner.MOVER)
    assert may_double(mine)
    assert not may_double(mine.flip())
    i_redouble = double(mine)
    assert i_redouble.drop() == GameEnd(mine.flip(), Side.OPPONENT, 2)  # the view of the one who drops
    his = i_redouble.take()
    assert (his.cube_value, his.cube_owner) == (4, CubeOwner.MOVER)
    with pytest.raises(InputError, match=r"cube 4 \(opponent\)"):
        double(his.flip())


@pytest.mark.parametrize(("on_bar", "gap", "closed"), [(1, 0, True), (0, 0, False), (2, 20, False)])
def test_a_closed_out_player_may_double_unless_the_rules_let_him_pass_without_rolling(
    on_bar: int, gap: int, closed: bool
) -> None:
    counts = [0] * 26
    counts[25], counts[6] = on_bar, 13
    for point in range(19, 25):
        counts[point] = -1 if point == gap else -2
    board = make_board(counts)
    assert is_closed_out(board) is closed
    assert may_double(MatchState(), board)
    passing = MatchState(rules=rule_set("international+closed-out-passes"))
    assert may_double(passing, board) is not closed
    if closed:
        with pytest.raises(InputError, match="a mover who may double"):
            double(passing, board)


def test_the_first_double_passed_costs_one_point() -> None:
    end = double(MatchState(length=5, score=(1, 2))).drop()
    assert (end.winner, end.points) == (Side.OPPONENT, 1)
    assert following(end).score == (2, 2)  # the dropper had 2, the doubler comes from 1 to 2


def test_a_beaver_keeps_the_cube_and_costs_its_dropper_two() -> None:
    offer = double(SESSION).beaver()
    assert offer.drop() == GameEnd(SESSION, Side.OPPONENT, 2)  # the doubler drops
    after = offer.take()
    assert (after.cube_value, after.cube_owner) == (4, CubeOwner.OPPONENT)


def test_a_raccoon_leaves_the_cube_with_the_player_who_took_and_costs_him_four_to_drop() -> None:
    offer = double(SESSION).beaver().raccoon()
    assert offer.drop() == GameEnd(SESSION.flip(), Side.OPPONENT, 4)
    after = offer.take()
    assert (after.cube_value, after.cube_owner) == (8, CubeOwner.MOVER)


@pytest.mark.parametrize(
    "offer",
    [
        CubeOffer(MatchState()),  # no beavers played
        CubeOffer(SESSION, Offer.BEAVER),  # no beaver upon a beaver
        CubeOffer(SESSION, Offer.RACCOON),  # and none upon a raccoon
        CubeOffer(MatchState(beaver=True, cube_cap=2)),
    ],
)
def test_beavers_need_the_rule_a_double_and_room_for_the_cube(offer: CubeOffer) -> None:
    with pytest.raises(InputError, match="beaver"):
        offer.beaver()


@pytest.mark.parametrize(
    "offer",
    [
        CubeOffer(SESSION),  # nobody has beavered
        CubeOffer(SESSION, Offer.RACCOON),  # no further levels
        CubeOffer(replace(SESSION, raccoon=False), Offer.BEAVER),
        CubeOffer(replace(SESSION, cube_cap=4), Offer.BEAVER),
    ],
)
def test_raccoons_need_the_rule_a_beaver_and_room_for_the_cube(offer: CubeOffer) -> None:
    with pytest.raises(InputError, match="raccoon"):
        offer.raccoon()


@given(matches())
def test_whatever_is_answered_to_a_double_the_cube_and_the_points_agree(match: MatchState) -> None:
    assume(may_double(match))
    offer = double(match)
    assert offer.take().cube_value == 2 * match.cube_value
    assert offer.take().flip().cube_owner is CubeOwner.OPPONENT
    assert offer.drop().points == match.cube_value
    assert offer.match.score == match.score[::-1]


def test_no_cube_beyond_its_cap_none_in_tavla_in_the_crawford_game_or_in_a_match_to_one_point() -> None:
    assert not may_double(MatchState(cube_value=64, cube_owner=CubeOwner.MOVER, cube_cap=64))
    assert may_double(MatchState(cube_value=64, cube_owner=CubeOwner.MOVER))  # 128 where there is no such cap
    assert not may_double(MatchState(rules=TAVLA))
    assert not may_double(MatchState(length=5, score=(4, 0), crawford=True))
    assert not may_double(MatchState(length=1))
    assert not may_double(MatchState(cube_cap=1))


def test_a_standing_beaver_needs_room_for_four_times_the_cube() -> None:
    with pytest.raises(InputError, match="within its cap 2"):
        Position(START, MatchState(beaver=True, cube_cap=2), offer=Offer.BEAVER)


def test_the_crawford_game_comes_when_a_side_first_needs_one_point_and_never_again() -> None:
    crawford = following(win(MatchState(length=5, score=(2, 1)), Win.GAMMON))
    assert crawford.score == (4, 1)
    assert crawford.crawford
    assert not crawford.post_crawford
    after = following(win(crawford.flip(), Win.SINGLE))  # the other side wins the Crawford game
    assert not after.crawford
    assert after.post_crawford
    assert may_double(after)
    both = following(win(after, Win.GAMMON))  # and reaches the same score: no second Crawford game
    assert both.score == (4, 4)
    assert not both.crawford
    assert both.post_crawford


def test_a_match_can_be_played_without_the_crawford_rule() -> None:
    match = following(win(MatchState(length=5, score=(3, 1), crawford_rule=False), Win.SINGLE))
    assert (match.score, match.crawford, match.post_crawford) == ((4, 1), False, True)
    with pytest.raises(InputError, match="Crawford"):
        replace(match, crawford=True)


def test_the_match_is_won_by_reaching_or_passing_the_target() -> None:
    assert win(MatchState(length=5, score=(3, 4)), Win.GAMMON).next_game() is None
    crawford = MatchState(length=5, score=(4, 0), crawford=True)
    assert win(crawford, Win.BACKGAMMON).next_game() is None
    assert resign(MatchState(length=5, score=(0, 3)), Win.GAMMON).next_game() is None


def test_money_play_goes_on_for_ever_without_a_crawford_game() -> None:
    session = MatchState(score=(30, 2), cube_value=8, cube_owner=CubeOwner.MOVER, jacoby=True)
    after = following(win(session, Win.SINGLE))
    assert after == MatchState(score=(38, 2), jacoby=True)


def test_with_jacoby_gammons_count_once_a_double_has_been_accepted() -> None:
    session = MatchState(jacoby=True)
    assert points_won(session, Win.GAMMON) == 1
    automatic = MatchState(jacoby=True, cube_value=2)
    assert points_won(automatic, Win.BACKGAMMON) == 2
    assert points_won(double(session).take(), Win.GAMMON) == 4
    assert points_won(MatchState(), Win.GAMMON) == 2


def test_equal_opening_dice_turn_the_cube_only_as_often_as_agreed_and_leave_it_centred() -> None:
    once = MatchState(automatic_doubles=1)
    turned = automatic_double(once)
    assert (turned.cube_value, turned.cube_owner) == (2, CubeOwner.CENTRED)
    assert automatic_double(turned) == turned
    assert automatic_double(MatchState()) == MatchState()  # not played
    capped = MatchState(automatic_doubles=9, cube_cap=2, cube_value=2)
    assert automatic_double(capped) == capped
    with pytest.raises(InputError, match="automatic doubles"):
        MatchState(length=5, automatic_doubles=1)


def test_three_automatic_doubles_one_double_and_a_gammon_cost_thirty_two_stakes() -> None:
    match = MatchState(automatic_doubles=10)
    for _ in range(3):
        match = automatic_double(match)
    assert win(double(match).take(), Win.GAMMON).points == 1 * 8 * 2 * 2


def test_the_next_game_begins_with_a_centred_cube_at_one() -> None:
    match = automatic_double(MatchState(automatic_doubles=1))
    assert following(win(match, Win.SINGLE)) == MatchState(automatic_doubles=1, score=(2, 0))


def test_whoever_has_borne_off_a_checker_resigns_a_single_game() -> None:
    board = START.copy()
    board[24] = 1
    assert resignation_levels(MatchState(), board) == (Win.SINGLE,)
    assert resignation_levels(MatchState(), START) == tuple(Win)


@pytest.mark.parametrize(
    ("match", "levels"),
    [
        (MatchState(length=5, score=(0, 3)), (Win.SINGLE, Win.GAMMON)),
        (MatchState(length=5, score=(0, 4), crawford=True), (Win.SINGLE,)),
        (MatchState(length=5, score=(3, 0)), tuple(Win)),
        (MatchState(length=5, score=(0, 1), cube_value=2, cube_owner=CubeOwner.MOVER), (Win.SINGLE, Win.GAMMON)),
        (MatchState(rules=TAVLA), (Win.SINGLE, Win.GAMMON)),
        (MatchState(jacoby=True), (Win.SINGLE,)),
        (MatchState(jacoby=True, cube_value=2, cube_owner=CubeOwner.MOVER), tuple(Win)),
    ],
)
def test_no_resignation_is_offered_that_costs_no_more_than_the_one_below(
    match: MatchState, levels: tuple[Win, ...]
) -> None:
    assert resignation_levels(match, START) == levels


def test_a_resignation_gives_the_opponent_the_points_of_its_level() -> None:
    match = MatchState(length=9, score=(1, 2), cube_value=2, cube_owner=CubeOwner.OPPONENT)
    end = resign(match, Win.GAMMON)
    assert (end.winner, end.points) == (Side.OPPONENT, 4)
    assert following(end).score == (1, 6)


@given(matches(), st.sampled_from(Win))
def test_both_players_see_the_same_next_game(match: MatchState, kind: Win) -> None:
    mine = win(match, kind).next_game()
    his = resign(match.flip(), kind).next_game()
    assert mine == (his.flip() if his else None)


@pytest.mark.parametrize(("length", "seconds"), [(1, 120), (7, 840), (15, 1800), (0, 900)])
def test_a_clock_starts_with_two_minutes_a_point_or_a_quarter_of_an_hour_in_a_session(
    length: int, seconds: float
) -> None:
    assert Clock.for_game(MatchState(length=length)).reserve == seconds


def test_the_reserve_does_not_run_in_the_delay_and_ends_at_zero() -> None:
    clock = Clock(31.0)
    assert clock.after_move(DELAY_SECONDS) == clock
    assert not clock.is_low
    low = clock.after_move(DELAY_SECONDS + 1)
    assert (low.reserve, low.is_low, low.out_of_time) == (30.0, True, False)
    assert low.after_move(100).out_of_time


def test_checkers_on_five_and_two_are_borne_off_at_once_by_nineteen_throws_of_thirty_six() -> None:
    board = won({24: 1})
    board[5] = board[2] = 1
    throws = [(a, b) for a in range(1, 7) for b in range(1, 7)]
    offs = [any(not (after > 0).any() for after in legal_plays(board, throw, INTERNATIONAL)) for throw in throws]
    assert sum(offs) == 19


def test_a_checker_on_the_bar_enters_and_hits_with_six_five_through_either_point() -> None:
    board = np.zeros(26, dtype=np.int8)
    board[25], board[13], board[14], board[1] = 1, 14, -1, -14
    hits = [after for after in legal_plays(board, (6, 5), INTERNATIONAL) if after[14] == 1 and after[0] == -1]
    assert len(hits) == 1  # bar/20/14* and bar/19/14* lead to the same position
