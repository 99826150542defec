"""Choosing a play: all legal plays of a roll with their values, or only those that the filter net likes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.kernels.bearoff import BearoffArrays, bearoff_outcome
from engine.kernels.compiled import entry, inlined, kernel
from engine.kernels.facts import RACE, first_layer_rows
from engine.kernels.filter import FilterNet, FilterScratch, keep_best, prepare_filter
from engine.kernels.memory import Memory
from engine.kernels.moves import MAX_PLAYS, generate
from engine.kernels.network import (
    BATCH,
    CLIP_STEPS,
    IntNet,
    Scratch,
    apply_limits,
    changed_rows,
    equity_of,
    final_outcome,
    from_scratch,
    head,
    is_won,
    list_rows,
    table_of,
)
from engine.kernels.vectors import exchange_rows, sum_rows

ROLLS = 21
MOST_PLAYS = 6 * MAX_PLAYS + 15 * 512
"""Bound of the plays of all rolls together: two steps of 15 checkers in either order make at most 450."""


class Engine(NamedTuple):
    """Everything that a play depends on besides the position."""

    net: IntNet
    filter: FilterNet
    bearoff: BearoffArrays
    """Databases that end the game exactly; empty ones where they are not wanted."""
    keep: int
    """Plays of a roll that the filter net leaves to the main net inside a search tree; 0 = all (no filter net)."""
    luck_keep: int
    """The same where a roll's luck is worked out."""
    memory: Memory
    """Of searches with this engine."""
    utility: NDArray[np.int64]  # [5], see `RuleSet.utility`
    flags: int
    """See `RuleSet.move_flags`."""
    checkers: int
    """Of each side at the start: only a side that still has them all can lose a gammon."""


class Workspace(NamedTuple):
    """Buffers of one level of one thread."""

    main: Scratch
    filter: FilterScratch


@kernel
def prepare(board, engine, w):
    """First layers of a position before the play; the index of its table, which the functions below want back."""
    s = w.main
    c, _, _ = first_layer_rows(board, s.rows[0])
    t = table_of(c)
    n = list_rows(s.rows[0], s.rows[2], s.used)
    sum_rows(engine.net.bias, engine.net.table, t, s.used, n, s.base, 0)
    if engine.keep > 0:
        prepare_filter(board, engine.filter, w.filter)
    return t


@kernel
def _finish(count, t, engine, s):
    """Outcomes and equities of the first `count` waiting plays, all with the first layer's table `t`."""
    net = engine.net
    exchange_rows(s.base, 0, net.table, t, s.pairs, s.counts, 0, count, CLIP_STEPS, s.active, s.live)
    for k in range(count):
        i, c, own, opponent = s.waiting[k]
        outcome = s.outcomes[i]
        head(c, net, s, k, outcome)
        apply_limits(s.plays[i], own, opponent, engine.checkers, c == RACE, outcome)
        s.equities[i] = equity_of(outcome, engine.utility)


@kernel
def evaluate_plays(board, prepared, n, engine, s):
    """Outcomes and equities (`s.outcomes`, `s.equities`, mover's view) of the first n plays in `s.plays`."""
    before = s.rows[0]
    after = s.rows[1]
    count = np.int64(0)  # for a literal, what it is handed to would be compiled once more; likewise below
    for i in range(n):
        child = s.plays[i]
        outcome = s.outcomes[i]
        c, own, opponent = first_layer_rows(child, after)
        if own == 0:
            final_outcome(child, engine.checkers, outcome)
        elif c == RACE and bearoff_outcome(child, engine.bearoff, outcome):
            pass
        elif table_of(c) != prepared:
            from_scratch(after, c, engine.net, s, outcome)
            apply_limits(child, own, opponent, engine.checkers, c == RACE, outcome)
        else:
            exchanges = changed_rows(before, after, s.pairs[count])
            s.counts[count] = exchanges
            waiting = s.waiting[count]
            waiting[0], waiting[1], waiting[2], waiting[3] = i, c, own, opponent
            count += 1
            if count == BATCH:
                _finish(count, prepared, engine, s)
                count = np.int64(0)
            continue
        s.equities[i] = equity_of(outcome, engine.utility)
    _finish(count, prepared, engine, s)


@kernel
def settled(after, engine, outcome):
    """Whether nothing is left to find out about an after-position: the game is over, or the databases hold it. If so
    its outcome (int64[5], out) in the view of the player who moved last.
    """
    if is_won(after):
        final_outcome(after, engine.checkers, outcome)
        return True
    return bearoff_outcome(after, engine.bearoff, outcome)


@kernel
def all_plays(board, prepared, first, second, engine, w):
    """Generate and value every play of a roll (in `w.main`); returns their number. `prepare` came before."""
    s = w.main
    n = generate(board, first, second, engine.flags, s.plays, s.changed, s.keys, s.work)
    evaluate_plays(board, prepared, n, engine, s)
    return n


@kernel
def likely_plays(board, prepared, keep, engine, w):
    """For each of the 21 rolls, the `keep` plays that the filter net likes best (0: all plays), valued by the main net.

    Roll number `roll_number(high, low)` has the plays `w.main.starts[number]` up to the next roll's start. All of them
    go through the main net together, which is what makes looking ahead fast.
    """
    s = w.main
    n = np.int64(0)
    number = 0
    for high in range(1, 7):
        for low in range(1, high + 1):
            s.starts[number] = n
            plays = s.plays[n:]
            changed = s.changed[n:]
            found = generate(board, high, low, engine.flags, plays, changed, s.keys, s.work)
            if keep > 0:
                found = keep_best(board, plays, changed, found, keep, engine.filter, engine.utility, w.filter)
            n += found
            number += 1
    s.starts[ROLLS] = n
    evaluate_plays(board, prepared, n, engine, s)


@inlined
def roll_number(high, low):
    """0..20: the rolls in the order 1-1, 2-1, 2-2, 3-1, ..."""
    return high * (high - 1) // 2 + low - 1


@kernel
def checkers_left(board):
    """Number of the mover's checkers still on the board."""
    count = 0
    for place in range(1, 26):
        count += max(np.int64(board[place]), 0)
    return count


@kernel
def best_between(start, end, s):
    """Index of the best of the plays from `start` up to `end`; ties go to bearing off more, then to the play generated
    first.
    """
    best = start
    for i in range(start + 1, end):
        if s.equities[i] > s.equities[best] or (
            s.equities[i] == s.equities[best] and checkers_left(s.plays[i]) < checkers_left(s.plays[best])
        ):
            best = i
    return best


@kernel
def best_of(n, s):
    """As `best_between`, of the first n plays."""
    return best_between(np.int64(0), n, s)


@entry
def rank_roll(board, first, second, engine, w):
    """Generate and value all plays of one roll (in `w.main`); returns their number."""
    prepared = prepare(board, engine, w)
    return all_plays(board, prepared, first, second, engine, w)
