"""Where tasks run: the interface, and the implementation that needs nothing but this process."""

from __future__ import annotations

import os
import time
from collections.abc import Generator, Iterable
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from engine.errors import InternalError
from workers.spec import Worker, WorkerSpec

T = TypeVar("T")
O = TypeVar("O")  # noqa: E741 - task and output

MAX_ATTEMPTS = 3


@dataclass(frozen=True)
class Completed(Generic[T, O]):
    """A task and its output. `attempts` counts the run that worked and those that killed their worker before."""

    task: T
    output: O
    worker: str
    seconds: float
    attempts: int


class TaskQuarantined(InternalError):
    """A task killed as many workers as we are willing to lose on it. The farm lives on; the task's job fails."""

    def __init__(self, task: object, attempts: int, reason: str) -> None:
        self.task = task
        self.attempts = attempts
        self.reason = reason
        super().__init__(f"task {task!r} killed {attempts} workers and is given up: {reason}")

    def __reduce__(self) -> tuple[type[TaskQuarantined], tuple[object, int, str]]:
        return (type(self), (self.task, self.attempts, self.reason))


class Executor(Protocol):
    """Runs tasks on some workers. Only one `map_unordered` may be under way at a time."""

    @property
    def workers(self) -> int:
        """How many tasks run at the same time."""

    def map_unordered(self, spec: WorkerSpec[T, O], tasks: Iterable[T]) -> Generator[Completed[T, O], None, None]:
        """Run every task and yield it when it is finished, in any order.

        Tasks are taken from the iterable as they are needed, so it may be endless or decide late. Closing the generator
        drops what is in flight. An exception raised by a worker is raised here as it is; `TaskQuarantined` when a task
        keeps killing its workers; `InfrastructureError` when no worker can be had.
        """

    def describe(self) -> dict[str, Any]:
        """What the provenance of a result and `doctor` say about this executor; JSON values only."""

    def close(self) -> None:
        """Stop the workers. Safe to call twice."""


class InlineExecutor:
    """Runs tasks in this process, one after the other: for tests, small jobs and machines without Ray."""

    def __init__(self) -> None:
        self._key: str | None = None
        self._worker: Worker[Any, Any] | None = None

    @property
    def workers(self) -> int:
        """See `Executor`."""
        return 1

    def map_unordered(self, spec: WorkerSpec[T, O], tasks: Iterable[T]) -> Generator[Completed[T, O], None, None]:
        """See `Executor`. A worker that kills its process takes this one with it."""
        name = f"inline/{os.getpid()}"
        for task in tasks:
            worker = self._worker_for(spec)
            start = time.perf_counter()
            output = worker.run(task)
            yield Completed(task, output, name, time.perf_counter() - start, attempts=1)

    def describe(self) -> dict[str, Any]:
        """See `Executor`."""
        return {"executor": "inline", "workers": 1}

    def close(self) -> None:
        """See `Executor`."""
        self._key = self._worker = None

    def _worker_for(self, spec: WorkerSpec[T, O]) -> Worker[T, O]:
        if self._worker is None or self._key != spec.key:
            self._worker = spec.build(spec.weights)
            self._key = spec.key
        return self._worker
