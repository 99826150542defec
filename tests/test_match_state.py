"""Match states and positions: what cannot be is refused in one line, and flipping is its own inverse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from strategies import matches, positions

from engine.board import START
from engine.errors import InputError
from engine.ids import parse_position
from engine.match import CubeOwner, MatchState
from engine.position import Offer, Player, Position


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("match length", {"length": -1}),
        ("match length", {"length": 40000}),
        ("score", {"score": (-1, 0)}),
        ("score", {"length": 5, "score": (0, 5)}),
        ("cube value", {"cube_value": 3}),
        ("cube value", {"cube_value": 0}),
        ("cube value", {"cube_value": 64, "cube_cap": 32}),
        ("cube cap", {"cube_cap": 100}),
        ("cube owner", {"cube_owner": CubeOwner.MOVER}),
        ("Crawford", {"crawford": True}),
        ("Crawford", {"length": 5, "score": (3, 0), "crawford": True}),
        ("cube value", {"length": 5, "score": (4, 0), "crawford": True, "cube_value": 2}),
        ("Jacoby", {"length": 5, "jacoby": True}),
        ("beaver", {"length": 5, "beaver": True}),
    ],
)
def test_an_impossible_match_state_names_its_field(field: str, values: dict[str, Any]) -> None:
    with pytest.raises(InputError) as caught:
        MatchState(**values)
    assert caught.value.field == field
    assert "\n" not in str(caught.value)


@given(matches())
def test_flipping_a_match_twice_gives_it_back(match: MatchState) -> None:
    assert match.flip().flip() == match


def test_flipping_a_match_swaps_score_and_cube_owner() -> None:
    match = MatchState(length=7, score=(3, 6), cube_value=2, cube_owner=CubeOwner.OPPONENT)
    assert match.flip() == MatchState(length=7, score=(6, 3), cube_value=2, cube_owner=CubeOwner.MOVER)


def test_away_counts_the_points_still_needed_and_means_nothing_in_money_play() -> None:
    assert MatchState(length=7, score=(3, 6)).away == (4, 1)
    assert MatchState(score=(3, 6)).away is None
    assert MatchState(score=(3, 6)).is_money


@given(positions())
def test_flipping_a_position_twice_keeps_all_but_dice_and_offer(position: Position) -> None:
    twice = position.flip().flip()
    assert twice == Position(position.board, position.match, None, position.on_roll)


def test_positions_are_equal_and_hash_by_content() -> None:
    first, second = Position(START, dice=(6, 5)), Position(START.copy(), dice=(5, 6))
    assert first == second
    assert len({first, second, Position(START)}) == 2


def test_a_position_keeps_its_own_board_that_nobody_can_write_to() -> None:
    board = START.copy()
    position = Position(board)
    board[1] = 7
    assert np.array_equal(position.board, START)
    with pytest.raises(ValueError, match="read-only"):
        position.board[1] = 7


@pytest.mark.parametrize(
    ("field", "match", "dice", "offer"),
    [
        ("dice", MatchState(), (7, 1), Offer.NONE),
        ("dice", MatchState(), (1, 0), Offer.NONE),
        ("offer", MatchState(), (2, 1), Offer.DOUBLE),
        ("offer", MatchState(length=3, score=(2, 0), crawford=True), None, Offer.DOUBLE),
        ("offer", MatchState(cube_value=2, cube_owner=CubeOwner.MOVER), None, Offer.DOUBLE),
        ("offer", MatchState(cube_value=8, cube_cap=8), None, Offer.DOUBLE),
    ],
)
def test_an_impossible_decision_names_its_field(
    field: str, match: MatchState, dice: tuple[int, int] | None, offer: Offer
) -> None:
    with pytest.raises(InputError) as caught:
        Position(START, match, dice, Player.X, offer)
    assert caught.value.field == field


@pytest.mark.parametrize("text", ["4HPwATDgc/ABMA", "  4HPwATDgc/ABMA\n", "'4HPwATDgc/ABMA'", '" 4HPwATDgc/ABMA "'])
def test_white_space_and_quotes_around_an_id_do_not_matter(text: str) -> None:
    assert parse_position(text) == Position(START)


@pytest.mark.parametrize("text", ["", "?", "start", "4HPwATDgc/ABM", "xgid", "8IhuACAACAAE"])
def test_text_that_is_no_id_is_refused_with_all_three_spellings_named(text: str) -> None:
    with pytest.raises(InputError, match=r"XGID.*positionID:matchID.*14 characters"):
        parse_position(text)
