"""Looking ahead with the cube: every state of the cube is followed on its own, and collapsed where it may be turned.

As the search without a cube (`engine.kernels.search`), with two differences. At every node the side on roll doubles
first if that is better than rolling, and the opponent takes or passes. And for each state of the cube it makes the play
that is best in that state; plays that several states share are looked at once. So the value of a state never depends
on which other states were asked for.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.kernels.bearoff import bearoff_outcome
from engine.kernels.compiled import entry, kernel
from engine.kernels.cube import (
    FIRST,
    OWN,
    CubeSpace,
    accepted,
    before_rolling,
    exact_values,
    leaf_values,
    value_plays,
)
from engine.kernels.memory import recall, remember, slot_of
from engine.kernels.network import evaluate_one, final_outcome, is_won
from engine.kernels.play import ROLLS, Workspace, checkers_left
from engine.kernels.search import add_inverted, best_replies, mean_of

_ROOT = np.int64(0)  # depth of the position that is asked about; of NumPy as FIRST and OWN


class CubeLevel(NamedTuple):
    """Work space of one level of a search with the cube."""

    plays: Workspace
    cube: CubeSpace


class CubeMemory(NamedTuple):
    """2-ply values that a search has met, as `engine.kernels.memory.Memory`: of one question at one level."""

    boards: NDArray[np.int8]  # [N, 26]
    outcomes: NDArray[np.int64]  # [N, 5]
    counts: NDArray[np.int64]  # [2]
    rolling: NDArray[np.int64]  # [N, S]


@kernel
def best_in(start, end, j, s, space):
    """The best of the plays from `start` up to `end` in state `j`. Ties, which are common where the opponent will cash
    whatever is played, go to the better one without the cube, then as in `engine.kernels.play.best_between`.
    """
    best = start
    for i in range(start + 1, end):
        value, highest = space.values[i, j], space.values[best, j]
        if value == highest:
            value, highest = s.equities[i], s.equities[best]
            if value == highest:
                value, highest = -checkers_left(s.plays[i]), -checkers_left(s.plays[best])
        if value > highest:
            best = i
    return best


@kernel
def _settled(after, depth, engine, game, space, outcome):
    """Whether nothing is left to find out: the game is over, or the database holds it with the cube. If so its outcome
    (out, the view of who moved last) and values (`space.rolling`, the view of who is on roll).
    """
    side = depth & 1
    rolled = game.counts[depth + 1]
    if is_won(after):
        final_outcome(after, engine.checkers, outcome)
        leaf_values(after, outcome, side, rolled, game, engine.bearoff, space)
        return True
    return exact_values(after, side, rolled, game, engine.bearoff, space.rolling) and bearoff_outcome(
        after, engine.bearoff, outcome
    )


@kernel
def _replies(after, depth, engine, game, level):
    """The likely replies to an after-position, of all rolls, with their values in the states of the cube."""
    best_replies(after, engine, level.plays)
    s = level.plays.main
    value_plays(s.starts[ROLLS], depth + 1, game, engine.bearoff, s, level.cube)


@kernel
def _finish(rolled, level, outcome):
    """Means over the 36 throws, rounded to the nearest, halves up."""
    for j in range(rolled):
        level.cube.rolling[j] = (level.cube.sum[j] + 18) // 36
    mean_of(level.plays.main.sum, outcome)


@kernel
def _value1(after, depth, engine, game, level, outcome):
    evaluate_one(after, engine.net, engine.bearoff, engine.checkers, level.plays.main, outcome)
    leaf_values(after, outcome, depth & 1, game.counts[depth + 1], game, engine.bearoff, level.cube)


@kernel
def _value2(after, depth, engine, other, levels, game, memory, outcome):
    """2-ply: the mean over the 21 replies by the main net, in each state with the best play for it."""
    level = levels[0]
    space = level.cube
    if _settled(after, depth, engine, game, space, outcome):
        return
    _replies(after, depth, engine, game, level)
    s = level.plays.main
    s.sum[:] = 0
    space.sum[:] = 0
    rolled = game.counts[depth + 1]
    number = 0
    for high in range(1, 7):
        for low in range(1, high + 1):
            weight = 1 if high == low else 2
            for j in range(rolled):
                best = best_in(s.starts[number], s.starts[number + 1], j, s, space)
                space.sum[j] += weight * space.values[best, j]
                if j == 0:
                    add_inverted(s.outcomes[best], weight, s.sum)
            number += 1
    _finish(rolled, level, outcome)


@kernel
def _remembered2(after, depth, engine, other, levels, game, memory, outcome):
    rolling = levels[0].cube.rolling
    rolled = game.counts[depth + 1]
    slot = slot_of(after, memory)
    if recall(after, slot, memory, outcome):
        for j in range(rolled):
            rolling[j] = memory.rolling[slot, j]
        return
    _value2(after, depth, engine, other, levels, game, memory, outcome)
    remember(after, slot, memory, outcome)
    for j in range(rolled):
        memory.rolling[slot, j] = rolling[j]


def _one_roll_deeper(value_of_reply):
    """The mean over the 21 replies, each valued by `value_of_reply`. `levels`: work space of this node, then of those
    below it. `engine` orders the plays of this node by what wins are worth to its side, `other` those of the next.
    """

    @kernel
    def value(after, depth, engine, other, levels, game, memory, outcome):
        level = levels[0]
        space = level.cube
        if _settled(after, depth, engine, game, space, outcome):
            return
        _replies(after, depth, engine, game, level)
        s = level.plays.main
        s.sum[:] = 0
        space.sum[:] = 0
        rolled = game.counts[depth + 1]
        side = (depth + 1) & 1
        child = levels[1].cube.rolling
        number = 0
        for high in range(1, 7):
            for low in range(1, high + 1):
                weight = 1 if high == low else 2
                for j in range(rolled):
                    space.best[j] = best_in(s.starts[number], s.starts[number + 1], j, s, space)
                for j in range(rolled):
                    known = False
                    for i in range(j):
                        known |= space.best[i] == space.best[j]
                    if known:
                        continue
                    value_of_reply(s.plays[space.best[j]], depth + 1, other, engine, levels[1:], game, memory, s.reply)
                    if j == 0:
                        add_inverted(s.reply, weight, s.sum)
                    for i in range(j, rolled):
                        if space.best[i] == space.best[j]:
                            space.sum[i] -= weight * before_rolling(child, i, side, game)
                number += 1
        _finish(rolled, level, outcome)

    return value


_value3 = _one_roll_deeper(_remembered2)
_value4 = _one_roll_deeper(_value3)


@entry
def cube_values_after(after, level, engine, other, l4, l3, l2, game, memory, outcome, rolling):
    """An after-position at a level from 1 to 4, with the cube.

    Args:
        after: int8[26], the view of the player who just moved; side 0 of the game is the other one, who is on roll.
        engine, other: how nodes order their plays where side 0 is on roll, and side 1. l4, l3, l2: work space for the
            nodes at that distance from the leaves. outcome: int64[5] out, in 1/2**20, view of the player who just
            moved; it follows the plays that are best in the game's first state, the cube staying where it is.
        rolling: int64[counts[1]] out, in 1/2**30: what it is worth to side 0, in each state, to roll now.
    """
    if level == 1:
        _value1(after, _ROOT, engine, game, l2, outcome)
        found = l2.cube.rolling
    elif level == 2:
        _value2(after, _ROOT, engine, other, (l2,), game, memory, outcome)
        found = l2.cube.rolling
    elif level == 3:
        _value3(after, _ROOT, engine, other, (l3, l2), game, memory, outcome)
        found = l3.cube.rolling
    else:
        _value4(after, _ROOT, engine, other, (l4, l3, l2), game, memory, outcome)
        found = l4.cube.rolling
    for j in range(game.counts[1]):
        rolling[j] = found[j]


@entry
def passed_next_turn(after, engine, other, l3, l2, game, passes):
    """After which rolls the market is lost: how often (of 36 replies) a double at side 0's next turn will be passed.

    All plays are chosen at 1-ply in the game's first state, in which side 0 must be able to double.

    Args:
        after, engine, other, l3, l2, game: as in `cube_values_after`. passes: int64[21] out, by side 0's roll now, in
            the order of `roll_number`; 36 where that roll ends the game.
    """
    _replies(after, _ROOT, engine, game, l3)
    s = l3.plays.main
    for number in range(ROLLS):
        play = s.plays[best_in(s.starts[number], s.starts[number + 1], FIRST, s, l3.cube)]
        if is_won(play):
            passes[number] = 36
            continue
        _replies(play, _ROOT + 1, other, game, l2)
        r = l2.plays.main
        count = 0
        reply = 0
        for high in range(1, 7):
            for low in range(1, high + 1):
                best = best_in(r.starts[reply], r.starts[reply + 1], FIRST, r, l2.cube)
                leaf_values(r.plays[best], r.outcomes[best], OWN, game.counts[3], game, engine.bearoff, l2.cube)
                if accepted(l2.cube.rolling, FIRST, OWN, game) > game.pass_value[0, 0]:
                    count += 1 if high == low else 2
                reply += 1
        passes[number] = count


@entry
def value_roll(n, game, databases, s, level):
    """Values (`level.cube.values`) of the plays that `engine.kernels.play.rank_roll` left in `s`, at 1-ply, in the view
    of who makes them: side 1 of the game, whose side 0 is on roll next.
    """
    value_plays(n, _ROOT, game, databases, s, level.cube)
