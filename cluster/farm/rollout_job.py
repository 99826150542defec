"""Rollouts as jobs of the farm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from cluster import planner
from cluster.farm.desk import Desk, check_cube_names
from cluster.farm.kinds import Cost, Piece, Size, the_change
from cluster.ledger import Block
from cluster.planner import RolloutQuestion
from cluster.rollout_steps import RolloutSteps, blocks_of_output, rows_of
from cluster.scheduling import Priority
from cluster.schemas import MAX_TRIALS, Provenance, RolloutRequest, RolloutResult, Timing
from cluster.store import JobKind, Store, TrialRange
from cluster.versions import versions
from engine.analysis.position_type import PositionType, position_type
from engine.board import pips
from engine.errors import InputError
from engine.rollout import RESULT_VERSION
from workers.rollout import rollout_workers
from workers.tasks import RolloutOutput, RolloutTask


class RolloutKind:
    """See `Kind`."""

    name = JobKind.ROLLOUT
    request = RolloutRequest
    result = RolloutResult
    priority = Priority.NORMAL
    summary = "Play a position out many times."
    example: ClassVar[Mapping[str, Any]] = {
        "position": "XGID=--ABBBC-B---eB---c-cbb--A-:0:0:1:56:0:0:0:0:10",
        "plays": ["24/13", "13/8 13/7"],
        "trials": 1296,
    }

    def key(self, request: RolloutRequest, net: str, desk: Desk) -> str:
        """See `Kind`."""
        return _plan(request, net, desk).key

    def begin(self, request: RolloutRequest, net: str, desk: Desk, store: Store) -> RolloutJob:
        """See `Kind`."""
        question = _plan(request, net, desk)
        return RolloutJob(RolloutSteps(question, store), desk, net)

    def extended(self, request: RolloutRequest, changes: Mapping[str, Any]) -> RolloutRequest:
        """See `Kind`: `trials` may rise."""
        trials = the_change(changes, "trials")
        if not isinstance(trials, int) or not request.trials < trials <= MAX_TRIALS:
            raise InputError("trials", trials, f"a whole number from {request.trials + 1} to {MAX_TRIALS}")
        return request.model_copy(update={"trials": trials})

    def size(self, request: RolloutRequest) -> Size:
        """See `Kind`: trials of all candidates."""
        return Size(request.trials * (len(request.plays) or request.candidates))

    def old_report(self, key: str, net: str, result: bytes, job: str) -> dict[str, Any]:
        """See `Kind`."""
        known = RolloutResult.model_validate_json(result)
        trials = sum(candidate.trials for candidate in known.candidates)
        return _report(key, net, known.seed, job, trials=(trials, trials))


class RolloutJob:
    """See `JobRun`; its unit is a trial of one candidate."""

    minutes: float | None = None

    def __init__(self, steps: RolloutSteps, desk: Desk, net: str) -> None:
        self._steps = steps
        self._question = steps.question
        self._spec = rollout_workers(desk.nets(net))
        self.series = tuple(candidate.series for candidate in steps.question.candidates)
        self.likeness = _likeness(steps.question)

    @property
    def finished(self) -> bool:
        """See `JobRun`."""
        return self._steps.finished

    @property
    def total(self) -> int:
        """See `JobRun`."""
        return self._question.trials * len(self._question.candidates)

    @property
    def done(self) -> int:
        """See `JobRun`."""
        return self._steps.trials_known()

    @property
    def left(self) -> int:
        """See `JobRun`."""
        return self._steps.trials_left()

    def pieces(self, units: int, under_way: Mapping[str, Sequence[TrialRange]]) -> list[Piece]:
        """See `JobRun`."""
        size = max(1, units // max(self._steps.contenders, 1))
        return [
            Piece(
                self._spec,
                task,
                task.count * len(task.candidates),
                tuple((series, TrialRange(task.first, task.count)) for series in task.series),
            )
            for task in self._steps.next_tasks(size, under_way)
        ]

    def blocks(self, task: RolloutTask, output: RolloutOutput) -> list[Block]:
        """See `JobRun`."""
        return blocks_of_output(task, output)

    def take(self, task: RolloutTask, output: RolloutOutput) -> None:
        """See `JobRun`."""
        for series, rows in zip(task.series, output.rows, strict=True):
            self._steps.take(series, TrialRange(task.first, task.count), rows)
        self._steps.advance(computed=task.count * len(task.candidates))

    def offer(self, series: str, trials: TrialRange, payload: bytes) -> None:
        """See `JobRun`."""
        self._steps.take(series, trials, rows_of(self._question, series, trials, payload))
        self._steps.advance()

    def progress(self) -> dict[str, Any]:
        """See `JobRun`: the leading candidate and its error over the trials that all in contention have."""
        progress = self._steps.progress()
        said: dict[str, Any] = {"trials": progress.trials_done, "contenders": len(progress.active)}
        if progress.tally.trials >= 2:
            best = progress.tally.best()
            equity = progress.tally.equity(best)
            said["best"] = self._question.candidates[progress.active[best]].play
            said["equity"], said["se"] = round(equity.mean, 6), round(min(equity.se, 3.0), 6)
        return said

    def result(self) -> bytes:
        """See `JobRun`."""
        return self._steps.result().model_dump_json().encode()

    def report(self, cost: Cost) -> dict[str, Any]:
        """See `JobRun`."""
        question = self._question
        return _report(
            question.key,
            question.net,
            question.settings.seed,
            cost.job,
            blocks=self._steps.blocks_counted(),
            trials=self._steps.trials_counted(),
            cost=cost,
            computed=self._steps.computed,
        )

    def close(self) -> None:
        """See `JobRun`."""


def _plan(request: RolloutRequest, net: str, desk: Desk) -> RolloutQuestion:
    request = request.model_copy(update={"met": check_cube_names(request.met, request.efficiency)})
    with desk.quiet:
        question = planner.plan(request, desk.evaluator(net, None))
        if question.settings.uses_bearoff:
            # Only now that the question makes sense: the first time they must be built.
            question = planner.plan(request, desk.evaluator(net, request.bearoff_checkers))
        return question


def _likeness(question: RolloutQuestion) -> str:
    """What a trial's time depends on most: how plays are chosen, how long games are (pips, in steps of two), and how
    soon the databases end them: a trial that begins there is over four hundred times as soon as one without them.
    """
    settings, board = question.settings, question.position.board
    length = sum(pips(board)).bit_length()
    type_ = position_type(board)
    ends = (type_.has_contact, type_ is PositionType.BEAR_OFF)
    played = (settings.level, settings.truncate, settings.variance_reduction, settings.cube is not None)
    return " ".join(map(str, ("trials", question.net, *played, length, settings.uses_bearoff, *ends)))


def _report(
    key: str,
    net: str,
    seed: int,
    job: str,
    *,
    trials: tuple[int, int],
    blocks: tuple[int, int] = (0, 0),
    cost: Cost | None = None,
    computed: int = 0,
) -> dict[str, Any]:
    """Provenance and timing; without a cost, of an answer that was there."""
    seconds = cost.seconds if cost else 0.0
    provenance = Provenance(
        key=key,
        net=net,
        seed=seed,
        result_version=RESULT_VERSION,
        device="cpu",
        executor="farm",
        workers=cost.workers if cost else 0,
        blocks=blocks[0],
        blocks_from_cache=blocks[1],
        trials=trials[0],
        trials_from_cache=trials[1],
        retries=cost.retries if cost else 0,
        job=job,
        versions=versions(),
    )
    timing = Timing.of(seconds, computed)
    return {"provenance": provenance.model_dump(), "timing": timing.model_dump()}
