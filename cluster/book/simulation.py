"""What an entry is made from: a search that picks the plays, and trials of each of them.

The one place that knows how a book's plays are valued. Trials go through an ordinary rollout, so they are kept and
shared like all others, and a race decides where they go.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np

from cluster import planner
from cluster.book.schemas import BookIdentity, EntryQuestion
from cluster.book.stakes import Stakes
from cluster.coordinator import OnProgress, RolloutRun
from cluster.executor import Executor
from cluster.planner import PlannedCandidate, RolloutQuestion, content_key, series_key
from cluster.schemas import RolloutRequest
from cluster.store import Store, TrialRange
from engine.board import Board
from engine.errors import InternalError
from engine.evaluator import Evaluator, Nets
from engine.notation import format_play
from engine.position import Position
from engine.rollout import ROW, TrialRows
from engine.search import FilterStep, MoveFilter, rank_plays
from engine.xgid import format_xgid
from workers.rollout import rollout_workers

BLOCK = 36


@dataclass(frozen=True, slots=True, eq=False)
class SearchedPlay:
    """A play that a search puts near the best one."""

    play: str
    after: Board
    """In the mover's view."""
    equity: float
    """Mover's view."""
    level: int


@dataclass(frozen=True, slots=True, eq=False)
class SimulatedPlay:
    """A play with the trials of it that count."""

    searched: SearchedPlay
    rows: TrialRows


@dataclass(frozen=True, slots=True)
class Farm:
    """Where trials are kept and where they are played."""

    store: Store
    executor_for: Callable[[], Executor]
    """Called only if something has to be computed; gives the same executor each time."""
    block: int = BLOCK


class Simulator:
    """Answers the questions of one book.

    Args:
        evaluator: with the bear-off databases; it holds `nets`.
    """

    def __init__(self, identity: BookIdentity, stakes: Stakes, nets: Nets, evaluator: Evaluator, farm: Farm) -> None:
        self.identity = identity
        self.stakes = stakes
        self._nets = nets
        self._evaluator = evaluator
        self._farm = farm
        steps = (tuple(FilterStep(*step) for step in way) for way in identity.search_filter)
        self._filter = MoveFilter("book", tuple(steps))

    def search(self, board: Board, dice: tuple[int, int], question: EntryQuestion) -> list[SearchedPlay]:
        """The plays of a roll that the search, at the book's level, puts within the margin; best first."""
        rules = self.stakes.rules
        ranked = rank_plays(self._evaluator, board, dice, rules, self.identity.search_level, self._filter)
        best = ranked[0]
        near = [r for r in ranked if r.level == best.level and best.value.equity - r.value.equity <= question.margin]
        return [
            SearchedPlay(format_play(board, r.after, dice, rules), r.after, r.value.equity, r.level)
            for r in near[: question.most]
        ]

    def simulate(
        self,
        board: Board,
        dice: tuple[int, int],
        searched: list[SearchedPlay],
        question: EntryQuestion,
        on_progress: OnProgress,
    ) -> list[SimulatedPlay]:
        """The trials of these plays, in their order."""
        request = self._request(board, dice, searched, question)
        rollout = self._at_stakes(planner.plan(request, self._evaluator))
        report = RolloutRun(request, rollout, self._nets, self._farm.store).run(self._farm.executor_for, on_progress)
        trials = {candidate.play: candidate.trials for candidate in report.result.candidates}
        by_play = {candidate.play: candidate for candidate in rollout.candidates}
        return [SimulatedPlay(play, self._rows(rollout, by_play[play.play], trials[play.play])) for play in searched]

    def target_se(self, candidates: int) -> float:
        """Standard error of a difference at which every verdict can be given: its error bar is then no wider than
        half of what is playable.
        """
        return self.identity.playable / (2.0 * critical_value(self.identity.confidence, candidates))

    def _request(
        self, board: Board, dice: tuple[int, int], searched: list[SearchedPlay], question: EntryQuestion
    ) -> RolloutRequest:
        identity = self.identity
        return RolloutRequest(
            position=format_xgid(Position(board, self.stakes.match, dice)),
            plays=tuple(play.play for play in searched),
            trials=question.trials,
            checkpoint=question.checkpoint,
            stop_se=self.target_se(len(searched)) if question.race else None,
            stop_confidence=identity.confidence if question.race else None,
            race=question.race,
            level=identity.simulation_level,
            seed=identity.seed,
            block=self._farm.block,
            rules=self.stakes.named_rules,
        )

    def _at_stakes(self, question: RolloutQuestion) -> RolloutQuestion:
        """The question with the worth that results have at the book's score."""
        rules = self.stakes.rules
        if rules == question.rules:
            return question
        settings = replace(question.settings, rules=rules)
        candidates = tuple(
            PlannedCandidate(c.play, c.start, series_key(question.net, settings, c.start)) for c in question.candidates
        )
        key = content_key({"kind": "book rollout", "question": question.key, "series": [c.series for c in candidates]})
        return replace(question, settings=settings, candidates=candidates, key=key)

    def _rows(self, question: RolloutQuestion, candidate: PlannedCandidate, trials: int) -> TrialRows:
        """The first trials of a candidate; what the store has lost meanwhile is played again."""
        wanted = TrialRange(0, trials)
        rows = np.zeros((trials, ROW), dtype=np.int32)
        known: list[TrialRange] = []

        def add(part: TrialRange, values: TrialRows) -> None:
            stop = min(part.stop, trials)
            if stop > part.first:
                rows[part.first : stop] = values[: stop - part.first]
                known.append(part)

        for part, payload in self._farm.store.blocks(candidate.series).items():
            add(part, np.frombuffer(payload, dtype="<i4").reshape(part.count, ROW))
        if planner.missing_ranges(known, wanted):
            number = question.candidates.index(candidate)
            lost = [
                task
                for block in planner.blocks_of(question, wanted)
                for task in planner.missing_tasks(question, {candidate.series: known}, block, (number,))
            ]
            with closing(self._farm.executor_for().map_unordered(rollout_workers(self._nets), lost)) as results:
                for done in results:
                    add(TrialRange(done.task.first, done.task.count), done.output.rows[0])
        if planner.missing_ranges(known, wanted):
            raise InternalError(f"trials of {candidate.play} are missing")
        return rows


def critical_value(confidence: float, candidates: int) -> float:
    """Standard errors by which a play must differ from the best of `candidates` plays (Bonferroni over its rivals)."""
    return NormalDist().inv_cdf(1.0 - (1.0 - confidence) / max(candidates - 1, 1))
