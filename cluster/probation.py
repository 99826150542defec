"""Machines on which workers fail are left alone for a while. Pure: time is an argument.

Without it, a machine with broken memory or another gammonfarm would get a new worker the moment its last one was sent
away, for ever. The pause doubles with each failure, and a machine that behaves for long enough starts anew. All workers
that fail before the pause is over are one failure: each core has a worker, and what is wrong is wrong for all of them.
"""

from __future__ import annotations

from dataclasses import dataclass

from cluster.pauses import doubled

FIRST_PAUSE, LONGEST_PAUSE = 30.0, 3600.0
"""Seconds."""


@dataclass
class _Record:
    failures: int = 0
    until: float = 0.0
    reason: str = ""

    @property
    def pause(self) -> float:
        return doubled(FIRST_PAUSE, self.failures - 1, LONGEST_PAUSE)


class Probation:
    """What is held against which machine."""

    def __init__(self) -> None:
        self._records: dict[str, _Record] = {}

    def failed(self, machine: str, reason: str, now: float) -> None:
        """A worker had to be sent away, or never came up, through no fault of a task."""
        record = self._records.setdefault(machine, _Record())
        if now < record.until:
            return
        if now > record.until + LONGEST_PAUSE:
            record.failures = 0
        record.failures += 1
        record.until, record.reason = now + record.pause, reason

    def is_out(self, machine: str, now: float) -> bool:
        """Whether the machine gets no new workers now."""
        return machine in self._records and now < self._records[machine].until

    def out(self, now: float) -> dict[str, str]:
        """The reason for every machine that is out."""
        return {machine: record.reason for machine, record in self._records.items() if now < record.until}

    def forget(self, machine: str) -> None:
        """The machine is gone."""
        self._records.pop(machine, None)
