"""GNU Backgammon IDs: order of the sides, every field of the match ID, and only the canonical spelling."""

from __future__ import annotations

import base64

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from strategies import boards, positions

from engine.board import START, Board, borne_off, flip, pips
from engine.errors import InputError
from engine.gnuid import (
    format_gnu_id,
    format_match_id,
    format_position_id,
    parse_gnu_id,
    parse_match_id,
    parse_position_id,
)
from engine.ids import parse_position
from engine.match import CubeOwner, MatchState
from engine.position import Offer, Player, Position
from engine.xgid import parse_xgid


@given(boards())
def test_a_written_position_id_is_read_back_as_the_same_board(board: Board) -> None:
    text = format_position_id(board)
    assert len(text) == 14
    assert np.array_equal(parse_position_id(text), board)


@given(positions())
def test_a_written_gnu_id_is_read_back_as_the_same_position(position: Position) -> None:
    text = format_gnu_id(position)
    assert len(text) == 14 + 1 + 12
    assert parse_gnu_id(text) == position
    assert parse_position(text) == position


@given(st.text(alphabet="ABCDEFabcdef0189+/:=", max_size=30) | st.text(max_size=30))
@example("\u00e4" * 14)
@example("////////////////")
@example("//////////////")
def test_malformed_text_only_ever_raises_input_errors_of_one_line(text: str) -> None:
    for parse in (parse_gnu_id, parse_position_id, parse_match_id, parse_position):
        try:
            parse(text)
        except InputError as error:
            assert "\n" not in str(error)


BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"


@given(st.text(alphabet=BASE64, min_size=14, max_size=14))
def test_a_position_id_that_is_accepted_is_the_canonical_spelling(text: str) -> None:
    try:
        board = parse_position_id(text)
    except InputError:
        return
    assert format_position_id(board) == text


def test_the_start_position_has_the_id_of_the_manual() -> None:
    assert format_position_id(START) == "4HPwATDgc/ABMA"
    assert np.array_equal(parse_position_id("4HPwATDgc/ABMA"), START)


def test_a_position_id_names_the_player_not_on_roll_first() -> None:
    # After 5-3 played 8/3 6/3 the player who made the play comes first, here with 159 pips; 167 are on roll.
    board = parse_position_id("jGfwATDgc/ABMA")
    assert pips(board) == (167, 159)
    assert [int(count) for count in board[19:25]] == [-4, 0, 0, -2, 0, 2]


def test_a_checker_on_the_bar_belongs_to_the_second_side() -> None:
    board = START.copy()
    board[24], board[25] = 1, 1
    parsed = parse_position_id(format_position_id(board))
    assert (int(parsed[25]), int(parsed[0])) == (1, 0)


def test_the_reported_home_board_position_has_both_sides_complete() -> None:
    # Reported in public for gammon losses that could not be; the ID itself is well formed.
    board = parse_position_id("YEYF4TnO7w4AAA")
    assert format_position_id(board) == "YEYF4TnO7w4AAA"
    assert pips(board) == (63, 242)
    assert borne_off(board) == (0, 0)


def test_a_known_pair_of_gnu_id_and_xgid_is_one_position() -> None:
    gnu = parse_position("4HPwATDgc/ABMA:8IhuACAACAAE")
    assert gnu == parse_xgid("XGID=-b----E-C---eE---c-e----B-:0:0:1:53:1:2:1:3:10")
    assert gnu.match == MatchState(length=3, score=(1, 2), crawford=True)
    assert (gnu.dice, gnu.on_roll) == ((5, 3), Player.X)


def test_an_owned_cube_and_scores_match_the_xgid_printed_beside_them() -> None:
    gnu = parse_position("b9sBCIC5bYDQAA:QYnoAGAAGAAE")
    assert gnu == parse_xgid("XGID=-B-CBBB---a---A---ABcbbbd-:1:-1:1:21:3:6:0:7:10")
    assert gnu.match.cube_owner is CubeOwner.OPPONENT


def test_a_match_id_without_the_jacoby_bit_is_money_with_jacoby() -> None:
    facts = parse_match_id("cAkAAAAAAAAA")
    assert facts.match == MatchState(jacoby=True)
    assert (facts.dice, facts.on_roll, facts.offer) == (None, Player.X, Offer.NONE)
    assert format_match_id(Position(START, facts.match)) == "cAkAAAAAAAAA"


def test_a_double_is_seen_by_the_player_who_must_answer_it() -> None:
    match = MatchState(length=5, score=(1, 2), cube_value=2, cube_owner=CubeOwner.OPPONENT)
    position = Position(START, match, None, Player.O, Offer.DOUBLE)
    text = format_match_id(position)
    facts = parse_match_id(text)
    assert (facts.offer, facts.on_roll) == (Offer.DOUBLE, Player.O)
    assert facts.match == match


def test_the_position_id_stays_the_same_while_a_double_stands() -> None:
    # Printed by GNU Backgammon 1.07 before and after player 1 doubled; only player 0 has split his last checkers.
    before = parse_gnu_id("4PPgASTgc/ABMA:cAngAAAAAAAE")
    doubled = parse_gnu_id("4PPgASTgc/ABMA:cBHgAAAAAAAE")
    assert (before.on_roll, doubled.on_roll, doubled.offer) == (Player.X, Player.O, Offer.DOUBLE)
    assert doubled.board.tolist() == flip(before.board).tolist() != before.board.tolist()
    assert doubled.match == before.match.flip()
    assert format_gnu_id(doubled) == "4PPgASTgc/ABMA:cBHgAAAAAAAE"


def test_the_lower_die_may_come_first() -> None:
    assert parse_match_id("QYnoAGAAGAAE").dice == (2, 1)


def _spoiled(index: int, width: int, value: int, text: str = "cAkAAAAAAAAA") -> str:
    """A match ID with one field overwritten."""
    bits = int.from_bytes(base64.b64decode(text), "little")
    bits = bits & ~(((1 << width) - 1) << index) | value << index
    return base64.b64encode(bits.to_bytes(9, "little")).decode()


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("match ID", "cAkAAAAAAAA"),
        ("match ID", "cAkAAAAAAAAAA"),
        ("match ID", "cAkAAAAAAA-_"),
        ("match ID", "cAkAAAAAAAA="),
        ("match ID", _spoiled(67, 5, 1)),
        ("match ID cube owner", _spoiled(4, 2, 2)),
        ("cube owner", _spoiled(4, 2, 1)),
        ("match ID game state", _spoiled(8, 3, 2)),
        ("match ID resignation", _spoiled(13, 2, 1)),
        ("match ID turn", _spoiled(11, 1, 0)),
        ("match ID turn", _spoiled(12, 1, 1)),
        ("match ID dice", _spoiled(15, 3, 7)),
        ("match ID dice", _spoiled(15, 3, 5)),
        ("score", _spoiled(36, 15, 5, _spoiled(21, 15, 5))),
        ("Crawford", _spoiled(7, 1, 1)),
    ],
)
def test_a_malformed_match_id_names_the_field(field: str, text: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_match_id(text)
    assert caught.value.field == field
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("expected", "text"),
    [
        ("14 characters, not 13", "4HPwATDgc/ABM"),
        ("14 characters, not 15", "4HPwATDgc/ABMAA"),
        ("only letters, digits, + and /", "4HPwATDgc_ABMA"),
        ("only letters, digits, + and /", "4HPwATDgc ABMA"),
        ("zero bits after the last place", "4HPwATDgc/ABMB"),
        ("no more than 25 places a side", "AQAAAAAAAAAAgA"),
        ("at most 15 checkers a side", "/////wAAAAAAAA"),
        ("at most 15 checkers a side", "/////////////w"),
        ("a game that is not over", "AAAAAAAAAAAAAA"),
        ("only one side on the 24 point", "AQAAAAAAAgAAAA"),
    ],
)
def test_a_malformed_position_id_says_what_was_expected(expected: str, text: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_position_id(text)
    assert caught.value.field == "position ID"
    assert expected in caught.value.expected


@pytest.mark.parametrize("offer", [Offer.BEAVER, Offer.RACCOON])
def test_a_match_id_cannot_be_written_for_a_beaver_or_raccoon(offer: Offer) -> None:
    with pytest.raises(InputError, match="a match ID holds no other"):
        format_match_id(Position(START, offer=offer))


def test_a_gnu_id_needs_both_parts() -> None:
    with pytest.raises(InputError, match="positionID:matchID"):
        parse_gnu_id("4HPwATDgc/ABMA")
