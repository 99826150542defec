"""Evaluating a position as a job of the farm: one task, whose output is the answer.

The worker stands here and not in `workers/`, because what it runs is `cluster.answers`; it travels by name like any
other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from pydantic import Field

from cluster.answers import EvaluationOptions, evaluate_position
from cluster.cube_answers import CubeCaseName
from cluster.evaluation_schemas import EvaluationReport
from cluster.farm.desk import Desk, check_cube_names, shipped_name
from cluster.farm.kinds import Size, the_change
from cluster.farm.one_task import OneTaskJob, where_from
from cluster.filters import DEFAULT_FILTER, load_filter
from cluster.planner import content_key
from cluster.scheduling import Priority
from cluster.schemas import Model
from cluster.store import JobKind, Store
from engine.bearoff import TWO_SIDED_CHECKERS, open_databases
from engine.bearoff import VERSION as BEAROFF_VERSION
from engine.efficiency import DEFAULT_EFFICIENCY
from engine.errors import InputError
from engine.evaluator import Nets
from engine.ids import parse_position
from engine.rollout import RESULT_VERSION
from engine.rules import rule_set
from engine.search import check_level
from engine.xgid import format_xgid
from workers.nets import nets_of, weights_of
from workers.spec import Weights, WorkerSpec

_Name = Annotated[str, Field(min_length=1, max_length=40)]


class EvaluateRequest(Model):
    """A position to be evaluated."""

    position: Annotated[str, Field(min_length=1, max_length=200)]
    """XGID or GNU `positionID:matchID`."""
    level: int = Field(default=1, ge=1, le=4)
    """Plies, counted from 1."""
    rules: Annotated[str, Field(min_length=1, max_length=80)] = "international"
    cubeless: bool = False
    """Leave out the cube and the score."""
    cube: CubeCaseName | None = None
    """Look at another state of the cube, or at all of them."""
    met: _Name | None = None
    """Name of a match equity table."""
    efficiency: _Name = DEFAULT_EFFICIENCY
    filter: _Name = DEFAULT_FILTER
    """Name of a move filter."""


class EvaluateKind:
    """See `Kind`."""

    name = JobKind.EVALUATE
    request = EvaluateRequest
    result = EvaluationReport
    priority = Priority.INTERACTIVE
    summary = "Say what a position and its plays are worth, or how to handle the cube."
    example: ClassVar[Mapping[str, Any]] = {
        "position": "XGID=-b----E-C---eE---c-e----B-:0:0:1:31:0:0:0:0:10",
        "level": 2,
    }

    def key(self, request: EvaluateRequest, net: str, desk: Desk) -> str:
        """See `Kind`."""
        check_level(request.level)
        rules = rule_set(request.rules)
        position = parse_position(request.position).under(rules)
        check_cube_names(request.met, request.efficiency)
        shipped_name("filter", request.filter, "search")
        if request.cubeless and request.cube is not None:
            raise InputError("cube", request.cube.value, "no state of the cube where it is left out")
        return content_key(
            {
                "kind": "evaluate",
                "version": [RESULT_VERSION, BEAROFF_VERSION],
                "net": desk.nets(net).digest,
                "xgid": format_xgid(position),
                **request.model_dump(mode="json", exclude={"position", "rules"}),
                "rules": rules.name,
            }
        )

    def begin(self, request: EvaluateRequest, net: str, desk: Desk, store: Store) -> OneTaskJob:
        """See `Kind`."""
        nets, key = desk.nets(net), self.key(request, net, desk)
        options = EvaluationOptions(
            level=request.level,
            rules=request.rules,
            cubeless=request.cubeless,
            cube=request.cube,
            met=request.met,
            efficiency=request.efficiency,
        )
        return OneTaskJob(
            WorkerSpec(build_evaluate_worker, weights_of(nets), nets.digest),
            EvaluateTask(request.position, options, request.filter),
            lambda cost: where_from(key, nets.main.digest, cost.job, cost.seconds),
        )

    def extended(self, request: EvaluateRequest, changes: Mapping[str, Any]) -> EvaluateRequest:
        """See `Kind`: the level may rise."""
        level = the_change(changes, "level")
        if not isinstance(level, int) or not request.level < level <= 4:
            raise InputError("level", level, f"a level from {request.level + 1} to 4")
        return request.model_copy(update={"level": level})

    def size(self, request: EvaluateRequest) -> Size:
        """See `Kind`."""
        return Size(1)

    def old_report(self, key: str, net: str, result: bytes, job: str) -> dict[str, Any]:
        """See `Kind`."""
        EvaluationReport.model_validate_json(result)
        return where_from(key, net, job, 0.0)


@dataclass(frozen=True)
class EvaluateTask:
    """A position and how to look at it."""

    position: str
    options: EvaluationOptions
    filter: str

    def __repr__(self) -> str:
        return f"evaluation of {self.position}"


class EvaluateWorker:
    """Answers `EvaluateTask`s with the JSON text of an `EvaluationReport`."""

    def __init__(self, nets: Nets) -> None:
        self._nets = nets

    def run(self, task: EvaluateTask) -> bytes:
        """The answer to one task."""
        _, report = evaluate_position(
            task.position,
            task.options,
            self._nets,
            load_filter(task.filter),
            lambda: open_databases(two_sided_checkers=TWO_SIDED_CHECKERS),
        )
        return report.model_dump_json().encode()


def build_evaluate_worker(weights: Weights) -> EvaluateWorker:
    """A worker from the arrays of its nets."""
    return EvaluateWorker(nets_of(weights))
