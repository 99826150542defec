"""Ways into kernels that have no entry of their own. Compiled code is kept with that of the kernels."""

from __future__ import annotations

from numba import njit

from engine.kernels.filter import keep_best
from engine.kernels.moves import generate
from engine.kernels.play import all_plays, evaluate_plays, prepare
from engine.kernels.search import choose


@njit(cache=True)
def plays_left(board, first, second, engine, w):  # type: ignore[no-untyped-def]
    """How many plays of a roll the filter net leaves; they are in `w.main`, valued by the main net."""
    prepared = prepare(board, engine, w)
    s = w.main
    n = generate(board, first, second, engine.flags, s.plays, s.changed, s.keys, s.work)
    if engine.keep > 0:
        n = keep_best(board, s.plays, s.changed, n, engine.keep, engine.filter, engine.utility, w.filter)
    evaluate_plays(board, prepared, n, engine, s)
    return n


@njit(cache=True)
def play_made(board, first, second, level, width, margin, engine, w, w2, value):  # type: ignore[no-untyped-def]
    """Index in `w.main` of the play that a trial makes."""
    prepared = prepare(board, engine, w)
    n = all_plays(board, prepared, first, second, engine, w)
    return choose(n, level, width, margin, engine, w, w2, value)
