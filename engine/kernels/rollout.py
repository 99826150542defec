"""Trials of a rollout: one game each, from the position to its end or to the truncation, with the luck of every
roll.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from engine.kernels.dice import roll_index, strata
from engine.kernels.moves import flip_into, generate
from engine.kernels.network import ONE, best_of, evaluate_plays, is_won, prepare

MAX_HALF_MOVES = 4096
"""A game as long as this is valued by the network; no real game comes near it."""


@njit(inline="always")
def _to_mover(values, total, flipped):
    """`values` seen by the player on roll -> the question's mover; `total` is what probabilities add up to (ONE or
    0).
    """
    if not flipped:
        return values[0], values[1], values[2], values[3], values[4]
    return total - values[0], values[3], values[4], values[1], values[2]


@njit
def _roll_luck(board, prepared, index, flags, net, utility, s, mean, actual):
    """36 times the luck of a roll in the five outcomes (`actual`, out): the roll's best play against the mean of
    all 36.
    """
    for o in range(5):
        mean[o] = 0
        actual[o] = 0
    first = index // 6 + 1
    second = index % 6 + 1
    high = max(first, second)
    low = min(first, second)
    for a in range(1, 7):
        for b in range(1, a + 1):
            n = generate(board, a, b, flags, s.plays, s.changed, s.keys, s.work)
            evaluate_plays(board, prepared, n, net, utility, s)
            best = best_of(n, s)
            weight = 1 if a == b else 2
            for o in range(5):
                mean[o] += weight * s.outcomes[best, o]
            if a == high and b == low:
                for o in range(5):
                    actual[o] = 36 * s.outcomes[best, o]
    for o in range(5):
        actual[o] -= mean[o]


@njit(cache=True, nogil=True)
def roll_trials(start, mover_rolls, seed, first_trial, truncate, reduce, flags, utility, net, s, rows):
    """Play trials `first_trial ...` of a rollout; both sides play at 1-ply.

    Args:
        start: int8[26], view of the player who rolls first. mover_rolls: whether that is the player whose view the
        results
            take (else his opponent). truncate: half-moves after which the network's value ends a trial, 0 = never.
            reduce: whether to compute luck (else it stays 0). rows: int32[N, 10] out, per trial the five outcomes and
            the luck in each of them, in 1/2**20, view of the question's mover. An estimate with variance reduction is
            outcome - luck.
    """
    table = strata(seed)
    board = np.empty(26, dtype=np.int8)
    luck36 = np.zeros(5, dtype=np.int64)
    mean = np.zeros(5, dtype=np.int64)
    actual = np.zeros(5, dtype=np.int64)
    for i in range(rows.shape[0]):
        trial = first_trial + i
        board[:] = start
        flipped = not mover_rolls
        luck36[:] = 0
        half_move = 0
        while True:
            index = roll_index(seed, trial, half_move, table)
            prepared = prepare(board, net, s)
            if reduce:
                _roll_luck(board, prepared, index, flags, net, utility, s, mean, actual)
                lucks = _to_mover(actual, 0, flipped)
                for o in range(5):
                    luck36[o] += lucks[o]
            n = generate(board, index // 6 + 1, index % 6 + 1, flags, s.plays, s.changed, s.keys, s.work)
            evaluate_plays(board, prepared, n, net, utility, s)
            best = best_of(n, s)
            half_move += 1
            if is_won(s.plays[best]) or half_move == truncate or half_move == MAX_HALF_MOVES:
                values = _to_mover(s.outcomes[best], ONE, flipped)
                for o in range(5):
                    rows[i, o] = values[o]
                    rows[i, 5 + o] = (luck36[o] + 18) // 36
                break
            flip_into(s.plays[best], board)
            flipped = not flipped
