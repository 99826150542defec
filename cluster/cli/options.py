"""Arguments and options that several commands share, and printing a JSON document."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from cluster.schemas import Model
    from engine.evaluator import Nets
    from engine.weights import Net

log = logging.getLogger(__name__)

PositionArgument = Annotated[str, typer.Argument(metavar="POSITION", help="XGID or GNU positionID:matchID.")]
RulesOption = Annotated[
    str,
    typer.Option(
        "--rules",
        metavar="NAME",
        help="international, tavla, nackgammon or hypergammon; options as in tavla+hit-and-run-ban+forced-bear-off.",
    ),
]
LevelOption = Annotated[int, typer.Option("--level", metavar="N", help="Plies, counted from 1.")]
JsonOption = Annotated[
    bool, typer.Option("--json", help="Print one JSON document on stdout, everything else on stderr.")
]
FilterOption = Annotated[
    str,
    typer.Option("--filter", metavar="NAME", help="Which plays are looked at deeper: tiny, normal, wide or FILE.toml."),
]
NetOption = Annotated[
    Path | None, typer.Option("--net", metavar="FILE", help="Weights to use instead of the shipped main net.")
]


def print_json(model: Model) -> None:
    """The document, and nothing else, on stdout."""
    sys.stdout.write(model.model_dump_json(indent=2) + "\n")
    sys.stdout.flush()


def chosen_main(path: Path | None) -> Net:
    """The main net a command works with."""
    from engine.weights import load_net, shipped_net

    return load_net(path) if path else shipped_net()


def chosen_nets(path: Path | None, rules: str | None = None) -> Nets:
    """The nets a command works with; warns when the main net was trained for another rule set."""
    from engine.evaluator import Nets
    from engine.rules import rule_set
    from engine.weights import NetKind, shipped_net

    net = chosen_main(path)
    trained = net.description.get("rules")
    if rules is not None and trained is not None and trained != rule_set(rules).name:
        log.warning("this net was trained for the rules %s; its values for %s are less sure", trained, rules)
    return Nets(net, shipped_net(NetKind.FILTER))


def warn_about_match(length: int) -> None:
    """Say that values don't look at the match score."""
    if length:
        log.warning("values are cubeless money equities: the score and the cube are not looked at")
