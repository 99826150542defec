"""A second host joins with one command: a network namespace stands for it. Measures a rollout before and after.

    sudo python -m scripts.two_hosts --trials 20000

Needs root (ip netns) and Linux. The farm runs in this namespace on one core; the other host brings a second one.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import time

from scripts.chaos import end_in_order, free_port, new_home, shared_kernels

HERE, THERE, NAME = "10.213.7.1", "10.213.7.2", "gammonfarm-host2"
PROBLEM = "XGID=--ABBBC-B---eB---c-cbb--A-:0:0:1:56:0:0:0:0:10"


def ip(*words: str) -> None:
    """One step of setting the network up."""
    subprocess.run(["ip", *words], check=True)


@contextlib.contextmanager
def second_host() -> object:
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


def main() -> int:
    """Run it; exit code 1 when the second host did not help."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=20_000, help="of each of two plays")
    options = parser.parse_args()
    end_in_order()

    from cluster.client import Client
    from engine.errors import GammonfarmError

    home = new_home("two-hosts")
    environment = os.environ | shared_kernels() | {"GAMMONFARM_HOME": str(home), "GAMMONFARM_MLFLOW_URI": "off"}
    port, ray_port = free_port(), free_port()
    program = [sys.executable, "-m", "cluster.cli.main"]
    log = (home / "log").open("ab")
    started: list[subprocess.Popen[bytes]] = []

    def start(*command: str) -> None:
        started.append(subprocess.Popen([*command], env=environment, stdout=log, stderr=log))

    def until(workers: int, client: Client) -> None:
        for _ in range(600):
            with contextlib.suppress(GammonfarmError):
                if client.status().workers == workers:
                    return
            time.sleep(0.5)
        raise SystemExit(f"no {workers} workers; see {home / 'log'}")

    def rollout(seed: int, client: Client) -> float:
        fields = {"position": PROBLEM, "plays": ["24/13", "13/8 13/7"], "trials": options.trials, "seed": seed}
        begun = time.perf_counter()
        client.wait(client.submit("rollout", fields).job.id)
        return time.perf_counter() - begun

    with second_host(), Client(f"http://127.0.0.1:{port}") as client:
        try:
            start(
                *program, "serve", "--workers=1", f"--port={port}", f"--ray-port={ray_port}", f"--node-address={HERE}"
            )
            until(1, client)
            rollout(1, client)  # compiles, builds, measures the speed
            alone = rollout(2, client)
            join = [*program, "worker", f"--address={HERE}:{ray_port}", "--workers=1", f"--node-address={THERE}"]
            start("ip", "netns", "exec", NAME, *join)
            until(2, client)
            rollout(3, client)
            together = rollout(4, client)
        finally:
            for process in reversed(started):
                process.send_signal(signal.SIGTERM)
            for process in reversed(started):
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(60)
    faster = alone / together
    print(json.dumps({"alone_s": round(alone, 2), "together_s": round(together, 2), "times_as_fast": round(faster, 2)}))
    return 0 if faster > 1.5 else 1


if __name__ == "__main__":
    sys.exit(main())
