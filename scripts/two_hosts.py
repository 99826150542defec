"""A second host joins with one command: a network namespace stands for it. Measures rollouts before and after.

    sudo python -m scripts.two_hosts --trials 20000

Needs root (ip netns) and Linux with two cores. Each host is kept to a core of its own, on which all of its processes
work: Redis, coordinator and API beside the worker on the first one, only a worker on the second.

One machine's cores share its memory and its heat, which hosts do not: a worker can compute slower when the other core
works as well, whatever the farm does. So the answer has three parts: how many times as fast the rollouts were; which
part of the workers' time went into trials (the farm's doing), and how much longer a trial took beside another core
that works (the machine's).
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scripts.chaos import end_in_order, free_port, new_home, shared_kernels

if TYPE_CHECKING:
    from cluster.client import Client

HERE, THERE, NAME = "10.213.7.1", "10.213.7.2", "gammonfarm-host2"
PROBLEM = "XGID=--ABBBC-B---eB---c-cbb--A-:0:0:1:56:0:0:0:0:10"
PLAYS = ("24/13", "13/8 13/7")
STATUS_SECONDS = 1.0
"""How often the farm says anew what its workers did."""


@dataclass(frozen=True)
class Measured:
    """A rollout: seconds by the clock, from the first call to the answer, and of the workers' processors."""

    wall: float
    work: float


def ip(*words: str) -> None:
    """One step of setting the network up."""
    subprocess.run(["ip", *words], check=True)


@contextlib.contextmanager
def second_host() -> Iterator[None]:
    """A namespace with a cable to this one."""
    subprocess.run(["ip", "netns", "del", NAME], stderr=subprocess.DEVNULL, check=False)
    ip("netns", "add", NAME)
    try:
        ip("link", "add", "gfarm0", "type", "veth", "peer", "name", "gfarm1", "netns", NAME)
        ip("addr", "add", f"{HERE}/24", "dev", "gfarm0")
        ip("link", "set", "gfarm0", "up")
        steps = (
            ["addr", "add", f"{THERE}/24", "dev", "gfarm1"],
            ["link", "set", "gfarm1", "up"],
            ["link", "set", "lo", "up"],
        )
        for words in steps:
            ip("-n", NAME, *words)
        yield
    finally:
        ip("netns", "del", NAME)


def rollout(client: Client, trials: int, seed: int) -> Measured:
    """Roll the plays out with dice that nobody asked for yet."""
    fields = {"position": PROBLEM, "plays": list(PLAYS), "trials": trials, "seed": seed}
    before = client.status().seconds
    begun = time.perf_counter()
    client.wait(client.submit("rollout", fields).job.id)
    wall = time.perf_counter() - begun
    time.sleep(2 * STATUS_SECONDS)
    return Measured(wall, client.status().seconds - before)


def main() -> int:
    """Run it; exit code 1 when the second host did not help."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=20_000, help="of each of two plays")
    parser.add_argument("--rounds", type=int, default=3, help="rollouts with one host, and as many with two")
    options = parser.parse_args()
    end_in_order()

    from cluster.client import Client
    from engine.errors import GammonfarmError

    home = new_home("two-hosts")
    environment = os.environ | shared_kernels() | {"GAMMONFARM_HOME": str(home), "GAMMONFARM_MLFLOW_URI": "off"}
    port, ray_port = free_port(), free_port()
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        raise SystemExit("each host needs a core of its own: there is one")
    program = [sys.executable, "-m", "cluster.cli.main"]
    log = (home / "log").open("ab")
    started: list[subprocess.Popen[bytes]] = []

    def start(core: int, *command: str) -> None:
        started.append(
            subprocess.Popen(["taskset", "-c", str(core), *command], env=environment, stdout=log, stderr=log)
        )

    def until(workers: int, client: Client) -> None:
        for _ in range(600):
            with contextlib.suppress(GammonfarmError):
                if client.status().workers == workers:
                    return
            time.sleep(0.5)
        raise SystemExit(f"no {workers} workers; see {home / 'log'}")

    def measure(client: Client, seed: int) -> Measured:
        rollout(client, options.trials, seed)  # compiles, builds, loads the net
        found = [rollout(client, options.trials, seed + 1 + i) for i in range(options.rounds)]
        return Measured(statistics.median(m.wall for m in found), statistics.median(m.work for m in found))

    with second_host(), Client(f"http://127.0.0.1:{port}") as client:
        try:
            serve = ["serve", "--workers=1", f"--port={port}", f"--ray-port={ray_port}", f"--node-address={HERE}"]
            start(cores[0], *program, *serve)
            until(1, client)
            alone = measure(client, 100)
            join = ["worker", f"--address={HERE}:{ray_port}", "--workers=1", f"--node-address={THERE}"]
            start(cores[1], "ip", "netns", "exec", NAME, *program, *join)
            until(2, client)
            together = measure(client, 200)
        finally:
            for process in reversed(started):
                process.send_signal(signal.SIGTERM)
            for process in reversed(started):
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(60)
    faster = alone.wall / together.wall
    answer = {
        "alone_s": round(alone.wall, 2),
        "together_s": round(together.wall, 2),
        "times_as_fast": round(faster, 2),
        "workers_busy_alone": round(alone.work / alone.wall, 3),
        "workers_busy_together": round(together.work / together.wall / 2, 3),
        "trial_takes_times_as_long_together": round(together.work / alone.work, 3),
    }
    print(json.dumps(answer))
    return 0 if faster > 1.5 else 1


if __name__ == "__main__":
    sys.exit(main())
