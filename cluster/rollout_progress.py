"""How far a rollout is: what progress displays and event streams show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from cluster.store import TrialRange
from engine.tally import Tally


class CompleteRows(Protocol):
    """Trials as far as they are there."""

    def gaps(self, active: Sequence[int]) -> list[TrialRange]:
        """The question's trials that some of these candidates lack, rising."""

    def tally(self, active: Sequence[int], trials: TrialRange) -> Tally:
        """Of some candidates over a complete range."""


@dataclass(frozen=True)
class Progress:
    """Where a rollout stands."""

    blocks_done: int
    blocks: int
    blocks_from_cache: int
    trials_done: int
    """Trials that all candidates still in contention have."""
    active: tuple[int, ...]
    """Numbers of the candidates still in contention."""
    tally: Tally
    """Of these, over these trials."""
    computed: int
    """Trials computed in this run, over all candidates."""


class Meter:
    """What the progress display needs, kept up to date as trials come.

    Args:
        blocks: the question's, all as large as the first one but the last.
    """

    def __init__(self, rows: CompleteRows, blocks: Sequence[TrialRange]) -> None:
        self._rows = rows
        self._blocks = blocks
        self._size = blocks[0].count
        self._next = 0
        self._active: tuple[int, ...] = ()
        self._tally = Tally.empty(0)

    def read(self, active: tuple[int, ...], ran: set[TrialRange], computed: int) -> Progress:
        """The progress with these candidates in contention."""
        if active != self._active:
            self._active, self._next, self._tally = active, 0, Tally.empty(len(active))
        gaps = self._rows.gaps(active)
        lacking = {i for gap in gaps for i in range(gap.first // self._size, (gap.stop - 1) // self._size + 1)}
        whole = gaps[0].first // self._size if gaps else len(self._blocks)
        if whole > self._next:
            first = self._blocks[self._next].first
            new = TrialRange(first, self._blocks[whole - 1].stop - first)
            self._tally = self._tally.merge(self._rows.tally(active, new))
            self._next = whole
        done = len(self._blocks) - len(lacking)
        from_cache = done - sum(block.first // self._size not in lacking for block in ran)
        return Progress(done, len(self._blocks), from_cache, self._tally.trials, active, self._tally, computed)
