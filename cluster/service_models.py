"""What the HTTP API takes and gives: the models that the server and the client share."""

from __future__ import annotations

import json
from typing import Annotated, Any

from pydantic import ConfigDict, Field

from cluster.ledger import Event, EventKind
from cluster.scheduling import Priority
from cluster.schemas import Model
from cluster.store import JobKind, JobRecord, JobState

MAX_BATCH = 10_000
_LONG = 500
JOB_ID = r"^[0-9a-f]{8,64}(-[0-9]{1,6})?$"
BATCH_ID = r"^[0-9a-f]{32}$"


def _example(**fields: Any) -> ConfigDict:
    """Shown in the OpenAPI document."""
    return ConfigDict(json_schema_extra={"examples": [fields]})


class Problem(Model):
    """What went wrong, as `application/problem+json` (RFC 9457)."""

    model_config = _example(
        title="A field does not fit",
        status=422,
        detail="play '24/12': expected a legal play",
        code="input",
        field="play",
    )

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    code: str
    """Fit for programs: input, unauthorized, forbidden, not-found, not-ready, gone, too-large, too-many, unavailable,
    internal; a failed job adds quarantined, infrastructure and deadline, one that was cancelled cancelled."""
    field: str | None = None
    """The field that doesn't fit."""


class JobView(Model):
    """A job."""

    model_config = _example(
        id="0c6e4fb7989869cb7de51ea96ea2bcbf",
        kind="rollout",
        state="running",
        client="anna",
        priority="normal",
        created=1796034153.5,
        updated=1796034160.25,
        done=720,
        total=2592,
        events=6,
        net="4c2ce8abd8a08acd",
        request={"position": "XGID=--ABBBC-B---eB---c-cbb--A-:0:0:1:56:0:0:0:0:10", "trials": 1296},
        message="",
        code="",
    )

    id: str
    kind: JobKind
    state: JobState
    client: str
    priority: Priority
    created: float
    """Unix seconds, as `updated`."""
    updated: float
    done: int
    """Units (trials of all candidates, positions, shards)."""
    total: int
    events: int
    """Number of the last event."""
    net: str
    """Digest of the main net; empty for a job of a command that works for itself, as `request`."""
    request: dict[str, Any]
    """In a list, texts of more than 500 letters are cut."""
    message: str
    code: str


class Accepted(Model):
    """A submission's job."""

    job: JobView
    created: bool
    """False: the same question was a job already."""


class JobPage(Model):
    """Jobs, those created last first."""

    jobs: tuple[JobView, ...]
    before: float | None
    """Ask with this for the next page; null on the last one."""


class JobAnswer(Model):
    """The answer of a job that is done."""

    job: str
    kind: JobKind
    result: Any
    """Exact: the same bytes from any farm. Its model is that of the kind."""
    provenance: dict[str, Any] | None = None
    timing: dict[str, Any] | None = None


class EventView(Model):
    """Something that happened to a job; the data of a server-sent event."""

    model_config = _example(
        job="0c6e4fb7989869cb7de51ea96ea2bcbf",
        number=6,
        kind="progress",
        time=1796034160.25,
        data={"done": 720, "total": 2592, "contenders": 2, "best": "24/13", "equity": 0.697, "se": 0.0012, "eta": 8.5},
    )

    job: str
    number: int
    kind: EventKind
    time: float
    data: dict[str, Any]


class Extension(Model):
    """More work for the same question."""

    model_config = _example(trials=2592)

    trials: Annotated[int, Field(ge=1)] | None = None
    """Of each candidate; of a book its budget."""
    entries: Annotated[int, Field(ge=1)] | None = None
    """Of a book: its budget."""
    level: Annotated[int, Field(ge=1, le=4)] | None = None


class PriorityChange(Model):
    """Another class."""

    model_config = _example(priority="interactive")

    priority: Priority


class BatchItem(Model):
    """What became of one submission of a batch: a job, or a problem."""

    index: int
    job: str | None = None
    created: bool = False
    problem: Problem | None = None


class BatchView(Model):
    """A batch as it was accepted."""

    batch: str
    items: tuple[BatchItem, ...]


class BatchProgress(Model):
    """How far a batch is."""

    batch: str
    jobs: int
    states: dict[JobState, int]


class BatchLine(Model):
    """One line of a batch's results: the answer, or why there is none."""

    job: str
    state: JobState
    answer: JobAnswer | None = None
    problem: Problem | None = None


class KindView(Model):
    """A kind of job."""

    name: JobKind
    summary: str
    priority: Priority
    """Class of a job whose client names none."""
    example: dict[str, Any]
    request: dict[str, Any]
    """JSON schema."""
    result: dict[str, Any]
    """JSON schema."""


class NewToken(Model):
    """The JSON document of `gammonfarm tokens new`."""

    name: str
    role: str
    token: str
    """For the client; nothing else has it."""
    line: str
    """For the file that GAMMONFARM_TOKENS_FILE names on the farm."""


class Health(Model):
    """Whether the API lives, or is ready."""

    status: str
    detail: str = ""


def job_view(record: JobRecord, *, brief: bool = False) -> JobView:
    """A record as clients see it.

    Args:
        brief: cut what is long in the request: a list of matches would be megabytes.
    """
    net, request = "", {}
    try:
        fields = json.loads(record.request)
        if record.client:
            net, request = str(fields["net"]), dict(fields["request"])
            if brief:
                request = {name: _brief(value) for name, value in request.items()}
    except (ValueError, KeyError, TypeError):
        pass  # written by a version with another form: the rest is still worth showing
    return JobView(
        id=record.id,
        kind=record.kind,
        state=record.state,
        client=record.client,
        priority=record.priority,
        created=record.created,
        updated=record.updated,
        done=record.blocks_done,
        total=record.blocks_total,
        events=record.events,
        net=net,
        request=request,
        message=record.message,
        code=record.code,
    )


def _brief(value: Any) -> Any:
    is_long = isinstance(value, str) and len(value) > _LONG
    return f"{value[:_LONG]}..." if is_long else value


def event_view(event: Event) -> EventView:
    """An event as clients see it."""
    return EventView(job=event.job, number=event.number, kind=event.kind, time=event.time, data=event.data)
