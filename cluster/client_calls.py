"""The requests of the HTTP API and how their answers are read: what both clients share. It talks to nobody."""

from __future__ import annotations

import json
import logging
import os
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar, cast

import httpx
from pydantic import TypeAdapter, ValidationError

from cluster.farm.status import FarmStatus
from cluster.pauses import doubled
from cluster.scheduling import Priority
from cluster.schemas import Model
from cluster.service_models import (
    Accepted,
    BatchLine,
    BatchProgress,
    BatchView,
    EventView,
    JobAnswer,
    JobPage,
    JobView,
    KindView,
    Problem,
)
from cluster.store import JobKind, JobState
from engine.errors import GammonfarmError, InfrastructureError, InputError, InternalError

log = logging.getLogger(__name__)

URL_VARIABLE, TOKEN_VARIABLE, TOKEN_FILE_VARIABLE = "GAMMONFARM_URL", "GAMMONFARM_TOKEN", "GAMMONFARM_TOKEN_FILE"
PRIORITY_VARIABLE = "GAMMONFARM_PRIORITY"
TRIES, STREAM_TRIES = 8, 30
"""Of a call (about twelve seconds: an API that died is back by then), and in a row of a stream (more than a minute)."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.2, 5.0
_LONGEST_ASKED = 30.0
_WORTH_SAYING = 4
"""Failures in a row after which it is said that the farm is away."""
_EXIT_CODES = {"internal": 3, "quarantined": 3, "infrastructure": 4, "unavailable": 4}
"""Of a command that ends with such a problem; any other one is the user's to mend."""

T = TypeVar("T")


class FarmError(GammonfarmError):
    """The farm refused (a token that it does not know, a job that is not there or not ready), or a job has failed.
    `problem` says why.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.exit_code = _EXIT_CODES.get(problem.code, 2)
        if problem.status == 401:
            problem = problem.model_copy(update={"detail": f"{problem.detail}: set {TOKEN_FILE_VARIABLE}"})
        named = problem.field is None or problem.detail.startswith(f"{problem.field}: ")
        super().__init__(problem.detail if named else f"{problem.field}: {problem.detail}")

    def __reduce__(self) -> tuple[type[FarmError], tuple[Problem]]:
        return (type(self), (self.problem,))


class ComeBackError(InfrastructureError):
    """The farm can't answer now, and may have said in how many seconds it can."""

    def __init__(self, detail: str, seconds: float) -> None:
        super().__init__(detail)
        self.seconds = seconds

    def __reduce__(self) -> tuple[type[ComeBackError], tuple[str, float]]:
        return (type(self), (str(self), self.seconds))


@dataclass(frozen=True)
class Call(Generic[T]):
    """A request and how its answer is read."""

    method: str
    path: str
    model: Any
    """Of the answer's JSON; bytes: it is taken as it is."""
    body: Any = None
    query: dict[str, Any] | None = None


class Calls:
    """The API as requests; nothing here talks to anyone."""

    @staticmethod
    def submit(
        kind: JobKind | str, request: Model | dict[str, Any], net: str, priority: Priority | None
    ) -> Call[Accepted]:
        return Call("POST", "/v1/jobs", Accepted, submission(kind, request, net, priority))

    @staticmethod
    def batch(submissions: Sequence[dict[str, Any]], priority: Priority | None) -> Call[BatchView]:
        usual = {} if priority is None else {"priority": priority.value}
        return Call("POST", "/v1/batches", BatchView, {"jobs": [usual | one for one in submissions]})

    @staticmethod
    def jobs(
        state: JobState | None, kind: JobKind | None, client: str | None, before: float | None, limit: int
    ) -> Call[JobPage]:
        asked = {"state": state, "kind": kind, "client": client, "before": before, "limit": limit}
        query = {name: getattr(value, "value", value) for name, value in asked.items() if value is not None}
        return Call("GET", "/v1/jobs", JobPage, query=query)

    @staticmethod
    def job(job: str) -> Call[JobView]:
        return Call("GET", f"/v1/jobs/{quoted(job)}", JobView)

    @staticmethod
    def result(job: str) -> Call[JobAnswer]:
        return Call("GET", f"/v1/jobs/{quoted(job)}/result", JobAnswer)

    @staticmethod
    def book(job: str) -> Call[bytes]:
        return Call("GET", f"/v1/jobs/{quoted(job)}/book", bytes)

    @staticmethod
    def cancel(job: str) -> Call[JobView]:
        return Call("POST", f"/v1/jobs/{quoted(job)}/cancel", JobView)

    @staticmethod
    def extend(job: str, changes: dict[str, int]) -> Call[Accepted]:
        return Call("POST", f"/v1/jobs/{quoted(job)}/extend", Accepted, changes)

    @staticmethod
    def prioritise(job: str, priority: Priority) -> Call[JobView]:
        return Call("PUT", f"/v1/jobs/{quoted(job)}/priority", JobView, {"priority": priority.value})

    @staticmethod
    def batch_progress(batch: str) -> Call[BatchProgress]:
        return Call("GET", f"/v1/batches/{quoted(batch)}", BatchProgress)

    status: ClassVar[Call[FarmStatus]] = Call("GET", "/v1/status", FarmStatus)
    kinds: ClassVar[Call[list[KindView]]] = Call("GET", "/v1/kinds", list[KindView])


class EventReader:
    """Where an event stream is, over all its connections."""

    def __init__(self, job: str, after: int) -> None:
        self.path = f"/v1/jobs/{quoted(job)}/events"
        self.ended = False
        self._last = after
        self._failures = self._closed = 0

    def headers(self) -> dict[str, str]:
        return {"Last-Event-ID": str(self._last)} if self._last else {}

    def take(self, line: str) -> EventView | None:
        """A line of the stream; the event that it completes."""
        if not line.startswith("data:"):
            return None
        event = EventView.model_validate_json(line[5:])
        self._last, self._failures, self._closed = event.number, 0, 0
        self.ended = event.kind.is_final
        return event

    def closed(self, job: JobView) -> float:
        """The server closed it without a final event, perhaps because it was stopped: seconds until it is asked again.
        Where nothing is left to hear of, it has ended.
        """
        self.ended = job.state.is_final and job.events <= self._last
        self._closed += 1
        return 0.0 if self.ended else pause_of(self._closed)

    def pause(self, error: Exception, url: str) -> float:
        self._failures += 1
        return pause_or_give_up(self._failures, STREAM_TRIES, error, url)


class BatchReader:
    """Where a stream of a batch's answers is, over all its connections: each begins with what has ended before."""

    def __init__(self, batch: str) -> None:
        self.path = f"/v1/batches/{quoted(batch)}/results"
        self.ended = False
        self._seen: set[str] = set()
        self._failures = 0

    def take(self, line: str) -> BatchLine | None:
        """A line of the stream; None for one that is empty or came before."""
        if not line.strip():
            return None
        found = BatchLine.model_validate_json(line)
        self._failures = 0
        if found.job in self._seen:
            return None
        self._seen.add(found.job)
        return found

    def pause(self, error: Exception, url: str) -> float:
        self._failures += 1
        return pause_or_give_up(self._failures, STREAM_TRIES, error, url)


def submission(
    kind: JobKind | str, request: Model | dict[str, Any], net: str = "shipped", priority: Priority | None = None
) -> dict[str, Any]:
    """The JSON of one submission."""
    fields = request.model_dump(mode="json") if isinstance(request, Model) else dict(request)
    found: dict[str, Any] = {"kind": JobKind(kind).value, "request": fields, "net": net}
    return found if priority is None else found | {"priority": priority.value}


def place_of(url: str) -> str:
    """A farm's URL as it may be shown: without a password."""
    return url.rpartition("@")[2]


def check_url(url: str) -> str:
    """
    Raises:
        InputError: no HTTP URL.
    """
    try:
        parsed = httpx.URL(url)
    except (httpx.InvalidURL, ValueError):
        parsed = httpx.URL("")
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise InputError(URL_VARIABLE, place_of(url), "http://host:port or https://host:port")
    return url


def token_of_environment() -> str | None:
    """The token of this user.

    Raises:
        InputError: a file that can't be read.
    """
    file = os.environ.get(TOKEN_FILE_VARIABLE)
    if not file:
        return os.environ.get(TOKEN_VARIABLE) or None
    try:
        return Path(file).read_text(encoding="utf-8").strip()
    except OSError as error:
        raise InputError(TOKEN_FILE_VARIABLE, file, f"a readable file ({error.strerror})") from error


def priority_of_environment() -> Priority | None:
    """The class that this user's jobs have; None: that of their kind.

    Raises:
        InputError: there is no such class.
    """
    name = os.environ.get(PRIORITY_VARIABLE)
    if not name:
        return None
    try:
        return Priority(name)
    except ValueError:
        raise InputError(PRIORITY_VARIABLE, name, f"one of {', '.join(Priority)}") from None


def token_headers(token: str | None) -> dict[str, str]:
    """
    Raises:
        InputError: a token that can't be one. It is not repeated.
    """
    if token and not (token.isascii() and token.isprintable()):
        raise InputError(TOKEN_VARIABLE, "...", "a token as `gammonfarm tokens new` prints it")
    return {"Authorization": f"Bearer {token}"} if token else {}


def quoted(name: str) -> str:
    if not name.replace("-", "").isalnum():
        raise InputError("id", name, "an id of a job or a batch")
    return name


def pause_or_give_up(failures: int, tries: int, error: Exception, url: str) -> float:
    """Seconds to wait after so many failures in a row.

    Raises:
        InfrastructureError: that was the last try.
    """
    if failures >= tries:
        raise away(url, error) from error
    if failures == _WORTH_SAYING:
        log.warning("the farm at %s can't answer now, trying again (%s)", place_of(url), error)
    asked = min(error.seconds, _LONGEST_ASKED) if isinstance(error, ComeBackError) else 0.0
    return max(pause_of(failures - 1), asked)


def pause_of(number: int) -> float:
    return doubled(_FIRST_PAUSE, number, _LONGEST_PAUSE) * (0.5 + 0.5 * random.random())


def away(url: str, error: Exception) -> InfrastructureError:
    """What is said in the end. A farm that answered says itself why it is away."""
    place = place_of(url)
    if isinstance(error, InfrastructureError):
        return InfrastructureError(f"the farm at {place}: {error}")
    why = str(error) or type(error).__name__
    return InfrastructureError(
        f"the farm at {place} does not answer ({why}): is `gammonfarm serve` up there, and {URL_VARIABLE} right?"
    )


def read_answer(call: Call[T], answer: httpx.Response) -> T:
    if answer.status_code >= 300:
        raise_problem(answer)
    if call.model is bytes:
        return cast("T", answer.content)
    try:
        found: T = TypeAdapter(call.model).validate_json(answer.content)
        return found
    except ValidationError as error:
        raise InternalError(f"the farm answered in another form: {error.errors()[0]['msg']}") from error


def raise_problem(answer: httpx.Response) -> None:
    try:
        problem = Problem.model_validate(json.loads(answer.content))
    except ValueError:
        text = answer.reason_phrase or "an answer that is none"
        problem = Problem(title=text, status=answer.status_code, detail=text, code="internal")
    if problem.status in (429, 502, 503, 504):
        said = answer.headers.get("retry-after", "")
        raise ComeBackError(problem.detail, float(said) if said.isascii() and said.isdigit() and len(said) < 4 else 0.0)
    raise FarmError(problem)
