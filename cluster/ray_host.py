"""Ray for the farm: a head that outlives commands, nodes that join it, and the coordinator as a detached actor."""

from __future__ import annotations

import logging
import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ray
from ray import exceptions as ray_errors

from cluster.farm.host import host_farm
from cluster.logs import LEVEL_VARIABLE, start_logging
from cluster.ray_executor import ONE_THREAD, first_line, import_paths, join_cluster
from cluster.ray_pool import RayPool
from cluster.settings import Settings, load_settings
from engine.errors import InfrastructureError, InputError

_ray: Any = ray
log = logging.getLogger(__name__)

NAMESPACE = "gammonfarm"
ACTOR = "gammonfarm-coordinator"
PORT = 6379
_READY = 60.0
_LOOK = 2.0
_CONNECT = 10.0
_HEAD = "node:__internal_head__"


NODE_PROGRAM = """
import os, signal, sys, threading, time

def watch(parent):
    while os.getppid() == parent:
        time.sleep(0.5)
    os.killpg(0, signal.SIGTERM)

threading.Thread(target=watch, args=(int(sys.argv.pop(1)),), daemon=True).start()
from ray.scripts.scripts import main
sys.argv[0] = "ray"
sys.exit(main())
"""
"""The program of a node. It ends with the process that started it, however that ends: the next one would find its port
taken.
"""


class CoordinatorActor:
    """The coordinator's process on Ray. Ray starts it again wherever it dies; a thread does the work.

    Args:
        variables: of the environment; as an argument and not in the runtime environment, which Ray shows and logs.
    """

    def __init__(self, variables: dict[str, str]) -> None:
        os.environ.update(variables)
        start_logging(load_settings().home / "logs" / "coordinator.log")
        self._stop = threading.Event()
        self._problem = ""
        self._thread = threading.Thread(target=self._work, name="coordinator", daemon=True)
        self._thread.start()

    def _work(self) -> None:
        while not self._stop.is_set():
            try:
                host_farm(load_settings(), RayPool, self._stop)
            except Exception as error:
                # Whatever it was: the truth is in Redis, and a fresh coordinator begins from there.
                self._problem = first_line(error)
                log.exception("the coordinator begins anew")
                self._stop.wait(_LOOK)

    def alive(self) -> str:
        """What went wrong since this was asked last; "" while all is well."""
        problem, self._problem = self._problem, ""
        return problem if self._thread.is_alive() else "its thread has ended"

    def stop(self) -> None:
        """Give the duty back and end."""
        self._stop.set()
        self._thread.join(20.0)


class RayNode:
    """`ray start` as a child process: a head, or a node that joins one. It ends with `close`."""

    def __init__(self, arguments: Sequence[str], settings: Settings) -> None:
        environment = {**os.environ, **ONE_THREAD, "GAMMONFARM_HOME": str(settings.home)}
        environment["PYTHONPATH"] = os.pathsep.join(import_paths())
        # A file and no pipe: nobody reads for weeks, and a full pipe would stop Ray.
        self._said = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115 - `close` does
        self._process = subprocess.Popen(
            [
                sys.executable,
                "-c",
                NODE_PROGRAM,
                str(os.getpid()),
                "start",
                "--block",
                "--disable-usage-stats",
                *arguments,
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self._said,
            env=environment,
            start_new_session=True,
        )

    def alive(self) -> bool:
        """Whether it runs."""
        return self._process.poll() is None

    def wait(self, stop: threading.Event) -> None:
        """Until told to stop.

        Raises:
            InputError: the farm has another token. InfrastructureError: it ended by itself.
        """
        while not stop.wait(0.5):
            if not self.alive():
                said = self._last_words()
                if "AuthenticationError" in said:
                    file = os.environ.get("RAY_AUTH_TOKEN_PATH", "")
                    raise InputError("RAY_AUTH_TOKEN_PATH", file, "the token of this farm: ray.token of its head")
                raise InfrastructureError(f"ray ended: {said}")

    def _last_words(self) -> str:
        self._said.seek(0)
        lines = [line.strip() for line in self._said if line.strip()]
        return lines[-1] if lines else f"exit code {self._process.returncode}"

    def close(self) -> None:
        """End it and all it started."""
        for number, seconds in ((signal.SIGTERM, 15.0), (signal.SIGKILL, 5.0)):
            if self.alive():
                os.killpg(self._process.pid, number)
                try:
                    self._process.wait(seconds)
                except subprocess.TimeoutExpired:
                    continue
        self._said.close()


def token_file(settings: Settings) -> Path:
    """Where the Ray token of this data folder is."""
    return settings.home / "ray.token"


def use_token_where_one_is(settings: Settings) -> None:
    """Show our token to a cluster of others, if we have one for it."""
    if os.environ.get("RAY_AUTH_MODE") == "token" or token_file(settings).exists():
        use_token(settings, make=False)


def use_token(settings: Settings, *, make: bool) -> Path | None:
    """Have Ray ask for a token: the one that is configured, else that of this data folder. Returns its file.

    Args:
        make: make one where there is none, which only the head may do.

    Raises:
        InputError: there is none.
    """
    os.environ.setdefault("RAY_AUTH_MODE", "token")
    configured = os.environ.get("RAY_AUTH_TOKEN_PATH")
    if os.environ["RAY_AUTH_MODE"] != "token" or (os.environ.get("RAY_AUTH_TOKEN") and not configured):
        return None
    file = Path(configured) if configured else token_file(settings)
    if not file.exists():
        if configured or not make:
            raise InputError("RAY_AUTH_TOKEN_PATH", file, "a copy of ray.token in the data folder of the farm's head")
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as new:
            new.write(secrets.token_hex(32))
    os.environ["RAY_AUTH_TOKEN_PATH"] = str(file)
    _ray._raylet.Config.initialize("")
    return file


def head_arguments(port: int, cores: int | None, address: str | None) -> list[str]:
    """For a head on this machine; it is reached at `address`, by default the one that Ray finds."""
    arguments = ["--head", f"--port={port}", "--include-dashboard=false", "--object-store-memory=268435456"]
    arguments += [f"--num-cpus={cores}"] if cores is not None else []
    return arguments + ([f"--node-ip-address={address}"] if address else [])


def node_arguments(head: str, cores: int | None, address: str | None) -> list[str]:
    """For a node that joins the head at `host:port`."""
    arguments = [f"--address={head}", "--object-store-memory=268435456"]
    arguments += [f"--num-cpus={cores}"] if cores is not None else []
    return arguments + ([f"--node-ip-address={address}"] if address else [])


def own_address() -> str:
    """This machine's address, as Ray finds it."""
    return str(_ray.util.get_node_ip_address())


def has_node_here(address: str) -> bool:
    """Whether a node of the cluster runs on this machine, so that one can join it from here."""
    try:
        join_cluster(address, namespace=NAMESPACE)
    except InfrastructureError:
        return False
    _ray.shutdown()
    return True


def check_reachable(head: str) -> None:
    """Say at once what Ray would take a minute for.

    Raises:
        InputError: no `host:port`. InfrastructureError: nothing listens there.
    """
    host, _, port = head.rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) < 65536:
        raise InputError("address", head, "HOST or HOST:PORT")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_CONNECT).close()
    except OSError as error:
        why = error.strerror or str(error)
        raise InfrastructureError(
            f"nothing answers at {head} ({why}): is `gammonfarm serve` up there, with this --ray-port, and no firewall?"
        ) from error


def join(address: str, stop: threading.Event) -> None:
    """Connect to a head, patiently: it may just have been started.

    Raises:
        InfrastructureError: it does not answer.
    """
    deadline = time.monotonic() + _READY
    while True:
        try:
            join_cluster(address, namespace=NAMESPACE)
            return
        except InfrastructureError:
            if time.monotonic() > deadline or stop.wait(1.0):
                raise


def watch_coordinator(settings: Settings, stop: threading.Event) -> None:
    """See to it that the cluster that this process has joined has a coordinator, until told to stop.

    Raises:
        InputError: it will run on another machine, which can't reach Redis. InfrastructureError: the cluster is gone.
    """
    variables = _variables(settings, head_is_here=_head_address() == own_address())
    options: dict[str, Any] = {
        "name": ACTOR,
        "namespace": NAMESPACE,
        "lifetime": "detached",
        "get_if_exists": True,
        "num_cpus": 0,
        "max_restarts": -1,
        "max_concurrency": 4,
        "resources": {_HEAD: 0.001},
        "runtime_env": {"env_vars": ONE_THREAD},
    }
    while not stop.is_set():
        try:
            actor = ray.remote(CoordinatorActor).options(**options).remote(variables)
            while not stop.is_set():
                said = ray.get(actor.alive.remote(), timeout=_READY)
                if said:
                    log.warning("coordinator: %s", said)
                stop.wait(_LOOK)
        except (ray_errors.RayActorError, ray_errors.GetTimeoutError) as error:
            log.warning("the coordinator is away: %s", first_line(error))
            stop.wait(_LOOK)
        except Exception as error:
            raise InfrastructureError(f"ray: {first_line(error)}") from error


def stop_coordinator() -> None:
    """End the detached coordinator, in good order where it still answers."""
    try:
        actor = ray.get_actor(ACTOR, namespace=NAMESPACE)
        ray.get(actor.stop.remote(), timeout=25.0)
        ray.kill(actor)
    except Exception as error:
        log.warning("the coordinator could not be stopped: %s", first_line(error))


def _head_address() -> str:
    return str(_ray.get_runtime_context().gcs_address).rpartition(":")[0]


def _variables(settings: Settings, head_is_here: bool) -> dict[str, str]:
    """What a coordinator must know, which runs on the head."""
    found = {name: value for name, value in os.environ.items() if name == LEVEL_VARIABLE}
    if settings.mlflow_uri is not None:
        found["GAMMONFARM_MLFLOW_URI"] = settings.mlflow_uri
    if head_is_here:
        found["GAMMONFARM_HOME"] = str(settings.home)
        return found | ({"GAMMONFARM_REDIS_URL": settings.redis_url} if settings.redis_url else {})
    if settings.redis_url is None or settings.redis_url.startswith("unix:"):
        raise InputError("GAMMONFARM_REDIS_URL", settings.redis_url or "", "a server that all of the cluster can reach")
    return found | {"GAMMONFARM_REDIS_URL": settings.redis_url}
