"""Kinds of game: one board for each rule, and the rules that hold for every board."""

from __future__ import annotations

import pytest
from hypothesis import given
from strategies import boards

from engine.board import START, Board, flip, make_board
from engine.game_plan import GamePlan, game_plan


def board_of(own: dict[int, int], other: dict[int, int]) -> Board:
    """Each side's checkers by its own numbering; 25 is the bar."""
    counts = [0] * 26
    for point, number in own.items():
        counts[point] += number
    for point, number in other.items():
        assert counts[25 - point] == 0, f"both sides on {point}"
        counts[25 - point] -= number
    return make_board(counts)


AWAY = {13: 3, 11: 2, 10: 2, 7: 2, 4: 2, 3: 2}  # thirteen checkers, no four points in a row, none on 18 and behind
MADE = {6: 2, 5: 2, 4: 2, 3: 2}

CASES = {
    GamePlan.RACE: board_of({6: 5, 5: 5, 12: 5}, {6: 5, 5: 5, 12: 5}),
    GamePlan.OPENING: START,
    GamePlan.BACK_GAME: board_of({22: 3, 23: 3, 13: 5, 6: 4}, {13: 4, 8: 3, 6: 4, 5: 2, 4: 2}),
    GamePlan.BEAR_IN: board_of({6: 5, 5: 4, 4: 3, 7: 3}, {24: 2, 13: 3, 6: 5, 5: 5}),
    GamePlan.CRUNCHED: board_of({24: 2, 6: 2, 2: 5, 1: 6}, {13: 3, 8: 3, 6: 4, 5: 3, 9: 2}),
    GamePlan.PRIME_VS_PRIME: board_of({**MADE, 24: 2, 13: 5}, {**MADE, 24: 2, 13: 5}),
    GamePlan.PRIMING: board_of({**MADE, 13: 5, 8: 2}, {24: 2, 13: 5, 8: 3, 6: 3, 3: 2}),
    GamePlan.BLITZ: board_of({25: 1, 24: 1, **AWAY}, {13: 5, 8: 3, 6: 3, 4: 2, 3: 2}),
    GamePlan.MUTUAL_HOLDING: board_of({20: 2, **AWAY}, {19: 2, 13: 5, 8: 3, 6: 3, 2: 2}),
    GamePlan.HOLDING: board_of({20: 2, **AWAY}, {16: 1, 13: 6, 8: 3, 6: 3, 2: 2}),
    GamePlan.MIXED: board_of({24: 1, 22: 1, **AWAY}, {24: 1, 23: 1, 13: 5, 8: 3, 6: 3, 2: 2}),
}


@pytest.mark.parametrize("plan", GamePlan, ids=lambda plan: plan.value)
def test_every_kind_has_its_rule(plan: GamePlan) -> None:
    assert game_plan(CASES[plan]) is plan


@given(boards())
def test_a_position_has_one_kind_whoever_is_on_roll(board: Board) -> None:
    assert game_plan(flip(board)) is game_plan(board)


@given(boards())
def test_a_race_is_where_nobody_stands_behind_an_opposing_checker(board: Board) -> None:
    own = [place for place in range(26) if board[place] > 0]
    other = [place for place in range(26) if board[place] < 0]
    assert (game_plan(board) is GamePlan.RACE) == (max(own) < min(other))


def test_two_anchors_are_no_back_game_for_the_side_that_leads_the_race() -> None:
    ahead = board_of({22: 2, 23: 2, 2: 5, 1: 6}, {21: 2, 13: 5, 8: 3, 6: 5})
    assert game_plan(ahead) is GamePlan.CRUNCHED


def test_a_prime_needs_somebody_behind_it() -> None:
    passed = board_of({**MADE, 24: 2, 13: 5}, {18: 2, 13: 5, 8: 3, 6: 3, 2: 2})
    assert game_plan(passed) is GamePlan.MUTUAL_HOLDING


def test_the_opening_ends_when_seven_checkers_have_left_their_places() -> None:
    six = board_of({24: 1, 23: 1, 13: 3, 11: 2, 8: 3, 6: 5}, {24: 1, 22: 1, 13: 3, 10: 2, 8: 3, 6: 5})
    seven = board_of({24: 1, 23: 1, 13: 3, 11: 2, 8: 3, 6: 5}, {24: 1, 22: 1, 13: 2, 10: 3, 8: 3, 6: 5})
    assert game_plan(six) is GamePlan.OPENING
    assert game_plan(seven) is GamePlan.MIXED
