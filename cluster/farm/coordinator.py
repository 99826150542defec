"""The coordinator of a farm: many jobs at once on one pool of workers, a step at a time.

Everything that must survive is in the ledger; what is here can be lost at any moment. An output is kept before it
counts. While the ledger is away nothing new is handed out, finished outputs stay in hand, and the coordinator comes
back with growing, jittered pauses. Only the holder of the lease works; whoever takes it over begins from the ledger.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from cluster.farm.active import ActiveJob, failure_of
from cluster.farm.charge import LEASE_SECONDS, Charge, Patience
from cluster.farm.crew import Crew
from cluster.farm.desk import Desk
from cluster.farm.pool import Outcome, WorkerPool
from cluster.farm.registry import Kinds, read
from cluster.farm.sharing import Sharing, UnderWay
from cluster.farm.status import Counters, farm_status
from cluster.ledger import Block, Change, Completion, EventKind, Ledger, started
from cluster.roster import Assignment
from cluster.scheduling import Courtesy, FairQueue, Priority, Speeds
from cluster.store import JobRecord, JobState
from engine.errors import InfrastructureError, InputError

log = logging.getLogger(__name__)

_STATUS_SECONDS = _NOTE_SECONDS = 1.0
_RECONCILE_SECONDS = 30.0
_MOST_BEGUN_A_STEP = 50

T = TypeVar("T")
Tracker = Callable[[JobRecord, ActiveJob | None, JobState], None]  # told of every job that ended here


@dataclass(frozen=True)
class FarmOptions:
    """How a coordinator works."""

    owner: str
    """Names this process in the lease."""
    golden: bool = True
    """Whether workers prove themselves."""
    recheck_every: int = 200
    lease_seconds: float = LEASE_SECONDS


class Farm:
    """See the module. Not safe for several threads; `run` is the loop."""

    def __init__(
        self,
        ledger: Ledger,
        pool: WorkerPool,
        desk: Desk,
        options: FarmOptions,
        *,
        kinds: Kinds | None = None,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
        tracker: Tracker = lambda record, active, state: None,
    ) -> None:
        self._ledger, self._pool, self._desk, self._options = ledger, pool, desk, options
        self._kinds = kinds or Kinds()
        self._clock, self._wall, self._tracker = clock, wall, tracker
        self.counters = Counters()
        self.crew = Crew(pool, options.golden, options.recheck_every, options.owner)
        self._charge = Charge(ledger, options.owner, options.lease_seconds)
        self._patience = Patience(options.owner)
        self._courtesy = Courtesy()
        self._speeds = Speeds()
        self._said = -1e9
        self._inbox: deque[Outcome] = deque()
        self._active: dict[str, ActiveJob] = {}
        self._start_over()

    def _start_over(self) -> None:
        """Forget what was known of jobs: the ledger has it."""
        for active in self._active.values():
            active.run.close()
        self._inbox.clear()
        self._queue = FairQueue()
        self._active = {}
        self._starting: dict[str, Change] = {}
        self._ending: dict[str, tuple[JobState, str, str]] = {}
        self._sharing = Sharing()
        self._mark: str | None = None
        self._reconciled = -1e9

    # The loop

    def run(self, stop: threading.Event, wait: float = 0.1) -> None:
        """Work until told to stop; then, or when that fails, let all jobs go and give the duty back."""
        try:
            while not stop.is_set():
                self.step(wait)
        finally:
            self._start_over()
            self._charge.give_back()

    def step(self, wait: float = 0.0) -> bool:
        """Everything that can be done now. Returns whether anything was.

        Args:
            wait: seconds to wait for the next output.
        """
        now = self._clock()
        moved = False
        if self._patience.may_try(now):
            try:
                moved = self._with_ledger(now)
            except InfrastructureError as error:
                self._patience.failed(now, error)
            else:
                self._patience.succeeded(now)
        outcomes = self._pool.wait(0.0 if moved else wait)
        self._inbox.extend(outcomes)
        return moved or bool(outcomes)

    def _with_ledger(self, now: float) -> bool:
        had = self._charge.held
        has = self._charge.keep(now)
        if had != has:
            log.info("%s %s the farm", self._options.owner, "takes over" if has else "has lost")
            self.crew.drop_everything()
            self._start_over()
        if not has:
            return False
        moved = self._deliver()
        self._read_orders(now)
        for given_up in self.crew.meet(now, look_for_hung=now - self._said > _STATUS_SECONDS):
            self.counters.quarantined += 1
            self._end(given_up.assignment.job or "", JobState.FAILED, given_up.message, "quarantined")
        moved |= self._conclude() | self._dispatch(now)
        self._note(now)
        self._say(now)
        return moved

    # What came back

    def _deliver(self) -> bool:
        """Keep what came back, then count it."""
        moved = bool(self._inbox)
        while self._inbox:
            batch = [self._inbox[i] for i in range(min(len(self._inbox), 200))]
            kept = [self._blocks_of(outcome) for outcome in batch]
            self._ledger.put_blocks([block for blocks in kept for block in blocks])
            for outcome, blocks in zip(batch, kept, strict=True):
                self._inbox.popleft()
                self._count(outcome, blocks)
        return moved

    def _blocks_of(self, outcome: Outcome) -> list[Block]:
        active = self._active.get(outcome.assignment.job or "")
        if active is None or outcome.error is not None or active.piece_of(outcome.assignment) is None:
            return []
        blocks = self._tried(active.record.id, lambda: active.run.blocks(outcome.assignment.task, outcome.output))
        return blocks or []

    def _count(self, outcome: Outcome, blocks: list[Block]) -> None:
        assignment = outcome.assignment
        if not self.crew.came_back(outcome) or assignment.job is None:
            return
        self.counters.seconds += outcome.seconds
        active = self._active.get(assignment.job)
        if active is None:
            return
        piece = active.came_back(assignment, outcome.worker, outcome.seconds)
        if piece is None:
            return
        self._speeds.note(active.run.likeness, active.speed)
        self._queue.charge(assignment.job, outcome.seconds - assignment.expected)
        self._queue.wait(assignment.job, False)
        if outcome.error is not None:
            self._end(assignment.job, JobState.FAILED, *failure_of(outcome.error))
            return
        self.counters.served(piece.units)
        self._safely(active, lambda: active.run.take(assignment.task, outcome.output))
        for series, trials, payload in blocks:
            for other in self._sharing.others(assignment.job, series):
                sharer = self._active[other]
                self._safely(sharer, lambda s=sharer, b=(series, trials, payload): s.run.offer(*b))  # type: ignore[misc]
                self._queue.wait(other, False)

    def _tried(self, job: str, act: Callable[[], T]) -> T | None:
        """A failure of ours in one job ends that job and no other: then None."""
        try:
            return act()
        except InfrastructureError:
            raise
        except Exception as error:
            if not isinstance(error, InputError):
                log.exception("job %s failed", job, extra={"job": job})
            self._end(job, JobState.FAILED, *failure_of(error))
            return None

    def _safely(self, active: ActiveJob, act: Callable[[], object] = lambda: None) -> None:
        self._tried(active.record.id, act)
        if self._tried(active.record.id, lambda: active.run.finished):
            self._end(active.record.id, JobState.DONE)

    # Orders

    def _read_orders(self, now: float) -> None:
        if self._mark is None or now - self._reconciled > _RECONCILE_SECONDS:
            _, mark = self._ledger.feed(None)
            self._reconcile()
            self._ledger.tidy()
            self._mark, self._reconciled = self._mark or mark, now
        events, mark = self._ledger.feed(self._mark)
        for event in events:
            if event.kind is EventKind.QUEUED:
                self._admit(event.job, str(event.data["client"]), Priority(event.data["priority"]), event.time)
            elif event.kind is EventKind.PRIORITY and event.job in self._queue:
                self._queue.move(event.job, Priority(event.data["priority"]))
            elif event.kind.is_final:
                self._forget(event.job)
        self._mark = mark

    def _reconcile(self) -> None:
        """Compare with the ledger: events can be missed, it can't."""
        there = self._ledger.open_ids()
        open_ids = set(there)
        for job in [job for job in self._queue.jobs() if job not in open_ids]:
            self._forget(job)
        new = [job for job in there if job not in self._queue]
        for at in range(0, len(new), 500):
            for record in self._ledger.get_jobs(new[at : at + 500]):
                if record is not None and not record.state.is_final:
                    self._admit(record.id, record.client, record.priority, record.created)

    def _admit(self, job: str, client: str, priority: Priority, order: float) -> None:
        if job not in self._queue and job not in self._ending:
            self._queue.add(job, client, priority, order)
            self._courtesy.came(priority, self._clock())

    def _forget(self, job: str) -> None:
        """Stop working on a job, whose end is written already."""
        self._queue.remove(job)
        self._starting.pop(job, None)
        self._ending.pop(job, None)
        active = self._active.pop(job, None)
        if active is None:
            return
        active.run.close()
        for other in self._sharing.leave(job):
            self._queue.wait(other, False)
        if active.under_way:
            self.crew.free(job, self._clock())

    def _dispatch(self, now: float) -> bool:
        moved, begun = False, 0
        while begun < _MOST_BEGUN_A_STEP:
            job = None if self.crew.lost else self._queue.next()
            if job is not None and job not in self._active:
                begun += 1
                self._begin(job, now)
                moved = True
                continue
            brisk = job is not None and self._courtesy.asks(self._queue.priority(job), now)
            worker = self.crew.idle(alone=brisk)
            if worker is None or not (job or self.crew.lost):
                break
            assignment = self._next_of(job, brisk) if job else self.crew.lost.popleft()
            if assignment is None or assignment.job not in self._active:
                continue
            self.crew.give(worker, assignment, self._active[assignment.job].spec_of(assignment), now)
            moved = True
        self._write_starts()
        return moved

    def _write_starts(self) -> None:
        """Say which jobs have begun; said again where the ledger was away."""
        self._ledger.take(list(self._starting.values()))
        self._starting.clear()

    def _next_of(self, job: str, brisk: bool) -> Assignment | None:
        active = self._active[job]
        # Its part of the workers: the last blocks of a job are cut for as many.
        workers = self.crew.roster.ready() // len(self._active) or 1
        under_way = UnderWay(self._sharing, job, self._active)
        piece = self._tried(job, lambda: active.next(workers, under_way, brisk=brisk))
        self._sharing.note(active)
        if piece is None:
            self._safely(active)
            self._queue.wait(job, True)
            return None
        assignment = active.assignment(piece)
        self._queue.charge(job, assignment.expected)
        if active.spent:
            self._queue.spend(job)
        return assignment

    # The life of a job

    def _begin(self, job: str, now: float) -> None:
        record = self._ledger.get_job(job)
        if record is None or record.state.is_final:
            self._forget(job)
            return
        self._queue.begin(job)
        try:
            kind = self._kinds.of(record.kind)
            net, request = read(kind, record.request)
            known = self._ledger.get_result(record.key)
            if known is not None:
                report = kind.old_report(record.key, net, known, job)
                text = json.dumps(report, separators=(",", ":"))
                by_us = self._ledger.finish(job, JobState.DONE, self._wall(), report=text)
                self._ended(job, JobState.DONE, by_us, was=record)
                return
        except ValueError as error:
            if isinstance(error, InputError):
                self._end(job, JobState.FAILED, *failure_of(error))
                return
            # A result of a version with other fields: it is made again from the trials.
        run = self._tried(job, lambda: kind.begin(request, net, self._desk, self._ledger))
        if run is None:
            return
        self._starting[job] = started(job, run.total, self._wall())
        log.info("job %s begins: %s of %s", job, record.kind.value, record.client, extra={"job": job})
        active = ActiveJob(record, run, now, self._speeds.of(run.likeness))
        self._active[job] = active
        self._sharing.note(active)
        self._safely(active)

    def _end(self, job: str, state: JobState, message: str = "", code: str = "") -> None:
        """Decide how a job ends; `_conclude` writes it."""
        if job in self._queue:
            self._ending.setdefault(job, (state, message, code))
            self._queue.wait(job, True)

    def _conclude(self) -> bool:
        """Write the ends that are decided. Repeated where the ledger was away: a job ends once."""
        self._write_starts()
        moved = bool(self._ending)
        done: list[Completion] = []
        for job, (state, message, code) in list(self._ending.items()):
            active = self._active.get(job)
            if state is JobState.DONE and active is not None:
                try:
                    done.append(active.completion(self._clock()))
                    continue
                except InfrastructureError:
                    raise
                except Exception as error:
                    state, (message, code) = JobState.FAILED, failure_of(error)
            self._ended(job, state, self._ledger.finish(job, state, self._wall(), message=message, code=code), message)
        for one, by_us in zip(done, self._ledger.complete(done, self._wall()), strict=True):
            self._ended(one.job, JobState.DONE, by_us)
        return moved

    def _ended(self, job: str, state: JobState, by_us: bool, message: str = "", was: JobRecord | None = None) -> None:
        active = self._active.get(job)
        record = active.record if active is not None else was
        if by_us:
            self.counters.ended(state)
            log.info("job %s is %s%s", job, state.value, message and f": {message}", extra={"job": job})
            if record is not None:
                self._tracker(record, active, state)
        self._forget(job)

    def _note(self, now: float) -> None:
        """Tell watchers how far jobs are; look after those that can move by themselves."""
        steps: list[Change] = []
        for job, active in list(self._active.items()):
            if now - active.noted < _NOTE_SECONDS or job in self._ending:
                continue
            active.noted = now
            if active.restless:
                self._queue.wait(job, False)
            if why := active.given_up(now):
                self._end(job, JobState.FAILED, why, "deadline")
            self._safely(active)
            news = self._tried(job, lambda one=active: one.news(now, self._wall()))  # type: ignore[misc]
            steps += [news] if news is not None and job not in self._ending else []
        self._ledger.take(steps)

    def _say(self, now: float) -> None:
        if now - self._said < _STATUS_SECONDS:
            return
        self._said = now
        status = farm_status(
            owner=self._options.owner,
            now=self._wall(),
            crew=self.crew,
            queue=self._queue,
            active=len(self._active),
            in_hand=len(self._inbox),
            counters=self.counters,
            patience=self._patience,
        )
        self._ledger.put_status(status.model_dump_json().encode())
