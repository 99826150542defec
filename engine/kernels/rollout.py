"""Trials of a rollout: one game each, from the position to its end or to the truncation, with the luck of each roll."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from engine.kernels.compiled import inlined, kernel
from engine.kernels.dice import roll_index, strata
from engine.kernels.moves import flip_into
from engine.kernels.network import ONE
from engine.kernels.play import all_plays, best_between, likely_plays, prepare, roll_number, settled
from engine.kernels.search import choose

MAX_HALF_MOVES = 4096
"""A game as long as this is valued by the network; no real game comes near it."""


class TrialRules(NamedTuple):
    """How trials are played."""

    seed: int
    level: int
    """Plies (1 or 2) with which both sides choose."""
    width: int
    """At level 2: plays, best by 1-ply first, that are looked at."""
    margin: int
    """At level 2: equity in 1/2**20 that these may be worse by 1-ply than the best."""
    truncate: int
    """Half-moves after which a trial is valued at `level`; 0 = never."""
    reduce: bool
    """Whether to compute luck."""


class FirstMoves(NamedTuple):
    """What the first half-move of a candidate comes to, by throw (0..35); all its trials share it. C = 5 outcomes; with
    the cube a value follows them.
    """

    ready: NDArray[np.bool_]  # [36]
    luck36: NDArray[np.int64]  # [36, C]: 36 times the luck, view of the player who rolls
    plays: NDArray[np.int8]  # [36, 26]: after-positions
    values: NDArray[np.int64]  # [36, C]: outcomes at the level of the trials, view of the player who rolls


@inlined
def to_mover(values, total, flipped):
    """`values` seen by the player on roll -> by the question's mover; `total` is what a chance and its opposite add up
    to (ONE for probabilities, 0 for luck).
    """
    if not flipped:
        return values[0], values[1], values[2], values[3], values[4]
    return total - values[0], values[3], values[4], values[1], values[2]


@inlined
def of_36(total):
    """A 36th of a total to the nearest whole number, halves away from zero: both views of a trial mirror each other."""
    size = (abs(total) + 18) // 36
    return size if total >= 0 else -size


@kernel
def _roll_luck(board, prepared, index, engine, w, mean, actual):
    """36 times the luck of a roll in the five outcomes (`actual`, out): its value against the mean of all 36 throws.

    The value of a roll is the main net's value of its own best play among those that the filter net likes: a function
    of position and roll alone, whatever play the trial then makes. That is what keeps the estimate unbiased.
    """
    for o in range(5):
        mean[o] = 0
        actual[o] = 0
    first = index // 6 + 1
    second = index % 6 + 1
    rolled = roll_number(max(first, second), min(first, second))
    s = w.main
    likely_plays(board, prepared, engine.luck_keep, engine, w)
    number = 0
    for high in range(1, 7):
        for low in range(1, high + 1):
            best = best_between(s.starts[number], s.starts[number + 1], s)
            weight = 1 if high == low else 2
            for o in range(5):
                mean[o] += weight * s.outcomes[best, o]
            if number == rolled:
                for o in range(5):
                    actual[o] = 36 * s.outcomes[best, o]
            number += 1
    for o in range(5):
        actual[o] -= mean[o]


@njit(cache=True, nogil=True)
def roll_trials(start, mover_rolls, first_trial, how, engine, w, w2, first, rows):
    """Play trials `first_trial ...` of a rollout.

    Args:
        start: int8[26], view of the player who rolls first. mover_rolls: whether that is the player whose view the
            results take (else his opponent). how: TrialRules. w, w2: two work spaces. first: FirstMoves of this
            candidate, filled in as they come. rows: int32[N, 10] out, per trial the five outcomes and the luck in
            each of them, in 1/2**20, view of the question's mover. An estimate with variance reduction is outcome -
            luck.
    """
    table = strata(how.seed)
    board = np.empty(26, dtype=np.int8)
    play = np.empty(26, dtype=np.int8)
    luck36 = np.zeros(5, dtype=np.int64)
    mean = np.zeros(5, dtype=np.int64)
    actual = np.zeros(5, dtype=np.int64)
    value = np.zeros(5, dtype=np.int64)
    ending = np.zeros(5, dtype=np.int64)
    flip_into(start, board)
    if settled(board, engine, w.main.outcomes[0]):
        for i in range(rows.shape[0]):
            values = to_mover(w.main.outcomes[0], ONE, mover_rolls)
            for o in range(5):
                rows[i, o] = values[o]
                rows[i, 5 + o] = 0
        return
    for i in range(rows.shape[0]):
        trial = first_trial + i
        board[:] = start
        flipped = not mover_rolls
        luck36[:] = 0
        half_move = 0
        while True:
            index = roll_index(how.seed, trial, half_move, table)
            known = half_move == 0 and first.ready[index]
            if not known:
                prepared = prepare(board, engine, w)
                if how.reduce:
                    _roll_luck(board, prepared, index, engine, w, mean, actual)
                n = all_plays(board, prepared, index // 6 + 1, index % 6 + 1, engine, w)
                best = choose(n, how.level, how.width, how.margin, engine, w, w2, value)
                play[:] = w.main.plays[best]
                if half_move == 0:
                    first.ready[index] = True
                    first.luck36[index] = actual
                    first.plays[index] = play
                    first.values[index] = value
            else:
                actual[:] = first.luck36[index]
                play[:] = first.plays[index]
                value[:] = first.values[index]
            if how.reduce:
                lucks = to_mover(actual, 0, flipped)
                for o in range(5):
                    luck36[o] += lucks[o]
            half_move += 1
            if half_move == how.truncate or half_move == MAX_HALF_MOVES or settled(play, engine, ending):
                values = to_mover(value, ONE, flipped)
                for o in range(5):
                    rows[i, o] = values[o]
                    rows[i, 5 + o] = of_36(luck36[o])
                break
            flip_into(play, board)
            flipped = not flipped
