"""What an outcome is worth with a doubling cube: Janowski's model, and the better of doubling and not.

Values are whole numbers in 1/2**30 of a unit (`POINT`): money: the cube of the state that the value belongs to, or of
the question where the cube has a limit; matches: twice the chance to win the match, less one. A value is a sum in
floating point that is rounded once, so it holds the same bits everywhere: only the four basic operations are used, each
correctly rounded by IEEE 754, in a fixed order and without `fastmath`, so that no compiler may join or reorder them.
Everything that is added up or compared afterwards are whole numbers.

A **state** of the cube is who owns it and how often it has been turned since the question. The two sides of a search
are called 0, who is on roll at its first node, and 1.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.kernels.bearoff import CENTRED, OPPONENT_OWNS, OWNED, bearoff_indices
from engine.kernels.bits import highest, lowest
from engine.kernels.board_vectors import place_masks
from engine.kernels.compiled import entry, inlined, kernel
from engine.kernels.network import ONE

POINT_BITS = 30
POINT = 1 << POINT_BITS
"""A value of one unit, as in the bear-off databases."""

NOBODY = -1
"""Owner of a centred cube."""
NONE = -1
"""No state: the cube can't be turned."""

BEAROFF, RACE, CONTACT, CRUNCHED = range(4)
"""Classes of positions with an efficiency of their own."""
# Numbers of NumPy: for a literal Numba would compile everything that takes it once more.
FIRST = np.int64(0)  # state
OWN = np.int64(0)  # side
WIN1, WIN2, WIN3, LOSE1, LOSE2, LOSE3 = range(6)

_HOME = 6
_DEEP = 2  # points that crunched checkers stand on
_LIVE_CHECKERS = 6


class CubeGame(NamedTuple):
    """All states of the cube that a search can meet, what they are worth, and how the cube is used.

    S states in the order in which the search meets them; L is 1 + the largest number of turns that are of use.
    """

    counts: NDArray[np.int64]  # [5]: states wanted at a node d rolls ahead of the first; it rolls in `counts[d + 1]`
    owner: NDArray[np.int64]  # [S]: NOBODY, 0 or 1
    turns: NDArray[np.int64]  # [S]: how often the cube has been turned
    taken: NDArray[np.int64]  # [2, S]: the state once the side's double is taken, or NONE
    beavered: NDArray[np.int64]  # [2, S]: the state once it is beavered and the beaver taken, or NONE
    pass_value: NDArray[np.int64]  # [2, S]: what the side gets for a double that is passed
    drop_value: NDArray[np.int64]  # [2, S]: what it gets when it drops a beaver
    worth: NDArray[np.float64]  # [2, L, 6]: in the side's view, winning and losing 1, 2, 3 times the cube, by turns
    live: NDArray[np.bool_]  # [2, L]: whether turning the cube once more may be of use to the side
    scale: int  # what a unit is worth after a turn: 2 where every state has a unit of its own, else 1
    unlimited: bool  # money without a limit of the cube: all turns are alike, and L is 1
    jacoby: bool  # gammons don't count while the cube is centred
    exact: bool  # whether the two-sided bear-off database holds these values
    efficiency: NDArray[np.float64]  # [4, 4] by class: constant, per pip of the side on roll, least, most


class CubeSpace(NamedTuple):
    """Work space of one level of one thread for values with the cube; made for the largest S and L."""

    win: NDArray[np.float64]  # [L]: what a win is worth on average
    loss: NDArray[np.float64]  # [L]
    take_point: NDArray[np.float64]  # [L]: chance to win below which the side on roll passes, with a live cube
    cash_point: NDArray[np.float64]  # [L]: above which its opponent does
    outcome: NDArray[np.int64]  # [5]
    rolling: NDArray[np.int64]  # [S]: values of rolling
    best: NDArray[np.int64]  # [S]: number of the best reply
    sum: NDArray[np.int64]  # [S]
    values: NDArray[np.int64]  # [MOST_PLAYS, S]: of plays, in the view of who makes them


@inlined
def in_points(value):
    """The nearest whole number of 1/2**30, halves up."""
    return np.int64(math.floor(value * POINT + 0.5))


@kernel
def efficiency_of(after, game):
    """The efficiency of the cube, from 0 (dead) to 1 (live), in an after-position (the mover's view; the other side is
    on roll).
    """
    masks = place_masks(after)
    own, other = masks[0], masks[4]
    if highest(own) < lowest(other):
        kind = BEAROFF if highest(own) <= _HOME and lowest(other) >= 25 - _HOME else RACE
    else:
        kind = CONTACT
    pips = np.int64(0)
    own_live = np.int64(0)
    other_live = np.int64(0)
    for place in range(26):
        count = np.int64(after[place])
        if count > 0 and place > _DEEP:
            own_live += count
        elif count < 0:
            pips -= count * (25 - place)
            if place < 25 - _DEEP:
                other_live -= count
    if kind == CONTACT and min(own_live, other_live) <= _LIVE_CHECKERS:
        kind = CRUNCHED
    row = game.efficiency[kind]
    return min(max(row[0] + row[1] * pips, row[2]), row[3])


@kernel
def _points(side, wins, losses, game, space):
    """Average worth of wins and losses by turns, and the take and cash points of the side on roll with a live cube.

    `wins`: chances that a win is a gammon and a backgammon; `losses`: the same of a loss. A point is where a player is
    indifferent between a pass and a take after which the cube is as live as it was before: so both follow from those
    after one turn more.
    """
    worth = game.worth[side]
    top = worth.shape[0] - 1
    for t in range(top + 1):
        u = worth[t]
        space.win[t] = u[WIN1] + wins[0] * (u[WIN2] - u[WIN1]) + wins[1] * (u[WIN3] - u[WIN2])
        space.loss[t] = u[LOSE1] + losses[0] * (u[LOSE2] - u[LOSE1]) + losses[1] * (u[LOSE3] - u[LOSE2])
        space.take_point[t] = 0.0
        space.cash_point[t] = 1.0
    if game.unlimited:
        total = space.win[0] - space.loss[0] + 0.5
        space.take_point[0] = (-space.loss[0] - 0.5) / total
        space.cash_point[0] = (1.0 - space.loss[0]) / total
        return
    for t in range(top - 1, -1, -1):
        # After a turn the owner uses the cube; without a use of it the lines go through to the ends.
        u, after = worth[t], worth[t + 1]
        if game.live[side, t]:
            low, low_value = 0.0, space.loss[t + 1]
            if game.live[1 - side, t + 1]:
                low, low_value = space.take_point[t + 1], after[LOSE1]
            if space.win[t + 1] > u[WIN1]:
                rise = (u[WIN1] - low_value) / (space.win[t + 1] - low_value)
                space.cash_point[t] = low + rise * (1.0 - low)
        if game.live[1 - side, t]:
            high, high_value = 1.0, space.win[t + 1]
            if game.live[side, t + 1]:
                high, high_value = space.cash_point[t + 1], after[WIN1]
            if space.loss[t + 1] < u[LOSE1]:
                space.take_point[t] = high * (u[LOSE1] - space.loss[t + 1]) / (high_value - space.loss[t + 1])


@inlined
def _between(p, low, low_value, high, high_value):
    return low_value + (high_value - low_value) * (p - low) / (high - low)


@kernel
def static_values(outcome, efficiency, side, n, game, space):
    """Values of the first `n` states (`space.rolling`) for the side on roll, from its outcome (int64[5], its view).

    Each is (1 - x) times the value with a dead cube plus x times that with a live one, x the efficiency. A dead cube
    is never turned. With a live one the value is a broken line in the chance to win, from losing all (at 0) to winning
    all (at 1), by way of the points where one side passes. Source: R. Janowski, Take-Points in Money Games (1993).
    """
    p = shares(outcome, side, game, space)
    for s in range(n):
        space.rolling[s] = state_value(s, p, efficiency, side, game, space)


@kernel
def shares(outcome, side, game, space):
    """Chance to win (float) of the side on roll; leaves the points of `_points` in `space`."""
    win = outcome[0]
    loss = ONE - win
    wins = (outcome[1] / win if win > 0 else 0.0, outcome[2] / win if win > 0 else 0.0)
    losses = (outcome[3] / loss if loss > 0 else 0.0, outcome[4] / loss if loss > 0 else 0.0)
    _points(side, wins, losses, game, space)
    return win / ONE


@kernel
def state_value(s, p, efficiency, side, game, space):
    """Value of one state for the side on roll, which wins with chance `p`; `shares` came before."""
    t = game.turns[s]
    owner = game.owner[s]
    u = game.worth[side, t]
    best, worst = space.win[t], space.loss[t]
    if game.jacoby and owner == NOBODY:
        best, worst = u[WIN1], u[LOSE1]
    mine = owner != 1 - side and game.live[side, t]
    theirs = owner != side and game.live[1 - side, t]
    low, low_value, high, high_value = 0.0, worst, 1.0, best
    if theirs and p < space.take_point[t]:
        high, high_value = space.take_point[t], u[LOSE1]
    elif mine and p >= space.cash_point[t]:
        low, low_value = space.cash_point[t], u[WIN1]
    else:
        if theirs:
            low, low_value = space.take_point[t], u[LOSE1]
        if mine:
            high, high_value = space.cash_point[t], u[WIN1]
    live = _between(p, low, low_value, high, high_value) if low < high else high_value
    dead = worst + (best - worst) * p
    return in_points((1.0 - efficiency) * dead + efficiency * live)


@kernel
def accepted(rolling, s, side, game):
    """Value to the side on roll of a double in state `s`, which must be possible, if it is not passed: the opponent
    takes or beavers, whichever costs him less. `rolling`: values of rolling, int64[S].
    """
    value = game.scale * rolling[game.taken[side, s]]
    again = game.beavered[side, s]
    if again != NONE:
        value = min(value, max(game.scale * game.scale * rolling[again], game.drop_value[side, s]))
    return value


@kernel
def before_rolling(rolling, s, side, game):
    """Value of state `s` to the side on roll, who doubles where that is better than rolling."""
    if game.taken[side, s] == NONE:
        return rolling[s]
    return max(rolling[s], min(accepted(rolling, s, side, game), game.pass_value[side, s]))


@kernel
def exact_values(after, side, n, game, databases, rolling):
    """Whether the two-sided database holds an after-position: then `rolling` (int64[S], out) are its values for the
    side on roll, which is not the one that `after` is seen by.
    """
    if not game.exact:
        return False
    other, own = bearoff_indices(after)
    both = databases.two_sided.shape[0]
    if own <= 0 or other <= 0 or own >= both or other >= both:
        return False
    for s in range(n):
        owner = game.owner[s]
        state = CENTRED if owner == NOBODY else (OWNED if owner == side else OPPONENT_OWNS)
        rolling[s] = databases.two_sided[own, other, state]
    return True


@kernel
def turn_round(outcome, inverted):
    """`inverted` = an outcome (int64[5] in 1/2**20) in the other side's view."""
    inverted[0] = ONE - outcome[0]
    inverted[1] = outcome[3]
    inverted[2] = outcome[4]
    inverted[3] = outcome[1]
    inverted[4] = outcome[2]


@kernel
def leaf_values(after, outcome, side, n, game, databases, space):
    """Values (`space.rolling`) of an after-position by its outcome (int64[5], the view of who just moved), for `side`,
    which is on roll: exact ones where the database has them.
    """
    if not exact_values(after, side, n, game, databases, space.rolling):
        turn_round(outcome, space.outcome)
        static_values(space.outcome, efficiency_of(after, game), side, n, game, space)


@kernel
def value_plays(n, depth, game, databases, s, space):
    """Values of the first `n` plays in `s.plays` by their outcomes in `s.outcomes`: `space.values`, in all states that
    are wanted `depth` rolls ahead, in the view of the side that makes them.
    """
    side = depth & 1
    wanted = game.counts[depth]
    rolled = game.counts[depth + 1]
    for i in range(n):
        leaf_values(s.plays[i], s.outcomes[i], side, rolled, game, databases, space)
        for j in range(wanted):
            space.values[i, j] = -before_rolling(space.rolling, j, side, game)


@entry
def static_values_of(outcome, efficiency, n, game, space):
    """`static_values` of side 0, for Python."""
    static_values(outcome, efficiency, OWN, n, game, space)


@entry
def efficiency_in(after, game):
    """`efficiency_of`, for Python."""
    return efficiency_of(after, game)


@entry
def exact_in(after, game, databases, rolling):
    """`exact_values` for side 0 in all states, for Python."""
    return exact_values(after, OWN, rolling.shape[0], game, databases, rolling)


@entry
def double_value(rolling, game):
    """`accepted` for side 0 in the first state, for Python."""
    return accepted(rolling, FIRST, OWN, game)


@entry
def before_roll_value(rolling, game):
    """`before_rolling` for side 0 in the first state, for Python."""
    return before_rolling(rolling, FIRST, OWN, game)
