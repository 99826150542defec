"""Who makes shards: the interface, threads of this process, and the making of one generation beside the fitting."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Protocol

from engine.evaluator import Nets
from training.positions import Shard, ShardMaker, ShardTask
from training.shards import ShardStore


@dataclass(frozen=True)
class Made:
    """A shard and the task it answers."""

    task: ShardTask
    shard: Shard


class Producer(Protocol):
    """Makes shards, several at a time."""

    @property
    def workers(self) -> int:
        """How many at a time."""

    def make(self, nets: Nets, tasks: Iterable[ShardTask]) -> Iterator[Made]:
        """Make every shard and yield it when it is finished, in any order. Tasks are taken as they are needed."""

    def close(self) -> None:
        """Stop, also a `make` under way in another thread. Safe to call twice."""


class ThreadProducer:
    """See `Producer`. Threads of this process: the kernels run side by side."""

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="shards")
        self._local = threading.local()

    @property
    def workers(self) -> int:
        """See `Producer`."""
        return self._workers

    def make(self, nets: Nets, tasks: Iterable[ShardTask]) -> Iterator[Made]:
        """See `Producer`."""
        waiting = iter(tasks)
        running: set[Future[Made]] = set()
        while True:
            while len(running) < self._workers and (task := next(waiting, None)) is not None:
                running.add(self._threads.submit(self._one, nets, task))
            if not running:
                return
            ready, running = wait(running, return_when=FIRST_COMPLETED)
            for done in ready:
                yield done.result()

    def close(self) -> None:
        """See `Producer`."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _one(self, nets: Nets, task: ShardTask) -> Made:
        maker = getattr(self._local, "maker", None)
        if maker is None or self._local.nets is not nets:
            maker = self._local.maker = ShardMaker(nets)
            self._local.nets = nets
        return Made(task, maker.make(task))


@dataclass(frozen=True, slots=True)
class Produced:
    """What has been made so far in this process."""

    shards: int = 0
    games: int = 0
    samples: int = 0
    refused: int = 0


class Counter:
    """Counts what is produced; may be read from another thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._now = Produced()

    def add(self, shard: Shard) -> None:
        """One more shard."""
        with self._lock:
            now = self._now
            self._now = Produced(
                now.shards + 1,
                now.games + shard.games,
                now.samples + len(shard.boards),
                now.refused + shard.refused,
            )

    def read(self) -> Produced:
        """The state of the count."""
        with self._lock:
            return self._now


class Making(threading.Thread):
    """Makes the shards of one generation that are not on disk yet, in a thread of its own."""

    def __init__(self, producer: Producer, store: ShardStore, nets: Nets, tasks: list[ShardTask], counter: Counter):
        super().__init__(name="making shards", daemon=True)
        self._producer = producer
        self._store = store
        self._nets = nets
        self._tasks = tasks
        self._counter = counter
        self._stopped = False
        self._problem: BaseException | None = None
        self.start()

    def run(self) -> None:
        """Not to be called: what the thread does."""
        try:
            for made in self._producer.make(self._nets, self._missing()):
                self._store.save(made.shard, made.task, self._nets.digest)
                self._counter.add(made.shard)
        except BaseException as problem:
            self._problem = problem

    def done(self, seconds: float) -> bool:
        """Wait a while; whether all shards are there. Raises what went wrong."""
        self.join(seconds)
        if self._problem is not None:
            raise self._problem
        return not self.is_alive()

    def stop(self) -> None:
        """Begin no more shards."""
        self._stopped = True

    def _missing(self) -> Iterator[ShardTask]:
        for task in self._tasks:
            if self._stopped:
                return
            if not self._store.has(task, self._nets.digest):
                yield task
