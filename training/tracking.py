"""Keeping runs in MLflow, imported only in the thread that writes; beside the registry the only module that imports it.

A run must never fail because its record does: every error is counted, said once, and swallowed. Metrics are buffered
and written in batches by one background thread, because a write to SQLite costs tens of milliseconds.
"""

from __future__ import annotations

import logging
import os
import queue
import threading
import time
from collections.abc import Mapping
from typing import Any, Protocol

log = logging.getLogger(__name__)

_FLUSH_SECONDS = 5.0
_BATCH = 500


class TrackedRun(Protocol):
    """One run under way."""

    def metrics(self, values: Mapping[str, float], step: int = 0) -> None:
        """Note numbers at a step."""

    def tags(self, values: Mapping[str, str]) -> None:
        """Note facts about the run."""

    def finish(self, ok: bool = True) -> str | None:
        """Write what is left and end the run; returns its id, or None if it could not be recorded."""


class NullRun:
    """A run that nobody records."""

    def metrics(self, values: Mapping[str, float], step: int = 0) -> None:
        """See `TrackedRun`."""

    def tags(self, values: Mapping[str, str]) -> None:
        """See `TrackedRun`."""

    def finish(self, ok: bool = True) -> str | None:
        """See `TrackedRun`."""
        return None


def start_run(uri: str | None, experiment: str, name: str, params: Mapping[str, object]) -> TrackedRun:
    """Begin a run without waiting for MLflow; `uri` None switches tracking off."""
    return NullRun() if uri is None else _MlflowRun(uri, experiment, name, params)


class _MlflowRun:
    def __init__(self, uri: str, experiment: str, name: str, params: Mapping[str, object]) -> None:
        self._uri = uri
        self._experiment = experiment
        self._name = name
        self._params = {key: str(value)[:500] for key, value in params.items()}
        self._items: queue.SimpleQueue[tuple[str, Any] | None] = queue.SimpleQueue()
        self._run_id: str | None = None
        self._failed = False
        self._ok = True
        self._thread = threading.Thread(target=self._write, name="mlflow", daemon=True)
        self._thread.start()

    def metrics(self, values: Mapping[str, float], step: int = 0) -> None:
        """See `TrackedRun`."""
        now = int(time.time() * 1000)
        for key, value in values.items():
            self._items.put(("metric", (key, float(value), now, step)))

    def tags(self, values: Mapping[str, str]) -> None:
        """See `TrackedRun`."""
        for item in values.items():
            self._items.put(("tag", item))

    def finish(self, ok: bool = True) -> str | None:
        """See `TrackedRun`."""
        self._ok = ok
        self._items.put(None)
        self._thread.join(timeout=60.0)
        if self._thread.is_alive():
            log.warning("MLflow at %s does not answer; the run is not recorded in full", self._uri)
            return None
        return None if self._failed else self._run_id

    def _write(self) -> None:
        try:
            client = connect(self._uri)
            found = client.get_experiment_by_name(self._experiment)
            experiment = found.experiment_id if found else client.create_experiment(self._experiment)
            self._run_id = client.create_run(experiment, run_name=self._name).info.run_id
            from mlflow.entities import Param

            client.log_batch(self._run_id, params=[Param(key, value) for key, value in self._params.items()])
            while self._drain(client):
                pass
            client.set_terminated(self._run_id, status="FINISHED" if self._ok else "FAILED")
        except Exception as error:
            self._failed = True
            log.warning(
                "MLflow at %s: the run is not recorded (%s)",
                self._uri,
                (str(error).splitlines() or [type(error).__name__])[0],
            )

    def _drain(self, client: Any) -> bool:
        """Collect for a while, then write one batch; False when the run has ended."""
        from mlflow.entities import Metric, RunTag

        metrics: list[Metric] = []
        tags: list[RunTag] = []
        going = True
        until = time.monotonic() + _FLUSH_SECONDS
        while len(metrics) < _BATCH:
            try:
                item = self._items.get(timeout=max(0.0, until - time.monotonic()))
            except queue.Empty:
                break
            if item is None:
                going = False
                break
            kind, content = item
            if kind == "metric":
                metrics.append(Metric(*content))
            else:
                tags.append(RunTag(*content))
        if metrics or tags:
            client.log_batch(self._run_id, metrics=metrics, tags=tags)
        return going


def connect(uri: str) -> Any:
    """A client of MLflow's own; sends nothing anywhere, makes the database if there is none."""
    # No usage statistics leave the machine; MLflow reads these when it is imported.
    os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"
    os.environ["DO_NOT_TRACK"] = "true"
    # A server that is away must not hold up an answer for the minutes that MLflow tries by default.
    os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "2")
    os.environ.setdefault("MLFLOW_HTTP_REQUEST_TIMEOUT", "10")
    from mlflow.tracking import MlflowClient

    # After the import, which sets levels of its own: the making of a database is no news.
    for noisy in ("alembic", "mlflow", "mlflow.store.db.utils"):
        logging.getLogger(noisy).setLevel(logging.ERROR)
    return MlflowClient(tracking_uri=uri)


def check_tracking(uri: str) -> str:
    """Ask the server or database at `uri` for its experiments; says what it found. Raises whatever MLflow raises."""
    return f"{len(connect(uri).search_experiments())} experiment(s)"
