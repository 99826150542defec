"""Where the farm's tasks run: the interface, and the implementation that needs nothing but this process."""

from __future__ import annotations

import os
import time
from collections import OrderedDict, deque
from dataclasses import dataclass
from typing import Any, Protocol

from cluster.roster import Assignment
from engine.errors import InternalError
from workers.spec import Worker, WorkerSpec

_BUILT = 4
_TOGETHER = 0.05


class PoolBrokenError(InternalError):
    """No worker can be had any more, whatever one does: a fresh pool is needed."""


@dataclass(frozen=True)
class Outcome:
    """A task that came back: with its output, or with the exception that its worker raised."""

    worker: str
    assignment: Assignment
    output: Any
    seconds: float
    error: BaseException | None = None


@dataclass(frozen=True)
class Departure:
    """Why a worker is gone."""

    reason: str
    blame: bool
    """Whether what it ran may have killed it; False when its machine was taken away."""


class WorkerPool(Protocol):
    """Workers by name, each of which runs the tasks that it is given in their order.

    Every method may raise `PoolBrokenError`.
    """

    def members(self) -> set[str]:
        """The workers that live."""

    def departure(self, worker: str) -> Departure:
        """Why a former member is gone."""

    def submit(self, worker: str, assignment: Assignment, spec: WorkerSpec[Any, Any]) -> None:
        """Give a worker a task."""

    def wait(self, seconds: float) -> list[Outcome]:
        """What has come back; waits so long for the first."""

    def withdraw(self, worker: str, assignment: Assignment) -> None:
        """Stop a task that nobody needs, if that is easy: one that runs may come back all the same."""

    def kill(self, worker: str, *, broken: str = "") -> None:
        """End a worker; another takes its place under another name.

        Args:
            broken: why its machine is no longer trusted: then the other one comes only after a pause.
        """

    def describe(self) -> dict[str, Any]:
        """What `status` and provenance say about it; JSON values only."""

    def close(self) -> None:
        """Stop all workers. Safe to call twice."""


class BuiltWorkers:
    """The workers that a process built last, so that jobs can take turns without loading a net every time."""

    def __init__(self) -> None:
        self._built: OrderedDict[str, Worker[Any, Any]] = OrderedDict()

    def of(self, spec: WorkerSpec[Any, Any]) -> Worker[Any, Any]:
        """The worker of a specification."""
        if spec.key not in self._built:
            self._built[spec.key] = spec.build(spec.weights)
        self._built.move_to_end(spec.key)
        while len(self._built) > _BUILT:
            self._built.popitem(last=False)
        return self._built[spec.key]


class InlinePool:
    """One worker, this process itself: for tests, small machines and first steps."""

    def __init__(self) -> None:
        self._name = f"inline/{os.getpid()}"
        self._built = BuiltWorkers()
        self._tasks: deque[tuple[Assignment, WorkerSpec[Any, Any]]] = deque()

    def members(self) -> set[str]:
        """See `WorkerPool`."""
        return {self._name}

    def departure(self, worker: str) -> Departure:
        """See `WorkerPool`."""
        return Departure("it was ended", blame=False)

    def submit(self, worker: str, assignment: Assignment, spec: WorkerSpec[Any, Any]) -> None:
        """See `WorkerPool`."""
        self._tasks.append((assignment, spec))

    def wait(self, seconds: float) -> list[Outcome]:
        """See `WorkerPool`: runs the next task, and those behind it while they are short: outputs that come back
        together are kept together.
        """
        if not self._tasks:
            time.sleep(seconds)
            return []
        outcomes = [self._run(*self._tasks.popleft())]
        while self._tasks and sum(outcome.seconds for outcome in outcomes) < _TOGETHER:
            outcomes.append(self._run(*self._tasks.popleft()))
        return outcomes

    def _run(self, assignment: Assignment, spec: WorkerSpec[Any, Any]) -> Outcome:
        start = time.perf_counter()
        output, problem = None, None
        try:
            output = self._built.of(spec).run(assignment.task)
        except Exception as error:
            problem = error
        return Outcome(self._name, assignment, output, time.perf_counter() - start, problem)

    def withdraw(self, worker: str, assignment: Assignment) -> None:
        """See `WorkerPool`."""
        self._tasks = deque(item for item in self._tasks if item[0] is not assignment)

    def kill(self, worker: str, *, broken: str = "") -> None:
        """See `WorkerPool`: its tasks are forgotten and it is as new."""
        self._tasks.clear()
        self._built = BuiltWorkers()

    def describe(self) -> dict[str, Any]:
        """See `WorkerPool`."""
        return {"executor": "inline", "nodes": 1}

    def close(self) -> None:
        """See `WorkerPool`."""
        self._tasks.clear()
