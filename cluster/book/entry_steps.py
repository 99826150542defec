"""An entry taken step by step: first a search, then the trials of the plays that it found.

What becomes of it depends on its own question and its own trials alone, so it is the same whatever else is computed
beside it and in whatever order its blocks come back. A finished entry is kept in the store by its content key.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cluster.book.entry import Entry, Spot, entry_of, make_entry
from cluster.book.schemas import EntryQuestion
from cluster.book.simulation import SimulatedPlay, Valuation
from cluster.planner import content_key
from cluster.rollout_steps import RolloutSteps, rows_of
from cluster.store import Store, TrialRange
from engine.rollout import TrialRows
from workers.book import BookOutput, BookTask
from workers.tasks import RolloutOutput, RolloutTask, SearchedPlay


class EntrySteps:
    """See the module, and `cluster.book.simulation.Steps`.

    `prepare` and `hand_out` read the store; where it is away, they can be asked again.

    Args:
        known: what the store has under its `entry_key`.
    """

    def __init__(
        self, valuation: Valuation, spot: Spot, question: EntryQuestion, store: Store, known: bytes | None
    ) -> None:
        self.spot, self.question = spot, question
        self._valuation, self._store = valuation, store
        self.entry: Entry | None = entry_of(spot, question, known) if known is not None else None
        """Once it is finished."""
        self.recalled = self.entry is not None
        """Whether it was in the store."""
        self._search_asked = False
        self._searched: tuple[SearchedPlay, ...] | None = None
        self._rollout: RolloutSteps | None = None

    @property
    def finished(self) -> bool:
        """Whether the entry is there."""
        return self.entry is not None

    @property
    def series(self) -> tuple[str, ...]:
        """Content keys of its trials; () before they begin and after they end."""
        if self._rollout is None or self.finished:
            return ()
        return tuple(candidate.series for candidate in self._rollout.question.candidates)

    @property
    def least(self) -> int:
        """Trials, over all plays, that it will have at least."""
        if self.entry is not None:
            return self.entry.trials
        first = min(self.question.checkpoint, self.question.trials) if self.question.race else self.question.trials
        if self._rollout is None:
            return first * (len(self._searched) if self._searched is not None else 1)
        return max(first * len(self._rollout.question.candidates), self._rollout.trials_judged())

    @property
    def trials(self) -> int:
        """Trials that are there."""
        if self.entry is not None:
            return self.entry.trials
        return self._rollout.trials_known() if self._rollout is not None else 0

    def next_tasks(self) -> list[BookTask]:
        """See `Steps`."""
        return self.hand_out(None, {}, guess=True)

    def prepare(self) -> None:
        """Read what is known of its trials, once the search has said which ones these are."""
        if self._searched is not None and self._rollout is None and self.entry is None:
            position = self.spot.under(self._valuation.stakes)
            self._rollout = RolloutSteps(self._valuation.rollout(position, self._searched, self.question), self._store)
            self._finish()

    def hand_out(
        self, units: int | None, under_way: Mapping[str, Sequence[TrialRange]], *, guess: bool
    ) -> list[BookTask]:
        """The next tasks; [] when there is nothing to hand out now.

        Args:
            units: trials of all plays together; None: a block of each.
            under_way: ranges of trials that others compute now, by series.
            guess: also trials behind the checkpoint that is waited for, which the race may turn out not to need.
        """
        self.prepare()
        if self._searched is None and not self._search_asked:
            self._search_asked = self.entry is None
            position = self.spot.under(self._valuation.stakes)
            return [self._valuation.search(self.spot.id, position, self.question)] if self._search_asked else []
        if self._rollout is None:
            return []
        block = self._rollout.question.block
        size = block if units is None else max(1, units // max(self._rollout.contenders, 1))
        return [*self._rollout.next_tasks(size, under_way, guess=guess)]

    def take(self, task: BookTask, output: BookOutput) -> None:
        """See `Steps`."""
        if isinstance(task, RolloutTask) and isinstance(output, RolloutOutput):
            for series, rows in zip(task.series, output.rows, strict=True):
                self._add(series, TrialRange(task.first, task.count), rows)
        elif isinstance(output, tuple) and self._searched is None:
            self._searched = output

    def offer(self, series: str, trials: TrialRange, payload: bytes) -> None:
        """Count a block that somebody else had computed; ignored where it is not wanted."""
        if series in self.series and self._rollout is not None:
            self._add(series, trials, rows_of(self._rollout.question, series, trials, payload))

    def _add(self, series: str, trials: TrialRange, rows: TrialRows) -> None:
        if series in self.series and self._rollout is not None:
            self._rollout.take(series, trials, rows)
            self._rollout.advance()
            self._finish()

    def _finish(self) -> None:
        if self._rollout is None or not self._rollout.finished:
            return
        rows = self._rollout.rows()
        simulated = [SimulatedPlay(play, rows[play.play]) for play in self._searched or ()]
        valuation = self._valuation
        self.entry = make_entry(self.spot, self.question, valuation.identity, valuation.stakes.rules, simulated)
        self._rollout = None


def entry_key(valuation: Valuation, spot: Spot, question: EntryQuestion) -> str:
    """Content key of an entry: everything that any bit of it depends on, and nothing of the book around it."""
    return content_key(
        {
            "kind": "book entry",
            "identity": valuation.identity.model_dump(mode="json"),
            "id": spot.id,
            "question": question.model_dump(mode="json"),
        }
    )
