"""What an entry is made from: a search that picks the plays, and trials of each of them.

The one place that knows how a book's plays are valued. Trials are those of an ordinary rollout, so they are kept and
shared like all others, and a race decides where they go.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import chain
from statistics import NormalDist
from typing import Protocol

from cluster import planner
from cluster.book.schemas import BookIdentity, EntryQuestion
from cluster.book.stakes import Stakes
from cluster.executor import Executor
from cluster.planner import RolloutQuestion
from cluster.rollout_steps import blocks_of_output
from cluster.schemas import RolloutRequest
from cluster.store import Store
from engine.efficiency import DEFAULT_EFFICIENCY
from engine.evaluator import Evaluator, Nets
from engine.position import Position
from engine.rollout import TrialRows
from engine.search import FilterStep, MoveFilter
from engine.xgid import format_xgid
from workers.book import BookOutput, BookTask, book_workers, searched_plays
from workers.tasks import RolloutOutput, RolloutTask, SearchedPlay, SearchTask

BLOCK = 36


@dataclass(frozen=True, slots=True, eq=False)
class SimulatedPlay:
    """A play with the trials of it that count."""

    searched: SearchedPlay
    rows: TrialRows


class Valuation:
    """How the plays of one book are valued.

    Args:
        evaluator: names the nets; nothing is evaluated here.
        block: trials of a play in a task, where nobody asks for another number.
    """

    def __init__(self, identity: BookIdentity, stakes: Stakes, evaluator: Evaluator, block: int = BLOCK) -> None:
        self.identity = identity
        self.stakes = stakes
        self._evaluator = evaluator
        self._block = block
        steps = (tuple(FilterStep(*step) for step in way) for way in identity.search_filter)
        self._filter = MoveFilter("book", tuple(steps))

    def search(self, entry: str, position: Position, question: EntryQuestion) -> SearchTask:
        """The search that picks the plays of a roll, at the book's level."""
        level = self.identity.search_level
        return SearchTask(entry, position, level, self._filter, self.stakes.cube, question.margin, question.most)

    def rollout(self, position: Position, searched: Sequence[SearchedPlay], question: EntryQuestion) -> RolloutQuestion:
        """The trials of these plays."""
        identity = self.identity
        request = RolloutRequest(
            position=format_xgid(position),
            plays=tuple(play.play for play in searched),
            trials=question.trials,
            checkpoint=question.checkpoint,
            stop_se=self.target_se(len(searched)) if question.race else None,
            stop_confidence=identity.confidence if question.race else None,
            race=question.race,
            level=identity.simulation_level,
            seed=identity.seed,
            block=self._block,
            rules=identity.rules,
            cube=self.stakes.cube is not None,
            met=identity.met,
            efficiency=identity.efficiency or DEFAULT_EFFICIENCY,
        )
        return planner.plan(request, self._evaluator)

    def target_se(self, candidates: int) -> float:
        """Standard error of a difference at which every verdict can be given: its error bar is then no wider than
        half of what is playable.
        """
        return self.identity.playable / (2.0 * critical_value(self.identity.confidence, candidates))


class Steps(Protocol):
    """Work on entries, taken step by step; it starts nothing."""

    @property
    def finished(self) -> bool:
        """Whether nothing more is wanted."""

    def next_tasks(self) -> list[BookTask]:
        """The next tasks; [] when there is nothing to hand out until something comes back, or it is asked again."""

    def take(self, task: BookTask, output: BookOutput) -> None:
        """Count an output."""


@dataclass(frozen=True, slots=True)
class Farm:
    """Where trials are kept and where they are played."""

    store: Store
    executor_for: Callable[[], Executor]
    """Called only if something has to be computed; gives the same executor each time."""


class Simulator:
    """Answers the questions of one book with an executor.

    Args:
        evaluator: with the bear-off databases; it holds `nets`.
    """

    def __init__(self, identity: BookIdentity, stakes: Stakes, nets: Nets, evaluator: Evaluator, farm: Farm) -> None:
        self.valuation = Valuation(identity, stakes, evaluator)
        self.store = farm.store
        self._nets, self._evaluator, self._farm = nets, evaluator, farm

    @property
    def stakes(self) -> Stakes:
        """Those of the book."""
        return self.valuation.stakes

    def search(self, position: Position, question: EntryQuestion) -> tuple[SearchedPlay, ...]:
        """The plays that the search picks, in this process; best first."""
        return searched_plays(self._evaluator, self.valuation.search("", position, question))

    def work(self, steps: Steps, show: Callable[[], None]) -> None:
        """Take all steps; every block of trials is kept before it counts.

        Args:
            show: called after each output.
        """
        while not steps.finished:
            first = steps.next_tasks()
            if not first:
                continue
            rest = (task for tasks in iter(steps.next_tasks, []) for task in tasks)
            executor = self._farm.executor_for()
            with closing(executor.map_unordered(book_workers(self._nets), chain(first, rest))) as results:
                for done in results:
                    if isinstance(done.task, RolloutTask) and isinstance(done.output, RolloutOutput):
                        for block in blocks_of_output(done.task, done.output):
                            self.store.put_block(*block)
                    steps.take(done.task, done.output)
                    show()
                    if steps.finished:
                        break


def critical_value(confidence: float, candidates: int) -> float:
    """Standard errors by which a play must differ from the best of `candidates` plays (Bonferroni over its rivals)."""
    return NormalDist().inv_cdf(1.0 - (1.0 - confidence) / max(candidates - 1, 1))
