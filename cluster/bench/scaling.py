"""Two Ray workers against one, by the clock, and what a worker keeps in memory."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

from cluster.bench.engine import RULES
from cluster.bench.measure import Effort, Figure, repeat, wall_seconds
from cluster.ray_executor import RayExecutor
from engine.board import Board
from engine.errors import InfrastructureError
from engine.evaluator import Nets
from engine.rollout import Candidate, RolloutSettings
from workers.rollout import rollout_workers
from workers.tasks import RolloutTask

_TRIALS = 12
"""Of each candidate a task: short tasks, so that at the end no worker waits long for the other."""
_TASKS = 48
_MEGA = 1_000_000


@dataclass(frozen=True, slots=True)
class ScalingFigures:
    """What was found."""

    two_workers: Figure
    """How many times faster two workers are than one."""
    worker_mb: Figure
    """Resident memory of each worker process after its work, in millions of bytes; the pages of the bear-off databases
    count, although workers of a machine share them."""


def measure_scaling(nets: Nets, afters: list[Board], effort: Effort) -> ScalingFigures:
    """Roll out the same plays on local Ray clusters of one and of two workers."""
    walls: list[Figure] = []
    memory: list[float] = []
    spec = rollout_workers(nets)
    # Compiled here where that is needed: a worker that compiles keeps the compiler in its memory.
    spec.build(spec.weights).run(next(_tasks(afters, 1)))
    for workers in (1, 2):
        with closing(RayExecutor(workers)) as executor:

            def seconds(executor: RayExecutor = executor) -> float:
                return wall_seconds(lambda: list(executor.map_unordered(spec, _tasks(afters, _TASKS))))

            list(executor.map_unordered(spec, _tasks(afters, 4 * workers)))  # loads nets and compiled code
            walls.append(repeat(seconds, effort.shared(2)))
            memory.extend(resident_mb(pid) for pid in executor.worker_pids())
    one, two = walls
    return ScalingFigures(
        Figure((one.low / two.high, one.median / two.median, one.high / two.low)), Figure(tuple(memory))
    )


def _tasks(afters: list[Board], count: int) -> Iterator[RolloutTask]:
    candidates = tuple(Candidate.after_play(after) for after in afters)
    series = tuple("bench" for _ in afters)
    settings = RolloutSettings(RULES)
    return (RolloutTask(settings, candidates, series, i * _TRIALS, _TRIALS) for i in range(count))


def resident_mb(pid: int) -> float:
    """Resident memory of a process in millions of bytes.

    Raises:
        InfrastructureError: the system doesn't say.
    """
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024 / _MEGA
    with suppress(OSError, ValueError, subprocess.SubprocessError):
        told = subprocess.run(
            ["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, text=True, timeout=10, check=True
        )
        return int(told.stdout) * 1024 / _MEGA
    raise InfrastructureError(f"the memory of process {pid} can't be read")
