"""The board as text."""

from __future__ import annotations

from hypothesis import given
from strategies import positions

from engine.board import START
from engine.display import board_text
from engine.ids import parse_position
from engine.position import Player, Position

START_TEXT = """\
 +13-14-15-16-17-18------19-20-21-22-23-24-+   O: 167 pips, 0 off
 | X           O    |   | O              X |
 | X           O    |   | O              X |
 | X           O    |   | O                |
 | X                |   | O                |
 | X                |   | O                |
 |                  |BAR|                  |   cube 1, centred
 | O                |   | X                |
 | O                |   | X                |
 | O           X    |   | X                |
 | O           X    |   | X              O |
 | O           X    |   | X              O |
 +12-11-10--9--8--7-------6--5--4--3--2--1-+   X: 167 pips, 0 off
 Money game
 X to play 6-5"""


def test_the_start_position_is_drawn_as_on_every_classic_text_board() -> None:
    assert board_text(Position(START, dice=(6, 5))) == START_TEXT


def test_the_mover_sits_at_the_bottom_with_his_own_letter() -> None:
    lines = board_text(Position(START, on_roll=Player.O)).splitlines()
    assert lines[0].endswith("X: 167 pips, 0 off")
    assert lines[1] == " | O           X    |   | X              O |"
    assert lines[-1] == " O on roll"


def test_checkers_on_the_bar_stand_where_they_enter() -> None:
    lines = board_text(parse_position("XGID=ab----E-C---eE---c-d----AA:0:0:1:00:0:0:0:0:10")).splitlines()
    assert lines[1] == " | X           O    | X | O              X |"
    assert lines[11] == " | O           X    | O | X              O |"


def test_a_stack_above_five_shows_its_number() -> None:
    text = board_text(parse_position("XGID=-O--------------------l---:0:0:1:00:0:0:0:0:10"))
    assert [line[40:43] for line in text.splitlines()[7:12]] == ["15 ", " X ", " X ", " X ", " X "]
    assert "12 " in text
    assert "O: 36 pips, 3 off" in text


def test_score_crawford_and_cube_are_named() -> None:
    text = board_text(parse_position("4HPwATDgc/ABMA:8IhuACAACAAE"))
    assert "no cube (Crawford)" in text
    assert "3-point match, X 1 - O 2 (X needs 2, O needs 1), Crawford game" in text
    assert text.endswith("X to play 5-3")


def test_a_double_names_both_players_and_the_new_value() -> None:
    text = board_text(parse_position("XGID=-BBCa-A--------------aAdf-:1:-1:-1:D:3:0:0:7:10"))
    assert "cube 2, owned by O" in text.splitlines()[1]
    assert text.endswith("O doubles to 4: X to take or pass")


def test_money_rules_and_a_running_score_are_named() -> None:
    text = board_text(parse_position("XGID=-b----E-C---eE---c-e----B-:0:0:-1:00:4:0:3:0:10"))
    assert "Money game, Jacoby, beavers, running score X 4 - O 0" in text


@given(positions())
def test_every_board_is_narrow_and_shows_every_checker_it_can(position: Position) -> None:
    lines = board_text(position).splitlines()
    assert len(lines) == 15
    assert all(len(line) < 80 and line == line.rstrip() for line in lines)
    drawn = sum(line[:44].count("X") + line[:44].count("O") for line in lines[1:12])
    stacks = [abs(int(count)) for count in position.board]
    assert drawn == sum(min(stack, 4) if stack > 5 else stack for stack in stacks)
