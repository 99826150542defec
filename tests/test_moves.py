"""The legal-plays kernel against the plain oracle, and against the published counts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from oracles import moves as oracle
from strategies import boards, rolls

from engine.board import START, Board, make_board
from engine.moves import legal_plays
from engine.perft import perft
from engine.rules import INTERNATIONAL, RuleSet, rule_set

RULE_SETS = [
    rule_set(name)
    for name in (
        "international",
        "tavla",
        "tavla+hit-and-run-ban",
        "tavla+forced-bear-off",
        "tavla+hit-and-run-ban+forced-bear-off",
    )
]

# Two independent generators agree on these (plays, weighted over the 36 rolls).
PERFT = {1: (447, 637), 2: (202_782, 419_783), 3: (116_154_993, 346_692_108)}

PLAYS_FROM_START = {
    (1, 1): 42, (2, 1): 15, (2, 2): 75, (3, 1): 16, (3, 2): 17, (3, 3): 73, (4, 1): 14,
    (4, 2): 18, (4, 3): 17, (4, 4): 52, (5, 1): 8, (5, 2): 8, (5, 3): 9, (5, 4): 9,
    (5, 5): 4, (6, 1): 10, (6, 2): 14, (6, 3): 14, (6, 4): 14, (6, 5): 7, (6, 6): 11,
}  # fmt: skip


def kernel_set(board: Board, dice: tuple[int, int], rules: RuleSet) -> set[tuple[int, ...]]:
    """The kernel's answer as a set; fails when it lists a play twice."""
    plays = legal_plays(board, dice, rules)
    assert plays.dtype == np.int8
    assert plays.shape[1:] == (26,)
    distinct = {tuple(play) for play in plays.tolist()}
    assert len(distinct) == len(plays), "a play is listed twice"
    return distinct


@st.composite
def close_fights(draw: st.DrawFn) -> Board:
    """Few checkers of both sides mixed in the mover's home: bearing off, blots and hits all happen at once."""
    own = draw(st.lists(st.integers(1, 7), min_size=1, max_size=6))
    places = st.sampled_from([point for point in range(7) if point not in own])
    other = draw(st.lists(places, min_size=1, max_size=5))
    counts = [0] * 26
    for point in own:
        counts[point] += 1
    for point in other:
        counts[point] -= 1
    return make_board(counts)


@pytest.mark.parametrize("rules", RULE_SETS, ids=lambda rules: rules.name)
@given(board=boards(), dice=rolls())
@settings(max_examples=120, deadline=None)
def test_kernel_equals_oracle(rules: RuleSet, board: Board, dice: tuple[int, int]) -> None:
    assert kernel_set(board, dice, rules) == oracle.legal_after_positions(board.tolist(), dice, rules)


@pytest.mark.parametrize("rules", RULE_SETS, ids=lambda rules: rules.name)
@given(board=close_fights())
@example(board=make_board([0, 0, 0, 0, -2, 1, 1] + [0] * 19))  # 4-2: a single step found late must not win over two
@settings(max_examples=60, deadline=None)
def test_kernel_equals_oracle_where_hits_and_bearing_off_mix(rules: RuleSet, board: Board) -> None:
    for dice in oracle.ROLLS:
        assert kernel_set(board, dice, rules) == oracle.legal_after_positions(board.tolist(), dice, rules), dice


@given(board=boards(), dice=rolls())
@settings(max_examples=50, deadline=None)
def test_the_order_of_the_dice_makes_no_difference(board: Board, dice: tuple[int, int]) -> None:
    first, second = dice
    assert kernel_set(board, (first, second), INTERNATIONAL) == kernel_set(board, (second, first), INTERNATIONAL)


@given(board=boards(), dice=rolls())
@settings(max_examples=50, deadline=None)
def test_legal_plays_leave_the_board_alone(board: Board, dice: tuple[int, int]) -> None:
    untouched = board.copy()
    legal_plays(board, dice, INTERNATIONAL)
    assert (board == untouched).all()


@pytest.mark.parametrize(("dice", "number"), PLAYS_FROM_START.items())
def test_number_of_plays_of_each_roll_from_the_start(dice: tuple[int, int], number: int) -> None:
    assert len(kernel_set(START, dice, INTERNATIONAL)) == number
    assert len(oracle.legal_after_positions(START.tolist(), dice, INTERNATIONAL)) == number


@pytest.mark.parametrize("depth", [1, 2, pytest.param(3, marks=pytest.mark.slow)])
def test_perft_from_the_start(depth: int) -> None:
    count = perft(START, depth, INTERNATIONAL)
    assert (count.plays, count.weighted) == PERFT[depth]


@pytest.mark.parametrize("depth", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_the_oracle_gives_the_same_perft(depth: int) -> None:
    assert oracle.perft(START.tolist(), depth, INTERNATIONAL) == PERFT[depth]


@pytest.mark.parametrize("rules", RULE_SETS, ids=lambda rules: rules.name)
@given(board=boards())
@settings(max_examples=5, deadline=None)
def test_perft_of_any_board_equals_the_oracle(rules: RuleSet, board: Board) -> None:
    count = perft(board, 1, rules)
    assert (count.plays, count.weighted) == oracle.perft(board.tolist(), 1, rules)


def test_perft_ends_with_the_game() -> None:
    # One checker each on the ace point: whatever the mover rolls he wins, and nothing follows.
    board = make_board([0, 1] + [0] * 22 + [-1, 0])
    one, two = perft(board, 1, INTERNATIONAL), perft(board, 2, INTERNATIONAL)
    assert (one.plays, one.weighted) == oracle.perft(board.tolist(), 1, INTERNATIONAL) == (21, 36)
    assert (two.plays, two.weighted) == oracle.perft(board.tolist(), 2, INTERNATIONAL) == (0, 0)
