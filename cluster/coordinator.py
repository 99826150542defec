"""Running a rollout: what is known is read, what is missing is computed, every finished block is kept before it counts.

The answer is made from the trials alone, in one place (`make_result`), so it has the same bytes whoever computed which
trial.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing

from pydantic import ValidationError

from cluster import planner
from cluster.executor import Executor
from cluster.local_job import LocalJob
from cluster.planner import RolloutQuestion
from cluster.results import TallyOf
from cluster.rollout_progress import Progress
from cluster.rollout_steps import RolloutSteps, blocks_of_output
from cluster.schemas import (
    Provenance,
    RolloutReport,
    RolloutRequest,
    RolloutResult,
    Timing,
)
from cluster.store import JobKind, Store, TrialRange
from cluster.versions import versions
from engine.evaluator import Nets
from engine.rollout import RESULT_VERSION
from engine.tally import Tally
from workers.rollout import rollout_workers
from workers.tasks import RolloutOutput, RolloutTask

OnProgress = Callable[[Progress], None]


class RolloutRun:
    """One rollout from question to report."""

    def __init__(self, request: RolloutRequest, question: RolloutQuestion, nets: Nets, store: Store) -> None:
        self._question = question
        self._nets = nets
        self._store = store
        blocks = len(planner.blocks_of(question))
        self._job = LocalJob(store, JobKind.ROLLOUT, request.model_dump_json(), blocks)

    def run(
        self,
        executor_for: Callable[[], Executor],
        on_progress: OnProgress,
        on_trials: Callable[[TallyOf], None] | None = None,
    ) -> RolloutReport:
        """Answer the question.

        Args:
            executor_for: called only if something has to be computed.
            on_progress: called after every block that is complete for all candidates.
            on_trials: called at the end with the tallies of the trials that count, for who wants more of them than
                the answer; then all of them are read, also where the answer is known.
        """
        started = time.perf_counter()
        with self._job:
            report = None if on_trials else self._known_answer(on_progress, started)
            return report or self._answer(executor_for, on_progress, on_trials, started)

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

    def _answer(
        self,
        executor_for: Callable[[], Executor],
        on_progress: OnProgress,
        on_trials: Callable[[TallyOf], None] | None,
        started: float,
    ) -> RolloutReport:
        question = self._question
        steps = RolloutSteps(question, self._store)
        executor_name, workers, retries = "none", 0, 0
        on_progress(steps.progress())
        if not steps.finished:
            executor = executor_for()
            executor_name, workers = str(executor.describe().get("executor", "unknown")), executor.workers
            with closing(executor.map_unordered(rollout_workers(self._nets), steps.tasks())) as results:
                for completed in results:
                    task = completed.task
                    retries += completed.attempts - 1
                    self._keep(task, completed.output, steps)
                    steps.advance(computed=task.count * len(task.candidates))
                    progress = steps.progress()
                    self._job.advance(progress.blocks_done)
                    on_progress(progress)
                    if steps.finished:
                        break
        result = steps.result()
        self._store.put_result(question.key, result.model_dump_json().encode())
        if on_trials:
            on_trials(steps.tally)
        return self._report(
            result,
            started,
            blocks=steps.blocks_counted(),
            trials=steps.trials_counted(),
            computed=steps.computed,
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
            timing=Timing.of(seconds, computed),
        )

    def _keep(self, task: RolloutTask, output: RolloutOutput, steps: RolloutSteps) -> None:
        for block in blocks_of_output(task, output):
            self._store.put_block(*block)
        for series, rows in zip(task.series, output.rows, strict=True):
            steps.take(series, TrialRange(task.first, task.count), rows)
