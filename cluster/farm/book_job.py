"""Opening books as jobs of the farm: the steps of `gammonfarm book build`, with the store in the place of a file.

Entries that are finished are kept in the store by content. So a coordinator that comes back goes on behind the last of
them, a job with a larger budget begins there, and anybody who can read the store can put the book's file together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from cluster.book.book_steps import BookSteps
from cluster.book.build import identity_of, steps_on_farm
from cluster.book.recipe import BookRecipe, BudgetPart, bounds_of
from cluster.book.schemas import BookResult, Verdict
from cluster.farm.desk import Desk, check_cube_names, shipped_name
from cluster.farm.kinds import Cost, Piece, Size
from cluster.ledger import Block
from cluster.planner import content_key
from cluster.rollout_steps import blocks_of_output
from cluster.scheduling import Priority
from cluster.store import JobKind, Store, TrialRange
from cluster.versions import versions
from engine.efficiency import DEFAULT_EFFICIENCY
from engine.errors import InputError
from engine.evaluator import Nets
from workers.book import BookOutput, BookTask, book_workers
from workers.tasks import RolloutOutput, RolloutTask

MOST_MINUTES = 7 * 24 * 60.0
"""After which a book is given up whose recipe says nothing about it."""


class BookKind:
    """See `Kind`."""

    name = JobKind.BOOK
    request = BookRecipe
    result = BookResult
    priority = Priority.BULK
    summary = "Build an opening book: the plays of all openings, replies and so on, by search and simulation."
    example: ClassVar[Mapping[str, Any]] = {
        "name": "openings",
        "rules": "international",
        "cube": False,
        "budget": {"trials": 200_000, "minutes": 600},
        "depth": [
            {"margin": 0.05, "most": 4, "trials": 1296, "checkpoint": 324},
            {"margin": 0.02, "most": 2, "trials": 144, "checkpoint": 144},
        ],
    }

    def key(self, request: BookRecipe, net: str, desk: Desk) -> str:
        """See `Kind`: the minutes change no answer that there is."""
        budget = request.budget
        return content_key(
            {
                "kind": "book",
                "identity": identity_of(_checked(request), desk.nets(net)).model_dump(mode="json"),
                "name": request.name,
                "depth": [part.model_dump(mode="json") for part in request.depth],
                "budget": [budget.trials, budget.entries],
            }
        )

    def begin(self, request: BookRecipe, net: str, desk: Desk, store: Store) -> BookJob:
        """See `Kind`."""
        nets = desk.nets(net)
        minutes = request.budget.minutes or MOST_MINUTES
        steps = steps_on_farm(_checked(request), nets, store)
        steps.recall()
        return BookJob(steps, nets, self.key(request, net, desk), minutes)

    def extended(self, request: BookRecipe, changes: Mapping[str, Any]) -> BookRecipe:
        """See `Kind`: `trials` and `entries` of its budget may rise."""
        budget = request.budget.model_dump()
        for name, value in changes.items():
            now = budget.get(name)
            if name not in ("trials", "entries") or now is None or not isinstance(value, int) or value <= now:
                raise InputError(name, value, f"more than {now}" if now is not None else "what the budget bounds")
        if not changes:
            raise InputError("trials", "nothing", "a larger budget of trials or entries")
        return request.model_copy(update={"budget": BudgetPart(**budget | dict(changes))})

    def size(self, request: BookRecipe) -> Size:
        """See `Kind`: trials of all plays."""
        bounds = bounds_of(request)
        return Size(bounds.trials, bounds.entries, request.budget.minutes or MOST_MINUTES)

    def old_report(self, key: str, net: str, result: bytes, job: str) -> dict[str, Any]:
        """See `Kind`."""
        known = BookResult.model_validate_json(result)
        return _report(key, net, job, sum(known.entries), 0, None)


class BookJob:
    """See `JobRun`; its unit is a trial of one play."""

    likeness = ""

    def __init__(self, steps: BookSteps, nets: Nets, key: str, minutes: float) -> None:
        self.minutes: float | None = minutes
        self._steps, self._key = steps, key
        self._net = nets.main.digest
        self._spec = book_workers(nets)
        self._handed_out = 0

    @property
    def series(self) -> tuple[str, ...]:
        """See `JobRun`: those of the entries that are worked on."""
        return self._steps.series

    @property
    def finished(self) -> bool:
        """See `JobRun`."""
        return self._steps.finished

    @property
    def total(self) -> int:
        """See `JobRun`."""
        return max(self._steps.most_trials, self.done)

    @property
    def done(self) -> int:
        """See `JobRun`."""
        return self._steps.trials

    @property
    def left(self) -> int:
        """See `JobRun`: a guess, as nobody knows what the races will need."""
        return 0 if self.finished else max(self._steps.most_trials - self._handed_out, 1)

    def pieces(self, units: int, under_way: Mapping[str, Sequence[TrialRange]]) -> list[Piece]:
        """See `JobRun`."""
        return [self._piece(task) for task in self._steps.hand_out(units, under_way)]

    def _piece(self, task: BookTask) -> Piece:
        if not isinstance(task, RolloutTask):
            return Piece(self._spec, task, 0)
        units = task.count * len(task.candidates)
        self._handed_out += units
        trials = TrialRange(task.first, task.count)
        return Piece(self._spec, task, units, tuple((series, trials) for series in task.series))

    def blocks(self, task: BookTask, output: BookOutput) -> list[Block]:
        """See `JobRun`."""
        if isinstance(task, RolloutTask) and isinstance(output, RolloutOutput):
            return blocks_of_output(task, output)
        return []

    def take(self, task: BookTask, output: BookOutput) -> None:
        """See `JobRun`."""
        self._steps.take(task, output)

    def offer(self, series: str, trials: TrialRange, payload: bytes) -> None:
        """See `JobRun`."""
        self._steps.offer(series, trials, payload)

    def progress(self) -> dict[str, Any]:
        """See `JobRun`: entries of the depth that is built now, and verdicts of all."""
        now = self._steps.progress()
        return {
            "trials": now.trials,
            "depth": now.depth,
            "entries": now.done,
            "of": now.entries,
            "under_way": now.under_way,
            "next": now.path,
            **{verdict.value.replace(" ", "_"): now.verdicts.get(verdict, 0) for verdict in Verdict},
        }

    def result(self) -> bytes:
        """See `JobRun`."""
        self._steps.save()
        return result_of(self._steps).model_dump_json().encode()

    def report(self, cost: Cost) -> dict[str, Any]:
        """See `JobRun`."""
        entries = sum(self._steps.book.info().entries)
        return _report(self._key, self._net, cost.job, entries, self._steps.computed, cost)

    def close(self) -> None:
        """See `JobRun`."""
        self._steps.book.close()


def result_of(steps: BookSteps) -> BookResult:
    """What is there now."""
    book, info = steps.book, steps.book.info()
    return BookResult(
        name=info.name,
        identity=info.identity,
        digest=book.digest(),
        finished=steps.complete,
        entries=info.entries,
        verdicts=info.verdicts,
        trials=info.trials,
        openings=tuple(entry.shown(book.stakes) for entry in book.entries(1)),
    )


def file_of(request: BookRecipe, net: str, desk: Desk, store: Store) -> tuple[bytes, bool]:
    """The file of a book as far as its entries are in the store, and whether that is all that the recipe and its budget
    ask for.
    """
    steps = steps_on_farm(_checked(request), desk.nets(net), store)
    with steps.book as book:
        while steps.recall():
            pass
        return book.file_bytes(), steps.finished


def _checked(request: BookRecipe) -> BookRecipe:
    """The same, once all that it names came with gammonfarm: a client must not make the farm read files."""
    shipped_name("filter", request.search.filter, "search")
    met = check_cube_names(request.met, request.efficiency or DEFAULT_EFFICIENCY)
    return request.model_copy(update={"met": met})


def _report(key: str, net: str, job: str, entries: int, computed: int, cost: Cost | None) -> dict[str, Any]:
    """Provenance and timing; without a cost, of an answer that was there."""
    provenance = {
        "key": key,
        "net": net,
        "job": job,
        "executor": "farm",
        "workers": cost.workers if cost else 0,
        "entries": entries,
        "entries_computed": computed,
        "retries": cost.retries if cost else 0,
        "versions": versions(),
    }
    return {"provenance": provenance, "timing": {"seconds": cost.seconds if cost else 0.0}}
