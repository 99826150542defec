"""The `Store` on a Redis-protocol server (Redis 7.0 or later, Valkey). The only module that imports redis.

One retry policy for everything: a few tries with exponential back-off, short enough that a URL where nobody answers
fails within about two seconds. Every write is idempotent: a try that was carried out but whose answer was lost does no
harm.
"""

from __future__ import annotations

import dataclasses
import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, TypeVar

import redis
from redis.backoff import ExponentialWithJitterBackoff
from redis.retry import Retry

from cluster import keys
from cluster.embedded_redis import EmbeddedRedis
from cluster.keys import VALUES
from cluster.payload import CorruptPayloadError, seal, unseal
from cluster.scheduling import Priority
from cluster.settings import Settings, without_password
from cluster.store import JobKind, JobRecord, JobState, TrialRange
from engine.errors import InfrastructureError, InternalError

log = logging.getLogger(__name__)

R = TypeVar("R")

_CONNECT_TIMEOUT = 2.0
_ANSWER_TIMEOUT = 5.0
_RETRIES = 2
_JOBS_PER_PAGE = 100
_VALUES_AT_ONCE = 1000
_MOST_SKEW = 5.0


class RedisStore:
    """See `Store`. Making one connects to nothing; the first call does.

    Args:
        trouble: asked when the server is away: what explains it, "" when that is not known.
    """

    def __init__(self, url: str, trouble: Callable[[], str] = lambda: "") -> None:
        self._trouble = trouble
        self._name = without_password(url)
        try:
            self._client: Any = redis.Redis.from_url(
                url,
                socket_connect_timeout=_CONNECT_TIMEOUT,
                socket_timeout=_ANSWER_TIMEOUT,
                # A lost or refused connection is worth another try at once; a time-out has already waited long enough.
                retry=Retry(ExponentialWithJitterBackoff(base=0.1, cap=0.5), _RETRIES, (redis.ConnectionError,)),
                health_check_interval=30,
            )
        except (ValueError, redis.RedisError) as error:
            raise self._away(error) from error

    def get_result(self, key: str) -> bytes | None:
        """See `Store`."""
        name = keys.RESULT.key(key)
        stored = self._call(lambda: self._client.getex(name, ex=keys.RESULT.ttl))
        if stored is None:
            return None
        try:
            return unseal(stored)
        except CorruptPayloadError as error:
            log.warning("result %s dropped: %s", key, error)
            self._call(lambda: self._client.delete(name))
            return None

    def put_result(self, key: str, payload: bytes) -> None:
        """See `Store`."""
        self._call(lambda: self._client.set(keys.RESULT.key(key), seal(payload), ex=keys.RESULT.ttl))

    def blocks(self, series: str) -> dict[TrialRange, bytes]:
        """See `Store`."""
        name = keys.SERIES.key(series)

        def read() -> Any:
            with self._client.pipeline(transaction=True) as pipe:
                pipe.hgetall(name)
                pipe.expire(name, keys.SERIES.ttl)
                return pipe.execute()[0]

        found: dict[TrialRange, bytes] = {}
        for field, stored in self._call(read).items():
            try:
                found[_range_of(field)] = unseal(stored)
            except CorruptPayloadError as error:
                log.warning("block %r of series %s dropped: %s", field, series, error)
                self._call(lambda field=field: self._client.hdel(name, field))  # type: ignore[misc]
        return dict(sorted(found.items()))

    def put_block(self, series: str, trials: TrialRange, payload: bytes) -> bool:
        """See `Store`."""
        name = keys.SERIES.key(series)

        def write() -> Any:
            with self._client.pipeline(transaction=True) as pipe:
                pipe.hsetnx(name, field_of(trials), seal(payload))
                pipe.expire(name, keys.SERIES.ttl)
                return pipe.execute()[0]

        return bool(self._call(write))

    def get_values(self, keys: Sequence[str]) -> list[bytes | None]:
        """See `Store`."""
        found: list[bytes | None] = []
        for first in range(0, len(keys), _VALUES_AT_ONCE):
            names = [VALUES.key(key) for key in keys[first : first + _VALUES_AT_ONCE]]

            def read(names: Sequence[str] = names) -> Any:
                with self._client.pipeline(transaction=False) as pipe:
                    for name in names:
                        pipe.getex(name, ex=VALUES.ttl)
                    return pipe.execute()

            for name, stored in zip(names, self._call(read), strict=True):
                try:
                    found.append(None if stored is None else unseal(stored))
                except CorruptPayloadError as error:
                    log.warning("%s dropped: %s", name, error)
                    self._call(lambda name=name: self._client.delete(name))  # type: ignore[misc]
                    found.append(None)
        return found

    def put_values(self, values: Mapping[str, bytes]) -> None:
        """See `Store`."""

        def write() -> Any:
            with self._client.pipeline(transaction=False) as pipe:
                for key, payload in values.items():
                    pipe.set(VALUES.key(key), seal(payload), ex=VALUES.ttl)
                return pipe.execute()

        self._call(write)

    def put_job(self, job: JobRecord) -> None:
        """See `Store`."""
        fields = {field: str(value) for field, value in dataclasses.asdict(job).items()}

        def write() -> Any:
            with self._client.pipeline(transaction=True) as pipe:
                pipe.hset(keys.JOB.key(job.id), mapping=fields)
                pipe.zadd(keys.JOB_INDEX.key(), {job.id: job.created})
                return pipe.execute()

        self._call(write)

    def get_job(self, job_id: str) -> JobRecord | None:
        """See `Store`."""
        return job_of(self._call(lambda: self._client.hgetall(keys.JOB.key(job_id))))

    def list_jobs(self, limit: int = 100) -> list[JobRecord]:
        """See `Store`."""
        found: list[JobRecord] = []
        start = 0
        while len(found) < limit:
            page = self._call(lambda start=start: self._job_page(start))  # type: ignore[misc]
            if not page:
                break
            found.extend(job for job in map(job_of, page) if job is not None)
            start += _JOBS_PER_PAGE
        return found[: max(limit, 0)]

    def ping(self) -> str:
        """See `Store`."""
        info = self._call(lambda: self._client.info("server"))
        if "valkey_version" in info:
            return f"valkey {info['valkey_version']}"
        return f"redis {info.get('redis_version', 'unknown')}"

    def risks(self) -> list[str]:
        """What about the server's settings could lose jobs, or tell the time of their events wrong."""
        info = self._call(self._client.info)
        found = []
        policy = str(info.get("maxmemory_policy", "noeviction"))
        if policy != "noeviction" and int(info.get("maxmemory", 0)):
            found.append(f"it forgets keys when memory is full (maxmemory-policy {policy}; set noeviction)")
        if not int(info.get("aof_enabled", 1)):
            found.append("it keeps its data in memory only (set appendonly yes)")
        if str(info.get("aof_last_write_status", "ok")) != "ok":
            found.append("it could not write its file (is the disk full?)")
        seconds, _ = self._call(self._client.time)
        skew = time.time() - float(seconds)
        if abs(skew) > _MOST_SKEW:
            found.append(f"its clock is {abs(skew):.0f} s {'behind' if skew > 0 else 'ahead of'} ours")
        return found

    def close(self) -> None:
        """See `Store`."""
        self._client.close()

    def _job_page(self, start: int) -> list[dict[bytes, bytes]]:
        ids = self._client.zrange(keys.JOB_INDEX.key(), start, start + _JOBS_PER_PAGE - 1, desc=True)
        with self._client.pipeline(transaction=False) as pipe:
            for job_id in ids:
                pipe.hgetall(keys.JOB.key(job_id.decode()))
            return list(pipe.execute())

    def _call(self, command: Callable[[], R]) -> R:
        try:
            return command()
        except (redis.RedisError, OSError) as error:
            raise self._away(error) from error

    def _away(self, error: Exception) -> InfrastructureError:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        trouble = self._trouble()
        return InfrastructureError(f"redis at {self._name}: {trouble or reason}")


@contextmanager
def open_store(settings: Settings) -> Iterator[RedisStore]:
    """The configured store, checked to answer; with no URL configured on the embedded server, which it starts.

    Raises `InfrastructureError` when the server can't be reached or started.
    """
    with ExitStack() as stack:
        url = settings.redis_url or stack.enter_context(EmbeddedRedis(settings.home)).url
        store = RedisStore(url)
        stack.callback(store.close)
        store.ping()
        yield store


def field_of(trials: TrialRange) -> str:
    return f"{trials.first}:{trials.count}"


def _range_of(field: bytes) -> TrialRange:
    first, _, count = field.partition(b":")
    try:
        return TrialRange(int(first), int(count))
    except (ValueError, InternalError) as error:
        raise CorruptPayloadError(f"{field!r} is no trial range") from error


def job_of(fields: dict[bytes, bytes]) -> JobRecord | None:
    """The record in a hash; None if the hash is missing or holds no job that this version understands."""
    if not fields:
        return None
    text = {field.decode(): value.decode() for field, value in fields.items()}
    try:
        return JobRecord(
            id=text["id"],
            kind=JobKind(text["kind"]),
            state=JobState(text["state"]),
            request=text["request"],
            created=float(text["created"]),
            updated=float(text["updated"]),
            message=text.get("message", ""),
            blocks_done=int(text.get("blocks_done", 0)),
            blocks_total=int(text.get("blocks_total", 0)),
            owner=text.get("owner", ""),
            key=text.get("key", ""),
            client=text.get("client", ""),
            priority=Priority(text.get("priority", Priority.NORMAL)),
            order=int(text.get("order", 0)),
            events=int(text.get("events", 0)),
            code=text.get("code", ""),
            report=text.get("report", ""),
        )
    except (KeyError, ValueError) as error:
        log.warning("job %s ignored: %s", text.get("id", "without id"), error)
        return None
