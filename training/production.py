"""Who makes shards: the interface, threads of this process, and the making of one generation beside the fitting."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterable, Iterator
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


_Answer = Made | BaseException


class ThreadProducer:
    """See `Producer`. Threads of this process: the kernels run side by side.

    They are daemons: an interrupted command need not wait for shards that nobody wants any more.
    """

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._tasks: queue.SimpleQueue[tuple[Nets, ShardTask, queue.SimpleQueue[_Answer]] | None] = queue.SimpleQueue()
        for number in range(workers):
            threading.Thread(target=self._work, name=f"shards {number}", daemon=True).start()

    @property
    def workers(self) -> int:
        """See `Producer`."""
        return self._workers

    def make(self, nets: Nets, tasks: Iterable[ShardTask]) -> Iterator[Made]:
        """See `Producer`."""
        answers: queue.SimpleQueue[_Answer] = queue.SimpleQueue()
        waiting = iter(tasks)
        running = 0
        while True:
            while running < self._workers and (task := next(waiting, None)) is not None:
                self._tasks.put((nets, task, answers))
                running += 1
            if not running:
                return
            answer = answers.get()
            running -= 1
            if isinstance(answer, BaseException):
                raise answer
            yield answer

    def close(self) -> None:
        """See `Producer`."""
        for _ in range(self._workers):
            self._tasks.put(None)

    def _work(self) -> None:
        made_for: Nets | None = None
        while (item := self._tasks.get()) is not None:
            nets, task, answers = item
            try:
                if made_for is not nets:
                    maker, made_for = ShardMaker(nets), nets
                answers.put(Made(task, maker.make(task)))
            except BaseException as problem:
                answers.put(problem)


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
