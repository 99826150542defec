"""Types of positions: a board for each rule, the edges of rules, and what holds for every board."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles.position_type import plain_position_type
from strategies import board_of, boards

from engine.analysis.position_type import (
    TYPES,
    PositionType,
    position_type,
    position_types,
    typed_position,
    types_of,
)
from engine.board import START, Board, flip
from engine.match import Side

AWAY = {13: 3, 11: 2, 10: 2, 7: 2, 4: 2, 3: 2}  # thirteen checkers, no four points in a row, none on 18 and behind
MADE = {6: 2, 5: 2, 4: 2, 3: 2}
BEARING_IN = {8: 2, 7: 2, 6: 4, 5: 3, 4: 2, 3: 2}

CASES = {
    PositionType.BEAR_OFF: board_of({6: 3, 2: 4}, {5: 5, 1: 1}),
    PositionType.RACE: board_of({6: 5, 5: 5, 12: 5}, {6: 5, 5: 5, 12: 5}),
    PositionType.OPENING: START,
    PositionType.BACK_GAME: board_of({22: 3, 23: 3, 13: 5, 6: 4}, {13: 4, 8: 3, 6: 4, 5: 2, 4: 2}),
    PositionType.ACE_POINT: board_of({24: 2, 13: 3, 8: 2, 6: 4, 5: 2, 4: 2}, BEARING_IN),
    PositionType.CONTAINMENT: board_of({25: 1, 4: 2, 2: 3, 1: 3}, {13: 4, 8: 2, 6: 3, 5: 2, 4: 2, 3: 2}),
    PositionType.BEAR_IN: board_of({6: 5, 5: 4, 4: 3, 7: 3}, {24: 1, 23: 1, 13: 3, 6: 5, 5: 5}),
    PositionType.CRUNCHED: board_of({24: 2, 6: 2, 2: 5, 1: 6}, {13: 3, 8: 3, 6: 4, 5: 3, 9: 2}),
    PositionType.BLITZ: board_of({25: 1, 24: 1, **AWAY}, {13: 5, 8: 3, 6: 3, 4: 2, 3: 2}),
    PositionType.PRIME_VS_PRIME: board_of({**MADE, 24: 2, 13: 5}, {**MADE, 24: 2, 13: 5}),
    PositionType.PRIME: board_of({**MADE, 13: 5, 8: 2}, {24: 2, 13: 5, 8: 3, 6: 3, 3: 2}),
    PositionType.MUTUAL_HOLDING: board_of({20: 2, **AWAY}, {19: 2, 13: 5, 8: 3, 6: 3, 2: 2}),
    PositionType.HOLDING: board_of({20: 2, **AWAY}, {16: 1, 13: 6, 8: 3, 6: 3, 2: 2}),
    PositionType.MIXED: board_of({24: 1, 22: 1, **AWAY}, {24: 1, 23: 1, 13: 5, 8: 3, 6: 3, 2: 2}),
}


@pytest.mark.parametrize("wanted", PositionType, ids=lambda one: one.value)
def test_every_type_has_its_rule(wanted: PositionType) -> None:
    assert position_type(CASES[wanted]) is plain_position_type(CASES[wanted]) is wanted


@given(boards())
def test_a_position_has_one_type_whoever_is_on_roll(board: Board) -> None:
    assert position_type(flip(board)) is position_type(board)


@given(boards())
def test_the_rules_on_arrays_say_what_they_say_in_plain_words(board: Board) -> None:
    assert position_type(board) is plain_position_type(board)


@given(st.lists(boards(), max_size=5))
def test_many_boards_get_the_types_that_each_gets_alone(several: list[Board]) -> None:
    together = np.array(several, dtype=np.int8).reshape(-1, 26)
    assert types_of(together) == [position_type(board) for board in several]


@given(boards())
def test_the_side_of_a_type_turns_with_the_board(board: Board) -> None:
    (kind,), (side,) = position_types(board[None])
    (turned_kind,), (turned_side,) = position_types(flip(board)[None])
    assert (turned_kind, turned_side) == (kind, -side)


def test_contact_is_everything_but_races_and_bear_offs() -> None:
    assert [one for one in TYPES if not one.has_contact] == [PositionType.BEAR_OFF, PositionType.RACE]


@pytest.mark.parametrize(
    ("wanted", "side"),
    [
        (PositionType.BACK_GAME, Side.MOVER),
        (PositionType.ACE_POINT, Side.MOVER),
        (PositionType.CONTAINMENT, Side.OPPONENT),  # the mover is the straggler
        (PositionType.BEAR_IN, Side.MOVER),
        (PositionType.BLITZ, Side.OPPONENT),
        (PositionType.PRIME, Side.MOVER),
        (PositionType.HOLDING, Side.MOVER),
        (PositionType.PRIME_VS_PRIME, None),
        (PositionType.OPENING, None),
    ],
    ids=str,
)
def test_a_one_sided_game_belongs_to_a_side(wanted: PositionType, side: Side | None) -> None:
    assert typed_position(CASES[wanted]).side is side
    turned = None if side is None else side.other
    assert typed_position(flip(CASES[wanted])).side is turned


def test_two_anchors_are_no_back_game_for_the_side_that_leads_the_race() -> None:
    ahead = board_of({22: 2, 23: 2, 2: 5, 1: 6}, {21: 2, 13: 5, 8: 3, 6: 5})
    assert position_type(ahead) is PositionType.CRUNCHED


def test_a_prime_needs_somebody_behind_it() -> None:
    passed = board_of({**MADE, 24: 2, 13: 5}, {18: 2, 13: 5, 8: 3, 6: 3, 2: 2})
    assert position_type(passed) is PositionType.MUTUAL_HOLDING


def test_a_closed_board_is_a_prime_and_no_blitz() -> None:
    shut_in = {25: 1, **AWAY, 8: 1}
    four = board_of(shut_in, {13: 3, 8: 3, 6: 3, 5: 2, 4: 2, 2: 2})
    five = board_of(shut_in, {13: 3, 8: 2, 6: 2, 5: 2, 4: 2, 3: 2, 2: 2})
    assert position_type(four) is PositionType.BLITZ
    assert position_type(five) is PositionType.PRIME


def test_an_ace_point_game_begins_when_the_opponent_has_left_his_midpoint() -> None:
    own = {24: 2, 13: 3, 8: 2, 6: 4, 5: 2, 4: 2}
    assert position_type(board_of(own, {**BEARING_IN, 8: 1, 9: 1})) is PositionType.ACE_POINT
    assert position_type(board_of(own, {**BEARING_IN, 8: 1, 14: 1})) is PositionType.PRIME


def test_a_straggler_with_a_friend_on_his_point_holds_it_and_is_not_contained() -> None:
    keepers = {13: 4, 8: 2, 6: 3, 5: 2, 4: 2, 3: 2}
    assert position_type(board_of({24: 1, 23: 1, 4: 4, 2: 4, 1: 5}, keepers)) is PositionType.CONTAINMENT
    assert position_type(board_of({24: 2, 4: 4, 2: 4, 1: 5}, keepers)) is not PositionType.CONTAINMENT


def test_the_opening_ends_when_seven_checkers_have_left_their_places() -> None:
    six = board_of({24: 1, 23: 1, 13: 3, 11: 2, 8: 3, 6: 5}, {24: 1, 22: 1, 13: 3, 10: 2, 8: 3, 6: 5})
    seven = board_of({24: 1, 23: 1, 13: 3, 11: 2, 8: 3, 6: 5}, {24: 1, 22: 1, 13: 2, 10: 3, 8: 3, 6: 5})
    assert position_type(six) is PositionType.OPENING
    assert position_type(seven) is PositionType.MIXED
