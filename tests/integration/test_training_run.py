"""`gammonfarm train` on recipes that take seconds: files, stages, MLflow, workers, the same bits after any death."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from nets import random_net

from cluster.cli.main import main
from cluster.executor import InlineExecutor
from cluster.match import MatchRun, NamedNets, plan_match
from cluster.match_schemas import MatchRequest
from cluster.nets import with_filter
from cluster.schemas_training import TrainingReport
from cluster.shard_farm import ShardFarm
from cluster.store import MemoryStore
from engine.bearoff import Bearoff
from engine.weights import Net, load_net, save_net
from training.checkpoint import load_checkpoint
from training.production import ThreadProducer
from training.progress import Status
from training.recipe import SelfPlayRecipe, load_recipe
from training.run import RunOptions, TrainingRun

if TYPE_CHECKING:
    from cluster.ray_executor import RayExecutor

ROOT = Path(__file__).resolve().parent.parent.parent
PARTS = """
[labels]
kind = "2ply"
[starts]
opening = 0.5
containment = 0.5
half_moves = 8
[explore]
random_play = 0.1
sibling = 0.5
[fit]
batch = 256
passes = 2.0
average_batches = 50
quantised_generations = 1
"""


def write_recipe(folder: Path, **changes: object) -> Path:
    """A recipe of three generations of twelve games, 32 units wide."""
    sizes = {"width": 32, "generations": 3, "shards_per_generation": 3, "games_per_shard": 4, "window": 2}
    fields = {"name": "tiny", "checkpoint_every": 1} | sizes | changes
    path = folder / f"{fields['name']}.toml"
    text = "".join(f"{key} = {value!r}\n" for key, value in fields.items())
    path.write_text(text.replace("True", "true") + PARTS, encoding="utf-8")
    return path


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GAMMONFARM_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("GAMMONFARM_MLFLOW_URI", "off")


def train(recipe: Path, folder: Path, *more: str) -> int:
    return main(["train", str(recipe), "--folder", str(folder), "--inline", *more])


def recipe_of(path: Path) -> SelfPlayRecipe:
    recipe = load_recipe(path)
    assert isinstance(recipe, SelfPlayRecipe)
    return recipe


def net_of(folder: Path) -> Net:
    """The net that a run left."""
    return load_net(folder / "tiny.safetensors")


def digest(folder: Path) -> str:
    """Of this net."""
    return net_of(folder).digest


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Digest of the tiny recipe's net, made inline by one worker in one go."""
    folder = tmp_path_factory.mktemp("reference")
    with TrainingRun(recipe_of(write_recipe(folder)), folder, lambda: ThreadProducer(1), RunOptions()) as run:
        return run.run().net.digest


@dataclass(frozen=True)
class Finished:
    """A run of the tiny recipe by the command, recorded in MLflow."""

    recipe: Path
    folder: Path
    printed: str

    def copy(self, folder: Path) -> Path:
        """Its folder, to be changed."""
        shutil.copytree(self.folder, folder)
        return folder


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, tracking_uri: str) -> Finished:
    """One run for all tests that look at what a run leaves."""
    folder = tmp_path_factory.mktemp("finished")
    recipe = write_recipe(folder)
    printed = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(printed):
        patch.setenv("GAMMONFARM_HOME", str(folder / "home"))
        patch.setenv("GAMMONFARM_MLFLOW_URI", tracking_uri)
        assert train(recipe, folder / "out", "--workers", "3", "--threads", "2") == 0
    return Finished(recipe, folder / "out", printed.getvalue())


def test_a_training_run_leaves_net_checkpoint_history_and_the_shards_it_may_need(
    finished: Finished, reference: str
) -> None:
    out = finished.folder
    assert finished.printed.splitlines()[-1] == str(out / "tiny.safetensors")
    left = ["shards", "tiny.checkpoint", "tiny.history.jsonl", "tiny.safetensors"]
    assert sorted(path.name for path in out.iterdir()) == left
    assert {path.name[:6] for path in (out / "shards").iterdir()} == {"g00002"}
    net = load_net(out / "tiny.safetensors")
    assert (net.width, net.digest) == (32, reference)
    assert (net.description["games"], net.description["rules"]) == ("36", "international")
    assert "quantisation" in net.description
    assert load_checkpoint(out / "tiny.checkpoint").done == 3
    history = [json.loads(line) for line in (out / "tiny.history.jsonl").read_text().splitlines()]
    assert [entry["generation"] for entry in history] == [1, 2, 3]
    # Five cross-entropies of a net that knows little yet, each of them below that of a coin.
    assert all(0 < entry["loss"] < 3.5 for entry in history)


def test_shards_are_kept_on_request(tmp_path: Path) -> None:
    assert train(write_recipe(tmp_path, keep_shards=True), tmp_path / "out") == 0
    assert len(list((tmp_path / "out" / "shards").glob("*.json"))) == 9


def test_the_stages_one_by_one_make_the_same_net(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], reference: str
) -> None:
    recipe, out = write_recipe(tmp_path), tmp_path / "out"
    for generation in (1, 2, 3):
        for stage in ("positions", "fit"):
            capsys.readouterr()
            assert train(recipe, out, "--stage", stage, "--json") == 0
            report = TrainingReport.model_validate_json(capsys.readouterr().out)
            assert report.stage == stage
            assert report.shards == (3 if stage == "positions" else 0)
            assert report.generations == generation - (stage == "positions")
    assert digest(out) == reference
    assert train(recipe, out, "--stage", "fit") == 2
    assert "more generations" in capsys.readouterr().err.splitlines()[-1]


def test_fitting_without_positions_says_what_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert train(write_recipe(tmp_path), tmp_path / "out", "--stage", "fit") == 2
    line = capsys.readouterr().err.splitlines()[-1]
    assert "shard 0 of generation 0" in line
    assert "make positions first" in line


def test_benchmark_and_gate_judge_the_net_of_the_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], finished: Finished
) -> None:
    recipe, out, decisions = finished.recipe, finished.copy(tmp_path / "out"), tmp_path / "decisions.jsonl"
    record = {"pos": "4HPwATDgc/ABMA", "match": "cIgRAAAAAAAA", "dice": [3, 1]}
    best = record | {"moves": [{"m": "8/5 6/5", "eq": 0.1}, {"m": "24/20", "eq": -0.1}]}
    decisions.write_text(
        json.dumps(best)
        + "\n"
        + json.dumps(best | {"dice": [6, 1], "moves": [{"m": "13/7 8/7", "eq": 0.1}, {"m": "24/18 24/23", "eq": 0.0}]})
        + "\n"
    )
    save_net(random_net(3), tmp_path / "champion.safetensors")
    assert train(recipe, out, "--stage", "benchmark", "--benchmark", str(decisions), "--json") == 0
    report = TrainingReport.model_validate_json(capsys.readouterr().out)
    assert report.benchmark is not None
    assert report.benchmark.decisions == 2
    champion = ("--champion", str(tmp_path / "champion.safetensors"))
    assert train(recipe, out, "--stage", "gate", "--benchmark", str(decisions), *champion, "--json") == 0
    gate = TrainingReport.model_validate_json(capsys.readouterr().out).gate
    assert gate is not None
    assert gate.benchmark is not None
    assert (gate.champion, gate.benchmark.decisions, gate.match) == (random_net(3).digest, 2, None)
    assert train(recipe, out, "--stage", "gate") == 2
    assert "--benchmark FILE" in capsys.readouterr().err


def test_the_gate_plays_the_champion_on_the_same_dice_and_says_so_everywhere(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    finished: Finished,
    tracking_uri: str,
    monkeypatch: pytest.MonkeyPatch,
    session_home: Path,
    databases: Bearoff,
) -> None:
    from mlflow.tracking import MlflowClient

    monkeypatch.setenv("GAMMONFARM_MLFLOW_URI", tracking_uri)
    out = finished.copy(tmp_path / "out")
    save_net(random_net(5), tmp_path / "champion.safetensors")
    options = ("--champion", str(tmp_path / "champion.safetensors"), "--gate-games", "24", "--json")
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "bearoff").symlink_to(session_home / "bearoff")
    assert train(finished.recipe, out, "--stage", "gate", *options) == 0
    gate = TrainingReport.model_validate_json(capsys.readouterr().out).gate
    assert gate is not None
    assert gate.benchmark is None
    assert gate.match is not None
    assert (gate.champion, gate.match.games) == (random_net(5).digest, 24)
    # The same as the command for matches plays.
    sides = [NamedNets(name, with_filter(net)) for name, net in (("net", net_of(out)), ("champion", random_net(5)))]
    alone = (
        MatchRun(plan_match(MatchRequest(games=24), *sides), MemoryStore()).run(InlineExecutor, lambda _: None).result
    )
    assert (gate.match.points, gate.match.interval95) == (alone.estimate.points, alone.estimate.interval95)
    assert gate.match.verdict is alone.verdict

    last = json.loads((out / "tiny.history.jsonl").read_text().splitlines()[-1])
    assert (last["generation"], last["gate"]["champion"], last["gate"]["games"]) == (3, gate.champion, 24)
    assert last["gate"]["points"] == gate.match.points
    runs = MlflowClient(tracking_uri=tracking_uri)
    experiments = [e.experiment_id for e in runs.search_experiments()]
    tags = [r.data.tags for r in runs.search_runs(experiments) if r.data.tags.get("champion") == gate.champion]
    assert [tag["gate"] for tag in tags] == [gate.verdict.value]


def test_mlflow_holds_the_run_with_a_run_for_each_stage_and_pictures(finished: Finished, tracking_uri: str) -> None:
    from mlflow.tracking import MlflowClient

    out = finished.folder
    client = MlflowClient(tracking_uri=tracking_uri)
    experiments = [e.experiment_id for e in client.search_experiments() if "training" in e.name]
    runs: list[Any] = list(client.search_runs(experiments))
    (run,) = [r for r in runs if r.data.tags.get("file") == str(out / "tiny.safetensors")]
    assert run.data.tags["net"] == digest(out)
    assert run.info.status == "FINISHED"
    assert (run.data.params["width"], run.data.params["labels.kind"]) == ("32", "2ply")
    assert len(run.data.tags["code"]) == 16
    assert run.data.metrics["calibration_win"] > 0
    assert run.data.metrics["error_back_game"] > 0
    pictures = {file.path for file in client.list_artifacts(run.info.run_id)}
    assert pictures == {"recipe.json", "learning_curve.png", "calibration.png", "errors_by_start.png"}
    inside = {r.info.run_name: r for r in runs if r.data.tags.get("mlflow.parentRunId") == run.info.run_id}
    assert inside.keys() == {"positions", "fit"}
    assert all(r.info.status == "FINISHED" for r in inside.values())
    losses = client.get_metric_history(inside["fit"].info.run_id, "loss")
    assert sorted(loss.step for loss in losses) == [1, 2, 3]
    assert inside["positions"].data.metrics["games"] == 36


def test_a_finished_run_is_neither_repeated_nor_overwritten(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], finished: Finished
) -> None:
    recipe, out = finished.recipe, finished.copy(tmp_path / "out")
    before = {path: path.read_bytes() for path in out.iterdir() if path.is_file()}
    capsys.readouterr()
    assert train(recipe, out) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    line = captured.err.splitlines()[-1]
    assert all(part in line for part in ("folder", str(out)[-20:], "--resume"))
    assert {path: path.read_bytes() for path in out.iterdir() if path.is_file()} == before
    first = digest(out)
    assert train(recipe, out, "--resume") == 0
    assert digest(out) == first


def test_there_is_nothing_to_resume_in_an_empty_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert train(write_recipe(tmp_path), tmp_path / "out", "--resume") == 2
    assert "checkpoint" in capsys.readouterr().err.splitlines()[-1]
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("changes", "options", "named"),
    [
        ({"width": 33}, [], ["width", "33", "multiple of 32"]),
        ({"speed": 9}, [], ["speed", "9"]),
        ({"rules": "chess"}, [], ["rules", "chess", "tavla"]),
        ({}, ["--workers", "0"], ["workers", "0", "at least 1"]),
        ({}, ["--threads", "0"], ["threads", "0", "at least 1"]),
        ({}, ["--gate-games", "7"], ["gate-games", "7", "even number"]),
        ({}, ["--teacher", "x.safetensors"], ["teacher", "distill recipe"]),
    ],
)
def test_what_makes_no_sense_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], changes: dict[str, object], options: list[str], named: list[str]
) -> None:
    assert train(write_recipe(tmp_path, **changes), tmp_path / "out", *options) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    (line,) = captured.err.splitlines()
    assert all(part in line for part in named), line
    assert not (tmp_path / "out").exists()


# Deaths


class Lent(ShardFarm):
    """The session's executor, which a run may not close."""

    def close(self) -> None:
        pass


def test_workers_on_ray_make_the_same_bits_even_when_one_is_killed(
    tmp_path: Path, ray_executor: RayExecutor, reference: str
) -> None:
    killed: list[int] = []

    def kill_one(status: Status) -> None:
        if status.produced.shards >= 1 and not killed:
            killed.append(ray_executor.worker_pids()[0])
            os.kill(killed[0], signal.SIGKILL)

    recipe = recipe_of(write_recipe(tmp_path, generations=3))
    with TrainingRun(recipe, tmp_path / "out", lambda: Lent(ray_executor), RunOptions(), kill_one) as run:
        assert run.run().net.digest == reference
    assert killed


def test_damaged_and_missing_shards_are_made_again(tmp_path: Path, reference: str) -> None:
    recipe, out = write_recipe(tmp_path), tmp_path / "out"
    assert train(recipe, out, "--stage", "positions") == 0
    data = sorted((out / "shards").glob("*.safetensors"))
    data[0].write_bytes(data[0].read_bytes()[:-3])
    data[1].unlink()
    assert train(recipe, out) == 0
    assert digest(out) == reference


def test_a_run_killed_midway_and_resumed_ends_with_the_net_of_a_run_that_was_not(tmp_path: Path) -> None:
    generations = 12
    recipe = write_recipe(tmp_path, generations=generations, checkpoint_every=2)
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    command = subprocess.Popen(
        [sys.executable, "-m", "cluster.cli.main", "train", str(recipe), "--folder", str(killed), "--inline"],
        cwd=ROOT,
        env=dict(os.environ),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    # Past a checkpoint: what was fitted after it is fitted again, from the shards of that time.
    history = killed / "tiny.history.jsonl"
    while not history.exists() or len(history.read_text().splitlines()) < 3:
        assert command.poll() is None, "the command ended first"
        time.sleep(0.002)
    command.kill()
    command.communicate()
    assert command.returncode == -signal.SIGKILL
    assert 2 <= load_checkpoint(killed / "tiny.checkpoint").done < generations

    assert train(recipe, killed, "--resume") == 0
    assert train(recipe, whole) == 0
    assert digest(killed) == digest(whole)
    assert (killed / "tiny.history.jsonl").read_text() == (whole / "tiny.history.jsonl").read_text()
