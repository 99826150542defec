"""Arguments and options that several commands share, and printing a JSON document."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from cluster.schemas import Model
    from engine.weights import Net

PositionArgument = Annotated[str, typer.Argument(metavar="POSITION", help="XGID or GNU positionID:matchID.")]
RulesOption = Annotated[
    str,
    typer.Option(
        "--rules",
        metavar="NAME",
        help="international or tavla, with options: tavla+hit-and-run-ban+forced-bear-off.",
    ),
]
LevelOption = Annotated[int, typer.Option("--level", metavar="N", help="Plies, counted from 1.")]
JsonOption = Annotated[
    bool, typer.Option("--json", help="Print one JSON document on stdout, everything else on stderr.")
]
NetOption = Annotated[
    Path | None, typer.Option("--net", metavar="FILE", help="Weights to use instead of the shipped net.")
]


def print_json(model: Model) -> None:
    """The document, and nothing else, on stdout."""
    sys.stdout.write(model.model_dump_json(indent=2) + "\n")
    sys.stdout.flush()


def chosen_net(path: Path | None) -> Net:
    """The net a command works with."""
    from engine.weights import load_net, shipped_net

    return load_net(path) if path else shipped_net()
