"""Endpoints for those who run the farm: health, readiness, status, metrics, kinds of jobs."""

from __future__ import annotations

from fastapi import APIRouter, Depends, Request
from fastapi.responses import JSONResponse, Response

from cluster.farm.status import FarmStatus
from cluster.service.app import CallerDependency, SharedDependency, caller_of
from cluster.service.metrics import CONTENT_TYPE
from cluster.service.problems import ProblemError
from cluster.service.watchman import SILENCE
from cluster.service_models import Health, KindView
from engine.errors import InfrastructureError

router = APIRouter(tags=["operations"])


@router.get("/health", summary="Whether this process lives")
async def health() -> Health:
    """Always ok: it looks at nothing else, and needs none of the threads in which questions are understood."""
    return Health(status="ok")


@router.get("/ready", summary="Whether jobs are accepted and worked on")
def ready(shared: SharedDependency) -> JSONResponse:
    """200 when Redis can be written and a coordinator spoke within a minute, else 503 with the reason."""
    reason = ""
    try:
        if shared.watchman.look() is None:
            reason = SILENCE
        shared.ledger.probe()
    except InfrastructureError:
        reason = "Redis does not answer, or refuses to write"
    found = Health(status="away" if reason else "ok", detail=reason)
    return JSONResponse(found.model_dump(), 503 if reason else 200)


@router.get("/metrics", summary="Numbers for Prometheus", response_class=Response)
def metrics(shared: SharedDependency, caller: CallerDependency) -> Response:
    """Text in the format of Prometheus."""
    try:
        status = shared.watchman.look()
    except InfrastructureError:
        status = None
    return Response(shared.metrics.text(shared.hub.open, status), media_type=CONTENT_TYPE)


@router.get("/v1/status", summary="Workers, queue, rates, why idle", dependencies=[Depends(caller_of)])
def status(shared: SharedDependency) -> FarmStatus:
    """What the coordinator said last. While Redis is away, what was known before, with the reason."""
    found = shared.watchman.say()
    if found is None:
        raise ProblemError(503, SILENCE, retry_after=5)
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
