"""Labels for training: every play of a random roll, as a filter net meets them, and values one roll deeper."""

from __future__ import annotations

import numpy as np
from numba import njit

from engine.kernels.dice import below, noise
from engine.kernels.moves import flip_into
from engine.kernels.network import ONE, is_won
from engine.kernels.play import rank_roll
from engine.kernels.search import value2

STREAM_LABELS = 4


@njit(cache=True, nogil=True)
def label_plays(boards, seed, engine, w, plays, outcomes):
    """All plays of one random roll in each position, with the main net's outcomes.

    Args:
        boards: int8[N, 26], after-positions; the other side is to roll. plays: int8[M, 26] out, after-positions in the
            view of the player who made the play. outcomes: float32[M, 5] out, same view.

    Returns:
        The number of rows written; stops when the next position might not fit.
    """
    s = w.main
    written = 0
    board = np.empty(26, dtype=np.int8)
    for i in range(boards.shape[0]):
        flip_into(boards[i], board)
        index = below(noise(seed, STREAM_LABELS, i, 0), 36)
        n = rank_roll(board, index // 6 + 1, index % 6 + 1, engine, w)
        if written + n > plays.shape[0]:
            break
        for k in range(n):
            if is_won(s.plays[k]):
                continue
            plays[written] = s.plays[k]
            for o in range(5):
                outcomes[written, o] = np.float32(s.outcomes[k, o]) / np.float32(ONE)
            written += 1
    return written


@njit(cache=True, nogil=True)
def label_2ply(boards, engine, w, outcomes):
    """`outcomes` (float32[N, 5]) of after-positions (int8[N, 26]) at 2-ply, views of the players who just moved."""
    value = np.empty(5, dtype=np.int64)
    for i in range(boards.shape[0]):
        value2(boards[i], engine, w, value)
        for o in range(5):
            outcomes[i, o] = np.float32(value[o]) / np.float32(ONE)
