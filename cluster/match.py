"""Running a match: pairs of games that are known are read, the others are played, every finished block is kept.

The answer is made from the pairs alone, in one place (`make_result`), so it has the same bytes whoever played which
pair. Verdicts are given at the looks of the question only.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass

import numpy as np

from cluster.executor import Executor
from cluster.match_schemas import (
    MatchEstimate,
    MatchPlayer,
    MatchProvenance,
    MatchReport,
    MatchRequest,
    MatchResult,
    MatchResults,
)
from cluster.planner import content_key, cut, joined, missing_ranges
from cluster.store import Store, TrialRange
from cluster.versions import versions
from engine.bearoff import VERSION as BEAROFF_VERSION
from engine.errors import InputError, InternalError
from engine.evaluator import Nets
from engine.rules import INTERNATIONAL, rule_set
from engine.tally import Estimate
from engine.versus import PAIR_ROW, RESULT_VERSION, PairRows, VersusSettings, check_playing_level
from training.match import MatchTest, PairTally, Verdict
from workers.gnubg import check_gnubg_level
from workers.match import match_workers
from workers.tasks import GnubgOpponent, MatchTask

BLOCK = 50
GNUBG_BLOCK = 100
"""Pairs a task. GNU Backgammon answers slowly but many at a time, so more of its games are played side by side."""


@dataclass(frozen=True, slots=True, eq=False)
class NamedNets:
    """Nets with the name under which they were asked for."""

    name: str
    nets: Nets


@dataclass(frozen=True, slots=True, eq=False)
class MatchQuestion:
    """What is asked, in one normal form."""

    a: NamedNets
    b: NamedNets | GnubgOpponent
    level_a: int
    level_b: int
    settings: VersusSettings
    test: MatchTest
    series: str
    """Content key of the pairs: everything that any bit of them depends on, and nothing else."""

    @property
    def block(self) -> int:
        """Pairs a task; changes nothing in the result."""
        return GNUBG_BLOCK if isinstance(self.b, GnubgOpponent) else BLOCK

    def task(self, pairs: TrialRange) -> MatchTask:
        """The task that plays some pairs."""
        opponent = self.b if isinstance(self.b, GnubgOpponent) else None
        return MatchTask(self.settings, self.level_a, self.level_b, opponent, pairs.first, pairs.count)


def check_games(field: str, games: int) -> None:
    """
    Raises:
        InputError: an odd number.
    """
    if games % 2:
        raise InputError(field, games, "an even number: each pair of games has the same dice")


def plan_match(request: MatchRequest, a: NamedNets, b: NamedNets | GnubgOpponent) -> MatchQuestion:
    """Normalise a request.

    Raises:
        InputError: a field that cannot be so, or GNU Backgammon under rules that it doesn't know.
    """
    rules = rule_set(request.rules)
    check_games("games", request.games)
    settings = VersusSettings(rules, request.seed, request.variance_reduction, request.bearoff)
    check_playing_level("level-a", request.level_a)
    if isinstance(b, GnubgOpponent):
        check_gnubg_level(request.level_b)
        if rules != INTERNATIONAL:
            raise InputError("rules", rules.name, "international, the only rules that gnubg plays by")
        opponent = f"gnubg {b.version}"
    else:
        check_playing_level("level-b", request.level_b)
        opponent = b.nets.digest
    series = content_key(
        {
            "kind": "match",
            "version": RESULT_VERSION,
            "a": a.nets.digest,
            "b": opponent,
            "levels": [request.level_a, request.level_b],
            "start": [int(count) for count in rules.start.board],
            "opening": rules.opening.value,
            "moves": rules.move_flags,
            "utility": [int(points) for points in rules.utility],
            "seed": settings.seed,
            "variance_reduction": settings.variance_reduction,
            "bearoff": BEAROFF_VERSION if settings.uses_bearoff else None,
        }
    )
    test = MatchTest(request.games // 2, request.looks, request.margin)
    return MatchQuestion(a, b, request.level_a, request.level_b, settings, test, series)


@dataclass(frozen=True, slots=True)
class MatchProgress:
    """Where a match stands."""

    games_done: int
    games: int
    tally: PairTally
    """Of the pairs that are complete from the first one on."""
    estimate: Estimate
    interval: tuple[float, float]
    computed: int
    """Games played in this run."""


OnProgress = Callable[[MatchProgress], None]


class MatchRun:
    """One match from question to report."""

    def __init__(self, question: MatchQuestion, store: Store) -> None:
        self._question = question
        self._store = store
        self._rows = np.zeros((question.test.pairs, PAIR_ROW), dtype=np.int32)
        self._known: list[TrialRange] = []
        self._tally = PairTally()
        """Of the first pairs, up to the last look that could be judged or as far as they are complete."""
        self._look = 0
        self._verdict: Verdict | None = None
        """None until the match has ended."""

    def run(self, executor_for: Callable[[], Executor], on_progress: OnProgress) -> MatchReport:
        """Answer the question.

        Args:
            executor_for: called only if something has to be played.
            on_progress: called after every block.
        """
        started = time.perf_counter()
        for pairs, payload in self._store.blocks(self._question.series).items():
            if len(payload) != pairs.count * PAIR_ROW * 4:
                raise InternalError(f"block {pairs} of series {self._question.series} has {len(payload)} bytes")
            self._add(pairs, np.frombuffer(payload, dtype="<i4").reshape(pairs.count, PAIR_ROW))
        self._advance()
        before = list(self._known)
        provenance = MatchProvenance(
            series=self._question.series,
            executor="none",
            workers=0,
            games_from_cache=0,
            retries=0,
            versions=versions(),
            seconds=0.0,
            games_per_second=0.0,
        )
        computed = retries = 0
        on_progress(self._progress(computed))
        if self._verdict is None:
            executor = executor_for()
            described = str(executor.describe().get("executor", "unknown"))
            provenance = provenance.model_copy(update={"executor": described, "workers": executor.workers})
            b = self._question.b
            spec = match_workers(self._question.a.nets, None if isinstance(b, GnubgOpponent) else b.nets)
            with closing(executor.map_unordered(spec, self._tasks())) as results:
                for completed in results:
                    pairs = TrialRange(completed.task.first, completed.task.count)
                    rows = np.ascontiguousarray(completed.output, dtype="<i4")
                    self._store.put_block(self._question.series, pairs, rows.tobytes())
                    self._add(pairs, rows)
                    self._advance()
                    retries += completed.attempts - 1
                    computed += 2 * pairs.count
                    on_progress(self._progress(computed))
                    if self._verdict is not None:
                        break
        if self._verdict is None:
            raise InternalError("the executor ended before all pairs were there")
        counted = TrialRange(0, self._question.test.pairs_at(self._look))
        played = sum(gap.count for gap in missing_ranges(before, counted))
        seconds = time.perf_counter() - started
        return MatchReport(
            result=make_result(self._question, self._tally, self._look, self._verdict),
            provenance=provenance.model_copy(
                update={
                    "games_from_cache": 2 * (counted.count - played),
                    "retries": retries,
                    "seconds": seconds,
                    "games_per_second": computed / seconds,
                }
            ),
        )

    def _tasks(self) -> Iterator[MatchTask]:
        """Missing pairs in their order, for as long as the match goes on; asked for more while a look still waits for
        its last pairs, it goes on beyond.
        """
        for gap in missing_ranges(list(self._known), TrialRange(0, self._question.test.pairs)):
            for pairs in cut(gap, self._question.block):
                if self._verdict is not None:
                    return
                yield self._question.task(pairs)

    def _add(self, pairs: TrialRange, rows: PairRows) -> None:
        """Take in the rows of a range; what lies beyond the question's pairs is left out."""
        stop = min(pairs.stop, len(self._rows))
        if stop > pairs.first:
            self._rows[pairs.first : stop] = rows[: stop - pairs.first]
            self._known = joined([*self._known, pairs])

    def _advance(self) -> None:
        """Count the pairs that are complete from the first one on, and judge every look on the way."""
        test = self._question.test
        while self._verdict is None:
            complete = self._known[0].stop if self._known and self._known[0].first == 0 else 0
            target = test.pairs_at(self._look + 1)
            stop = min(complete, target)
            if stop > self._tally.pairs:
                self._tally = self._tally.merge(PairTally.of(self._rows[self._tally.pairs : stop]))
            if self._tally.pairs < target:
                return
            self._look += 1
            verdict = test.judge(self._estimate(), self._look)
            if verdict is not Verdict.UNDECIDED or self._look == test.looks:
                self._verdict = verdict

    def _estimate(self) -> Estimate:
        return self._tally.reduced if self._question.settings.variance_reduction else self._tally.raw

    def _progress(self, computed: int) -> MatchProgress:
        test = self._question.test
        estimate = self._estimate()
        done = sum(min(pairs.stop, test.pairs) - pairs.first for pairs in self._known)
        look = min(self._look + 1, test.looks) if self._verdict is None else self._look
        return MatchProgress(2 * done, 2 * test.pairs, self._tally, estimate, test.interval(estimate, look), computed)


def make_result(question: MatchQuestion, tally: PairTally, look: int, verdict: Verdict) -> MatchResult:
    """The exact part of the answer: a function of the question and its pairs."""
    test, settings = question.test, question.settings
    b = question.b
    if isinstance(b, GnubgOpponent):
        other = MatchPlayer(name=f"gnubg {b.version}", net=None, level=question.level_b)
    else:
        other = MatchPlayer(name=b.name, net=b.nets.digest, level=question.level_b)

    def estimate(found: Estimate) -> MatchEstimate:
        return MatchEstimate(points=found.mean, se=found.se, interval95=test.interval(found, look))

    lost3, lost2, lost1, unfinished, won1, won2, won3 = tally.results
    luck = tally.mean_luck if settings.variance_reduction else Estimate(0.0, 0.0)
    return MatchResult(
        a=MatchPlayer(name=question.a.name, net=question.a.nets.digest, level=question.level_a),
        b=other,
        rules=settings.rules.name,
        seed=settings.seed,
        games=tally.games,
        look=look,
        looks=test.looks,
        margin=test.margin,
        verdict=verdict,
        estimate=estimate(tally.reduced if settings.variance_reduction else tally.raw),
        raw=estimate(tally.raw),
        luck=luck.mean,
        luck_se=luck.se,
        coefficient=tally.coefficient,
        variance_reduction=settings.variance_reduction,
        bearoff=settings.uses_bearoff,
        results=MatchResults(
            wins=won1 + won2 + won3,
            gammons=won2,
            backgammons=won3,
            losses=lost1 + lost2 + lost3,
            gammons_lost=lost2,
            backgammons_lost=lost3,
            unfinished=unfinished,
        ),
    )
