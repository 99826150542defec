"""Dice as a pure function of (seed, trial, half-move), so that any worker computes any trial alone.

The stream is the SplitMix64 finaliser (Steele, Lea, Flood 2014) over a counter. The first two half-moves of a rollout
are stratified: trials 36k .. 36k+35 hold each of the 36 first rolls once, and 1,296k .. 1,296k+1,295 each pair of
first and second rolls once. Every single trial is still uniform: the strata are shuffled by permutations drawn from
the seed.
"""

from __future__ import annotations

import numpy as np
from numba import njit

_A = np.uint64(0xBF58476D1CE4E5B9)
_B = np.uint64(0x94D049BB133111EB)
_STEP = np.uint64(0x9E3779B97F4A7C15)
_S30 = np.uint64(30)
_S27 = np.uint64(27)
_S31 = np.uint64(31)
_S32 = np.uint64(32)

STREAM_TRIAL = 1
STREAM_STRATA = 2


@njit(inline="always")
def mix(value):
    """Well mixed 64 bits of 64 bits (the finaliser of SplitMix64)."""
    value = (value ^ (value >> _S30)) * _A
    value = (value ^ (value >> _S27)) * _B
    return value ^ (value >> _S31)


@njit
def noise(seed, stream, first, second):
    """64 random bits, a pure function of four integers."""
    value = mix(np.uint64(seed) + _STEP)
    value = mix(value + _STEP * (np.uint64(stream) + np.uint64(1)))
    value = mix(value + _STEP * (np.uint64(first) + np.uint64(1)))
    return mix(value + _STEP * (np.uint64(second) + np.uint64(1)))


@njit
def below(bits, bound):
    """A number in 0 .. bound-1 from 64 random bits (bias below bound / 2**32)."""
    return np.int64(((bits >> _S32) * np.uint64(bound)) >> _S32)


@njit
def strata(seed):
    """int64[2, 36]: the permutations of the 36 rolls that the first and second half-moves go through."""
    table = np.empty((2, 36), dtype=np.int64)
    for level in range(2):
        for i in range(36):
            table[level, i] = i
        for i in range(35, 0, -1):
            j = below(noise(seed, STREAM_STRATA, level, i), i + 1)
            table[level, i], table[level, j] = table[level, j], table[level, i]
    return table


@njit
def roll_index(seed, trial, half_move, table):
    """One of the 36 rolls, 6 * (first die - 1) + (second die - 1); `half_move` counts from 0; `table` =
    strata(seed).
    """
    if half_move == 0:
        return table[0, trial % 36]
    if half_move == 1:
        return table[1, (trial // 36 + trial) % 36]
    return below(noise(seed, STREAM_TRIAL, trial, half_move), 36)


@njit
def opening_dice(bits, reroll):
    """(first die, second die) of the first move of a game from 64 random bits; without `reroll` never a double."""
    index = below(bits, 36 if reroll else 30)
    if reroll:
        return index // 6 + 1, index % 6 + 1
    first = index // 5
    second = index % 5
    if second >= first:
        second += 1
    return first + 1, second + 1
