"""Plays as text: what is written, what is understood, what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import boards, rolls

from engine.board import START, Board, make_board
from engine.errors import InputError
from engine.moves import legal_plays
from engine.notation import format_play, parse_play
from engine.rules import INTERNATIONAL, RuleSet, rule_set

BANNED = rule_set("tavla+hit-and-run-ban")
RULE_SETS = [INTERNATIONAL, BANNED, rule_set("tavla+hit-and-run-ban+forced-bear-off")]


def place(own: dict[int, int], other: dict[int, int]) -> Board:
    """A board from counts by point, both in the mover's numbering (25 = his bar, 0 = the opponent's bar)."""
    counts = [0] * 26
    for point, number in own.items():
        counts[point] = number
    for point, number in other.items():
        counts[point] = -number
    return make_board(counts)


def rewritten(text: str, board: Board, dice: tuple[int, int], rules: RuleSet = INTERNATIONAL) -> str:
    """The standard form of a text."""
    return format_play(board, parse_play(text, board, dice, rules), dice, rules)


@pytest.mark.parametrize(
    ("dice", "text", "standard"),
    [
        ((6, 5), "24/18/13", "24/13"),
        ((6, 5), "24/13", "24/13"),
        ((5, 6), "24-13", "24/13"),
        ((6, 5), "24/18 18/13", "24/13"),
        ((6, 5), "18/13 24/18", "24/13"),
        ((6, 5), "13/7,13/8", "13/8 13/7"),
        ((3, 1), "6/5, 8/5", "8/5 6/5"),
        ((3, 1), " 8 / 5   6/5 ", "8/5 6/5"),
        ((4, 2), "8/4 6/4", "8/4 6/4"),
        ((1, 1), "8/7 6/5 8/7 6/5", "8/7(2) 6/5(2)"),
        ((1, 1), "6/5(2) 8/7 (2)", "8/7(2) 6/5(2)"),
        ((2, 2), "13/11 11/9 13/11(2)", "13/9 13/11(2)"),
        ((3, 3), "24/21/18(2)", "24/18(2)"),
        ((4, 4), "24/20/16/12/8", None),
        ((6, 6), "24/18(2) 13/7(2)", "24/18(2) 13/7(2)"),
    ],
)
def test_plays_from_the_start(dice: tuple[int, int], text: str, standard: str | None) -> None:
    if standard is None:  # 12 is the opponent's mid-point
        with pytest.raises(InputError):
            parse_play(text, START, dice, INTERNATIONAL)
    else:
        assert rewritten(text, START, dice) == standard


@pytest.mark.parametrize("text", ["bar/20* 24/23", "BAR/20 24/23", "25/20, 24-23", "Bar/20* 24/23", "24/23 bar-20"])
def test_the_bar_has_several_names(text: str) -> None:
    board = place({25: 1, 24: 1}, {20: 1, 19: 3})
    assert rewritten(text, board, (5, 1)) == "bar/20* 24/23"


@pytest.mark.parametrize("text", ["6/off 5/off", "5/0 6/0", "6/Off, 5/OFF", "6-off 5-off"])
def test_off_has_several_names(text: str) -> None:
    assert rewritten(text, place({6: 2, 5: 2}, {24: 2}), (6, 5)) == "6/off 5/off"


def test_equal_bear_offs_are_counted() -> None:
    assert rewritten("6/off 6/off 6/off 5/off", place({6: 3, 5: 3}, {24: 2}), (6, 6)) == "6/off(3) 5/off"


def test_a_checker_on_its_way_off_is_written_once() -> None:
    # One is left on 6: the ace takes the other to 5, and the six can't take that one off while 6 is occupied.
    board = place({6: 1, 3: 2}, {24: 2})
    assert rewritten("6/5/off", board, (6, 1)) == "6/off"


def test_a_hit_on_the_way_is_shown() -> None:
    board = place({13: 2, 6: 2}, {7: 1, 19: 3})
    assert rewritten("13/7/5", board, (6, 2)) == "13/7*/5"
    assert rewritten("13/7*/5", board, (6, 2)) == "13/7*/5"
    assert rewritten("13/7*/5*", place({13: 2, 6: 2}, {7: 1, 5: 1}), (6, 2)) == "13/7*/5*"


def test_two_checkers_that_hit_together_share_a_star() -> None:
    board = place({6: 3, 13: 2}, {4: 1, 24: 2})
    assert rewritten("6/4*(2) 13/11(2)", board, (2, 2)) == "13/11(2) 6/4*(2)"
    assert rewritten("6/4(2)* 13/11(2)", board, (2, 2)) == "13/11(2) 6/4*(2)"
    assert rewritten("8/4* 6/4*", place({8: 1, 6: 1, 13: 1}, {4: 1}), (4, 2)) == "8/4* 6/4"


def test_two_checkers_that_pass_over_a_hit_stay_together() -> None:
    assert rewritten("24/22*/20(2)", place({24: 2}, {22: 1, 1: 2}), (2, 2)) == "24/22*/20(2)"


def test_the_star_goes_to_the_checker_that_stays() -> None:
    # 6/4*/2 by one checker would be a hit and run; the same result is reached when the other one hits.
    board = place({6: 3}, {4: 1, 24: 2, 5: 2})
    assert rewritten("6/4* 6/4/2 6/4", board, (2, 2), BANNED) == "6/2 6/4*(2)"


#  24/17 with 6-1: by 18, where a blot stands, or by 23, where none does.
ONE_BLOT_ON_THE_WAY = place({24: 1, 3: 2}, {18: 1, 1: 2})


@pytest.mark.parametrize(
    ("text", "standard"),
    [
        ("24/17", "24/17"),
        ("24/23/17", "24/17"),
        ("24/18/17", "24/18*/17"),
        ("24/18*/17", "24/18*/17"),
        ("24/18* 18/17", "24/18*/17"),
    ],
)
def test_hitting_on_the_way_or_not_are_different_plays(text: str, standard: str) -> None:
    assert rewritten(text, ONE_BLOT_ON_THE_WAY, (6, 1)) == standard


def test_stars_decide_between_two_blots_on_the_way() -> None:
    board = place({24: 1, 3: 2}, {18: 1, 23: 1})
    assert rewritten("24/18*/17", board, (6, 1)) == "24/18*/17"
    assert rewritten("24/23*/17", board, (6, 1)) == "24/23*/17"
    assert rewritten("24/17", board, (6, 1)) == "24/18*/17", "without stars: the hit on the lowest point"


def test_a_star_at_the_end_only_means_no_hit_on_the_way() -> None:
    board = place({24: 1, 3: 2}, {18: 1, 17: 1})
    assert rewritten("24/17*", board, (6, 1)) == "24/17*"
    assert rewritten("24/17", board, (6, 1)) == "24/17*"
    assert rewritten("24/18*/17*", board, (6, 1)) == "24/18*/17*"


def test_a_star_where_nobody_is_hit_is_refused() -> None:
    with pytest.raises(InputError):
        parse_play("24/18*/13", START, (6, 5), INTERNATIONAL)


CLOSED_OUT = place({25: 1, 6: 2}, dict.fromkeys(range(19, 25), 2))


@pytest.mark.parametrize("text", ["no play", "No Play", "pass", "cannot move", "Cannot  Move", "-", "dance"])
def test_a_pass_has_several_names(text: str) -> None:
    assert (parse_play(text, CLOSED_OUT, (6, 5), INTERNATIONAL) == CLOSED_OUT).all()


def test_a_pass_is_written_as_no_play() -> None:
    assert format_play(CLOSED_OUT, CLOSED_OUT, (6, 5), INTERNATIONAL) == "no play"


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "/", "24", "24/", "24/18", "hello", "24/18 13/8 6/5", "18/24 13/8", "24/24", "26/20 13/8", "13/0 6/5",
        "24/13(2)", "24/13(0)", "24/13(9)", "24/18/12", "off/24", "24/bar", "-24/13", "24//13", "24/13)", "13/3 8/7",
        "no play", "pass", "13/8/7/2", "۲۴/۱۳", "24/13 " * 50,
    ],
)  # fmt: skip
def test_a_text_that_is_no_legal_play_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_play(text, START, (5, 6), INTERNATIONAL)
    assert caught.value.field == "play"
    message = str(caught.value)
    assert "expected a legal play of 6-5, such as " in message
    assert "\n" not in message
    example = message.rsplit("such as ", 1)[1]
    parse_play(example, START, (6, 5), INTERNATIONAL)


def test_a_play_where_none_is_possible_is_refused() -> None:
    with pytest.raises(InputError, match="expected 'no play', since no checker can move with 6-5"):
        parse_play("bar/20 6/off", CLOSED_OUT, (6, 5), INTERNATIONAL)


def test_wasting_a_die_is_refused() -> None:
    board = place({13: 1, 3: 2}, {7: 2, 24: 2})
    with pytest.raises(InputError, match="13/5"):
        parse_play("3/1", board, (6, 2), INTERNATIONAL)


def test_writing_a_position_that_is_not_reached_is_refused() -> None:
    with pytest.raises(InputError, match="after-position"):
        format_play(START, START, (6, 5), INTERNATIONAL)


@pytest.mark.parametrize("rules", RULE_SETS, ids=lambda rules: rules.name)
@given(board=boards(), dice=rolls())
@settings(max_examples=40, deadline=None)
def test_every_legal_play_is_read_back_from_its_text(rules: RuleSet, board: Board, dice: tuple[int, int]) -> None:
    plays = legal_plays(board, dice, rules)
    texts = [format_play(board, after, dice, rules) for after in plays[:150]]
    assert len(set(texts)) == len(texts), "two plays share a text"
    for after, text in zip(plays, texts, strict=False):
        assert (parse_play(text, board, dice, rules) == after).all(), text


@given(board=boards(), dice=rolls(), data=st.data())
@settings(max_examples=60, deadline=None)
def test_the_order_of_the_parts_makes_no_difference(board: Board, dice: tuple[int, int], data: st.DataObject) -> None:
    plays = legal_plays(board, dice, INTERNATIONAL)
    after = plays[data.draw(st.integers(0, len(plays) - 1))]
    text = format_play(board, after, dice, INTERNATIONAL)
    if text == "no play":
        return
    shuffled = ", ".join(data.draw(st.permutations(text.split())))
    assert (parse_play(shuffled, board, dice, INTERNATIONAL) == after).all(), shuffled


@given(board=boards(), dice=rolls(), data=st.data())
@settings(max_examples=60, deadline=None)
def test_stars_may_be_left_out(board: Board, dice: tuple[int, int], data: st.DataObject) -> None:
    plays = legal_plays(board, dice, INTERNATIONAL)
    after = plays[data.draw(st.integers(0, len(plays) - 1))]
    bare = format_play(board, after, dice, INTERNATIONAL).replace("*", "")
    read = parse_play(bare, board, dice, INTERNATIONAL)
    assert (np.maximum(read, 0) == np.maximum(after, 0)).all(), bare


@given(text=st.text(alphabet="0123456789/-*()barofs ,", max_size=20))
@settings(max_examples=200, deadline=None)
def test_any_text_is_a_legal_play_or_refused(text: str) -> None:
    try:
        after = parse_play(text, START, (3, 3), INTERNATIONAL)
    except InputError:
        return
    assert (legal_plays(START, (3, 3), INTERNATIONAL) == after).all(axis=1).any()
