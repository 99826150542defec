"""Pools and ledgers that misbehave on purpose, for tests of the farm."""

from __future__ import annotations

import random
from collections import deque
from typing import Any

from cluster.farm.pool import BuiltWorkers, Departure, Outcome
from cluster.memory_ledger import MemoryLedger
from cluster.roster import Assignment
from engine.errors import InfrastructureError
from workers.spec import WorkerSpec


class ToyPool:
    """Several workers in this process that take turns at random; any of them can be made to die.

    Args:
        poison: kills the worker that runs a task for which it is true.
        wrong: workers (by number of their place) that answer everything with nonsense.
    """

    def __init__(self, workers: int = 3, seed: int = 0, poison: Any = None, wrong: Any = None) -> None:
        self._random = random.Random(seed)
        self._poison = poison or (lambda task: False)
        self._wrong = wrong or (lambda name: False)
        self._names = 0
        self._tasks: dict[str, deque[tuple[Assignment, WorkerSpec[Any, Any]]]] = {}
        self._built: dict[str, BuiltWorkers] = {}
        self.deaths = 0
        self.blame = True
        self.seconds = 1.0
        self.ran: list[Any] = []
        for _ in range(workers):
            self._add()

    def _add(self) -> None:
        self._names += 1
        name = f"toy/{self._names}"
        self._tasks[name] = deque()
        self._built[name] = BuiltWorkers()

    def members(self) -> set[str]:
        return set(self._tasks)

    def departure(self, worker: str) -> Departure:
        return Departure("it was killed", self.blame)

    def submit(self, worker: str, assignment: Assignment, spec: WorkerSpec[Any, Any]) -> None:
        if worker in self._tasks:
            self._tasks[worker].append((assignment, spec))

    def wait(self, seconds: float) -> list[Outcome]:
        found: list[Outcome] = []
        for name in self._random.sample(sorted(self._tasks), len(self._tasks)):
            if not self._tasks.get(name):
                continue
            assignment, spec = self._tasks[name][0]
            if self._poison(assignment.task):
                self.die(name)
                continue
            self._tasks[name].popleft()
            self.ran.append(assignment.task)
            output, problem = None, None
            try:
                output = "nonsense" if self._wrong(name) else self._built[name].of(spec).run(assignment.task)
            except Exception as error:
                problem = error
            found.append(Outcome(name, assignment, output, self.seconds, problem))
        return found

    def die(self, name: str | None = None) -> None:
        """One worker is gone with all it held; another comes."""
        victim = name or self._random.choice(sorted(self._tasks))
        del self._tasks[victim], self._built[victim]
        self.deaths += 1
        self._add()

    def withdraw(self, worker: str, assignment: Assignment) -> None:
        if worker in self._tasks:
            self._tasks[worker] = deque(item for item in self._tasks[worker] if item[0] is not assignment)

    def kill(self, worker: str, *, broken: str = "") -> None:
        if worker in self._tasks:
            self.die(worker)

    def describe(self) -> dict[str, Any]:
        return {"executor": "toy"}

    def close(self) -> None:
        self._tasks.clear()


_SPARED = {"_submit", "_step", "_event"}


class FlakyLedger(MemoryLedger):
    """Fails at random, before or after it did what it was asked; or altogether while `away` is set."""

    def __init__(self, chance: float, seed: int) -> None:
        super().__init__()
        self._random_failures = random.Random(seed)
        self.chance = chance
        self.away = False
        self.failures = 0

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        if name.startswith("_") or name in {"chance", "away", "failures", "close"} or not callable(found):
            return found

        def flaky(*args: Any, **kwargs: Any) -> Any:
            if self.away or self._random_failures.random() < self.chance / 2:
                self.failures += 1
                raise InfrastructureError("redis is away")
            answer = found(*args, **kwargs)
            if self._random_failures.random() < self.chance / 2:
                self.failures += 1
                raise InfrastructureError("redis did the work, but its answer was lost")
            return answer

        return flaky
