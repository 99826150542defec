"""Looking ahead: the value of an after-position as the mean over the rolls that follow.

Levels are plies counted from 1. At every node inside the tree the side to play chooses by the main net among the
plays that the filter net likes; only that play is followed. Values are averages of whole outcomes, weighted over the
36 throws, in integers, so they have the same bits everywhere.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from engine.kernels.compiled import inlined, kernel
from engine.kernels.memory import recall, remember, slot_of
from engine.kernels.moves import flip_into
from engine.kernels.network import ONE, equity_of, evaluate_one
from engine.kernels.play import best_between, best_of, checkers_left, likely_plays, prepare, settled

HIGHEST_LEVEL = 4


@inlined
def add_inverted(outcome, weight, total):
    """Add `weight` times an outcome of the other side, seen from this side."""
    total[0] += weight * (ONE - outcome[0])
    total[1] += weight * outcome[3]
    total[2] += weight * outcome[4]
    total[3] += weight * outcome[1]
    total[4] += weight * outcome[2]


@inlined
def mean_of(total, outcome):
    """outcome = total / 36, rounded to the nearest."""
    for o in range(5):
        outcome[o] = (total[o] + 18) // 36


@kernel
def best_replies(after, engine, w):
    """Value the likely replies to an after-position, of all rolls, in `w`; it must not be settled."""
    flip_into(after, w.main.board)
    prepared = prepare(w.main.board, engine, w)
    likely_plays(w.main.board, prepared, engine.keep, engine, w)


@kernel
def value2(after, engine, w, outcome):
    """2-ply: the mean over the 21 replies, each valued by the main net."""
    if settled(after, engine, outcome):
        return
    best_replies(after, engine, w)
    s = w.main
    s.sum[:] = 0
    number = 0
    for high in range(1, 7):
        for low in range(1, high + 1):
            best = best_between(s.starts[number], s.starts[number + 1], s)
            add_inverted(s.outcomes[best], 1 if high == low else 2, s.sum)
            number += 1
    mean_of(s.sum, outcome)


@kernel
def _replies_at_2(after, engine, spaces, outcome):
    slot = slot_of(after, engine.memory)
    if not recall(after, slot, engine.memory, outcome):
        value2(after, engine, spaces[0], outcome)
        remember(after, slot, engine.memory, outcome)


def _one_roll_deeper(value_of_reply):
    """The value of an after-position as the mean over the 21 replies, each valued by `value_of_reply`.

    `spaces` is a tuple of work spaces: the first for this node, the others for the nodes below it.
    """

    @kernel
    def value(after, engine, spaces, outcome):
        if settled(after, engine, outcome):
            return
        w = spaces[0]
        best_replies(after, engine, w)
        s = w.main
        s.sum[:] = 0
        number = 0
        for high in range(1, 7):
            for low in range(1, high + 1):
                best = best_between(s.starts[number], s.starts[number + 1], s)
                value_of_reply(s.plays[best], engine, spaces[1:], s.reply)
                add_inverted(s.reply, 1 if high == low else 2, s.sum)
                number += 1
        mean_of(s.sum, outcome)

    return value


_value3 = _one_roll_deeper(_replies_at_2)
_value4 = _one_roll_deeper(_value3)


@njit
def choose(n, level, width, margin, engine, w, w2, value):
    """Index of the play to make among the n in `w.main` (all valued at 1-ply), and its outcome at `level` (`value`,
    out).

    At level 2 the plays are looked at in the order of their 1-ply equity, at most `width` of them and none that is more
    than `margin` worse than the first. Ties go to bearing off more, then to the better one at 1-ply.
    """
    s = w.main
    best = best_of(n, s)
    if level == 1 or n == 1:
        if level == 1:
            for o in range(5):
                value[o] = s.outcomes[best, o]
        else:
            value2(s.plays[best], engine, w2, value)
        return best
    reply = np.empty(5, dtype=np.int64)
    seen = np.zeros(n, dtype=np.bool_)
    limit = s.equities[best] - margin
    chosen = -1
    chosen_equity = np.int64(0)
    for _ in range(width):
        following = -1
        for i in range(n):
            if not seen[i] and (following < 0 or s.equities[i] > s.equities[following]):
                following = i
        if following < 0 or s.equities[following] < limit:
            break
        seen[following] = True
        value2(s.plays[following], engine, w2, reply)
        equity = equity_of(reply, engine.utility)
        better = chosen < 0 or equity > chosen_equity
        if chosen >= 0 and equity == chosen_equity:
            better = checkers_left(s.plays[following]) < checkers_left(s.plays[chosen])
        if better:
            chosen = following
            chosen_equity = equity
            for o in range(5):
                value[o] = reply[o]
    return chosen


@njit(cache=True, nogil=True)
def value_after(after, level, engine, w4, w3, w2, outcome):
    """Outcome (int64[5] in 1/2**20, out) of an after-position at a level from 1 to 4, in the view of the player who
    just moved. `w4`, `w3`, `w2`: work spaces for the nodes at that distance, all different.
    """
    if level == 1:
        evaluate_one(after, engine.net, engine.bearoff, engine.checkers, w2.main, outcome)
    elif level == 2:
        value2(after, engine, w2, outcome)
    elif level == 3:
        _value3(after, engine, (w3, w2), outcome)
    else:
        _value4(after, engine, (w4, w3, w2), outcome)
