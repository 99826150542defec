"""Whoever tries again with doubling pauses still does after a night of failures."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from cluster.farm import supervisor
from cluster.farm.charge import Patience
from cluster.farm.supervisor import Supervisor
from engine.errors import InfrastructureError

TRIES = 3_000


def test_a_coordinator_waits_for_redis_for_days() -> None:
    patience, now = Patience("test"), 0.0
    pauses = []
    for _ in range(TRIES):
        patience.failed(now, InfrastructureError("redis is away"))
        before = now
        while not patience.may_try(now):
            now += 0.25
        pauses.append(now - before)
    assert max(pauses) <= 15.25
    assert min(pauses[20:]) >= 7.5
    patience.succeeded(now)
    assert patience.seconds_away == pytest.approx(now)


class Ending:
    """A process that ends at once."""

    started = 0

    def __init__(self, command: Any, **options: Any) -> None:
        Ending.started += 1

    def poll(self) -> int:
        return 1


class Turns(threading.Event):
    """Set after so many looks; a look takes half a minute."""

    looks = 0

    def wait(self, timeout: float | None = None) -> bool:
        Turns.looks += 1
        if Turns.looks > 2 * TRIES:
            self.set()
        return self.is_set()


def test_a_part_that_never_comes_up_is_started_again_for_days(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor.subprocess, "Popen", Ending)
    monkeypatch.setattr(supervisor.time, "monotonic", lambda: 15.0 * Turns.looks)
    assert Supervisor({"api": ["api"]}).run(Turns()) == 0
    assert Ending.started > TRIES // 2
