"""XGID: every field, every public bug report, every way to get it wrong."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from strategies import positions

from engine.board import START, flip
from engine.errors import InputError
from engine.ids import parse_position
from engine.match import CubeOwner, MatchState
from engine.position import Offer, Player, Position
from engine.xgid import format_xgid, parse_xgid

START_TEXT = "-b----E-C---eE---c-e----B-"
POSTED = "XGID=--ABBBC-B---eB---c-cbb--A-:0:0:1:56:0:0:0:0:10"


@given(positions())
def test_a_written_xgid_is_read_back_as_the_same_position(position: Position) -> None:
    assert parse_xgid(format_xgid(position)) == position
    assert parse_position(format_xgid(position)) == position


@given(st.text(alphabet="XGID=-:ABOPQabopqz0123456789DBR \u0663", max_size=60) | st.text(max_size=60))
@example(POSTED[:-1] + "\u0663")
@example("XGID=" + "\u00e4" * 26 + ":0:0:1:00:0:0:0:0:10")
def test_malformed_text_only_ever_raises_input_errors_of_one_line(text: str) -> None:
    for parse in (parse_xgid, parse_position):
        try:
            parse(text)
        except InputError as error:
            assert "\n" not in str(error)


@given(st.integers(0, len(POSTED) - 1), st.characters(codec="utf-8"))
def test_one_wrong_character_gives_a_position_or_an_input_error(index: int, character: str) -> None:
    try:
        parsed = parse_position(POSTED[:index] + character + POSTED[index + 1 :])
    except InputError:
        return
    assert parse_position(format_xgid(parsed)) == parsed


def test_the_posted_problem_is_read_and_written_with_the_higher_die_first() -> None:
    position = parse_xgid(POSTED)
    assert position.dice == (6, 5)
    assert position.pips == (110, 125)
    assert position.match == MatchState()
    assert format_xgid(position) == POSTED.replace(":56:", ":65:")


@pytest.mark.parametrize("text", [POSTED.removeprefix("XGID="), POSTED.lower()[:5] + POSTED[5:], POSTED[:-3]])
def test_prefix_and_last_field_may_be_missing(text: str) -> None:
    assert parse_position(text) == parse_xgid(POSTED)


def test_cube_at_2_owned_by_x_is_not_read_as_centred() -> None:
    position = parse_xgid("XGID=--CBCBC------B--b--cabbcb-:1:1:1:21:0:0:0:0:8")
    assert (position.match.cube_value, position.match.cube_owner) == (2, CubeOwner.MOVER)
    assert position.match.cube_cap == 256
    assert position.on_roll is Player.X
    assert position.dice == (2, 1)


def test_score_without_match_length_is_money_with_o_to_play() -> None:
    position = parse_xgid("XGID=-A-Bb-DBB---bBa---bcbbaA-A:0:0:-1:00:4:0:0:0:8")
    assert position.match.is_money
    assert position.match.away is None
    assert position.on_roll is Player.O
    assert position.match.score == (0, 4)  # the mover's first: X has the 4
    assert position.dice is None


def test_upper_case_and_character_25_belong_to_the_player_on_roll() -> None:
    x, o = (parse_xgid(f"-b----E-C---eE---c-e----AA:0:0:{turn}:00:0:0:0:0:10") for turn in (1, -1))
    assert np.array_equal(x.board, o.board)
    assert x.board[25] == o.board[25] == 1
    assert (x.on_roll, o.on_roll) == (Player.X, Player.O)


def test_cube_owner_and_scores_are_absolute_while_the_board_follows_the_turn() -> None:
    x = parse_xgid("XGID=-FDaA--------------a-Acbb-:1:-1:1:42:3:0:0:7:10")
    o = parse_xgid("XGID=-BBCa-A--------------aAdf-:1:-1:-1:42:3:0:0:7:10")
    assert np.array_equal(o.board, flip(x.board))
    assert o.match == x.match.flip()
    assert x.match.cube_owner is CubeOwner.OPPONENT


@pytest.mark.parametrize("turn", [1, -1])
def test_a_double_is_seen_by_the_player_who_must_answer_it(turn: int) -> None:
    text = f"XGID=-BBCa-A--------------aAdf-:1:{turn}:{turn}:D:3:0:0:7:10"
    position = parse_xgid(text)
    assert position.offer is Offer.DOUBLE
    assert position.on_roll is Player(-turn)
    assert position.match.cube_owner is CubeOwner.OPPONENT
    assert (position.board[24], position.board[1]) == (-2, 6)  # the doubler's B and the other side's f, turned round
    assert format_xgid(position) == text


@pytest.mark.parametrize(("letter", "offer", "turn"), [("B", Offer.BEAVER, Player.X), ("R", Offer.RACCOON, Player.O)])
def test_beaver_and_raccoon_go_to_the_player_who_must_answer_them(letter: str, offer: Offer, turn: Player) -> None:
    text = f"XGID={START_TEXT}:0:0:1:{letter}:0:0:3:0:10"
    position = parse_xgid(text)
    assert (position.offer, position.on_roll) == (offer, turn)
    assert format_xgid(position) == text


@pytest.mark.parametrize(
    ("flag", "length", "crawford", "jacoby", "beaver"),
    [
        (0, 0, False, False, False),
        (1, 0, False, True, False),
        (2, 0, False, False, True),
        (3, 0, False, True, True),
        (0, 7, False, False, False),
        (1, 7, True, False, False),
    ],
)
def test_the_flag_is_crawford_in_a_match_and_jacoby_and_beaver_in_money_play(
    flag: int, length: int, crawford: bool, jacoby: bool, beaver: bool
) -> None:
    text = f"XGID={START_TEXT}:0:0:1:00:6:2:{flag}:{length}:10"
    match = parse_xgid(text).match
    assert (match.crawford, match.jacoby, match.beaver) == (crawford, jacoby, beaver)
    assert format_xgid(parse_xgid(text)) == text


def test_format_writes_the_start_position() -> None:
    assert format_xgid(Position(START)) == f"XGID={START_TEXT}:0:0:1:00:0:0:0:0:10"


REST = "0:0:1:00:0:0:0:0:10"


@pytest.mark.parametrize(
    ("field", "expected", "text"),
    [
        ("XGID position", "at most 15 checkers a side", f"-b----E-D---eE---c-e----B-:{REST}"),  # 16 of them
        ("XGID position", "at most 15 checkers a side", f"-P---------------------a--:{REST}"),
        ("XGID position", "at most 15 checkers a side", f"-A--------------------p---:{REST}"),
        ("XGID position", "26 characters, not 25", f"-b----E-C---eE---c-e----B:{REST}"),
        ("XGID position", "26 characters, not 27", f"-b----E-C---eE---c-e----B--:{REST}"),
        ("XGID position", "only -, A-O and a-o, not 'q'", f"-q----E-C---eE---c-e----B-:{REST}"),
        ("XGID position", "only -, A-O and a-o, not 'Z'", f"-b----Z-C---eE---c-e----B-:{REST}"),
        ("XGID position", "only -, A-O and a-o, not '2'", f"-2----E-C---eE---c-e----B-:{REST}"),
        ("XGID position", "only the opponent's checkers there", f"Ab----E-B---eE---c-e----B-:{REST}"),
        ("XGID position", "only the mover's checkers there", f"-b----E-C---eE---c-d----Ba:{REST}"),
        ("XGID position", "a game that is not over", f"-b-----------e----c-e-----:{REST}"),
        ("XGID", "10 fields", START_TEXT),
        ("XGID", "10 fields", f"{START_TEXT}:{REST}:1"),
        ("XGID", "10 fields", f"{START_TEXT}:0:0:1:00:0:0:0"),
        ("XGID cube value", "from 0 to 15", f"{START_TEXT}:-1:0:1:00:0:0:0:0:10"),
        ("XGID cube value", "from 0 to 15", f"{START_TEXT}:16:0:1:00:0:0:0:0:10"),
        ("XGID cube value", "from 0 to 15", f"{START_TEXT}:x:0:1:00:0:0:0:0:10"),
        ("cube value", "at most the cap 4", f"{START_TEXT}:3:1:1:00:0:0:0:0:2"),
        ("XGID cube owner", "0 (centred), 1 (X) or -1 (O)", f"{START_TEXT}:1:2:1:00:0:0:0:0:10"),
        ("cube owner", "centred while the cube is at 1", f"{START_TEXT}:0:1:1:00:0:0:0:0:10"),
        ("XGID turn", "1 (X) or -1 (O)", f"{START_TEXT}:0:0:0:00:0:0:0:0:10"),
        ("XGID turn", "1 (X) or -1 (O)", f"{START_TEXT}:0:0::00:0:0:0:0:10"),
        ("XGID dice", "two digits from 1 to 6", f"{START_TEXT}:0:0:1:07:0:0:0:0:10"),
        ("XGID dice", "two digits from 1 to 6", f"{START_TEXT}:0:0:1:10:0:0:0:0:10"),
        ("XGID dice", "two digits from 1 to 6", f"{START_TEXT}:0:0:1:111:0:0:0:0:10"),
        ("XGID dice", "two digits from 1 to 6", f"{START_TEXT}:0:0:1::0:0:0:0:10"),
        ("offer", "owned by the player who doubled", f"{START_TEXT}:1:-1:1:D:0:0:0:0:10"),
        ("XGID score of X", "from 0 to 32767", f"{START_TEXT}:0:0:1:00:-1:0:0:7:10"),
        ("XGID score of O", "from 0 to 32767", f"{START_TEXT}:0:0:1:00:0:1.5:0:7:10"),
        ("score", "less than the match length 7", f"{START_TEXT}:0:0:1:00:7:0:0:7:10"),
        ("XGID Crawford flag", "0 or 1", f"{START_TEXT}:0:0:1:00:6:0:2:7:10"),
        ("Crawford", "one side needs one point", f"{START_TEXT}:0:0:1:00:5:0:1:7:10"),
        ("XGID money flag", "0 to 3", f"{START_TEXT}:0:0:1:00:0:0:4:0:10"),
        ("XGID match length", "0 (money) or a length", f"{START_TEXT}:0:0:1:00:0:0:0:-7:10"),
        ("XGID cube cap", "log2 of the largest cube", f"{START_TEXT}:0:0:1:00:0:0:0:0:1024"),
        ("XGID cube cap", "log2 of the largest cube", f"{START_TEXT}:0:0:1:00:0:0:0:0:"),
    ],
)
def test_a_malformed_xgid_names_the_field_and_what_was_expected(field: str, expected: str, text: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_xgid("XGID=" + text)
    assert caught.value.field == field
    assert expected in caught.value.expected
    assert "\n" not in str(caught.value)
