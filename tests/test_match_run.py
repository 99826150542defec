"""Running matches: the same answer from any farm, nothing played twice, and an end as soon as it is decided."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from typing import Any

import numpy as np
import pytest
from nets import random_net

from cluster.executor import Completed, InlineExecutor
from cluster.match import MatchProgress, MatchQuestion, MatchRun, NamedNets, plan_match
from cluster.match_schemas import MatchReport, MatchRequest
from cluster.store import MemoryStore, TrialRange
from engine.errors import InputError, InternalError
from engine.evaluator import Nets
from engine.versus import PAIR_ROW
from training.match import PairTally, Verdict
from workers.spec import WorkerSpec
from workers.tasks import GnubgOpponent

A = NamedNets("a", Nets(random_net(3)))
B = NamedNets("b", Nets(random_net(4)))
FAST: dict[str, Any] = {"variance_reduction": False, "bearoff": False}


def question(games: int = 300, a: NamedNets = A, b: NamedNets = B, **changes: Any) -> MatchQuestion:
    return plan_match(MatchRequest(games=games, **(FAST | changes)), a, b)


class Counting(InlineExecutor):
    """Counts the pairs that were played."""

    def __init__(self, fail_after: int | None = None, backwards: bool = False) -> None:
        super().__init__()
        self.ranges: list[TrialRange] = []
        self._fail_after = fail_after
        self._backwards = backwards

    def map_unordered(self, spec: WorkerSpec[Any, Any], tasks: Iterable[Any]) -> Generator[Completed[Any, Any]]:
        if self._backwards:
            tasks = list(tasks)[::-1]
        for completed in super().map_unordered(spec, tasks):
            self.ranges.append(TrialRange(completed.task.first, completed.task.count))
            if self._fail_after is not None and len(self.ranges) > self._fail_after:
                raise KeyboardInterrupt
            yield completed

    @property
    def pairs(self) -> int:
        return sum(r.count for r in self.ranges)


def never() -> InlineExecutor:
    raise AssertionError("nothing was left to play")


def run(
    asked: MatchQuestion,
    store: MemoryStore | None = None,
    executor: Callable[[], InlineExecutor] = InlineExecutor,
    seen: list[MatchProgress] | None = None,
) -> MatchReport:
    progress = [] if seen is None else seen
    return MatchRun(asked, store or MemoryStore()).run(executor, progress.append)


@pytest.fixture(scope="module")
def whole() -> tuple[MemoryStore, MatchReport]:
    """150 pairs in one go."""
    store = MemoryStore()
    return store, run(question(), store)


def test_an_answer_is_made_from_the_pairs_that_are_kept(whole: tuple[MemoryStore, MatchReport]) -> None:
    store, report = whole
    blocks = store.blocks(question().series)
    assert [(r.first, r.count) for r in blocks] == [(0, 50), (50, 50), (100, 50)]
    rows = np.concatenate([np.frombuffer(b, dtype="<i4").reshape(-1, PAIR_ROW) for b in blocks.values()])
    tally = PairTally.of(rows)
    r = report.result
    assert (r.estimate.points, r.estimate.se) == (tally.raw.mean, tally.raw.se)
    assert r.estimate == r.raw
    assert (r.games, r.look, r.looks) == (300, 1, 1)
    g = r.results
    assert g.wins + g.losses + g.unfinished == 300
    won = g.wins + g.gammons + 2 * g.backgammons
    lost = g.losses + g.gammons_lost + 2 * g.backgammons_lost
    assert r.raw.points == pytest.approx((won - lost) / 300)
    assert (report.provenance.executor, report.provenance.games_from_cache) == ("inline", 0)


def test_the_same_question_again_plays_nothing(whole: tuple[MemoryStore, MatchReport]) -> None:
    store, first = whole
    again = run(question(), store, never)
    assert again.result == first.result
    assert (again.provenance.games_from_cache, again.provenance.workers) == (300, 0)


def test_the_order_of_blocks_changes_nothing(whole: tuple[MemoryStore, MatchReport]) -> None:
    executor = Counting(backwards=True)
    assert run(question(), executor=lambda: executor).result == whole[1].result
    assert executor.ranges[0].first == 100


def test_blocks_of_any_size_count(whole: tuple[MemoryStore, MatchReport]) -> None:
    store = MemoryStore()
    rows = np.concatenate([np.frombuffer(b, dtype="<i4") for b in whole[0].blocks(question().series).values()])
    rows = rows.reshape(-1, PAIR_ROW)
    for first, count in ((3, 20), (20, 47)):
        store.put_block(question().series, TrialRange(first, count), rows[first : first + count].tobytes())
    executor = Counting()
    assert run(question(), store, lambda: executor).result == whole[1].result
    assert executor.pairs == 150 - 64
    assert [r.first for r in executor.ranges] == [0, 67, 100]


def test_an_interrupted_match_goes_on_from_the_last_block(whole: tuple[MemoryStore, MatchReport]) -> None:
    store = MemoryStore()
    with pytest.raises(KeyboardInterrupt):
        run(question(), store, lambda: Counting(fail_after=2))
    executor = Counting()
    report = run(question(), store, lambda: executor)
    assert report.result == whole[1].result
    assert (executor.pairs, report.provenance.games_from_cache) == (50, 200)


def test_more_games_only_add_what_is_missing(whole: tuple[MemoryStore, MatchReport]) -> None:
    store = MemoryStore()
    run(question(games=110), store)
    executor = Counting()
    assert run(question(), store, lambda: executor).result == whole[1].result
    assert [(r.first, r.count) for r in executor.ranges] == [(55, 45), (100, 50)]


def test_progress_rises_and_ends_with_the_answer() -> None:
    seen: list[MatchProgress] = []
    report = run(question(), seen=seen)
    assert [p.games_done for p in seen] == [0, 100, 200, 300]
    assert seen[-1].estimate.mean == report.result.estimate.points
    assert seen[-1].interval == report.result.estimate.interval95


def strong_against_weak(**changes: Any) -> MatchQuestion:
    from engine.weights import shipped_net

    return question(1000, NamedNets("strong", Nets(shipped_net())), B, looks=10, **changes)


def test_a_clear_match_ends_at_an_early_look() -> None:
    executor = Counting()
    r = run(strong_against_weak(), executor=lambda: executor).result
    assert r.verdict is Verdict.A_BETTER
    assert (r.look, r.games) == (1, 100)
    assert r.estimate.interval95[0] > 1.0
    # A wider interval than that of a match with one look.
    half = (r.estimate.interval95[1] - r.estimate.interval95[0]) / 2
    assert half == pytest.approx(3.2905 * r.estimate.se, rel=1e-4)
    assert executor.pairs == 50


def test_games_beyond_the_deciding_look_do_not_count() -> None:
    store = MemoryStore()
    run(strong_against_weak(), store)
    pairs = run(question(300, NamedNets("strong", strong_against_weak().a.nets), B), store)
    assert pairs.result.games == 300
    again = run(strong_against_weak(), store, never)
    assert (again.result.games, again.result.verdict) == (100, Verdict.A_BETTER)


def test_players_without_difference_are_equal_within_a_margin() -> None:
    r = run(question(100, A, A, margin=0.01)).result
    assert (r.verdict, r.estimate.points, r.estimate.se) == (Verdict.EQUAL, 0.0, 0.0)
    assert run(question(100, A, A)).result.verdict is Verdict.UNDECIDED


def test_a_damaged_block_is_noticed() -> None:
    store = MemoryStore()
    store.put_block(question().series, TrialRange(0, 10), b"too short")
    with pytest.raises(InternalError, match="bytes"):
        run(question(), store)


def test_the_key_of_a_match_is_all_that_its_pairs_depend_on() -> None:
    same = question().series
    assert question(games=500, looks=2, margin=0.1).series == same
    others = [
        question(a=B).series,
        question(b=A).series,
        question(level_a=2).series,
        question(level_b=2).series,
        question(seed=2).series,
        question(rules="tavla").series,
        question(rules="international+hit-and-run-ban").series,
        question(variance_reduction=True).series,
        question(bearoff=True).series,
        plan_match(MatchRequest(**FAST), A, GnubgOpponent("1.07")).series,
        plan_match(MatchRequest(**FAST), A, GnubgOpponent("1.08")).series,
    ]
    assert len({same, *others}) == len(others) + 1


@pytest.mark.parametrize(
    ("changes", "field"),
    [({"games": 301}, "games"), ({"level_b": 3}, "level-b"), ({"rules": "chess"}, "rules"), ({"looks": 9}, "games")],
)
def test_questions_that_cannot_be_are_refused(changes: dict[str, Any], field: str) -> None:
    with pytest.raises(InputError, match=field):
        question(**changes)


def test_gnubg_plays_by_international_rules_only() -> None:
    with pytest.raises(InputError, match="rules"):
        plan_match(MatchRequest(rules="tavla"), A, GnubgOpponent("1.07"))
    assert plan_match(MatchRequest(level_b=3), A, GnubgOpponent("1.07")).level_b == 3
