"""What a farm says of itself: how many workers, how much work, how fast, and why it is idle where it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic import Field

from cluster.farm.charge import Patience
from cluster.farm.crew import Crew
from cluster.roster import Standing
from cluster.scheduling import FairQueue
from cluster.schemas import Model
from cluster.store import JobState

_MOST_WORKERS = 200
_WINDOW = 30.0


@dataclass
class Counters:
    """Totals since this coordinator took over."""

    blocks: int = 0
    units: int = 0
    seconds: float = 0.0
    """Processor seconds of workers."""
    quarantined: int = 0
    done: int = 0
    failed: int = 0
    cancelled: int = 0
    window: tuple[float, float, int] = (0.0, 0.0, 0)
    """Time, seconds and blocks at the beginning of the window over which rates are taken."""

    def served(self, units: int) -> None:
        """Count a block."""
        self.blocks += 1
        self.units += units

    def ended(self, state: JobState) -> None:
        """Count a job."""
        self.done += state is JobState.DONE
        self.failed += state is JobState.FAILED
        self.cancelled += state is JobState.CANCELLED


class WorkerRow(Model):
    """One worker."""

    name: str
    standing: Standing
    holds: int
    """Tasks: one that runs and those behind it."""
    done: int
    seconds: float
    """Processor seconds of work."""


class FarmStatus(Model):
    """The JSON document of `gammonfarm status`, as the coordinator writes it every second."""

    coordinator: str
    time: float
    """Unix seconds."""
    idle: str
    """Why workers are idle; empty while all have work."""
    workers: int
    """That may work."""
    workers_busy: int
    workers_proving: int
    workers_retired: int
    """Since the coordinator took over, because of a wrong golden block."""
    workers_lost: int
    """Since then, by death."""
    jobs_queued: int
    jobs_running: int
    clients: int
    """With open jobs."""
    tasks: int
    """Under way."""
    tasks_lost: int
    """That wait for a worker of their own, because theirs died."""
    outputs_in_hand: int
    """Finished, not yet kept."""
    blocks_per_s: float
    """Over the last half minute or so, as the next."""
    utilisation: float
    """Part of the workers' time that was spent working."""
    blocks: int
    units: int
    seconds: float
    jobs_done: int
    jobs_failed: int
    jobs_cancelled: int
    quarantined: int
    ledger_failures: int
    """Tries on which Redis was away."""
    ledger_away_seconds: float
    ledger_problem: str = ""
    """Why Redis can't be read or written now; then the rest is what was known last. The API fills it in."""
    pool: dict[str, Any] = Field(default_factory=dict)
    rows: tuple[WorkerRow, ...] = ()
    """Workers, at most 200."""


def farm_status(
    *,
    owner: str,
    now: float,
    crew: Crew,
    queue: FairQueue,
    active: int,
    in_hand: int,
    counters: Counters,
    patience: Patience,
) -> FarmStatus:
    """The status of a coordinator that is in charge."""
    workers = list(crew.roster.workers.values())
    ready = [w for w in workers if w.standing is Standing.READY]
    busy = sum(bool(w.held) for w in ready)
    proving = sum(w.standing in (Standing.NEW, Standing.PROVING) for w in workers)
    at, seconds, blocks = counters.window
    elapsed = max(now - at, 1e-9)
    rate = (counters.blocks - blocks) / elapsed if at else 0.0
    used = min((counters.seconds - seconds) / elapsed / max(len(ready), 1), 1.0) if at else 0.0
    if elapsed > _WINDOW or not at:
        counters.window = (now, counters.seconds, counters.blocks)
    return FarmStatus(
        coordinator=owner,
        time=now,
        idle=_why_idle(len(ready), busy, proving, len(queue), active, len(crew.lost)),
        workers=len(ready),
        workers_busy=busy,
        workers_proving=proving,
        workers_retired=crew.roster.retired,
        workers_lost=crew.roster.lost,
        jobs_queued=len(queue) - active,
        jobs_running=active,
        clients=queue.clients(),
        tasks=crew.roster.held(),
        tasks_lost=len(crew.lost),
        outputs_in_hand=in_hand,
        blocks_per_s=round(rate, 3),
        utilisation=round(used, 4),
        blocks=counters.blocks,
        units=counters.units,
        seconds=round(counters.seconds, 3),
        jobs_done=counters.done,
        jobs_failed=counters.failed,
        jobs_cancelled=counters.cancelled,
        quarantined=counters.quarantined,
        ledger_failures=patience.failures,
        ledger_away_seconds=round(patience.seconds_away, 1),
        pool=crew.pool.describe(),
        rows=tuple(
            WorkerRow(name=w.name, standing=w.standing, holds=len(w.held), done=w.done, seconds=round(w.seconds, 3))
            for w in workers[:_MOST_WORKERS]
        ),
    )


def _why_idle(ready: int, busy: int, proving: int, jobs: int, active: int, lost: int) -> str:
    if ready and busy == ready:
        return ""
    if not ready:
        return "workers prove themselves on golden blocks" if proving else "no workers"
    if not jobs:
        return "no jobs"
    if lost:
        return "tasks whose worker died run alone on theirs"
    if active and jobs == active:
        return "all jobs wait for their last blocks or for their first one to be measured"
    return "jobs are being prepared"
