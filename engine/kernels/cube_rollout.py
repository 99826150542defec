"""Trials with the cube: both sides double, take, beaver and pass in them, and choose plays with the cube in play.

As the trials without a cube (`engine.kernels.rollout`), with these differences. Plays are chosen by their value in the
state of the cube that the trial is in. Before each roll the side on roll may double. A pass ends a trial, exactly; so
does the two-sided database where it holds values with the cube. And the luck of a roll is taken in values with the
cube too, in the state in which it is rolled: what doubling changes is no luck, since it doesn't depend on the dice.

Cube decisions are made at 2-ply: by the mean over the 21 rolls of the likely plays that the luck is taken from, in each
state that the double may lead to. Where the value of doubling by the position alone is far below that of rolling,
that look is left out.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from engine.kernels.compiled import inlined, kernel
from engine.kernels.cube import (
    NONE,
    POINT,
    accepted,
    before_rolling,
    efficiency_of,
    exact_values,
    shares,
    state_value,
    turn_round,
)
from engine.kernels.cube_search import best_in
from engine.kernels.dice import roll_index, strata
from engine.kernels.moves import flip_into
from engine.kernels.network import ONE, evaluate_one, final_outcome, is_won
from engine.kernels.play import ROLLS, all_plays, checkers_left, likely_plays, prepare, roll_number, settled
from engine.kernels.rollout import MAX_HALF_MOVES, of_36, to_mover
from engine.kernels.search import add_inverted, best_replies, mean_of

MOST_SCALE = 512
"""Money without a limit of the cube: a trial doubles no further, so that its value fits 32 bits."""
COLUMNS = 6
"""What a trial leaves, and the luck in each: the five outcomes, then the value with the cube."""
_VALUE = 5
_MOST = 2**31 - 1
# Columns of the values of plays, by state. Numbers that kernels hand on are int64, so that each is compiled once.
_HERE, _TAKEN, _AGAIN = np.int64(0), np.int64(1), np.int64(2)
_START = np.int64(0)
_OVER = np.int64(-1)


class CubeStart(NamedTuple):
    """The cube at the start of a candidate's trials, and what values are measured in."""

    state: int
    scale: int
    """What a unit of this state is worth in units of the question."""
    may_double: bool
    """Whether the player who rolls first may double before that roll."""
    window: int
    """How much worse (1/2**30) than rolling a double may look by the position alone and still be looked at."""
    low: float
    high: float
    """Values of losing and winning a single game now: what counts as -1 and +1."""


@kernel
def _rolling_in(after, outcome, side, state, game, databases, space):
    """`space.rolling` in a state and in those that a double of `side` leads to from there: what it is worth to `side`
    to roll, after a play of the other side with this outcome (int64[5], the view of who just moved).
    """
    if exact_values(after, side, game.owner.shape[0], game, databases, space.rolling):
        return
    turn_round(outcome, space.outcome)
    p = shares(space.outcome, side, game, space)
    x = efficiency_of(after, game)
    space.rolling[state] = state_value(state, p, x, side, game, space)
    taken = game.taken[side, state]
    if taken != NONE:
        space.rolling[taken] = state_value(taken, p, x, side, game, space)
        again = game.beavered[side, state]
        if again != NONE:
            space.rolling[again] = state_value(again, p, x, side, game, space)


@kernel
def _value_plays(n, maker, state, column, game, databases, s, space):
    """Values of the first n plays in a state, in the view of their side, into a column of `space.values`."""
    for i in range(n):
        _rolling_in(s.plays[i], s.outcomes[i], 1 - maker, state, game, databases, space)
        space.values[i, column] = -before_rolling(space.rolling, state, 1 - maker, game)


@kernel
def _mean36(column, s, space):
    """36 times the mean over the throws of the best play's value in a column."""
    total = np.int64(0)
    number = 0
    for high in range(1, 7):
        for low in range(1, high + 1):
            best = best_in(s.starts[number], s.starts[number + 1], column, s, space)
            total += (1 if high == low else 2) * space.values[best, column]
            number += 1
    return total


@kernel
def _look(side, state, game, databases, s, space):
    """2-ply values of rolling in a state and in those that a double leads to (`space.rolling`), by the likely plays in
    `s`; leaves the values of the plays in columns 0, 1 (taken) and 2 (beavered).
    """
    n = s.starts[ROLLS]
    taken = game.taken[side, state]
    again = game.beavered[side, state]
    _value_plays(n, side, state, _HERE, game, databases, s, space)
    _value_plays(n, side, taken, _TAKEN, game, databases, s, space)
    if again != NONE:
        _value_plays(n, side, again, _AGAIN, game, databases, s, space)
        space.rolling[again] = (_mean36(_AGAIN, s, space) + 18) // 36
    space.rolling[taken] = (_mean36(_TAKEN, s, space) + 18) // 36
    space.rolling[state] = (_mean36(_HERE, s, space) + 18) // 36


@kernel
def _offer(side, state, scale, game, databases, s, space):
    """What comes of the chance to double, by the likely plays in `s`.

    Returns:
        (column of these plays that is rolled on in, or `_OVER`; the state and scale of the cube then; what the game is
        worth to `side` if it is over: a pass, or a beaver that is dropped). Of equal answers the opponent gives the
        first: take, beaver, pass.
    """
    _look(side, state, game, databases, s, space)
    taken = game.taken[side, state]
    column, following, factor = _TAKEN, taken, game.scale
    value = game.scale * space.rolling[taken]
    again = game.beavered[side, state]
    if again != NONE:
        going_on = game.scale * game.scale * space.rolling[again]
        drop = game.drop_value[side, state]
        if max(going_on, drop) < value:
            value = max(going_on, drop)
            column, following, factor = _AGAIN if going_on >= drop else _OVER, again, game.scale * game.scale
    if game.pass_value[side, state] < value:
        column, value = _OVER, game.pass_value[side, state]
    if value <= space.rolling[state]:
        return _HERE, state, scale, value
    if column == _OVER:
        return _OVER, state, scale, value
    return column, following, scale * factor, value


@kernel
def _worth_a_look(after, outcome, side, state, scale, start, game, databases, space):
    """Whether `side`, on roll after the other's play, may double, and doubling is not clearly wrong by the position."""
    if game.taken[side, state] == NONE or scale * game.scale * game.scale > MOST_SCALE:
        return False
    _rolling_in(after, outcome, side, state, game, databases, space)
    double = min(accepted(space.rolling, state, side, game), game.pass_value[side, state])
    return double >= space.rolling[state] - start.window


@kernel
def _roll_luck(column, rolled, s, space, luck36):
    """36 times the luck of a roll in the outcomes and in the value (`luck36`, out), from valued likely plays."""
    luck36[:] = 0
    number = 0
    for high in range(1, 7):
        for low in range(1, high + 1):
            best = best_in(s.starts[number], s.starts[number + 1], column, s, space)
            weight = (1 if high == low else 2) - (36 if number == rolled else 0)
            for o in range(5):
                luck36[o] -= weight * s.outcomes[best, o]
            luck36[_VALUE] -= weight * space.values[best, column]
            number += 1


@kernel
def _ends(after, reply, state, engine, game, space, outcome):
    """Whether nothing is left to find out after a play, `reply` being on roll: the game is over, the database holds it
    with the cube, or holds it and nobody can turn the cube any more. If so its outcome (out), the view of who moved.
    """
    if is_won(after):
        final_outcome(after, engine.checkers, outcome)
        return True
    dead = game.taken[0, state] == NONE and game.taken[1, state] == NONE
    if dead or exact_values(after, reply, game.owner.shape[0], game, engine.bearoff, space.rolling):
        return settled(after, engine, outcome)
    return False


@kernel
def _value2(after, maker, state, engine, game, w2, space2, outcome):
    """2-ply value of a play in a state, in its maker's view, and its outcome (out): the mean over the 21 replies."""
    reply = 1 - maker
    if _ends(after, reply, state, engine, game, space2, outcome):
        _rolling_in(after, outcome, reply, state, game, engine.bearoff, space2)
        return -before_rolling(space2.rolling, state, reply, game)
    best_replies(after, engine, w2)
    s = w2.main
    n = s.starts[ROLLS]
    s.sum[:] = 0
    if game.taken[reply, state] != NONE:
        _look(reply, state, game, engine.bearoff, s, space2)
    else:
        _value_plays(n, reply, state, _HERE, game, engine.bearoff, s, space2)
        space2.rolling[state] = (_mean36(_HERE, s, space2) + 18) // 36
    number = 0
    for high in range(1, 7):
        for low in range(1, high + 1):
            best = best_in(s.starts[number], s.starts[number + 1], _HERE, s, space2)
            add_inverted(s.outcomes[best], 1 if high == low else 2, s.sum)
            number += 1
    mean_of(s.sum, outcome)
    return -before_rolling(space2.rolling, state, reply, game)


@kernel
def _choose(n, side, state, how, game, databases, other, w, w2, space, space2, seen, reply, found):
    """Index of the play to make among the n in `w.main`, and its outcome and value at the level of the trials (`found`,
    int64[COLUMNS] out, the maker's view). At level 2 as `engine.kernels.search.choose`; `other` orders the replies.
    """
    s = w.main
    _value_plays(n, side, state, _HERE, game, databases, s, space)
    best = best_in(_START, n, _HERE, s, space)
    if how.level == 1:
        for o in range(5):
            found[o] = s.outcomes[best, o]
        found[_VALUE] = space.values[best, 0]
        return best
    limit = space.values[best, 0] - how.margin
    seen[:n] = False
    chosen = -1
    for _ in range(how.width):
        following = -1
        for i in range(n):
            if not seen[i] and (following < 0 or space.values[i, 0] > space.values[following, 0]):
                following = i
        if following < 0 or space.values[following, 0] < limit:
            break
        seen[following] = True
        value = _value2(s.plays[following], side, state, other, game, w2, space2, reply)
        better = chosen < 0 or value > found[_VALUE]
        if chosen >= 0 and value == found[_VALUE]:
            better = checkers_left(s.plays[following]) < checkers_left(s.plays[chosen])
        if better:
            chosen = following
            found[_VALUE] = value
            for o in range(5):
                found[o] = reply[o]
    return chosen


@inlined
def _fixed(equity):
    """In 1/2**20 and within 32 bits."""
    size = min(np.int64(math.floor(abs(equity) * ONE + 0.5)), _MOST)
    return size if equity >= 0.0 else -size


@kernel
def _write(row, outcome, flipped, value, luck36, start):
    """One trial: outcome (the view of side 0, or of side 1 where `flipped`), value and 36 times the lucks of side 0."""
    seen = to_mover(outcome, ONE, flipped)
    for o in range(5):
        row[o] = seen[o]
        row[COLUMNS + o] = of_36(luck36[o])
    unit = (start.high - start.low) / 2.0
    row[_VALUE] = _fixed((value / POINT - start.low) / unit - 1.0)
    row[COLUMNS + _VALUE] = _fixed(luck36[_VALUE] / (36.0 * POINT) / unit)


@njit(cache=True, nogil=True)
def roll_cube_trials(
    before, mover_rolls, first_trial, how, start, game, engine, other, w, w2, space, space2, first, rows
):
    """Play trials `first_trial ...` of a rollout with the cube.

    Args:
        before: int8[26], the after-position where trials start, in the view of the player who does not roll first.
        mover_rolls: whether the player who rolls first is the question's mover, who is side 0 of the game.
        how: `TrialRules`; its margin in values of the game. engine, other: how side 0 and side 1 order their plays.
        w, w2, space, space2: work space. first: `FirstMoves` of this candidate, filled in as its throws come; the
            value in units of the state after the first offer.
        rows: int32[N, 2 * COLUMNS] out: outcomes and value of each trial, then the luck in each of them, in 1/2**20, in
            the view of the question's mover. An estimate with variance reduction is result - luck.
    """
    table = strata(how.seed)
    board = np.empty(26, dtype=np.int8)
    play = np.empty(26, dtype=np.int8)
    luck36 = np.zeros(COLUMNS, dtype=np.int64)
    actual = np.zeros(COLUMNS, dtype=np.int64)
    found = np.zeros(COLUMNS, dtype=np.int64)
    reply = np.zeros(5, dtype=np.int64)
    ending = np.zeros(5, dtype=np.int64)
    outcome = np.zeros(5, dtype=np.int64)
    seen = np.zeros(w.main.plays.shape[0], dtype=np.bool_)
    databases = engine.bearoff
    first_side = np.int64(0 if mover_rolls else 1)

    # Everything before the first roll is common to all trials.
    evaluate_one(before, engine.net, databases, engine.checkers, w.main, outcome)
    opening_state, opening_scale = start.state, start.scale
    value = np.int64(0)
    over = False
    if _ends(before, first_side, opening_state, engine, game, space, outcome):
        over = True
        _rolling_in(before, outcome, first_side, opening_state, game, databases, space)
        value = space.rolling[opening_state]
        if start.may_double:
            value = before_rolling(space.rolling, opening_state, first_side, game)
    elif start.may_double and _worth_a_look(
        before, outcome, first_side, opening_state, opening_scale, start, game, databases, space
    ):
        flip_into(before, board)
        own = engine if first_side == 0 else other
        likely_plays(board, prepare(board, own, w), own.luck_keep, own, w)
        column, opening_state, opening_scale, value = _offer(
            first_side, opening_state, opening_scale, game, databases, w.main, space
        )
        over = column == _OVER
    if over:
        signed = value * opening_scale if mover_rolls else -value * opening_scale
        for i in range(rows.shape[0]):
            _write(rows[i], outcome, mover_rolls, signed, luck36, start)
        return

    for i in range(rows.shape[0]):
        trial = first_trial + i
        flip_into(before, board)
        side = first_side
        state, scale = opening_state, opening_scale
        luck36[:] = 0
        half_move = 0
        while True:
            own = engine if side == 0 else other
            index = roll_index(how.seed, trial, half_move, table)
            known = half_move == 0 and first.ready[index]
            if known:
                actual[:] = first.luck36[index]
                play[:] = first.plays[index]
                found[:] = first.values[index]
            else:
                prepared = prepare(board, own, w)
                looked = half_move > 0 and _worth_a_look(play, found, side, state, scale, start, game, databases, space)
                if looked or how.reduce:
                    likely_plays(board, prepared, own.luck_keep, own, w)
                column = _HERE
                if looked:
                    column, state, scale, value = _offer(side, state, scale, game, databases, w.main, space)
                    if column == _OVER:
                        signed = value * scale if side == 0 else -value * scale
                        _write(rows[i], found, side == 0, signed, luck36, start)
                        break
                elif how.reduce:
                    _value_plays(w.main.starts[ROLLS], side, state, _HERE, game, databases, w.main, space)
                if how.reduce:
                    high, low = max(index // 6, index % 6) + 1, min(index // 6, index % 6) + 1
                    _roll_luck(column, roll_number(high, low), w.main, space, actual)
                n = all_plays(board, prepared, index // 6 + 1, index % 6 + 1, own, w)
                following = other if side == 0 else engine
                best = _choose(
                    n, side, state, how, game, databases, following, w, w2, space, space2, seen, reply, found
                )
                play[:] = w.main.plays[best]
                if half_move == 0:
                    first.ready[index] = True
                    first.luck36[index] = actual
                    first.plays[index] = play
                    first.values[index] = found
            if how.reduce:
                lucks = to_mover(actual, 0, side == 1)
                for o in range(5):
                    luck36[o] += lucks[o]
                luck36[_VALUE] += actual[_VALUE] * scale if side == 0 else -actual[_VALUE] * scale
            half_move += 1
            cut = half_move == how.truncate or half_move == MAX_HALF_MOVES
            if cut or _ends(play, 1 - side, state, own, game, space, ending):
                signed = found[_VALUE] * scale if side == 0 else -found[_VALUE] * scale
                _write(rows[i], found, side == 1, signed, luck36, start)
                break
            flip_into(play, board)
            side = 1 - side
