"""`gammonfarm train`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cluster.cli.options import chosen_main


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
        Path | None,
        typer.Option("--teacher", metavar="FILE", help="Main net that a filter net learns from."),
    ] = None,
) -> None:
    """Train a net by self-play, with checkpoints; --resume goes on where a run stopped, to the same bits."""
    from cluster.cli.render import TrainingDisplay
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
            teacher=chosen_main(teacher) if teacher or not isinstance(loaded, TdRecipe) else None,
            resume=resume,
            tracking_uri=settings.tracking_uri,
            benchmark=benchmark,
        )
    print(path)
