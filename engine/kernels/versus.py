"""Games between two players, many at once: their dice, the plays that a net makes, luck of rolls, results.

Half-moves of many games are played side by side, so that a player may also be another program.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from engine.kernels.dice import below, noise, opening_dice
from engine.kernels.network import ONE, equity_of, final_outcome, is_won
from engine.kernels.play import all_plays, best_between, likely_plays, prepare, roll_number
from engine.kernels.search import choose

STREAM_VERSUS = 11


@njit(cache=True, nogil=True)
def pair_dice(seed, pairs, half_move, reroll, dice):
    """The dice of one half-move (from 0) in some pairs of games: a function of seed, pair and half-move.

    Args:
        pairs: int64[N], numbers of the pairs; both games of a pair get the same. reroll: whether the winner of the
            opening roll rolls both dice again. dice: int64[N, 2] out.
    """
    for i in range(pairs.shape[0]):
        bits = noise(seed, STREAM_VERSUS, pairs[i], half_move)
        if half_move == 0:
            dice[i, 0], dice[i, 1] = opening_dice(bits, reroll)
        else:
            index = below(bits, 36)
            dice[i, 0], dice[i, 1] = index // 6 + 1, index % 6 + 1


@njit(cache=True, nogil=True)
def choose_plays(boards, dice, level, width, margin, engine, w, w2, afters):
    """The after-positions (int8[N, 26], out) that an engine chooses at level 1 or 2.

    Args:
        boards: int8[N, 26], dice: int64[N, 2], of the players on roll. width, margin: see `choose`.
    """
    value = np.empty(5, dtype=np.int64)
    for i in range(boards.shape[0]):
        prepared = prepare(boards[i], engine, w)
        n = all_plays(boards[i], prepared, dice[i, 0], dice[i, 1], engine, w)
        best = choose(n, level, width, margin, engine, w, w2, value) if n > 1 else 0
        afters[i] = w.main.plays[best]


@njit(cache=True, nogil=True)
def roll_lucks(boards, dice, engine, w, lucks36):
    """36 times the luck of rolls (int64[N], out; equity in 1/2**20, view of the player who rolls).

    The value of a roll is the engine's value of its own best play among those that its filter net likes, a function of
    position and roll alone; its luck is that against the mean over all 36 throws. So the expectation of luck is zero
    whatever is then played, by whomever.
    """
    s = w.main
    for i in range(boards.shape[0]):
        prepared = prepare(boards[i], engine, w)
        likely_plays(boards[i], prepared, engine.luck_keep, engine, w)
        rolled = roll_number(max(dice[i, 0], dice[i, 1]), min(dice[i, 0], dice[i, 1]))
        total = np.int64(0)
        actual = np.int64(0)
        number = 0
        for high in range(1, 7):
            for low in range(1, high + 1):
                equity = s.equities[best_between(s.starts[number], s.starts[number + 1], s)]
                total += equity if high == low else 2 * equity
                if number == rolled:
                    actual = equity
                number += 1
        lucks36[i] = 36 * actual - total


@njit(cache=True, nogil=True)
def points_won(afters, checkers, utility, points):
    """Whole points (int64[N], out) that the players who moved last have won, 0 where the game goes on."""
    outcome = np.empty(5, dtype=np.int64)
    for i in range(afters.shape[0]):
        points[i] = 0
        if is_won(afters[i]):
            final_outcome(afters[i], checkers, outcome)
            points[i] = equity_of(outcome, utility) // ONE
