"""Errors as `application/problem+json`: one line each, no traceback, no path, no secret."""

from __future__ import annotations

import logging
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from pydantic import ValidationError
from starlette.exceptions import HTTPException

from cluster.schemas import in_plain_words, shown
from cluster.service_models import BATCH_ID, JOB_ID, Problem
from cluster.store import JobKind
from engine.errors import GammonfarmError, InfrastructureError, InputError

log = logging.getLogger(__name__)

_PLACES = ("body", "query", "path", "header")

_TITLES = {
    400: ("Bad request", "input"),
    401: ("A token is needed", "unauthorized"),
    403: ("Not allowed", "forbidden"),
    404: ("Not found", "not-found"),
    405: ("Method not allowed", "input"),
    409: ("Not ready", "not-ready"),
    410: ("Gone", "gone"),
    413: ("Too large", "too-large"),
    422: ("A field does not fit", "input"),
    429: ("Too many requests", "too-many"),
    500: ("A failure of ours", "internal"),
    503: ("Away for the moment", "unavailable"),
}


class ProblemError(Exception):
    """Answers a request with a problem."""

    def __init__(self, status: int, detail: str, code: str | None = None, retry_after: float | None = None) -> None:
        super().__init__(detail)
        self.problem = problem(status, detail, code=code)
        self.headers: dict[str, str] = {}
        if retry_after is not None:
            self.headers["Retry-After"] = str(max(1, round(retry_after)))
        if status == 401:
            self.headers["WWW-Authenticate"] = "Bearer"


def problem(status: int, detail: str, *, code: str | None = None, field: str | None = None) -> Problem:
    """A problem with the usual title and code of its status."""
    title, usual = _TITLES.get(status, ("Error", "input" if status < 500 else "internal"))
    return Problem(title=title, status=status, detail=detail, code=code or usual, field=field)


def problem_of(error: BaseException) -> Problem:
    """What an error of ours means to a client."""
    if isinstance(error, InputError):
        return problem(422, str(error), field=error.field)
    if isinstance(error, ValidationError):
        return _validation(error.errors(include_url=False))
    if isinstance(error, InfrastructureError):
        return problem(503, str(error))
    if isinstance(error, GammonfarmError):
        return problem(500, str(error))
    return problem(500, type(error).__name__)


def respond(found: Problem, headers: dict[str, str] | None = None) -> JSONResponse:
    """The response."""
    return JSONResponse(found.model_dump(), found.status, headers, media_type="application/problem+json")


def install(app: FastAPI) -> None:
    """Answer every error of the application with a problem."""

    @app.exception_handler(ProblemError)
    def on_problem(request: Request, error: ProblemError) -> Response:
        return respond(error.problem, error.headers)

    @app.exception_handler(RequestValidationError)
    def on_validation(request: Request, error: RequestValidationError) -> Response:
        return respond(_validation(error.errors()))

    @app.exception_handler(HTTPException)
    def on_http(request: Request, error: HTTPException) -> Response:
        said = {
            404: f"no such address: {request.url.path}; GET /openapi.json has those there are",
            405: f"{request.method} is not for {request.url.path}",
        }.get(error.status_code, str(error.detail))
        return respond(problem(error.status_code, said), dict(error.headers or {}))

    @app.exception_handler(GammonfarmError)
    def on_ours(request: Request, error: GammonfarmError) -> Response:
        found = problem_of(error)
        if found.status >= 500:
            log.warning("%s %s: %s", request.method, request.url.path, error)
        return respond(found, {"Retry-After": "2"} if found.status == 503 else None)

    @app.exception_handler(Exception)
    def on_anything(request: Request, error: Exception) -> Response:
        log.error("%s %s failed", request.method, request.url.path, exc_info=error)
        return respond(problem_of(error))


def _validation(errors: Any) -> Problem:
    """The first thing that doesn't fit, as `InputError` says it."""
    first: dict[str, Any] = dict(errors[0]) if errors else {"loc": (), "msg": "the request does not fit"}
    kind, where = first.get("type"), [str(part) for part in first["loc"]]
    if where and where[0] in _PLACES:
        del where[0]
    if kind == "json_invalid":
        return problem(422, f"the body is no JSON: {first.get('ctx', {}).get('error', 'unreadable')}")
    if where and where[0] in set(JobKind):  # which of the models it is, not a field
        del where[0]
    if kind in ("union_tag_not_found", "union_tag_invalid"):
        where = [*where, "kind"]
    field = ".".join(where)
    if not field:
        return problem(422, "expected a JSON object, sent with Content-Type: application/json")
    given = first.get("input")
    if kind == "extra_forbidden":
        return problem(422, f"{field}: there is no such field; GET /v1/kinds has those there are", field=field)
    if kind == "union_tag_invalid":
        given = given.get("kind") if isinstance(given, dict) else given
    if kind in ("missing", "union_tag_not_found"):
        return problem(422, f"{field}: missing: expected {_expected(first)}", field=field)
    return problem(422, str(InputError(field, shown(given), _expected(first))), field=field)


def _expected(error: Any) -> str:
    kind, pattern = error.get("type"), error.get("ctx", {}).get("pattern")
    if kind in ("union_tag_not_found", "union_tag_invalid"):
        return f"one of {', '.join(JobKind)}"
    if kind == "missing":
        return "a value"
    if pattern in (JOB_ID, BATCH_ID):
        return f"the id of a {'job' if pattern == JOB_ID else 'batch'}, as the answer to its submission has it"
    return in_plain_words(str(error["msg"]))
