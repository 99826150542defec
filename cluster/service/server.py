"""The process that serves the API."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import threading
from pathlib import Path
from types import FrameType
from typing import Any

import uvicorn

from cluster.farm.desk import Desk
from cluster.farm.kinds import Kind
from cluster.farm.registry import Kinds
from cluster.redis_ledger import open_ledger
from cluster.service.app import Shared, create_app
from cluster.service.auth import Tokens, is_loopback
from cluster.service.limits import load_limits
from cluster.service.streams import Hub
from cluster.settings import Settings
from engine.errors import InfrastructureError, InputError

log = logging.getLogger(__name__)

_GRACE = 5


class Server(uvicorn.Server):
    """Lets event streams end before it waits for its connections. While it runs, signals come to it alone."""

    def __init__(self, config: uvicorn.Config, hub: Hub) -> None:
        super().__init__(config)
        self._hub = hub

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """See uvicorn."""
        self._hub.end_streams()
        super().handle_exit(sig, frame)

    def end(self) -> None:
        """The same without a signal, from any thread."""
        self._hub.end_streams()
        self.should_exit = True


def tokens_of_environment() -> Tokens:
    """The tokens of GAMMONFARM_TOKENS_FILE and GAMMONFARM_TOKENS.

    Raises:
        InputError: a file that can't be read, a line that is none.
    """
    file = os.environ.get("GAMMONFARM_TOKENS_FILE")
    return Tokens(Path(file) if file else None, os.environ.get("GAMMONFARM_TOKENS", ""))


def check_exposure(host: str, tokens: Tokens) -> None:
    """
    Raises:
        InputError: others could reach an API that asks for no token.
    """
    if not tokens.required and not is_loopback(host):
        raise InputError("host", host, "127.0.0.1 (or tokens: gammonfarm tokens new, GAMMONFARM_TOKENS_FILE)")


def serve_api(settings: Settings, host: str, port: int, stop: threading.Event) -> None:
    """Serve until told to stop.

    Raises:
        InputError: an address that is not this machine's without tokens. InfrastructureError: Redis is away, the port
            is taken.
    """
    tokens = tokens_of_environment()
    check_exposure(host, tokens)
    desk = Desk()
    threading.Thread(target=_warm_up, args=(desk,), name="warm up", daemon=True).start()
    with open_ledger(settings) as ledger:
        app = create_app(ledger, desk, tokens, load_limits())
        shared: Shared = app.state.shared
        config = uvicorn.Config(
            app,
            host=host,
            port=port,
            access_log=False,  # would write queries, and a line for every request
            log_config=None,
            server_header=False,
            timeout_graceful_shutdown=_GRACE,
            timeout_keep_alive=30,
            h11_max_incomplete_event_size=16 * 1024,
            backlog=4096,
        )
        server = Server(config, shared.hub)
        logging.getLogger("uvicorn.error").addFilter(_is_no_broken_stream)
        watcher = threading.Thread(target=_stop_when, args=(stop, server), daemon=True)
        watcher.start()
        try:
            server.run()
        except SystemExit as error:
            raise InfrastructureError(f"the API can't listen on {host}:{port}") from error
        if not server.started:
            raise InfrastructureError(f"the API can't listen on {host}:{port}")


def _is_no_broken_stream(record: logging.LogRecord) -> bool:
    """A stream of answers that is broken off at the end is no failure: its client goes on at the next start."""
    return record.exc_info is None or not isinstance(record.exc_info[1], asyncio.CancelledError)


def _warm_up(desk: Desk) -> None:
    """Load the net, build or open the databases, compile: so that the first client need not wait for it."""
    try:
        for kind in Kinds():
            for fields in _first_questions(kind):
                kind.key(kind.request.model_validate(fields), "shipped", desk)
    except Exception as error:
        log.warning("not warmed up: %s", error)  # the first submission says it to its client
    # What is loaded now stays: without this, each full search for garbage stops every request for a quarter second.
    gc.collect()
    gc.freeze()


def _first_questions(kind: Kind) -> list[dict[str, Any]]:
    """The example of a kind, and where there are plays and a cube the same with plays picked for the cube: the other
    half of what a question can need.
    """
    example = dict(kind.example)
    if {"plays", "cube"} <= set(kind.request.model_fields):
        return [example, example | {"plays": [], "cube": True}]
    return [example]


def _stop_when(stop: threading.Event, server: Server) -> None:
    stop.wait()
    server.end()
