"""How alike two positions are, in percent, and the difference that decides it.

Each side's fifteen checkers stand on a line of places: off, his points 1 to 24, his bar. The distance of two such
arrangements is the least total way that turns one into the other (earth mover's distance), a step between neighbouring
places counting 1 and a few more that matter: off and point 1: 3; into the home (6 and 7): 2; out of the opponent's home
(18 and 19): 2; onto the bar: 3. To the distances of both sides are added 2 for every point that a side has made in only
one of the positions, and 10 if the positions are of different types (`engine.analysis.position_type`).

similarity = max(0, 100 - difference) percent

So it is symmetric, 100 % only for the same position, and the differences obey the triangle inequality. In games of a
net against itself one roll changes a position by 11 percent, a roll of each side by 22 (medians); of two positions
taken at random, one pair in a hundred reaches 54 percent.

It is about what the player on roll sees: his checkers are compared with those of the player on roll in the other
position. Dice, cube and score don't count.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.analysis.position_type import position_types
from engine.board import BAR, CHECKERS, PLACES, Board

SAME = 100
STEP_WEIGHTS = tuple({0: 3, 6: 2, 18: 2, 24: 3}.get(place, 1) for place in range(BAR))
"""What a step between place p and p + 1 counts, in the numbering of the side whose checker it is; 0 is off."""
POINT_WEIGHT = 2
TYPE_WEIGHT = 10


def similarity(one: Board, other: Board) -> int:
    """Percent, 0 to 100, of two boards int8[26], each in the view of its player on roll."""
    difference = int(differences(np.asarray(one), np.asarray(other)[None])[0])
    return max(SAME - difference, 0)


def differences(board: Board, boards: NDArray[np.int8]) -> NDArray[np.int64]:
    """The differences int64[N] of one board (int8[26]) from many (int8[N, 26])."""
    (kind,), kinds = position_types(board[None])[0], position_types(boards)[0]
    return differences_of_type(board, int(kind), boards, kinds)


def differences_of_type(
    board: Board, kind: int, boards: NDArray[np.int8], kinds: NDArray[np.uint8]
) -> NDArray[np.int64]:
    """The same where the types (indices, `kinds` uint8[N]) are known."""
    weights = np.array(STEP_WEIGHTS, dtype=np.int64)
    total = TYPE_WEIGHT * (kinds != kind).astype(np.int64)
    for own, others in zip(sides_of(board[None]), sides_of(boards), strict=True):
        moved = np.abs(cumulative(others) - cumulative(own))
        total += moved @ weights
        made = (others[:, 1:BAR] >= 2) != (own[:, 1:BAR] >= 2)
        total += POINT_WEIGHT * made.sum(axis=1)
    return np.asarray(total)


def sides_of(boards: NDArray[np.int8]) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
    """Checkers int8[N, 26] of the player on roll and of his opponent, each by his own numbering."""
    return np.maximum(boards, 0), np.maximum(-boards[:, ::-1], 0)


def cumulative(side: NDArray[np.int8]) -> NDArray[np.int8]:
    """int8[N, 25]: for p = 0..24, how many of a side's fifteen checkers are off or on places up to p."""
    # Counting down from fifteen puts those that are off in the first column.
    behind = np.cumsum(side[:, PLACES - 1 : 0 : -1], axis=1, dtype=np.int8)[:, ::-1]
    return np.asarray(CHECKERS - behind, dtype=np.int8)
