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


def kernel_rows(board: Board) -> tuple[list[int], int]:
    """Rows and class of one board."""
    rows = np.full((1, kernel.WIDTH), -1, dtype=np.int32)
    classes = np.zeros(1, dtype=np.int64)
    kernel.rows_of(np.array(board)[np.newaxis], rows, classes)
    return rows[0].tolist(), int(classes[0])


def facts_in(rows: list[int]) -> dict[str, int]:
    """The facts that rows stand for, by name; the opponent's names start with `other_`."""
    others = [(f"other_{name}", size) for name, size in oracle.SIDE_FACTS]
    values = {}
    start = 1 + oracle.PLACE_ROWS
    for (name, size), row in zip([*oracle.SIDE_FACTS, *others, *oracle.BOARD_FACTS], rows[26:], strict=True):
        values[name] = row - start if row else 0
        start += size
    return values


def along_the_board(name: str, value: int) -> int:
    """A set of points as the other side numbers its bits."""
    if name not in ("home_points", "outer_points", "far_outer_points", "anchors"):
        return value
    points, rest = divmod(value, 3) if name in ("home_points", "anchors") else (value, 0)
    turned = sum(1 << 5 - i for i in range(6) if points >> i & 1)
    return turned * 3 + rest if name in ("home_points", "anchors") else turned


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
def test_rows_and_class_equal_the_oracle(board: Board) -> None:
    rows, found = kernel_rows(board)
    assert facts_in(rows) == facts_in(oracle.rows(board))  # first, because it names the fact
    assert rows == oracle.rows(board)
    assert found == oracle.position_class(board)


@pytest.mark.parametrize("board", BAR_AND_BLOTS.values(), ids=BAR_AND_BLOTS)
@pytest.mark.parametrize("turn", [False, True], ids=["as it is", "turned round"])
def test_odd_positions_equal_the_oracle(board: Board, turn: bool) -> None:
    seen = flip(board) if turn else board
    rows, found = kernel_rows(seen)
    assert facts_in(rows) == facts_in(oracle.rows(seen))
    assert rows == oracle.rows(seen)
    assert found == oracle.position_class(seen)


@given(board=boards())
@settings(max_examples=100, deadline=None)
def test_facts_of_one_side_are_those_of_the_other_side_of_the_turned_board(board: Board) -> None:
    here, found = kernel_rows(board)
    there, turned_class = kernel_rows(flip(board))
    facts, turned = facts_in(here), facts_in(there)
    for name, _ in oracle.SIDE_FACTS:
        assert along_the_board(name, facts[name]) == turned[f"other_{name}"], name
        assert facts[f"other_{name}"] == along_the_board(name, turned[name]), name
    assert (found == kernel.RACE) == (turned_class == kernel.RACE)


def test_facts_of_the_start_position_are_known() -> None:
    rows, found = kernel_rows(START)
    facts = facts_in(rows)
    assert found == 4  # contact, both sides with checkers far behind
    assert facts["pips"] == 64 * 8 + 167 // 24
    assert facts["hitting_rolls"] == 0  # no blots
    assert facts["contact_and_timing"] == 16 * 15 + (3 * 1 + 5 * 4) // 3  # on 8: 2 pips, on 13: 7
    assert facts["home_points"] == 3 << 5
    assert facts["outer_points"] == 1 << 1
    assert facts["far_outer_points"] == 1 << 0
    assert facts["anchors"] == 3 << 5
    assert facts["zone_and_deep"] == 8 * 16
    assert facts["blots"] == 3 * 1  # none, but the six point of the other side is made
    assert facts["stacks"] == 4 * 3 + 2  # 6 and 13 hold five, 8 holds three
    assert facts["rear_checkers"] == 24 * 26 + 24
    # 7 * (longest run 1) + best block: points 6 and 8.
    assert facts["prime_and_block"] == 7 + 2
    # The points 19, 17 and 12 stop a back checker: it can't stop there (totals 5, 7 and 12), and 5-5 has to touch 19.
    blocked = sum(a + b in (5, 7, 12) or (a, b) == (5, 5) for a in range(1, 7) for b in range(1, 7))
    assert facts["escapes"] // 11 == 36 - blocked


def test_a_direct_shot_six_away_hits_with_seventeen_rolls() -> None:
    # Nothing stands between 8 and the blot on 2: 11 rolls with a six, 5-1, 4-2 (both ways), 3-3 and 2-2.
    facts = facts_in(kernel_rows(board_of({8: 1}, {2: 1}))[0])
    assert facts["hitting_rolls"] == 170


def test_a_far_shot_is_counted_as_both() -> None:
    facts = facts_in(kernel_rows(board_of({22: 1, 1: 2}, {16: 1}))[0])
    assert facts["hitting_rolls"] == 170 + 5  # 17 rolls are five quarters, rounded up


@pytest.mark.parametrize(
    ("own", "other", "race"),
    [({6: 2}, {7: 2}, True), ({7: 2}, {6: 2}, False), ({25: 1}, {24: 1}, False), ({3: 1}, {0: 1}, False)],
)
def test_a_race_begins_when_all_have_passed(own: dict[int, int], other: dict[int, int], race: bool) -> None:
    assert (kernel_rows(board_of(own, other))[1] == kernel.RACE) is race


def test_the_inputs_are_those_that_the_oracle_knows() -> None:
    assert list(kernel.SIDE_FACTS) == oracle.SIDE_FACTS
    assert list(kernel.BOARD_FACTS) == oracle.BOARD_FACTS
    assert kernel.ROWS == oracle.ROWS
    assert len(oracle.rows(START)) == kernel.WIDTH


@given(board=boards())
@settings(max_examples=50, deadline=None)
def test_there_is_one_row_a_place_and_one_a_fact_and_none_beyond_the_table(board: Board) -> None:
    rows, _ = kernel_rows(board)
    assert len(rows) == kernel.WIDTH == 26 + 2 * len(kernel.SIDE_FACTS) + 2
    assert all(0 <= row < kernel.ROWS for row in rows)
    assert [row == 0 for row in rows[:26]] == [count == 0 for count in board.tolist()]


def test_no_two_inputs_share_a_row() -> None:
    places = [kernel.place_row.py_func(p, c) for p in range(26) for c in range(-15, 16) if c]
    sizes = [size for _, size in [*kernel.SIDE_FACTS, *kernel.SIDE_FACTS, *kernel.BOARD_FACTS]]
    facts = [int(kernel.OFFSETS[fact]) + value for fact, size in enumerate(sizes) for value in range(1, size)]
    every = [int(row) for row in places + facts]
    assert len(set(every)) == len(every)
    assert min(every) > 0
    assert max(every) == kernel.ROWS - 1


def test_empty_places_and_facts_of_value_zero_have_no_row() -> None:
    rows, _ = kernel_rows(START)
    assert all(kernel.place_row.py_func(place, 0) == 0 for place in range(26))
    names = [name for name, _ in oracle.SIDE_FACTS]
    assert rows[26 + names.index("hitting_rolls")] == rows[26 + names.index("borne_off")] == 0
