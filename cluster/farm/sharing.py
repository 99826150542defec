"""Which jobs want the same trials, so that each is computed once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from cluster.farm.active import ActiveJob
from cluster.store import TrialRange


class Sharing:
    """The jobs of each series, as far as they have said what they fill."""

    def __init__(self) -> None:
        self._jobs: dict[str, set[str]] = {}
        self._series: dict[str, frozenset[str]] = {}

    def note(self, active: ActiveJob) -> None:
        """Look up which series a job fills now."""
        job, now = active.record.id, frozenset(active.run.series)
        before = self._series.get(job, frozenset())
        if now != before:
            self._series[job] = now
            for series in now - before:
                self._jobs.setdefault(series, set()).add(job)
            self._drop(job, before - now)

    def leave(self, job: str) -> set[str]:
        """A job has ended; returns those that may have waited for its trials."""
        mine = self._series.pop(job, frozenset())
        others = {other for series in mine for other in self._jobs[series]} - {job}
        self._drop(job, mine)
        return others

    def others(self, job: str, series: str) -> list[str]:
        """The other jobs that want a series."""
        return sorted(self._jobs.get(series, set()) - {job})

    def all_series(self) -> list[str]:
        """Those that any job fills."""
        return list(self._jobs)

    def _drop(self, job: str, gone: frozenset[str]) -> None:
        for series in gone:
            self._jobs[series].discard(job)
            if not self._jobs[series]:
                del self._jobs[series]


class UnderWay(Mapping[str, Sequence[TrialRange]]):
    """What other jobs than one have computed now, by series; looked up when it is asked for, because a job may come to
    new series just then.
    """

    def __init__(self, sharing: Sharing, job: str, jobs: Mapping[str, ActiveJob]) -> None:
        self._sharing, self._job, self._jobs = sharing, job, jobs
        self._ranges: dict[str, dict[str, list[TrialRange]]] = {}

    def __getitem__(self, series: str) -> list[TrialRange]:
        others = self._sharing.others(self._job, series)
        if not others:
            raise KeyError(series)
        for other in others:
            if other not in self._ranges:
                self._ranges[other] = self._jobs[other].ranges()
        return [trials for other in others for trials in self._ranges[other].get(series, [])]

    def __iter__(self) -> Iterator[str]:
        return (series for series in self._sharing.all_series() if self._sharing.others(self._job, series))

    def __len__(self) -> int:
        return sum(1 for _ in self)
