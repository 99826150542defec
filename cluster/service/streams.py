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


class Watch:
    """What one stream waits for."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self.queue: asyncio.Queue[Event] = asyncio.Queue()

    def tell(self, event: Event) -> None:
        """From the reader's thread."""
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody listens any more
            self._loop.call_soon_threadsafe(self.queue.put_nowait, event)

    async def next(self, seconds: float) -> Event | None:
        """The next event; None when none came in time."""
        try:
            return await asyncio.wait_for(self.queue.get(), seconds)
        except TimeoutError:
            return None


class Hub:
    """The reader of the feed. `open` counts the streams of this process."""

    def __init__(self, ledger: Ledger, most: int) -> None:
        self._ledger, self._most = ledger, most
        self._watches: dict[str, set[Watch]] = {}
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self.open = 0

    def start(self) -> None:
        """Begin to read."""
        self._thread = threading.Thread(target=self._read, name="feed", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the reader."""
        self._stop.set()

    @contextlib.contextmanager
    def watch(self, jobs: Iterable[str]) -> Iterator[Watch]:
        """Hear of these jobs.

        Raises:
            ProblemError: 503, too many streams.
        """
        if self.open >= self._most:
            raise ProblemError(503, f"at most {self._most} streams", "too-many", retry_after=10)
        named = set(jobs)
        watch = Watch(asyncio.get_running_loop())
        self.open += 1
        with self._lock:
            for job in named:
                self._watches.setdefault(job, set()).add(watch)
        try:
            yield watch
        finally:
            self.open -= 1
            with self._lock:
                for job in named:
                    self._watches[job].discard(watch)
                    if not self._watches[job]:
                        del self._watches[job]

    def _read(self) -> None:
        mark: str | None = None
        while not self._stop.is_set():
            try:
                events, mark = self._ledger.feed(mark, wait=_WAIT if mark is not None else 0.0)
            except InfrastructureError as error:
                if not self._stop.is_set():
                    log.warning("the feed is away: %s", error)
                self._stop.wait(_WAIT)
                continue
            except Exception:
                if self._stop.is_set():
                    return  # the connection was closed under us
                raise
            with self._lock:
                for event in events:
                    for watch in self._watches.get(event.job, ()):
                        watch.tell(event)


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
