"""Jobs of commands whose process is gone: a kill leaves nobody to mark them."""

from __future__ import annotations

import os
import socket
import time
from dataclasses import replace

from cluster.store import JobState, Store


def fail_abandoned_jobs(store: Store) -> None:
    """Mark the running jobs of this machine whose process is gone: a kill leaves nobody to do it.

    Only the latest jobs are looked at, so that a long history costs nothing.
    """
    for job in store.list_jobs(limit=100):
        if job.state is not JobState.RUNNING:
            continue
        host, _, pid = job.owner.rpartition("/")
        if host == socket.gethostname() and pid.isdigit() and not _is_alive(int(pid)):
            store.put_job(replace(job, state=JobState.FAILED, message="its process ended", updated=time.time()))


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # somebody else's process, alive
    return True
