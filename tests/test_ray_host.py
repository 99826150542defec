"""The process of a coordinator on Ray, without Ray."""

from __future__ import annotations

import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from cluster import ray_host
from engine.errors import InfrastructureError


def test_a_coordinator_that_began_anew_complains_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    going, tries = threading.Event(), iter([InfrastructureError("redis at host: refused"), None])

    def host_farm(settings: object, make_pool: object, stop: threading.Event) -> None:
        error = next(tries)
        if error is not None:
            raise error
        going.set()
        stop.wait(20)

    monkeypatch.setattr(ray_host, "host_farm", host_farm)
    monkeypatch.setattr(ray_host, "_LOOK", 0.01)
    monkeypatch.setattr(ray_host, "start_logging", lambda file: None)
    monkeypatch.setattr(ray_host, "load_settings", lambda: SimpleNamespace(home=tmp_path))
    actor = ray_host.CoordinatorActor({})
    assert going.wait(20)
    assert actor.alive() == "redis at host: refused"
    assert actor.alive() == ""
    actor.stop()
    assert actor.alive() == "its thread has ended"
