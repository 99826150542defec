"""How alike positions are, and that an index finds exactly what comparing with every position finds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file
from strategies import board_of, boards

from engine.analysis.position_type import position_type
from engine.analysis.similarity import SAME, differences, similarity
from engine.analysis.similarity_index import (
    FORMAT,
    LEAST_PERCENT,
    SimilarityIndex,
    load_index,
    save_index,
)
from engine.board import PLACES, START, Board, flip
from engine.errors import InputError
from engine.moves import ROLLS, legal_plays
from engine.rules import INTERNATIONAL

# Where the places stand on the line, by the steps that the documentation names: off, 1 to 24, bar.
LINE = [0, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 23, 24, 25, 26, 27, 28, 31]


def plain_difference(one: Board, other: Board) -> int:
    """The measure checker by checker: on a line the least way is the one that keeps the order."""
    total = 10 * (position_type(one) is not position_type(other))
    for a, b in ((one, other), (flip(one), flip(other))):
        total += sum(abs(x - y) for x, y in zip(standing(a), standing(b), strict=True))
        total += 2 * sum((a[point] >= 2) != (b[point] >= 2) for point in range(1, 25))
    return total


def standing(board: Board) -> list[int]:
    on_board = [LINE[place] for place in range(1, 26) for _ in range(max(int(board[place]), 0))]
    return [0] * (15 - len(on_board)) + on_board


def archive(seed: int, size: int) -> NDArray[np.int8]:
    """Positions of games of random plays, repeated ones among them: int8[size, 26]."""
    rng = np.random.default_rng(seed)
    found: list[Board] = []
    board = START
    while len(found) < size:
        plays = legal_plays(board, ROLLS[rng.integers(21)], INTERNATIONAL)
        board = flip(plays[rng.integers(len(plays))])
        if not (board > 0).any() or not (board < 0).any() or rng.random() < 0.03:
            board = START
        found.append(board)
    return np.array(found, dtype=np.int8)


def brute_force(all_boards: NDArray[np.int8], board: Board, most: int, least: int) -> list[tuple[int, int]]:
    """(percent, first row) by comparing with every position."""
    first: dict[bytes, int] = {}
    for row, one in enumerate(all_boards):
        first.setdefault(one.tobytes(), row)
    percents = SAME - differences(board, all_boards)
    scored = [(int(percents[row]), row) for row in first.values()]
    return sorted((one for one in scored if one[0] >= least), key=lambda one: (-one[0], one[1]))[:most]


@given(boards(), boards())
def test_the_difference_is_that_of_the_plain_definition(one: Board, other: Board) -> None:
    assert differences(one, other[None]).tolist() == [plain_difference(one, other)]
    assert similarity(one, other) == max(100 - plain_difference(one, other), 0)


@given(boards(), boards())
def test_similarity_is_symmetric_the_same_from_the_other_side_and_100_only_for_the_same(
    one: Board, other: Board
) -> None:
    assert similarity(one, other) == similarity(other, one) == similarity(flip(one), flip(other))
    assert similarity(one, one) == 100
    assert (similarity(one, other) == 100) == (one.tolist() == other.tolist())


@given(boards(), boards(), boards())
def test_differences_obey_the_triangle_inequality(a: Board, b: Board, c: Board) -> None:
    def gap(one: Board, other: Board) -> int:
        return int(differences(one, other[None])[0])

    assert gap(a, c) <= gap(a, b) + gap(b, c)


def test_what_a_step_counts() -> None:
    base = {13: 5, 8: 3, 6: 5}
    board = board_of({**base, 22: 1, 10: 1}, {13: 6, 8: 3, 6: 5})
    nearer = board_of({**base, 22: 1, 9: 1}, {13: 6, 8: 3, 6: 5})
    assert similarity(board, nearer) == 99
    on_the_bar = board_of({**base, 25: 1, 10: 1}, {13: 6, 8: 3, 6: 5})
    last = board_of({**base, 24: 1, 10: 1}, {13: 6, 8: 3, 6: 5})
    assert similarity(on_the_bar, last) == 97


def test_the_same_checkers_with_the_other_player_on_roll_are_another_position() -> None:
    board = board_of({24: 2, 13: 5, 8: 2, 6: 4, 5: 2}, {24: 1, 21: 1, 13: 5, 8: 3, 6: 5})
    assert similarity(board, flip(board)) < 100


@given(st.integers(0, 2**32), st.integers(1, 15), st.integers(1, 100))
@settings(max_examples=15)
def test_the_index_finds_what_comparing_with_every_position_finds(seed: int, most: int, least: int) -> None:
    all_boards = archive(seed, 300)
    index = SimilarityIndex.of(all_boards)
    for board in (all_boards[seed % 300], archive(seed + 1, 40)[-1]):
        found = [(one.percent, one.row) for one in index.nearest(board, most, least)]
        assert found == brute_force(all_boards, board, most, least)


def test_ties_beyond_the_first_look_are_settled_as_in_a_full_comparison() -> None:
    # All positions after two rolls from the start: thousands that are alike, far more than are looked at first.
    after_one = np.concatenate([legal_plays(START, roll, INTERNATIONAL) for roll in ((3, 1), (6, 5), (5, 2))])
    replies = [legal_plays(flip(board), roll, INTERNATIONAL) for board in after_one for roll in ROLLS[:12]]
    all_boards = np.concatenate(replies)
    index = SimilarityIndex.of(all_boards)
    assert len(index) > 4096
    for board in (START, all_boards[77], all_boards[-1]):
        for least in (LEAST_PERCENT, 1):
            found = [(one.percent, one.row) for one in index.nearest(board, 600, least)]
            assert found == brute_force(all_boards, board, 600, least)
            assert len(found) == 600
            assert found[-1][0] in [percent for percent, _ in found[:-1]]


@given(st.lists(boards(), min_size=1, max_size=8), boards())
def test_what_bounds_a_difference_is_never_above_it(several: list[Board], board: Board) -> None:
    # Found through the whole search: a bound that is too high would hide a position.
    all_boards = np.array(several, dtype=np.int8)
    found = SimilarityIndex.of(all_boards).nearest(board, most=8, least_percent=1)
    assert [(one.percent, one.row) for one in found] == brute_force(all_boards, board, 8, 1)


def test_a_repeated_position_is_found_once_with_its_count() -> None:
    other = legal_plays(START, (3, 1), INTERNATIONAL)[0]
    index = SimilarityIndex.of(np.stack([other, START, other, START, START]))
    assert len(index) == 2
    best = index.nearest(START)[0]
    assert (best.row, best.occurrences, best.percent) == (1, 3, 100)


def test_an_empty_index_finds_nothing(tmp_path: Path) -> None:
    index = SimilarityIndex.of(np.zeros((0, PLACES), dtype=np.int8))
    assert index.nearest(START) == []
    save_index(index, tmp_path / "empty.safetensors")
    assert load_index(tmp_path / "empty.safetensors").nearest(START) == []


def test_extreme_positions_fit_the_columns() -> None:
    # All checkers on one place: the sums that a byte must hold are at their largest.
    far = board_of({25: 15}, {1: 15})
    home = board_of({1: 15}, {2: 15})
    index = SimilarityIndex.of(np.stack([far, home]))
    assert [one.percent for one in index.nearest(far, least_percent=1)] == [100]
    assert [one.percent for one in index.nearest(home, least_percent=1)] == [100]
    assert similarity(far, home) == 0


def test_a_saved_index_answers_the_same(tmp_path: Path) -> None:
    all_boards = archive(8, 400)
    index = SimilarityIndex.of(all_boards)
    path = tmp_path / "index.safetensors"
    save_index(index, path)
    again = load_index(path)
    assert [again.nearest(board) for board in all_boards[:20]] == [index.nearest(board) for board in all_boards[:20]]
    assert [one.name for one in tmp_path.iterdir()] == ["index.safetensors"]


def test_files_that_are_no_index_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "index.safetensors"
    with pytest.raises(InputError, match="readable"):
        load_index(path)
    path.write_bytes(b"nothing like it")
    with pytest.raises(InputError, match="readable"):
        load_index(path)
    save_index(SimilarityIndex.of(archive(8, 10)), path)
    arrays = load_file(path)
    save_file(arrays, path, metadata={"format": "another"})
    with pytest.raises(InputError, match=FORMAT):
        load_index(path)
    arrays["boards"][0, 0] -= 1
    save_file(arrays, path, metadata={"format": FORMAT, "digest": "0"})
    with pytest.raises(InputError, match="undamaged"):
        load_index(path)


@pytest.mark.parametrize(("most", "least"), [(0, 60), (12, 0), (12, 101)])
def test_questions_without_sense_are_refused(most: int, least: int) -> None:
    with pytest.raises(InputError):
        SimilarityIndex.of(archive(8, 10)).nearest(START, most, least)
