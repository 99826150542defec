"""The workers of a farm when a job no longer needs what they do."""

from __future__ import annotations

import pytest
from farm_pools import ToyPool
from toy_workers import Multiply, multiply_by

from cluster.farm.crew import Crew
from cluster.roster import Assignment

SPEC = multiply_by(2)


def crew_of(workers: int) -> Crew:
    crew = Crew(ToyPool(workers), golden=False, recheck_every=0, seed="test")
    assert list(crew.meet(0.0, look_for_hung=False)) == []
    return crew


def give(crew: Crew, job: str, expected: float) -> tuple[str, Assignment]:
    """Hand a task to the next worker with room; its name, and the task."""
    worker = crew.idle()
    assert worker is not None
    assignment = Assignment(job, Multiply(1), expected)
    crew.give(worker, assignment, SPEC, 0.0)
    return worker.name, assignment


@pytest.mark.parametrize("expected", [2.0, 10.0])
def test_both_tasks_that_a_worker_holds_of_a_cancelled_job_are_let_go(expected: float) -> None:
    crew = crew_of(1)
    first, _ = give(crew, "cancelled", expected)
    assert give(crew, "cancelled", expected)[0] == first
    crew.free("cancelled", 0.0)
    assert list(crew.meet(100.0, look_for_hung=False)) == []
    assert not crew.lost
    assert first not in crew.pool.members()
    assert crew.roster.held() == 0


def test_a_task_that_nobody_needs_and_that_does_not_end_soon_ends_with_its_worker() -> None:
    crew = crew_of(1)
    name, _ = give(crew, "cancelled", 2.0)
    _, other = give(crew, "another", 2.0)
    crew.free("cancelled", 0.0)
    assert list(crew.meet(9.0, look_for_hung=False)) == []
    assert name in crew.roster.workers
    assert list(crew.meet(11.0, look_for_hung=False)) == []
    assert name not in crew.roster.workers
    assert list(crew.lost) == [other]
    assert other.kills == 0


def test_a_worker_whose_unneeded_task_ended_in_time_goes_on() -> None:
    crew = crew_of(1)
    name, _ = give(crew, "cancelled", 2.0)
    crew.free("cancelled", 0.0)
    (outcome,) = crew.pool.wait(0.0)
    crew.came_back(outcome)
    assert list(crew.meet(100.0, look_for_hung=False)) == []
    assert name in crew.roster.workers
