"""The network as integers: outcomes of after-positions, the first layer updated from the position before the play.

All weights are int16, all sums int32 or int64, so the same net gives the same bits on every CPU, and an after-position has
one value whatever position it was reached from. Fixed point: activations in 1/1,024, weights of the upper layers in
1/2,048, probabilities in 1/2**20 (`ONE`).
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc"
from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from engine.kernels.bits import lowest
from engine.kernels.facts import FACTS, board_facts, fact_row, place_row
from engine.kernels.moves import generate

RACE = 0
CONTACT = 1
CLASSES = 2
SECOND = 32
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
SIGMOID = np.rint(ONE / (1.0 + np.exp(-np.arange((_SIGMOID_RANGE << _SIGMOID_STEPS) + 1) / (1 << _SIGMOID_STEPS)))).astype(
    np.int64
)
"""int64[2049]: ONE * sigmoid(i / 128)."""


class IntNet(NamedTuple):
    """Weights of the network, one slice for each position class (C = 2: race, contact); H is the first layer's width."""

    table: NDArray[np.int16]  # [C, ROWS, H] in 1/1,024; row 0 is zero
    bias: NDArray[np.int16]  # [C, H] in 1/1,024
    second: NDArray[np.int16]  # [C, 32, H] in 1/2,048
    second_bias: NDArray[np.int64]  # [C, 32] in 1/2**21
    last: NDArray[np.int16]  # [C, 5, 32] in 1/2,048; the last five columns are zero
    last_bias: NDArray[np.int64]  # [C, 5] in 1/2**21


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
def update_first_layer(base, board, facts, child, child_facts, changed, table, pairs, total):
    """`total` = `base` with the rows exchanged in which `child` differs from `board`."""
    width = total.shape[0]
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
    while n % 4:
        pairs[n, 0] = 0
        pairs[n, 1] = 0
        n += 1
    for j in range(width):
        total[j] = base[j]
    for i in range(0, n, 4):
        a0, s0 = table[pairs[i, 0]], table[pairs[i, 1]]
        a1, s1 = table[pairs[i + 1, 0]], table[pairs[i + 1, 1]]
        a2, s2 = table[pairs[i + 2, 0]], table[pairs[i + 2, 1]]
        a3, s3 = table[pairs[i + 3, 0]], table[pairs[i + 3, 1]]
        for j in range(width):
            total[j] = np.int16(
                total[j] + ((a0[j] - s0[j]) + (a1[j] - s1[j])) + ((a2[j] - s2[j]) + (a3[j] - s3[j]))
            )


@njit(inline="always")
def _sigmoid(logit):
    """Probability in 1/2**20 of a logit in 1/2**21, by linear interpolation in a table."""
    size = min(abs(logit), (_SIGMOID_RANGE << (ACTIVATION_BITS + WEIGHT_BITS)) - 1)
    step = size >> _STEP_BITS
    part = size & ((1 << _STEP_BITS) - 1)
    value = SIGMOID[step] + ((SIGMOID[step + 1] - SIGMOID[step]) * part >> _STEP_BITS)
    return value if logit >= 0 else ONE - value


@njit(inline="always")
def _dot(values, weights, n):
    """Sum of products of int16 pairs. Kept in 32 bits on purpose: the loop then compiles to multiply-add of pairs, and
    `quantise` refuses weights with which the sum could leave 32 bits."""
    total = np.int32(0)
    for j in range(n):
        total = np.int32(total + np.int32(np.int32(values[j]) * np.int32(weights[j])))
    return np.int64(total)


@njit
def head(total, second, second_bias, last, last_bias, active, hidden, logits, outcome):
    """The layers above the first: `total` int16[H] -> `outcome` int64[5], before the rules' limits."""
    width = total.shape[0]
    for j in range(width):
        active[j] = np.int16(min(max(total[j], np.int16(0)), np.int16(CLIP_STEPS)))
    for k in range(SECOND):
        logits[k] = _dot(active, second[k], width) + second_bias[k]
    for k in range(SECOND):
        step = (logits[k] + (1 << (WEIGHT_BITS - 1))) >> WEIGHT_BITS
        hidden[k] = np.int16(min(max(step, 0), CLIP_STEPS))
    for o in range(DIRECT):
        outcome[o] = _sigmoid(last_bias[o] + logits[SECOND - DIRECT + o] + _dot(hidden, last[o], SECOND))


@njit
def apply_limits(board, race, outcome):
    """Take out what the rules exclude: gammons against a side that has borne off, and more gammons than wins."""
    own = 0
    opp = 0
    own_behind = 0
    opp_behind = 0
    for place in range(26):
        count = np.int64(board[place])
        own += max(count, 0)
        opp += max(-count, 0)
        own_behind += max(count, 0) if place > 18 else 0
        opp_behind += max(-count, 0) if place < 7 else 0
    win = outcome[0]
    if opp < 15:
        outcome[1] = 0
    if own < 15:
        outcome[3] = 0
    outcome[1] = min(outcome[1], win)
    outcome[3] = min(outcome[3], ONE - win)
    # Without contact nobody is sent back: a backgammon needs a checker that is still in the winner's home.
    if race and opp_behind == 0:
        outcome[2] = 0
    if race and own_behind == 0:
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
    for place in range(1, 26):
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
    total: NDArray[np.int16]  # [H]
    active: NDArray[np.int16]  # [H]
    pairs: NDArray[np.int64]  # [WIDTH + 4, 2]
    hidden: NDArray[np.int16]  # [32]
    logits: NDArray[np.int64]  # [32]: second layer before its activation
    outcomes: NDArray[np.int64]  # [MAX_PLAYS, 5]
    equities: NDArray[np.int64]  # [MAX_PLAYS]


@njit
def evaluate_one(board, net, s, outcome):
    """Outcome (int64[5] in 1/2**20, out) of one after-position, from the view of the player who just moved."""
    if is_won(board):
        final_outcome(board, outcome)
        return
    facts = s.facts[1]
    race = board_facts(board, s.sums, facts)
    c = RACE if race else CONTACT
    first_layer(board, facts, net.table[c], net.bias[c], s.total)
    head(s.total, net.second[c], net.second_bias[c], net.last[c], net.last_bias[c], s.active, s.hidden, s.logits, outcome)
    apply_limits(board, race, outcome)


@njit
def prepare(board, net, s):
    """First layer of a position before the play (into `s`); returns its class for `evaluate_plays`."""
    before = s.facts[0]
    c = RACE if board_facts(board, s.sums, before) else CONTACT
    first_layer(board, before, net.table[c], net.bias[c], s.base)
    return c


@njit
def evaluate_plays(board, prepared, n, net, utility, s):
    """Outcomes and equities (`s.outcomes`, `s.equities`, mover's view) of the first n plays in `s.plays`.

    `prepared` is what `prepare` returned for `board`; any number of rolls may follow one `prepare`.
    """
    before = s.facts[0]
    after = s.facts[1]
    for i in range(n):
        child = s.plays[i]
        outcome = s.outcomes[i]
        if is_won(child):
            final_outcome(child, outcome)
        else:
            race = board_facts(child, s.sums, after)
            c = RACE if race else CONTACT
            if c == prepared:
                update_first_layer(
                    s.base, board, before, child, after, s.changed[i], net.table[c], s.pairs, s.total
                )
            else:
                first_layer(child, after, net.table[c], net.bias[c], s.total)
            head(
                s.total,
                net.second[c],
                net.second_bias[c],
                net.last[c],
                net.last_bias[c],
                s.active,
                s.hidden,
                s.logits,
                outcome,
            )
            apply_limits(child, race, outcome)
        s.equities[i] = equity_of(outcome, utility)


@njit
def checkers_left(board):
    """Number of the mover's checkers still on the board."""
    count = 0
    for place in range(1, 26):
        count += max(np.int64(board[place]), 0)
    return count


@njit
def best_of(n, s):
    """Index of the best of the first n plays; ties go to bearing off more, then to the play generated first."""
    best = 0
    for i in range(1, n):
        if s.equities[i] > s.equities[best] or (
            s.equities[i] == s.equities[best] and checkers_left(s.plays[i]) < checkers_left(s.plays[best])
        ):
            best = i
    return best


@njit(cache=True, nogil=True)
def rank_roll(board, first, second, flags, net, utility, s):
    """Generate and evaluate all plays of one roll into `s`; returns their number."""
    prepared = prepare(board, net, s)
    n = generate(board, first, second, flags, s.plays, s.changed, s.keys, s.work)
    evaluate_plays(board, prepared, n, net, utility, s)
    return n


@njit(cache=True, nogil=True)
def evaluate_boards(boards, net, s, outcomes):
    """`outcomes` (int64[N, 5]) of many after-positions (int8[N, 26]), views of the players who just moved."""
    for i in range(boards.shape[0]):
        evaluate_one(boards[i], net, s, outcomes[i])
