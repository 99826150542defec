"""`gammonfarm benchmark FILE` and `gammonfarm benchmark suite`."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from cluster.cli.options import (
    DATA_VARIABLE,
    EfficiencyOption,
    FilterOption,
    JsonOption,
    LevelOption,
    NetOption,
    chosen_nets,
    data_folder,
    tell,
)
from training.suite.figures import Part

_FILE_COMMAND = "file"


class _FileByDefault(TyperGroup):
    """A group in which everything that isn't a command is the arguments of the command `file`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Puts the command in front that was left out."""
        if not args or args[0] not in {*self.commands, "--help"}:
            args = [_FILE_COMMAND, *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=_FileByDefault,
    help="Score a net on positions with known answers: benchmark FILE (one file of decisions) or benchmark suite.",
)


@app.command(_FILE_COMMAND)
def benchmark_file(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="JSON lines of decisions with known answers (may be .gz).")
    ],
    level: LevelOption = 1,
    filter: FilterOption = "normal",
    limit: Annotated[int | None, typer.Option("--limit", metavar="N", help="Only the first N decisions.")] = None,
    net: NetOption = None,
    json: JsonOption = False,
) -> None:
    """Score checker play on recorded decisions: equity lost per decision, with a 95 % interval.

    The word "file" can be left out.
    """
    from cluster.cli.render import open_databases_live, show_benchmark
    from cluster.filters import load_filter
    from cluster.schemas import BenchmarkReport
    from cluster.schemas_training import checker_benchmark
    from engine.errors import InputError
    from engine.evaluator import Evaluator
    from training.benchmark import read_decisions, score_checker

    if limit is not None and limit < 1:
        raise InputError("limit", limit, "a whole number of at least 1")
    chosen = chosen_nets(net)
    started = time.perf_counter()
    decisions = list(read_decisions(file, limit))
    move_filter = load_filter(filter)
    evaluator = Evaluator(chosen, open_databases_live().arrays)
    score = score_checker(evaluator, iter(decisions), level, move_filter)
    report = BenchmarkReport(
        file=file.name,
        net=chosen.digest,
        level=level,
        checker=checker_benchmark(score),
        seconds=time.perf_counter() - started,
    )
    tell(report, json, show_benchmark)


@app.command("suite")
def benchmark_suite(
    data: Annotated[
        Path | None,
        typer.Option("--data", metavar="DIR", help=f"Folder of public reference data; default: {DATA_VARIABLE}."),
    ] = None,
    part: Annotated[
        list[Part] | None, typer.Option("--part", metavar="NAME", help="checker, value, ...; may be repeated.")
    ] = None,
    levels: Annotated[
        str | None,
        typer.Option("--levels", metavar="LIST", help="Plies, such as 1,2,3; default: by part, see the docs."),
    ] = None,
    filter: FilterOption = "normal",
    efficiency: EfficiencyOption = "fitted",
    limit: Annotated[
        int | None, typer.Option("--limit", metavar="N", help="Only the first N positions of each file.")
    ] = None,
    threads: Annotated[
        int | None, typer.Option("--threads", metavar="N", help="Default: all cores; changes no figure.")
    ] = None,
    net: NetOption = None,
    json: JsonOption = False,
) -> None:
    """Measure a net on all reference data: checker play, values, openings, bear-offs and calibration."""
    from cluster.cli.render import open_databases_live
    from cluster.cli.suite_tables import SuiteProgress, show_suite
    from cluster.filters import load_filter
    from cluster.suite_schemas import suite_report
    from engine.efficiency import load_efficiency
    from engine.errors import InputError
    from training.cores import cores
    from training.suite.contestant import Contestant
    from training.suite.run import SuiteOptions, available_files, run_suite

    options = SuiteOptions(tuple(part) if part else tuple(Part), _levels(levels), limit, load_efficiency(efficiency))
    if threads is not None and threads < 1:
        raise InputError("threads", threads, "a whole number of at least 1")
    folder = data_folder(data)
    files = available_files(folder, options)
    move_filter = load_filter(filter)
    nets = chosen_nets(net)
    started = time.perf_counter()
    contestant = Contestant(nets, open_databases_live(), move_filter, threads or cores())
    with SuiteProgress() as progress:
        result = run_suite(contestant, files, options, progress.update)
    report = suite_report(result, nets.digest, move_filter.name, efficiency, time.perf_counter() - started)
    tell(report, json, show_suite)


def _levels(text: str | None) -> tuple[int, ...] | None:
    """Levels from a list with commas; whether they exist is checked with the other options."""
    from engine.errors import InputError

    if text is None:
        return None
    try:
        return tuple(int(word) for word in text.split(","))
    except ValueError:
        raise InputError("levels", text, "whole numbers with commas between them, such as 1,2,3") from None
