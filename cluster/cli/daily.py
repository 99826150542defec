"""`gammonfarm daily`."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cluster.cli.options import (
    ExecutorName,
    ExecutorOption,
    JsonOption,
    NetOption,
    RulesOption,
    WorkersOption,
    check_workers,
    chosen_nets,
    print_json,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from cluster.book.simulation import Farm
    from cluster.daily.games import DailyQuestion
    from cluster.daily.publish import DailyFormat
    from cluster.daily.schemas import DailyProblem, ProblemKind
    from engine.evaluator import Nets


def daily(
    date: Annotated[
        str | None,
        typer.Option("--date", metavar="D", help="A date as 2026-12-24, or a month as 2026-12; default: today."),
    ] = None,
    rules: RulesOption = "international",
    kind: Annotated[str, typer.Option("--kind", metavar="NAME", help="checker or cube.")] = "checker",
    answer: Annotated[bool, typer.Option("--answer/--no-answer", help="Whether the answer is shown.")] = True,
    form: Annotated[
        str, typer.Option("--format", metavar="NAME", help="text, svg, png, ics (a calendar) or feed (JSON Feed).")
    ] = "text",
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Where to write; a folder for pictures of a month.")
    ] = None,
    net: NetOption = None,
    workers: WorkersOption = None,
    executor: ExecutorOption = ExecutorName.INLINE,
    json: JsonOption = False,
) -> None:
    """Show the problem of the day, the same for everybody: a real choice with a clear answer, which a rollout gives."""
    import datetime

    from cluster.book.simulation import Farm
    from cluster.cli.means import executor_starter, open_the_store
    from cluster.daily.games import DailyQuestion, days
    from cluster.daily.publish import DailyFormat
    from cluster.daily.schemas import DailyReport, ProblemKind
    from engine.errors import InputError
    from engine.rules import rule_set

    check_workers(workers)
    kinds, forms = ([one.value for one in names] for names in (ProblemKind, DailyFormat))
    if kind not in kinds:
        raise InputError("kind", kind, f"one of {', '.join(kinds)}")
    if form not in forms:
        raise InputError("format", form, f"one of {', '.join(forms)}")
    dates = days(date) if date is not None else [datetime.date.today()]
    alone = form == DailyFormat.PNG.value or (form == DailyFormat.SVG.value and len(dates) > 1)
    if alone and out is None and not json:
        raise InputError("format", form, "--out with it")
    nets = chosen_nets(net, rules)
    with ExitStack() as stack:
        farm = Farm(open_the_store(stack), executor_starter(stack, executor, workers))
        find = _finder(ProblemKind(kind), rules, nets, farm)
        asked = (DailyQuestion(day, ProblemKind(kind), rule_set(rules), nets.digest) for day in dates)
        report = DailyReport(problems=tuple(find(question) for question in asked))
    if json:
        print_json(report)
    else:
        _publish(report.problems, DailyFormat(form), answer, out)


def _finder(kind: ProblemKind, rules: str, nets: Nets, farm: Farm) -> Callable[[DailyQuestion], DailyProblem]:
    """Finds the problem of a question of this kind."""
    from cluster.book.build import identity_of
    from cluster.book.simulation import Simulator
    from cluster.book.stakes import stakes_of
    from cluster.cli.render import open_databases_live
    from cluster.daily.checker import find_checker_problem, recipe_of
    from cluster.daily.cube import CubeBench, find_cube_problem
    from cluster.daily.schemas import ProblemKind
    from engine.evaluator import Evaluator

    evaluator = Evaluator(nets, open_databases_live().arrays)
    if kind is ProblemKind.CUBE:
        bench = CubeBench(nets, evaluator, farm)
        return lambda question: find_cube_problem(question, bench, lambda _: None)
    recipe = recipe_of(rules)
    simulator = Simulator(identity_of(recipe, nets), stakes_of(recipe), nets, evaluator, farm)
    return lambda question: find_checker_problem(question, simulator, evaluator)


def _publish(problems: Sequence[DailyProblem], form: DailyFormat, answer: bool, out: Path | None) -> None:
    from cluster.cli.render import stdout_console
    from engine.errors import InputError

    pieces = dict(_pieces(problems, form, answer))
    if out is None:
        for content in pieces.values():
            typer.echo(content, nl=not content.endswith(b"\n"))
        return
    several = len(pieces) > 1
    try:
        (out if several else out.parent).mkdir(parents=True, exist_ok=True)
        for name, content in pieces.items():
            (out / name if several else out).write_bytes(content)
    except OSError as error:
        raise InputError("out", out, f"a place that can be written ({error.strerror})") from error
    more = f" and {len(pieces) - 1} more files" if several else ""
    stdout_console().print(f"{out / next(iter(pieces)) if several else out}{more}", markup=False, soft_wrap=True)


def _pieces(problems: Sequence[DailyProblem], form: DailyFormat, answer: bool) -> Iterator[tuple[str, bytes]]:
    """Files by name: one a problem for pictures, one for all otherwise."""
    from cluster.daily import publish
    from cluster.daily.publish import DailyFormat

    match form:
        case DailyFormat.TEXT:
            yield "daily.txt", "\n\n".join(publish.as_text(problem, answer) for problem in problems).encode()
        case DailyFormat.CALENDAR:
            yield "daily.ics", publish.as_calendar(problems, answer).encode()
        case DailyFormat.FEED:
            yield "daily.json", publish.as_feed(problems, answer).encode()
        case DailyFormat.SVG:
            for problem in problems:
                yield f"{problem.date.isoformat()}.svg", publish.as_svg(problem, answer).encode()
        case DailyFormat.PNG:
            for problem in problems:
                yield f"{problem.date.isoformat()}.png", publish.as_png(problem, answer)
