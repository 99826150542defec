"""A rollout taken step by step: which trials are wanted next, what an output adds, whether the answer is there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from cluster import planner
from cluster.ledger import Block
from cluster.planner import RolloutQuestion
from cluster.results import TallyOf, make_result
from cluster.rollout_progress import Meter, Progress
from cluster.schemas import RolloutResult
from cluster.store import Store, TrialRange
from engine.errors import InternalError
from engine.rollout import TrialRows
from engine.stopping import StopReason, judge
from engine.tally import Tally
from workers.tasks import RolloutOutput, RolloutTask


class _Rows:
    """The trials of all candidates, filled in as they come."""

    def __init__(self, question: RolloutQuestion) -> None:
        self.question = question
        shape = (question.trials, question.settings.row)
        self._rows = {c.series: np.zeros(shape, dtype=np.int32) for c in question.candidates}
        self.known: dict[str, list[TrialRange]] = {c.series: [] for c in question.candidates}
        """What is there, by series: rising ranges that neither overlap nor touch."""

    def add(self, series: str, trials: TrialRange, rows: TrialRows) -> None:
        """Take in the rows of a range; what lies beyond the question's trials is left out."""
        stop = min(trials.stop, self.question.trials)
        if stop > trials.first:
            self._rows[series][trials.first : stop] = rows[: stop - trials.first]
            self.known[series] = planner.joined([*self.known[series], trials])

    def of(self, series: str, trials: int) -> TrialRows:
        """The first trials of a candidate."""
        return self._rows[series][:trials]

    def complete(self, active: Sequence[int], trials: TrialRange) -> bool:
        """Whether all these candidates have all these trials."""
        return all(not planner.missing_ranges(self.known[self.question.candidates[i].series], trials) for i in active)

    def gaps(self, active: Sequence[int]) -> list[TrialRange]:
        """The question's trials that some of these candidates lack, rising."""
        whole = TrialRange(0, self.question.trials)
        known = (self.known[self.question.candidates[i].series] for i in active)
        return planner.joined([gap for ranges in known for gap in planner.missing_ranges(ranges, whole)])

    def tally(self, active: Sequence[int], trials: TrialRange) -> Tally:
        """Of some candidates over a complete range."""
        parts = [self._rows[self.question.candidates[i].series][trials.first : trials.stop] for i in active]
        return Tally.of(parts, self.question.rules)


class _Race:
    """The state of a rollout: how far its checkpoints have been judged, from complete trials only."""

    def __init__(self, question: RolloutQuestion, rows: _Rows) -> None:
        self._question = question
        self._rows = rows
        self._left = list(question.stop.checkpoints)
        self.active: tuple[int, ...] = tuple(range(len(question.candidates)))
        self.trials = [0] * len(question.candidates)
        """Trials that count, by candidate."""
        self.stop: StopReason | None = None

    @property
    def checkpoint(self) -> int:
        """Trials at the checkpoint that is waited for."""
        return self._left[0]

    def advance(self) -> None:
        """Judge every checkpoint whose trials are complete."""
        while self.stop is None and self._rows.complete(self.active, TrialRange(0, self._left[0])):
            judged = self._left.pop(0)
            for i in self.active:
                self.trials[i] = judged
            tally = self._rows.tally(self.active, TrialRange(0, judged))
            best = tally.best()
            behind = {i: tally.difference(k, best) for k, i in enumerate(self.active) if k != best}
            verdict = judge(
                self._question.stop,
                judged,
                len(self._question.candidates),
                self.active,
                self.active[best],
                tally.equity(best),
                behind,
            )
            self.active, self.stop = verdict.active, verdict.stop

    def tasks(self, started: set[TrialRange]) -> Iterator[RolloutTask]:
        """Tasks in the order in which they are wanted; ends when nothing more can be needed.

        Asked for more while a checkpoint still waits for its last blocks, it goes on beyond the checkpoint with the
        candidates of now: idle workers guess, and a wrong guess only leaves trials in the cache that don't count yet.
        """
        asked: dict[str, list[TrialRange]] = {series: list(known) for series, known in self._rows.known.items()}
        for block in planner.blocks_of(self._question):
            if self.stop is not None:
                return
            for task in planner.missing_tasks(self._question, asked, block, self.active):
                for series in task.series:
                    asked[series].append(TrialRange(task.first, task.count))
                started.add(block)
                yield task


class RolloutSteps:
    """A rollout taken step by step: what is wanted next, what an output adds, whether the answer is there.

    It starts nothing and reads no clock, so one process can take the steps of many rollouts by turns.
    """

    def __init__(self, question: RolloutQuestion, store: Store) -> None:
        """Reads what is known; raises what the store raises."""
        self.question = question
        self.computed = 0
        """Trials counted by `take`, over all candidates."""
        self._rows = _Rows(question)
        self.tally: TallyOf = self._rows.tally
        for candidate in question.candidates:
            for trials, payload in store.blocks(candidate.series).items():
                self._rows.add(candidate.series, trials, rows_of(question, candidate.series, trials, payload))
        self._before = {series: list(known) for series, known in self._rows.known.items()}
        self._asked = {series: list(known) for series, known in self._rows.known.items()}
        self._ran: set[TrialRange] = set()
        self._race = _Race(question, self._rows)
        self._race.advance()
        self._meter = Meter(self._rows, planner.blocks_of(question))

    @property
    def finished(self) -> bool:
        """Whether no more trials are needed."""
        return self._race.stop is not None

    @property
    def contenders(self) -> int:
        """Candidates still in contention."""
        return len(self._race.active)

    def trials_known(self) -> int:
        """Trials that are there, over all candidates."""
        limit = self.question.trials
        return sum(max(min(r.stop, limit) - r.first, 0) for known in self._rows.known.values() for r in known)

    def trials_judged(self) -> int:
        """Trials up to the last checkpoint that was judged, over all candidates."""
        return sum(self._race.trials)

    def tasks(self) -> Iterator[RolloutTask]:
        """Tasks of the question's block size for as long as something can be needed; see `_Race.tasks`."""
        return self._race.tasks(self._ran)

    def next_tasks(
        self, size: int, under_way: Mapping[str, Sequence[TrialRange]], *, guess: bool = True
    ) -> list[RolloutTask]:
        """The tasks for the first trials that nobody was asked for, at most `size` of them; [] when none are left.

        Args:
            under_way: ranges that others compute now, by series.
            guess: also trials behind the checkpoint that is waited for, with the candidates of now.
        """
        if self._race.stop is not None:
            return []
        active = self._race.active
        taken = {
            series: planner.joined([*self._asked[series], *under_way[series]]) if series in under_way else known
            for series, known in (
                (c.series, self._asked[c.series]) for c in map(self.question.candidates.__getitem__, active)
            )
        }
        whole = TrialRange(0, self.question.trials if guess else self._race.checkpoint)
        gaps = [gap for known in taken.values() for gap in planner.missing_ranges(known, whole)[:1]]
        if not gaps:
            return []
        first = min(gaps).first
        block = TrialRange(first, min(size, whole.stop - first))
        # Whole blocks of the question, which is what provenance counts in.
        edge, whole_block = first - first % self.question.block, self.question.block
        stop = min(-(-block.stop // whole_block) * whole_block, self.question.trials)
        self._ran.update(planner.blocks_of(self.question, TrialRange(edge, stop - edge)))
        tasks = planner.missing_tasks(self.question, taken, block, active)
        for task in tasks:
            for series in task.series:
                self._asked[series] = planner.joined([*self._asked[series], TrialRange(task.first, task.count)])
        return tasks

    def trials_left(self) -> int:
        """Trials that nobody was asked for, over the candidates in contention."""
        known = (self._asked[self.question.candidates[i].series] for i in self._race.active)
        whole = TrialRange(0, self.question.trials)
        return sum(gap.count for ranges in known for gap in planner.missing_ranges(ranges, whole))

    def take(self, series: str, trials: TrialRange, rows: TrialRows) -> None:
        """Count trials of one candidate, whoever computed them; twice does no harm. `advance` judges them."""
        self._rows.add(series, trials, rows)
        self._asked[series] = planner.joined([*self._asked[series], trials])

    def advance(self, computed: int = 0) -> None:
        """Judge what is complete after some `take`s, by which so many trials were computed here."""
        self.computed += computed
        self._race.advance()

    def progress(self) -> Progress:
        """Where it stands."""
        return self._meter.read(self._race.active, self._ran, self.computed)

    def result(self) -> RolloutResult:
        """The exact answer. Raises `InternalError` before it is `finished`."""
        if self._race.stop is None:
            raise InternalError("the executor ended before all trials were there")
        return make_result(self.question, self._rows.tally, self._race.trials, self._race.stop)

    def rows(self) -> dict[str | None, TrialRows]:
        """The trials that count, by play, once it is `finished`; views, not copies."""
        counted = zip(self.question.candidates, self._race.trials, strict=True)
        return {candidate.play: self._rows.of(candidate.series, trials) for candidate, trials in counted}

    def blocks_counted(self) -> tuple[int, int]:
        """Blocks that the answer looked at: (all, from the cache)."""
        visited = planner.blocks_of(self.question, TrialRange(0, max(self._race.trials)))
        return len(visited), sum(block not in self._ran for block in visited)

    def trials_counted(self) -> tuple[int, int]:
        """Trials that count, over all candidates: (all, from the cache)."""
        wanted = {c.series: TrialRange(0, n) for c, n in zip(self.question.candidates, self._race.trials, strict=True)}
        gaps = (gap for series, all_ in wanted.items() for gap in planner.missing_ranges(self._before[series], all_))
        total = sum(self._race.trials)
        return total, total - sum(gap.count for gap in gaps)


def rows_of(question: RolloutQuestion, series: str, trials: TrialRange, payload: bytes) -> TrialRows:
    """The rows in a stored block. Raises `InternalError` if they are not as many as the range says."""
    row = question.settings.row
    if len(payload) != trials.count * row * 4:
        raise InternalError(f"block {trials} of series {series} has {len(payload)} bytes")
    return np.frombuffer(payload, dtype="<i4").reshape(trials.count, row)


def blocks_of_output(task: RolloutTask, output: RolloutOutput) -> list[Block]:
    """What of a task's output is to be kept."""
    trials = TrialRange(task.first, task.count)
    return [(series, trials, payload_of(rows)) for series, rows in zip(task.series, output.rows, strict=True)]


def payload_of(rows: TrialRows) -> bytes:
    """The stored form of rows."""
    return np.ascontiguousarray(rows, dtype="<i4").tobytes()
