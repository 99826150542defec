"""Building a book in one command: steps, an executor, a file.

An entry that is there is taken as it is, so a build that was killed or ended by its budget goes on where it was;
entries and trials that were finished come from the store.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from cluster.book.artifact import Book, memory_book
from cluster.book.book_steps import BookSteps, Budget, BuildProgress
from cluster.book.entry import Entry, Spot
from cluster.book.entry_steps import EntrySteps, entry_key
from cluster.book.recipe import BookRecipe
from cluster.book.schemas import BookBuildReport, BookIdentity, EntryQuestion
from cluster.book.simulation import Simulator, Valuation
from cluster.book.stakes import stakes_of
from cluster.filters import load_filter
from cluster.store import Store
from engine.bearoff import VERSION as BEAROFF_VERSION
from engine.errors import InternalError
from engine.evaluator import Evaluator, Nets
from engine.rollout import RESULT_VERSION

OnBuildProgress = Callable[[BuildProgress], None]


def identity_of(recipe: BookRecipe, nets: Nets) -> BookIdentity:
    """What a recipe makes with these nets.

    Raises:
        InputError: terms that can't be, or an unknown move filter.
    """
    stakes = stakes_of(recipe)
    steps = load_filter(recipe.search.filter).steps
    return BookIdentity(
        **stakes.terms.model_dump(),
        stakes=stakes.cube.digest if stakes.cube is not None else None,
        net=nets.digest,
        result_version=RESULT_VERSION,
        bearoff_version=BEAROFF_VERSION if stakes.rules.databases_hold else None,
        seed=recipe.seed,
        search_level=recipe.search.level,
        search_filter=tuple(tuple((s.level, s.keep, s.margin) for s in way) for way in steps),
        simulation_level=recipe.simulation.level,
        confidence=recipe.simulation.confidence,
        playable=recipe.simulation.playable,
    )


def compute_entry(simulator: Simulator, spot: Spot, question: EntryQuestion) -> Entry:
    """The entry of a spot: search, trials, verdict."""
    (known,) = simulator.store.get_values([entry_key(simulator.valuation, spot, question)])
    steps = EntrySteps(simulator.valuation, spot, question, simulator.store, known)
    simulator.work(steps, lambda: None)
    if steps.entry is None:
        raise InternalError(f"entry {spot.id} was not finished")
    return steps.entry


def steps_on_farm(recipe: BookRecipe, nets: Nets, store: Store) -> BookSteps:
    """The steps of a book that is built from nothing but the store, in memory.

    Raises:
        InputError: as `identity_of`.
    """
    identity = identity_of(recipe, nets)
    book = memory_book(identity, recipe.name)
    valuation = Valuation(identity, book.stakes, Evaluator(nets))
    return BookSteps(recipe, book, valuation, store, Budget(recipe.budget.trials, recipe.budget.entries))


class Builder:
    """Builds a book by a recipe.

    Args:
        clock: seconds, for the budget of minutes.
    """

    def __init__(
        self,
        recipe: BookRecipe,
        book: Book,
        simulator: Simulator,
        budget: Budget,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._simulator = simulator
        self._minutes = budget.minutes
        self._clock = clock
        self._started = clock()
        self._steps = BookSteps(recipe, book, simulator.valuation, simulator.store, budget)

    def run(self, on_progress: OnBuildProgress) -> BookBuildReport:
        """Build as far as the budget goes."""
        steps = self._steps

        def show() -> None:
            steps.save()
            if self._minutes is not None and self._clock() - self._started >= 60.0 * self._minutes:
                steps.stop()
            on_progress(steps.progress())

        on_progress(steps.progress())
        self._simulator.work(steps, show)
        steps.save()
        return BookBuildReport(
            book=steps.book.info(),
            computed=steps.computed,
            finished=steps.complete,
            seconds=self._clock() - self._started,
        )
