"""A book taken step by step, several entries at a time.

Entries are begun in the order of the tree, as many as there are idle workers for, and enter the book in that order. So
the book is the same as if one entry were made after the other: which ones it holds depends on the budget and on the
entries before them alone, never on the number of workers. What was begun too much stays in the store.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from cluster.book.artifact import Book
from cluster.book.entry import Entry, Spot
from cluster.book.entry_steps import EntrySteps, entry_key
from cluster.book.recipe import BookRecipe
from cluster.book.schemas import EntryQuestion, Verdict
from cluster.book.simulation import Valuation
from cluster.book.tree import in_order, openings, replies
from cluster.store import Store, TrialRange
from workers.book import BookOutput, BookTask
from workers.tasks import RolloutTask, SearchTask

MOST_UNDER_WAY = 64
"""Entries that are worked on at the same time: blocks enough for a thousand workers."""
_MOST_RECALLED = 200
"""Entries that are let in from the store before whoever asks gets a word in."""
_MOST_ASKED_FOR = 100
"""Entries that are read from the store at a time."""


@dataclass(frozen=True, slots=True)
class Budget:
    """Where a build stops although more could be done."""

    trials: int | None = None
    """Of the whole book."""
    entries: int | None = None
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
    """Of the entry that comes next."""
    under_way: int
    """Entries that are worked on."""
    trials: int
    """Of the whole book, with those of the entries under way."""
    computed: int
    """Entries that this run has computed."""
    verdicts: Mapping[Verdict, int]
    """Of the entries that this run has looked at."""


@dataclass(eq=False)
class _Begun:
    """An entry that is worked on, or waits until those before it are there."""

    steps: EntrySteps
    before: Entry | None
    """What the book knew of it, where it wants more."""
    waits: bool = False
    """Whether it had nothing to hand out when it was asked last, short of guessing."""


class BookSteps:
    """See the module, and `cluster.book.simulation.Steps`.

    Only `recall`, `hand_out`, `next_tasks` and `save` use the store; where it is away, they can be asked again.
    """

    def __init__(self, recipe: BookRecipe, book: Book, valuation: Valuation, store: Store, budget: Budget) -> None:
        self.book = book
        self.finished = False
        self.complete = False
        """Whether all that the recipe asks for is there; otherwise the budget ended the build."""
        self.computed = 0
        self._recipe, self._valuation, self._store, self._budget = recipe, valuation, store, budget
        book.remember(recipe)
        info = book.info()
        self._trials, self._entries = info.trials, sum(info.entries)
        self._verdicts: Counter[Verdict] = Counter()
        self._stopped = False
        self._unsaved: dict[str, bytes] = {}
        self._known: dict[str, bytes | None] = {}
        self._begun: dict[str, _Begun] = {}
        self._of_series: dict[str, set[str]] = {}
        self._under_way: dict[str, set[TrialRange]] = {}
        self._depth = 0
        self._begin_depth(openings(book.stakes))
        self._settle()

    @property
    def series(self) -> tuple[str, ...]:
        """Content keys of the trials of all entries that are worked on."""
        return tuple(self._of_series)

    @property
    def trials(self) -> int:
        """Of the book, with those of the entries under way."""
        return self._trials + sum(max(begun.steps.trials - _trials(begun.before), 0) for begun in self._begun.values())

    @property
    def most_trials(self) -> int:
        """What `trials` can come to, as far as is known now."""
        if self.finished:
            return self._trials
        if self._budget.trials is not None:
            return max(self._budget.trials, self._trials)
        return self._trials + (len(self._spots) - self._head) * self._question.most * self._question.trials

    def progress(self) -> BuildProgress:
        """Where it stands."""
        path = self._spots[self._head].path if self._head < len(self._spots) else ""
        working = sum(not begun.steps.finished for begun in self._begun.values())
        return BuildProgress(
            self._depth, self._head, len(self._spots), path, working, self.trials, self.computed, dict(self._verdicts)
        )

    def stop(self) -> None:
        """Begin no more entries; those under way are finished."""
        self._stopped = True
        self._settle()

    def recall(self) -> bool:
        """Let in entries that the store knows, up to the first that it doesn't; some at a time. Whether there may be
        more.
        """
        for _ in range(_MOST_RECALLED):
            new = self._begin_next()
            if new is None or not new.steps.finished:
                return False
            self._moved({new.steps.spot.id})
        return True

    def next_tasks(self) -> list[BookTask]:
        """See `Steps`."""
        return self.hand_out(None, {})

    def hand_out(self, units: int | None, under_way: Mapping[str, Sequence[TrialRange]]) -> list[BookTask]:
        """The next tasks: what is wanted for certain before what the races may turn out not to need.

        Args:
            units: trials of all plays together; None: a block of each play.
            under_way: ranges of trials that other jobs compute now, by series.
        """
        self.save()
        tasks = self._from_begun(units, under_way, guess=False)
        for _ in range(_MOST_RECALLED):
            new = None if tasks else self._begin_next()
            if new is None:
                return tasks or self._from_begun(units, under_way, guess=True)
            tasks = self._asked(new, units, under_way)
        return tasks

    def take(self, task: BookTask, output: BookOutput) -> None:
        """See `Steps`."""
        if isinstance(task, SearchTask):
            wanting = {task.entry} & self._begun.keys()
        else:
            part = TrialRange(task.first, task.count)
            for series in task.series:
                ranges = self._under_way.get(series, set())
                ranges.discard(part)
                if not ranges:
                    self._under_way.pop(series, None)
            wanting = {entry for series in task.series for entry in self._of_series.get(series, ())}
        for entry in sorted(wanting):
            self._begun[entry].steps.take(task, output)
        self._moved(wanting)

    def offer(self, series: str, trials: TrialRange, payload: bytes) -> None:
        """Count a block that another job had computed."""
        wanting = set(self._of_series.get(series, ()))
        for entry in sorted(wanting):
            self._begun[entry].steps.offer(series, trials, payload)
        self._moved(wanting)

    def save(self) -> None:
        """Keep finished entries in the store."""
        if self._unsaved:
            self._store.put_values(self._unsaved)
            self._unsaved = {}

    # What is wanted

    def _from_begun(
        self, units: int | None, under_way: Mapping[str, Sequence[TrialRange]], *, guess: bool
    ) -> list[BookTask]:
        """Tasks of the first entry that has any."""
        for begun in list(self._begun.values()):
            if self.finished:
                return []
            if not begun.steps.finished and (guess or not begun.waits):
                tasks = self._asked(begun, units, under_way, guess=guess)
                if tasks:
                    return tasks
        return []

    def _asked(
        self,
        begun: _Begun,
        units: int | None,
        under_way: Mapping[str, Sequence[TrialRange]],
        guess: bool = False,
    ) -> list[BookTask]:
        """Tasks of one entry. Two rolls can be played to the same position: its trials are played once."""
        steps = begun.steps
        steps.prepare()
        for series in steps.series:
            self._of_series.setdefault(series, set()).add(steps.spot.id)
        taken = {
            series: [*self._under_way.get(series, ()), *under_way.get(series, ())]
            for series in steps.series
            if series in under_way or len(self._of_series[series]) > 1
        }
        tasks = steps.hand_out(units, taken, guess=guess)
        for task in tasks:
            if isinstance(task, RolloutTask):
                for series in task.series:
                    self._under_way.setdefault(series, set()).add(TrialRange(task.first, task.count))
        begun.waits = begun.waits or not tasks
        if steps.finished:
            self._moved({steps.spot.id})
        return tasks

    def _begin_next(self) -> _Begun | None:
        """Begin the next entry that is wanted, where there is room for it."""
        working = sum(not begun.steps.finished for begun in self._begun.values())
        while working < MOST_UNDER_WAY and not self._stopped and not self.finished and self._next < len(self._spots):
            spot = self._spots[self._next]
            before = self._in_book(spot)
            if self._is_enough(before):
                self._next += 1
                continue
            if not self._may_begin(before):
                return None
            key = self._key(spot)
            if key not in self._known:
                ahead = [self._key(one) for one in self._spots[self._next : self._next + _MOST_ASKED_FOR]]
                self._known = dict(zip(ahead, self._store.get_values(ahead), strict=True))
            steps = EntrySteps(self._valuation, spot, self._question, self._store, self._known[key])
            begun = _Begun(steps, before)
            self._next += 1
            self._begun[spot.id] = begun
            return begun
        return None

    def _may_begin(self, before: Entry | None) -> bool:
        """Whether the budget can reach an entry behind all that are under way."""
        ahead = [(begun.steps.least - _trials(begun.before), begun.before is None) for begun in self._begun.values()]
        trials = self._trials + sum(more for more, _ in ahead)
        return not self._is_spent(trials, self._entries + sum(new for _, new in ahead), before)

    # What is there

    def _moved(self, entries: Iterable[str]) -> None:
        """Look after entries of which something came back."""
        for name in entries:
            begun = self._begun[name]
            begun.waits = False
            entry = begun.steps.entry
            if entry is None:
                continue
            for series, sharers in list(self._of_series.items()):
                sharers.discard(name)
                if not sharers:
                    del self._of_series[series]
            if not begun.steps.recalled:
                self._unsaved[self._key(entry.spot)] = entry.content().encode()
        self._settle()

    def _settle(self) -> None:
        """Let entries into the book, in the order of the tree, as far as they are there and the budget goes."""
        while not self.finished:
            if self._head == len(self._spots):
                if self._depth == len(self._recipe.depth):
                    self.finished = self.complete = True
                else:
                    follow = self._recipe.depth[self._depth - 1].follow
                    self._begin_depth(replies(self.book.entries(self._depth), follow))
                continue
            spot = self._spots[self._head]
            begun = self._begun.get(spot.id)
            before = begun.before if begun is not None else self._in_book(spot)
            if begun is None and self._is_enough(before):
                self._take_over(spot, before)
            elif self._is_spent(self._trials, self._entries, before) or (begun is None and self._stopped):
                self.finished = True
            elif begun is not None and begun.steps.entry is not None:
                self._let_in(begun.steps, before)
            else:
                return
            self._head += 0 if self.finished else 1
        # What was begun too much is let go; as far as it is finished, it is kept in the store.
        for held in (self._begun, self._of_series, self._under_way):
            held.clear()

    def _let_in(self, steps: EntrySteps, before: Entry | None) -> None:
        entry = steps.entry
        assert entry is not None
        self.book.put(entry)
        self._trials += entry.trials - _trials(before)
        self._entries += before is None
        self._verdicts[entry.verdict] += 1
        self.computed += not steps.recalled
        del self._begun[steps.spot.id]

    def _take_over(self, spot: Spot, known: Entry | None) -> None:
        assert known is not None
        self._verdicts[known.verdict] += 1
        if known.spot.depth >= self._depth and known.spot != spot:
            self.book.move(spot)

    def _begin_depth(self, spots: Iterable[Spot]) -> None:
        self._spots = in_order(spots)
        self._head = self._next = 0
        part = self._recipe.depth[self._depth]
        self._depth += 1
        self._question = EntryQuestion(**{name: getattr(part, name) for name in EntryQuestion.model_fields})

    def _key(self, spot: Spot) -> str:
        return entry_key(self._valuation, spot, self._question)

    def _in_book(self, spot: Spot) -> Entry | None:
        return self.book.entry(spot.position, spot.dice, spot.seat)

    def _is_enough(self, known: Entry | None) -> bool:
        return known is not None and not wants_more(known, self._question)

    def _is_spent(self, trials: int, entries: int, before: Entry | None) -> bool:
        """Whether the budget ends before one more entry, of which the book knew `before`."""
        budget = self._budget
        if budget.trials is not None and trials >= budget.trials:
            return True
        return before is None and budget.entries is not None and entries >= budget.entries


def wants_more(known: Entry, question: EntryQuestion) -> bool:
    """Whether an entry that is there is to be asked again: it is open and may get more trials, or it may look at more
    plays. What is settled stays.
    """
    asked = known.question
    if question.margin > asked.margin or question.most > asked.most:
        return True
    return known.verdict is Verdict.OPEN and question.trials > asked.trials


def _trials(entry: Entry | None) -> int:
    return entry.trials if entry is not None else 0
