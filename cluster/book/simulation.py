"""What an entry is made from: a search that picks the plays, and trials of each of them.

The one place that knows how a book's plays are valued. Trials go through an ordinary rollout, so they are kept and
shared like all others, and a race decides where they go.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np

from cluster import planner
from cluster.book.schemas import BookIdentity, EntryQuestion
from cluster.book.stakes import Stakes
from cluster.coordinator import OnProgress, RolloutRun
from cluster.executor import Executor
from cluster.planner import PlannedCandidate, RolloutQuestion
from cluster.rollout_steps import rows_of
from cluster.schemas import RolloutRequest
from cluster.store import Store, TrialRange
from engine.board import Board
from engine.cubeful import CubefulEvaluator
from engine.efficiency import DEFAULT_EFFICIENCY
from engine.errors import InternalError
from engine.evaluator import Evaluator, Nets
from engine.notation import format_play
from engine.position import Position
from engine.rollout import TrialRows
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
    """Mover's view, at the stakes of the book."""
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
        cube = stakes.cube
        self._cubeful = CubefulEvaluator(evaluator, cube.met, cube.efficiency) if cube is not None else None

    def search(self, position: Position, question: EntryQuestion) -> list[SearchedPlay]:
        """The plays of a roll that the search, at the book's level, puts within the margin; best first."""
        dice, match = position.dice, position.match
        assert dice is not None
        board, rules, level = position.board, match.rules, self.identity.search_level
        if self._cubeful is None:
            ranked = [
                SearchedPlay("", play.after, play.value.equity, play.level)
                for play in rank_plays(self._evaluator, board, dice, rules, level, self._filter)
            ]
        else:
            ranked = [
                SearchedPlay("", play.after, play.equity, play.level)
                for play in self._cubeful.rank_plays(board, dice, match, level, self._filter)
            ]
        best = ranked[0]
        near = [play for play in ranked if play.level == best.level and best.equity - play.equity <= question.margin]
        return [replace(play, play=format_play(board, play.after, dice, rules)) for play in near[: question.most]]

    def simulate(
        self, position: Position, searched: Sequence[SearchedPlay], question: EntryQuestion, on_progress: OnProgress
    ) -> list[SimulatedPlay]:
        """The trials of these plays, in their order."""
        request = self._request(position, searched, question)
        rollout = planner.plan(request, self._evaluator)
        report = RolloutRun(request, rollout, self._nets, self._farm.store).run(self._farm.executor_for, on_progress)
        trials = {candidate.play: candidate.trials for candidate in report.result.candidates}
        by_play = {candidate.play: candidate for candidate in rollout.candidates}
        return [SimulatedPlay(play, self._rows(rollout, by_play[play.play], trials[play.play])) for play in searched]

    def target_se(self, candidates: int) -> float:
        """Standard error of a difference at which every verdict can be given: its error bar is then no wider than
        half of what is playable.
        """
        return self.identity.playable / (2.0 * critical_value(self.identity.confidence, candidates))

    def _request(self, position: Position, searched: Sequence[SearchedPlay], question: EntryQuestion) -> RolloutRequest:
        identity = self.identity
        with_cube = self.stakes.cube is not None
        return RolloutRequest(
            position=format_xgid(position),
            plays=tuple(play.play for play in searched),
            trials=question.trials,
            checkpoint=question.checkpoint,
            stop_se=self.target_se(len(searched)) if question.race else None,
            stop_confidence=identity.confidence if question.race else None,
            race=question.race,
            level=identity.simulation_level,
            seed=identity.seed,
            block=self._farm.block,
            rules=identity.rules,
            cube=with_cube,
            met=identity.met,
            efficiency=identity.efficiency or DEFAULT_EFFICIENCY,
        )

    def _rows(self, question: RolloutQuestion, candidate: PlannedCandidate, trials: int) -> TrialRows:
        """The first trials of a candidate; what the store has lost meanwhile is played again."""
        wanted = TrialRange(0, trials)
        rows = np.zeros((trials, question.settings.row), dtype=np.int32)
        known: list[TrialRange] = []

        def add(part: TrialRange, values: TrialRows) -> None:
            stop = min(part.stop, trials)
            if stop > part.first:
                rows[part.first : stop] = values[: stop - part.first]
                known.append(part)

        for part, payload in self._farm.store.blocks(candidate.series).items():
            add(part, rows_of(question, candidate.series, part, payload))
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
