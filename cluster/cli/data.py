"""Commands that answer at once: evaluate, perft, doctor."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from typing import Annotated

import typer

from cluster.cli.options import (
    BearoffCheckersOption,
    EfficiencyOption,
    FilterOption,
    JsonOption,
    LevelOption,
    MetOption,
    NetOption,
    PositionArgument,
    RulesOption,
    chosen_nets,
    print_json,
    tell,
    warn_about_match,
)

START_XGID = "XGID=-b----E-C---eE---c-e----B-:0:0:1:00:0:0:0:0:10"


def evaluate(
    position: PositionArgument,
    level: LevelOption = 1,
    rules: RulesOption = "international",
    cube: Annotated[
        str | None,
        typer.Option(
            "--cube", metavar="NAME", help="all: also for a centred cube, yours and the opponent's; or one of these."
        ),
    ] = None,
    cubeless: Annotated[bool, typer.Option("--cubeless", help="Leave out the cube and the score.")] = False,
    met: MetOption = None,
    efficiency: EfficiencyOption = "fitted",
    top: Annotated[int, typer.Option("--top", metavar="N", help="Plays to list (0: all).")] = 10,
    filter: FilterOption = "normal",
    book: Annotated[
        str | None, typer.Option("--book", metavar="NAME|FILE", help="Show also what this opening book says.")
    ] = None,
    net: NetOption = None,
    bearoff_checkers: BearoffCheckersOption = 6,
    json: JsonOption = False,
) -> None:
    """Show a position and what it is worth: with dice the ranked plays, before the roll the cube decision, while an
    offer stands the right answer.
    """
    from cluster.answers import EvaluationOptions, evaluate_position
    from cluster.cli import remote, render
    from cluster.cli.render_evaluation import show_evaluation
    from cluster.cube_answers import cube_case
    from cluster.filters import load_filter
    from engine.bearoff import TWO_SIDED_CHECKERS, check_two_sided
    from engine.errors import InputError
    from engine.ids import parse_position

    if top < 0:
        raise InputError("top", top, "0 or a number of plays")
    check_two_sided(bearoff_checkers)
    if remote.farm_is_named():
        remote.refuse({"bearoff_checkers": bearoff_checkers if bearoff_checkers != TWO_SIDED_CHECKERS else None})
        fields = {"position": position, "level": level, "rules": rules, "cube": cube, "cubeless": cubeless}
        report = remote.evaluate(fields | {"met": met, "efficiency": efficiency, "filter": filter}, net)
        parsed = parse_position(position)
    else:
        nets = chosen_nets(net, rules)
        options = EvaluationOptions(level, rules, cubeless, cube_case(cube) if cube else None, met, efficiency)
        databases = partial(render.open_databases_live, bearoff_checkers)
        parsed, report = evaluate_position(position, options, nets, load_filter(filter), databases)
    if book is not None:
        from cluster.book.library import find_book, match_position

        with find_book(book) as opened:
            report = report.model_copy(update={"book": match_position(opened, parsed)})
    if cubeless:
        warn_about_match(parsed.match.length)
    if json:
        print_json(report)
    else:
        render.show_board(parsed)
        show_evaluation(report, top)


def perft(
    depth: Annotated[int, typer.Option("--depth", metavar="N", help="Half-moves.")],
    position: Annotated[
        str, typer.Argument(metavar="[POSITION]", help="XGID or GNU ID; default: the start.")
    ] = START_XGID,
    rules: RulesOption = "international",
    json: JsonOption = False,
) -> None:
    """Count distinct after-positions DEPTH half-moves ahead: over 21 rolls, and weighted over 36."""
    from cluster.cli import render
    from cluster.schemas import PerftReport
    from engine.ids import parse_position
    from engine.perft import perft as count
    from engine.rules import rule_set
    from engine.xgid import format_xgid

    chosen = rule_set(rules)
    parsed = parse_position(position)
    if position == START_XGID:
        parsed = replace(parsed, board=chosen.start.board)
    count(parsed.board, 1, chosen)  # compiles on first use, which is no part of the measured time
    started = time.perf_counter()
    found = count(parsed.board, depth, chosen)
    report = PerftReport(
        xgid=format_xgid(parsed),
        rules=chosen.name,
        depth=depth,
        plays=found.plays,
        weighted=found.weighted,
        seconds=time.perf_counter() - started,
    )
    if json:
        print_json(report)
    else:
        if position != START_XGID:
            render.show_board(parsed)
        render.show_perft(report)


def doctor(json: JsonOption = False) -> None:
    """Say what is configured and reachable, with versions."""
    from cluster.cli import render
    from cluster.doctor import examine

    report = examine()
    tell(report, json, render.show_doctor)
    if not report.ok:
        raise typer.Exit(4)
