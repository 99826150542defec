"""One MLflow run for each job that ended, written by a thread of its own: a farm never waits for MLflow."""

from __future__ import annotations

import json
import logging
import queue
import threading
from dataclasses import dataclass
from typing import Any

from cluster.farm.active import ActiveJob
from cluster.store import JobRecord, JobState
from training.tracking import start_run

log = logging.getLogger(__name__)

EXPERIMENT = "gammonfarm jobs"
_WAITING = 1_000


@dataclass(frozen=True)
class _Ended:
    record: JobRecord
    state: JobState
    seconds: float
    units: int
    workers: int
    retries: int
    said: dict[str, float]
    """What watchers were told last."""


class JobTracker:
    """See the module. When jobs end faster than MLflow can write, the latest are left out, and that is said once."""

    def __init__(self, uri: str | None) -> None:
        self._uri = uri
        self._waiting: queue.Queue[_Ended | None] = queue.Queue(_WAITING)
        self._left_out = 0
        self._thread = threading.Thread(target=self._write, name="mlflow", daemon=True)
        if uri is not None:
            self._thread.start()

    def ended(self, record: JobRecord, active: ActiveJob | None, state: JobState) -> None:
        """Note a job; never waits."""
        if self._uri is None:
            return
        found = _Ended(
            record,
            state,
            active.seconds if active else 0.0,
            active.run.done if active else 0,
            len(active.workers) if active else 0,
            active.retries if active else 0,
            _numbers(active.run.progress()) if active else {},
        )
        try:
            self._waiting.put_nowait(found)
        except queue.Full:
            self._left_out += 1
            if self._left_out == 1:
                log.warning("jobs end faster than MLflow writes: some are left out of it")

    def close(self, seconds: float = 10.0) -> None:
        """Write what waits, for at most so long."""
        if self._uri is not None:
            try:
                self._waiting.put(None, timeout=1.0)
                self._thread.join(seconds)
            except queue.Full:
                log.warning("%d jobs were not recorded in MLflow", self._waiting.qsize())

    def _write(self) -> None:
        while (ended := self._waiting.get()) is not None:
            record = ended.record
            try:
                params = dict(json.loads(record.request)["request"])
            except (ValueError, KeyError, TypeError):
                params = {}
            run = start_run(self._uri, EXPERIMENT, f"{record.kind.value} {record.id[:12]}", params)
            measured = {"cpu_seconds": ended.seconds, "units": ended.units, "retries": ended.retries}
            run.metrics({**measured, **ended.said})
            run.tags(
                {
                    "job": record.id,
                    "key": record.key,
                    "client": record.client,
                    "state": ended.state.value,
                    "workers": str(ended.workers),
                }
            )
            run.finish(ok=ended.state is JobState.DONE)


def _numbers(said: dict[str, Any]) -> dict[str, float]:
    return {name: float(value) for name, value in said.items() if isinstance(value, int | float)}
