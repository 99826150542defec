"""What a coordinator's process is made of, whoever starts it: ledger, pool, desk, and the loop.

The loop ends by itself when workers can't be had any more, so that whoever watches over it starts a fresh one.
"""

from __future__ import annotations

import os
import socket
import threading
import uuid
from collections.abc import Callable

from cluster.farm.coordinator import Farm, FarmOptions
from cluster.farm.desk import Desk
from cluster.farm.pool import PoolBrokenError, WorkerPool
from cluster.farm.tracker import JobTracker
from cluster.redis_ledger import open_ledger
from cluster.settings import Settings
from engine.errors import InfrastructureError


def host_farm(settings: Settings, make_pool: Callable[[], WorkerPool], stop: threading.Event) -> None:
    """Coordinate until told to stop.

    Raises:
        InfrastructureError: the ledger can't be reached at the start, or the pool has broken down.
    """
    owner = f"{socket.gethostname()}/{os.getpid()}/{uuid.uuid4().hex[:8]}"
    with open_ledger(settings) as ledger:
        pool = make_pool()
        tracker = JobTracker(settings.tracking_uri)
        try:
            farm = Farm(ledger, pool, Desk(), FarmOptions(owner), tracker=tracker.ended)
            farm.run(stop)
        except PoolBrokenError as error:
            raise InfrastructureError(str(error)) from error
        finally:
            tracker.close()
            pool.close()
