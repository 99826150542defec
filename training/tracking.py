"""Keeping runs in MLflow, imported only in the thread that writes; beside the registry the only module that imports it.

A run must never fail because its record does: every error is counted, said once, and swallowed. Metrics are buffered
and written in batches by one background thread, because a write to SQLite costs tens of milliseconds.
"""

from __future__ import annotations

import itertools
import logging
import os
import queue
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
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

    def artifact(self, name: str, content: bytes) -> None:
        """Keep a file with the run."""

    def child(self, name: str, params: Mapping[str, object]) -> TrackedRun:
        """Begin a run inside this one; it ends, at the latest, with this one."""

    def finish(self, ok: bool = True) -> str | None:
        """End the run; returns its id, or None if it could not be recorded. A run that is no child first writes what
        is left of itself and its children.
        """


class NullRun:
    """A run that nobody records."""

    def metrics(self, values: Mapping[str, float], step: int = 0) -> None:
        """See `TrackedRun`."""

    def tags(self, values: Mapping[str, str]) -> None:
        """See `TrackedRun`."""

    def artifact(self, name: str, content: bytes) -> None:
        """See `TrackedRun`."""

    def child(self, name: str, params: Mapping[str, object]) -> TrackedRun:
        """See `TrackedRun`."""
        return self

    def finish(self, ok: bool = True) -> str | None:
        """See `TrackedRun`."""
        return None


def start_run(uri: str | None, experiment: str, name: str, params: Mapping[str, object]) -> TrackedRun:
    """Begin a run without waiting for MLflow; `uri` None switches tracking off."""
    if uri is None:
        return NullRun()
    writer = _Writer(uri, experiment)
    return _MlflowRun(writer, writer.begin(name, params, parent=None))


class _MlflowRun:
    """A run; `key` names it to the writer."""

    def __init__(self, writer: _Writer, key: int, parent: _MlflowRun | None = None) -> None:
        self._writer = writer
        self._key = key
        self._parent = parent

    def metrics(self, values: Mapping[str, float], step: int = 0) -> None:
        """See `TrackedRun`."""
        now = int(time.time() * 1000)
        for key, value in values.items():
            self._writer.put(self._key, "metric", (key, float(value), now, step))

    def tags(self, values: Mapping[str, str]) -> None:
        """See `TrackedRun`."""
        for item in values.items():
            self._writer.put(self._key, "tag", item)

    def artifact(self, name: str, content: bytes) -> None:
        """See `TrackedRun`."""
        self._writer.put(self._key, "artifact", (name, content))

    def child(self, name: str, params: Mapping[str, object]) -> TrackedRun:
        """See `TrackedRun`."""
        return _MlflowRun(self._writer, self._writer.begin(name, params, parent=self._key), self)

    def finish(self, ok: bool = True) -> str | None:
        """See `TrackedRun`."""
        self._writer.put(self._key, "end", ok)
        if self._parent is None:
            self._writer.close(ok)
        return self._writer.run_id(self._key)


class _Writer:
    """The thread that writes a run and its children."""

    def __init__(self, uri: str, experiment: str) -> None:
        self._uri = uri
        self._experiment = experiment
        self._items: queue.SimpleQueue[tuple[int, str, Any] | None] = queue.SimpleQueue()
        self._keys = itertools.count()
        self._ids: dict[int, str] = {}
        self._ended: set[int] = set()
        self._failed = False
        self._ok = True
        self._thread = threading.Thread(target=self._write, name="mlflow", daemon=True)
        self._thread.start()

    def put(self, key: int, kind: str, content: object) -> None:
        """Queue something about a run."""
        self._items.put((key, kind, content))

    def begin(self, name: str, params: Mapping[str, object], parent: int | None) -> int:
        """Queue the beginning of a run; returns its key."""
        key = next(self._keys)
        self.put(key, "begin", (name, {field: str(value)[:500] for field, value in params.items()}, parent))
        return key

    def close(self, ok: bool) -> None:
        """Write what is left and end the runs that are open."""
        self._ok = ok
        self._items.put(None)
        self._thread.join(timeout=60.0)
        if self._thread.is_alive():
            self._failed = True
            log.warning("MLflow at %s does not answer; the run is not recorded in full", self._uri)

    def run_id(self, key: int) -> str | None:
        """MLflow's id of a run; None if it is not recorded (yet)."""
        return None if self._failed else self._ids.get(key)

    def _write(self) -> None:
        try:
            client = connect(self._uri)
            found = client.get_experiment_by_name(self._experiment)
            where = artifact_location(self._uri)
            experiment = found.experiment_id if found else client.create_experiment(self._experiment, where)
            while self._drain(client, experiment):
                pass
            for key, run_id in self._ids.items():
                if key not in self._ended:
                    client.set_terminated(run_id, status=_status(self._ok))
        except Exception as error:
            self._failed = True
            log.warning(
                "MLflow at %s: the run is not recorded (%s)",
                self._uri,
                (str(error).splitlines() or [type(error).__name__])[0],
            )

    def _drain(self, client: Any, experiment: str) -> bool:
        """Collect for a while, then write one batch a run; False when everything has ended."""
        from mlflow.entities import Metric, RunTag

        metrics: defaultdict[int, list[Metric]] = defaultdict(list)
        tags: defaultdict[int, list[RunTag]] = defaultdict(list)
        ended: list[tuple[int, bool]] = []
        going = True
        until = time.monotonic() + _FLUSH_SECONDS
        for _ in range(_BATCH):
            try:
                item = self._items.get(timeout=max(0.0, until - time.monotonic()))
            except queue.Empty:
                break
            if item is None:
                going = False
                break
            key, kind, content = item
            if kind == "begin":
                self._ids[key] = self._begin(client, experiment, *content)
            elif kind == "metric":
                metrics[key].append(Metric(*content))
            elif kind == "tag":
                tags[key].append(RunTag(*content))
            elif kind == "artifact":
                self._keep(client, self._ids[key], *content)
            else:
                ended.append((key, content))
        for key in {*metrics, *tags}:
            client.log_batch(self._ids[key], metrics=metrics[key], tags=tags[key])
        for key, ok in ended:
            client.set_terminated(self._ids[key], status=_status(ok))
            self._ended.add(key)
        return going

    def _begin(self, client: Any, experiment: str, name: str, params: Mapping[str, str], parent: int | None) -> str:
        from mlflow.entities import Param

        inside = {} if parent is None else {"mlflow.parentRunId": self._ids[parent]}
        run_id = str(client.create_run(experiment, run_name=name, tags=inside).info.run_id)
        client.log_batch(run_id, params=[Param(key, value) for key, value in params.items()])
        return run_id

    @staticmethod
    def _keep(client: Any, run_id: str, name: str, content: bytes) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / name
            path.write_bytes(content)
            client.log_artifact(run_id, str(path))


def _status(ok: bool) -> str:
    return "FINISHED" if ok else "FAILED"


def artifact_location(uri: str) -> str | None:
    """Where the files of runs go: for a database in a file the folder beside it, else where the server says."""
    scheme, separator, path = uri.partition(":///")
    if not separator or scheme != "sqlite":
        return None
    return (Path(path).absolute().parent / "mlflow-artifacts").as_uri()


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
