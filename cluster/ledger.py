"""The farm's books beside results and blocks: submissions, what happened to each job, who is in charge.

Redis alone holds the truth. The API and the coordinator talk through these books and never to each other, so that
either can die at any moment. Every job has numbered events and exactly one final one, which is written together with
its final state.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from cluster.scheduling import Priority
from cluster.store import JobKind, JobRecord, JobState, Store, TrialRange

OPEN_STATES = (JobState.QUEUED, JobState.RUNNING)


class EventKind(StrEnum):
    """What can happen to a job."""

    QUEUED = "queued"
    STARTED = "started"
    PROGRESS = "progress"
    PRIORITY = "priority"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_final(self) -> bool:
        """Whether nothing follows."""
        return self in (EventKind.DONE, EventKind.FAILED, EventKind.CANCELLED)


@dataclass(frozen=True)
class Event:
    """Something that happened to a job. `number` counts from 1 inside the job; `time` in Unix seconds."""

    job: str
    number: int
    kind: EventKind
    time: float
    data: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Submission:
    """A question as it comes in."""

    kind: JobKind
    key: str
    """Content key: the same question has the same key."""
    request: str
    client: str
    priority: Priority


@dataclass(frozen=True)
class Submitted:
    """What became of a submission."""

    job: str
    created: bool
    """False: the same question is a job already."""
    record: JobRecord | None = field(default=None, compare=False)
    """The job as it was then; None where another version has written it."""


@dataclass(frozen=True)
class JobQuery:
    """Which jobs to list, those created last first."""

    state: JobState | None = None
    kind: JobKind | None = None
    client: str | None = None
    before: float | None = None
    """Only those created before this time."""
    limit: int = 100

    def fits(self, job: JobRecord) -> bool:
        """Whether a job is asked for."""
        return (
            self.state in (None, job.state)
            and self.kind in (None, job.kind)
            and self.client in (None, job.client)
            and (self.before is None or job.created < self.before)
        )

    @property
    def filters(self) -> bool:
        """Whether only some jobs fit, so that many may have to be looked at for one."""
        return (self.state, self.kind, self.client) != (None, None, None)


@dataclass(frozen=True)
class JobsFound:
    """Jobs that fit a query, and where to go on."""

    jobs: list[JobRecord]
    before: float | None
    """All that were created at this time or later have been looked at; None: all jobs have been."""


Block = tuple[str, TrialRange, bytes]
"""Series, range, payload."""


@dataclass(frozen=True)
class Completion:
    """Everything that is written when a job is done."""

    job: str
    key: str
    answer: bytes
    report: str
    """Provenance and timing, as JSON."""
    done: int
    total: int
    data: dict[str, Any]
    """What watchers are told last, before the end."""


@dataclass(frozen=True)
class Change:
    """A step in a job's life: possible in some states, it sets fields and leaves an event."""

    job: str
    states: tuple[JobState, ...]
    kind: EventKind
    now: float
    fields: dict[str, Any]
    said: dict[str, Any]


class Ledger(Store, Protocol):
    """A `Store` with the farm's books. Every method may raise `InfrastructureError` when the server is away."""

    def submit(self, submissions: Sequence[Submission], now: float) -> list[Submitted]:
        """Accept questions, in order. A question whose job is open or done (and its result still there) is that job;
        one that failed or was cancelled becomes a new job.
        """

    def open_ids(self) -> list[str]:
        """Ids of all jobs that are not final, in the order of their submission."""

    def get_jobs(self, job_ids: Sequence[str]) -> list[JobRecord | None]:
        """Several jobs at once."""

    def get_states(self, job_ids: Sequence[str]) -> list[JobState | None]:
        """The states of several jobs at once: a whole job can be as long as a match."""

    def find_jobs(self, query: JobQuery) -> JobsFound:
        """Jobs that fit, those created last first. Only so many are looked at: there may be more behind them."""

    def start(self, job_id: str, total: int, now: float) -> bool:
        """Mark a queued job running; returns whether it was queued."""

    def note(self, job_id: str, done: int, total: int, data: dict[str, Any], now: float) -> bool:
        """Tell how far a running job has come; returns whether it is running."""

    def finish(
        self, job_id: str, state: JobState, now: float, *, message: str = "", code: str = "", report: str = ""
    ) -> bool:
        """End a job. Returns whether this call did it: a job ends once."""

    def take(self, steps: Sequence[Change]) -> list[bool]:
        """Take steps in the lives of several jobs, in order and in one trip. Returns which were possible."""

    def complete(self, completions: Sequence[Completion], now: float) -> list[bool]:
        """Keep the answers of jobs and end them as done, in one go: all of it or nothing. Returns as `finish`."""

    def leave(self, job_id: str, client: str, now: float) -> int | None:
        """A client does not want the answer of an open job any more: the job is cancelled when nobody else does.

        Returns how many others still want it; None if this client never asked for it.
        """

    def prioritise(self, job_id: str, priority: Priority, now: float) -> bool:
        """Change the class of an open job; returns whether it is open."""

    def events(self, job_id: str, after: int = 0, limit: int = 1000) -> list[Event]:
        """Events of a job with higher numbers, rising."""

    def feed(self, after: str | None, wait: float = 0.0, limit: int = 1000) -> tuple[list[Event], str]:
        """Events of all jobs since a mark, and the next mark; None: no events, only the mark of now.

        Args:
            wait: seconds to wait for the first event. Marks older than some ten thousand events miss what is between.
        """

    def put_blocks(self, blocks: Sequence[Block]) -> None:
        """Remember finished blocks; the first write of each wins."""

    def drop_result(self, key: str) -> None:
        """Forget a result, so that its question becomes a new job."""

    def lease(self, duty: str, owner: str, seconds: float) -> bool:
        """Take or renew a duty; returns whether `owner` has it now. It ends by itself unless renewed."""

    def release(self, duty: str, owner: str) -> None:
        """Give a duty back, if `owner` has it."""

    def probe(self) -> None:
        """Try to write. Raises `InfrastructureError` with the reason where that is refused."""

    def tidy(self, most: int = 500) -> int:
        """Take jobs that are forgotten out of the list of all jobs; looks at so many, the next time at the
        next ones. Returns how many they were.
        """

    def put_status(self, status: bytes) -> None:
        """Say what the farm does; forgotten after a minute."""

    def get_status(self) -> bytes | None:
        """What was said last, if it is not too old."""

    def put_batch(self, batch: str, job_ids: Sequence[str]) -> None:
        """Remember the jobs of a batch."""

    def get_batch(self, batch: str) -> list[str] | None:
        """The jobs of a batch, in its order."""


class LedgerSteps:
    """The single steps of a job's life, the same for every ledger."""

    def start(self, job_id: str, total: int, now: float) -> bool:
        """See `Ledger`."""
        return self.take([started(job_id, total, now)])[0]

    def note(self, job_id: str, done: int, total: int, data: dict[str, Any], now: float) -> bool:
        """See `Ledger`."""
        return self.take([noted(job_id, done, total, data, now)])[0]

    def finish(
        self, job_id: str, state: JobState, now: float, *, message: str = "", code: str = "", report: str = ""
    ) -> bool:
        """See `Ledger`."""
        return self.take([finished(job_id, state, now, message=message, code=code, report=report)])[0]

    def prioritise(self, job_id: str, priority: Priority, now: float) -> bool:
        """See `Ledger`."""
        return self.take([moved(job_id, priority, now)])[0]

    def take(self, steps: Sequence[Change]) -> list[bool]:
        """See `Ledger`."""
        raise NotImplementedError


def started(job_id: str, total: int, now: float) -> Change:
    """A queued job begins."""
    fields = {"state": JobState.RUNNING, "blocks_total": total}
    return Change(job_id, (JobState.QUEUED,), EventKind.STARTED, now, fields, {"total": total})


def noted(job_id: str, done: int, total: int, data: dict[str, Any], now: float) -> Change:
    """A running job has come so far."""
    fields = {"blocks_done": done, "blocks_total": total}
    return Change(job_id, (JobState.RUNNING,), EventKind.PROGRESS, now, fields, {"done": done, "total": total, **data})


def moved(job_id: str, priority: Priority, now: float) -> Change:
    """An open job comes to another class."""
    return Change(job_id, OPEN_STATES, EventKind.PRIORITY, now, {"priority": priority}, {"priority": priority.value})


def finished(
    job_id: str, state: JobState, now: float, *, message: str = "", code: str = "", report: str = ""
) -> Change:
    """A job ends."""
    fields = {"state": state, "message": message, "code": code, "report": report}
    said = {"message": message, "code": code} if message or code else {}
    return Change(job_id, OPEN_STATES, EventKind(state.value), now, fields, said)
