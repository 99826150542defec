"""`gammonfarm train`."""

from __future__ import annotations

import enum
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cluster.cli.means import make_executor
from cluster.cli.options import (
    ExecutorName,
    JsonOption,
    WorkersOption,
    check_workers,
    print_json,
    warn_about_rules,
)

if TYPE_CHECKING:
    from cluster.schemas_training import DistillReport, TrainingReport
    from cluster.settings import Settings
    from engine.weights import Net
    from training.gate import MatchGate
    from training.production import Producer
    from training.recipe import DistillRecipe, SelfPlayRecipe


class Stage(enum.Enum):
    """One stage of a training run."""

    POSITIONS = "positions"
    FIT = "fit"
    BENCHMARK = "benchmark"
    GATE = "gate"


class DeviceName(enum.Enum):
    """Where a net is fitted; see `training.devices.Device`."""

    AUTO = "auto"
    CPU = "cpu"
    CUDA = "cuda"


@dataclass(frozen=True, slots=True)
class _Where:
    """How a recipe is run on this machine."""

    workers: int | None
    inline: bool
    threads: int
    device: DeviceName


def train(
    recipe: Annotated[Path, typer.Argument(metavar="RECIPE", help="TOML file such as configs/train/quick.toml.")],
    folder: Annotated[
        Path | None,
        typer.Option(
            "--folder", "--out", metavar="DIR", help="Folder of the run; default: runs/NAME in the data folder."
        ),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the last checkpoint in the folder.")] = False,
    stage: Annotated[
        Stage | None,
        typer.Option(
            "--stage", help="Only this: positions or fit of the next generation, benchmark or gate of the net."
        ),
    ] = None,
    benchmark: Annotated[
        Path | None,
        typer.Option("--benchmark", metavar="FILE", help="Score the net on these decisions at every checkpoint."),
    ] = None,
    champion: Annotated[
        str | None,
        typer.Option(
            "--champion",
            metavar="NET",
            help="Net that the gate compares with, named as for --net elsewhere; default: the shipped one.",
        ),
    ] = None,
    gate_games: Annotated[
        int,
        typer.Option(
            "--gate-games",
            metavar="N",
            help="At the end, play the champion up to N games on the same dice; 0: go by the benchmark alone.",
        ),
    ] = 0,
    teacher: Annotated[
        str | None,
        typer.Option("--teacher", metavar="NET", help="Main net that a filter net learns from; named likewise."),
    ] = None,
    workers: WorkersOption = None,
    inline: Annotated[
        bool, typer.Option("--inline", help="Make positions in threads of this process, without Ray.")
    ] = False,
    threads: Annotated[int, typer.Option("--threads", metavar="N", help="Threads that fit, on a CPU.")] = 1,
    device: Annotated[DeviceName, typer.Option("--device", help="Where the net is fitted.")] = DeviceName.AUTO,
    json: JsonOption = False,
) -> None:
    """Train a net by self-play: positions, labels, fitting, benchmark, gate.

    --resume goes on where a run stopped, to the same bits; neither workers nor threads change them.
    """
    from cluster.cli import remote
    from cluster.nets import resolve_net
    from engine.errors import InputError
    from training.recipe import DistillRecipe, load_recipe

    check_workers(workers)
    if threads < 1:
        raise InputError("threads", threads, "a whole number of at least 1")
    if remote.farm_is_named() and not inline:
        local = {"folder": folder, "resume": resume, "stage": stage, "benchmark": benchmark, "champion": champion}
        result = remote.train(recipe, local | {"gate_games": gate_games, "teacher": teacher, "workers": workers})
        if json:
            print_json(result)
        else:
            print(f"net {result.net}, {result.generations} generations, {result.games:,} games")
        return
    loaded = load_recipe(recipe)
    where = _Where(workers, inline, threads, device)
    if isinstance(loaded, DistillRecipe):
        given: dict[str, object] = {"resume": resume, "stage": stage, "benchmark": benchmark, "champion": champion}
        given["gate-games"] = gate_games
        odd = next((name for name, value in given.items() if value), None)
        if odd is not None:
            raise InputError(odd, loaded.name, "a selfplay recipe (a distillation has none)")
        found = _distil(loaded, folder, resolve_net(teacher), where)
        if json:
            print_json(found)
        else:
            print(found.file)
        return
    if teacher is not None:
        raise InputError("teacher", teacher, "a distill recipe (a selfplay recipe learns from itself)")
    asked = _Asked(folder, resume, stage, benchmark, champion, gate_games)
    report = _self_play(loaded, asked, where)
    if json:
        print_json(report)
    else:
        from cluster.cli.render_training import show_training

        show_training(report)


@dataclass(frozen=True, slots=True)
class _Asked:
    """What is to be done with a recipe."""

    folder: Path | None
    resume: bool
    stage: Stage | None
    benchmark: Path | None
    champion: str | None
    gate_games: int


def _self_play(recipe: SelfPlayRecipe, asked: _Asked, where: _Where) -> TrainingReport:
    from cluster.cli.render import open_databases_live
    from cluster.cli.render_training import TrainingDisplay
    from cluster.nets import resolve_net
    from cluster.schemas_training import training_report
    from cluster.settings import load_settings
    from engine.rules import rule_set
    from training.devices import Device
    from training.run import RunOptions, TrainingRun

    settings = load_settings()
    folder = asked.folder or settings.home / "runs" / recipe.name
    judged = asked.stage in (None, Stage.GATE) and (asked.benchmark is not None or asked.gate_games > 0)
    champion = resolve_net(asked.champion) if judged or asked.champion else None
    if champion is not None:
        warn_about_rules(champion, recipe.rules)
    gate = _match_gate(asked, where, settings) if judged else None
    options = RunOptions(
        # A single stage takes the folder as it is.
        resume=asked.resume or (asked.stage is not None and (folder / f"{recipe.name}.checkpoint").exists()),
        tracking_uri=settings.tracking_uri,
        benchmark=asked.benchmark,
        champion=champion,
        match=gate,
        device=Device(where.device.value),
        threads=where.threads,
    )
    labels_want_them = recipe.labels.bearoff and asked.stage in (None, Stage.POSITIONS)
    if labels_want_them or (gate is not None and rule_set(recipe.rules).databases_hold):
        open_databases_live()  # where they must be built first, that is shown here and not waited for by every worker
    with (
        TrainingDisplay(recipe.name) as display,
        TrainingRun(recipe, folder, lambda: _producer(where, settings.ray_address), options, display.show) as run,
    ):
        stages = {
            None: run.run,
            Stage.POSITIONS: run.make_positions,
            Stage.FIT: run.fit,
            Stage.BENCHMARK: run.benchmark,
            Stage.GATE: run.gate,
        }
        outcome = stages[asked.stage]()
    return training_report(recipe.name, asked.stage.value if asked.stage else "all", outcome)


def _match_gate(asked: _Asked, where: _Where, settings: Settings) -> MatchGate | None:
    if not asked.gate_games:
        return None
    from cluster.match_gate import match_gate

    name = ExecutorName.INLINE if where.inline else ExecutorName.RAY
    return match_gate(asked.gate_games, settings, lambda: make_executor(name, where.workers))


def _producer(where: _Where, address: str | None) -> Producer:
    if where.inline:
        from training.cores import cores
        from training.production import ThreadProducer

        return ThreadProducer(where.workers or cores())
    from cluster.ray_executor import RayExecutor
    from cluster.shard_farm import ShardFarm

    return ShardFarm(RayExecutor(where.workers, address))


def _distil(recipe: DistillRecipe, folder: Path | None, teacher: Net, where: _Where) -> DistillReport:
    from cluster.cli.render_training import TrainingDisplay
    from cluster.schemas_training import DistillReport
    from cluster.settings import load_settings
    from engine.weights import NetKind, load_net
    from training.devices import Device
    from training.distill import run_distillation

    started = time.perf_counter()
    settings = load_settings()
    with TrainingDisplay(recipe.name) as display:
        path = run_distillation(
            recipe,
            folder or settings.home / "runs" / recipe.name,
            teacher,
            lambda done: display.show_round(recipe.rounds, done),
            settings.tracking_uri,
            Device(where.device.value),
            where.threads,
        )
    net = load_net(path, NetKind.FILTER)
    return DistillReport(
        recipe=recipe.name,
        net=net.digest,
        file=str(path),
        teacher=teacher.digest,
        rounds=recipe.rounds,
        seconds=time.perf_counter() - started,
    )
