"""`gammonfarm met` and `gammonfarm met compute`: match equity tables."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cluster.cli.options import JsonOption, LevelOption, NetOption, RulesOption, chosen_nets, tell

SHOWN_POINTS = 15

app = typer.Typer(
    help="Match equity tables: chances to win the match, take points, gammon values; or compute a cubeless one.",
    invoke_without_command=True,
)


@app.callback()
def met(
    context: typer.Context,
    away: Annotated[
        tuple[int, int] | None, typer.Option("--away", metavar="A B", help="Points that you and the opponent need.")
    ] = None,
    met: Annotated[
        str | None,
        typer.Option(
            "--met",
            metavar="NAME|FILE",
            help="Table: a shipped one, or a file .toml, .xml (GNU Backgammon), .met (XG).",
        ),
    ] = None,
    cube: Annotated[int | None, typer.Option("--cube", metavar="N", help="Value of the cube. [default: 1]")] = None,
    crawford: Annotated[
        bool | None,
        typer.Option("--crawford/--post-crawford", help="Whether this is the Crawford game, or it is over."),
    ] = None,
    length: Annotated[
        int | None, typer.Option("--length", metavar="N", help="Points up to which the table is shown. [default: 15]")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Show a match equity table or, with --away, what a score makes of a game: the chance to win the match, take points
    and gammon values of both sides.
    """
    if context.invoked_subcommand is not None:
        return
    from cluster.cli import render_met
    from cluster.match_equities import match_at, score_report, table_report
    from engine.errors import InputError
    from engine.met import DEFAULT_MET, load_met

    table = load_met(met or DEFAULT_MET)
    if away is None:
        if cube is not None or crawford is not None:
            given = "cube" if cube is not None else "Crawford"
            raise InputError(given, cube if cube is not None else crawford, "a score beside it (--away A B)")
        shown = table_report(table, SHOWN_POINTS if length is None else length)
        tell(shown, json, render_met.show_table)
        return
    if length is not None:
        raise InputError("length", length, "no score beside it: it says how much of the table is shown")
    report = score_report(table, match_at(table, away, 1 if cube is None else cube, crawford))
    tell(report, json, render_met.show_score)


@app.command("compute")
def compute(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where the table is written; NAME.toml.")],
    rules: RulesOption = "tavla",
    length: Annotated[
        int, typer.Option("--length", metavar="N", help="Points of the table; it can be used beyond.")
    ] = 25,
    trials: Annotated[int, typer.Option("--trials", metavar="N", help="At least so many games in all.")] = 31_752,
    level: LevelOption = 1,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Of the dice.")] = 1,
    net: NetOption = None,
    json: JsonOption = False,
) -> None:
    """Compute a table for play without a cube: roll out all openings to see how games end, then go from score to score
    exactly.
    """
    from cluster.cli import render_met
    from cluster.cli.render import open_databases_live
    from cluster.match_equities import compute_table
    from engine.rollout import RolloutSettings
    from engine.rules import rule_set

    settings = RolloutSettings(rule_set(rules), seed=seed, level=level)
    nets = chosen_nets(net, rules)
    with render_met.computing() as progress:
        report = compute_table(file, nets, open_databases_live, settings, trials, length, progress)
    tell(report, json, render_met.show_computed)
