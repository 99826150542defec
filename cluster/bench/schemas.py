"""The JSON document of `gammonfarm bench`."""

from __future__ import annotations

from cluster.schemas import Model


class LeafSpeed(Model):
    """Evaluating self-play positions. In all parts, a `ratio` says how many times faster than GNU Backgammon."""

    evaluations_per_s: float
    """By the main net, of all plays; generating them included."""
    ratio: float | None = None


class PlaysSpeed(Model):
    """Generating legal plays of self-play positions."""

    after_positions_per_s: float


class SearchSpeed(Model):
    """Ranking all plays of a position."""

    ms_per_position: dict[str, float]
    """By level (plies counted from 1), the mean over the positions; "4" over every eighth one."""
    ratio: dict[str, float] | None = None


class RolloutSpeed(Model):
    """Full rollouts of two plays of the problem at 1-ply with variance reduction, both together."""

    trials_per_cpu_s: float
    ratio: float | None = None
    cpu_s_to_se_004: float
    """Processor seconds a play to a standard error of 0.004."""
    ratio_to_se_004: float | None = None


class SelfPlaySpeed(Model):
    """Self-play; the main net values every play."""

    games_per_s: float


class FitSpeed(Model):
    """Fitting a net as wide as the main net."""

    samples_per_s: float


class ScalingSpeed(Model):
    """Rollouts on Ray."""

    two_workers: float
    """How many times faster, by the clock, than one worker."""


class WorkerMemory(Model):
    """Of a worker process on Ray that has rolled out positions."""

    worker_mb: float
    """Resident, in millions of bytes."""


class BenchPositionsReport(Model):
    """What searches and rollouts were measured on."""

    source: str
    count: int
    problem: str
    """XGID of the position that was rolled out."""
    plays: tuple[str, ...]
    """The plays that were rolled out; none where no part needed them."""
    trials: int
    """Of each play in `rollout`; `scaling` plays fewer."""


class BenchReport(Model):
    """The JSON document of `gammonfarm bench`: medians; a part that was not measured is null."""

    leaf: LeafSpeed | None
    plays: PlaysSpeed | None
    search: SearchSpeed | None
    rollout: RolloutSpeed | None
    selfplay: SelfPlaySpeed | None
    fit: FitSpeed | None
    scaling: ScalingSpeed | None
    memory: WorkerMemory | None
    runs: dict[str, tuple[float, ...]]
    """Every run behind a median, by figure."""
    gnubg: dict[str, float] | None
    """GNU Backgammon's figures, where it measured too."""
    gnubg_version: str | None
    net: str
    positions: BenchPositionsReport
    pinned_core: int | None
    load_average: float | None
    """Processes that wanted a core in the last minute of the run."""
    seconds: float
