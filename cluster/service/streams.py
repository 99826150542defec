"""Events as they happen: one reader of the ledger's feed wakes all the streams that wait for a job."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

from starlette.concurrency import run_in_threadpool

from cluster.ledger import Event, Ledger
from cluster.service.problems import ProblemError
from cluster.service_models import event_view
from engine.errors import InfrastructureError

log = logging.getLogger(__name__)

_HEARTBEAT = 15.0
_WAIT = 1.0
_GATHER = 0.01
_READS = 4
_TEXTS = 2_000
_BURST = 16
_BREATH = 0.004


class Watch:
    """What one stream waits for."""

    def __init__(self) -> None:
        self._told: list[Event] = []
        self._waiter: asyncio.Future[None] | None = None

    def tell(self, events: Iterable[Event]) -> None:
        """These have happened."""
        self._told.extend(events)
        self.wake()

    async def next(self, seconds: float) -> list[Event]:
        """The next events: all that have come; [] when none came in time, or the streams end."""
        if not self._told:
            loop = asyncio.get_running_loop()
            self._waiter = loop.create_future()
            timer = loop.call_later(seconds, self.wake)
            try:
                await self._waiter
            finally:
                timer.cancel()
                self._waiter = None
        told, self._told = self._told, []
        return told

    def wake(self) -> None:
        """End the wait."""
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


class Hub:
    """The reader of the feed. `open` counts the streams of this process."""

    def __init__(self, ledger: Ledger, most: int) -> None:
        self._ledger, self._most = ledger, most
        self._watches: dict[str, dict[Watch, None]] = {}
        self._stop = threading.Event()
        self._news: asyncio.Queue[dict[str, list[Event]]] = asyncio.Queue()
        self._pump: asyncio.Task[None] | None = None
        self._looks: dict[tuple[str, int], asyncio.Task[list[Event] | None]] = {}
        self._reading = asyncio.Semaphore(_READS)
        self._quiet: dict[str, tuple[int, float]] = {}
        self.open = 0
        self.ending = False
        self._loop: asyncio.AbstractEventLoop | None = None

    def start(self) -> None:
        """Begin to read; inside the loop in which the streams are."""
        loop = self._loop = asyncio.get_running_loop()
        self._news = asyncio.Queue()
        self._pump = loop.create_task(self._tell())
        threading.Thread(target=self._read, args=(loop,), name="feed", daemon=True).start()

    def end_streams(self) -> None:
        """Let event streams end, from any thread: a server that stops would have to break them off. Those of answers do
        not, because the end of one says that all answers are there.
        """
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # closed: there are none any more
                self._loop.call_soon_threadsafe(self._end)

    def _end(self) -> None:
        self.ending = True
        for watches in self._watches.values():
            for watch in watches:
                watch.wake()

    def close(self) -> None:
        """End the reader."""
        self._stop.set()
        if self._pump is not None:
            self._pump.cancel()

    def check_open(self) -> None:
        """
        Raises:
            ProblemError: 503, too many streams, or the server stops.
        """
        if self.ending:
            raise ProblemError(503, "the farm is being stopped", retry_after=2)
        if self.open >= self._most:
            raise ProblemError(503, f"at most {self._most} streams", "too-many", retry_after=10)

    @contextlib.contextmanager
    def watch(self, jobs: Iterable[str]) -> Iterator[Watch]:
        """Hear of these jobs.

        Raises:
            ProblemError: 503, too many streams, or the server stops.
        """
        self.check_open()
        named = set(jobs)
        watch = Watch()
        self.open += 1
        for job in named:
            self._watches.setdefault(job, {})[watch] = None
        try:
            yield watch
        finally:
            self.open -= 1
            for job in named:
                del self._watches[job][watch]
                if not self._watches[job]:
                    del self._watches[job]
                    self._quiet.pop(job, None)

    async def history(self, job: str, after: int) -> list[Event] | None:
        """Events of a job with higher numbers, from the ledger: as it is after this call began. None: it is away.

        A thousand streams want to know at the same time: those that wait for the same share one look, and all looks
        together take few of the threads that answer requests.
        """
        key = (job, after)
        if key not in self._looks:
            self._looks[key] = asyncio.create_task(self._look(key))
        return await asyncio.shield(self._looks[key])

    async def missed(self, job: str, after: int) -> list[Event] | None:
        """What the feed may have dropped: as `history`, but [] where a look of the last seconds found nothing."""
        now = asyncio.get_running_loop().time()
        known, at = self._quiet.get(job, (-1, 0.0))
        if known == after and now - at < _HEARTBEAT / 2:
            return []
        found = await self.history(job, after)
        if found == []:
            self._quiet[job] = (after, now)
        return found

    async def _look(self, key: tuple[str, int]) -> list[Event] | None:
        async with self._reading:
            del self._looks[key]  # who asks from now on needs another look
            try:
                return await run_in_threadpool(self._ledger.events, *key)
            except InfrastructureError:
                return None

    def _read(self, loop: asyncio.AbstractEventLoop) -> None:
        """In a thread: what is in the feed goes to the loop, as far as anybody wants it. A stream that opens now finds
        what was left out in the job's history, which it reads once it is known here.
        """
        mark: str | None = None
        while not self._stop.is_set():
            try:
                events, mark = self._ledger.feed(mark, wait=_WAIT if mark is not None else 0.0)
                wanted: dict[str, list[Event]] = {}
                for event in events:
                    if event.job in self._watches:
                        wanted.setdefault(event.job, []).append(event)
                if wanted:
                    loop.call_soon_threadsafe(self._news.put_nowait, wanted)
                if events:  # so that a busy farm wakes us a hundred times a second and not for each event
                    self._stop.wait(_GATHER)
            except InfrastructureError as error:
                if not self._stop.is_set():
                    log.warning("the feed is away: %s", error)
                self._stop.wait(_WAIT)
            except Exception:
                if self._stop.is_set():
                    return  # the connection or the loop was closed under us
                # Streams live on this thread: it goes on behind what it can't read.
                log.exception("events of the feed are left out")
                mark = None
                self._stop.wait(_WAIT)

    async def _tell(self) -> None:
        """Wake the streams of a job a few at a time: a request that comes meanwhile waits behind a few writes, and not
        behind those of a thousand streams.
        """
        while True:
            for job, events in (await self._news.get()).items():
                for number, watch in enumerate(list(self._watches.get(job, ())), 1):
                    watch.tell(events)
                    if number % _BURST == 0:
                        await asyncio.sleep(_BREATH)


async def job_events(hub: Hub, job: str, after: int) -> AsyncIterator[list[Event]]:
    """A job's events after a number, those that were and those to come, up to the final one or the end of the server,
    as many at a time as there are; [] now and then while nothing happens. While the ledger is away it stays open.
    """
    with hub.watch((job,)) as watch:
        last = after
        look: Callable[[str, int], Awaitable[list[Event] | None]] | None = hub.history
        while not hub.ending:
            fresh: list[Event] = []
            if look is not None:
                found = await look(job, last)
                fresh = found or []
                # A long history comes in pages.
                look = hub.history if found is None or len(found) >= 1000 else None
            if not fresh:
                told = await watch.next(_HEARTBEAT * random.uniform(0.7, 1.0))  # not all streams at the same moment
                if not told:
                    look = hub.missed
                    yield []
                    continue
                fresh = [event for event in told if event.number > last]
                if not fresh and told[-1].kind.is_final:
                    return  # who says that he has seen more than there is waits for nothing
                if not fresh:
                    continue
                if fresh[-1].number != last + len(fresh):
                    look = hub.history
                    continue
            last = fresh[-1].number
            yield fresh
            if fresh[-1].kind.is_final:
                return


def sse(events: Sequence[Event]) -> bytes:
    """Events as text of a server-sent stream; a comment that keeps the connection open when there are none."""
    return b"".join(_text_of(_Once(event)) for event in events) or b": still here\n\n"


class _Once:
    """An event that is equal to others by its job and number: many streams of one job share one text."""

    def __init__(self, event: Event) -> None:
        self.event = event

    def __hash__(self) -> int:
        return hash((self.event.job, self.event.number))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Once) and self.event == other.event


@lru_cache(_TEXTS)
def _text_of(once: _Once) -> bytes:
    event = once.event
    return f"id: {event.number}\nevent: {event.kind.value}\ndata: {event_view(event).model_dump_json()}\n\n".encode()


def after_of(last_event_id: str | None, after: int) -> int:
    """Where a stream goes on: after the last event that the client has seen."""
    text = (last_event_id or "").strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else after


def streaming_headers() -> dict[str, Any]:
    """Headers without which proxies would hold events back."""
    return {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
