"""Endpoints for those who run the farm: health, readiness, status, metrics, kinds of jobs."""

from __future__ import annotations

from fastapi import APIRouter, Depends, Request
from fastapi.responses import JSONResponse, Response
from pydantic import ValidationError

from cluster.farm.status import FarmStatus
from cluster.ledger import Ledger
from cluster.service.app import CallerDependency, SharedDependency, caller_of
from cluster.service.metrics import CONTENT_TYPE
from cluster.service.problems import ProblemError
from cluster.service_models import Health, KindView
from engine.errors import InfrastructureError

router = APIRouter(tags=["operations"])


@router.get("/health", summary="Whether this process lives")
def health() -> Health:
    """Always ok: it looks at nothing else."""
    return Health(status="ok")


@router.get("/ready", summary="Whether jobs are accepted and worked on")
def ready(shared: SharedDependency) -> JSONResponse:
    """200 when Redis answers and a coordinator spoke within a minute, else 503 with the reason."""
    try:
        shared.ledger.ping()
        there = read_status(shared.ledger) is not None
    except InfrastructureError:
        found = Health(status="away", detail="Redis does not answer")
    else:
        found = Health(status="ok") if there else Health(status="away", detail="no coordinator spoke within a minute")
    return JSONResponse(found.model_dump(), 200 if found.status == "ok" else 503)


@router.get("/metrics", summary="Numbers for Prometheus", response_class=Response)
def metrics(shared: SharedDependency, caller: CallerDependency) -> Response:
    """Text in the format of Prometheus."""
    try:
        status = read_status(shared.ledger)
    except InfrastructureError:
        status = None
    return Response(shared.metrics.text(shared.hub.open, status), media_type=CONTENT_TYPE)


@router.get("/v1/status", summary="Workers, queue, rates, why idle", dependencies=[Depends(caller_of)])
def status(shared: SharedDependency) -> FarmStatus:
    """What the coordinator said last."""
    found = read_status(shared.ledger)
    if found is None:
        raise ProblemError(503, "no coordinator spoke within a minute", retry_after=5)
    return found


@router.get("/v1/kinds", summary="Kinds of jobs with their models", dependencies=[Depends(caller_of)])
def kinds(shared: SharedDependency) -> list[KindView]:
    """All that can be submitted."""
    return [
        KindView(
            name=kind.name,
            summary=kind.summary,
            priority=kind.priority,
            example=dict(kind.example),
            request=kind.request.model_json_schema(),
            result=kind.result.model_json_schema(),
        )
        for kind in shared.kinds
    ]


@router.get("/v1/versions", summary="Versions of what answers depend on", dependencies=[Depends(caller_of)])
def versions(request: Request) -> dict[str, str]:
    """By distribution."""
    found: dict[str, str] = request.app.state.versions
    return found


def read_status(ledger: Ledger) -> FarmStatus | None:
    """The coordinator's last word; None when it is too old, or of a version with other fields."""
    stored = ledger.get_status()
    try:
        return None if stored is None else FarmStatus.model_validate_json(stored)
    except ValidationError:
        return None
