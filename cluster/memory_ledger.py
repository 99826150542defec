"""The `Ledger` in memory: for tests and simulations, where it is the plain description of what the Redis one does."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from cluster.ledger import (
    Block,
    Change,
    Completion,
    Event,
    EventKind,
    JobQuery,
    JobsFound,
    LedgerSteps,
    Submission,
    Submitted,
    noted,
)
from cluster.store import JobRecord, JobState, MemoryStore

_FEED = 20_000
_FEW = 1_000
_STATUS_SECONDS = 60.0


class MemoryLedger(LedgerSteps, MemoryStore):
    """See `Ledger`; safe to use from several threads.

    Args:
        forget: keep no blocks, no results, jobs only while they are open and few events: as if all that were on a
            server, so that the memory of a simulation is that of the coordinator.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic, *, forget: bool = False) -> None:
        super().__init__()
        self._clock = clock
        self._forgetful = forget
        self._changed = threading.Condition(threading.RLock())
        self._questions: dict[str, tuple[str, int]] = {}
        self._open: dict[str, int] = {}
        self._order = 0
        self._events: dict[str, list[Event]] = {}
        self._feed: list[Event] = []
        self._feed_start = 0
        self._feed_kept = _FEW if forget else _FEED
        self._leases: dict[str, tuple[str, float]] = {}
        self._status: tuple[bytes, float] | None = None
        self._batches: dict[str, list[str]] = {}
        self._askers: dict[str, set[str]] = {}

    def submit(self, submissions: Sequence[Submission], now: float) -> list[Submitted]:
        """See `Ledger`."""
        with self._changed:
            return [self._submit(submission, now + i * 1e-6) for i, submission in enumerate(submissions)]

    def _submit(self, submission: Submission, now: float) -> Submitted:
        latest, number = self._questions.get(submission.key, ("", 0))
        job = self._jobs.get(latest)
        if job is not None and (
            not job.state.is_final or (job.state is JobState.DONE and submission.key in self._results)
        ):
            self._askers[latest].add(submission.client)
            return Submitted(latest, created=False, record=job)
        number += 1
        name = submission.key if number == 1 else f"{submission.key}-{number}"
        self._questions[submission.key] = (name, number)
        self._order += 1
        self._jobs[name] = JobRecord(
            id=name,
            kind=submission.kind,
            state=JobState.QUEUED,
            request=submission.request,
            created=now,
            updated=now,
            owner="farm",
            key=submission.key,
            client=submission.client,
            priority=submission.priority,
            order=self._order,
        )
        self._open[name] = self._order
        self._askers[name] = {submission.client}
        self._event(name, EventKind.QUEUED, now, {"priority": submission.priority.value, "client": submission.client})
        return Submitted(name, created=True, record=self._jobs[name])

    def open_ids(self) -> list[str]:
        """See `Ledger`."""
        with self._changed:
            return sorted(self._open, key=lambda job: self._open[job])

    def get_jobs(self, job_ids: Sequence[str]) -> list[JobRecord | None]:
        """See `Ledger`."""
        return [self._jobs.get(job_id) for job_id in job_ids]

    def get_states(self, job_ids: Sequence[str]) -> list[JobState | None]:
        """See `Ledger`."""
        return [None if job is None else job.state for job in self.get_jobs(job_ids)]

    def find_jobs(self, query: JobQuery) -> JobsFound:
        """See `Ledger`."""
        with self._changed:
            jobs = sorted(self._jobs.values(), key=lambda job: (job.created, job.id), reverse=True)
        found = [job for job in jobs if query.fits(job)]
        return JobsFound(found[: query.limit], found[query.limit - 1].created if len(found) >= query.limit else None)

    def leave(self, job_id: str, client: str, now: float) -> int | None:
        """See `Ledger`."""
        with self._changed:
            askers = self._askers.get(job_id, set())
            if askers and client not in askers:
                return None
            if self._jobs[job_id].state.is_final:
                return max(len(askers) - 1, 0)
            askers.discard(client)
            if not askers:
                self.finish(job_id, JobState.CANCELLED, now, message=f"by {client}", code="cancelled")
            return len(askers)

    def complete(self, completions: Sequence[Completion], now: float) -> list[bool]:
        """See `Ledger`."""
        with self._changed:
            return [self._complete(completion, now) for completion in completions]

    def _complete(self, done: Completion, now: float) -> bool:
        self.put_result(done.key, done.answer)
        self._take(noted(done.job, done.done, done.total, done.data, now))
        return self.finish(done.job, JobState.DONE, now, report=done.report)

    def take(self, steps: Sequence[Change]) -> list[bool]:
        """See `Ledger`."""
        with self._changed:
            return [self._take(step) for step in steps]

    def _take(self, step: Change) -> bool:
        job = self._jobs.get(step.job)
        if job is None or job.state not in step.states:
            return False
        self._jobs[job.id] = replace(job, updated=step.now, **step.fields)
        if step.kind.is_final:
            self._open.pop(job.id, None)
        self._event(job.id, step.kind, step.now, step.said)
        if step.kind.is_final and self._forgetful:
            self._forget(job.id)
        return True

    def _forget(self, job_id: str) -> None:
        self._questions.pop(self._jobs.pop(job_id).key, None)
        for held in (self._events, self._askers):
            held.pop(job_id, None)

    def _event(self, job_id: str, kind: EventKind, now: float, data: dict[str, Any]) -> None:
        job = self._jobs[job_id]
        self._jobs[job_id] = replace(job, events=job.events + 1)
        event = Event(job_id, job.events + 1, kind, now, data)
        self._events.setdefault(job_id, []).append(event)
        self._feed.append(event)
        if len(self._feed) > 2 * self._feed_kept:
            self._feed_start += len(self._feed) - self._feed_kept
            del self._feed[: -self._feed_kept]
        self._changed.notify_all()

    def events(self, job_id: str, after: int = 0, limit: int = 1000) -> list[Event]:
        """See `Ledger`."""
        with self._changed:
            return [event for event in self._events.get(job_id, []) if event.number > after][:limit]

    def feed(self, after: str | None, wait: float = 0.0, limit: int = 1000) -> tuple[list[Event], str]:
        """See `Ledger`."""
        with self._changed:
            if after is None:
                return [], str(self._feed_start + len(self._feed))
            at = max(int(after) - self._feed_start, 0)
            if wait > 0:
                self._changed.wait_for(lambda: len(self._feed) > at, wait)
            found = self._feed[at : at + limit]
            return found, str(self._feed_start + at + len(found))

    def put_blocks(self, blocks: Sequence[Block]) -> None:
        """See `Ledger`."""
        if not self._forgetful:
            for block in blocks:
                self.put_block(*block)

    def put_result(self, key: str, payload: bytes) -> None:
        """See `Store`."""
        if not self._forgetful:
            super().put_result(key, payload)

    def drop_result(self, key: str) -> None:
        """See `Ledger`."""
        self._results.pop(key, None)

    def lease(self, duty: str, owner: str, seconds: float) -> bool:
        """See `Ledger`."""
        with self._changed:
            holder, ends = self._leases.get(duty, ("", 0.0))
            if holder != owner and ends > self._clock():
                return False
            self._leases[duty] = (owner, self._clock() + seconds)
            return True

    def release(self, duty: str, owner: str) -> None:
        """See `Ledger`."""
        with self._changed:
            if self._leases.get(duty, ("", 0.0))[0] == owner:
                del self._leases[duty]

    def probe(self) -> None:
        """See `Ledger`."""

    def tidy(self, most: int = 500) -> int:
        """See `Ledger`: nothing is forgotten here."""
        return 0

    def put_status(self, status: bytes) -> None:
        """See `Ledger`."""
        self._status = (status, self._clock() + _STATUS_SECONDS)

    def get_status(self) -> bytes | None:
        """See `Ledger`."""
        return self._status[0] if self._status and self._status[1] > self._clock() else None

    def put_batch(self, batch: str, job_ids: Sequence[str]) -> None:
        """See `Ledger`."""
        self._batches[batch] = list(job_ids)

    def get_batch(self, batch: str) -> list[str] | None:
        """See `Ledger`."""
        return self._batches.get(batch)
