"""Every job that ends is a run of MLflow; the writer behind it is tested with the runs of commands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from cluster.farm.active import ActiveJob
from cluster.farm.tracker import EXPERIMENT, JobTracker
from cluster.scheduling import Priority, Speed
from cluster.store import JobKind, JobRecord, JobState


def record(number: int, request: str = '{"net": "n", "request": {"trials": 72}}') -> JobRecord:
    return JobRecord(
        id=f"{number:032x}",
        kind=JobKind.ROLLOUT,
        state=JobState.RUNNING,
        request=request,
        created=1.0,
        updated=1.0,
        key=f"{number:032x}",
        client="anna",
        priority=Priority.NORMAL,
    )


class Run:
    """As much of a job's run as a tracker asks for."""

    series = ("s",)
    done = 72

    def progress(self) -> dict[str, Any]:
        return {"equity": 0.25, "se": 0.125, "best": "24/13"}


class Recorder:
    """Stands for MLflow."""

    def __init__(self) -> None:
        self.runs: dict[str, dict[str, Any]] = {}

    def __call__(self, uri: str, experiment: str, name: str, params: Mapping[str, object]) -> Recorder:
        assert experiment == EXPERIMENT
        self._run: dict[str, Any] = {"params": dict(params)}
        return self

    def metrics(self, values: Mapping[str, float], step: int = 0) -> None:
        self._run["metrics"] = dict(values)

    def tags(self, values: Mapping[str, str]) -> None:
        self._run["tags"] = dict(values)
        self.runs[values["job"]] = self._run

    def finish(self, ok: bool) -> None:
        self._run["ok"] = ok


def test_a_job_leaves_its_parameters_its_cost_and_its_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = Recorder()
    monkeypatch.setattr("cluster.farm.tracker.start_run", recorder)
    tracker = JobTracker("sqlite:///somewhere")
    run: Any = Run()
    active = ActiveJob(record(1), run, 0.0, Speed())
    active.seconds = 3.5
    tracker.ended(record(1), active, JobState.DONE)
    tracker.ended(record(2, "of another version"), None, JobState.FAILED)
    tracker.close()
    done, failed = recorder.runs[record(1).id], recorder.runs[record(2).id]
    assert (done["ok"], failed["ok"]) == (True, False)
    assert (done["params"], failed["params"]) == ({"trials": 72}, {})
    assert done["metrics"] == {"equity": 0.25, "se": 0.125, "cpu_seconds": 3.5, "units": 72, "retries": 0}
    assert (done["tags"]["client"], failed["tags"]["state"]) == ("anna", "failed")


def test_switched_off_nothing_is_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = Recorder()
    monkeypatch.setattr("cluster.farm.tracker.start_run", recorder)
    tracker = JobTracker(None)
    tracker.ended(record(1), None, JobState.DONE)
    tracker.close()
    assert recorder.runs == {}
