"""The process on a worker node: a Ray actor around a `Worker`. Beside the Ray executor the only module with Ray."""

from __future__ import annotations

import os
import socket
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import ray

from workers.sources import sources_digest
from workers.spec import Weights, Worker

_KEPT = 3
"""Workers that a process keeps: jobs of a farm take turns."""


@dataclass(frozen=True)
class Identity:
    """Which process on which machine."""

    host: str
    pid: int
    sources: str = ""
    """Digest of the gammonfarm that is installed there; "" where it wasn't asked for."""

    def __str__(self) -> str:
        return f"{self.host}/{self.pid}"


@dataclass(frozen=True)
class Reply:
    """What an actor sends back for a task; `seconds` is what the worker's `run` took."""

    output: Any
    seconds: float
    identity: Identity


class WorkerActor:
    """Lives long and keeps the workers it built last, so that a net is loaded once and compiled code stays warm.

    The constructor does nothing: a failure to build must come back as the error of a task, not as a dead actor.
    """

    def __init__(self) -> None:
        self._identity = Identity(socket.gethostname(), os.getpid())
        self._built: OrderedDict[str, Worker[Any, Any]] = OrderedDict()

    def identity(self) -> Identity:
        """Answers once the process is up."""
        return replace(self._identity, sources=sources_digest())

    def run(self, key: str, build: Callable[[Weights], Worker[Any, Any]], weights: list[Any], task: Any) -> Reply:
        """Run one task. `weights` is a list with one object reference: so Ray doesn't fetch them for every task."""
        if key not in self._built:
            self._built[key] = build(ray.get(weights[0]))
            if len(self._built) > _KEPT:
                self._built.popitem(last=False)
        self._built.move_to_end(key)
        start = time.perf_counter()
        output = self._built[key].run(task)
        return Reply(output, time.perf_counter() - start, self._identity)
