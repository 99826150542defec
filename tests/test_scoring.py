"""What games are worth, the cube, and the Crawford game."""

from __future__ import annotations

import numpy as np
import pytest

from engine.board import Board
from engine.errors import InputError
from engine.match import CubeOwner, MatchState
from engine.position import Offer
from engine.rules import INTERNATIONAL, TAVLA
from engine.scoring import Win, accepted, may_double, next_game, points_for_drop, points_won, win_of


def won(places: dict[int, int]) -> Board:
    """The mover is off; the opponent's checkers by place in the mover's numbering (0 = on the bar)."""
    board = np.zeros(26, dtype=np.int8)
    for place, count in places.items():
        board[place] = -count
    return board


def test_a_loser_who_has_borne_off_four_loses_a_single_game() -> None:
    assert win_of(won({24: 11}), INTERNATIONAL) is Win.SINGLE


def test_a_loser_who_has_borne_off_none_loses_a_gammon() -> None:
    assert win_of(won({19: 14, 7: 1}), INTERNATIONAL) is Win.GAMMON


@pytest.mark.parametrize("place", [0, 1, 6])
def test_a_loser_with_a_checker_on_the_bar_or_in_the_winners_home_loses_a_backgammon(place: int) -> None:
    assert win_of(won({19: 14, place: 1}), INTERNATIONAL) is Win.BACKGAMMON
    assert win_of(won({19: 14, place: 1}), TAVLA) is Win.GAMMON


def test_a_game_that_goes_on_has_no_winner() -> None:
    board = won({19: 15})
    board[3] = 1
    with pytest.raises(InputError, match="1 checkers of the mover"):
        win_of(board, INTERNATIONAL)


@pytest.mark.parametrize(("cube", "win", "points"), [(8, Win.GAMMON, 16), (4, Win.GAMMON, 8), (4, Win.BACKGAMMON, 12)])
def test_the_cube_multiplies_the_kind_of_win(cube: int, win: Win, points: int) -> None:
    assert points_won(MatchState(cube_value=cube, cube_owner=CubeOwner.MOVER), win) == points


def test_a_take_doubles_the_cube_and_gives_it_to_the_taker_who_may_redouble() -> None:
    opponent_doubles = MatchState()
    assert points_for_drop(opponent_doubles, Offer.DOUBLE) == 1
    mine = accepted(opponent_doubles, Offer.DOUBLE).flip()
    assert (mine.cube_value, mine.cube_owner) == (2, CubeOwner.MOVER)
    assert may_double(mine, INTERNATIONAL)
    assert not may_double(mine.flip(), INTERNATIONAL)
    assert points_for_drop(mine, Offer.DOUBLE) == 2
    redoubled = accepted(mine, Offer.DOUBLE)
    assert (redoubled.cube_value, redoubled.cube_owner) == (4, CubeOwner.OPPONENT)


def test_a_dropped_beaver_costs_two_and_a_dropped_raccoon_four() -> None:
    session = MatchState(beaver=True)
    assert [points_for_drop(session, offer) for offer in (Offer.DOUBLE, Offer.BEAVER, Offer.RACCOON)] == [1, 2, 4]
    for offer, value in ((Offer.BEAVER, 4), (Offer.RACCOON, 8)):
        after = accepted(session, offer)
        assert (after.cube_value, after.cube_owner) == (value, CubeOwner.OPPONENT)


def test_beavers_need_the_rule() -> None:
    with pytest.raises(InputError, match="beavers are not played"):
        accepted(MatchState(), Offer.BEAVER)


def test_no_cube_beyond_its_cap_none_in_tavla_and_none_in_the_crawford_game() -> None:
    assert not may_double(MatchState(cube_value=64, cube_owner=CubeOwner.MOVER, cube_cap=64), INTERNATIONAL)
    assert not may_double(MatchState(), TAVLA)
    assert not may_double(MatchState(length=5, score=(4, 0), crawford=True), INTERNATIONAL)
    with pytest.raises(InputError, match="cube value"):
        accepted(MatchState(cube_value=64, cube_owner=CubeOwner.MOVER, cube_cap=64), Offer.DOUBLE)


def test_the_crawford_game_comes_when_a_side_first_needs_one_point_and_never_again() -> None:
    crawford = next_game(MatchState(length=5, score=(2, 1)), 2)
    assert crawford is not None
    assert crawford.score == (4, 1)
    assert crawford.crawford
    after = next_game(crawford.flip(), 1)  # the other side wins the Crawford game
    assert after is not None
    assert not after.crawford
    assert may_double(after, INTERNATIONAL)
    both = next_game(after, 2)  # and reaches the same score: no second Crawford game
    assert both is not None
    assert both.score == (4, 4)
    assert not both.crawford


def test_the_match_is_won_by_reaching_or_passing_the_target() -> None:
    assert next_game(MatchState(length=5, score=(3, 4)), 2) is None
    assert next_game(MatchState(length=5, score=(4, 0), crawford=True), 6) is None


def test_money_play_goes_on_for_ever_without_a_crawford_game() -> None:
    session = next_game(MatchState(score=(30, 2), jacoby=True), 8)
    assert session is not None
    assert (session.score, session.crawford, session.jacoby) == ((38, 2), False, True)


def test_with_jacoby_gammons_count_once_the_cube_has_been_accepted() -> None:
    session = MatchState(jacoby=True)
    assert points_won(session, Win.GAMMON) == 1
    automatic = MatchState(jacoby=True, cube_value=2)
    assert points_won(automatic, Win.GAMMON) == 2
    assert points_won(accepted(session, Offer.DOUBLE), Win.GAMMON) == 4
    assert points_won(MatchState(), Win.GAMMON) == 2
