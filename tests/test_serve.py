"""Starting a farm: what is in the way is said at once, and what was started ends with its starter."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster.cli.main import main
from cluster.farm.supervisor import is_free
from cluster.service.auth import Role, new_token
from engine.errors import InputError


@pytest.fixture
def taken() -> Iterator[int]:
    """A port at which somebody listens."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


@pytest.fixture
def calm(monkeypatch: pytest.MonkeyPatch) -> None:
    """`serve` without its signals, its logging and its parts."""
    monkeypatch.setattr("cluster.farm.supervisor.stop_on_signals", threading.Event)
    monkeypatch.setattr("cluster.logs.start_logging", lambda: None)
    monkeypatch.setattr("cluster.farm.supervisor.Supervisor.run", lambda *_: 0)
    monkeypatch.setattr("cluster.farm.supervisor.RAY_ENDS", 0.0)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_a_port_is_free_until_somebody_listens(taken: int) -> None:
    port = free_port()
    assert is_free("127.0.0.1", port)
    assert is_free("", port)
    assert not is_free("127.0.0.1", taken)
    assert not is_free("", taken)  # a Redis on loopback is in the way of Ray, which listens everywhere
    with pytest.raises(InputError, match="address of this machine"):
        is_free("192.0.2.77", port)


@pytest.mark.parametrize("option", ["port", "ray-port"])
def test_a_farm_does_not_start_where_something_listens(
    calm: None, taken: int, option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    ports = {"port": free_port(), "ray-port": free_port()} | {option: taken}
    assert main(["serve", *(f"--{name}={port}" for name, port in ports.items())]) == 2
    assert f"{option}: '{taken}': expected a free one" in capsys.readouterr().err
    assert main(["serve", f"--port={free_port()}", f"--ray-port={taken}", "--executor=inline"]) == 0


@pytest.mark.parametrize(
    ("options", "url"),
    [
        ((), "http://127.0.0.1:"),
        (("--host=0.0.0.0", "--node-address=192.0.2.7"), "http://192.0.2.7:"),
        (("--host=::", "--node-address=2001:db8::7"), "http://[2001:db8::7]:"),
    ],
)
def test_a_farm_names_the_address_that_clients_use(
    calm: None,
    options: tuple[str, ...],
    url: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("GAMMONFARM_TOKENS", new_token("anna", Role.SUBMIT)[1])
    assert main(["serve", f"--port={free_port()}", f"--ray-port={free_port()}", *options]) == 0
    assert f"GAMMONFARM_URL={url}" in capsys.readouterr().err


def test_a_farm_of_others_is_told_how_tokens_are_made(
    calm: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GAMMONFARM_TOKENS_FILE", str(tmp_path / "tokens"))
    assert main(["serve", "--host=0.0.0.0"]) == 2
    assert "gammonfarm tokens new" in capsys.readouterr().err


def test_a_worker_machine_says_at_once_that_nobody_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("cluster.farm.supervisor.stop_on_signals", threading.Event)
    monkeypatch.setattr("cluster.logs.start_logging", lambda: None)
    monkeypatch.setattr("cluster.ray_host.use_token", lambda *_, **__: None)
    assert main(["worker", f"--address=127.0.0.1:{free_port()}"]) == 4
    assert "is `gammonfarm serve` up there" in capsys.readouterr().err
    for address in ("127.0.0.1:ray", ":6379", "127.0.0.1:99999"):
        assert main(["worker", f"--address={address}"]) == 2
        assert "expected HOST or HOST:PORT" in capsys.readouterr().err


def test_a_node_ends_with_the_process_that_started_it_however_that_ends(tmp_path: Path) -> None:
    from cluster.ray_host import NODE_PROGRAM

    scripts = tmp_path / "ray" / "scripts"
    scripts.mkdir(parents=True)
    for folder in (scripts, scripts.parent):
        (folder / "__init__.py").touch()
    (scripts / "scripts.py").write_text("import time\ndef main():\n    print('up', flush=True)\n    time.sleep(300)\n")
    starter = (
        "import os, subprocess, sys, time\n"
        "words = [sys.executable, '-c', sys.argv[1], str(os.getpid())]\n"
        "print(subprocess.Popen(words, start_new_session=True).pid, flush=True)\n"
        "time.sleep(300)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", starter, NODE_PROGRAM],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )
    assert process.stdout is not None
    node = int(process.stdout.readline())
    try:
        assert process.stdout.readline() == "up\n"
        process.kill()
        # Both hold the pipe: it ends when the node does.
        assert process.stdout.read() == ""
    finally:
        process.kill()
        process.wait()
        with contextlib.suppress(ProcessLookupError):
            os.kill(node, signal.SIGKILL)
