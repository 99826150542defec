"""Arguments and options that several commands share, and printing a JSON document."""

from __future__ import annotations

import enum
import logging
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

if TYPE_CHECKING:
    from cluster.schemas import Model
    from engine.evaluator import Nets
    from engine.weights import Net

log = logging.getLogger(__name__)

M = TypeVar("M", bound="Model")

DATA_VARIABLE = "GAMMONFARM_DATA"
"""Names the folder of public reference data."""

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
BearoffCheckersOption = Annotated[
    int,
    typer.Option(
        "--bearoff-checkers",
        metavar="N",
        help="Checkers a side of the two-sided bear-off database: 1 to 8 (8 takes 144 MB and is built once).",
    ),
]
JsonOption = Annotated[
    bool, typer.Option("--json", help="Print one JSON document on stdout, everything else on stderr.")
]
FilterOption = Annotated[
    str,
    typer.Option("--filter", metavar="NAME", help="Which plays are looked at deeper: tiny, normal, wide or FILE.toml."),
]
NetOption = Annotated[
    str | None,
    typer.Option(
        "--net",
        metavar="NET",
        help="Main net to use: a file, shipped (the default), champion, NAME@ALIAS, NAME@VERSION or a digest.",
    ),
]
EfficiencyOption = Annotated[
    str, typer.Option("--efficiency", metavar="NAME|FILE", help="How live the cube is: docs/cube.md.")
]
MetOption = Annotated[
    str | None,
    typer.Option(
        "--met",
        metavar="NAME|FILE",
        help="Match equity table: a shipped one, or a file .toml, .xml (GNU Backgammon), .met (XG).",
    ),
]
WorkersOption = Annotated[
    int | None, typer.Option("--workers", metavar="N", help="Ray workers; default: one per core.")
]


class ExecutorName(enum.Enum):
    """Where games are played."""

    RAY = "ray"
    INLINE = "inline"


ExecutorOption = Annotated[
    ExecutorName, typer.Option("--executor", help="ray, or inline: in this process, without workers.")
]


def check_workers(workers: int | None) -> None:
    """
    Raises:
        InputError: less than one.
    """
    from engine.errors import InputError

    if workers is not None and workers < 1:
        raise InputError("workers", workers, "a whole number of at least 1")


def tell(report: M, json: bool, show: Callable[[M], None]) -> None:
    """What a command found: as its document, or as `show` says it."""
    if json:
        print_json(report)
    else:
        show(report)


def print_json(model: Model) -> None:
    """The document, and nothing else, on stdout."""
    sys.stdout.write(model.model_dump_json(indent=2) + "\n")
    sys.stdout.flush()


def data_folder(given: Path | None) -> Path:
    """The folder of public reference data: the one that was given, or what `DATA_VARIABLE` names.

    Raises:
        InputError: neither.
    """
    from engine.errors import InputError

    folder = given or (Path(os.environ[DATA_VARIABLE]) if os.environ.get(DATA_VARIABLE) else None)
    if folder is None:
        raise InputError("data", "none", f"the folder of public reference data (--data DIR or {DATA_VARIABLE})")
    return folder


def chosen_nets(name: str | None, rules: str | None = None) -> Nets:
    """The nets a command works with (`name`: see `cluster.nets.resolve_net`)."""
    from cluster.nets import resolve_net, with_filter

    net = resolve_net(name)
    if rules is not None:
        warn_about_rules(net, rules)
    return with_filter(net)


def warn_about_rules(net: Net, rules: str) -> None:
    """Say where a main net was trained for another rule set."""
    from engine.rules import rule_set

    trained = net.description.get("rules")
    if trained is not None and trained != rule_set(rules).name:
        log.warning("this net was trained for the rules %s; its values for %s are less sure", trained, rules)


def warn_about_match(length: int) -> None:
    """Say that values don't look at the match score."""
    if length:
        log.warning("values are cubeless money equities: the score and the cube are not looked at")


def is_given(context: typer.Context, name: str) -> bool:
    """Whether an option stands on the command line."""
    source = context.get_parameter_source(name)
    return source is not None and source.name != "DEFAULT"
