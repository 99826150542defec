"""`gammonfarm rollout`."""

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
    JsonOption,
    LevelOption,
    MetOption,
    NetOption,
    PositionArgument,
    RulesOption,
    WorkersOption,
    check_workers,
    chosen_nets,
    is_given,
    tell,
    warn_about_match,
)


def rollout(
    context: typer.Context,
    position: PositionArgument,
    play: Annotated[
        list[str] | None, typer.Option("--play", metavar="TEXT", help="A candidate such as 24/13; may be repeated.")
    ] = None,
    candidates: Annotated[
        int, typer.Option("--candidates", metavar="N", help="Without --play: how many of the best plays by 1-ply.")
    ] = 5,
    trials: Annotated[int, typer.Option("--trials", metavar="N", help="Games per candidate.")] = 1296,
    level: LevelOption = 1,
    truncate: Annotated[
        int | None, typer.Option("--truncate", metavar="N", help="Value a trial by the net after N half-moves.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Which dice.")] = 1,
    variance_reduction: Annotated[
        bool, typer.Option("--variance-reduction/--no-variance-reduction", help="Subtract the luck of the dice.")
    ] = True,
    bearoff: Annotated[
        bool, typer.Option("--bearoff/--no-bearoff", help="End trials in the bear-off databases.")
    ] = True,
    bearoff_checkers: BearoffCheckersOption = 6,
    race: Annotated[bool, typer.Option("--race", help="No more trials for candidates that are beaten.")] = False,
    stop_se: Annotated[
        float | None, typer.Option("--stop-se", metavar="X", help="Stop at this standard error of the differences.")
    ] = None,
    stop_confidence: Annotated[
        float | None,
        typer.Option("--stop-confidence", metavar="P", help="Stop when the best is the best with this probability."),
    ] = None,
    checkpoint: Annotated[
        int, typer.Option("--checkpoint", metavar="N", help="Trials between two looks of --race and the stop options.")
    ] = 324,
    workers: WorkersOption = None,
    block: Annotated[
        int, typer.Option("--block", metavar="N", help="Trials per task; changes nothing in the result.")
    ] = 36,
    rules: RulesOption = "international",
    preset: Annotated[
        str | None,
        typer.Option(
            "--preset",
            metavar="NAME|FILE",
            help="Settings by name: quick, standard, deep, match, 1-level-648 to 1-level-10368, 2-level-648 to "
            "2-level-2592, or FILE.toml. Options beside it win.",
        ),
    ] = None,
    cube: Annotated[
        bool | None,
        typer.Option(
            "--cube/--cubeless",
            help="Default: with the cube before the roll and at a score, without it for plays in money games.",
        ),
    ] = None,
    met: MetOption = None,
    efficiency: EfficiencyOption = "fitted",
    executor: ExecutorOption = ExecutorName.RAY,
    net: NetOption = None,
    json: JsonOption = False,
) -> None:
    """Play a position out many times and say what each candidate is worth, with error bars.

    Finished blocks are kept: the same command again answers from the cache, more --trials only adds what is missing.
    """
    from cluster.cli import remote, render
    from cluster.coordinator import RolloutRun
    from cluster.planner import plan
    from cluster.presets import load_preset
    from cluster.schemas import RolloutRequest, parse_request
    from cluster.settings import load_settings
    from cluster.tracking import track_rollout
    from engine.evaluator import Evaluator
    from engine.ids import parse_position

    check_workers(workers)
    preset_settings = load_preset(preset).settings() if preset else {}
    named = {name: value for name, value in preset_settings.items() if not is_given(context, name)}
    request = parse_request(
        RolloutRequest,
        {
            "position": position,
            "plays": tuple(play or ()),
            "candidates": candidates,
            "trials": trials,
            "level": level,
            "truncate": truncate,
            "seed": seed,
            "variance_reduction": variance_reduction,
            "bearoff": bearoff,
            "bearoff_checkers": bearoff_checkers,
            "race": race,
            "stop_se": stop_se,
            "stop_confidence": stop_confidence,
            "checkpoint": checkpoint,
            "block": block,
            "rules": rules,
            "cube": cube,
            "met": met,
            "efficiency": efficiency,
        }
        | named,
    )
    if remote.farm_is_named() and executor is not ExecutorName.INLINE:
        if not json:
            render.show_board(parse_position(position))
        tell(remote.roll_out(request, net), json, render.show_rollout)
        return
    settings = load_settings()
    chosen = chosen_nets(net, rules)
    question = plan(request, Evaluator(chosen))
    if question.settings.cube is None:
        warn_about_match(question.position.match.length)
    with ExitStack() as stack:
        store = open_the_store(stack)
        if question.settings.uses_bearoff:
            # Only now that the question makes sense and the store is there: the first time they must be built.
            question = plan(request, Evaluator(chosen, render.open_databases_live(bearoff_checkers).arrays))
        if not json:
            render.show_board(question.position)
        start_executor = executor_starter(stack, executor, workers)
        tracked = track_rollout(settings, request, question)
        try:
            with render.RolloutProgress(question) as live:
                report = RolloutRun(request, question, chosen, store).run(start_executor, live.update)
        except BaseException:
            tracked.failed()
            raise
        tell(report, json, render.show_rollout)
        tracked.finished(report)
