"""The whole farm as a user has it: commands, the embedded server, Ray, MLflow; and what is left after a kill -9.

Every test asks one of two questions, so that their answers can be compared byte for byte.
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import redis

from cluster import keys
from cluster.cli.main import main
from cluster.cli.options import chosen_nets
from cluster.coordinator import RolloutRun
from cluster.embedded_redis import EmbeddedRedis
from cluster.planner import plan
from cluster.redis_store import open_store
from cluster.rollout_progress import Progress
from cluster.schemas import DoctorReport, RolloutReport, RolloutRequest
from cluster.settings import Settings
from cluster.store import JobState, MemoryStore
from engine.bearoff import Bearoff
from engine.evaluator import Evaluator

if TYPE_CHECKING:
    from cluster.ray_executor import RayExecutor

ROOT = Path(__file__).resolve().parent.parent.parent
PROBLEM = "XGID=--ABBBC-B---eB---c-cbb--A-:0:0:1:65:0:0:0:0:10"
PLAYS = ("24/13", "13/8 13/7")
TRIALS = 720
TRUNCATE = 5
BLOCK = 36
QUESTION = (
    "rollout",
    PROBLEM,
    *(word for play in PLAYS for word in ("--play", play)),
    *("--trials", str(TRIALS), "--truncate", str(TRUNCATE), "--json"),
)
BEAR_OFF = "XGID=-BBB" + "-" * 18 + "bbb-:0:0:1:21:0:0:0:0:10"
SMALL = ("rollout", BEAR_OFF, "--candidates", "2", "--trials", "36", "--json")


@pytest.fixture(scope="module", autouse=True)
def shared_databases(session_home: Path, databases: Bearoff) -> Path:
    """So that not every folder's first command builds them."""
    return session_home / "bearoff"


def lend_databases(home: Path) -> None:
    """Let a data folder use those of the session."""
    shared = Path(os.environ["GAMMONFARM_HOME"]) / "bearoff"
    if not (home / "bearoff").exists():
        home.mkdir(exist_ok=True)
        (home / "bearoff").symlink_to(shared)


def start(home: Path, *arguments: str, **variables: str) -> subprocess.Popen[str]:
    """A command in a process of its own, with its own data folder; MLflow is off unless `variables` say otherwise."""
    if arguments[0] == "rollout":
        lend_databases(home)
    return subprocess.Popen(
        [sys.executable, "-m", "cluster.cli.main", *arguments],
        cwd=ROOT,
        env={**os.environ, "GAMMONFARM_HOME": str(home), "GAMMONFARM_MLFLOW_URI": "off", **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def answer(home: Path, *arguments: str, **variables: str) -> dict[str, Any]:
    """Run a command to its end; the JSON document it prints."""
    command = start(home, *arguments, **variables)
    out, err = command.communicate(timeout=240)
    assert command.returncode == 0, err
    document: dict[str, Any] = json.loads(out)
    return document


def exact(document: dict[str, Any]) -> str:
    """The bytes of what must be the same from every farm."""
    return json.dumps(document["result"])


def server_of(home: Path) -> int | None:
    """The process id of the folder's embedded server, if one runs."""
    return EmbeddedRedis(home).pid


def stored_blocks(home: Path) -> int:
    """How many blocks the embedded server of a folder holds; 0 while there is none."""
    path = home / "redis" / "server.sock"
    if server_of(home) is None or not path.exists():
        return 0
    try:
        with redis.Redis.from_url(f"unix://{path}") as client:
            return sum(client.hlen(key) for key in client.scan_iter(keys.SERIES.key("*")))
    except redis.RedisError:
        return 0


def until(condition: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    """Wait for something that a command does while it runs."""
    while not condition():
        assert process.poll() is None, "the command ended first"
        time.sleep(0.01)


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The answer of one process without Ray."""
    out = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out):
        inline = tmp_path_factory.mktemp("inline")
        lend_databases(inline)
        patch.setenv("GAMMONFARM_HOME", str(inline))
        patch.setenv("GAMMONFARM_MLFLOW_URI", "off")
        assert main([*QUESTION, "--executor", "inline"]) == 0
    return exact(json.loads(out.getvalue()))


# --- the same bytes from every farm ----------------------------------------------------------------------------------


def test_two_workers_and_large_blocks_change_no_byte(tmp_path: Path, reference: str) -> None:
    document = answer(tmp_path, *QUESTION, "--workers", "2", "--block", "216")
    assert exact(document) == reference
    provenance = document["provenance"]
    assert (provenance["executor"], provenance["workers"]) == ("ray", 2)
    assert (provenance["blocks"], provenance["blocks_from_cache"]) == (-(-TRIALS // 216), 0)
    assert server_of(tmp_path) is None


def test_a_worker_killed_midway_changes_no_byte_and_is_reported(ray_executor: RayExecutor, reference: str) -> None:
    nets = chosen_nets(None)
    request = RolloutRequest(position=PROBLEM, plays=PLAYS, trials=TRIALS, truncate=TRUNCATE, block=BLOCK)
    killed: list[int] = []

    def kill_one(progress: Progress) -> None:
        if progress.blocks_done == 3 and not killed:
            killed.append(ray_executor.worker_pids()[0])
            os.kill(killed[0], signal.SIGKILL)

    run = RolloutRun(request, plan(request, Evaluator(nets)), nets, MemoryStore())
    report = run.run(lambda: ray_executor, kill_one)
    assert killed
    assert report.provenance.retries >= 1
    assert exact(json.loads(report.model_dump_json())) == reference


def test_a_command_killed_midway_goes_on_from_its_finished_blocks(tmp_path: Path, reference: str) -> None:
    # What workers do when one dies is seen above; this is about the command, so it needs none.
    asked = (*QUESTION, "--executor", "inline", "--block", str(BLOCK))
    command = start(tmp_path, *asked)
    until(lambda: stored_blocks(tmp_path) >= 2, command)
    command.kill()
    command.communicate()
    assert command.returncode == -signal.SIGKILL
    # The server outlives the command, so that no finished block is lost.
    assert server_of(tmp_path) is not None

    document = answer(tmp_path, *asked)
    provenance = document["provenance"]
    assert exact(document) == reference
    assert (provenance["executor"], provenance["workers"], provenance["blocks"]) == ("inline", 1, TRIALS // BLOCK)
    assert 1 <= provenance["blocks_from_cache"] < TRIALS // BLOCK
    assert provenance["trials_from_cache"] >= 2 * BLOCK
    assert server_of(tmp_path) is None
    assert not (tmp_path / "redis" / "server.sock").exists()

    with open_store(Settings(home=tmp_path)) as store:
        assert sorted(job.state for job in store.list_jobs()) == [JobState.DONE, JobState.FAILED]


@pytest.mark.slow
def test_a_command_that_is_asked_to_end_leaves_in_good_order(tmp_path: Path) -> None:
    command = start(tmp_path, *QUESTION, "--workers", "1", "--block", "12")
    until(lambda: stored_blocks(tmp_path) >= 2, command)
    command.terminate()
    out, err = command.communicate(timeout=60)
    assert command.returncode == 128 + signal.SIGTERM
    assert out == ""
    assert "Traceback" not in err
    assert server_of(tmp_path) is None
    with open_store(Settings(home=tmp_path)) as store:
        assert [job.state for job in store.list_jobs()] == [JobState.CANCELLED]


# --- what is reachable -----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_doctor_finds_everything_in_order(tmp_path: Path) -> None:
    command = start(tmp_path, "doctor", "--json")
    out, err = command.communicate(timeout=240)
    assert command.returncode == 0, err
    report = DoctorReport.model_validate_json(out)
    assert report.ok
    assert all(service.ok for service in report.services)
    assert server_of(tmp_path) is None


# --- MLflow ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    lend_databases(tmp_path / "home")
    monkeypatch.setenv("GAMMONFARM_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def rollout(capsys: pytest.CaptureFixture[str], *more: str) -> RolloutReport:
    capsys.readouterr()
    assert main([*SMALL, "--executor", "inline", *more]) == 0
    return RolloutReport.model_validate_json(capsys.readouterr().out)


def runs_of(uri: str, key: str) -> list[Any]:
    from mlflow.tracking import MlflowClient

    client = MlflowClient(tracking_uri=uri)
    experiments = [e.experiment_id for e in client.search_experiments() if "rollout" in e.name]
    return [r for r in client.search_runs(experiments, max_results=1000) if r.data.tags.get("key") == key]


def test_each_rollout_is_one_run_with_parameters_metrics_and_tags(
    home: Path, tracking_uri: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GAMMONFARM_MLFLOW_URI", tracking_uri)
    report = rollout(capsys, "--seed", "77")
    (run,) = runs_of(tracking_uri, report.provenance.key)
    assert run.info.status == "FINISHED"
    params = run.data.params
    assert (params["seed"], params["trials"], params["net"]) == ("77", "36", report.result.net)
    assert params["position"] == BEAR_OFF
    last = report.result.candidates[-1]
    assert run.data.metrics["equity"] == pytest.approx(last.equity)
    assert run.data.metrics["difference"] == pytest.approx(last.difference)
    assert run.data.metrics["seconds"] == pytest.approx(report.timing.seconds)
    assert last.play is not None
    assert last.play in run.data.tags["plays"]
    assert run.data.tags["executor"] == "inline x 1"
    assert "version.numba" in run.data.tags

    rollout(capsys, "--seed", "77")
    assert len(runs_of(tracking_uri, report.provenance.key)) == 2


def test_a_rollout_that_fails_leaves_a_failed_run(
    home: Path, tracking_uri: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from mlflow.tracking import MlflowClient

    def broken(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setenv("GAMMONFARM_MLFLOW_URI", tracking_uri)
    monkeypatch.setattr("cluster.executor.InlineExecutor.map_unordered", broken)
    assert main([*SMALL, "--executor", "inline", "--seed", "78"]) == 3
    client = MlflowClient(tracking_uri=tracking_uri)
    experiments = [e.experiment_id for e in client.search_experiments()]
    runs = [r for r in client.search_runs(experiments) if r.data.params.get("seed") == "78"]
    assert [r.info.status for r in runs] == ["FAILED"]


@pytest.mark.parametrize("uri", ["nonsense://nowhere", "http://127.0.0.1:1"])
def test_an_mlflow_that_is_away_costs_a_warning_and_nothing_else(
    home: Path,
    uri: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setenv("GAMMONFARM_MLFLOW_URI", uri)
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    with caplog.at_level(logging.WARNING):
        report = rollout(capsys)
    assert report.provenance.blocks == 1
    warnings = [r.getMessage() for r in caplog.records if "MLflow" in r.getMessage()]
    assert len(warnings) == 1
    assert uri in warnings[0]
    assert "\n" not in warnings[0]


def test_the_warning_about_mlflow_goes_to_stderr(tmp_path: Path) -> None:
    command = start(tmp_path, *SMALL, "--executor", "inline", GAMMONFARM_MLFLOW_URI="nonsense://nowhere")
    out, err = command.communicate(timeout=120)
    assert command.returncode == 0
    RolloutReport.model_validate_json(out)
    assert err.count("gammonfarm: MLflow at nonsense://nowhere") == 1
    assert "Traceback" not in err


def test_switched_off_mlflow_records_nothing(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def never(*_: object) -> None:
        raise AssertionError("MLflow was asked")

    monkeypatch.setenv("GAMMONFARM_MLFLOW_URI", "off")
    monkeypatch.setattr("training.tracking.connect", never)
    assert rollout(capsys).provenance.blocks == 1
    assert not (home / "mlflow.db").exists()
    assert sorted(path.name for path in home.iterdir()) == ["bearoff", "redis"]
