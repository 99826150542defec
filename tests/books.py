"""Small books for tests: few plays, few trials, in this process."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Generator, Iterable
from pathlib import Path
from typing import Any

from cluster.book.artifact import Book, open_or_create
from cluster.book.book_steps import Budget, BuildProgress
from cluster.book.build import Builder, identity_of
from cluster.book.recipe import BookRecipe, BudgetPart, parse_recipe
from cluster.book.schemas import BookBuildReport
from cluster.book.simulation import Farm, Simulator
from cluster.executor import Completed, Executor, InlineExecutor
from cluster.store import MemoryStore, Store
from engine.bearoff import Bearoff
from engine.evaluator import Evaluator, Nets
from workers.spec import WorkerSpec
from workers.tasks import RolloutTask, SearchTask

TINY = """
name = "tiny"
rules = "{rules}"
score = "{score}"
{cube}

[search]
level = 1

[budget]
trials = {budget}

[[depth]]
margin = 0.02
most = 2
trials = 36
checkpoint = 36

[[depth]]
margin = 0.0
most = 1
trials = 36
checkpoint = 36
"""


def tiny_recipe(rules: str = "hypergammon", score: str = "money", budget: int = 100_000) -> BookRecipe:
    """Openings at 36 trials, then replies as far as the budget goes; games of three checkers a side are short."""
    cube = "cube = false" if score == "money" else ""
    return parse_recipe(TINY.format(rules=rules, score=score, cube=cube, budget=budget), "tiny.toml")


def racing_recipe() -> BookRecipe:
    """Two openings whose plays race over several checkpoints."""
    recipe = tiny_recipe()
    part = recipe.depth[0].model_copy(update={"margin": 0.3, "most": 2, "trials": 144, "checkpoint": 36})
    loose = recipe.simulation.model_copy(update={"playable": 0.6})
    return recipe.model_copy(update={"depth": (part,), "simulation": loose, "budget": BudgetPart(entries=2)})


class Workshop:
    """Builds books with one pair of nets."""

    def __init__(self, nets: Nets, databases: Bearoff) -> None:
        self.nets = nets
        self.evaluator = Evaluator(nets, databases.arrays)

    def simulator(self, book: Book, store: Store, executor: Executor | None = None) -> Simulator:
        """Of one book."""
        made = executor or InlineExecutor()
        return Simulator(book.identity, book.stakes, self.nets, self.evaluator, Farm(store, lambda: made))

    def open(self, path: Path, recipe: BookRecipe) -> Book:
        """The book at a path, new if there is none."""
        return open_or_create(path, identity_of(recipe, self.nets), recipe.name)

    def build(
        self,
        path: Path,
        recipe: BookRecipe,
        store: Store | None = None,
        on_progress: Callable[[BuildProgress], None] = lambda _: None,
        executor: Executor | None = None,
    ) -> BookBuildReport:
        """Build, or go on building, the book at a path."""
        with self.open(path, recipe) as book:
            simulator = self.simulator(book, store or MemoryStore(), executor)
            budget = Budget(recipe.budget.trials, recipe.budget.entries)
            return Builder(recipe, book, simulator, budget).run(on_progress)


class CrowdedExecutor:
    """Holds two tasks for each of several workers and finishes them in an order of chance.

    Args:
        dies_after: outputs after which the whole command is gone; None: never.
    """

    def __init__(self, workers: int, seed: int = 0, dies_after: int | None = None) -> None:
        self.workers = workers
        self.most_entries = 0
        """Entries that had tasks here at the same time."""
        self.ran: list[RolloutTask | SearchTask] = []
        self._random = random.Random(seed)
        self._dies_after = dies_after

    def map_unordered(
        self, spec: WorkerSpec[Any, Any], tasks: Iterable[Any]
    ) -> Generator[Completed[Any, Any], None, None]:
        worker, waiting, held = spec.build(spec.weights), iter(tasks), list[Any]()
        while True:
            held += itertools.islice(waiting, 2 * self.workers - len(held))
            if not held:
                return
            self.most_entries = max(self.most_entries, len({_entry_of(task) for task in held}))
            task = held.pop(self._random.randrange(len(held)))
            if self._dies_after == len(self.ran):
                raise KilledError
            self.ran.append(task)
            yield Completed(task, worker.run(task), "crowd", 0.1, 1)

    def describe(self) -> dict[str, Any]:
        return {"executor": "crowd"}

    def close(self) -> None:
        pass


class KilledError(BaseException):
    """Stands for a kill of the whole command."""


def _entry_of(task: RolloutTask | SearchTask) -> object:
    return task.entry if isinstance(task, SearchTask) else task.series
