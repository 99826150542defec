"""The workers of a farm: who may work, what each one has in hand, and what a death means. Pure: time is an argument.

A worker proves itself on golden blocks before it gets work, and is asked again now and then; one wrong answer retires
it. When a worker dies, the task that it ran is blamed and the others it held are not; everything it held runs next
time alone on its worker, so that the second blame leaves no doubt. A task that killed three workers is quarantined,
unless workers die everywhere: where the others died once each lately, on average, it gets as many tries again.
A worker that is silent for much longer than its task should take is given up like a dead one: its lease has ended.
"""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

MAX_KILLS = 3
"""Workers that a task may kill before it is given up."""
MOST_KILLS = 6
"""The same where workers die whatever they run."""
LATELY = 600.0
"""Seconds for which a death is remembered, as a sign that others die as well."""

LEASE_FLOOR = 300.0
"""Seconds that a task may take at least."""
FIRST_LEASE = 1800.0
"""The same for the first tasks of a worker, which also compile kernels and build databases."""
_FIRST_TASKS = 3
LEASE_FACTOR = 30.0
"""Times by which a task may be slower than expected before its worker counts as hung."""
DEPTH = 2
"""Tasks a worker holds: one that runs and one that waits, so that it never waits for us."""


class Standing(StrEnum):
    """Whether a worker may work."""

    NEW = "new"
    PROVING = "proving"
    READY = "ready"
    RETIRED = "retired"


@dataclass(eq=False)
class Assignment:
    """A task on its way: whose it is, how long it should take, how many workers it has killed."""

    job: str | None
    """None: a golden block, asked by the farm itself."""
    task: Any
    expected: float
    patience: float = 0.0
    """Seconds that it may well take, whatever is expected."""
    kills: int = 0
    alone: bool = False
    deadline: float = 0.0


@dataclass
class WorkerState:
    """What is known of a worker."""

    name: str
    standing: Standing = Standing.NEW
    held: deque[Assignment] = field(default_factory=deque)
    done: int = 0
    seconds: float = 0.0
    since: float = 0.0

    @property
    def alone(self) -> bool:
        """Whether it runs a task beside which nothing may wait."""
        return any(a.alone for a in self.held)


@dataclass(frozen=True)
class Death:
    """What is to be done about what a dead worker held."""

    again: tuple[Assignment, ...]
    """To be run again, alone."""
    quarantined: tuple[Assignment, ...]


class Roster:
    """All workers of a farm."""

    def __init__(self, recheck_every: int = 200, seed: int = 0) -> None:
        """
        Args:
            recheck_every: tasks, on average, after which a worker is asked a golden block again; 0 for never.
        """
        self.workers: dict[str, WorkerState] = {}
        self.retired = 0
        self.lost = 0
        self._died: deque[float] = deque()  # when, of those of late
        self._recheck = recheck_every
        self._random = random.Random(seed)
        # Ready workers by the number of tasks they hold, and those to be proved: a farm of thousands is never searched.
        self._room: tuple[dict[str, WorkerState], ...] = tuple({} for _ in range(DEPTH))
        self._unproved: dict[str, WorkerState] = {}
        self._ready: set[str] = set()

    def meet(self, names: set[str], now: float) -> set[str]:
        """Note who is there; returns those who have gone."""
        for name in names - self.workers.keys():
            self._place(self.workers.setdefault(name, WorkerState(name, since=now)))
        return {name for name in self.workers if name not in names}

    def to_prove(self) -> list[WorkerState]:
        """Workers that must answer a golden block before anything else."""
        return [worker for worker in self._unproved.values() if not worker.held]

    def idle(self, alone: bool = False) -> WorkerState | None:
        """A ready worker with room, an empty one first; with `alone` only one that holds nothing."""
        for room in self._room[:1] if alone else self._room:
            for worker in room.values():
                return worker
        return None

    def _place(self, worker: WorkerState) -> None:
        for room in self._room:
            room.pop(worker.name, None)
        self._unproved.pop(worker.name, None)
        self._ready.discard(worker.name)
        if self.workers.get(worker.name) is not worker:
            return
        if worker.standing is Standing.NEW:
            self._unproved[worker.name] = worker
        elif worker.standing is Standing.READY:
            self._ready.add(worker.name)
            if len(worker.held) >= DEPTH or worker.alone:
                return
            self._room[len(worker.held)][worker.name] = worker

    def assign(self, worker: WorkerState, assignment: Assignment, now: float) -> None:
        """Hand over a task; its lease begins when the one before it should be done."""
        before = max((a.deadline for a in worker.held), default=now)
        least = LEASE_FLOOR if worker.done >= _FIRST_TASKS else FIRST_LEASE
        assignment.deadline = max(before, now) + max(least, LEASE_FACTOR * assignment.expected, assignment.patience)
        worker.held.append(assignment)
        if assignment.job is None and worker.standing is Standing.NEW:
            worker.standing = Standing.PROVING
        self._place(worker)

    def finished(self, name: str, assignment: Assignment, seconds: float) -> bool:
        """A task came back; returns whether the worker should now answer a golden block."""
        worker = self.workers.get(name)
        if worker is None or assignment not in worker.held:
            return False
        worker.held.remove(assignment)
        worker.done += 1
        worker.seconds += seconds
        self._place(worker)
        return (
            assignment.job is not None
            and worker.standing is Standing.READY
            and self._recheck > 0
            and self._random.random() * self._recheck < 1.0
        )

    def proved(self, name: str) -> None:
        """Its golden block was right."""
        worker = self.workers.get(name)
        if worker is not None and worker.standing is not Standing.RETIRED:
            worker.standing = Standing.READY
            self._place(worker)

    def suspect(self, name: str) -> None:
        """It must prove itself before it gets anything new."""
        worker = self.workers.get(name)
        if worker is not None and worker.standing is Standing.READY:
            worker.standing = Standing.NEW
            self._place(worker)

    def retire(self, name: str) -> tuple[Assignment, ...]:
        """Its golden block was wrong: it never works again; returns what it held, which is nobody's fault."""
        worker = self.workers.get(name)
        if worker is None:
            return ()
        held = tuple(a for a in worker.held if a.job is not None)
        worker.held.clear()
        worker.standing = Standing.RETIRED
        self._place(worker)
        self.retired += 1
        return held

    def died(self, name: str, now: float) -> Death:
        """It is gone, or hung; the oldest task that it held is blamed."""
        worker = self.workers.pop(name, None)
        if worker is None:
            return Death((), ())
        self._place(worker)
        self._died.append(now)
        while self._died[0] < now - LATELY:
            self._died.popleft()
        self.lost += worker.standing is not Standing.RETIRED
        again: list[Assignment] = []
        given_up: list[Assignment] = []
        for place, assignment in enumerate(worker.held):
            if assignment.job is None:
                continue
            if place == 0:
                assignment.kills += 1
            assignment.alone = True
            (given_up if self._is_guilty(assignment) else again).append(assignment)
        return Death(tuple(again), tuple(given_up))

    def _is_guilty(self, assignment: Assignment) -> bool:
        """Whether so many deaths are the task's doing, by what happened to other workers lately."""
        if assignment.kills < MAX_KILLS:
            return False
        others = len(self._died) - assignment.kills
        return others < max(len(self.workers), 1) or assignment.kills >= MOST_KILLS

    def forget(self, name: str) -> Death:
        """It left in good order (its node was taken away): nobody is blamed."""
        worker = self.workers.pop(name, None)
        if worker is None:
            return Death((), ())
        self._place(worker)
        return Death(tuple(a for a in worker.held if a.job is not None), ())

    def overdue(self, now: float) -> list[str]:
        """Workers whose running task has outlived its lease."""
        return [w.name for w in self.workers.values() if w.held and w.held[0].deadline < now]

    def running(self, job: str) -> list[tuple[str, Assignment]]:
        """(worker, task) of a job's tasks; the first task that a worker holds is the one that runs."""
        return [(w.name, a) for w in self.workers.values() for a in w.held if a.job == job]

    def ready(self) -> int:
        """Workers that may work."""
        return len(self._ready)

    def held(self) -> int:
        """Tasks under way."""
        return sum(len(w.held) for w in self.workers.values())
