"""Building a book: depth by depth, what is likeliest and closest first, an entry at a time.

An entry that is there is taken as it is, so a build that was killed or ended by its budget goes on where it was, and
its finished trials come from the store. Which entry comes next depends on the entries before it alone, so the order is
the same on any farm.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from cluster.book.artifact import Book
from cluster.book.entry import Entry, Spot, make_entry
from cluster.book.recipe import BookRecipe, DepthPart
from cluster.book.schemas import BookBuildReport, BookIdentity, EntryQuestion, Verdict
from cluster.book.simulation import Simulator
from cluster.book.stakes import stakes_of
from cluster.book.tree import in_order, openings, replies
from cluster.filters import load_filter
from cluster.rollout_progress import Progress
from engine.bearoff import VERSION as BEAROFF_VERSION
from engine.evaluator import Nets
from engine.rollout import RESULT_VERSION


@dataclass(frozen=True, slots=True)
class Budget:
    """Where a build stops although more could be done."""

    trials: int | None = None
    """Of the whole book."""
    minutes: float | None = None
    """Of this run."""


@dataclass(frozen=True, slots=True)
class BuildProgress:
    """Where a build stands."""

    depth: int
    done: int
    """Entries of this depth that are there."""
    entries: int
    """Of this depth in all."""
    path: str
    """Of the entry under way."""
    trials: int
    """Of the whole book, so far."""
    computed: int
    """Entries that this run has computed."""
    rollout: Progress | None = None
    """Of the entry under way."""


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


def compute_entry(simulator: Simulator, spot: Spot, question: EntryQuestion, show: Callable[[Progress], None]) -> Entry:
    """The entry of a spot: search, trials, verdict."""
    position = spot.under(simulator.stakes)
    searched = simulator.search(position, question)
    simulated = simulator.simulate(position, searched, question, show)
    return make_entry(spot, question, simulator.identity, simulator.stakes.rules, simulated)


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
        self._recipe = recipe
        self._book = book
        self._simulator = simulator
        self._budget = budget
        self._clock = clock
        self._started = clock()
        self._trials = book.trials
        self._computed = 0

    def run(self, on_progress: OnBuildProgress) -> BookBuildReport:
        """Build as far as the budget goes."""
        self._book.remember(self._recipe)
        spots = openings(self._book.stakes)
        finished = True
        for number, part in enumerate(self._recipe.depth, 1):
            finished = self._depth(number, part, spots, on_progress)
            if not finished:
                break
            spots = replies(self._book.entries(number), part.follow)
        return BookBuildReport(
            book=self._book.info(),
            computed=self._computed,
            finished=finished,
            seconds=self._clock() - self._started,
        )

    def _depth(self, depth: int, part: DepthPart, spots: Iterable[Spot], on_progress: OnBuildProgress) -> bool:
        """All entries of a depth; whether the budget was enough."""
        ordered = in_order(spots)
        question = EntryQuestion(**{name: getattr(part, name) for name in EntryQuestion.model_fields})
        for done, spot in enumerate(ordered):
            known = self._book.entry(spot.position, spot.dice, spot.seat)
            if known is not None and not wants_more(known, question):
                if known.spot.depth >= depth and known.spot != spot:
                    self._book.move(spot)
                continue
            if self._spent():
                return False
            now = BuildProgress(depth, done, len(ordered), spot.path, self._trials, self._computed)
            on_progress(now)
            entry = compute_entry(
                self._simulator,
                spot,
                question,
                lambda rollout, now=now: on_progress(replace(now, rollout=rollout)),  # type: ignore[misc]
            )
            self._book.put(entry)
            self._trials += entry.trials - (known.trials if known is not None else 0)
            self._computed += 1
        on_progress(BuildProgress(depth, len(ordered), len(ordered), "", self._trials, self._computed))
        return True

    def _spent(self) -> bool:
        budget = self._budget
        if budget.trials is not None and self._trials >= budget.trials:
            return True
        return budget.minutes is not None and self._clock() - self._started >= 60.0 * budget.minutes


def wants_more(known: Entry, question: EntryQuestion) -> bool:
    """Whether an entry that is there is to be asked again: it is open and may get more trials, or it may look at more
    plays. What is settled stays.
    """
    asked = known.question
    if question.margin > asked.margin or question.most > asked.most:
        return True
    return known.verdict is Verdict.OPEN and question.trials > asked.trials
