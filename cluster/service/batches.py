"""Endpoints of batches: thousands of questions in one request, their answers as they come."""

from __future__ import annotations

import json
import secrets
from collections import Counter
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Path, Response
from fastapi.responses import StreamingResponse
from pydantic import ConfigDict, Field, ValidationError
from pydantic.config import JsonDict
from starlette.concurrency import run_in_threadpool

from cluster.schemas import Model
from cluster.service.app import CallerDependency, Shared, SharedDependency
from cluster.service.desk_front import AnySubmission, Question
from cluster.service.jobs import answer_text
from cluster.service.problems import ProblemError, problem_of
from cluster.service.streams import streaming_headers
from cluster.service_models import BATCH_ID, MAX_BATCH, BatchItem, BatchProgress, BatchView, Problem
from cluster.store import JobRecord
from engine.errors import InfrastructureError, InputError

router = APIRouter(prefix="/v1", tags=["batches"])

BatchId = Annotated[str, Path(pattern=BATCH_ID, description="Id of a batch.")]
_CHUNK, _ANSWERS = 500, 20
_LOOK_AGAIN = 15.0
_UNKNOWN: dict[int | str, dict[str, Any]] = {404: {"model": Problem, "description": "No such batch"}}


_ONE: JsonDict = {"kind": "evaluate", "request": {"position": "XGID=-b----E-C---eE---c-e----B-:0:0:1:31:0:0:0:0:10"}}
_ANOTHER: JsonDict = {
    "kind": "evaluate",
    "request": {"position": "XGID=-b----E-C---eE---c-e----B-:0:0:1:42:0:0:0:0:10"},
}


class BatchSubmission(Model):
    """Questions of any kinds, each as it would be submitted alone."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"jobs": [_ONE, _ANOTHER]}]})

    jobs: list[dict[str, Any]] = Field(min_length=1, max_length=MAX_BATCH)


@router.post("/batches", status_code=201, summary="Submit many questions")
def submit_batch(batch: BatchSubmission, shared: SharedDependency, caller: CallerDependency) -> BatchView:
    """Each question becomes a job or a problem; one that makes no sense doesn't stop the others."""
    if len(batch.jobs) > shared.limits.batch:
        raise ProblemError(413, f"at most {shared.limits.batch} submissions in a batch")
    shared.rates.take(caller.name, len(batch.jobs) / 10)
    items: list[BatchItem] = []
    questions: list[tuple[int, Question]] = []
    for index, fields in enumerate(batch.jobs):
        try:
            questions.append((index, shared.front.understand(AnySubmission.model_validate(fields))))
        except ProblemError as error:
            items.append(BatchItem(index=index, problem=error.problem))
        except (InputError, ValidationError) as error:
            items.append(BatchItem(index=index, problem=problem_of(error)))
    for at in range(0, len(questions), _CHUNK):
        part = questions[at : at + _CHUNK]
        found = shared.front.submit([question for _, question in part], caller)
        for (index, _), submitted in zip(part, found, strict=True):
            items.append(BatchItem(index=index, job=submitted.job, created=submitted.created))
    name = secrets.token_hex(16)
    jobs = dict.fromkeys(item.job for item in items if item.job)
    if jobs:
        shared.ledger.put_batch(name, list(jobs))
    return BatchView(batch=name, items=tuple(sorted(items, key=lambda item: item.index)))


@router.get("/batches/{batch_id}", summary="How far a batch is", responses=_UNKNOWN)
def look_at_batch(batch_id: BatchId, shared: SharedDependency, caller: CallerDependency) -> BatchProgress:
    """Jobs by state."""
    jobs = _jobs_of(shared, batch_id)
    parts = (shared.ledger.get_states(jobs[at : at + _CHUNK]) for at in range(0, len(jobs), _CHUNK))
    states = Counter(state for part in parts for state in part if state is not None)
    return BatchProgress(batch=batch_id, jobs=len(jobs), states=dict(states))


@router.get(
    "/batches/{batch_id}/results",
    summary="Answers of a batch as they come",
    responses={**_UNKNOWN, 200: {"content": {"application/x-ndjson": {}}, "description": "One `BatchLine` a line"}},
    response_class=StreamingResponse,
)
async def stream_results(batch_id: BatchId, shared: SharedDependency, caller: CallerDependency) -> Response:
    """One line of JSON for each job, as soon as it has ended, in that order; ends after the last one."""
    jobs = await run_in_threadpool(_jobs_of, shared, batch_id)
    shared.hub.check_open()
    return StreamingResponse(_lines(shared, jobs), media_type="application/x-ndjson", headers=streaming_headers())


async def _lines(shared: Shared, jobs: list[str]) -> AsyncIterator[bytes]:
    waiting = dict.fromkeys(jobs)
    with shared.hub.watch(jobs) as watch:
        look = list(waiting)
        while waiting:
            try:
                while look:
                    ended = await run_in_threadpool(_ended, shared, look[:_CHUNK])
                    # A few at a time: an answer can be as long as the analysis of a match.
                    for at in range(0, len(ended), _ANSWERS):
                        for job, line in await run_in_threadpool(_answers, shared, ended[at : at + _ANSWERS]):
                            del waiting[job]
                            yield line
                    look = look[_CHUNK:]
            except InfrastructureError:
                look = [job for job in look if job in waiting]
                yield b"\n"  # Redis is away: the stream stays open
            if not waiting:
                return
            told = await watch.next(_LOOK_AGAIN)
            if not told:
                look = list(waiting)  # the feed forgets after a while
                yield b"\n"  # so that the connection stays open
                continue
            look += dict.fromkeys(e.job for e in told if e.kind.is_final and e.job in waiting and e.job not in look)


def _ended(shared: Shared, jobs: list[str]) -> list[str]:
    """Those that have ended."""
    states = shared.ledger.get_states(jobs)
    return [job for job, state in zip(jobs, states, strict=True) if state is None or state.is_final]


def _answers(shared: Shared, jobs: list[str]) -> list[tuple[str, bytes]]:
    """Their lines."""
    records = shared.ledger.get_jobs(jobs)
    return [(job, _line(shared, job, record)) for job, record in zip(jobs, records, strict=True)]


def _line(shared: Shared, job: str, record: JobRecord | None) -> bytes:
    try:
        if record is None:
            raise ProblemError(410, "the job has been forgotten")
        answer = answer_text(shared, record)
    except ProblemError as error:
        state = record.state.value if record else "cancelled"
        found = {"job": job, "state": state, "problem": error.problem.model_dump()}
        return json.dumps(found, separators=(",", ":")).encode() + b"\n"
    return b'{"job":"' + job.encode() + b'","state":"done","answer":' + answer + b"}\n"


def _jobs_of(shared: Shared, batch: str) -> list[str]:
    jobs = shared.ledger.get_batch(batch)
    if jobs is None:
        raise ProblemError(404, f"no batch {batch}")
    return jobs
