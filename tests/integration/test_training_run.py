"""`gammonfarm train` on recipes that take seconds: files, MLflow, and going on after a kill -9 to the same bits."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from cluster.cli.main import main
from engine.weights import load_net
from training.checkpoint import load_checkpoint

ROOT = Path(__file__).resolve().parent.parent.parent


def write_recipe(folder: Path, **changes: object) -> Path:
    """A recipe of three rounds, 32 units wide."""
    sizes = {"width": 32, "games": 30, "games_per_round": 10, "batch": 1024, "checkpoint_every": 1}
    fields = {"name": "tiny"} | sizes | changes
    path = folder / f"{fields['name']}.toml"
    path.write_text("".join(f"{key} = {value!r}\n" for key, value in fields.items()), encoding="utf-8")
    return path


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GAMMONFARM_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("GAMMONFARM_MLFLOW_URI", "off")


def train(recipe: Path, out: Path, *more: str) -> int:
    return main(["train", str(recipe), "--out", str(out), *more])


def test_a_training_run_leaves_net_checkpoint_and_a_record(
    tmp_path: Path, tracking_uri: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from mlflow.tracking import MlflowClient

    monkeypatch.setenv("GAMMONFARM_MLFLOW_URI", tracking_uri)
    out = tmp_path / "out"
    assert train(write_recipe(tmp_path), out) == 0
    assert capsys.readouterr().out.strip() == str(out / "tiny.safetensors")
    assert sorted(path.name for path in out.iterdir()) == ["tiny.checkpoint", "tiny.safetensors"]
    net = load_net(out / "tiny.safetensors")
    assert net.width == 32
    assert (net.description["games"], net.description["rules"]) == ("30", "international")
    assert load_checkpoint(out / "tiny.checkpoint").rounds == 3

    client = MlflowClient(tracking_uri=tracking_uri)
    experiments = [e.experiment_id for e in client.search_experiments() if "training" in e.name]
    runs: list[Any] = [r for r in client.search_runs(experiments) if r.data.tags.get("net") == net.digest]
    (run,) = runs
    assert run.info.status == "FINISHED"
    assert (run.data.params["width"], run.data.params["games"]) == ("32", "30")
    losses = client.get_metric_history(run.info.run_id, "loss")
    assert sorted(loss.step for loss in losses) == [1, 2, 3]
    # Five cross-entropies of a net that knows nothing yet, each of them below that of a coin.
    assert all(0 < loss.value < 3.5 for loss in losses)


def test_a_finished_run_is_neither_repeated_nor_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recipe, out = write_recipe(tmp_path), tmp_path / "out"
    assert train(recipe, out) == 0
    before = {path: path.read_bytes() for path in out.iterdir()}

    capsys.readouterr()
    assert train(recipe, out) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    (line,) = captured.err.splitlines()
    assert all(part in line for part in ("out", str(out)[-20:], "--resume"))
    assert {path: path.read_bytes() for path in out.iterdir()} == before

    assert train(recipe, out, "--resume") == 0
    assert load_net(out / "tiny.safetensors").digest == load_net_digest(before[out / "tiny.safetensors"], tmp_path)
    assert load_checkpoint(out / "tiny.checkpoint").rounds == 3


def load_net_digest(content: bytes, folder: Path) -> str:
    copy = folder / "copy.safetensors"
    copy.write_bytes(content)
    return load_net(copy).digest


def test_a_checkpoint_of_another_recipe_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert train(write_recipe(tmp_path), out) == 0
    capsys.readouterr()
    assert train(write_recipe(tmp_path, seed=2), out, "--resume") == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "recipe" in line


def test_there_is_nothing_to_resume_in_an_empty_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert train(write_recipe(tmp_path), tmp_path / "out", "--resume") == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "checkpoint" in line
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"width": 33}, ["width", "33", "multiple of 32"]),
        ({"games": 25}, ["multiple of games_per_round"]),
        ({"speed": 9}, ["speed", "9"]),
        ({"rules": "chess"}, ["rules", "chess", "tavla"]),
    ],
)
def test_a_recipe_that_makes_no_sense_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], changes: dict[str, object], named: list[str]
) -> None:
    assert train(write_recipe(tmp_path, **changes), tmp_path / "out") == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    (line,) = captured.err.splitlines()
    assert all(part in line for part in named), line
    assert not (tmp_path / "out").exists()


def test_a_run_killed_midway_and_resumed_ends_with_the_net_of_a_run_that_was_not(tmp_path: Path) -> None:
    rounds = 20
    recipe = write_recipe(tmp_path, games=rounds * 10)
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    command = subprocess.Popen(
        [sys.executable, "-m", "cluster.cli.main", "train", str(recipe), "--out", str(killed)],
        cwd=ROOT,
        env=dict(os.environ),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not (killed / "tiny.checkpoint").exists():
        assert command.poll() is None, "the command ended first"
        time.sleep(0.002)
    command.kill()
    command.communicate()
    assert command.returncode == -signal.SIGKILL
    assert 1 <= load_checkpoint(killed / "tiny.checkpoint").rounds < rounds

    assert train(recipe, killed, "--resume") == 0
    assert train(write_recipe(tmp_path, games=rounds * 10, checkpoint_every=rounds), whole) == 0
    assert load_net(killed / "tiny.safetensors").digest == load_net(whole / "tiny.safetensors").digest
    assert load_checkpoint(killed / "tiny.checkpoint").rounds == rounds
