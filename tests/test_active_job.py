"""What a job under way expects of its pieces."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from toy_workers import Multiply, multiply_by

from cluster.farm.active import ActiveJob
from cluster.farm.kinds import Piece
from cluster.farm.one_task import OneTaskJob
from cluster.scheduling import FairQueue, Priority, Speed
from cluster.store import JobKind, JobRecord, JobState

SEARCH = Piece(multiply_by(2), Multiply(1), units=0)
TRIALS = replace(SEARCH, units=100)


def active_job() -> ActiveJob:
    record = JobRecord("job", JobKind.BOOK, JobState.RUNNING, "{}", 0.0, 0.0)
    return ActiveJob(record, OneTaskJob(SEARCH.spec, SEARCH.task, lambda cost: {}), 0.0, Speed())


def served(active: ActiveJob, piece: Piece, seconds: float) -> float:
    """Hand a piece out and take it back; what it was expected to take."""
    assignment = active.assignment(piece)
    assert active.came_back(assignment, "worker", seconds) is piece
    return assignment.expected


def test_pieces_that_say_nothing_about_the_speed_are_expected_to_take_what_they_took() -> None:
    active = active_job()
    served(active, TRIALS, 1.0)
    for _ in range(10):
        served(active, SEARCH, 8.0)
    assert served(active, SEARCH, 8.0) == pytest.approx(8.0)
    assert served(active, TRIALS, 1.0) == pytest.approx(1.0)


def test_a_book_gets_no_more_than_its_share_while_its_searches_are_under_way() -> None:
    queue, book = FairQueue(), active_job()
    served(book, TRIALS, 1.0)
    for job, client, priority in (("book", "publisher", Priority.BULK), ("click", "visitor", Priority.INTERACTIVE)):
        queue.add(job, client, priority, 0.0)
        queue.begin(job)
    got: list[Any] = []
    for _ in range(20):
        job = queue.next()
        assert job is not None
        queue.charge(job, book.assignment(SEARCH).expected if job == "book" else 2.0)
        got.append(job)
    assert got.count("book") == 1
