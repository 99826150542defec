"""Small books for tests: few plays, few trials, in this process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from cluster.book.artifact import Book, open_or_create
from cluster.book.book_steps import Budget, BuildProgress
from cluster.book.build import Builder, identity_of
from cluster.book.recipe import BookRecipe, parse_recipe
from cluster.book.schemas import BookBuildReport
from cluster.book.simulation import Farm, Simulator
from cluster.executor import Executor, InlineExecutor
from cluster.store import MemoryStore, Store
from engine.bearoff import Bearoff
from engine.evaluator import Evaluator, Nets

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
            return Builder(recipe, book, simulator, Budget(recipe.budget.trials)).run(on_progress)
