"""How far a rollout is: what progress displays and event streams show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from cluster.store import TrialRange
from engine.tally import Tally


class CompleteRows(Protocol):
    """Trials as far as they are there."""

    def complete(self, active: Sequence[int], trials: TrialRange) -> bool:
        """Whether all these candidates have all these trials."""

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
    """What the progress display needs, kept up to date block by block."""

    def __init__(self, rows: CompleteRows, blocks: Sequence[TrialRange]) -> None:
        self._rows = rows
        self._blocks = blocks
        self._open = dict.fromkeys(blocks)
        self._next = 0
        self._active: tuple[int, ...] = ()
        self._tally = Tally.empty(0)

    def read(self, active: tuple[int, ...], ran: set[TrialRange], computed: int) -> Progress:
        """The progress with these candidates in contention."""
        if active != self._active:
            self._active, self._next, self._tally = active, 0, Tally.empty(len(active))
        for block in [block for block in self._open if self._rows.complete(active, block)]:
            del self._open[block]
        while self._next < len(self._blocks) and self._blocks[self._next] not in self._open:
            self._tally = self._tally.merge(self._rows.tally(active, self._blocks[self._next]))
            self._next += 1
        done = len(self._blocks) - len(self._open)
        from_cache = done - sum(block not in self._open for block in ran)
        return Progress(done, len(self._blocks), from_cache, self._tally.trials, active, self._tally, computed)
