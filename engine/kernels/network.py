"""The network as integers: outcomes of after-positions, the first layer updated from the position before the play.

All weights are int16, all sums int32 or int64, so the same net gives the same bits on every CPU, and an
after-position has one value whatever position it was reached from. Fixed point: activations in 1/1,024, weights of
the upper layers in 1/2,048, probabilities in 1/2**20 (`ONE`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.kernels.bearoff import bearoff_outcome
from engine.kernels.bits import lowest
from engine.kernels.board_vectors import place_masks
from engine.kernels.compiled import entry, inlined, kernel
from engine.kernels.facts import RACE, first_layer_rows, place_row
from engine.kernels.vectors import differing, exchange_rows, last_layer, second_layer, sum_rows

SECOND = 32
LAST = 8  # outputs of the last layer, padded; five are used
BATCH = 24
"""Plays that go through the layers together: the weights of a layer and the rows of the next don't fit the first cache
at once.
"""
DIRECT = 5  # the last five of the second layer go to the logits unclipped
CLIP = 4.0

ACTIVATION_BITS = 10
WEIGHT_BITS = 11
CLIP_STEPS = int(CLIP) << ACTIVATION_BITS
ONE_BITS = 20
ONE = 1 << ONE_BITS
"""Probability 1 in fixed point."""

_SIGMOID_STEPS = 7  # table steps of 1/128
_SIGMOID_RANGE = 16
_STEP_BITS = ACTIVATION_BITS + WEIGHT_BITS - _SIGMOID_STEPS
SIGMOID = np.rint(
    ONE / (1.0 + np.exp(-np.arange((_SIGMOID_RANGE << _SIGMOID_STEPS) + 1) / (1 << _SIGMOID_STEPS)))
).astype(np.int32)
"""int32[2049]: ONE * sigmoid(i / 128)."""


class IntNet(NamedTuple):
    """Weights of the network: T tables of the first layer (race, contact), upper layers for each of the C classes of
    position; H is the first layer's width.
    """

    table: NDArray[np.int16]  # [T, H / TILE, ROWS, TILE] in 1/1,024; row 0 is zero
    bias: NDArray[np.int16]  # [T, H] in 1/1,024
    second: NDArray[np.int16]  # [C, H / 2 + 1, 32, 2] in 1/2,048: pairs of inputs, the last of them zero
    second_bias: NDArray[np.int32]  # [C, 32] in 1/2**21
    last: NDArray[np.int16]  # [C, 17, 8, 2] in 1/2,048; outputs beyond five and inputs beyond 27 are zero
    last_bias: NDArray[np.int32]  # [C, 8] in 1/2**21


@inlined
def table_of(c):
    """Index of the first layer's table for a class of position."""
    return min(c, 1)


@inlined
def changed_places(board, child, changed, pairs):
    """Rows of the places of the mask `changed` on which `child` differs from `board`: fills `pairs` (int32[., 2]: new
    row, old row) and returns their number.
    """
    n = 0
    while changed:
        place = lowest(changed)
        changed &= changed - 1
        if board[place] != child[place]:
            pairs[n, 0] = place_row(place, child[place])
            pairs[n, 1] = place_row(place, board[place])
            n += 1
    return n


@inlined
def changed_rows(before, after, pairs):
    """Rows to exchange between two positions (int32[ROW_SPACE] each): fills `pairs` (int32[., 2]: new row, old row) and
    returns their number.
    """
    n = 0
    different = differing(before, after)
    while different:
        k = lowest(different)
        different &= different - 1
        pairs[n, 0] = after[k]
        pairs[n, 1] = before[k]
        n += 1
    return n


@inlined
def list_rows(position, nothing, rows):
    """Fill `rows` with those of `position` (int32[ROW_SPACE]) that are not zero; returns how many. `nothing`: a
    position without rows.
    """
    n = 0
    some = differing(position, nothing)
    while some:
        rows[n] = position[lowest(some)]
        some &= some - 1
        n += 1
    return n


@inlined
def sigmoid(logit):
    """Probability in 1/2**20 of a logit in 1/2**21, by linear interpolation in a table."""
    size = min(abs(logit), (_SIGMOID_RANGE << (ACTIVATION_BITS + WEIGHT_BITS)) - 1)
    step = size >> _STEP_BITS
    part = size & ((1 << _STEP_BITS) - 1)
    low = np.int64(SIGMOID[step])
    value = low + ((np.int64(SIGMOID[step + 1]) - low) * part >> _STEP_BITS)
    return value if logit >= 0 else ONE - value


@inlined
def head(c, net, s, k, outcome):
    """The layers above the first, for class `c` and the `k`-th of `s.active` -> `outcome` int64[5], before the rules'
    limits.
    """
    second_layer(s.active, k, s.live, net.second, net.second_bias, c, s.units, s.hidden, WEIGHT_BITS, CLIP_STEPS)
    last_layer(s.hidden, 0, s.live, net.last, net.last_bias, c, s.logits, s.unused, WEIGHT_BITS, CLIP_STEPS)
    for o in range(DIRECT):
        outcome[o] = sigmoid(np.int64(s.logits[o]) + np.int64(s.units[SECOND - DIRECT + o]))


@kernel
def apply_limits(board, own, opponent, checkers, race, outcome):
    """Take out what the rules exclude: gammons against a side that has borne off, and more gammons than wins.

    `own` and `opponent`: checkers that the sides still have on the board, of `checkers` at the start.
    """
    win = outcome[0]
    if opponent < checkers:
        outcome[1] = 0
    if own < checkers:
        outcome[3] = 0
    outcome[1] = min(outcome[1], win)
    outcome[3] = min(outcome[3], ONE - win)
    if race:
        # Without contact nobody is sent back: a backgammon needs a checker that is still in the winner's home.
        own_behind = 0
        opp_behind = 0
        for place in range(1, 7):
            opp_behind += board[place] < 0
            own_behind += board[25 - place] > 0
        if opp_behind == 0:
            outcome[2] = 0
        if own_behind == 0:
            outcome[4] = 0
    outcome[2] = min(outcome[2], outcome[1])
    outcome[4] = min(outcome[4], outcome[3])


@kernel
def final_outcome(board, checkers, outcome):
    """Exact outcome of a game of `checkers` a side that the mover of `board` has just won (no own checker left)."""
    count = 0
    behind = 0
    for place in range(26):
        count -= np.int64(board[place])
        behind += board[place] < 0 and place < 7
    outcome[0] = ONE
    outcome[1] = ONE if count == checkers else 0
    outcome[2] = ONE if count == checkers and behind > 0 else 0
    outcome[3] = 0
    outcome[4] = 0


@inlined
def is_won(board):
    """Whether the mover has borne off all his checkers."""
    return place_masks(board)[0] == 0


@kernel
def equity_of(outcome, utility):
    """Cubeless points, in 1/2**20, of an outcome in its own view; `utility` int64[5] from the rule set."""
    value = -ONE
    for o in range(5):
        value += utility[o] * outcome[o]
    return value


class Scratch(NamedTuple):
    """Work space of one thread; see `engine.scratch.make_scratch`."""

    plays: NDArray[np.int8]  # [MOST_PLAYS, 26]
    changed: NDArray[np.int64]  # [MOST_PLAYS]
    keys: NDArray[np.uint64]  # [MAX_PLAYS]
    work: NDArray[np.int8]  # [26]
    rows: NDArray[np.int32]  # [3, ROW_SPACE]: rows of the position before the play, after it, and of none
    used: NDArray[np.int32]  # [WIDTH]: rows of a position evaluated from scratch, without zeros
    base: NDArray[np.int16]  # [2, H]: first layer before the play; of a position evaluated from scratch
    pairs: NDArray[np.int32]  # [BATCH + 1, WIDTH, 2]: rows that plays exchange, new and old; the last is for `LONE`
    counts: NDArray[np.int64]  # [BATCH + 1]: how many of them
    active: NDArray[np.int16]  # [BATCH + 1, H]: first layers after their activation
    live: NDArray[np.int64]  # [BATCH + 1, H / TILE]: which pairs of units of these are not zero
    waiting: NDArray[np.int64]  # [BATCH, 4]: their play, class, checkers left of either side
    units: NDArray[np.int32]  # [32]: second layer before its activation
    hidden: NDArray[np.int16]  # [1, 32]: after it (the weights of the last five are zero)
    logits: NDArray[np.int32]  # [8]
    unused: NDArray[np.int16]  # [1, 8]: the logits need no activation
    starts: NDArray[np.int64]  # [22]: where the plays of each roll begin, see `engine.kernels.play.likely_plays`
    board: NDArray[np.int8]  # [26]: the position of this node, the view of the player on roll
    sum: NDArray[np.int64]  # [5]: of outcomes
    reply: NDArray[np.int64]  # [5]: outcome of a reply
    outcomes: NDArray[np.int64]  # [MOST_PLAYS, 5]
    equities: NDArray[np.int64]  # [MOST_PLAYS]


@kernel
def from_scratch(rows, c, net, s, outcome):
    """Outcome of one after-position without a parent, before the rules' limits; `rows`: int32[ROW_SPACE]."""
    n = list_rows(rows, s.rows[2], s.used)
    t = table_of(c)
    sum_rows(net.bias, net.table, t, s.used, n, s.base, 1)
    s.counts[BATCH] = 0
    exchange_rows(s.base, 1, net.table, t, s.pairs, s.counts, BATCH, BATCH + 1, CLIP_STEPS, s.active, s.live)
    head(c, net, s, BATCH, outcome)


@kernel
def evaluate_one(board, net, databases, checkers, s, outcome):
    """Outcome (int64[5] in 1/2**20, out) of one after-position, from the view of the player who just moved: of a
    finished game, from the bear-off databases, or by the net. `checkers`: of each side at the start.
    """
    c, own, opponent = first_layer_rows(board, s.rows[1])
    if own == 0:
        final_outcome(board, checkers, outcome)
        return
    if c == RACE and bearoff_outcome(board, databases, outcome):
        return
    from_scratch(s.rows[1], c, net, s, outcome)
    apply_limits(board, own, opponent, checkers, c == RACE, outcome)


@entry
def evaluate_boards(boards, net, databases, checkers, s, outcomes):
    """`outcomes` (int64[N, 5]) of many after-positions (int8[N, 26]), views of the players who just moved."""
    for i in range(boards.shape[0]):
        evaluate_one(boards[i], net, databases, checkers, s, outcomes[i])
