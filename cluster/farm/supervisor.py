"""The parts of a farm on one machine as processes that are started again when they die."""

from __future__ import annotations

import errno
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from cluster.pauses import doubled
from engine.errors import InputError

log = logging.getLogger(__name__)

PARENT_VARIABLE = "GAMMONFARM_PARENT"
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 30.0
_STEADY = 30.0
_STOP_SECONDS = 40.0
USER_MISTAKE = 2
RAY_ENDS = 20.0
"""Seconds that a Ray head takes at most to end after the process that started it."""


@dataclass
class _Part:
    name: str
    command: Sequence[str]
    process: subprocess.Popen[bytes] | None = None
    started: float = 0.0
    failures: int = 0
    again_at: float = field(default=0.0)


class Supervisor:
    """Keeps parts alive until told to stop. A part that says that the user made a mistake ends all."""

    def __init__(self, parts: Mapping[str, Sequence[str]]) -> None:
        self._parts = [_Part(name, command) for name, command in parts.items()]

    def run(self, stop: threading.Event) -> int:
        """Returns the exit code."""
        try:
            while not stop.is_set():
                for part in self._parts:
                    code = self._look(part)
                    if code is not None:
                        return code
                stop.wait(0.2)
            return 0
        finally:
            self._end()

    def _look(self, part: _Part) -> int | None:
        now = time.monotonic()
        if part.process is None:
            if now >= part.again_at:
                environment = {**os.environ, PARENT_VARIABLE: str(os.getpid())}
                part.process = subprocess.Popen(part.command, env=environment, start_new_session=True)
                part.started = now
            return None
        code = part.process.poll()
        if code is None:
            return None
        part.process = None
        if code == USER_MISTAKE:
            return code
        part.failures = 0 if now - part.started > _STEADY else part.failures + 1
        pause = doubled(_FIRST_PAUSE, part.failures, _LONGEST_PAUSE)
        part.again_at = now + pause
        log.warning("%s has ended (%s) and is started again in %.1f s", part.name, code, pause)
        return None

    def _end(self) -> None:
        log.info("stopping; jobs are kept and go on at the next start")
        for part in self._parts:
            if part.process is not None and part.process.poll() is None:
                part.process.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + _STOP_SECONDS
        for part in self._parts:
            if part.process is None:
                continue
            try:
                part.process.wait(max(deadline - time.monotonic(), 0.1))
            except subprocess.TimeoutExpired:
                part.process.kill()


def stop_on_signals() -> threading.Event:
    """An event that SIGTERM, SIGINT, or the end of the supervisor that started this process sets."""
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    parent = os.environ.pop(PARENT_VARIABLE, "")
    if parent.isdigit():

        def watch() -> None:
            while not stop.wait(1.0):
                if os.getppid() != int(parent):
                    stop.set()

        threading.Thread(target=watch, name="parent", daemon=True).start()
    return stop


def is_free(host: str, port: int, seconds: float = 0.0) -> bool:
    """Whether one can listen there, now or within some seconds: what was killed may still be ending.

    Raises:
        InputError: no address of this machine.
    """
    deadline = time.monotonic() + seconds
    while True:
        try:
            (family, *_, place), *_ = socket.getaddrinfo(
                host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
            )
            with socket.socket(family, socket.SOCK_STREAM) as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(place)
            return True
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise InputError("host", host, f"an address of this machine ({error.strerror})") from error
        if time.monotonic() > deadline:
            return False
        time.sleep(0.2)


def part_command(part: str, arguments: Sequence[str]) -> list[str]:
    """How a part is started."""
    return [sys.executable, "-m", "cluster.cli.main", "serve", "--part", part, *arguments]
