"""Kill parts of a farm at random while it works, and compare every answer with a calm run.

    python -m scripts.chaos --jobs 40 --kills 200

It starts a farm of its own (a Redis-protocol server, a Ray cluster of a head and two nodes, API, coordinator), submits
rollouts and evaluations, and kills workers, the coordinator, the API, Redis (with its file kept) and whole nodes. In
the end every job must have ended once, with the bytes that this process computes alone. Linux only: it reads /proc.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

BEAR_OFF = "XGID=-BBB" + "-" * 18 + "bbb-:0:0:1:21:0:0:0:0:10"
PROBLEM = "XGID=--ABBBC-B---eB---c-cbb--A-:0:0:1:65:0:0:0:0:10"
CUBE = "XGID=-b----E-C---eE---c-e----B-:0:0:1:00:3:2:0:7:10"
OPENING = "XGID=-b----E-C---eE---c-e----B-:0:0:1:{dice}:0:0:0:0:10"
KINDS = ("worker", "worker", "worker", "coordinator", "api", "redis", "node")


def shared_kernels() -> dict[str, str]:
    """So that a folder of its own does not mean compiling everything again."""
    import numba

    import engine.kernels  # noqa: F401 - fixes where compiled code is kept

    return {"NUMBA_CACHE_DIR": os.environ.get("NUMBA_CACHE_DIR") or str(numba.config.CACHE_DIR)}


def new_home(name: str) -> Path:
    """A data folder of its own, with the bear-off databases of the usual one, so that nobody builds them again."""
    from engine.home import data_home

    home = Path(tempfile.mkdtemp(prefix=f"gammonfarm-{name}-"))
    databases = data_home() / "bearoff"
    if databases.is_dir():
        (home / "bearoff").symlink_to(databases)
    return home


def end_in_order() -> None:
    """Have SIGTERM end what was started, as Ctrl-C does."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Redis:
    """A server whose file survives it."""

    def __init__(self, folder: Path) -> None:
        self.port, self._folder = free_port(), folder
        folder.mkdir()
        self.start()

    def start(self) -> None:
        """Start it, or start it again."""
        from cluster.embedded_redis import find_server_binary

        options = {"port": self.port, "bind": "127.0.0.1", "dir": self._folder, "appendonly": "yes", "save": ""}
        arguments = [str(word) for name, value in options.items() for word in (f"--{name}", value)]
        self._process = subprocess.Popen(
            [str(find_server_binary()), *arguments, "--appendfsync", "always"],
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )

    def kill(self) -> None:
        """As a crash would; comes back after a while."""
        self._process.kill()
        self._process.wait()
        time.sleep(random.uniform(0.2, 3.0))
        self.start()

    def close(self) -> None:
        """For good."""
        self._process.kill()


class Nodes:
    """A Ray cluster on this machine."""

    def __init__(self) -> None:
        from ray.cluster_utils import Cluster

        # Nodes are exchanged in a thread, where Ray can't put in its signal handlers.
        head = {"num_cpus": 0, "include_dashboard": False}
        self.cluster = Cluster(initialize_head=True, head_node_args=head, shutdown_at_exit=False)
        self.address = self.cluster.address
        self._nodes = [self._add() for _ in range(2)]
        self._exchange: threading.Thread | None = None

    def _add(self) -> Any:
        for _ in range(5):
            # Now and then a new one is refused while Ray still looks after the old one.
            with contextlib.suppress(Exception):
                return self.cluster.add_node(wait=False, num_cpus=1, object_store_memory=100 * 2**20)
            time.sleep(2.0)
        raise SystemExit("Ray takes no new node")

    def kill(self, dice: random.Random) -> bool:
        """A whole node goes and another comes, beside all else: both take a while. Returns whether it was begun; there
        is one such exchange at a time.
        """
        if not self._nodes or (self._exchange is not None and self._exchange.is_alive()):
            return False
        node = self._nodes.pop(dice.randrange(len(self._nodes)))

        def exchange() -> None:
            self.cluster.remove_node(node, allow_graceful=False)
            self._nodes.append(self._add())

        self._exchange = threading.Thread(target=exchange)
        self._exchange.start()
        return True

    def worker_pids(self) -> list[int]:
        """Processes of workers."""
        raylets = {p.process.pid for node in self._nodes for p in node.all_processes["raylet"]}
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                with contextlib.suppress(OSError, IndexError):
                    parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                    if parent in raylets and b"ray::WorkerActor" in (entry / "cmdline").read_bytes():
                        found.append(int(entry.name))
        return found

    def close(self) -> None:
        """End it."""
        if self._exchange is not None:
            self._exchange.join()
        self.cluster.shutdown()


def strike(pid: int, name: bytes) -> bool:
    """Kill a process of Ray's if it is there and is what it should be; returns whether it was."""
    with contextlib.suppress(OSError):
        if pid and name in Path(f"/proc/{pid}/cmdline").read_bytes():
            os.kill(pid, signal.SIGKILL)
            return True
    return False


class Part:
    """`gammonfarm serve --part ...`, started again when it is killed."""

    def __init__(self, name: str, environment: dict[str, str], *arguments: str) -> None:
        self._command = [sys.executable, "-m", "cluster.cli.main", "serve", "--part", name, *arguments]
        self._environment = environment
        self._log = (Path(environment["GAMMONFARM_HOME"]) / f"{name}.log").open("ab")
        self.start()

    def start(self) -> None:
        """Start it."""
        self._process = subprocess.Popen(
            self._command, env=self._environment, start_new_session=True, stdout=self._log, stderr=self._log
        )

    def keep(self) -> None:
        """Start it again where it has ended by itself."""
        if self._process.poll() is not None:
            self.start()

    def kill(self) -> None:
        """As a crash would."""
        self._process.kill()
        self._process.wait()
        self.start()

    def close(self) -> None:
        """End it in good order."""
        self._process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(30)
        self._process.kill()


def questions(count: int, trials: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """A mix: truncated rollouts, cube decisions, rollouts to the end with a race and without, evaluations, deep
    analyses and books.
    """
    for number in range(count):
        which = number % 7
        if which == 6:
            depth = {"margin": 0.05, "most": 2, "trials": trials // 72 * 36, "checkpoint": 36}
            fields = {"name": f"chaos-{number}", "rules": "hypergammon", "cube": False, "seed": number}
            yield "book", fields | {"search": {"level": 2}, "budget": {"entries": 8}, "depth": [depth]}
        elif which == 5:
            fields = {"position": BEAR_OFF, "plays": ["2/off 1/off", "3/off"], "seed": number}
            yield "deep", fields | {"trials": max(trials // 72 * 72, 720)}
        elif which == 4:
            yield (
                "evaluate",
                {"position": OPENING.format(dice=f"{number % 4 + 3}1"), "level": 1 + number // 7 % 2},
            )
        elif which == 3:
            yield "rollout", {"position": PROBLEM, "candidates": 3, "trials": trials, "seed": number, "truncate": 7}
        elif which == 2:
            yield "rollout", {"position": CUBE, "trials": trials // 2, "seed": number}
        else:
            fields = {"position": BEAR_OFF, "plays": ["2/off 1/off", "3/off"], "bearoff": False, "seed": number}
            yield "rollout", fields | {"trials": trials * 20, "race": which == 1}


def calm(kind: str, fields: dict[str, Any]) -> Any:
    """The exact answer, by this process alone."""
    from cluster.farm.coordinator import Farm, FarmOptions
    from cluster.farm.desk import Desk
    from cluster.farm.pool import InlinePool
    from cluster.farm.registry import Kinds, written
    from cluster.ledger import Submission
    from cluster.memory_ledger import MemoryLedger
    from cluster.store import JobKind

    of, desk, ledger = Kinds().of(kind), Desk(), MemoryLedger()
    request = of.request.model_validate(fields)
    key = of.key(request, "shipped", desk)
    ledger.submit([Submission(JobKind(kind), key, written("shipped", request), "calm", of.priority)], 0.0)
    farm = Farm(ledger, InlinePool(), desk, FarmOptions("calm", golden=False))
    while ledger.open_ids():
        farm.step()
    return json.loads(ledger.get_result(key) or b"null")


def main() -> int:
    """Run it; exit code 1 when anything was lost, doubled or changed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=40)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--trials", type=int, default=360, help="of long rollouts; bear-offs get 20 times more")
    parser.add_argument("--pause", type=float, default=3.0, help="mean seconds between kills")
    parser.add_argument("--minutes", type=float, default=1e9, help="after which no more is killed")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--patience", type=float, default=1800.0, help="seconds to wait for the last job")
    options = parser.parse_args()
    end_in_order()
    dice = random.Random(options.seed)
    os.environ.update(shared_kernels())
    os.environ.update({"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)})
    os.environ.setdefault("RAY_raylet_start_wait_time_s", "120")  # other work may keep this machine busy

    import cluster.ray_executor  # noqa: F401 - fixes Ray's settings before it is imported
    from cluster.client import Client
    from engine.errors import InfrastructureError

    home = new_home("chaos")
    with contextlib.ExitStack() as stack:
        redis = Redis(home / "redis")
        stack.callback(redis.close)
        nodes = Nodes()
        stack.callback(nodes.close)
        environment = os.environ | {
            "GAMMONFARM_HOME": str(home),
            "GAMMONFARM_REDIS_URL": f"redis://127.0.0.1:{redis.port}/0",
            "GAMMONFARM_RAY_ADDRESS": nodes.address,
            "GAMMONFARM_MLFLOW_URI": "off",
        }
        port = free_port()
        api = Part("api", environment, f"--port={port}")
        stack.callback(api.close)
        farm = Part("farm", environment)
        stack.callback(farm.close)
        client = stack.enter_context(Client(f"http://127.0.0.1:{port}"))

        def patiently(call: Any) -> Any:
            for _ in range(200):
                api.keep()
                farm.keep()
                with contextlib.suppress(InfrastructureError):
                    return call()
                time.sleep(0.5)
            raise SystemExit("the farm does not come back")

        patiently(client.status)
        asked = list(questions(options.jobs, options.trials))
        jobs: dict[str, tuple[str, dict[str, Any]]] = {}
        submitted = 0
        killed: Counter[str] = Counter()
        started = time.monotonic()
        while killed.total() < options.kills and time.monotonic() - started < 60 * options.minutes:
            share = len(asked) * (killed.total() + 1) // options.kills
            while submitted < share:
                kind, fields = asked[submitted]
                submitted += 1
                jobs[patiently(lambda k=kind, f=fields: client.submit(k, f)).job.id] = (kind, fields)
            time.sleep(dice.expovariate(1 / options.pause))
            what = dice.choice(KINDS)
            if what == "worker":
                if not strike(dice.choice(nodes.worker_pids() or [0]), b"WorkerActor"):
                    continue
            elif what == "coordinator":
                if not strike(int(patiently(client.status).coordinator.split("/")[1]), b"CoordinatorActor"):
                    continue
            elif what == "api":
                api.kill()
            elif what == "redis":
                redis.kill()
            elif not nodes.kill(dice):
                continue
            killed[what] += 1
            print(f"{killed.total()}: {what}, {len(jobs)} jobs, {time.monotonic() - started:.0f} s", file=sys.stderr)
        for kind, fields in asked[submitted:]:
            jobs[patiently(lambda k=kind, f=fields: client.submit(k, f)).job.id] = (kind, fields)
        deadline = time.monotonic() + options.patience
        states: dict[str, Any] = {}
        while len(states) < len(jobs) and time.monotonic() < deadline:
            for job in jobs.keys() - states.keys():
                view = patiently(lambda j=job: client.job(j))
                if view.state.is_final:
                    states[job] = view
            time.sleep(1.0)
        seconds = time.monotonic() - started
        wrong: list[str] = [f"{job} has not ended" for job in jobs.keys() - states.keys()]
        for job, view in states.items():
            if view.state.value != "done":
                wrong.append(f"{job} is {view.state.value}: {view.message}")
                continue
            finals = [event.kind for event in client.events(job) if event.kind.is_final]
            if len(finals) != 1:
                wrong.append(f"{job} has {len(finals)} final events")
            if patiently(lambda j=job: client.result(j)).result != calm(*jobs[job]):
                wrong.append(f"{job} has another answer than a calm run")
    report = {
        "jobs": len(jobs),
        "done": sum(view.state.value == "done" for view in states.values()),
        "kills": dict(killed),
        "wrong": wrong,
        "seconds": round(seconds, 1),
        "load_average": os.getloadavg()[0],
        "folder": str(home),
    }
    print(json.dumps(report, indent=2))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
