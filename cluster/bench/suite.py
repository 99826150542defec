"""Running the parts of the benchmark and putting the report together."""

from __future__ import annotations

import enum
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from cluster.bench import gnubg
from cluster.bench.engine import (
    TRIALS,
    RolloutFigures,
    measure_leaf,
    measure_plays,
    measure_rollout,
    measure_search,
    measure_self_play,
    play_names,
    rolled_plays,
    searched_positions,
    seconds_to_se,
)
from cluster.bench.measure import Effort, Figure, load_average, pinned
from cluster.bench.positions import BenchPositions
from cluster.bench.schemas import (
    BenchPositionsReport,
    BenchReport,
    FitSpeed,
    LeafSpeed,
    PlaysSpeed,
    RolloutSpeed,
    ScalingSpeed,
    SearchSpeed,
    SelfPlaySpeed,
    WorkerMemory,
)
from engine.bearoff import open_databases
from engine.board import Board
from engine.evaluator import Nets
from engine.search import MoveFilter
from engine.xgid import format_xgid

SECONDS_A_PART = 40.0
SECONDS_BESIDE_GNUBG = 18.0
"""Of our own runs where GNU Backgammon measures too."""


class Part(enum.Enum):
    """What is measured."""

    LEAF = "leaf"
    PLAYS = "plays"
    SEARCH = "search"
    ROLLOUT = "rollout"
    SELF_PLAY = "selfplay"
    FIT = "fit"
    SCALING = "scaling"


@dataclass(frozen=True, slots=True)
class BenchOptions:
    """How to measure."""

    parts: tuple[Part, ...]
    repeats: int = 3
    core: int | None = None
    against: str | None = None
    """The GNU Backgammon program."""


@dataclass(slots=True)
class _Found:
    figures: dict[str, Figure] = field(default_factory=dict)
    theirs: dict[str, float] = field(default_factory=dict)
    ratios: dict[str, float] = field(default_factory=dict)
    version: str | None = None


class BenchRun:
    """One run of some parts."""

    def __init__(self, options: BenchOptions, nets: Nets, move_filter: MoveFilter, positions: BenchPositions) -> None:
        self._options = options
        self._nets = nets
        self._filter = move_filter
        self._positions = positions
        self._found = _Found()
        self._effort = Effort(options.repeats, SECONDS_BESIDE_GNUBG if options.against else SECONDS_A_PART)
        self._bearoff = open_databases().arrays
        self._afters: list[Board] | None = None

    def run(self, progress: Callable[[str], None]) -> BenchReport:
        """Measure one part after the other; `progress` is told which.

        Raises:
            InputError: a core that can't be had. InfrastructureError: Ray or GNU Backgammon fails.
        """
        started = time.perf_counter()
        measures = {
            Part.LEAF: self._leaf,
            Part.PLAYS: self._plays,
            Part.SEARCH: self._search,
            Part.ROLLOUT: self._rollout,
            Part.SELF_PLAY: self._self_play,
            Part.FIT: self._fit,
        }
        with pinned(self._options.core):
            for part in self._options.parts:
                if part in measures:
                    progress(part.value)
                    measures[part]()
        if Part.SCALING in self._options.parts:  # two workers on one core would show nothing
            progress(Part.SCALING.value)
            self._scaling()
        return self._report(time.perf_counter() - started)

    def _leaf(self) -> None:
        ours = self._add("leaf.evaluations_per_s", measure_leaf(self._nets, self._effort))
        theirs = self._gnubg(gnubg.Work(calibrate=True))
        if theirs and theirs.evaluations_per_s:
            self._compare("leaf.evaluations_per_s", theirs.evaluations_per_s, ours / theirs.evaluations_per_s)

    def _plays(self) -> None:
        self._add("plays.after_positions_per_s", measure_plays(self._nets, self._effort))

    def _search(self) -> None:
        figures = measure_search(self._nets, self._bearoff, self._filter, self._positions, self._effort)
        for level, figure in figures.items():
            self._add(f"search.ms_per_position.{level}", figure)
        theirs = self._gnubg(gnubg.Work(search={n: searched_positions(n, self._positions) for n in figures}))
        for level, milliseconds in theirs.ms_per_position.items() if theirs else ():
            self._compare(f"search.ms_per_position.{level}", milliseconds, milliseconds / figures[level].median)

    def _rollout(self) -> None:
        figures = measure_rollout(self._nets, self._bearoff, self._plays_rolled(), self._effort)
        ours = self._add("rollout.trials_per_cpu_s", figures.trials_per_cpu_s)
        self._add("rollout.cpu_s_to_se_004", figures.cpu_s_to_se)
        theirs = self._gnubg(gnubg.Work(rollout=self._plays_rolled()))
        if theirs and theirs.trials_per_cpu_s and theirs.cpu_s_to_se:
            self._compare("rollout.trials_per_cpu_s", theirs.trials_per_cpu_s, ours / theirs.trials_per_cpu_s)
            to_se = theirs.cpu_s_to_se / _seconds_to_se_of_first(figures, gnubg.TRIALS)
            self._compare("rollout.cpu_s_to_se_004", theirs.cpu_s_to_se, to_se)

    def _self_play(self) -> None:
        self._add("selfplay.games_per_s", measure_self_play(self._nets, self._effort))

    def _fit(self) -> None:
        from cluster.bench.fit import measure_fit  # imports Torch, which takes seconds

        self._add("fit.samples_per_s", measure_fit(self._nets, self._effort))

    def _scaling(self) -> None:
        from cluster.bench.scaling import measure_scaling  # starts Ray, which takes seconds to import

        # Starting Ray twice takes about ten seconds.
        found = measure_scaling(self._nets, self._plays_rolled(), Effort(self._options.repeats, SECONDS_A_PART - 10.0))
        self._add("scaling.two_workers", found.two_workers)
        self._add("memory.worker_mb", found.worker_mb)

    def _plays_rolled(self) -> list[Board]:
        if self._afters is None:
            problem = self._positions.positions[self._positions.problem]
            self._afters = rolled_plays(self._nets, self._bearoff, self._filter, problem)
        return self._afters

    def _gnubg(self, work: gnubg.Work) -> gnubg.GnubgFigures | None:
        if self._options.against is None:
            return None
        theirs = gnubg.run_gnubg(self._options.against, work)
        self._found.version = theirs.version
        return theirs

    def _add(self, name: str, figure: Figure) -> float:
        self._found.figures[name] = figure
        return figure.median

    def _compare(self, name: str, theirs: float, ratio: float) -> None:
        self._found.theirs[name] = theirs
        self._found.ratios[name] = ratio

    def _report(self, seconds: float) -> BenchReport:
        positions = self._positions
        problem = positions.positions[positions.problem]
        return report_of(
            self._found.figures,
            self._found.theirs,
            self._found.ratios,
            net=self._nets.digest,
            positions=BenchPositionsReport(
                source=positions.source,
                count=len(positions.positions),
                problem=format_xgid(problem),
                plays=tuple(play_names(problem, self._afters)) if self._afters else (),
                trials=TRIALS,
            ),
            core=self._options.core,
            gnubg_version=self._found.version,
            seconds=seconds,
        )


def report_of(
    figures: dict[str, Figure],
    theirs: dict[str, float],
    ratios: dict[str, float],
    *,
    net: str,
    positions: BenchPositionsReport,
    core: int | None,
    gnubg_version: str | None,
    seconds: float,
) -> BenchReport:
    """The document; figures that were not measured stay out. Figures have names such as `leaf.evaluations_per_s`."""
    values = {name: figure.median for name, figure in figures.items()}

    def named(prefix: str, numbers: dict[str, float]) -> dict[str, float]:
        return {name.removeprefix(prefix): value for name, value in numbers.items() if name.startswith(prefix)}

    by_level = named("search.ms_per_position.", values)
    leaf, plays = values.get("leaf.evaluations_per_s"), values.get("plays.after_positions_per_s")
    trials, to_se = values.get("rollout.trials_per_cpu_s"), values.get("rollout.cpu_s_to_se_004")
    games, scaling = values.get("selfplay.games_per_s"), values.get("scaling.two_workers")
    memory, fit = values.get("memory.worker_mb"), values.get("fit.samples_per_s")
    return BenchReport(
        leaf=LeafSpeed(evaluations_per_s=leaf, ratio=ratios.get("leaf.evaluations_per_s")) if leaf else None,
        plays=PlaysSpeed(after_positions_per_s=plays) if plays else None,
        search=SearchSpeed(ms_per_position=by_level, ratio=named("search.ms_per_position.", ratios) or None)
        if by_level
        else None,
        rollout=RolloutSpeed(
            trials_per_cpu_s=trials,
            ratio=ratios.get("rollout.trials_per_cpu_s"),
            cpu_s_to_se_004=to_se,
            ratio_to_se_004=ratios.get("rollout.cpu_s_to_se_004"),
        )
        if trials and to_se
        else None,
        selfplay=SelfPlaySpeed(games_per_s=games) if games else None,
        fit=FitSpeed(samples_per_s=fit) if fit else None,
        scaling=ScalingSpeed(two_workers=scaling) if scaling else None,
        memory=WorkerMemory(worker_mb=memory) if memory else None,
        runs={name: figure.runs for name, figure in figures.items()},
        gnubg=theirs or None,
        gnubg_version=gnubg_version,
        net=net,
        positions=positions,
        pinned_core=core,
        load_average=load_average(),
        seconds=seconds,
    )


def _seconds_to_se_of_first(figures: RolloutFigures, trials: int) -> float:
    """What our own first `trials` of each play took to the target error: the same work that GNU Backgammon did."""
    share = trials / len(figures.rows[0])
    return seconds_to_se(tuple(rows[:trials] for rows in figures.rows), figures.cpu_s * share)
