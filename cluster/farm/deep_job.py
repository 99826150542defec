"""Deep analyses as jobs of the farm: two rollouts, the halves of the simulation, and the answer that both give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pydantic import ValidationError

from cluster.deep import planner
from cluster.deep.planner import DeepQuestion
from cluster.deep.results import make_result, standings
from cluster.deep.schemas import DeepProvenance, DeepRequest, DeepResult
from cluster.farm.desk import Desk, check_cube_names, shipped_name
from cluster.farm.kinds import Cost, Piece, Size, the_change
from cluster.farm.rollout_job import RolloutJob
from cluster.ledger import Block
from cluster.rollout_steps import RolloutSteps
from cluster.scheduling import Priority
from cluster.schemas import Timing
from cluster.store import JobKind, Store, TrialRange
from cluster.versions import versions
from engine.errors import InputError
from engine.rollout import RESULT_VERSION
from workers.tasks import RolloutOutput, RolloutTask


class DeepKind:
    """See `Kind`."""

    name = JobKind.DEEP
    request = DeepRequest
    result = DeepResult
    priority = Priority.NORMAL
    summary = "Say what a decision comes to by a search and a long simulation together, and what noise may do to it."
    example: ClassVar[Mapping[str, Any]] = {
        "position": "XGID=--ABBBC-B---eB---c-cbb--A-:0:0:1:56:0:0:0:0:10",
        "trials": 6912,
    }

    def key(self, request: DeepRequest, net: str, desk: Desk) -> str:
        """See `Kind`."""
        return _plan(request, net, desk).key

    def begin(self, request: DeepRequest, net: str, desk: Desk, store: Store) -> DeepJob:
        """See `Kind`."""
        return DeepJob(_plan(request, net, desk), desk, net, store)

    def extended(self, request: DeepRequest, changes: Mapping[str, Any]) -> DeepRequest:
        """See `Kind`: `trials` may rise."""
        trials = the_change(changes, "trials")
        try:
            if not isinstance(trials, int) or trials <= request.trials:
                raise ValueError
            return DeepRequest.model_validate({**request.model_dump(), "trials": trials})
        except (ValidationError, ValueError):
            raise InputError("trials", trials, f"more than {request.trials}, a multiple of 72") from None

    def size(self, request: DeepRequest) -> Size:
        """See `Kind`: trials of all candidates."""
        return Size(request.trials * (len(request.plays) or request.candidates))

    def old_report(self, key: str, net: str, result: bytes, job: str) -> dict[str, Any]:
        """See `Kind`."""
        known = DeepResult.model_validate_json(result)
        trials = sum(candidate.trials for candidate in known.candidates)
        return _report(key, net, job, trials, trials, None)


class DeepJob:
    """See `JobRun`; its unit is a trial of one candidate. The first half is handed out before the second."""

    minutes: float | None = None

    def __init__(self, question: DeepQuestion, desk: Desk, net: str, store: Store) -> None:
        self._question = question
        self._steps = tuple(RolloutSteps(half, store) for half in question.halves)
        self._halves = tuple(RolloutJob(steps, desk, net) for steps in self._steps)
        self._half_of = {series: half for half in self._halves for series in half.series}
        self.series = tuple(self._half_of)
        self.likeness = self._halves[0].likeness

    @property
    def finished(self) -> bool:
        """See `JobRun`."""
        return all(half.finished for half in self._halves)

    @property
    def total(self) -> int:
        """See `JobRun`."""
        return sum(half.total for half in self._halves)

    @property
    def done(self) -> int:
        """See `JobRun`."""
        return sum(half.done for half in self._halves)

    @property
    def left(self) -> int:
        """See `JobRun`."""
        return sum(half.left for half in self._halves)

    def pieces(self, units: int, under_way: Mapping[str, Sequence[TrialRange]]) -> list[Piece]:
        """See `JobRun`."""
        return next((found for half in self._halves if (found := half.pieces(units, under_way))), [])

    def blocks(self, task: RolloutTask, output: RolloutOutput) -> list[Block]:
        """See `JobRun`."""
        return self._half_of[task.series[0]].blocks(task, output)

    def take(self, task: RolloutTask, output: RolloutOutput) -> None:
        """See `JobRun`."""
        self._half_of[task.series[0]].take(task, output)

    def offer(self, series: str, trials: TrialRange, payload: bytes) -> None:
        """See `JobRun`."""
        self._half_of[series].offer(series, trials, payload)

    def progress(self) -> dict[str, Any]:
        """See `JobRun`: the candidate that is best now, with the error of the simulation."""
        first, second = (steps.progress().tally for steps in self._steps)
        said: dict[str, Any] = {"trials": first.trials + second.trials}
        if said["trials"]:
            best = max(standings(self._question, (first, second)), key=lambda one: one.equity)
            said["best"], said["equity"] = best.asked.play, round(best.equity, 6)
        return said

    def result(self) -> bytes:
        """See `JobRun`."""
        first, second = self._steps
        return make_result(self._question, first.tally, second.tally).model_dump_json().encode()

    def report(self, cost: Cost) -> dict[str, Any]:
        """See `JobRun`."""
        counted = [steps.trials_counted() for steps in self._steps]
        trials, cached = (sum(numbers) for numbers in zip(*counted, strict=True))
        return _report(self._question.key, self._question.halves[0].net, cost.job, trials, cached, cost)

    def close(self) -> None:
        """See `JobRun`."""


def _plan(request: DeepRequest, net: str, desk: Desk) -> DeepQuestion:
    request = request.model_copy(update={"met": check_cube_names(request.met, request.efficiency)})
    shipped_name("filter", request.filter, "search")
    with desk.quiet:
        return planner.plan(request, lambda checkers: desk.evaluator(net, checkers))


def _report(key: str, net: str, job: str, trials: int, cached: int, cost: Cost | None) -> dict[str, Any]:
    """Provenance and timing; without a cost, of an answer that was there."""
    seconds = cost.seconds if cost else 0.0
    computed = trials - cached
    provenance = DeepProvenance(
        key=key,
        net=net,
        result_version=RESULT_VERSION,
        device="cpu",
        executor="farm",
        workers=cost.workers if cost else 0,
        trials=trials,
        trials_from_cache=cached,
        retries=cost.retries if cost else 0,
        jobs=(job,),
        versions=versions(),
    )
    timing = Timing.of(seconds, computed)
    return {"provenance": provenance.model_dump(), "timing": timing.model_dump()}
