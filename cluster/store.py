"""What gammonfarm remembers: results, trial blocks and jobs; the interface, and an implementation in memory.

Both caches are addressed by content: a key holds the hash of everything that the bytes depend on, so a value never
changes and nothing is ever invalidated. Writing twice is harmless, which makes work that is done at least once exact.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from cluster.payload import CorruptPayloadError, seal, unseal
from cluster.scheduling import Priority
from engine.errors import InternalError

log = logging.getLogger(__name__)


@dataclass(frozen=True, order=True)
class TrialRange:
    """The trials `first`, `first + 1`, ... `stop - 1`."""

    first: int
    count: int

    def __post_init__(self) -> None:
        if self.first < 0 or self.count < 1:
            raise InternalError(f"no trial range: first {self.first}, count {self.count}")

    @property
    def stop(self) -> int:
        """One past the last trial."""
        return self.first + self.count


class JobState(StrEnum):
    """The life of a job: queued, running, then exactly one of the other three."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_final(self) -> bool:
        """True when the job will not change any more."""
        return self in (JobState.DONE, JobState.FAILED, JobState.CANCELLED)


class JobKind(StrEnum):
    """What a job asks for."""

    ROLLOUT = "rollout"
    DEEP = "deep"
    EVALUATE = "evaluate"
    ANALYSE = "analyse"
    BOOK = "book"
    TRAIN = "train"


@dataclass(frozen=True)
class JobRecord:
    """One client's request and how far it has come. Times are Unix seconds; `request` is its JSON text."""

    id: str
    kind: JobKind
    state: JobState
    request: str
    created: float
    updated: float
    message: str = ""
    blocks_done: int = 0
    blocks_total: int = 0
    owner: str = ""
    key: str = ""
    """Content key of the question; as the fields below, empty where a command works for itself."""
    client: str = ""
    priority: Priority = Priority.NORMAL
    order: int = 0
    """Number of the submission, rising."""
    events: int = 0
    """Number of the last event."""
    code: str = ""
    """What kind of failure ended it."""
    report: str = ""
    """Provenance and timing of the answer, as JSON."""


class Store(Protocol):
    """Results, blocks and jobs. Every method may raise `InfrastructureError` when the server is away."""

    def get_result(self, key: str) -> bytes | None:
        """The result with this content key; None if unknown or if what is stored is corrupt (it is then dropped)."""

    def put_result(self, key: str, payload: bytes) -> None:
        """Remember a result."""

    def blocks(self, series: str) -> dict[TrialRange, bytes]:
        """All finished blocks of a series, by rising range; ranges may overlap. Corrupt blocks are dropped."""

    def put_block(self, series: str, trials: TrialRange, payload: bytes) -> bool:
        """Remember a finished block; the first write wins. Returns whether this write was the first."""

    def get_values(self, keys: Sequence[str]) -> list[bytes | None]:
        """Values of positions and entries of books by their content keys, in that order; None as in `get_result`."""

    def put_values(self, values: Mapping[str, bytes]) -> None:
        """Remember values of many positions, or entries of a book."""

    def put_job(self, job: JobRecord) -> None:
        """Write a job, new or changed."""

    def get_job(self, job_id: str) -> JobRecord | None:
        """The job with this id."""

    def list_jobs(self, limit: int = 100) -> list[JobRecord]:
        """Jobs, those created last first, at most `limit`."""

    def ping(self) -> str:
        """Name and version of the server, once it has answered."""

    def close(self) -> None:
        """Release connections. The store must not be used afterwards."""


class MemoryStore:
    """A `Store` that lives and dies with the process: for tests and for runs that must leave no trace."""

    def __init__(self) -> None:
        # Sealed as on a real server, so that corruption is handled by the same steps.
        self._results: dict[str, bytes] = {}
        self._series: dict[str, dict[TrialRange, bytes]] = {}
        self._values: dict[str, bytes] = {}
        self._jobs: dict[str, JobRecord] = {}

    def get_result(self, key: str) -> bytes | None:
        """See `Store`."""
        stored = self._results.get(key)
        if stored is None:
            return None
        try:
            return unseal(stored)
        except CorruptPayloadError as error:
            log.warning("result %s dropped: %s", key, error)
            del self._results[key]
            return None

    def put_result(self, key: str, payload: bytes) -> None:
        """See `Store`."""
        self._results[key] = seal(payload)

    def blocks(self, series: str) -> dict[TrialRange, bytes]:
        """See `Store`."""
        stored = self._series.get(series, {})
        found: dict[TrialRange, bytes] = {}
        for trials in sorted(stored):
            try:
                found[trials] = unseal(stored[trials])
            except CorruptPayloadError as error:
                log.warning("block %d:%d of series %s dropped: %s", trials.first, trials.count, series, error)
                del stored[trials]
        return found

    def put_block(self, series: str, trials: TrialRange, payload: bytes) -> bool:
        """See `Store`."""
        stored = self._series.setdefault(series, {})
        if trials in stored:
            return False
        stored[trials] = seal(payload)
        return True

    def get_values(self, keys: Sequence[str]) -> list[bytes | None]:
        """See `Store`."""
        found: list[bytes | None] = []
        for key in keys:
            stored = self._values.get(key)
            try:
                found.append(None if stored is None else unseal(stored))
            except CorruptPayloadError as error:
                log.warning("values %s dropped: %s", key, error)
                del self._values[key]
                found.append(None)
        return found

    def put_values(self, values: Mapping[str, bytes]) -> None:
        """See `Store`."""
        self._values.update({key: seal(payload) for key, payload in values.items()})

    def put_job(self, job: JobRecord) -> None:
        """See `Store`."""
        self._jobs[job.id] = job

    def get_job(self, job_id: str) -> JobRecord | None:
        """See `Store`."""
        return self._jobs.get(job_id)

    def list_jobs(self, limit: int = 100) -> list[JobRecord]:
        """See `Store`."""
        newest_first = sorted(self._jobs.values(), key=lambda job: (job.created, job.id), reverse=True)
        return newest_first[: max(limit, 0)]

    def ping(self) -> str:
        """See `Store`."""
        return "memory"

    def close(self) -> None:
        """See `Store`."""
