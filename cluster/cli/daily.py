"""`gammonfarm daily`."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Annotated

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


def daily(
    date: Annotated[
        str | None,
        typer.Option("--date", metavar="D", help="A date as 2026-12-24, or a month as 2026-12; default: today."),
    ] = None,
    rules: RulesOption = "international",
    kind: Annotated[str, typer.Option("--kind", metavar="NAME", help="checker (cube: not yet).")] = "checker",
    answer: Annotated[bool, typer.Option("--answer/--no-answer", help="Whether the answer is shown.")] = True,
    net: NetOption = None,
    workers: WorkersOption = None,
    executor: ExecutorOption = ExecutorName.INLINE,
    json: JsonOption = False,
) -> None:
    """Show the problem of the day, the same for everybody: a real choice with a clear answer, which a rollout gives."""
    import datetime

    from cluster.book.build import identity_of
    from cluster.book.simulation import Farm, Simulator
    from cluster.book.stakes import stakes_of
    from cluster.cli.book import executor_starter, open_the_store
    from cluster.cli.render import open_databases_live, stdout_console
    from cluster.daily import DailyQuestion, DailyReport, ProblemKind, as_text, days, find_problem, recipe_of
    from engine.errors import InputError
    from engine.evaluator import Evaluator

    check_workers(workers)
    kinds = [one.value for one in ProblemKind]
    if kind not in kinds:
        raise InputError("kind", kind, f"one of {', '.join(kinds)}")
    dates = days(date) if date is not None else [datetime.date.today()]
    recipe = recipe_of(rules)
    nets = chosen_nets(net, rules)
    stakes = stakes_of(recipe)
    with ExitStack() as stack:
        evaluator = Evaluator(nets, open_databases_live().arrays)
        farm = Farm(open_the_store(stack), executor_starter(stack, executor, workers))
        simulator = Simulator(identity_of(recipe, nets), stakes, nets, evaluator, farm)
        report = DailyReport(
            problems=tuple(
                find_problem(DailyQuestion(day, ProblemKind(kind)), simulator, evaluator, lambda _: None)
                for day in dates
            )
        )
    if json:
        print_json(report)
    else:
        texts = (as_text(problem, answer) for problem in report.problems)
        stdout_console().print("\n\n".join(texts), markup=False, soft_wrap=True)
