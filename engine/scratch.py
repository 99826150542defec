"""Work space for the kernels: one per thread, made once, never shared."""

from __future__ import annotations

import numpy as np

from engine.kernels.facts import FACTS, WIDTH
from engine.kernels.filter import FilterScratch
from engine.kernels.moves import MAX_PLAYS
from engine.kernels.network import BATCH, CLASSES, LAST, SECOND, Scratch
from engine.kernels.play import Workspace


def make_scratch(width: int) -> Scratch:
    """Buffers for a network whose first layer is `width` wide."""
    return Scratch(
        plays=np.zeros((MAX_PLAYS, 26), dtype=np.int8),
        changed=np.zeros(MAX_PLAYS, dtype=np.int64),
        keys=np.zeros(MAX_PLAYS, dtype=np.uint64),
        work=np.zeros(26, dtype=np.int8),
        facts=np.zeros((2, FACTS), dtype=np.int64),
        sums=np.zeros((2, 6), dtype=np.int64),
        base=np.zeros(width, dtype=np.int16),
        total=np.zeros(width, dtype=np.int16),
        active=np.zeros((BATCH, width), dtype=np.int16),
        waiting=np.zeros((BATCH, 5), dtype=np.int64),
        pairs=np.zeros((WIDTH, 2), dtype=np.int64),
        units=np.zeros(SECOND, dtype=np.int32),
        hidden=np.zeros(SECOND, dtype=np.int16),
        logits=np.zeros(LAST, dtype=np.int32),
        unused=np.zeros(LAST, dtype=np.int16),
        outcomes=np.zeros((MAX_PLAYS, 5), dtype=np.int64),
        equities=np.zeros(MAX_PLAYS, dtype=np.int64),
    )


def make_filter_scratch(width: int) -> FilterScratch:
    """Buffers for a filter net that is `width` wide."""
    return FilterScratch(
        base=np.zeros((CLASSES, width), dtype=np.int16),
        active=np.zeros(width, dtype=np.int16),
        pairs=np.zeros((26, 2), dtype=np.int64),
        logits=np.zeros(LAST, dtype=np.int32),
        unused=np.zeros(LAST, dtype=np.int16),
        outcome=np.zeros(5, dtype=np.int64),
        equities=np.zeros(MAX_PLAYS, dtype=np.int64),
        chosen=np.zeros(MAX_PLAYS, dtype=np.int64),
    )


def make_workspace(width: int, filter_width: int) -> Workspace:
    """Buffers of one level of a search."""
    return Workspace(make_scratch(width), make_filter_scratch(filter_width))
