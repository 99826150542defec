"""`gammonfarm bench`."""

from __future__ import annotations

import enum
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cluster.cli.options import JsonOption, NetOption, chosen_nets, print_json, tell

if TYPE_CHECKING:
    from cluster.bench.schemas import BenchReport


class BenchPart(enum.Enum):
    """What to measure."""

    LEAF = "leaf"
    PLAYS = "plays"
    SEARCH = "search"
    ROLLOUT = "rollout"
    SELF_PLAY = "selfplay"
    FIT = "fit"
    ARCHIVE = "archive"
    SCALING = "scaling"
    FARM = "farm"
    ALL = "all"


class Rival(enum.Enum):
    """Whom to measure too."""

    GNUBG = "gnubg"


_UNITS = {
    "leaf.evaluations_per_s": "main-net evaluations per cpu-second",
    "plays.after_positions_per_s": "after-positions per cpu-second",
    "search.ms_per_position.1": "cpu-ms per position, 1-ply",
    "search.ms_per_position.2": "cpu-ms per position, 2-ply",
    "search.ms_per_position.3": "cpu-ms per position, 3-ply",
    "search.ms_per_position.4": "cpu-ms per position, 4-ply",
    "rollout.trials_per_cpu_s": "trials per cpu-second",
    "rollout.cpu_s_to_se_004": "cpu-seconds per play to SE 0.004",
    "selfplay.games_per_s": "games per cpu-second",
    "fit.samples_per_s": "samples fitted per cpu-second",
    "archive.decisions_per_s.quick": "decisions per cpu-second, policy quick",
    "archive.decisions_per_s.normal": "decisions per cpu-second, policy normal",
    "archive.mb_per_1000_matches": "MB more per 1,000 matches",
    "scaling.two_workers": "times as fast as one worker, by the clock",
    "memory.worker_mb": "MB resident per worker",
}


def bench(
    part: Annotated[BenchPart, typer.Argument(metavar="[PART]", help="leaf, plays, search, ...")] = BenchPart.ALL,
    against: Annotated[
        Rival | None, typer.Option("--against", metavar="NAME", help="gnubg: measure GNU Backgammon in the same run.")
    ] = None,
    repeats: Annotated[
        int, typer.Option("--repeats", metavar="N", help="Runs per figure, as far as the time allows.")
    ] = 3,
    positions: Annotated[
        Path | None,
        typer.Option("--positions", metavar="FILE", help="XGIDs with dice (lines or JSON lines); default: an own set."),
    ] = None,
    pin: Annotated[
        int | None, typer.Option("--pin", metavar="CORE", help="Stay on this core, except for scaling.")
    ] = None,
    blocks: Annotated[
        int, typer.Option("--blocks", metavar="N", min=1, help="For farm: blocks of 1,000 simulated workers.")
    ] = 20_000,
    net: NetOption = None,
    json: JsonOption = False,
) -> None:
    """Measure how fast this machine is: PART is leaf, plays, search, rollout, selfplay, fit, archive, scaling or all;
    or farm, which is not among all: what the coordinator of a farm costs.

    Figures are medians of repeated runs, those of one core by processor time.
    A part takes at most 45 seconds where the machine is free.
    """
    from cluster.bench.measure import Effort
    from cluster.bench.positions import load_positions
    from cluster.bench.suite import BenchOptions, BenchRun, Part
    from cluster.filters import DEFAULT_FILTER, load_filter
    from workers.gnubg_program import find_gnubg

    if part is BenchPart.FARM:
        _bench_farm(blocks, json)
        return
    Effort(repeats)  # says what is wrong before anything is measured
    options = BenchOptions(
        parts=tuple(Part) if part is BenchPart.ALL else (Part(part.value),),
        repeats=repeats,
        core=pin,
        against=find_gnubg() if against else None,
    )
    chosen = load_positions(positions)
    run = BenchRun(options, chosen_nets(net), load_filter(DEFAULT_FILTER), chosen)
    report = run.run(lambda name: print(f"measuring {name} ...", file=sys.stderr, flush=True))
    tell(report, json, _show)


def _bench_farm(blocks: int, json: bool) -> None:
    from cluster.bench.farm import simulate
    from cluster.cli.render import stdout_console

    report = simulate(blocks=blocks)
    if json:
        print_json(report)
        return
    for line in (
        f"{report.blocks:,} blocks of {report.block_seconds:.2f} s by {report.workers:,} simulated workers,"
        f" {report.jobs:,} jobs, workers busy {100 * report.utilisation:.1f} % of the time",
        f"coordinator {report.coordinator_ms_per_block:.3f} ms a block ({100 * report.cost:.3f} % of the block),"
        f" {report.blocks_per_s:,.0f} blocks/s at most",
        f"memory {', '.join(f'{mb:.0f}' for mb in report.memory_mb)} MB; {report.seconds:.0f} s in all",
    ):
        stdout_console().print(line, markup=False)


def _show(report: BenchReport) -> None:
    from cluster.bench.measure import Figure
    from cluster.cli.render import plain_table, stdout_console

    ratios = _ratios(report)
    heads = ["figure", "median", "min", "max", "unit"]
    if report.gnubg:
        heads += ["GNU", "ratio"]
    table = plain_table(*heads)
    table.columns[heads.index("unit")].justify = "left"
    for name, runs in report.runs.items():
        figure = Figure(runs)
        row = [name, *(_number(value) for value in (figure.median, figure.low, figure.high)), _UNITS[name]]
        if report.gnubg:
            theirs, ratio = report.gnubg.get(name), ratios.get(name)
            row += [_number(theirs) if theirs else "", f"{ratio:.2f}" if ratio else ""]
        table.add_row(*row)
    out = stdout_console(140)
    out.print(table)
    p = report.positions
    out.print(f"\nnet {report.net}; searches and rollouts on {p.count} positions ({p.source})", markup=False)
    if p.plays:
        trials = f", {p.trials:,} trials each" if report.rollout else ""
        out.print(f"rolled out: {' and '.join(p.plays)} in {p.problem}{trials}", markup=False)
    pinned = "not pinned" if report.pinned_core is None else f"pinned to core {report.pinned_core}"
    load = "" if report.load_average is None else f", load average {report.load_average:.1f}"
    rival = f", against GNU Backgammon {report.gnubg_version}" if report.gnubg_version else ""
    out.print(f"{pinned}{load}{rival}, {report.seconds:.0f} s in all", markup=False)


def _ratios(report: BenchReport) -> dict[str, float | None]:
    """By figure, as in `runs`."""
    found: dict[str, float | None] = {}
    if report.leaf:
        found["leaf.evaluations_per_s"] = report.leaf.ratio
    if report.search:
        found.update({f"search.ms_per_position.{k}": v for k, v in (report.search.ratio or {}).items()})
    if report.rollout:
        found["rollout.trials_per_cpu_s"] = report.rollout.ratio
        found["rollout.cpu_s_to_se_004"] = report.rollout.ratio_to_se_004
    return found


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
