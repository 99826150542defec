"""Many clients at once: submit small jobs, hold event streams open, and count what was lost or doubled.

    python -m scripts.load --jobs 10000 --clients 50 --streams 1000

It starts an API and a coordinator that works by itself (no Ray) on a folder of its own. Each client submits at its own
steady pace, so that a slow answer is seen as one and does not slow the clients down with it (--rate: of all together).
Beside the times that clients saw it reports the server's own (from /metrics), how late the clients themselves woke, and
what a sync of the disk took at the end: on a machine that does other things too, these say whose time it was.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gc
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx

from scripts.chaos import end_in_order, free_port, new_home, shared_kernels

_TICK = 0.01

BEAR_OFF = "XGID=-AA" + "-" * 20 + "aa-:0:0:1:21:0:0:0:0:10"

PROBLEM = "XGID=--ABBBC-B---eB---c-cbb--A-:0:0:1:56:0:0:0:0:10"


def question(number: int) -> dict[str, Any]:
    """A rollout of a few milliseconds."""
    fields = {"position": BEAR_OFF, "plays": ["2/off 1/off"], "trials": 36, "bearoff": False, "seed": number}
    return {"kind": "rollout", "request": fields}


class Crowd:
    """The clients."""

    def __init__(self, url: str, options: argparse.Namespace) -> None:
        self._url, self._options = url, options
        self.waits: list[float] = []
        self.late: list[float] = []
        self.jobs: dict[int, str] = {}
        self.created = 0
        self.streams: dict[str, int] = {}

    async def run(self) -> None:
        """All at once."""
        o = self._options
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=200)
        async with httpx.AsyncClient(base_url=self._url, timeout=60, limits=limits) as http:
            self._http = http
            # One long job that all streams follow, until it is cancelled after everything else.
            long = question(0) | {"priority": "bulk"}
            long["request"] |= {"position": PROBLEM, "plays": ["24/13"], "trials": 1_000_000}
            job = (await http.post("/v1/jobs", json=long)).json()["job"]["id"]
            command = [sys.executable, "-m", "scripts.watchers", self._url, job, str(o.streams)]
            watchers = subprocess.Popen(command, stdout=subprocess.PIPE, text=True) if o.streams else None
            if watchers is not None and watchers.stdout is not None:
                opened = await asyncio.to_thread(watchers.stdout.readline)
                assert opened == "open\n", "the streams did not open"
            gc.freeze()  # the instrument must not pause
            lateness = asyncio.create_task(self._watch_itself())
            await asyncio.gather(*(self._client(k) for k in range(o.clients)))
            lateness.cancel()
            # Everything once more: nothing may be new.
            for number in range(0, o.jobs, max(o.jobs // 200, 1)):
                answer = await http.post("/v1/jobs", json=question(number))
                assert answer.json()["job"]["id"] == self.jobs[number], "the same question became another job"
                self.created += answer.status_code == 201
            await http.post(f"/v1/jobs/{job}/cancel")
            if watchers is not None:
                said, _ = await asyncio.to_thread(watchers.communicate, timeout=120)
                self.streams = json.loads(said)

    async def _watch_itself(self) -> None:
        while True:
            began = time.perf_counter()
            await asyncio.sleep(_TICK)
            self.late.append(time.perf_counter() - began - _TICK)

    async def _client(self, k: int) -> None:
        o = self._options
        pace = o.clients / o.rate
        begin = time.perf_counter() + pace * k / o.clients
        for turn, number in enumerate(range(k, o.jobs, o.clients)):
            await asyncio.sleep(max(begin + turn * pace - time.perf_counter(), 0))
            asked = time.perf_counter()
            answer = await self._http.post("/v1/jobs", json=question(number))
            self.waits.append(time.perf_counter() - asked)
            assert answer.status_code in (200, 201), answer.text
            self.created += answer.status_code == 201
            self.jobs[number] = answer.json()["job"]["id"]


def main() -> int:
    """Run it; exit code 1 when something was lost or doubled."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=10_000)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--streams", type=int, default=1_000)
    parser.add_argument("--rate", type=float, default=100.0, help="submissions a second of all clients together")
    parser.add_argument("--patience", type=float, default=1800.0)
    options = parser.parse_args()
    end_in_order()
    home = new_home("load")
    port = free_port()
    environment = os.environ | shared_kernels()
    environment |= {
        "GAMMONFARM_HOME": str(home),
        "GAMMONFARM_MLFLOW_URI": "off",
        "GAMMONFARM_LIMIT_BURST": "1000000",
        "GAMMONFARM_LIMIT_STREAMS": "5000",
    }
    environment.pop("GAMMONFARM_REDIS_URL", None)
    command = [sys.executable, "-m", "cluster.cli.main", "serve", "--executor=inline", f"--port={port}"]
    with (home / "serve.log").open("wb") as log:
        farm = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        url = f"http://127.0.0.1:{port}"
        try:
            wait_until_warm(url)
            crowd = Crowd(url, options)
            before, counted = api_seconds(farm.pid), served(url)
            asyncio.run(crowd.run())
            spent = api_seconds(farm.pid) - before
            within = {k: v - counted.get(k, 0) for k, v in served(url).items()}
            syncs = sorted(sync_seconds(home) for _ in range(200))
            states = wait_for_all(url, list(crowd.jobs.values()), options.patience)
        finally:
            farm.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                farm.wait(60)
    waits, late = sorted(crowd.waits), sorted(crowd.late)
    report = {
        "submitted": len(waits),
        "different_jobs": len(set(crowd.jobs.values())),
        "created": crowd.created,
        "done": states.get("done", 0),
        "streams": crowd.streams,
        "submit_ms": {p: percentile(waits, p) for p in (50, 90, 99, 100)},
        "served_percent_within_ms": shares(within),
        "clients_late_ms": {p: percentile(late, p) for p in (50, 90, 99, 100)},
        "disk_sync_ms": {p: percentile(syncs, p) for p in (50, 90, 99, 100)},
        "rate": options.rate,
        "api_cpu_ms_a_submission": round(1000 * spent / max(len(waits), 1), 2),
        "load_average": os.getloadavg()[0],
    }
    print(json.dumps(report, indent=2))
    good = report["different_jobs"] == report["created"] == report["done"] == options.jobs
    return 0 if good and crowd.streams.get("ended", 0) == options.streams else 1


def api_seconds(supervisor: int) -> float:
    """Processor seconds of the API's process, which is the same on a busy machine (Linux; elsewhere 0)."""
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            if int(fields[1]) == supervisor and b"--part\0api" in (entry / "cmdline").read_bytes():
                return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return 0.0


def served(url: str) -> dict[float, float]:
    """How many submissions the API has answered within so many seconds, by its own clock."""
    pattern = re.compile(r'^gammonfarm_request_seconds_bucket\{le="(.+?)",method="POST",route="/v1/jobs"\} (.+)$', re.M)
    text = httpx.get(f"{url}/metrics", timeout=60).text
    return {float(edge): float(count) for edge, count in pattern.findall(text)}


def shares(within: dict[float, float]) -> dict[str, float]:
    """In percent, by milliseconds."""
    everything = max(within.values(), default=0) or 1
    return {f"{1000 * edge:g}": round(100 * count / everything, 2) for edge, count in sorted(within.items())}


def sync_seconds(folder: Path) -> float:
    """How long the disk takes for a small write."""
    with (folder / "sync").open("ab") as file:
        began = time.perf_counter()
        file.write(b"x" * 1000)
        file.flush()
        os.fsync(file.fileno())
        return time.perf_counter() - began


def percentile(rising: list[float], p: int) -> float:
    """In milliseconds."""
    return round(1000 * rising[min(int(len(rising) * p / 100), len(rising) - 1)], 1)


def wait_until_warm(url: str) -> None:
    """The farm works, and its first answers, which compile and build, are behind us."""
    deadline = time.monotonic() + 600
    with httpx.Client(base_url=url, timeout=600) as http:
        while time.monotonic() < deadline:
            with contextlib.suppress(httpx.TransportError):
                if http.get("/ready").status_code == 200:
                    break
            time.sleep(0.5)
        job = http.post("/v1/jobs", json=question(2**40)).json()["job"]["id"]
        while http.get(f"/v1/jobs/{job}").json()["state"] != "done" and time.monotonic() < deadline:
            time.sleep(0.5)


def wait_for_all(url: str, jobs: list[str], patience: float) -> dict[str, int]:
    """States of all jobs, once all are final."""
    deadline = time.monotonic() + patience
    states: dict[str, int] = {}
    with httpx.Client(base_url=url, timeout=60) as http:
        while time.monotonic() < deadline:
            status = http.get("/v1/status")
            if status.status_code == 200 and not status.json()["jobs_queued"] + status.json()["jobs_running"]:
                break
            time.sleep(1.0)
        for job in jobs:
            state = http.get(f"/v1/jobs/{job}").json()["state"]
            states[state] = states.get(state, 0) + 1
    return states


if __name__ == "__main__":
    sys.exit(main())
