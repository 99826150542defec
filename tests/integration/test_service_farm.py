"""The farm as an operator starts it: real processes, Ray, the embedded server; a second node joins with one command."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from books import Workshop, tiny_recipe

from cluster.book.artifact import open_book
from cluster.client import Client
from cluster.coordinator import RolloutRun
from cluster.executor import InlineExecutor
from cluster.nets import resolve_net, with_filter
from cluster.planner import plan
from cluster.schemas import RolloutRequest
from cluster.service_models import JobView
from cluster.store import JobState, MemoryStore
from engine.bearoff import Bearoff
from engine.errors import GammonfarmError
from engine.evaluator import Evaluator

ROOT = Path(__file__).resolve().parent.parent.parent
BEAR_OFF = "XGID=-BBB" + "-" * 18 + "bbb-:0:0:1:21:0:0:0:0:10"
REQUEST = RolloutRequest(position=BEAR_OFF, plays=("2/off 1/off", "3/off"), trials=20_000, bearoff=False)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def start(home: Path, *arguments: str) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "GAMMONFARM_HOME": str(home), "GAMMONFARM_MLFLOW_URI": "off"}
    command = [sys.executable, "-m", "cluster.cli.main", *arguments]
    return subprocess.Popen(command, cwd=ROOT, env=environment)


def until(condition: Callable[[], bool], seconds: float = 240.0) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        with contextlib.suppress(GammonfarmError):
            if condition():
                return
        time.sleep(0.5)
    raise AssertionError("it did not happen")


@pytest.fixture
def home(tmp_path: Path, databases: Bearoff, session_home: Path) -> Path:
    """With the session's databases, so that nobody builds them."""
    (tmp_path / "bearoff").symlink_to(session_home / "bearoff")
    return tmp_path


@pytest.fixture
def processes() -> Iterator[list[subprocess.Popen[bytes]]]:
    """What a test started; ended with it."""
    started: list[subprocess.Popen[bytes]] = []
    yield started
    for process in reversed(started):
        process.send_signal(signal.SIGTERM)
    for process in reversed(started):
        process.wait(90)


def calm() -> bytes:
    nets = with_filter(resolve_net(None))
    run = RolloutRun(REQUEST, plan(REQUEST, Evaluator(nets)), nets, MemoryStore())
    return run.run(InlineExecutor, lambda _: None).result.model_dump_json().encode()


@pytest.mark.slow
def test_a_second_node_joins_and_the_answer_survives_the_coordinator_and_the_api(
    home: Path, processes: list[subprocess.Popen[bytes]]
) -> None:
    port, ray_port = free_port(), free_port()
    processes.append(start(home, "serve", "--workers=1", f"--port={port}", f"--ray-port={ray_port}"))
    with Client(f"http://127.0.0.1:{port}") as client:
        until(lambda: client.status().workers == 1)
        head = _address()
        processes.append(start(home, "worker", f"--address={head}:{ray_port}", "--workers=1"))
        until(lambda: client.status().workers == 2)
        job = client.submit("rollout", REQUEST).job.id
        until(lambda: client.job(job).done > 0)
        os.kill(int(client.status().coordinator.split("/")[1]), signal.SIGKILL)

        def ended() -> bool:
            view: JobView = client.job(job)
            return view.state is JobState.DONE

        until(ended)
        answer = client.result(job)
        assert [event.kind.is_final for event in client.events(job)].count(True) == 1
        assert answer.result == json.loads(calm())


@pytest.mark.slow
def test_a_book_survives_the_coordinator_and_has_the_entries_of_the_command(
    home: Path, processes: list[subprocess.Popen[bytes]], databases: Bearoff
) -> None:
    recipe = tiny_recipe(budget=6_000)
    Workshop(with_filter(resolve_net(None)), databases).build(home / "calm.book", recipe)
    port, ray_port = free_port(), free_port()
    processes.append(start(home, "serve", "--workers=2", f"--port={port}", f"--ray-port={ray_port}"))
    with Client(f"http://127.0.0.1:{port}") as client:
        until(lambda: client.status().workers == 2)
        job = client.submit("book", recipe).job.id
        until(lambda: client.job(job).done > 1_000)
        os.kill(int(client.status().coordinator.split("/")[1]), signal.SIGKILL)
        until(lambda: client.job(job).state is JobState.DONE)
        (home / "farm.book").write_bytes(client.book(job))
        answer = client.result(job)
    with open_book(home / "calm.book") as calm, open_book(home / "farm.book") as farm:
        assert answer.result["digest"] == farm.digest() == calm.digest()
    assert answer.provenance is not None
    assert answer.provenance["entries_computed"] < answer.provenance["entries"], "finished entries are read again"


@pytest.mark.slow
def test_the_part_that_holds_ray_is_started_again_with_new_workers(
    home: Path, processes: list[subprocess.Popen[bytes]]
) -> None:
    port, ray_port = free_port(), free_port()
    processes.append(start(home, "serve", "--workers=1", f"--port={port}", f"--ray-port={ray_port}"))
    with Client(f"http://127.0.0.1:{port}") as client:
        until(lambda: client.status().workers == 1)
        before = client.status().rows[0].name
        (part,) = _children(processes[0].pid, "--part farm")
        os.kill(part, signal.SIGKILL)
        until(lambda: [row.name for row in client.status().rows if row.name != before] != [])
        until(lambda: client.status().workers == 1)
        job = client.submit("rollout", REQUEST).job.id
        assert client.wait(job).result == json.loads(calm())


def _children(parent: int, words: str) -> list[int]:
    found = subprocess.run(["pgrep", "-P", str(parent), "-f", "--", words], capture_output=True, text=True, check=True)
    return [int(line) for line in found.stdout.split()]


def _address() -> str:
    from cluster.ray_host import own_address

    return own_address()
