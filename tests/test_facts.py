"""The board facts of the network against plain Python."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from oracles import facts as oracle
from strategies import boards

from engine.board import START, Board, flip, make_board
from engine.kernels import facts as kernel


def board_of(own: dict[int, int], other: dict[int, int]) -> Board:
    """A board from counts on the mover's numbering; 25 is his bar, 0 the opponent's."""
    counts = [0] * 26
    for place, count in own.items():
        counts[place] += count
    for place, count in other.items():
        counts[place] -= count
    return make_board(counts)


def kernel_rows(board: Board) -> tuple[list[int], bool]:
    """Rows and race flag of one board."""
    rows = np.full((1, kernel.WIDTH), -1, dtype=np.int32)
    races = np.zeros(1, dtype=np.bool_)
    kernel.rows_of(board[np.newaxis], rows, races)
    return rows[0].tolist(), bool(races[0])


def facts_in(rows: list[int]) -> dict[str, int]:
    """The facts that rows stand for, by name; the opponent's names start with `other_`."""
    sizes = [*oracle.SIDE_FACTS, *((f"other_{name}", size) for name, size in oracle.SIDE_FACTS)]
    values = {}
    start = 1 + oracle.PLACE_ROWS
    for (name, size), row in zip(sizes, rows[26:-1], strict=True):
        values[name] = row - start if row else 0
        start += size
    values["pip_difference"] = rows[-1] - start if rows[-1] else 0
    return values


BAR_AND_BLOTS = {
    "one on the bar": board_of({25: 1, 13: 2, 8: 1, 6: 3}, {0: 0, 22: 1, 20: 2, 5: 1, 12: 2}),
    "two on the bar": board_of({25: 2, 13: 2, 8: 1, 6: 3}, {22: 1, 21: 1, 20: 2, 5: 1}),
    "three on the bar": board_of({25: 3, 15: 1, 6: 3}, {24: 1, 22: 1, 20: 2, 14: 1}),
    "five on the bar": board_of({25: 5, 6: 3}, {24: 1, 23: 1, 18: 1, 12: 1, 3: 2}),
    "both on the bar": board_of({25: 1, 7: 2, 6: 2}, {0: 2, 19: 2, 20: 2, 23: 1}),
    "closed out": board_of({25: 1, 6: 2}, {19: 2, 20: 2, 21: 2, 22: 2, 23: 2, 24: 2, 5: 1}),
    "a prime of eight": board_of(dict.fromkeys(range(3, 9), 2) | {9: 1, 10: 2}, {0: 1, 11: 1, 24: 3}),
    "bearing off": board_of({1: 2, 3: 1}, {22: 1, 24: 4}),
    "one checker each": board_of({1: 1}, {24: 1}),
    "all on one point": board_of({18: 15}, {1: 15}),
    "everything behind": board_of({24: 15}, {1: 15}),
    "fifteen on the bar": board_of({25: 15}, {24: 1, 4: 2}),
}


@given(board=boards())
@example(board=START)
@settings(max_examples=300, deadline=None)
def test_rows_and_race_flag_equal_the_oracle(board: Board) -> None:
    rows, race = kernel_rows(board)
    assert facts_in(rows) == facts_in(oracle.rows(board))  # first, because it names the fact
    assert rows == oracle.rows(board)
    assert race == oracle.is_race(board)


@pytest.mark.parametrize("board", BAR_AND_BLOTS.values(), ids=BAR_AND_BLOTS)
@pytest.mark.parametrize("turn", [False, True], ids=["as it is", "turned round"])
def test_odd_positions_equal_the_oracle(board: Board, turn: bool) -> None:
    seen = flip(board) if turn else board
    rows, race = kernel_rows(seen)
    assert facts_in(rows) == facts_in(oracle.rows(seen))
    assert rows == oracle.rows(seen)
    assert race == oracle.is_race(seen)


@given(board=boards())
@settings(max_examples=100, deadline=None)
def test_facts_of_one_side_are_those_of_the_other_side_of_the_turned_board(board: Board) -> None:
    here, race = kernel_rows(board)
    there, turned_race = kernel_rows(flip(board))
    facts, turned = facts_in(here), facts_in(there)
    for name, _ in oracle.SIDE_FACTS:
        assert facts[name] == turned[f"other_{name}"], name
        assert facts[f"other_{name}"] == turned[name], name
    assert race == turned_race


def test_facts_of_the_start_position_are_known() -> None:
    rows, race = kernel_rows(START)
    facts = facts_in(rows)
    assert not race
    assert facts["pip_difference"] == 64
    assert facts["hitting_rolls"] == 0  # no blots
    assert facts["contact_checkers"] == 15
    assert facts["fifths_of_pips"] == 167 // 5
    assert facts["home_points"] == 1 << 5
    assert facts["outer_points"] == 1 << 1
    assert facts["far_outer_points"] == 1 << 0
    assert facts["anchors"] == 1 << 5
    assert facts["zone"] == 8
    # 7 * (longest run 1) + best block: points 6 and 8.
    assert facts["prime_and_block"] == 7 + 2
    # The points 19, 17 and 12 stop a back checker: it can't stop there (totals 5, 7 and 12), and 5-5 has to touch 19.
    blocked = sum(a + b in (5, 7, 12) or (a, b) == (5, 5) for a in range(1, 7) for b in range(1, 7))
    assert facts["escape_rear"] == 36 - blocked


def test_a_direct_shot_six_away_hits_with_seventeen_rolls() -> None:
    # Nothing stands between 8 and the blot on 2: 11 rolls with a six, 5-1, 4-2 (both ways), 3-3 and 2-2.
    facts = facts_in(kernel_rows(board_of({8: 1}, {2: 1}))[0])
    assert facts["hitting_rolls"] == 17
    assert facts["far_hitting_rolls"] == 0


def test_a_far_shot_is_counted_as_both() -> None:
    facts = facts_in(kernel_rows(board_of({22: 1, 1: 2}, {16: 1}))[0])
    assert facts["hitting_rolls"] == facts["far_hitting_rolls"] == 17


@pytest.mark.parametrize(
    ("own", "other", "race"),
    [({6: 2}, {7: 2}, True), ({7: 2}, {6: 2}, False), ({25: 1}, {24: 1}, False), ({3: 1}, {0: 1}, False)],
)
def test_a_race_begins_when_all_have_passed(own: dict[int, int], other: dict[int, int], race: bool) -> None:
    assert kernel_rows(board_of(own, other))[1] is race


def test_the_inputs_are_those_that_the_oracle_knows() -> None:
    assert list(kernel.SIDE_FACTS) == oracle.SIDE_FACTS
    assert kernel.PIP_DIFFERENCE_VALUES == oracle.PIP_DIFFERENCE_VALUES
    assert kernel.ROWS == oracle.ROWS
    assert len(oracle.rows(START)) == kernel.WIDTH


@given(board=boards())
@settings(max_examples=50, deadline=None)
def test_there_is_one_row_a_place_and_one_a_fact_and_none_beyond_the_table(board: Board) -> None:
    rows, _ = kernel_rows(board)
    assert len(rows) == kernel.WIDTH == 26 + 2 * len(kernel.SIDE_FACTS) + 1
    assert all(0 <= row < kernel.ROWS for row in rows)
    assert [row == 0 for row in rows[:26]] == [count == 0 for count in board.tolist()]


def test_no_two_inputs_share_a_row() -> None:
    places = [kernel.place_row.py_func(p, c) for p in range(26) for c in range(-15, 16) if c]
    sizes = [size for _, size in kernel.SIDE_FACTS] * 2 + [kernel.PIP_DIFFERENCE_VALUES]
    facts = [kernel.fact_row.py_func(fact, value) for fact, size in enumerate(sizes) for value in range(1, size)]
    every = [int(row) for row in places + facts]
    assert len(set(every)) == len(every)
    assert min(every) > 0
    assert max(every) == kernel.ROWS - 1


def test_empty_places_and_facts_of_value_zero_have_no_row() -> None:
    assert all(kernel.place_row.py_func(place, 0) == 0 for place in range(26))
    assert all(kernel.fact_row.py_func(fact, 0) == 0 for fact in range(kernel.FACTS))
