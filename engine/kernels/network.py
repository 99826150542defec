"""The network as integers: outcomes of after-positions, the first layer updated from the position before the play.

All weights are int16, all sums int32 or int64, so the same net gives the same bits on every CPU, and an
after-position has one value whatever position it was reached from. Fixed point: activations in 1/1,024, weights of
the upper layers in 1/2,048, probabilities in 1/2**20 (`ONE`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from engine.kernels.bearoff import bearoff_outcome
from engine.kernels.bits import lowest
from engine.kernels.facts import FACTS, board_facts, fact_row, place_row
from engine.kernels.vectors import exchange_rows, last_layer, second_layer

RACE = 0
CONTACT = 1
CLASSES = 2
SECOND = 32
LAST = 8  # outputs of the last layer, padded; five are used
BATCH = 32
"""Plays that go through the upper layers together: their weights and the table's rows don't fit the first cache at
once.
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
).astype(np.int64)
"""int64[2049]: ONE * sigmoid(i / 128)."""


class IntNet(NamedTuple):
    """Weights of the network, one slice for each position class (C = 2: race, contact); H is the first layer's
    width.
    """

    table: NDArray[np.int16]  # [C, ROWS, H] in 1/1,024; row 0 is zero
    bias: NDArray[np.int16]  # [C, H] in 1/1,024
    second: NDArray[np.int16]  # [C, H / 2, 32, 2] in 1/2,048: pairs of inputs, so that one step takes two of them
    second_bias: NDArray[np.int32]  # [C, 32] in 1/2**21
    last: NDArray[np.int16]  # [C, 16, 8, 2] in 1/2,048; outputs beyond five and inputs beyond 27 are zero
    last_bias: NDArray[np.int32]  # [C, 8] in 1/2**21


@njit
def first_layer(board, facts, table, bias, total):
    """`total` (int16[H]) = the first layer's sums of one after-position from scratch."""
    width = total.shape[0]
    for j in range(width):
        total[j] = bias[j]
    for place in range(26):
        row = place_row(place, board[place])
        if row:
            for j in range(width):
                total[j] += table[row, j]
    for fact in range(FACTS):
        row = fact_row(fact, facts[fact])
        if row:
            for j in range(width):
                total[j] += table[row, j]


@njit
def changed_rows(board, facts, child, child_facts, changed, pairs):
    """Rows to exchange where `child` differs from `board`: fills `pairs` (new row, old row) and returns their
    number.
    """
    n = 0
    while changed:
        place = lowest(changed)
        changed &= changed - 1
        if board[place] != child[place]:
            pairs[n, 0] = place_row(place, child[place])
            pairs[n, 1] = place_row(place, board[place])
            n += 1
    for fact in range(FACTS):
        if facts[fact] != child_facts[fact]:
            pairs[n, 0] = fact_row(fact, child_facts[fact])
            pairs[n, 1] = fact_row(fact, facts[fact])
            n += 1
    return n


@njit(inline="always")
def sigmoid(logit):
    """Probability in 1/2**20 of a logit in 1/2**21, by linear interpolation in a table."""
    size = min(abs(logit), (_SIGMOID_RANGE << (ACTIVATION_BITS + WEIGHT_BITS)) - 1)
    step = size >> _STEP_BITS
    part = size & ((1 << _STEP_BITS) - 1)
    value = SIGMOID[step] + ((SIGMOID[step + 1] - SIGMOID[step]) * part >> _STEP_BITS)
    return value if logit >= 0 else ONE - value


@njit
def head(c, net, active, s, outcome):
    """The layers above the first, for class `c`: `active` int16[H] -> `outcome` int64[5], before the rules' limits."""
    second_layer(active, net.second[c], net.second_bias[c], s.units, s.hidden, WEIGHT_BITS, CLIP_STEPS)
    last_layer(s.hidden, net.last[c], net.last_bias[c], s.logits, s.unused, WEIGHT_BITS, CLIP_STEPS)
    for o in range(DIRECT):
        outcome[o] = sigmoid(np.int64(s.logits[o]) + np.int64(s.units[SECOND - DIRECT + o]))


@njit
def apply_limits(board, own, opponent, race, outcome):
    """Take out what the rules exclude: gammons against a side that has borne off, and more gammons than wins.

    `own` and `opponent`: checkers that the sides still have on the board.
    """
    win = outcome[0]
    if opponent < 15:
        outcome[1] = 0
    if own < 15:
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


@njit
def final_outcome(board, outcome):
    """Exact outcome of a game that the mover of `board` has just won (no own checker left)."""
    count = 0
    behind = 0
    for place in range(26):
        count -= np.int64(board[place])
        behind += board[place] < 0 and place < 7
    outcome[0] = ONE
    outcome[1] = ONE if count == 15 else 0
    outcome[2] = ONE if count == 15 and behind > 0 else 0
    outcome[3] = 0
    outcome[4] = 0


@njit
def is_won(board):
    """Whether the mover has borne off all his checkers."""
    for place in range(1, 26):  # noqa: SIM110 - Numba compiles no generator expressions
        if board[place] > 0:
            return False
    return True


@njit
def equity_of(outcome, utility):
    """Cubeless points, in 1/2**20, of an outcome in its own view; `utility` int64[5] from the rule set."""
    value = -ONE
    for o in range(5):
        value += utility[o] * outcome[o]
    return value


class Scratch(NamedTuple):
    """Work space of one thread; see `engine.scratch.make_scratch`."""

    plays: NDArray[np.int8]  # [MAX_PLAYS, 26]
    changed: NDArray[np.int64]  # [MAX_PLAYS]
    keys: NDArray[np.uint64]  # [MAX_PLAYS]
    work: NDArray[np.int8]  # [26]
    facts: NDArray[np.int64]  # [2, FACTS]: before the play, after it
    sums: NDArray[np.int64]  # [2, 6]
    base: NDArray[np.int16]  # [H]: first layer before the play
    total: NDArray[np.int16]  # [H]: first layer of a position evaluated from scratch
    active: NDArray[np.int16]  # [BATCH, H]: first layers after their activation
    waiting: NDArray[np.int64]  # [BATCH, 5]: their play, class, race or not, checkers left of either side
    pairs: NDArray[np.int64]  # [WIDTH, 2]
    units: NDArray[np.int32]  # [32]: second layer before its activation
    hidden: NDArray[np.int16]  # [32]: after it (the weights of the last five are zero)
    logits: NDArray[np.int32]  # [8]
    unused: NDArray[np.int16]  # [8]: the logits need no activation
    outcomes: NDArray[np.int64]  # [MAX_PLAYS, 5]
    equities: NDArray[np.int64]  # [MAX_PLAYS]


@njit
def from_scratch(board, facts, c, net, s, active):
    """`active` (int16[H], out) of one after-position without a parent."""
    first_layer(board, facts, net.table[c], net.bias[c], s.total)
    exchange_rows(s.total, net.table[c], s.pairs, 0, CLIP_STEPS, active)


@njit
def evaluate_one(board, net, databases, s, outcome):
    """Outcome (int64[5] in 1/2**20, out) of one after-position, from the view of the player who just moved: of a
    finished game, from the bear-off databases, or by the net.
    """
    if is_won(board):
        final_outcome(board, outcome)
        return
    facts = s.facts[1]
    race = board_facts(board, s.sums, facts)
    if race and bearoff_outcome(board, databases, outcome):
        return
    c = RACE if race else CONTACT
    from_scratch(board, facts, c, net, s, s.active[0])
    head(c, net, s.active[0], s, outcome)
    apply_limits(board, s.sums[0, 1], s.sums[1, 1], race, outcome)


@njit(cache=True, nogil=True)
def evaluate_boards(boards, net, databases, s, outcomes):
    """`outcomes` (int64[N, 5]) of many after-positions (int8[N, 26]), views of the players who just moved."""
    for i in range(boards.shape[0]):
        evaluate_one(boards[i], net, databases, s, outcomes[i])
