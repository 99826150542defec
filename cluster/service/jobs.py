"""Endpoints of jobs: submit, list, look, result, events, cancel, extend, priority."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator
from typing import Annotated, Any, Literal, Union

from fastapi import APIRouter, Body, Depends, Header, Path, Query, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import Field, create_model
from starlette.concurrency import run_in_threadpool

from cluster.farm.registry import Kinds
from cluster.ledger import JobQuery
from cluster.scheduling import Priority
from cluster.schemas import Model
from cluster.service.app import CallerDependency, Shared, SharedDependency
from cluster.service.auth import Caller, Role
from cluster.service.desk_front import AnySubmission, Question
from cluster.service.problems import ProblemError
from cluster.service.streams import after_of, job_events, sse, streaming_headers
from cluster.service_models import (
    JOB_ID,
    Accepted,
    Extension,
    JobAnswer,
    JobPage,
    JobView,
    PriorityChange,
    Problem,
    job_view,
)
from cluster.store import JobKind, JobRecord, JobState
from engine.errors import InputError

_REQUESTS = 20.0
"""What a search among jobs counts in the rates of a client: many are looked at."""
JobId = Annotated[str, Path(pattern=JOB_ID, description="Id of a job.")]
_FILTERS = ("state", "kind", "client", "before", "limit")
PROBLEMS: dict[int | str, dict[str, Any]] = {
    404: {"model": Problem, "description": "No such job"},
    403: {"model": Problem, "description": "Somebody else's job"},
    409: {"model": Problem, "description": "Not possible in the job's state"},
    410: {"model": Problem, "description": "The answer has been forgotten"},
}


def router(kinds: Kinds) -> APIRouter:
    """The endpoints; the models of submissions are those of the kinds."""
    submission, examples = _submission_of(kinds)

    def submit(asked: Any, response: Response, shared: SharedDependency, caller: CallerDependency) -> Accepted:
        """Submit a question. The same question is the same job: submitting again is harmless, and moves a waiting job
        up where the new priority is higher.
        """
        question = shared.front.understand(AnySubmission.model_validate(asked.model_dump(exclude_unset=True)))
        return _accept(shared, caller, question, response)

    # The models are only known now, so the annotation can't stand in the signature.
    submit.__annotations__["asked"] = Annotated[submission, Body(openapi_examples=examples)]
    routes = APIRouter(prefix="/v1", tags=["jobs"])
    again: dict[int | str, dict[str, Any]] = {200: {"model": Accepted, "description": "It was a job already"}}
    routes.post("/jobs", summary="Submit a question", status_code=201, responses=again)(submit)
    routes.get("/jobs", summary="List jobs", dependencies=[Depends(_check_query)])(list_jobs)
    routes.get("/jobs/{job_id}", summary="Look at a job", responses=PROBLEMS)(look)
    routes.get("/jobs/{job_id}/result", summary="The answer", responses=PROBLEMS, response_model=JobAnswer)(result)
    routes.get(
        "/jobs/{job_id}/events",
        summary="Events as they happen",
        responses={**PROBLEMS, 200: {"content": {"text/event-stream": {}}, "description": "Server-sent events"}},
        response_class=StreamingResponse,
    )(events)
    routes.post("/jobs/{job_id}/cancel", summary="Cancel a job", responses=PROBLEMS)(cancel)
    routes.post("/jobs/{job_id}/extend", summary="Ask for more", status_code=201, responses=PROBLEMS)(extend)
    routes.put("/jobs/{job_id}/priority", summary="Change the class", responses=PROBLEMS)(prioritise)
    return routes


def _submission_of(kinds: Kinds) -> tuple[Any, dict[str, Any]]:
    models: list[type[Model]] = []
    examples: dict[str, Any] = {}
    for kind in kinds:
        models.append(
            create_model(
                f"{kind.name.value.capitalize()}Submission",
                __base__=AnySubmission,
                __doc__=kind.summary,
                kind=(_literal(kind.name), ...),
                request=(kind.request, ...),
            )
        )
        value = {"kind": kind.name.value, "request": dict(kind.example)}
        examples[kind.name.value] = {"summary": kind.summary, "value": value}
    union: Any = models[0] if len(models) == 1 else Annotated[Union[tuple(models)], Field(discriminator="kind")]  # noqa: UP007
    return union, examples


def _literal(name: JobKind) -> Any:
    return Literal[name]


def _accept(shared: Shared, caller: Caller, question: Question, response: Response) -> Accepted:
    (submitted,) = shared.front.submit([question], caller)
    response.status_code = 201 if submitted.created else 200
    response.headers["Location"] = f"/v1/jobs/{submitted.job}"
    record = submitted.record or job_of(shared, submitted.job)
    return Accepted(job=job_view(record), created=submitted.created)


def job_of(shared: Shared, job_id: str) -> JobRecord:
    """
    Raises:
        ProblemError: 404, there is no such job.
    """
    record = shared.ledger.get_job(job_id)
    if record is None:
        raise ProblemError(404, f"no job {job_id}")
    return record


def _farm_job(shared: Shared, job_id: str) -> JobRecord:
    record = job_of(shared, job_id)
    if not record.client:
        raise ProblemError(
            409, f"job {job_id} is of a command that works for itself: it has its answer and its progress"
        )
    return record


def _own_job(shared: Shared, caller: Caller, job_id: str) -> JobRecord:
    record = _farm_job(shared, job_id)
    if not caller.may_change(record.client):
        raise ProblemError(403, f"job {job_id} is of another client: only an operator may move it")
    return record


def list_jobs(
    shared: SharedDependency,
    caller: CallerDependency,
    state: JobState | None = None,
    kind: JobKind | None = None,
    client: Annotated[str | None, Query(max_length=40)] = None,
    before: Annotated[float | None, Query(allow_inf_nan=False, ge=0, description="Only those created before.")] = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
) -> JobPage:
    """Jobs that fit, those created last first. A page can have fewer than were asked for, or none, and yet there are
    more: `before` says so.
    """
    query = JobQuery(state, kind, client, before, limit)
    if query.filters:
        shared.rates.take(caller.name, _REQUESTS)
    found = shared.ledger.find_jobs(query)
    return JobPage(jobs=tuple(job_view(job, brief=True) for job in found.jobs), before=found.before)


def look(job_id: JobId, shared: SharedDependency, caller: CallerDependency) -> JobView:
    """State and progress of a job: also one of a command that works for itself on the same Redis (no client)."""
    return job_view(job_of(shared, job_id))


def result(job_id: JobId, shared: SharedDependency, caller: CallerDependency) -> Response:
    """The answer of a job that is done: its `result` has the same bytes from any farm."""
    return Response(answer_text(shared, _farm_job(shared, job_id)), media_type="application/json")


def answer_text(shared: Shared, record: JobRecord) -> bytes:
    """JSON of a `JobAnswer`, around the stored bytes.

    Raises:
        ProblemError: there is none.
    """
    if record.state is JobState.FAILED:
        raise ProblemError(409, record.message or "the job failed", record.code or "failed")
    if record.state is JobState.CANCELLED:
        raise ProblemError(409, f"the job is cancelled {record.message}".rstrip(), "cancelled")
    if record.state is not JobState.DONE:
        raise ProblemError(409, f"the job is {record.state.value}", "not-ready", retry_after=1)
    stored = shared.ledger.get_result(record.key) if record.key else None
    if stored is None:
        raise ProblemError(410, "the answer has been forgotten: submit the question again")
    report = json.loads(record.report) if record.report else {}
    head = json.dumps({"job": record.id, "kind": record.kind.value, **report}, separators=(",", ":"))
    return head[:-1].encode() + b',"result":' + stored + b"}"


def _check_query(request: Request) -> None:
    """A misspelt filter would be none.

    Raises:
        InputError: a parameter that there is not.
    """
    odd = next((name for name in request.query_params if name not in _FILTERS), None)
    if odd is not None:
        raise InputError(odd, request.query_params[odd], f"one of the parameters {', '.join(_FILTERS)}")


async def events(
    job_id: JobId,
    shared: SharedDependency,
    caller: CallerDependency,
    after: Annotated[int, Query(ge=0, lt=10**15, description="Number of the last event that is known.")] = 0,
    last_event_id: Annotated[str | None, Header(max_length=40)] = None,
) -> Response:
    """Server-sent events, from the first one or from the one after `Last-Event-ID`, up to the final one."""
    record = await run_in_threadpool(_farm_job, shared, job_id)
    begin = min(after_of(last_event_id, after), record.events)  # no event has a higher number: it would never come

    async def stream() -> AsyncIterator[bytes]:
        yield b"retry: 1000\n\n"
        if record.state.is_final and record.events <= begin:
            return
        async for some in job_events(shared.hub, job_id, begin):
            yield sse(some)

    shared.hub.check_open()
    return StreamingResponse(stream(), media_type="text/event-stream", headers=streaming_headers())


def cancel(job_id: JobId, shared: SharedDependency, caller: CallerDependency) -> JobView:
    """Say that the answer is not wanted any more. The job ends when nobody else has asked for it, or at once for an
    operator. What is computed stays in the cache; a job that has ended stays as it is.
    """
    _farm_job(shared, job_id)
    now = time.time()
    if caller.role is Role.OPERATE:
        shared.ledger.finish(job_id, JobState.CANCELLED, now, message=f"by {caller.name}", code="cancelled")
    elif shared.ledger.leave(job_id, caller.name, now) is None:
        raise ProblemError(403, f"job {job_id} is of other clients: only an operator may end it for them")
    return job_view(job_of(shared, job_id))


def extend(
    job_id: JobId, changes: Extension, response: Response, shared: SharedDependency, caller: CallerDependency
) -> Accepted:
    """Ask the same question with more trials (rollout, deep), a higher level (evaluate, analyse) or a larger budget of
    trials or entries (book): another job, which takes over all that is computed. The first one goes on.
    """
    record = job_of(shared, job_id)
    question = shared.front.extended(record, changes.model_dump(exclude_none=True))
    return _accept(shared, caller, question, response)


def prioritise(job_id: JobId, change: PriorityChange, shared: SharedDependency, caller: CallerDependency) -> JobView:
    """Move a job to another class."""
    _own_job(shared, caller, job_id)
    if not shared.ledger.prioritise(job_id, Priority(change.priority), time.time()):
        raise ProblemError(409, "the job has ended", "not-ready")
    return job_view(job_of(shared, job_id))
