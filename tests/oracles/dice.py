"""Dice as functions of (seed, trial, half-move) in plain Python integers: SplitMix64's finaliser over counters.

Shares no code with `engine`. Rolls are numbered 0..35: 6 * (first die - 1) + (second die - 1).
"""

from __future__ import annotations

_64_BITS = 2**64 - 1
_GOLDEN = 0x9E3779B97F4A7C15

STREAM_TRIAL = 1
STREAM_STRATA = 2
STREAM_SELF_PLAY = 3
STREAM_VERSUS = 11


def mix(value: int) -> int:
    """The finaliser of SplitMix64."""
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & _64_BITS
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & _64_BITS
    return value ^ (value >> 31)


def noise(seed: int, stream: int, first: int, second: int) -> int:
    """64 bits: the four numbers are added and mixed in, one after the other."""
    value = mix((seed + _GOLDEN) & _64_BITS)
    for counter in (stream, first, second):
        value = mix((value + _GOLDEN * (counter + 1)) & _64_BITS)
    return value


def below(bits: int, bound: int) -> int:
    """The upper 32 bits scaled to 0 .. bound-1."""
    return (bits >> 32) * bound >> 32


def strata(seed: int) -> list[list[int]]:
    """Fisher-Yates shuffles of the 36 rolls for the first and the second half-move."""
    tables = []
    for half_move in range(2):
        table = list(range(36))
        for i in range(35, 0, -1):
            j = below(noise(seed, STREAM_STRATA, half_move, i), i + 1)
            table[i], table[j] = table[j], table[i]
        tables.append(table)
    return tables


def roll_index(seed: int, trial: int, half_move: int) -> int:
    """The roll of a half-move (from 0) of a rollout's trial."""
    if half_move == 0:
        return strata(seed)[0][trial % 36]
    if half_move == 1:
        return strata(seed)[1][(trial + trial // 36) % 36]
    return below(noise(seed, STREAM_TRIAL, trial, half_move), 36)


def self_play_roll(seed: int, game: int, half_move: int, reroll: bool) -> tuple[int, int]:
    """(first die, second die) of a half-move of a training game; without `reroll` the opening is no double."""
    bits = noise(seed, STREAM_SELF_PLAY, game, half_move)
    if half_move == 0 and not reroll:
        mixed = [(a, b) for a in range(1, 7) for b in range(1, 7) if a != b]
        return mixed[below(bits, 30)]
    return below(bits, 36) // 6 + 1, below(bits, 36) % 6 + 1


def match_roll(seed: int, pair: int, half_move: int, reroll: bool) -> tuple[int, int]:
    """(first die, second die) of a half-move in both games of a pair; without `reroll` the opening is no double."""
    bits = noise(seed, STREAM_VERSUS, pair, half_move)
    if half_move == 0 and not reroll:
        mixed = [(a, b) for a in range(1, 7) for b in range(1, 7) if a != b]
        return mixed[below(bits, 30)]
    return below(bits, 36) // 6 + 1, below(bits, 36) % 6 + 1
