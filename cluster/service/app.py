"""The application: what is shared by all endpoints, and the order in which a request meets it."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, FastAPI, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cluster.farm.desk import Desk
from cluster.farm.registry import Kinds
from cluster.ledger import Ledger
from cluster.service import problems
from cluster.service.auth import LOCAL, Caller, Tokens, is_loopback
from cluster.service.desk_front import Front
from cluster.service.limits import Limits, Rates, SizeLimit
from cluster.service.metrics import Metrics
from cluster.service.problems import ProblemError, problem, respond
from cluster.service.streams import Hub
from cluster.service.watchman import Watchman
from cluster.service_models import Problem
from cluster.versions import versions

API_VERSION = "1"
_DESCRIPTION = """Backgammon rollouts, evaluations, opening books and training as jobs of a farm.

The same question is the same job: submitting is idempotent. A job has exactly one final event (done, failed or
cancelled). Errors are `application/problem+json`.
"""


@dataclass(frozen=True)
class Shared:
    """What endpoints use."""

    ledger: Ledger
    desk: Desk
    front: Front
    kinds: Kinds
    limits: Limits
    rates: Rates
    hub: Hub
    metrics: Metrics
    tokens: Tokens
    watchman: Watchman


def create_app(ledger: Ledger, desk: Desk, tokens: Tokens, limits: Limits, kinds: Kinds | None = None) -> FastAPI:
    """The API over a ledger."""
    from cluster.service import batches, books, jobs, operations

    known = kinds or Kinds()
    shared = Shared(
        ledger=ledger,
        desk=desk,
        front=Front(ledger, desk, known, limits),
        kinds=known,
        limits=limits,
        rates=Rates(limits),
        hub=Hub(ledger, limits.streams),
        metrics=Metrics(),
        tokens=tokens,
        watchman=Watchman(ledger),
    )

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        shared.hub.start()
        yield
        shared.hub.close()

    # The usual pages of documents load programs from elsewhere: only the document itself is served.
    app = FastAPI(
        title="gammonfarm",
        version=API_VERSION,
        description=_DESCRIPTION,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url="/openapi.json",
        responses={
            status: {"model": Problem, "description": title}
            for status, title in (
                (401, "A token is needed"),
                (403, "Not allowed"),
                (413, "Too large"),
                (422, "A field does not fit"),
                (429, "Too many requests"),
                (503, "Redis is away"),
            )
        },
    )
    app.state.shared = shared
    app.state.versions = versions()
    problems.install(app)

    app.add_middleware(Gate, shared=shared)
    app.add_middleware(SizeLimit, limits=limits, tokens=tokens)
    app.include_router(operations.router)
    app.include_router(jobs.router(known))
    app.include_router(books.router)
    app.include_router(batches.router)
    return app


class Gate:
    """Refuses the requests of web pages where no token protects the API, and measures all others."""

    def __init__(self, app: ASGIApp, shared: Shared) -> None:
        self._app, self._shared = app, shared

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refused = None if self._shared.tokens.required else _foreign(Headers(scope=scope))
        if refused is not None:
            await respond(refused)(scope, receive, send)
            return
        started = time.perf_counter()

        async def measured(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], (b"x-content-type-options", b"nosniff")]
                self._shared.metrics.answered(scope, message["status"], time.perf_counter() - started)
            await send(message)

        await self._app(scope, receive, measured)


def _foreign(headers: Headers) -> Problem | None:
    """Without tokens anyone on this machine is served, but no web page that a browser here has open: neither by its
    own origin nor by a name that leads to this machine.
    """
    name = headers.get("host", "")
    if not name.endswith("]"):
        name = name.rpartition(":")[0] or name
    if not is_loopback(name):
        return problem(403, "without tokens only requests to this machine's own address")
    return problem(403, "without tokens no requests of web pages") if "origin" in headers else None


async def shared_of(request: Request) -> Shared:
    """Dependency: what endpoints use. As `caller_of` it waits for nothing, so it needs no thread."""
    found: Shared = request.app.state.shared
    return found


_bearer = HTTPBearer(auto_error=False, description="A token of the file that GAMMONFARM_TOKENS_FILE names.")


async def caller_of(
    request: Request, credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]
) -> Caller:
    """Dependency: who asks; counts his request.

    Raises:
        ProblemError: 401 or 429.
    """
    shared: Shared = request.app.state.shared
    caller = LOCAL
    if shared.tokens.required:
        found = shared.tokens.caller(credentials.credentials) if credentials else None
        if found is None:
            shared.rates.take(f"?{request.client.host if request.client else ''}", 5.0)
            raise ProblemError(401, "this farm asks for a token that it knows (Authorization: Bearer TOKEN)")
        caller = found
    shared.rates.take(caller.name)
    return caller


SharedDependency = Annotated[Shared, Depends(shared_of)]
CallerDependency = Annotated[Caller, Depends(caller_of)]
