"""Running a rollout: what is known is read, what is missing is computed, every finished block is kept before it counts.

The answer is made from the trials alone, in one place (`make_result`), so it has the same bytes whoever computed which
trial.
"""

from __future__ import annotations

import logging
import os
import socket
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace

import numpy as np
from pydantic import ValidationError

from cluster import planner
from cluster.executor import Executor
from cluster.planner import RolloutQuestion
from cluster.results import make_result
from cluster.schemas import (
    Provenance,
    RolloutReport,
    RolloutRequest,
    RolloutResult,
    Timing,
)
from cluster.store import JobKind, JobRecord, JobState, Store, TrialRange
from cluster.versions import versions
from engine.errors import GammonfarmError, InternalError
from engine.evaluator import Nets
from engine.rollout import RESULT_VERSION, TrialRows
from engine.stopping import StopReason, judge
from engine.tally import Tally
from workers.rollout import rollout_workers
from workers.tasks import RolloutTask

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Progress:
    """Where a rollout stands."""

    blocks_done: int
    blocks: int
    blocks_from_cache: int
    trials_done: int
    """Trials that all candidates still in contention have."""
    active: tuple[int, ...]
    """Numbers of the candidates still in contention."""
    tally: Tally
    """Of these, over these trials."""
    computed: int
    """Trials computed in this run, over all candidates."""


OnProgress = Callable[[Progress], None]


class _Rows:
    """The trials of all candidates, filled in as they come."""

    def __init__(self, question: RolloutQuestion) -> None:
        self.question = question
        shape = (question.trials, question.settings.row)
        self._rows = {c.series: np.zeros(shape, dtype=np.int32) for c in question.candidates}
        self.known: dict[str, list[TrialRange]] = {c.series: [] for c in question.candidates}
        """What is there, by series: rising ranges that neither overlap nor touch."""

    def add(self, series: str, trials: TrialRange, rows: TrialRows) -> None:
        """Take in the rows of a range; what lies beyond the question's trials is left out."""
        stop = min(trials.stop, self.question.trials)
        if stop > trials.first:
            self._rows[series][trials.first : stop] = rows[: stop - trials.first]
            self.known[series] = planner.joined([*self.known[series], trials])

    def complete(self, active: Sequence[int], trials: TrialRange) -> bool:
        """Whether all these candidates have all these trials."""
        return all(not planner.missing_ranges(self.known[self.question.candidates[i].series], trials) for i in active)

    def tally(self, active: Sequence[int], trials: TrialRange) -> Tally:
        """Of some candidates over a complete range."""
        parts = [self._rows[self.question.candidates[i].series][trials.first : trials.stop] for i in active]
        return Tally.of(parts, self.question.rules)


class _Meter:
    """What the progress display needs, kept up to date block by block."""

    def __init__(self, rows: _Rows, blocks: Sequence[TrialRange]) -> None:
        self._rows = rows
        self._blocks = blocks
        self._open = dict.fromkeys(blocks)
        self._next = 0
        self._active: tuple[int, ...] = ()
        self._tally = Tally.empty(0)

    def read(self, active: tuple[int, ...], ran: set[TrialRange], computed: int) -> Progress:
        """The progress with these candidates in contention."""
        if active != self._active:
            self._active, self._next, self._tally = active, 0, Tally.empty(len(active))
        for block in [block for block in self._open if self._rows.complete(active, block)]:
            del self._open[block]
        while self._next < len(self._blocks) and self._blocks[self._next] not in self._open:
            self._tally = self._tally.merge(self._rows.tally(active, self._blocks[self._next]))
            self._next += 1
        done = len(self._blocks) - len(self._open)
        from_cache = done - sum(block not in self._open for block in ran)
        return Progress(done, len(self._blocks), from_cache, self._tally.trials, active, self._tally, computed)


class _Race:
    """The state of a rollout: how far its checkpoints have been judged, from complete trials only."""

    def __init__(self, question: RolloutQuestion, rows: _Rows) -> None:
        self._question = question
        self._rows = rows
        self._left = list(question.stop.checkpoints)
        self.active: tuple[int, ...] = tuple(range(len(question.candidates)))
        self.trials = [0] * len(question.candidates)
        """Trials that count, by candidate."""
        self.stop: StopReason | None = None

    def advance(self) -> None:
        """Judge every checkpoint whose trials are complete."""
        while self.stop is None and self._rows.complete(self.active, TrialRange(0, self._left[0])):
            judged = self._left.pop(0)
            for i in self.active:
                self.trials[i] = judged
            tally = self._rows.tally(self.active, TrialRange(0, judged))
            best = tally.best()
            behind = {i: tally.difference(k, best) for k, i in enumerate(self.active) if k != best}
            verdict = judge(
                self._question.stop,
                judged,
                len(self._question.candidates),
                self.active,
                self.active[best],
                tally.equity(best),
                behind,
            )
            self.active, self.stop = verdict.active, verdict.stop

    def tasks(self, started: set[TrialRange]) -> Iterator[RolloutTask]:
        """Tasks in the order in which they are wanted; ends when nothing more can be needed.

        Asked for more while a checkpoint still waits for its last blocks, it goes on beyond the checkpoint with the
        candidates of now: idle workers guess, and a wrong guess only leaves trials in the cache that don't count yet.
        """
        asked: dict[str, list[TrialRange]] = {series: list(known) for series, known in self._rows.known.items()}
        for block in planner.blocks_of(self._question):
            if self.stop is not None:
                return
            for task in planner.missing_tasks(self._question, asked, block, self.active):
                for series in task.series:
                    asked[series].append(TrialRange(task.first, task.count))
                started.add(block)
                yield task


class RolloutRun:
    """One rollout from question to report."""

    def __init__(self, request: RolloutRequest, question: RolloutQuestion, nets: Nets, store: Store) -> None:
        self._question = question
        self._nets = nets
        self._store = store
        now = time.time()
        self._job = JobRecord(
            id=uuid.uuid4().hex[:12],
            kind=JobKind.ROLLOUT,
            state=JobState.RUNNING,
            request=request.model_dump_json(),
            created=now,
            updated=now,
            blocks_total=len(planner.blocks_of(question)),
            owner=f"{socket.gethostname()}/{os.getpid()}",
        )

    def run(self, executor_for: Callable[[], Executor], on_progress: OnProgress) -> RolloutReport:
        """Answer the question.

        Args:
            executor_for: called only if something has to be computed.
            on_progress: called after every block that is complete for all candidates.
        """
        started = time.perf_counter()
        fail_abandoned_jobs(self._store)
        self._store.put_job(self._job)
        try:
            report = self._known_answer(on_progress, started) or self._answer(executor_for, on_progress, started)
        except Exception as error:
            self._finish(JobState.FAILED, str(error) if isinstance(error, GammonfarmError) else repr(error))
            raise
        except BaseException:  # Ctrl-C, or the exit that SIGTERM asks for
            self._finish(JobState.CANCELLED, "interrupted")
            raise
        self._finish(JobState.DONE, "")
        return report

    def _finish(self, state: JobState, message: str) -> None:
        try:
            self._store.put_job(replace(self._job, state=state, message=message, updated=time.time()))
        except GammonfarmError as error:
            # The error that ends the job is the one to report; this one would only hide it.
            log.warning("job %s could not be marked %s: %s", self._job.id, state, error)

    def _known_answer(self, on_progress: OnProgress, started: float) -> RolloutReport | None:
        """The answer, if the same question has been answered before."""
        stored = self._store.get_result(self._question.key)
        if stored is None:
            return None
        try:
            result = RolloutResult.model_validate_json(stored)
        except ValidationError:
            return None  # written by a version with other fields; the trials are still good
        trials = sum(candidate.trials for candidate in result.candidates)
        blocks = len(planner.blocks_of(self._question, TrialRange(0, max(c.trials for c in result.candidates))))
        on_progress(Progress(blocks, blocks, blocks, 0, (), Tally.empty(0), 0))
        return self._report(result, started, blocks=(blocks, blocks), trials=(trials, trials))

    def _answer(self, executor_for: Callable[[], Executor], on_progress: OnProgress, started: float) -> RolloutReport:
        question = self._question
        rows = self._read_known()
        before = {series: list(known) for series, known in rows.known.items()}
        race = _Race(question, rows)
        race.advance()
        blocks = planner.blocks_of(question)
        ran: set[TrialRange] = set()
        executor_name, workers, retries, computed = "none", 0, 0, 0
        meter = _Meter(rows, blocks)
        on_progress(meter.read(race.active, ran, computed))
        if race.stop is None:
            executor = executor_for()
            executor_name, workers = str(executor.describe().get("executor", "unknown")), executor.workers
            with closing(executor.map_unordered(rollout_workers(self._nets), race.tasks(ran))) as results:
                for completed in results:
                    task = completed.task
                    retries += completed.attempts - 1
                    computed += task.count * len(task.candidates)
                    self._keep(task, completed.output.rows, rows)
                    race.advance()
                    progress = meter.read(race.active, ran, computed)
                    self._job = replace(self._job, blocks_done=progress.blocks_done, updated=time.time())
                    on_progress(progress)
                    if race.stop is not None:
                        break
        if race.stop is None:
            raise InternalError("the executor ended before all trials were there")
        result = make_result(question, rows.tally, race.trials, race.stop)
        self._store.put_result(question.key, result.model_dump_json().encode())
        visited = planner.blocks_of(question, TrialRange(0, max(race.trials)))
        wanted = {c.series: TrialRange(0, n) for c, n in zip(question.candidates, race.trials, strict=True)}
        gaps = (gap for series, all_ in wanted.items() for gap in planner.missing_ranges(before[series], all_))
        missing = sum(gap.count for gap in gaps)
        total = sum(race.trials)
        return self._report(
            result,
            started,
            blocks=(len(visited), sum(block not in ran for block in visited)),
            trials=(total, total - missing),
            computed=computed,
            executor=executor_name,
            workers=workers,
            retries=retries,
        )

    def _report(
        self,
        result: RolloutResult,
        started: float,
        blocks: tuple[int, int],
        trials: tuple[int, int],
        *,
        computed: int = 0,
        executor: str = "none",
        workers: int = 0,
        retries: int = 0,
    ) -> RolloutReport:
        """The answer with its origin; `blocks` and `trials` (over all candidates): (all, from the cache)."""
        question = self._question
        seconds = time.perf_counter() - started
        return RolloutReport(
            result=result,
            provenance=Provenance(
                key=question.key,
                net=question.net,
                seed=question.settings.seed,
                result_version=RESULT_VERSION,
                device="cpu",
                executor=executor,
                workers=workers,
                blocks=blocks[0],
                blocks_from_cache=blocks[1],
                trials=trials[0],
                trials_from_cache=trials[1],
                retries=retries,
                job=self._job.id,
                versions=versions(),
            ),
            timing=Timing(seconds=seconds, trials_per_second=computed / seconds if computed else 0.0),
        )

    def _read_known(self) -> _Rows:
        rows = _Rows(self._question)
        for candidate in self._question.candidates:
            for trials, payload in self._store.blocks(candidate.series).items():
                row = self._question.settings.row
                if len(payload) != trials.count * row * 4:
                    raise InternalError(f"block {trials} of series {candidate.series} has {len(payload)} bytes")
                rows.add(candidate.series, trials, np.frombuffer(payload, dtype="<i4").reshape(trials.count, row))
        return rows

    def _keep(self, task: RolloutTask, outputs: tuple[TrialRows, ...], rows: _Rows) -> None:
        trials = TrialRange(task.first, task.count)
        for series, part in zip(task.series, outputs, strict=True):
            self._store.put_block(series, trials, np.ascontiguousarray(part, dtype="<i4").tobytes())
            rows.add(series, trials, part)


def fail_abandoned_jobs(store: Store) -> None:
    """Mark the running jobs of this machine whose process is gone: a kill leaves nobody to do it.

    Only the latest jobs are looked at, so that a long history costs nothing.
    """
    for job in store.list_jobs(limit=100):
        if job.state is not JobState.RUNNING:
            continue
        host, _, pid = job.owner.rpartition("/")
        if host == socket.gethostname() and pid.isdigit() and not _is_alive(int(pid)):
            store.put_job(replace(job, state=JobState.FAILED, message="its process ended", updated=time.time()))


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # somebody else's process, alive
    return True
