"""Events as they happen: one reader of the ledger's feed wakes all the streams that wait for a job."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections.abc import AsyncIterator, Iterable, Iterator
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
_TEXTS = 2_000
_BURST = 16
_BREATH = 0.004


class Watch:
    """What one stream waits for."""

    def __init__(self) -> None:
        self.queue: asyncio.Queue[Event] = asyncio.Queue()

    async def next(self, seconds: float) -> Event | None:
        """The next event; None when none came in time."""
        try:
            async with asyncio.timeout(seconds):
                return await self.queue.get()
        except TimeoutError:
            return None


class Hub:
    """The reader of the feed. `open` counts the streams of this process."""

    def __init__(self, ledger: Ledger, most: int) -> None:
        self._ledger, self._most = ledger, most
        self._watches: dict[str, dict[Watch, None]] = {}
        self._stop = threading.Event()
        self._news: asyncio.Queue[Event] = asyncio.Queue()
        self._pump: asyncio.Task[None] | None = None
        self.open = 0

    def start(self) -> None:
        """Begin to read; inside the loop in which the streams are."""
        loop = asyncio.get_running_loop()
        self._news = asyncio.Queue()
        self._pump = loop.create_task(self._tell())
        threading.Thread(target=self._read, args=(loop,), name="feed", daemon=True).start()

    def close(self) -> None:
        """End the reader."""
        self._stop.set()
        if self._pump is not None:
            self._pump.cancel()

    @contextlib.contextmanager
    def watch(self, jobs: Iterable[str]) -> Iterator[Watch]:
        """Hear of these jobs.

        Raises:
            ProblemError: 503, too many streams.
        """
        if self.open >= self._most:
            raise ProblemError(503, f"at most {self._most} streams", "too-many", retry_after=10)
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

    def _read(self, loop: asyncio.AbstractEventLoop) -> None:
        """In a thread: what is in the feed goes to the loop."""
        mark: str | None = None
        while not self._stop.is_set():
            try:
                events, mark = self._ledger.feed(mark, wait=_WAIT if mark is not None else 0.0)
                for event in events:
                    loop.call_soon_threadsafe(self._news.put_nowait, event)
            except InfrastructureError as error:
                if not self._stop.is_set():
                    log.warning("the feed is away: %s", error)
                self._stop.wait(_WAIT)
            except Exception:
                if self._stop.is_set():
                    return  # the connection or the loop was closed under us
                raise

    async def _tell(self) -> None:
        """Wake the streams of a job a few at a time: a request that comes meanwhile waits behind a few writes, and not
        behind those of a thousand streams.
        """
        while True:
            event = await self._news.get()
            for number, watch in enumerate(list(self._watches.get(event.job, ())), 1):
                watch.queue.put_nowait(event)
                if number % _BURST == 0:
                    await asyncio.sleep(_BREATH)


async def job_events(hub: Hub, ledger: Ledger, job: str, after: int) -> AsyncIterator[Event | None]:
    """A job's events after a number, those that were and those to come, up to the final one; None now and then while
    nothing happens. While the ledger is away the stream stays open.
    """
    with hub.watch((job,)) as watch:
        last = after
        gap = True
        while True:
            fresh: list[Event] = []
            if gap:
                with contextlib.suppress(InfrastructureError):
                    fresh = await run_in_threadpool(ledger.events, job, last)
                    # A long history comes in pages.
                    gap = len(fresh) >= 1000
            if not fresh:
                told = await watch.next(_HEARTBEAT)
                if told is None:
                    gap = True  # the feed forgets after a while: look for what it may have dropped
                    yield None
                    continue
                if told.number > last + 1:
                    gap = True
                    continue
                fresh = [told]
            for event in fresh:
                if event.number > last:
                    last = event.number
                    yield event
                    if event.kind.is_final:
                        return


def sse(event: Event | None) -> str:
    """An event as text of a server-sent stream; a comment that keeps the connection open for None."""
    return ": still here\n\n" if event is None else _text_of(_Once(event))


class _Once:
    """An event that is equal to others by its job and number: many streams of one job share one text."""

    def __init__(self, event: Event) -> None:
        self.event = event

    def __hash__(self) -> int:
        return hash((self.event.job, self.event.number))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Once) and self.event == other.event


@lru_cache(_TEXTS)
def _text_of(once: _Once) -> str:
    event = once.event
    return f"id: {event.number}\nevent: {event.kind.value}\ndata: {event_view(event).model_dump_json()}\n\n"


def after_of(last_event_id: str | None, after: int) -> int:
    """Where a stream goes on: after the last event that the client has seen."""
    text = (last_event_id or "").strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else after


def streaming_headers() -> dict[str, Any]:
    """Headers without which proxies would hold events back."""
    return {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
