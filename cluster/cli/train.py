"""`gammonfarm train` and `gammonfarm benchmark`."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from cluster.cli.options import FilterOption, JsonOption, LevelOption, NetOption, chosen_nets, print_json


def train(
    recipe: Annotated[Path, typer.Argument(metavar="RECIPE", help="TOML file such as configs/train/td.toml.")],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="DIR", help="Folder of checkpoint and net; default: runs/NAME in the data folder."
        ),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the last checkpoint in the folder.")] = False,
    benchmark: Annotated[
        Path | None, typer.Option("--benchmark", metavar="FILE", help="Score the net on this file at every checkpoint.")
    ] = None,
    teacher: Annotated[
        str | None,
        typer.Option("--teacher", metavar="NET", help="Main net that a filter net learns from; named as for --net."),
    ] = None,
) -> None:
    """Train a net by self-play, with checkpoints; --resume goes on where a run stopped, to the same bits."""
    from cluster.cli.render import TrainingDisplay
    from cluster.nets import resolve_net
    from cluster.settings import load_settings
    from training.recipe import TdRecipe, load_recipe
    from training.run import run_recipe

    settings = load_settings()
    loaded = load_recipe(recipe)
    folder = out or settings.home / "runs" / loaded.name
    with TrainingDisplay(loaded.name, loaded.rounds) as display:
        path = run_recipe(
            loaded,
            folder,
            lambda s: display.show(s.rounds, s.games, s.loss, s.games_per_s, s.samples_per_s, s.score),
            teacher=resolve_net(teacher) if teacher or not isinstance(loaded, TdRecipe) else None,
            resume=resume,
            tracking_uri=settings.tracking_uri,
            benchmark=benchmark,
        )
    print(path)


def benchmark(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="JSON lines of decisions with known answers (may be .gz).")
    ],
    level: LevelOption = 1,
    filter: FilterOption = "normal",
    limit: Annotated[int | None, typer.Option("--limit", metavar="N", help="Only the first N decisions.")] = None,
    net: NetOption = None,
    json: JsonOption = False,
) -> None:
    """Score a net's checker play on recorded decisions: equity lost per decision, with a 95 % interval."""
    from cluster.cli.render import open_databases_live, show_benchmark
    from cluster.filters import load_filter
    from cluster.schemas import BenchmarkReport, CheckerBenchmark
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
        checker=CheckerBenchmark(
            meq_per_decision=score.meq_per_decision,
            interval95=score.interval95,
            decisions=score.decisions,
            error_rate=score.error_rate,
            first_choice=score.first_choice,
            unlisted=score.unlisted,
        ),
        seconds=time.perf_counter() - started,
    )
    if json:
        print_json(report)
    else:
        show_benchmark(report)
