"""The filter net: a tiny net over places alone that says which plays deserve the main net.

Same first layer as the main net without the board facts, then straight to five logits: about a tenth of the main net's
cost. It decides nothing by itself; it only bounds how many plays of a roll the main net looks at inside a search and in
the luck of a rollout.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from engine.kernels.bits import highest, lowest
from engine.kernels.facts import PLACE_ROWS, masks_of, place_row
from engine.kernels.network import CLIP_STEPS, CONTACT, RACE, WEIGHT_BITS, equity_of, is_won, sigmoid
from engine.kernels.vectors import exchange_rows, last_layer

FILTER_ROWS = PLACE_ROWS + 1


class FilterNet(NamedTuple):
    """Weights of the filter net (C = 2 position classes, F = width)."""

    table: NDArray[np.int16]  # [C, FILTER_ROWS, F] in 1/1,024; row 0 is zero
    bias: NDArray[np.int16]  # [C, F] in 1/1,024
    last: NDArray[np.int16]  # [C, F / 2, 8, 2] in 1/2,048; outputs beyond five are zero
    last_bias: NDArray[np.int32]  # [C, 8] in 1/2**21


class FilterScratch(NamedTuple):
    """Work space of one thread for the filter."""

    base: NDArray[np.int16]  # [C, F]
    active: NDArray[np.int16]  # [F]
    pairs: NDArray[np.int64]  # [26, 2]
    logits: NDArray[np.int32]  # [8]
    unused: NDArray[np.int16]  # [8]
    outcome: NDArray[np.int64]  # [5]
    equities: NDArray[np.int64]  # [MAX_PLAYS]
    chosen: NDArray[np.int64]  # [MAX_PLAYS]


@njit(inline="always")
def _class_of(board):
    own1, _, opp1, _ = masks_of(board)
    return RACE if highest(own1) < lowest(opp1) else CONTACT


@njit
def prepare_filter(board, net, f):
    """First layer of the position before the play, for both classes (a play may end the contact)."""
    width = f.active.shape[0]
    for c in range(2):
        for j in range(width):
            f.base[c, j] = net.bias[c, j]
        for place in range(26):
            row = place_row(place, board[place])
            if row:
                for j in range(width):
                    f.base[c, j] += net.table[c, row, j]


@njit
def filter_outcome(board, child, changed, net, f, outcome):
    """Outcome (int64[5] in 1/2**20, out) of one after-position by the filter net; `prepare_filter(board)` came
    before.
    """
    pairs = 0
    while changed:
        place = lowest(changed)
        changed &= changed - 1
        if board[place] != child[place]:
            f.pairs[pairs, 0] = place_row(place, child[place])
            f.pairs[pairs, 1] = place_row(place, board[place])
            pairs += 1
    c = _class_of(child)
    exchange_rows(f.base[c], net.table[c], f.pairs, pairs, CLIP_STEPS, f.active)
    last_layer(f.active, net.last[c], net.last_bias[c], f.logits, f.unused, WEIGHT_BITS, CLIP_STEPS)
    for o in range(5):
        outcome[o] = sigmoid(np.int64(f.logits[o]))


@njit
def keep_best(board, n, keep, net, utility, f, s):
    """Move the `keep` plays that the filter net likes best to the front of `s.plays`; returns how many are left.

    Order among the kept is the order of generation; ties go to the play generated first, except that a play which ends
    the game is always kept. `prepare_filter(board)` came before.
    """
    if n <= keep:
        return n
    for i in range(n):
        child = s.plays[i]
        if is_won(child):
            f.equities[i] = np.int64(1) << 40
        else:
            filter_outcome(board, child, s.changed[i], net, f, f.outcome)
            f.equities[i] = equity_of(f.outcome, utility)
    # Insertion into a short list of indices, best first; equal values keep the order of generation.
    kept = 0
    for i in range(n):
        if kept == keep and f.equities[i] <= f.equities[f.chosen[kept - 1]]:
            continue
        at = kept if kept < keep else keep - 1
        while at > 0 and f.equities[f.chosen[at - 1]] < f.equities[i]:
            f.chosen[at] = f.chosen[at - 1]
            at -= 1
        f.chosen[at] = i
        if kept < keep:
            kept += 1
    # Back into the order of generation, so that moving rows forward never overwrites one still needed.
    for i in range(1, kept):
        value = f.chosen[i]
        j = i
        while j > 0 and f.chosen[j - 1] > value:
            f.chosen[j] = f.chosen[j - 1]
            j -= 1
        f.chosen[j] = value
    for i in range(kept):
        source = f.chosen[i]
        if source != i:
            for place in range(26):
                s.plays[i, place] = s.plays[source, place]
            s.changed[i] = s.changed[source]
    return kept


@njit(cache=True, nogil=True)
def filter_boards(boards, net, f, outcomes):
    """`outcomes` (int64[N, 5]) of many after-positions by the filter net, views of the players who just moved."""
    for i in range(boards.shape[0]):
        prepare_filter(boards[i], net, f)
        filter_outcome(boards[i], boards[i], 0, net, f, outcomes[i])
