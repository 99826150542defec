"""Counting after-positions at a depth."""

from __future__ import annotations

import numpy as np
from numba import njit

from engine.kernels.moves import MAX_PLAYS, flip_into, generate


@njit
def opponent_is_off(board):
    """Whether the opponent has borne off all his checkers."""
    for place in range(25):  # noqa: SIM110 - Numba compiles no generator expressions
        if board[place] < 0:
            return False
    return True


@njit(cache=True, nogil=True)
def perft(board, depth, flags):
    """(plays, weighted): after-positions at `depth`, each of 21 rolls once, and weighted over the 36."""
    plays = np.empty((depth, MAX_PLAYS, 26), dtype=np.int8)
    changed = np.empty(MAX_PLAYS, dtype=np.int64)
    keys = np.empty(MAX_PLAYS, dtype=np.uint64)
    work = np.empty(26, dtype=np.int8)
    boards = np.empty((depth + 1, 26), dtype=np.int8)
    count = np.zeros(depth, dtype=np.int64)  # plays of the current roll at each level
    index = np.zeros(depth, dtype=np.int64)  # next play to descend into
    roll = np.zeros(depth, dtype=np.int64)  # next roll, 0..20
    weight = np.ones(depth + 1, dtype=np.int64)
    total = 0
    weighted = 0
    boards[0] = board
    level = 0
    while level >= 0:
        if index[level] < count[level]:
            flip_into(plays[level, index[level]], boards[level + 1])
            index[level] += 1
            if opponent_is_off(boards[level + 1]):
                continue
            level += 1
            count[level] = 0
            index[level] = 0
            roll[level] = 0
            continue
        if roll[level] == 21:
            level -= 1
            continue
        high = 1
        rest = roll[level]
        while rest >= high:
            rest -= high
            high += 1
        low = rest + 1
        roll[level] += 1
        factor = weight[level] * (1 if high == low else 2)
        n = generate(boards[level], high, low, flags, plays[level], changed, keys, work)
        if level == depth - 1:
            total += n
            weighted += n * factor
        else:
            weight[level + 1] = factor
            count[level] = n
            index[level] = 0
    return total, weighted
