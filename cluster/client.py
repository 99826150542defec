"""The client of a farm's HTTP API, blocking and asynchronous, with the models of `cluster.service_models`.

Every call is safe to repeat, because the same question is the same job; so a call is tried again while the API or Redis
is away, and an event stream that breaks goes on after the last event that came.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any, TypeVar

import httpx

from cluster.client_calls import (
    TRIES,
    URL_VARIABLE,
    BatchReader,
    Call,
    Calls,
    EventReader,
    check_url,
    pause_or_give_up,
    priority_of_environment,
    raise_problem,
    read_answer,
    token_headers,
    token_of_environment,
)
from cluster.client_calls import FarmError as FarmError
from cluster.client_calls import submission as submission
from cluster.farm.status import FarmStatus
from cluster.scheduling import Priority
from cluster.schemas import Model
from cluster.service_models import (
    Accepted,
    BatchLine,
    BatchProgress,
    BatchView,
    EventView,
    JobAnswer,
    JobPage,
    JobView,
    KindView,
)
from cluster.store import JobKind, JobState
from engine.errors import InfrastructureError

_TIMEOUT = httpx.Timeout(60.0, connect=5.0)
_STREAM_TIMEOUT = httpx.Timeout(60.0, connect=5.0, read=45.0)  # the server says something every fifteen seconds
T = TypeVar("T")


class Client:
    """Blocking; use it as a context manager.

    Args:
        priority: class of what is submitted where a call names none; None: that of its kind.
        transport: replaces the network in tests.
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        transport: httpx.BaseTransport | None = None,
        priority: Priority | None = None,
    ) -> None:
        self._url, self._priority = check_url(url), priority
        self._http = httpx.Client(base_url=url, headers=token_headers(token), timeout=_TIMEOUT, transport=transport)

    @staticmethod
    def from_environment() -> Client | None:
        """The client of GAMMONFARM_URL, with the token of GAMMONFARM_TOKEN or GAMMONFARM_TOKEN_FILE and the class of
        GAMMONFARM_PRIORITY; None if not set.

        Raises:
            InputError: a URL that is none, a file that can't be read.
        """
        url = os.environ.get(URL_VARIABLE)
        return Client(url, token_of_environment(), priority=priority_of_environment()) if url else None

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End its connections."""
        self._http.close()

    def submit(
        self,
        kind: JobKind | str,
        request: Model | dict[str, Any],
        *,
        net: str = "shipped",
        priority: Priority | None = None,
    ) -> Accepted:
        """Submit a question. All methods raise `FarmError` (refused), `InputError` (a field), `InfrastructureError`."""
        return self._ask(Calls.submit(kind, request, net, priority or self._priority))

    def submit_batch(self, submissions: Sequence[dict[str, Any]]) -> BatchView:
        """Submit many; see `submission`."""
        return self._ask(Calls.batch(submissions, self._priority))

    def jobs(
        self,
        state: JobState | None = None,
        kind: JobKind | None = None,
        client: str | None = None,
        before: float | None = None,
        limit: int = 50,
    ) -> JobPage:
        """Jobs that fit, those created last first."""
        return self._ask(Calls.jobs(state, kind, client, before, limit))

    def job(self, job: str) -> JobView:
        """One job."""
        return self._ask(Calls.job(job))

    def result(self, job: str) -> JobAnswer:
        """The answer of a job that is done."""
        return self._ask(Calls.result(job))

    def book(self, job: str) -> bytes:
        """The file of an opening book, as far as it is there."""
        return self._ask(Calls.book(job))

    def cancel(self, job: str) -> JobView:
        """End a job."""
        return self._ask(Calls.cancel(job))

    def extend(self, job: str, **changes: int) -> Accepted:
        """The same question with more `trials` (of a book also `entries`) or a higher `level`."""
        return self._ask(Calls.extend(job, changes))

    def prioritise(self, job: str, priority: Priority) -> JobView:
        """Change a job's class."""
        return self._ask(Calls.prioritise(job, priority))

    def batch(self, batch: str) -> BatchProgress:
        """How far a batch is."""
        return self._ask(Calls.batch_progress(batch))

    def status(self) -> FarmStatus:
        """Workers, queue, rates."""
        return self._ask(Calls.status)

    def kinds(self) -> list[KindView]:
        """Kinds of jobs."""
        return self._ask(Calls.kinds)

    def events(self, job: str, after: int = 0) -> Iterator[EventView]:
        """A job's events up to the final one; goes on by itself when the connection breaks."""
        reader = EventReader(job, after)
        while not reader.ended:
            try:
                with self._http.stream("GET", reader.path, headers=reader.headers(), timeout=_STREAM_TIMEOUT) as answer:
                    if answer.status_code != 200:
                        answer.read()
                        raise_problem(answer)
                    for line in answer.iter_lines():
                        event = reader.take(line)
                        if event is not None:
                            yield event
                if not reader.ended:
                    time.sleep(reader.closed(self.job(job)))
            except (httpx.TransportError, InfrastructureError) as error:
                time.sleep(reader.pause(error, self._url))

    def wait(self, job: str) -> JobAnswer:
        """The answer, once it is there. Raises `FarmError` when the job fails or is cancelled."""
        for _ in self.events(job):
            pass
        return self.result(job)

    def batch_results(self, batch: str) -> Iterator[BatchLine]:
        """Answers of a batch as they come, each once; goes on by itself when the connection breaks."""
        reader = BatchReader(batch)
        while not reader.ended:
            try:
                with self._http.stream("GET", reader.path, timeout=_STREAM_TIMEOUT) as answer:
                    if answer.status_code != 200:
                        answer.read()
                        raise_problem(answer)
                    for line in answer.iter_lines():
                        found = reader.take(line)
                        if found is not None:
                            yield found
                    reader.ended = True
            except (httpx.TransportError, InfrastructureError) as error:
                time.sleep(reader.pause(error, self._url))

    def _ask(self, call: Call[T]) -> T:
        failures = 0
        while True:
            try:
                answer = self._http.request(call.method, call.path, json=call.body, params=call.query)
                return read_answer(call, answer)
            except (httpx.TransportError, InfrastructureError) as error:
                failures += 1
                time.sleep(pause_or_give_up(failures, TRIES, error, self._url))


class AsyncClient:
    """The same for asyncio."""

    def __init__(
        self,
        url: str,
        token: str | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
        priority: Priority | None = None,
    ) -> None:
        self._url, self._priority = check_url(url), priority
        self._http = httpx.AsyncClient(
            base_url=url, headers=token_headers(token), timeout=_TIMEOUT, transport=transport
        )

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.aclose()

    async def submit(
        self,
        kind: JobKind | str,
        request: Model | dict[str, Any],
        *,
        net: str = "shipped",
        priority: Priority | None = None,
    ) -> Accepted:
        """See `Client`."""
        return await self._ask(Calls.submit(kind, request, net, priority or self._priority))

    async def submit_batch(self, submissions: Sequence[dict[str, Any]]) -> BatchView:
        """See `Client`."""
        return await self._ask(Calls.batch(submissions, self._priority))

    async def jobs(
        self,
        state: JobState | None = None,
        kind: JobKind | None = None,
        client: str | None = None,
        before: float | None = None,
        limit: int = 50,
    ) -> JobPage:
        """See `Client`."""
        return await self._ask(Calls.jobs(state, kind, client, before, limit))

    async def job(self, job: str) -> JobView:
        """See `Client`."""
        return await self._ask(Calls.job(job))

    async def result(self, job: str) -> JobAnswer:
        """See `Client`."""
        return await self._ask(Calls.result(job))

    async def book(self, job: str) -> bytes:
        """See `Client`."""
        return await self._ask(Calls.book(job))

    async def cancel(self, job: str) -> JobView:
        """See `Client`."""
        return await self._ask(Calls.cancel(job))

    async def extend(self, job: str, **changes: int) -> Accepted:
        """See `Client`."""
        return await self._ask(Calls.extend(job, changes))

    async def prioritise(self, job: str, priority: Priority) -> JobView:
        """See `Client`."""
        return await self._ask(Calls.prioritise(job, priority))

    async def batch(self, batch: str) -> BatchProgress:
        """See `Client`."""
        return await self._ask(Calls.batch_progress(batch))

    async def status(self) -> FarmStatus:
        """See `Client`."""
        return await self._ask(Calls.status)

    async def kinds(self) -> list[KindView]:
        """See `Client`."""
        return await self._ask(Calls.kinds)

    async def events(self, job: str, after: int = 0) -> AsyncIterator[EventView]:
        """See `Client`."""
        reader = EventReader(job, after)
        while not reader.ended:
            try:
                async with self._http.stream(
                    "GET", reader.path, headers=reader.headers(), timeout=_STREAM_TIMEOUT
                ) as answer:
                    if answer.status_code != 200:
                        await answer.aread()
                        raise_problem(answer)
                    async for line in answer.aiter_lines():
                        event = reader.take(line)
                        if event is not None:
                            yield event
                if not reader.ended:
                    await asyncio.sleep(reader.closed(await self.job(job)))
            except (httpx.TransportError, InfrastructureError) as error:
                await asyncio.sleep(reader.pause(error, self._url))

    async def wait(self, job: str) -> JobAnswer:
        """See `Client`."""
        async for _ in self.events(job):
            pass
        return await self.result(job)

    async def batch_results(self, batch: str) -> AsyncIterator[BatchLine]:
        """See `Client`."""
        reader = BatchReader(batch)
        while not reader.ended:
            try:
                async with self._http.stream("GET", reader.path, timeout=_STREAM_TIMEOUT) as answer:
                    if answer.status_code != 200:
                        await answer.aread()
                        raise_problem(answer)
                    async for line in answer.aiter_lines():
                        found = reader.take(line)
                        if found is not None:
                            yield found
                    reader.ended = True
            except (httpx.TransportError, InfrastructureError) as error:
                await asyncio.sleep(reader.pause(error, self._url))

    async def _ask(self, call: Call[T]) -> T:
        failures = 0
        while True:
            try:
                answer = await self._http.request(call.method, call.path, json=call.body, params=call.query)
                return read_answer(call, answer)
            except (httpx.TransportError, InfrastructureError) as error:
                failures += 1
                await asyncio.sleep(pause_or_give_up(failures, TRIES, error, self._url))
