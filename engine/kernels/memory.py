"""What a search remembers: 2-ply outcomes of after-positions that it has met.

Different plays lead to the same position two rolls later. A value depends on the position alone, so remembering it
changes no bit of any answer; a slot holds the whole board, so no two positions can be taken for each other.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.kernels.compiled import kernel
from engine.kernels.dice import mix


class Memory(NamedTuple):
    """One slot for each hash; the latest position stays. The number of slots is a power of two."""

    boards: NDArray[np.int8]  # [N, 26]; all zero = empty, which no position is
    outcomes: NDArray[np.int64]  # [N, 5] in 1/2**20
    counts: NDArray[np.int64]  # [2]: how often asked, how often known


@kernel
def slot_of(board, memory):
    """The slot where a position is kept."""
    key = np.uint64(0)
    for place in range(26):
        key = key * np.uint64(31) + np.uint64(np.int64(board[place]) + 16)
    return np.int64(mix(key)) & (memory.boards.shape[0] - 1)


@kernel
def recall(board, slot, memory, outcome):
    """Whether the position in `slot` is this one; then `outcome` (int64[5], out) is its value."""
    memory.counts[0] += 1
    for place in range(26):
        if memory.boards[slot, place] != board[place]:
            return False
    memory.counts[1] += 1
    for o in range(5):
        outcome[o] = memory.outcomes[slot, o]
    return True


@kernel
def remember(board, slot, memory, outcome):
    """Keep the value of a position."""
    for place in range(26):
        memory.boards[slot, place] = board[place]
    for o in range(5):
        memory.outcomes[slot, o] = outcome[o]
