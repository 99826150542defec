"""The record of a job that a command does by itself: running while it works, then done, failed or cancelled."""

from __future__ import annotations

import logging
import os
import socket
import time
import uuid
from dataclasses import replace
from types import TracebackType

from cluster.abandoned import fail_abandoned_jobs
from cluster.store import JobKind, JobRecord, JobState, Store
from engine.errors import GammonfarmError

log = logging.getLogger(__name__)


class LocalJob:
    """A context around the work; also marks the jobs of this machine whose process is gone."""

    def __init__(self, store: Store, kind: JobKind, request: str, total: int) -> None:
        """
        Args:
            request: its JSON text.
            total: blocks, or whatever it is counted by.
        """
        self._store = store
        now = time.time()
        self._record = JobRecord(
            id=uuid.uuid4().hex[:12],
            kind=kind,
            state=JobState.RUNNING,
            request=request,
            created=now,
            updated=now,
            blocks_total=total,
            owner=f"{socket.gethostname()}/{os.getpid()}",
        )

    @property
    def id(self) -> str:
        """Names the job."""
        return self._record.id

    def __enter__(self) -> LocalJob:
        fail_abandoned_jobs(self._store)
        self._store.put_job(self._record)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self._finish(JobState.DONE, "")
        elif isinstance(error, Exception):
            self._finish(JobState.FAILED, str(error) if isinstance(error, GammonfarmError) else repr(error))
        else:  # Ctrl-C, or the exit that SIGTERM asks for
            self._finish(JobState.CANCELLED, "interrupted")

    def advance(self, done: int) -> None:
        """Note how much is done; written at the end."""
        self._record = replace(self._record, blocks_done=done, updated=time.time())

    def _finish(self, state: JobState, message: str) -> None:
        try:
            self._store.put_job(replace(self._record, state=state, message=message, updated=time.time()))
        except GammonfarmError as error:
            # The error that ends the job is the one to report; this one would only hide it.
            log.warning("job %s could not be marked %s: %s", self.id, state, error)
