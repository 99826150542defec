"""The `Ledger` on a Redis-protocol server: every step of a job is one script, so that it happens whole or not at all.

A script that ran but whose answer was lost is run again: submitting and ending are harmless twice, a repeated progress
event is only one more.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from cluster import keys, redis_scripts
from cluster.embedded_redis import EmbeddedRedis
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
    finished,
    noted,
)
from cluster.payload import seal
from cluster.redis_store import RedisStore, field_of, job_of
from cluster.settings import Settings
from cluster.store import JobRecord, JobState
from engine.errors import InfrastructureError

log = logging.getLogger(__name__)

_FEED = 20_000
_EVENTS = 2_000
_PAGE = 200
_MOST_PAGES = 50
_LOOK_SECONDS = 1.0


class RedisLedger(LedgerSteps, RedisStore):
    """See `Ledger`."""

    def __init__(self, url: str, trouble: Callable[[], str] = lambda: "") -> None:
        super().__init__(url, trouble)
        self._tidied = 0
        self._submit = self._client.register_script(redis_scripts.SUBMIT)
        self._step = self._client.register_script(redis_scripts.STEP)
        self._lease = self._client.register_script(redis_scripts.LEASE)
        self._leave = self._client.register_script(redis_scripts.LEAVE)

    def submit(self, submissions: Sequence[Submission], now: float) -> list[Submitted]:
        """See `Ledger`."""

        def write() -> Any:
            if len(submissions) == 1:
                return [self._submit(*_submission(submissions[0], now))]
            with self._client.pipeline(transaction=False) as pipe:
                for i, submission in enumerate(submissions):
                    names, values = _submission(submission, now + i * 1e-6)
                    self._submit(names, values, client=pipe)
                return pipe.execute()

        return [
            Submitted(job.decode(), bool(created), job_of(dict(zip(fields[::2], fields[1::2], strict=True))))
            for job, created, fields in self._call(write)
        ]

    def open_ids(self) -> list[str]:
        """See `Ledger`."""
        return [job.decode() for job in self._call(lambda: self._client.zrange(keys.OPEN.key(), 0, -1))]

    def get_jobs(self, job_ids: Sequence[str]) -> list[JobRecord | None]:
        """See `Ledger`."""

        def read() -> Any:
            with self._client.pipeline(transaction=False) as pipe:
                for job_id in job_ids:
                    pipe.hgetall(keys.JOB.key(job_id))
                return pipe.execute()

        return [job_of(fields) for fields in self._call(read)]

    def get_states(self, job_ids: Sequence[str]) -> list[JobState | None]:
        """See `Ledger`."""

        def read() -> Any:
            with self._client.pipeline(transaction=False) as pipe:
                for job_id in job_ids:
                    pipe.hget(keys.JOB.key(job_id), "state")
                return pipe.execute()

        return [None if state is None else JobState(state.decode()) for state in self._call(read)]

    def find_jobs(self, query: JobQuery) -> JobsFound:
        """See `Ledger`."""
        found: list[JobRecord] = []
        before = query.before
        for _ in range(_MOST_PAGES):
            highest = "+inf" if before is None else f"({before!r}"
            page = self._call(
                lambda highest=highest: self._client.zrevrangebyscore(  # type: ignore[misc]
                    keys.JOB_INDEX.key(), highest, "-inf", start=0, num=_PAGE, withscores=True
                )
            )
            ids = [job.decode() for job, _ in page]
            jobs = self.get_jobs(self._fitting(query, ids) if query.filters else ids)
            found.extend(job for job in jobs if job is not None and query.fits(job))
            if len(found) >= query.limit:
                return JobsFound(found[: query.limit], found[query.limit - 1].created)
            if len(page) < _PAGE:
                return JobsFound(found, None)
            before = float(page[-1][1])
        return JobsFound(found, before)

    def _fitting(self, query: JobQuery, job_ids: Sequence[str]) -> list[str]:
        """Those that may fit, by three short fields: a whole job can be as long as a match."""

        def read() -> Any:
            with self._client.pipeline(transaction=False) as pipe:
                for job_id in job_ids:
                    pipe.hmget(keys.JOB.key(job_id), "state", "kind", "client")
                return pipe.execute()

        wanted = [None if one is None else one.encode() for one in (query.state, query.kind, query.client)]
        return [
            job_id
            for job_id, fields in zip(job_ids, self._call(read), strict=True)
            if all(want in (None, field) for want, field in zip(wanted, fields, strict=True))
        ]

    def leave(self, job_id: str, client: str, now: float) -> int | None:
        """See `Ledger`."""
        names = [keys.JOB.key(job_id), keys.ASKERS.key(job_id)]
        others = int(self._call(lambda: self._leave(names, [client])))
        if others == 0:
            end = finished(job_id, JobState.CANCELLED, now, message=f"by {client}", code="cancelled")
            self._call(lambda: self._step(*_step(end, unasked=True)))
        return None if others < 0 else others

    def complete(self, completions: Sequence[Completion], now: float) -> list[bool]:
        """See `Ledger`."""

        def write() -> Any:
            # A transaction: a server that refuses the answer must not take the end.
            with self._client.pipeline(transaction=True) as pipe:
                for done in completions:
                    pipe.set(keys.RESULT.key(done.key), seal(done.answer), ex=keys.RESULT.ttl)
                    self._step(*_step(noted(done.job, done.done, done.total, done.data, now)), client=pipe)
                    self._step(*_step(finished(done.job, JobState.DONE, now, report=done.report)), client=pipe)
                return pipe.execute()[2::3]

        return [bool(number) for number in self._call(write)] if completions else []

    def take(self, steps: Sequence[Change]) -> list[bool]:
        """See `Ledger`."""

        def write() -> Any:
            if len(steps) == 1:
                return [self._step(*_step(steps[0]))]
            with self._client.pipeline(transaction=False) as pipe:
                for step in steps:
                    self._step(*_step(step), client=pipe)
                return pipe.execute()

        return [bool(number) for number in self._call(write)] if steps else []

    def events(self, job_id: str, after: int = 0, limit: int = 1000) -> list[Event]:
        """See `Ledger`."""
        name = keys.EVENTS.key(job_id)
        rows = self._call(lambda: self._client.xrange(name, min=f"{after + 1}-0", count=limit))
        return [_event(job_id, int(number.partition(b"-")[0]), fields) for number, fields in rows]

    def feed(self, after: str | None, wait: float = 0.0, limit: int = 1000) -> tuple[list[Event], str]:
        """See `Ledger`."""
        name = keys.FEED.key()
        if after is None:
            last = self._call(lambda: self._client.xrevrange(name, count=1))
            return [], last[0][0].decode() if last else "0-0"
        if wait > 0:  # only wakes us: its answer has another shape in either version of the protocol
            self._call(lambda: self._client.xread({name: after}, count=1, block=max(round(wait * 1000), 1)))
        rows = self._call(lambda: self._client.xrange(name, min=f"({after}", count=limit))
        events = [_event(fields[b"job"].decode(), int(fields[b"number"]), fields) for _, fields in rows]
        return events, rows[-1][0].decode() if rows else after

    def put_blocks(self, blocks: Sequence[Block]) -> None:
        """See `Ledger`."""

        def write() -> None:
            with self._client.pipeline(transaction=False) as pipe:
                for series, trials, payload in blocks:
                    pipe.hsetnx(keys.SERIES.key(series), field_of(trials), seal(payload))
                for series in {series for series, _, _ in blocks}:
                    pipe.expire(keys.SERIES.key(series), keys.SERIES.ttl)
                pipe.execute()

        if blocks:
            self._call(write)

    def drop_result(self, key: str) -> None:
        """See `Ledger`."""
        self._call(lambda: self._client.delete(keys.RESULT.key(key)))

    def lease(self, duty: str, owner: str, seconds: float) -> bool:
        """See `Ledger`."""
        return bool(self._call(lambda: self._lease([keys.LEASE.key(duty)], [owner, max(round(seconds * 1000), 1)])))

    def release(self, duty: str, owner: str) -> None:
        """See `Ledger`."""
        self._call(lambda: self._lease([keys.LEASE.key(duty)], [owner, 0]))

    def probe(self) -> None:
        """See `Ledger`."""
        self._call(lambda: self._client.set(keys.PROBE.key(), b"", ex=keys.PROBE.ttl))

    def tidy(self, most: int = 500) -> int:
        """See `Ledger`."""
        index, first = keys.JOB_INDEX.key(), self._tidied

        def look() -> tuple[int, list[bytes]]:
            ids = self._client.zrange(index, first, first + most - 1)
            with self._client.pipeline(transaction=False) as pipe:
                for job in ids:
                    pipe.exists(keys.JOB.key(job.decode()))
                return len(ids), [job for job, there in zip(ids, pipe.execute(), strict=True) if not there]

        looked_at, gone = self._call(look)
        if gone:
            self._call(lambda: self._client.zrem(index, *gone))
        self._tidied = first + looked_at - len(gone) if looked_at == most else 0
        return len(gone)

    def put_status(self, status: bytes) -> None:
        """See `Ledger`."""
        self._call(lambda: self._client.set(keys.STATUS.key(), status, ex=keys.STATUS.ttl))

    def get_status(self) -> bytes | None:
        """See `Ledger`."""
        status: bytes | None = self._call(lambda: self._client.get(keys.STATUS.key()))
        return status

    def put_batch(self, batch: str, job_ids: Sequence[str]) -> None:
        """See `Ledger`."""
        name = keys.BATCH.key(batch)

        def write() -> None:
            with self._client.pipeline(transaction=True) as pipe:
                pipe.delete(name)
                pipe.rpush(name, *job_ids)
                pipe.expire(name, keys.BATCH.ttl)
                pipe.execute()

        self._call(write)

    def get_batch(self, batch: str) -> list[str] | None:
        """See `Ledger`."""
        found = self._call(lambda: self._client.lrange(keys.BATCH.key(batch), 0, -1))
        return [job.decode() for job in found] or None


def _submission(s: Submission, now: float) -> tuple[list[str], list[Any]]:
    names = [keys.QUESTION.key(s.key), keys.RESULT.key(s.key), keys.ORDER.key(), keys.JOB_INDEX.key(), keys.OPEN.key()]
    values: list[Any] = [s.key, repr(now), s.kind.value, s.request, s.client, s.priority.value]
    values += [keys.JOB.key(), keys.EVENTS.key(), keys.ASKERS.key(), keys.CACHE_TTL, _FEED]
    return [*names, keys.FEED.key()], values


def _step(change: Change, *, unasked: bool = False) -> tuple[list[str], list[Any]]:
    names = [keys.JOB.key(change.job), keys.EVENTS.key(change.job), keys.OPEN.key(), keys.FEED.key()]
    names.append(keys.ASKERS.key(change.job))
    values: list[Any] = [change.job, repr(change.now), change.kind.value, json.dumps(change.said)]
    values += [int(change.kind.is_final), keys.CACHE_TTL, _EVENTS, _FEED, int(unasked)]
    values += [len(change.states), *(state.value for state in change.states)]
    return names, values + [part for item in change.fields.items() for part in item]


def _event(job: str, number: int, fields: dict[bytes, bytes]) -> Event:
    kind = EventKind(fields[b"kind"].decode())
    return Event(job, number, kind, float(fields[b"time"]), json.loads(fields[b"data"]))


@contextmanager
def open_ledger(settings: Settings) -> Iterator[RedisLedger]:
    """The configured ledger, checked to answer; see `cluster.redis_store.open_store`. An embedded server is started
    again when it dies.
    """
    with ExitStack() as stack:
        if settings.redis_url is None:
            server = stack.enter_context(EmbeddedRedis(settings.home, safe=True))
            stack.enter_context(_kept_alive(server))
            ledger = RedisLedger(server.url, server.trouble)
        else:
            ledger = RedisLedger(settings.redis_url)
        stack.callback(ledger.close)
        ledger.ping()
        yield ledger


@contextmanager
def _kept_alive(server: EmbeddedRedis) -> Iterator[None]:
    stop = threading.Event()

    def watch() -> None:
        while not stop.wait(_LOOK_SECONDS):
            try:
                if server.revive():
                    log.warning("the embedded redis server had died and was started again")
            except InfrastructureError as error:
                log.warning("%s", error)

    thread = threading.Thread(target=watch, name="embedded redis", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
