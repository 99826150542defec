"""`gammonfarm deep`."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Annotated

import typer

from cluster.cli.means import executor_starter, open_the_store
from cluster.cli.options import (
    BearoffCheckersOption,
    EfficiencyOption,
    ExecutorName,
    ExecutorOption,
    FilterOption,
    JsonOption,
    MetOption,
    NetOption,
    PositionArgument,
    RulesOption,
    WorkersOption,
    check_workers,
    chosen_nets,
    tell,
    warn_about_match,
)


def deep(
    position: PositionArgument,
    play: Annotated[
        list[str] | None, typer.Option("--play", metavar="TEXT", help="A candidate such as 24/13; may be repeated.")
    ] = None,
    candidates: Annotated[
        int, typer.Option("--candidates", metavar="N", help="Without --play: how many of the best plays by 3-ply.")
    ] = 5,
    margin: Annotated[
        float, typer.Option("--margin", metavar="X", help="Without --play: how far these may be behind the best.")
    ] = 0.1,
    trials: Annotated[
        int, typer.Option("--trials", metavar="N", help="Games per candidate, in both halves together.")
    ] = 6912,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Which dice.")] = 1,
    cube: Annotated[
        bool | None, typer.Option("--cube/--cubeless", help="Whether the cube is in play; default: as in a rollout.")
    ] = None,
    met: MetOption = None,
    efficiency: EfficiencyOption = "fitted",
    filter: FilterOption = "normal",
    rules: RulesOption = "international",
    bearoff_checkers: BearoffCheckersOption = 6,
    workers: WorkersOption = None,
    block: Annotated[
        int, typer.Option("--block", metavar="N", help="Trials per task; changes nothing in the result.")
    ] = 108,
    executor: ExecutorOption = ExecutorName.RAY,
    net: NetOption = None,
    json: JsonOption = False,
) -> None:
    """Say what a decision comes to by a 3-ply search and a long simulation together, and what noise may do to it.

    The simulation is played in two halves with dice of their own, which check each other. Both are ordinary rollouts:
    finished blocks are kept, the same command again answers from the cache or goes on.
    """
    from cluster.cli import remote, render
    from cluster.cli.render_deep import DeepDisplay, show_deep
    from cluster.deep.planner import plan
    from cluster.deep.run import DeepRun
    from cluster.deep.schemas import DeepRequest
    from cluster.schemas import parse_request
    from cluster.settings import load_settings
    from cluster.tracking import track_deep
    from engine.evaluator import Evaluator
    from engine.ids import parse_position

    check_workers(workers)
    request = parse_request(
        DeepRequest,
        {
            "position": position,
            "plays": tuple(play or ()),
            "candidates": candidates,
            "margin": margin,
            "trials": trials,
            "seed": seed,
            "bearoff_checkers": bearoff_checkers,
            "block": block,
            "rules": rules,
            "cube": cube,
            "met": met,
            "efficiency": efficiency,
            "filter": filter,
        },
    )
    if remote.farm_is_named() and executor is not ExecutorName.INLINE:
        if not json:
            render.show_board(parse_position(position))
        tell(remote.analyse_deeply(request, net), json, show_deep)
        return
    settings = load_settings()
    chosen = chosen_nets(net, rules)

    def evaluator_for(checkers: int | None) -> Evaluator:
        return Evaluator(chosen) if checkers is None else Evaluator(chosen, render.open_databases_live(checkers).arrays)

    with ExitStack() as stack:
        question = plan(request, evaluator_for)
        if question.cube is None:
            warn_about_match(question.position.match.length)
        store = open_the_store(stack)
        if not json:
            render.show_board(question.position)
        executor_for = executor_starter(stack, executor, workers)
        tracked = track_deep(settings, question)
        try:
            with DeepDisplay(question) as live:
                report = DeepRun(question, chosen, store).run(executor_for, live.update)
        except BaseException:
            tracked.failed()
            raise
        tell(report, json, show_deep)
        tracked.finished(report)
