"""A match on real workers: the same bytes as in one process, whatever dies on the way."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from nets import random_net

from cluster.executor import InlineExecutor
from cluster.match import MatchRun, NamedNets, plan_match
from cluster.match_schemas import MatchRequest
from cluster.store import MemoryStore
from engine.bearoff import Bearoff
from engine.errors import InputError
from engine.evaluator import Nets
from workers.gnubg_program import find_gnubg, gnubg_version
from workers.tasks import GnubgOpponent

if TYPE_CHECKING:
    from cluster.ray_executor import RayExecutor

A = NamedNets("a", Nets(random_net(3)))
B = NamedNets("b", Nets(random_net(4)))


def test_a_match_on_two_workers_equals_one_in_this_process(ray_executor: RayExecutor, databases: Bearoff) -> None:
    question = plan_match(MatchRequest(games=300, variance_reduction=False), A, B)
    # First here: then what has to be compiled is compiled once, and the workers read it from the disk.
    here = MatchRun(question, MemoryStore()).run(InlineExecutor, lambda _: None)
    on_ray = MatchRun(question, MemoryStore()).run(lambda: ray_executor, lambda _: None)
    assert on_ray.result == here.result
    assert (on_ray.provenance.executor, on_ray.provenance.workers) == ("ray", 2)


def test_workers_play_gnubg_too(ray_executor: RayExecutor) -> None:
    try:
        version = gnubg_version(find_gnubg())
    except InputError:
        pytest.skip("GNU Backgammon is not installed")
    question = plan_match(MatchRequest(games=8, variance_reduction=False, bearoff=False), A, GnubgOpponent(version))
    on_ray = MatchRun(question, MemoryStore()).run(lambda: ray_executor, lambda _: None)
    here = MatchRun(question, MemoryStore()).run(InlineExecutor, lambda _: None)
    assert on_ray.result == here.result
    assert on_ray.result.b.name == f"gnubg {version}"
