"""What one client may ask of the API: sizes, rates, streams."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from pydantic import Field, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cluster.farm.kinds import Size
from cluster.service.auth import Tokens
from cluster.service.problems import ProblemError, problem, respond
from engine.errors import InputError

_MOST_CLIENTS = 10_000
_PREFIX = "GAMMONFARM_LIMIT_"


class Limits(BaseSettings):
    """All of them; each can be set as GAMMONFARM_LIMIT_NAME."""

    model_config = SettingsConfigDict(env_prefix=_PREFIX, env_ignore_empty=True, frozen=True, extra="forbid")

    body: int = Field(default=256 * 1024, ge=1024)
    """Bytes of a request."""
    batch_body: int = Field(default=16 * 1024 * 1024, ge=1024)
    """Bytes of a batch."""
    batch: int = Field(default=10_000, ge=1, le=10_000)
    """Submissions in a batch."""
    size: int = Field(default=2_000_000, ge=1)
    """Units (trials of all candidates) of a job."""
    entries: int = Field(default=5_000, ge=1)
    """Of a book."""
    minutes: float = Field(default=7 * 24 * 60.0, gt=0)
    """After which a job that has such an end must have ended."""
    path: int = Field(default=512, ge=64)
    """Characters of path and query."""
    rate: float = Field(default=500.0, gt=0)
    """Requests a second and client, in the long run; a submission in a batch counts as a tenth of one."""
    burst: float = Field(default=2_000.0, ge=1)
    """Requests at once."""
    streams: int = Field(default=2_000, ge=1)
    """Event and result streams of all clients together."""

    def check(self, size: Size) -> None:
        """
        Raises:
            ProblemError: 413, for a job that is too large.
        """
        for name, what, asked, most in (
            ("SIZE", "units (such as trials of all candidates)", size.units, self.size),
            ("ENTRIES", "entries", size.entries, self.entries),
            ("MINUTES", "minutes", size.minutes, self.minutes),
        ):
            if asked > most:
                raise ProblemError(413, f"a job of {asked:,} {what}; at most {most:,} here ({_PREFIX}{name})")


def load_limits() -> Limits:
    """From the environment.

    Raises:
        InputError: one that makes no sense.
    """
    try:
        return Limits()
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        name = f"{_PREFIX}{first['loc'][0]}".upper()
        raise InputError(name, first["input"], str(first["msg"])) from None


class Rates:
    """A bucket of requests for each client, filled at the rate."""

    def __init__(self, limits: Limits, clock: Callable[[], float] = time.monotonic) -> None:
        self._limits, self._clock = limits, clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = threading.Lock()

    def take(self, client: str, requests: float = 1.0) -> None:
        """Count requests.

        Raises:
            ProblemError: 429, with the time to wait.
        """
        with self._lock:
            now = self._clock()
            left, at = self._buckets.get(client, (self._limits.burst, now))
            left = min(left + (now - at) * self._limits.rate, self._limits.burst)
            # More than a whole bucket at once must be possible now and then, or such a request would never pass.
            if left < min(requests, self._limits.burst):
                wait = (min(requests, self._limits.burst) - left) / self._limits.rate
                raise ProblemError(429, f"at most {self._limits.rate:g} requests a second", retry_after=wait)
            self._buckets[client] = (left - requests, now)
            self._buckets.move_to_end(client)
            while len(self._buckets) > _MOST_CLIENTS:
                self._buckets.popitem(last=False)


class SizeLimit:
    """Refuses requests whose path or body is too large, before anything reads them whole. Large ones are read of
    callers that are known only: whoever can reach the port could fill the memory with them.
    """

    def __init__(self, app: ASGIApp, limits: Limits, tokens: Tokens) -> None:
        self._app, self._limits, self._tokens = app, limits, tokens

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if len(scope.get("raw_path") or scope["path"].encode()) + len(scope["query_string"]) > self._limits.path:
            await respond(problem(413, f"at most {self._limits.path} characters of path and query"))(
                scope, receive, send
            )
            return
        headers = Headers(scope=scope)
        large = scope["path"] == "/v1/batches" and self._tokens.knows(headers.get("authorization", ""))
        limit = self._limits.batch_body if large else self._limits.body
        said = headers.get("content-length", "0")
        if not (said.isascii() and said.isdigit()) or int(said[:20]) > limit:
            await self._refuse(scope, receive, send, limit)
            return
        seen = 0
        body: list[Message] = []
        # Bodies are small: read here, so that the refusal comes before anything was begun.
        while True:
            message = await receive()
            body.append(message)
            seen += len(message.get("body", b""))
            if seen > limit:
                await self._refuse(scope, receive, send, limit)
                return
            if message["type"] != "http.request" or not message.get("more_body"):
                break

        async def again() -> Any:
            return body.pop(0) if body else await receive()

        await self._app(scope, again, send)

    async def _refuse(self, scope: Scope, receive: Receive, send: Send, limit: int) -> None:
        await respond(problem(413, f"at most {limit} bytes"), {"Connection": "close"})(scope, receive, send)
