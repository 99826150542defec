"""Opening books on the farm: the book of the command, whatever dies, whoever else works there.

The games are of three checkers a side, by small random nets.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from books import tiny_recipe
from farm_pools import FlakyLedger, ToyPool
from test_farm_coordinator import NETS, Stage

from cluster.book.artifact import open_book, open_or_create
from cluster.book.book_steps import Budget
from cluster.book.build import Builder, identity_of
from cluster.book.recipe import BookRecipe
from cluster.book.schemas import BookResult
from cluster.book.simulation import Farm as Trials
from cluster.book.simulation import Simulator
from cluster.executor import InlineExecutor
from cluster.farm.book_job import file_of
from cluster.farm.pool import InlinePool
from cluster.scheduling import Priority
from cluster.store import JobState, MemoryStore
from engine.bearoff import Bearoff
from engine.errors import InputError
from engine.evaluator import Evaluator
from workers.tasks import RolloutTask, SearchTask

RECIPE = tiny_recipe(budget=900)
"""All openings and one or two replies."""
SMALL = tiny_recipe(budget=300)
"""Some openings."""


def fields_of(recipe: BookRecipe) -> dict[str, Any]:
    return recipe.model_dump(mode="json")


def build_calmly(path: Path, recipe: BookRecipe, databases: Bearoff) -> str:
    """The digest of the same book by one command."""
    with open_or_create(path, identity_of(recipe, NETS), recipe.name) as book:
        farm = Trials(MemoryStore(), InlineExecutor)
        simulator = Simulator(book.identity, book.stakes, NETS, Evaluator(NETS, databases.arrays), farm)
        Builder(recipe, book, simulator, Budget(recipe.budget.trials, recipe.budget.entries)).run(lambda _: None)
        return book.digest()


@pytest.fixture(scope="module")
def small(databases: Bearoff, tmp_path_factory: pytest.TempPathFactory) -> str:
    return build_calmly(tmp_path_factory.mktemp("small") / "tiny.book", SMALL, databases)


@pytest.fixture(scope="module")
def calm(databases: Bearoff, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("calm") / "tiny.book"
    build_calmly(path, RECIPE, databases)
    return path


def answer(stage: Stage, job: str) -> BookResult:
    assert stage.state(job) is JobState.DONE, stage.ledger._jobs[job].message
    return BookResult.model_validate_json(stage.answer(job) or b"")


def submit(stage: Stage, recipe: BookRecipe = SMALL, **more: Any) -> str:
    return stage.submit(Priority.BULK, kind="book", **fields_of(recipe), **more)


def trials(stage: Stage) -> Counter[tuple[str, int]]:
    """How often each block of trials was played."""
    tasks = [task for task in stage.pool.ran if isinstance(task, RolloutTask)]
    return Counter((series, first) for t in tasks for series in t.series for first in range(t.first, t.first + t.count))


@pytest.mark.parametrize("pool", [InlinePool(), ToyPool(4, seed=5)])
def test_a_book_of_the_farm_is_that_of_the_command(calm: Path, tmp_path: Path, pool: Any) -> None:
    stage = Stage(pool=pool)
    job = submit(stage, RECIPE)
    stage.finish()
    result = answer(stage, job)
    file, whole = file_of(RECIPE, "shipped", stage.desk, stage.ledger)
    (tmp_path / "fetched.book").write_bytes(file)
    with open_book(calm) as one, open_book(tmp_path / "fetched.book") as fetched:
        assert result.digest == one.digest() == fetched.digest()
        assert [entry.spot for entry in fetched.entries()] == [entry.spot for entry in one.entries()]
        assert result.openings == tuple(entry.shown(one.stakes) for entry in one.entries(1))
        assert (result.entries, result.trials, result.finished) == (one.info().entries, one.trials, False)
    assert whole
    provenance = json.loads(stage.ledger._jobs[job].report)["provenance"]
    assert provenance["entries"] == provenance["entries_computed"] == sum(result.entries)


def test_several_entries_are_under_way_and_watchers_hear_of_it() -> None:
    stage = Stage(pool=ToyPool(6))
    job = submit(stage)
    stage.finish()
    said = [event.data for event in stage.ledger._events[job] if "under_way" in event.data]
    assert max(data["under_way"] for data in said) > 2
    last = said[-1]
    assert last["settled"] + last["both_playable"] + last["open"] == last["entries"] > 3
    assert last["done"] == last["trials"] == answer(stage, job).trials


def test_a_coordinator_that_dies_costs_the_blocks_under_way_and_no_more(small: str) -> None:
    stage = Stage(pool=ToyPool(3))
    job = submit(stage)
    stage.until(lambda: len(stage.ledger._values) >= 3)
    stage.farm = stage.coordinator()
    stage.step()
    stage.clock.now += 60.0
    stage.pool.ran.clear()
    stage.finish()
    assert answer(stage, job).digest == small
    searched = [task.entry for task in stage.pool.ran if isinstance(task, SearchTask)]
    report = json.loads(stage.ledger._jobs[job].report)["provenance"]
    assert report["entries_computed"] <= report["entries"] - 3, "finished entries are read, not made again"
    assert len(searched) == len(set(searched))


@pytest.mark.parametrize("seed", range(2))
def test_workers_and_a_store_that_fail_all_the_time_change_no_entry(small: str, seed: int) -> None:
    ledger = FlakyLedger(0.0, seed)
    stage = Stage(ledger=ledger, pool=ToyPool(4, seed=seed))
    stage.pool.blame = False
    job = submit(stage)
    ledger.chance = 0.1
    for number in range(300):
        if number % 20 == 7:
            stage.pool.die()
        stage.step(seconds=1.0)
    ledger.chance = 0.0
    stage.finish()
    assert ledger.failures > 5
    assert answer(stage, job).digest == small


def test_a_larger_budget_is_another_job_that_begins_behind_the_first(databases: Bearoff, tmp_path: Path) -> None:
    stage = Stage(pool=ToyPool(3))
    first = submit(stage)
    stage.finish()
    kind = stage.kinds.of("book")
    more = kind.extended(SMALL, {"trials": 400})
    second = submit(stage, more)
    assert second != first
    stage.finish()
    assert answer(stage, second).digest == build_calmly(tmp_path / "more.book", more, databases)
    assert max(trials(stage).values()) == 1, "no trial is played twice"
    for changes in ({"trials": 10}, {"entries": 10}, {"level": 2}, {}):
        with pytest.raises(InputError):
            kind.extended(SMALL, changes)


def test_two_books_compute_what_they_share_once() -> None:
    stage = Stage(pool=ToyPool(4))
    jobs = [submit(stage), submit(stage, SMALL.model_copy(update={"name": "other"}))]
    for _ in range(6):
        stage.step()
    stage.finish()
    digests = {answer(stage, job).digest for job in jobs}
    assert len(digests) == 1
    assert max(trials(stage).values()) == 1


def test_a_book_that_takes_too_long_is_given_up_and_goes_on_when_it_is_asked_again(small: str) -> None:
    hasty = SMALL.model_copy(update={"budget": SMALL.budget.model_copy(update={"minutes": 0.03})})
    stage = Stage(pool=ToyPool(1))
    job = submit(stage, hasty)
    stage.finish()
    record = stage.ledger._jobs[job]
    assert (record.state, record.code) == (JobState.FAILED, "deadline")
    assert "given up after 0.03 minutes" in record.message
    file, whole = file_of(hasty, "shipped", stage.desk, stage.ledger)
    assert file.startswith(b"SQLite format 3")
    assert not whole
    again = submit(stage)
    assert again != job
    stage.finish()
    assert answer(stage, again).digest == small
    assert json.loads(stage.ledger._jobs[again].report)["provenance"]["entries_computed"] < 5


def test_a_book_is_bulk_and_lets_a_question_pass() -> None:
    stage = Stage(pool=ToyPool(2))
    assert stage.kinds.of("book").priority is Priority.BULK
    book = submit(stage)
    stage.until(lambda: len(stage.pool.ran) > 3)
    click = stage.submit(Priority.INTERACTIVE, client="ben", trials=36, seed=99)
    ran = len(stage.pool.ran)
    stage.until(lambda: stage.state(click) is JobState.DONE)
    of_book = [t for t in stage.pool.ran[ran:] if not (isinstance(t, RolloutTask) and t.settings.seed == 99)]
    # What two workers held, and what they took on while the click's first block was measured and its last one ran.
    assert len(of_book) <= 8
    assert stage.state(book) is JobState.RUNNING


def test_a_cancelled_book_is_forgotten_and_what_is_there_stays() -> None:
    stage = Stage(pool=ToyPool(2))
    job = submit(stage)
    stage.until(lambda: len(stage.ledger._values) > 1)
    stage.ledger.finish(job, JobState.CANCELLED, stage.clock())
    stage.until(lambda: stage.farm.crew.roster.held() == 0)
    assert stage.state(job) is JobState.CANCELLED
    assert stage.farm._sharing._jobs == {}


def test_the_same_book_is_the_same_job_and_its_minutes_do_not_matter() -> None:
    stage = Stage()
    hasty = SMALL.model_copy(update={"budget": SMALL.budget.model_copy(update={"minutes": 5.0})})
    assert submit(stage) == submit(stage, hasty)
    assert submit(stage, SMALL.model_copy(update={"seed": 2})) != submit(stage)


@pytest.mark.parametrize(
    ("field", "more"),
    [
        ("met", {"score": "3-away/5-away", "cube": None, "met": "/etc/passwd"}),
        ("efficiency", {"cube": None, "rules": "international", "efficiency": "/etc/passwd"}),
        ("filter", {"search": {"filter": "/etc/passwd"}}),
    ],
)
def test_a_recipe_that_names_a_file_is_refused(field: str, more: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=field):
        Stage().submit(kind="book", **fields_of(SMALL) | more)
