"""Running a deep analysis: its halves are two ordinary rollouts, so they are kept, resumed and shared like all."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from pydantic import ValidationError

from cluster.coordinator import RolloutRun
from cluster.deep.planner import HALVES, DeepQuestion
from cluster.deep.results import make_result
from cluster.deep.schemas import DeepProvenance, DeepReport, DeepResult
from cluster.executor import Executor
from cluster.results import TallyOf
from cluster.rollout_progress import Progress
from cluster.schemas import RolloutReport, Timing
from cluster.store import Store
from cluster.versions import versions
from engine.errors import InternalError
from engine.evaluator import Nets
from engine.rollout import RESULT_VERSION


@dataclass(frozen=True)
class DeepProgress:
    """Where a deep analysis stands: where each half does, None if it has not begun."""

    halves: tuple[Progress | None, Progress | None] = (None, None)


class DeepRun:
    """One deep analysis from question to report."""

    def __init__(self, question: DeepQuestion, nets: Nets, store: Store) -> None:
        self._question = question
        self._nets = nets
        self._store = store

    def run(self, executor_for: Callable[[], Executor], on_progress: Callable[[DeepProgress], None]) -> DeepReport:
        """Answer the question.

        Args:
            executor_for: called only if something has to be computed; gives the same executor each time.
            on_progress: called whenever a half has come on.
        """
        started = time.perf_counter()
        question = self._question
        known = self._known_answer()
        if known is not None:
            trials = sum(candidate.trials for candidate in known.candidates)
            return self._report(known, (), trials, started)
        progress = DeepProgress()
        tallies: list[TallyOf] = []
        reports: list[RolloutReport] = []
        for number in range(HALVES):

            def moved(half: Progress, number: int = number) -> None:
                nonlocal progress
                first, second = progress.halves
                progress = replace(progress, halves=(half, second) if number == 0 else (first, half))
                on_progress(progress)

            run = RolloutRun(question.requests[number], question.halves[number], self._nets, self._store)
            reports.append(run.run(executor_for, moved, tallies.append))
        if len(tallies) != HALVES:
            raise InternalError(f"{len(tallies)} halves of a deep analysis have ended")
        result = make_result(question, *tallies)
        self._store.put_result(question.key, result.model_dump_json().encode())
        return self._report(result, tuple(reports), sum(r.provenance.trials_from_cache for r in reports), started)

    def _known_answer(self) -> DeepResult | None:
        """The answer, if the same question has been answered before."""
        stored = self._store.get_result(self._question.key)
        if stored is None:
            return None
        try:
            return DeepResult.model_validate_json(stored)
        except ValidationError:
            return None  # written by a version with other fields; the trials are still good

    def _report(
        self, result: DeepResult, halves: tuple[RolloutReport, ...], from_cache: int, started: float
    ) -> DeepReport:
        seconds = time.perf_counter() - started
        trials = sum(candidate.trials for candidate in result.candidates)
        worked = [half.provenance for half in halves if half.provenance.workers]
        computed = trials - from_cache
        return DeepReport(
            result=result,
            provenance=DeepProvenance(
                key=self._question.key,
                net=result.net,
                result_version=RESULT_VERSION,
                device="cpu",
                executor=worked[0].executor if worked else "none",
                workers=worked[0].workers if worked else 0,
                trials=trials,
                trials_from_cache=from_cache,
                retries=sum(half.provenance.retries for half in halves),
                jobs=tuple(half.provenance.job for half in halves),
                versions=versions(),
            ),
            timing=Timing.of(seconds, computed),
        )
