"""The board: where the checkers are, seen by one player.

A board is `int8[26]` from the **mover's** view: indices 1..24 are the points in the mover's own numbering (positive =
mover's checkers, negative = opponent's), index 25 is the mover's bar, index 0 the opponent's bar (a negative count).
Checkers that are missing from fifteen have been borne off.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from engine.errors import InputError

Board = NDArray[np.int8]  # int8[26], the mover's view

PLACES = 26
CHECKERS = 15
BAR = 25
OPPONENT_BAR = 0


def make_board(counts: Sequence[int], checkers: int = CHECKERS) -> Board:
    """Build and check a board from 26 signed counts.

    Args:
        checkers: of each side at the start.

    Raises:
        InputError: a wrong length, more than so many checkers a side, a checker of the wrong side on a bar,
            or nothing left to play.
    """
    if len(counts) != PLACES:
        raise InputError("board", len(counts), "26 places")
    own = sum(c for c in counts if c > 0)
    other = -sum(c for c in counts if c < 0)
    if own > checkers:
        raise InputError("board", f"{own} checkers of the player on roll", f"at most {checkers} checkers a side")
    if other > checkers:
        raise InputError("board", f"{other} checkers of the opponent", f"at most {checkers} checkers a side")
    if counts[BAR] < 0:
        raise InputError("board", "opposing checker on the mover's bar", "only the mover's checkers there")
    if counts[OPPONENT_BAR] > 0:
        raise InputError("board", "mover's checker on the opponent's bar", "only the opponent's checkers there")
    if own == 0 or other == 0:
        raise InputError("board", "a side has borne off all its checkers", "a game that is not over")
    return np.array(counts, dtype=np.int8)


def flip(board: Board) -> Board:
    """The same position seen by the other player (int8[26]); `flip(flip(b)) == b`."""
    return np.ascontiguousarray(-board[::-1])


def pips(board: Board) -> tuple[int, int]:
    """Pip counts (mover, opponent); a checker on the bar counts 25."""
    counts = board.astype(np.int64)
    index = np.arange(PLACES)
    own = int((np.maximum(counts, 0) * index).sum())
    other = int((np.maximum(-counts, 0) * (25 - index)).sum())
    return own, other


def borne_off(board: Board) -> tuple[int, int]:
    """Checkers borne off (mover, opponent)."""
    counts = board.astype(np.int64)
    own = int(np.maximum(counts, 0).sum())
    other = int(np.maximum(-counts, 0).sum())
    return CHECKERS - own, CHECKERS - other


def is_closed_out(board: Board) -> bool:
    """Whether the mover has a checker on the bar and the opponent all six points of his home."""
    return bool(board[BAR] > 0 and (board[19:BAR] <= -2).all())


def _start() -> Board:
    counts = [0] * PLACES
    for point, number in ((24, 2), (13, 5), (8, 3), (6, 5)):
        counts[point] = number
        counts[25 - point] = -number
    board = make_board(counts)
    board.setflags(write=False)
    return board


START: Board = _start()
