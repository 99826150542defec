"""The workers of a farm at work: who proves himself, who is buried, what must run again.

`cluster.roster` has the rules; this carries them out on a pool.
"""

from __future__ import annotations

import logging
import random
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from cluster.farm.pool import Outcome, WorkerPool
from cluster.roster import Assignment, Roster, Standing, WorkerState
from workers.golden import GOLDEN, GoldenTask, golden_workers, is_right
from workers.spec import WorkerSpec

log = logging.getLogger(__name__)

_LONG_TASK = 5.0
"""Seconds: a task that nobody needs any more and should take longer, or takes twice as long, ends with its worker."""


@dataclass(frozen=True)
class Quarantined:
    """A task that is given up, and why."""

    assignment: Assignment
    message: str


class Crew:
    """See the module.

    Args:
        golden: whether workers prove themselves.
        recheck_every: tasks, on average, after which they do so again.
    """

    def __init__(self, pool: WorkerPool, golden: bool, recheck_every: int, seed: str) -> None:
        self.pool = pool
        self._golden_questions = golden
        self._recheck = recheck_every if golden else 0
        self._random = random.Random(seed)
        self._golden = golden_workers()
        self.start_over()

    def start_over(self) -> None:
        """Forget all work."""
        self.roster = Roster(self._recheck, self._random.randrange(2**32))
        self.lost: deque[Assignment] = deque()
        self._unwanted: deque[tuple[float, WorkerState, Assignment]] = deque()

    def drop_everything(self) -> None:
        """End whoever holds work, and forget it."""
        for worker in self.roster.workers.values():
            if worker.held or worker.standing is Standing.RETIRED:
                self.pool.kill(worker.name)
        self.start_over()

    def meet(self, now: float, look_for_hung: bool) -> Iterator[Quarantined]:
        """See who has come and who has gone."""
        for name in self.roster.meet(self.pool.members(), now):
            yield from self._bury(name, now)
        self._end_what_nobody_needs(now)
        for name in self.roster.overdue(now) if look_for_hung else ():
            yield from self._bury(name, now, hung=True)
            self.pool.kill(name)
        for worker in self.roster.to_prove():
            if not self._golden_questions:
                self.roster.proved(worker.name)
                continue
            question = Assignment(None, GoldenTask(self._random.randrange(len(GOLDEN))), 1.0)
            self.give(worker, question, self._golden, now)

    def idle(self, alone: bool = False) -> WorkerState | None:
        """A worker for the next task: with `alone`, and while lost tasks wait for one of their own, one that holds
        nothing.
        """
        return self.roster.idle(alone=alone or bool(self.lost))

    def give(self, worker: WorkerState, assignment: Assignment, spec: WorkerSpec[Any, Any], now: float) -> None:
        """Hand a task over."""
        self.roster.assign(worker, assignment, now)
        self.pool.submit(worker.name, assignment, spec)

    def came_back(self, outcome: Outcome) -> bool:
        """Take note of an output; returns whether it belongs to a job (and not to us)."""
        ask_again = self.roster.finished(outcome.worker, outcome.assignment, outcome.seconds)
        if outcome.assignment.job is None:
            self._judge(outcome)
            return False
        if ask_again:
            self.roster.suspect(outcome.worker)
        log.debug("block done in %.2f s", outcome.seconds, extra=names_of(outcome.assignment, outcome.worker))
        return True

    def free(self, job: str, now: float) -> None:
        """Nobody needs a job's tasks any more: what waits is taken back, what runs ends soon or with its worker."""
        self.lost = deque(assignment for assignment in self.lost if assignment.job != job)
        for name, assignment in self.roster.running(job):
            worker = self.roster.workers.get(name)
            if worker is None:
                continue  # ended just now, with the task before this one
            if worker.held[0] is not assignment:
                self.pool.withdraw(name, assignment)
            elif assignment.expected > _LONG_TASK:
                self._end(worker, job)
            else:
                self._unwanted.append((now + 2 * _LONG_TASK, worker, assignment))

    def _end_what_nobody_needs(self, now: float) -> None:
        """Tasks that were expected to end soon, and have not."""
        while self._unwanted and self._unwanted[0][0] <= now:
            _, worker, assignment = self._unwanted.popleft()
            if assignment in worker.held and self.roster.workers.get(worker.name) is worker:
                self._end(worker, assignment.job)

    def _end(self, worker: WorkerState, job: str | None) -> None:
        """End a worker for a task of a job that nobody needs; what else it holds runs elsewhere."""
        self.lost.extend(assignment for assignment in self.roster.forget(worker.name).again if assignment.job != job)
        self.pool.kill(worker.name)

    def _judge(self, outcome: Outcome) -> None:
        if outcome.error is None and is_right(outcome.assignment.task, outcome.output):
            self.roster.proved(outcome.worker)
            return
        wrong = str(outcome.error) if outcome.error else "another answer than the right one"
        log.error("worker %s is retired: golden block %s: %s", outcome.worker, outcome.assignment.task.number, wrong)
        self.lost.extend(self.roster.retire(outcome.worker))
        self.pool.kill(outcome.worker, broken=f"golden block {outcome.assignment.task.number}: {wrong}")

    def _bury(self, name: str, now: float, hung: bool = False) -> Iterator[Quarantined]:
        departure = self.pool.departure(name)
        reason = "it did not answer" if hung else departure.reason
        death = self.roster.died(name, now) if hung or departure.blame else self.roster.forget(name)
        log.warning("worker %s is gone: %s", name, reason, extra={"worker": name})
        for assignment in death.again:
            log.warning("a block runs again, alone", extra=names_of(assignment, name))
        self.lost.extend(death.again)
        for assignment in death.quarantined:
            log.error("a block is given up", extra=names_of(assignment, name))
            message = f"{assignment.task!r} killed {assignment.kills} workers and is given up: {reason}"
            yield Quarantined(assignment, message)


def names_of(assignment: Assignment, worker: str) -> dict[str, str]:
    """What a line of the log says a block by."""
    return {"job": assignment.job or "", "block": repr(assignment.task), "worker": worker}
