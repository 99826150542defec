"""The filter net: a tiny net over places alone that says which plays deserve the main net.

Same first layer as the main net without the board facts, then straight to five logits: about a tenth of the main net's
cost. It decides nothing by itself; it only bounds how many plays of a roll the main net looks at inside a search and in
the luck of a rollout.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.kernels.bits import highest, lowest
from engine.kernels.board_vectors import place_masks
from engine.kernels.compiled import entry, inlined, kernel
from engine.kernels.facts import PLACE_ROWS, place_row
from engine.kernels.network import (
    CLIP_STEPS,
    WEIGHT_BITS,
    changed_places,
    equity_of,
    sigmoid,
)
from engine.kernels.vectors import exchange_small_rows, filter_layer, sum_small_rows

FILTER_ROWS = PLACE_ROWS + 1
FILTER_TABLES = 2
"""Race and contact."""


class FilterNet(NamedTuple):
    """Weights of the filter net (T = 2 tables: race, contact; F = width)."""

    table: NDArray[np.int16]  # [T, F / SMALL_TILE, FILTER_ROWS, SMALL_TILE] in 1/1,024; row 0 is zero
    bias: NDArray[np.int16]  # [T, F] in 1/1,024
    last: NDArray[np.int16]  # [T, F / 2 + 1, 8, 2] in 1/2,048; outputs beyond five and the last pair are zero
    last_bias: NDArray[np.int32]  # [T, 8] in 1/2**21


class FilterScratch(NamedTuple):
    """Work space of one thread for the filter."""

    base: NDArray[np.int16]  # [T, F]
    rows: NDArray[np.int32]  # [26]
    active: NDArray[np.int16]  # [1, F]
    live: NDArray[np.int64]  # [1, F / SMALL_TILE]
    pairs: NDArray[np.int32]  # [1, 26, 2]
    counts: NDArray[np.int64]  # [1]
    logits: NDArray[np.int32]  # [8]
    unused: NDArray[np.int16]  # [1, 8]
    outcome: NDArray[np.int64]  # [5]
    equities: NDArray[np.int64]  # [MAX_PLAYS]
    order: NDArray[np.int64]  # [MAX_PLAYS]


@kernel
def prepare_filter(board, net, f):
    """First layer of the position before the play, for both tables (a play may end the contact)."""
    n = 0
    for place in range(26):
        if board[place] != 0:
            f.rows[n] = place_row(place, board[place])
            n += 1
    for t in range(FILTER_TABLES):
        sum_small_rows(net.bias, net.table, t, f.rows, n, f.base, t)


@inlined
def _filter_child(board, child, changed, t, net, f, outcome):
    f.counts[0] = changed_places(board, child, changed, f.pairs[0])
    exchange_small_rows(f.base, t, net.table, t, f.pairs, f.counts, 0, 1, CLIP_STEPS, f.active, f.live)
    filter_layer(f.active, 0, f.live, net.last, net.last_bias, t, f.logits, f.unused, WEIGHT_BITS, CLIP_STEPS)
    for o in range(5):
        outcome[o] = sigmoid(np.int64(f.logits[o]))


@kernel
def filter_outcome(board, child, changed, net, f, outcome):
    """Outcome (int64[5] in 1/2**20, out) of one after-position by the filter net; `prepare_filter(board)` came
    before.
    """
    masks = place_masks(child)
    t = np.int64(highest(masks[0]) > lowest(masks[4]))
    _filter_child(board, child, changed, t, net, f, outcome)


@kernel
def keep_best(board, plays, changed, n, keep, net, utility, f):
    """Move the `keep` plays that the filter net likes best to the front of `plays` (int8[., 26], `changed` int64[.]: as
    `generate` filled them with n plays); returns how many are left.

    Order among the kept is the order of generation; ties go to the play generated first, except that a play which ends
    the game is always kept. `prepare_filter(board)` came before.
    """
    if n <= keep:
        return n
    for i in range(n):
        child = plays[i]
        masks = place_masks(child)
        if masks[0] == 0:
            f.equities[i] = np.int64(1) << 40
        else:
            t = np.int64(highest(masks[0]) > lowest(masks[4]))
            _filter_child(board, child, changed[i], t, net, f, f.outcome)
            f.equities[i] = equity_of(f.outcome, utility)
    # Insertion into a short list of indices, best first; equal values keep the order of generation.
    kept = 0
    for i in range(n):
        if kept == keep and f.equities[i] <= f.equities[f.order[kept - 1]]:
            continue
        at = kept if kept < keep else keep - 1
        while at > 0 and f.equities[f.order[at - 1]] < f.equities[i]:
            f.order[at] = f.order[at - 1]
            at -= 1
        f.order[at] = i
        if kept < keep:
            kept += 1
    # Back into the order of generation, so that moving rows forward never overwrites one still needed.
    for i in range(1, kept):
        value = f.order[i]
        j = i
        while j > 0 and f.order[j - 1] > value:
            f.order[j] = f.order[j - 1]
            j -= 1
        f.order[j] = value
    for i in range(kept):
        source = f.order[i]
        if source != i:
            for place in range(26):
                plays[i, place] = plays[source, place]
            changed[i] = changed[source]
    return kept


@entry
def filter_boards(boards, net, f, outcomes):
    """`outcomes` (int64[N, 5]) of many after-positions by the filter net, views of the players who just moved."""
    for i in range(boards.shape[0]):
        prepare_filter(boards[i], net, f)
        filter_outcome(boards[i], boards[i], 0, net, f, outcomes[i])
