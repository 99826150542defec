"""Work space for the kernels: one per thread, made once, never shared."""

from __future__ import annotations

import numpy as np

from engine.kernels.facts import ROW_SPACE, WIDTH
from engine.kernels.filter import FILTER_TABLES, FilterScratch
from engine.kernels.memory import Memory
from engine.kernels.moves import MAX_PLAYS
from engine.kernels.network import BATCH, LAST, SECOND, Scratch
from engine.kernels.play import MOST_PLAYS, ROLLS, Workspace
from engine.kernels.vectors import SMALL_TILE, TILE
from engine.memory import on_cache_lines

MEMORY_SLOTS = 1 << 14
"""Positions that a search remembers (66 bytes each)."""


def make_scratch(width: int) -> Scratch:
    """Buffers for a network whose first layer is `width` wide."""
    return Scratch(
        plays=np.zeros((MOST_PLAYS, 26), dtype=np.int8),
        changed=np.zeros(MOST_PLAYS, dtype=np.int64),
        keys=np.zeros(MAX_PLAYS, dtype=np.uint64),
        work=np.zeros(26, dtype=np.int8),
        rows=on_cache_lines(np.zeros((3, ROW_SPACE), dtype=np.int32)),
        used=np.zeros(WIDTH, dtype=np.int32),
        base=on_cache_lines(np.zeros((2, width), dtype=np.int16)),
        pairs=np.zeros((BATCH + 1, WIDTH, 2), dtype=np.int32),
        counts=np.zeros(BATCH + 1, dtype=np.int64),
        active=on_cache_lines(np.zeros((BATCH + 1, width), dtype=np.int16)),
        live=np.zeros((BATCH + 1, width // TILE), dtype=np.int64),
        waiting=np.zeros((BATCH, 4), dtype=np.int64),
        units=np.zeros(SECOND, dtype=np.int32),
        hidden=on_cache_lines(np.zeros((1, SECOND), dtype=np.int16)),
        logits=np.zeros(LAST, dtype=np.int32),
        unused=np.zeros((1, LAST), dtype=np.int16),
        starts=np.zeros(ROLLS + 1, dtype=np.int64),
        board=np.zeros(26, dtype=np.int8),
        sum=np.zeros(5, dtype=np.int64),
        reply=np.zeros(5, dtype=np.int64),
        outcomes=np.zeros((MOST_PLAYS, 5), dtype=np.int64),
        equities=np.zeros(MOST_PLAYS, dtype=np.int64),
    )


def make_filter_scratch(width: int) -> FilterScratch:
    """Buffers for a filter net that is `width` wide."""
    return FilterScratch(
        base=on_cache_lines(np.zeros((FILTER_TABLES, width), dtype=np.int16)),
        rows=on_cache_lines(np.zeros(26, dtype=np.int32)),
        active=on_cache_lines(np.zeros((1, width), dtype=np.int16)),
        live=np.zeros((1, width // SMALL_TILE), dtype=np.int64),
        pairs=np.zeros((1, 26, 2), dtype=np.int32),
        counts=np.zeros(1, dtype=np.int64),
        logits=np.zeros(LAST, dtype=np.int32),
        unused=np.zeros((1, LAST), dtype=np.int16),
        outcome=np.zeros(5, dtype=np.int64),
        equities=np.zeros(MAX_PLAYS, dtype=np.int64),
        order=np.zeros(MAX_PLAYS, dtype=np.int64),
    )


def make_memory() -> Memory:
    """An empty memory for one thread's searches."""
    return Memory(
        boards=np.zeros((MEMORY_SLOTS, 26), dtype=np.int8),
        outcomes=np.zeros((MEMORY_SLOTS, 5), dtype=np.int64),
        counts=np.zeros(2, dtype=np.int64),
    )


def make_workspace(width: int, filter_width: int) -> Workspace:
    """Buffers of one level of a search."""
    return Workspace(make_scratch(width), make_filter_scratch(filter_width))
