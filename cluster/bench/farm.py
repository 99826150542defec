"""What coordinating costs: the real coordinator with simulated workers, in simulated time.

Rollouts are planned, cut into blocks, handed out, kept, counted and judged as on a farm; only the trials are not
played: every worker answers a block with zeros after the time that its trials would take.
"""

from __future__ import annotations

import heapq
import itertools
import os
import time
from typing import Any

import numpy as np

from cluster.bench.scaling import resident_mb
from cluster.farm.coordinator import Farm, FarmOptions
from cluster.farm.desk import Desk
from cluster.farm.pool import Departure, Outcome
from cluster.farm.registry import Kinds, written
from cluster.ledger import Submission
from cluster.memory_ledger import MemoryLedger
from cluster.roster import Assignment
from cluster.schemas import Model, RolloutRequest
from cluster.store import JobKind
from engine.evaluator import Nets
from workers.golden import golden_nets
from workers.spec import WorkerSpec
from workers.tasks import RolloutOutput, RolloutTask

_POSITION = "XGID=-BBB" + "-" * 18 + "bbb-:0:0:1:21:0:0:0:0:10"
_PLAYS = ("2/off 1/off", "3/off")
_TRIALS = 40_000
_CLIENTS = 20
_JOBS_AT_ONCE = 40


class FarmBenchReport(Model):
    """The JSON document of `gammonfarm bench farm`."""

    workers: int
    blocks: int
    block_seconds: float
    """Mean, simulated."""
    coordinator_ms_per_block: float
    """Processor time."""
    cost: float
    """The same as a part of the block's own time."""
    blocks_per_s: float
    """That one coordinator could handle."""
    jobs: int
    utilisation: float
    """Part of the simulated time in which workers had work."""
    memory_mb: tuple[float, ...]
    """Resident, at ten points of the run."""
    seconds: float


class SimulatedPool:
    """See `WorkerPool`. Its clock is that of the simulation."""

    def __init__(self, workers: int, trials_per_second: float) -> None:
        self.now = 0.0
        self.busy = 0.0
        self.blocks = 0
        self._speed = trials_per_second
        self._names = {f"simulated/{number}" for number in range(workers)}
        self._free_at = dict.fromkeys(self._names, 0.0)
        self._order = itertools.count()
        self._under_way: list[tuple[float, int, float, str, Assignment]] = []

    def members(self) -> set[str]:
        """See `WorkerPool`."""
        return self._names

    def departure(self, worker: str) -> Departure:
        """See `WorkerPool`."""
        return Departure("never", blame=False)

    def submit(self, worker: str, assignment: Assignment, spec: WorkerSpec[Any, Any]) -> None:
        """See `WorkerPool`."""
        task = assignment.task
        seconds = task.count * len(task.candidates) / self._speed
        end = max(self._free_at[worker], self.now) + seconds
        self._free_at[worker] = end
        heapq.heappush(self._under_way, (end, next(self._order), seconds, worker, assignment))

    def wait(self, seconds: float) -> list[Outcome]:
        """See `WorkerPool`: goes on to the next end, and takes all of the same ten milliseconds."""
        if not self._under_way:
            self.now += seconds
            return []
        self.now = max(self.now, self._under_way[0][0])
        found = []
        while self._under_way and self._under_way[0][0] <= self.now + 0.01:
            _, _, took, worker, assignment = heapq.heappop(self._under_way)
            task: RolloutTask = assignment.task
            rows = tuple(np.zeros((task.count, task.settings.row), dtype=np.int32) for _ in task.candidates)
            found.append(Outcome(worker, assignment, RolloutOutput(rows), took))
            self.busy += took
            self.blocks += 1
        return found

    def withdraw(self, worker: str, assignment: Assignment) -> None:
        """See `WorkerPool`."""

    def kill(self, worker: str, *, broken: str = "") -> None:
        """See `WorkerPool`."""

    def describe(self) -> dict[str, Any]:
        """See `WorkerPool`."""
        return {"executor": "simulated"}

    def close(self) -> None:
        """See `WorkerPool`."""


def simulate(workers: int = 1_000, blocks: int = 20_000, trials_per_second: float = 180.0) -> FarmBenchReport:
    """Let so many workers compute so many blocks."""
    nets: Nets = golden_nets()
    desk = Desk(nets=lambda name: nets)
    pool = SimulatedPool(workers, trials_per_second)
    ledger = MemoryLedger(clock=lambda: pool.now, forget=True)
    options = FarmOptions("simulation", golden=False)
    farm = Farm(ledger, pool, desk, options, clock=lambda: pool.now, wall=lambda: pool.now)
    kind = Kinds().of(JobKind.ROLLOUT)
    seeds = itertools.count()

    def submit() -> None:
        request = RolloutRequest(position=_POSITION, plays=_PLAYS, trials=_TRIALS, seed=next(seeds), bearoff=False)
        key = kind.key(request, "shipped", desk)
        client = f"client {next(seeds) % _CLIENTS}"
        ledger.submit([Submission(kind.name, key, written("shipped", request), client, kind.priority)], pool.now)

    memory: list[float] = []
    started = time.perf_counter()
    busy_before = 0.0
    cpu = 0.0
    while pool.blocks < blocks:
        while len(ledger.open_ids()) < _JOBS_AT_ONCE:
            submit()
        begun = time.thread_time()
        farm.step(0.05)
        cpu += time.thread_time() - begun
        if pool.blocks * 10 >= blocks * (len(memory) + 1):
            memory.append(round(resident_mb(os.getpid()), 1))
    mean = (pool.busy - busy_before) / pool.blocks
    return FarmBenchReport(
        workers=workers,
        blocks=pool.blocks,
        block_seconds=round(mean, 3),
        coordinator_ms_per_block=round(1000 * cpu / pool.blocks, 4),
        cost=round(cpu / pool.blocks / mean, 6),
        blocks_per_s=round(pool.blocks / cpu, 1),
        jobs=farm.counters.done,
        utilisation=round(pool.busy / (pool.now * workers), 4),
        memory_mb=tuple(memory),
        seconds=round(time.perf_counter() - started, 1),
    )
