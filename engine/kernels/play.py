"""Choosing a play: all legal plays of a roll with their values, or only those that the filter net likes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from engine.kernels.bearoff import BearoffArrays, bearoff_outcome
from engine.kernels.facts import board_facts
from engine.kernels.filter import FilterNet, FilterScratch, keep_best, prepare_filter
from engine.kernels.moves import generate
from engine.kernels.network import (
    BATCH,
    CLIP_STEPS,
    CONTACT,
    RACE,
    IntNet,
    Scratch,
    apply_limits,
    changed_rows,
    equity_of,
    final_outcome,
    first_layer,
    from_scratch,
    head,
    is_won,
)
from engine.kernels.vectors import exchange_rows


class Engine(NamedTuple):
    """Everything that a play depends on besides the position."""

    net: IntNet
    filter: FilterNet
    bearoff: BearoffArrays
    """Databases that end the game exactly; empty ones where they are not wanted."""
    keep: int
    """Plays of a roll that `likely_plays` leaves to the main net; 0 = all (and no filter net is asked)."""
    utility: NDArray[np.int64]  # [5], see `RuleSet.utility`
    flags: int
    """See `RuleSet.move_flags`."""


class Workspace(NamedTuple):
    """Buffers of one level of one thread."""

    main: Scratch
    filter: FilterScratch


@njit
def prepare(board, engine, w):
    """First layers of a position before the play; the class of position that the functions below want back."""
    s = w.main
    before = s.facts[0]
    c = RACE if board_facts(board, s.sums, before) else CONTACT
    first_layer(board, before, engine.net.table[c], engine.net.bias[c], s.base)
    if engine.keep > 0:
        prepare_filter(board, engine.filter, w.filter)
    return c


@njit
def _upper_layers(count, engine, s):
    """Outcomes and equities of the first `count` waiting plays."""
    for k in range(count):
        i, c, race, own, opponent = s.waiting[k]
        outcome = s.outcomes[i]
        head(c, engine.net, s.active[k], s, outcome)
        apply_limits(s.plays[i], own, opponent, race, outcome)
        s.equities[i] = equity_of(outcome, engine.utility)


@njit
def evaluate_plays(board, prepared, n, engine, s):
    """Outcomes and equities (`s.outcomes`, `s.equities`, mover's view) of the first n plays in `s.plays`."""
    net = engine.net
    before = s.facts[0]
    after = s.facts[1]
    count = 0
    for i in range(n):
        child = s.plays[i]
        outcome = s.outcomes[i]
        if is_won(child):
            final_outcome(child, outcome)
            s.equities[i] = equity_of(outcome, engine.utility)
            continue
        race = board_facts(child, s.sums, after)
        if race and bearoff_outcome(child, engine.bearoff, outcome):
            s.equities[i] = equity_of(outcome, engine.utility)
            continue
        c = RACE if race else CONTACT
        if c == prepared:
            pairs = changed_rows(board, before, child, after, s.changed[i], s.pairs)
            exchange_rows(s.base, net.table[c], s.pairs, pairs, CLIP_STEPS, s.active[count])
        else:
            from_scratch(child, after, c, net, s, s.active[count])
        waiting = s.waiting[count]
        waiting[0], waiting[1], waiting[2], waiting[3], waiting[4] = i, c, race, s.sums[0, 1], s.sums[1, 1]
        count += 1
        if count == BATCH:
            _upper_layers(count, engine, s)
            count = 0
    _upper_layers(count, engine, s)


@njit
def settled(after, engine, outcome):
    """Whether nothing is left to find out about an after-position: the game is over, or the databases hold it. If so
    its outcome (int64[5], out) in the view of the player who moved last.
    """
    if is_won(after):
        final_outcome(after, outcome)
        return True
    return bearoff_outcome(after, engine.bearoff, outcome)


@njit
def all_plays(board, prepared, first, second, engine, w):
    """Generate and value every play of a roll (in `w.main`); returns their number. `prepare` came before."""
    s = w.main
    n = generate(board, first, second, engine.flags, s.plays, s.changed, s.keys, s.work)
    evaluate_plays(board, prepared, n, engine, s)
    return n


@njit
def likely_plays(board, prepared, first, second, engine, w):
    """As `all_plays`, but only the `engine.keep` plays that the filter net likes best."""
    s = w.main
    n = generate(board, first, second, engine.flags, s.plays, s.changed, s.keys, s.work)
    if engine.keep > 0:
        n = keep_best(board, n, engine.keep, engine.filter, engine.utility, w.filter, s)
    evaluate_plays(board, prepared, n, engine, s)
    return n


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
def rank_roll(board, first, second, engine, w):
    """Generate and value all plays of one roll (in `w.main`); returns their number."""
    prepared = prepare(board, engine, w)
    return all_plays(board, prepared, first, second, engine, w)
