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
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from pydantic import ValidationError

from cluster import planner
from cluster.executor import Executor
from cluster.planner import RolloutQuestion
from cluster.schemas import (
    CandidateResult,
    Probabilities,
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
from engine.rollout import RESULT_VERSION, ROW, TrialRows
from engine.tally import Tally
from engine.xgid import format_xgid
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
    """Trials for which all candidates are complete."""
    tally: Tally


OnProgress = Callable[[Progress], None]


class _Rows:
    """The trials of all candidates, filled in as they come."""

    def __init__(self, question: RolloutQuestion) -> None:
        self.question = question
        self._rows = {c.series: np.zeros((question.trials, ROW), dtype=np.int32) for c in question.candidates}
        self.known: dict[str, list[TrialRange]] = {c.series: [] for c in question.candidates}

    def add(self, series: str, trials: TrialRange, rows: TrialRows) -> None:
        """Take in the rows of a range; what lies beyond the question's trials is left out."""
        stop = min(trials.stop, self.question.trials)
        if stop > trials.first:
            self._rows[series][trials.first : stop] = rows[: stop - trials.first]
            self.known[series].append(trials)

    def tally(self, trials: TrialRange) -> Tally:
        """Of a complete range."""
        parts = [self._rows[c.series][trials.first : trials.stop] for c in self.question.candidates]
        return Tally.of(parts, self.question.rules)


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

    def _known_answer(self, on_progress: OnProgress, started: float) -> RolloutReport | None:
        """The answer, if the same question has been answered before."""
        stored = self._store.get_result(self._question.key)
        if stored is None:
            return None
        try:
            result = RolloutResult.model_validate_json(stored)
        except ValidationError:
            return None  # written by a version with other fields; the trials are still good
        blocks = len(planner.blocks_of(self._question))
        trials = self._question.trials
        tally = Tally.empty(len(self._question.candidates))
        on_progress(Progress(blocks, blocks, blocks, trials, tally))
        return self._report(result, started, from_cache=(blocks, trials * len(self._question.candidates)))

    def _finish(self, state: JobState, message: str) -> None:
        try:
            self._store.put_job(replace(self._job, state=state, message=message, updated=time.time()))
        except GammonfarmError as error:
            # The error that ends the job is the one to report; this one would only hide it.
            log.warning("job %s could not be marked %s: %s", self._job.id, state, error)

    def _answer(self, executor_for: Callable[[], Executor], on_progress: OnProgress, started: float) -> RolloutReport:
        question = self._question
        rows = self._read_known()
        blocks = planner.blocks_of(question)
        open_blocks = dict(planner.missing_tasks(question, rows.known))
        cached_trials = question.trials * len(question.candidates) - sum(
            task.count * len(task.candidates) for tasks in open_blocks.values() for task in tasks
        )
        tally = Tally.empty(len(question.candidates))
        for block in blocks:
            if block not in open_blocks:
                tally = tally.merge(rows.tally(block))
        from_cache = len(blocks) - len(open_blocks)
        on_progress(Progress(from_cache, len(blocks), from_cache, tally.trials, tally))
        executor_name, workers, retries = "none", 0, 0
        if open_blocks:
            executor = executor_for()
            described = executor.describe()
            executor_name, workers = str(described.get("executor", "unknown")), executor.workers
            waiting = {block: len(tasks) for block, tasks in open_blocks.items()}
            tasks = (task for tasks in open_blocks.values() for task in tasks)
            for completed in executor.map_unordered(rollout_workers(self._nets), tasks):
                task = completed.task
                retries += completed.attempts - 1
                self._keep(task, completed.output.rows, rows)
                block = self._block_of(task)
                waiting[block] -= 1
                if waiting[block] == 0:
                    del waiting[block]
                    tally = tally.merge(rows.tally(block))
                    done = len(blocks) - len(waiting)
                    self._job = replace(self._job, blocks_done=done, updated=time.time())
                    on_progress(Progress(done, len(blocks), from_cache, tally.trials, tally))
        result = make_result(question, tally)
        self._store.put_result(question.key, result.model_dump_json().encode())
        return self._report(
            result, started, (from_cache, cached_trials), executor=executor_name, workers=workers, retries=retries
        )

    def _report(
        self,
        result: RolloutResult,
        started: float,
        from_cache: tuple[int, int],
        *,
        executor: str = "none",
        workers: int = 0,
        retries: int = 0,
    ) -> RolloutReport:
        """The answer with its origin; `from_cache` = (blocks, trials over all candidates)."""
        question = self._question
        seconds = time.perf_counter() - started
        computed = question.trials * len(question.candidates) - from_cache[1]
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
                blocks=len(planner.blocks_of(question)),
                blocks_from_cache=from_cache[0],
                trials_from_cache=from_cache[1],
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
                if len(payload) != trials.count * ROW * 4:
                    raise InternalError(f"block {trials} of series {candidate.series} has {len(payload)} bytes")
                rows.add(candidate.series, trials, np.frombuffer(payload, dtype="<i4").reshape(trials.count, ROW))
        return rows

    def _keep(self, task: RolloutTask, outputs: tuple[TrialRows, ...], rows: _Rows) -> None:
        trials = TrialRange(task.first, task.count)
        for series, part in zip(task.series, outputs, strict=True):
            self._store.put_block(series, trials, np.ascontiguousarray(part, dtype="<i4").tobytes())
            rows.add(series, trials, part)

    def _block_of(self, task: RolloutTask) -> TrialRange:
        size = self._question.block
        first = task.first // size * size
        return TrialRange(first, min(size, self._question.trials - first))


def fail_abandoned_jobs(store: Store) -> None:
    """Mark the running jobs of this machine whose process is gone: a kill leaves nobody to do it."""
    for job in store.list_jobs(JobState.RUNNING):
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


def make_result(question: RolloutQuestion, tally: Tally) -> RolloutResult:
    """The exact part of the answer: a function of the question and its trials, candidates best first."""
    order = sorted(range(len(question.candidates)), key=lambda i: (-tally.equity_sums[i], i))
    best = order[0]
    settings = question.settings
    return RolloutResult(
        xgid=format_xgid(question.position),
        rules=settings.rules.name,
        net=question.net,
        seed=settings.seed,
        truncate=settings.truncate,
        variance_reduction=settings.variance_reduction,
        candidates=tuple(_candidate(question, tally, i, best) for i in order),
    )


def _candidate(question: RolloutQuestion, tally: Tally, i: int, best: int) -> CandidateResult:
    equity = tally.equity(i)
    difference = tally.difference(i, best)
    outcome = tally.outcome(i)
    luck = tally.luck(i)
    return CandidateResult(
        play=question.candidates[i].play,
        level=question.settings.level,
        equity=equity.mean,
        se=_finite(equity.se),
        difference=0.0 if i == best else difference.mean,
        difference_se=0.0 if i == best else _finite(difference.se),
        probabilities=Probabilities.of([p.mean for p in outcome]),
        probabilities_se=Probabilities.of([_finite(p.se) for p in outcome]),
        trials=tally.trials,
        luck=luck.mean,
        luck_se=_finite(luck.se),
    )


def _finite(se: float) -> float:
    """One trial has no standard error; JSON has no infinity, and the largest equity is a bound that says as much."""
    return se if se < 3.0 else 3.0
