"""Running a rollout: the answer depends on the question alone, and no finished trial is computed twice.

Positions are short bear-offs without the databases, whose games last a few half-moves, or trials are cut short.
"""

from __future__ import annotations

import dataclasses
import json
import random
from collections.abc import Callable, Generator, Iterable
from typing import Any

import numpy as np
import pytest
from nets import random_filter, random_net

from cluster.cli.options import chosen_nets
from cluster.coordinator import RolloutRun
from cluster.executor import Completed, Executor, InlineExecutor
from cluster.planner import RolloutQuestion, plan
from cluster.rollout_progress import Progress
from cluster.schemas import RolloutReport, RolloutRequest, RolloutResult
from cluster.store import JobRecord, JobState, MemoryStore, TrialRange
from engine.errors import InfrastructureError, InternalError
from engine.evaluator import Evaluator, Nets
from engine.rollout import Roller
from engine.stopping import StopReason
from engine.tally import Tally
from workers.spec import WorkerSpec

# X has two checkers on each of his three lowest points, O on his; X to play 2-1.
BEAR_OFF = "XGID=-BBB" + "-" * 18 + "bbb-:0:0:1:21:0:0:0:0:10"
PLAYS = ("2/off 1/off", "3/off", "3/1 2/1")
TRIALS = 216


@pytest.fixture(scope="module")
def nets() -> Nets:
    return chosen_nets(None)


@pytest.fixture(scope="module")
def evaluator(nets: Nets) -> Evaluator:
    return Evaluator(nets)


Finished = Generator[Completed[Any, Any], None, None]


class Watched(InlineExecutor):
    """Counts what is computed; runs the tasks in an order of its own; may die after some of them."""

    def __init__(
        self, shuffle: int | None = None, dies_after: int | None = None, error: BaseException | None = None
    ) -> None:
        super().__init__()
        self.trials = 0
        self.plays: set[str] = set()
        self._shuffle = shuffle
        self._dies_after = dies_after
        self._error = error or InfrastructureError("the farm burnt down")

    def map_unordered(
        self, spec: WorkerSpec[Any, Any], tasks: Iterable[Any]
    ) -> Generator[Completed[Any, Any], None, None]:
        listed = list(tasks)
        if self._shuffle is not None:
            random.Random(self._shuffle).shuffle(listed)
        for number, completed in enumerate(super().map_unordered(spec, listed)):
            if number == self._dies_after:
                raise self._error
            self.trials += completed.task.count * len(completed.task.candidates)
            self.plays.update(completed.task.series)
            yield completed


class Diary(MemoryStore):
    """Remembers every state a job went through."""

    def __init__(self) -> None:
        super().__init__()
        self.written: list[JobRecord] = []

    def put_job(self, job: JobRecord) -> None:
        self.written.append(job)
        super().put_job(job)

    @property
    def states(self) -> list[JobState]:
        return [job.state for job in self.written]


class Run:
    """A rollout and everything it let be seen."""

    def __init__(self, evaluator: Evaluator, store: MemoryStore, **changes: Any) -> None:
        fields: dict[str, Any] = {"position": BEAR_OFF, "plays": PLAYS, "trials": TRIALS, "bearoff": False} | changes
        self.request = RolloutRequest(**fields)
        self.question: RolloutQuestion = plan(self.request, evaluator)
        self.progress: list[Progress] = []
        self._run = RolloutRun(self.request, self.question, evaluator.nets, store)

    def __call__(self, executor: Executor) -> RolloutReport:
        return self._run.run(lambda: executor, self.progress.append)


def no_executor() -> Executor:
    raise AssertionError("an executor was asked for, although everything is known")


Asking = Callable[..., Run]


@pytest.fixture
def ask(evaluator: Evaluator) -> Asking:
    def make(store: MemoryStore, **changes: Any) -> Run:
        return Run(evaluator, store, **changes)

    return make


@pytest.fixture(scope="module")
def reference(evaluator: Evaluator) -> str:
    """The exact part of the answer, computed in the plainest way."""
    return Run(evaluator, MemoryStore(), block=TRIALS)(InlineExecutor()).result.model_dump_json()


# --- the same bytes --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("block", [7, 36, 216, 1000])
def test_the_block_size_changes_no_byte_of_the_result(ask: Asking, reference: str, block: int) -> None:
    assert ask(MemoryStore(), block=block)(InlineExecutor()).result.model_dump_json() == reference


@pytest.mark.parametrize("seed", range(5))
def test_the_order_in_which_blocks_come_back_changes_no_byte_of_the_result(
    ask: Asking, reference: str, seed: int
) -> None:
    report = ask(MemoryStore(), block=10)(Watched(shuffle=seed))
    assert report.result.model_dump_json() == reference


@pytest.mark.parametrize("block", [7, 36, 216])
def test_a_store_that_holds_overlapping_ranges_changes_no_byte_of_the_result(
    ask: Asking, nets: Nets, reference: str, block: int
) -> None:
    store = MemoryStore()
    run = ask(store, block=block)
    roller = Roller(nets)
    ranges = [TrialRange(0, 50), TrialRange(20, 60), TrialRange(20, 20), TrialRange(150, 1), TrialRange(200, 100)]
    for candidate in run.question.candidates[:2]:
        for r in ranges:
            rows = roller.trials(candidate.start, run.question.settings, r.first, r.count)
            store.put_block(candidate.series, r, rows.astype("<i4").tobytes())
    executor = Watched()
    report = run(executor)
    assert report.result.model_dump_json() == reference
    known = 80 + 1 + 16
    assert executor.trials == 3 * TRIALS - 2 * known
    assert report.provenance.trials_from_cache == 2 * known


def test_the_result_has_every_candidate_best_first_on_the_trials_asked_for(reference: str) -> None:
    candidates = json.loads(reference)["candidates"]
    assert {c["play"] for c in candidates} == set(PLAYS)
    assert [c["trials"] for c in candidates] == [TRIALS] * 3
    assert candidates[0]["difference"] == candidates[0]["difference_se"] == 0
    equities = [c["equity"] for c in candidates]
    assert equities == sorted(equities, reverse=True)
    for c in candidates:
        assert c["difference"] == pytest.approx(c["equity"] - equities[0], abs=1e-12)
        assert abs(c["luck"]) <= 4 * c["luck_se"]


def test_other_dice_give_another_result(ask: Asking, reference: str) -> None:
    report = ask(MemoryStore(), seed=2)(InlineExecutor())
    assert report.result.candidates[0].equity != json.loads(reference)["candidates"][0]["equity"]


def test_one_trial_has_an_answer_that_json_can_hold(ask: Asking) -> None:
    result = ask(MemoryStore(), trials=1)(InlineExecutor()).result
    assert all(np.isfinite([c.equity, c.se, c.difference_se, c.luck_se]).all() for c in result.candidates)


# --- nothing twice ---------------------------------------------------------------------------------------------------


def test_the_same_question_again_needs_no_executor(ask: Asking, evaluator: Evaluator, reference: str) -> None:
    store = MemoryStore()
    ask(store)(InlineExecutor())
    for block in (36, 50):
        again = ask(store, block=block)
        report = again._run.run(no_executor, again.progress.append)
        assert report.result.model_dump_json() == reference
        assert report.provenance.blocks_from_cache == report.provenance.blocks == -(-TRIALS // block)
        assert report.provenance.trials_from_cache == 3 * TRIALS
        assert report.timing.trials_per_second == 0
        assert again.progress[-1].blocks_done == again.progress[-1].blocks


def test_the_trials_alone_answer_when_the_finished_result_is_lost(ask: Asking, reference: str) -> None:
    store = MemoryStore()
    ask(store)(InlineExecutor())
    store._results.clear()
    again = ask(store)
    assert again._run.run(no_executor, again.progress.append).result.model_dump_json() == reference


def test_a_stored_result_that_can_not_be_read_is_made_again_from_the_trials(ask: Asking, reference: str) -> None:
    store = MemoryStore()
    run = ask(store)
    run(InlineExecutor())
    store.put_result(run.question.key, b'{"of": "another version"}')
    again = ask(store)
    assert again._run.run(no_executor, again.progress.append).result.model_dump_json() == reference


@pytest.mark.parametrize("block", [36, 50])
def test_more_trials_compute_only_those_that_are_missing(ask: Asking, reference: str, block: int) -> None:
    store = MemoryStore()
    ask(store, trials=108)(InlineExecutor())
    executor = Watched()
    report = ask(store, block=block)(executor)
    assert executor.trials == 3 * 108
    assert report.provenance.trials_from_cache == 3 * 108
    assert report.result.model_dump_json() == reference


def test_fewer_trials_need_no_executor_and_equal_a_run_of_their_own(ask: Asking) -> None:
    store = MemoryStore()
    ask(store)(InlineExecutor())
    fewer = ask(store, trials=100)
    report = fewer._run.run(no_executor, fewer.progress.append)
    assert report.result == ask(MemoryStore(), trials=100)(InlineExecutor()).result


def test_one_more_candidate_computes_only_its_own_trials(ask: Asking, reference: str) -> None:
    store = MemoryStore()
    first = Watched()
    ask(store, plays=PLAYS[:2])(first)
    executor = Watched()
    run = ask(store)
    assert run(executor).result.model_dump_json() == reference
    assert executor.trials == TRIALS
    assert executor.plays == {candidate.series for candidate in run.question.candidates} - first.plays


def test_the_same_position_with_another_cube_takes_the_trials_but_answers_for_itself(ask: Asking) -> None:
    store = MemoryStore()
    ask(store)(InlineExecutor())
    doubled = BEAR_OFF.replace(":0:0:1:21:", ":1:1:1:21:")
    other = ask(store, position=doubled)
    report = other._run.run(no_executor, other.progress.append)
    assert report.result.xgid == doubled


def test_a_corrupt_block_is_computed_again_and_only_it(
    ask: Asking, reference: str, caplog: pytest.LogCaptureFixture
) -> None:
    store = MemoryStore()
    run = ask(store)
    run(InlineExecutor())
    store._results.clear()
    damaged = TrialRange(72, 36)
    stored = store._series[run.question.candidates[1].series]
    stored[damaged] = stored[damaged][:-1] + bytes([stored[damaged][-1] ^ 1])
    executor = Watched()
    report = ask(store)(executor)
    assert executor.trials == 36
    assert "dropped" in caplog.text
    assert report.result.model_dump_json() == reference
    assert report.provenance.blocks_from_cache == 5


def test_a_sound_block_of_the_wrong_size_is_an_error_of_ours_and_never_counted(ask: Asking) -> None:
    store = Diary()
    run = ask(store)
    store.put_block(run.question.candidates[0].series, TrialRange(0, 36), b"too short")
    with pytest.raises(InternalError, match="9 bytes"):
        run(InlineExecutor())
    assert store.states[-1] is JobState.FAILED


# --- the job ---------------------------------------------------------------------------------------------------------


def test_a_job_that_is_answered_ends_done(ask: Asking) -> None:
    store = Diary()
    report = ask(store)(InlineExecutor())
    assert [state for state in store.states if state.is_final] == [JobState.DONE]
    assert store.states[0] is JobState.RUNNING
    last = store.written[-1]
    assert last.state is JobState.DONE
    assert (last.blocks_done, last.blocks_total) == (6, 6)
    assert report.provenance.executor == "inline"


@pytest.mark.parametrize(
    ("error", "state", "message"),
    [
        (InfrastructureError("the farm burnt down"), JobState.FAILED, "the farm burnt down"),
        (ZeroDivisionError("oops"), JobState.FAILED, "ZeroDivisionError('oops')"),
        (KeyboardInterrupt(), JobState.CANCELLED, "interrupted"),
        (SystemExit(143), JobState.CANCELLED, "interrupted"),
    ],
)
def test_a_job_that_is_not_answered_ends_once_with_its_reason(
    ask: Asking, error: BaseException, state: JobState, message: str
) -> None:
    store = Diary()
    with pytest.raises(type(error)):
        ask(store)(Watched(dies_after=2, error=error))
    assert [s for s in store.states if s.is_final] == [state]
    assert store.written[-1].message == message
    assert JobState.RUNNING not in {job.state for job in store.list_jobs()}


def test_an_executor_that_can_not_start_fails_the_job(ask: Asking) -> None:
    store = Diary()
    run = ask(store)

    def away() -> Executor:
        raise InfrastructureError("ray is away")

    with pytest.raises(InfrastructureError, match="ray is away"):
        run._run.run(away, run.progress.append)
    assert store.states[-1] is JobState.FAILED


def test_a_store_that_goes_away_does_not_hide_the_error_that_ended_the_job(ask: Asking) -> None:
    class Vanishing(Diary):
        def put_job(self, job: JobRecord) -> None:
            if job.state.is_final:
                raise InfrastructureError("redis is away")
            super().put_job(job)

    with pytest.raises(InfrastructureError, match="burnt down"):
        ask(Vanishing())(Watched(dies_after=0))


def test_what_was_finished_before_an_executor_died_is_kept_and_reported(ask: Asking, reference: str) -> None:
    store = MemoryStore()
    run = ask(store)
    with pytest.raises(InfrastructureError):
        run(Watched(dies_after=2))
    assert len(store.blocks(run.question.candidates[0].series)) == 2
    executor = Watched()
    report = ask(store)(executor)
    assert executor.trials == 3 * (TRIALS - 72)
    assert report.provenance.blocks_from_cache == 2
    assert report.provenance.trials_from_cache == 3 * 72
    assert report.result.model_dump_json() == reference


def test_tasks_run_again_after_a_lost_worker_are_counted(ask: Asking, reference: str) -> None:
    class Accident(InlineExecutor):
        def map_unordered(self, spec: Any, tasks: Any) -> Finished:
            for number, completed in enumerate(super().map_unordered(spec, tasks)):
                yield dataclasses.replace(completed, attempts=3 if number == 1 else 1)

    report = ask(MemoryStore())(Accident())
    assert report.provenance.retries == 2
    assert report.result.model_dump_json() == reference


@pytest.mark.parametrize("cached", [0, 72, 100])
def test_progress_only_rises_and_ends_with_everything(ask: Asking, cached: int) -> None:
    store = MemoryStore()
    if cached:
        ask(store, trials=cached)(InlineExecutor())
    run = ask(store)
    run(Watched(shuffle=3))
    seen = [(p.blocks_done, p.trials_done) for p in run.progress]
    assert seen[0] == (cached // 36, cached // 36 * 36)
    assert seen == sorted(set(seen))
    assert seen[-1] == (6, TRIALS)
    assert all(p.blocks == 6 and p.blocks_from_cache == cached // 36 for p in run.progress)
    assert all(p.tally.trials == p.trials_done for p in run.progress)


# --- races and stop rules --------------------------------------------------------------------------------------------

# X to play 3-1 by a net that knows nothing, two half-moves deep: some plays are beaten soon, two are close.
RACE_POSITION = "XGID=--ABBBC-B---eB---c-cbb--A-:0:0:1:31:0:0:0:0:10"
RACE: dict[str, Any] = {
    "position": RACE_POSITION,
    "plays": (),
    "candidates": 6,
    "truncate": 2,
    "variance_reduction": False,
    "trials": 432,
    "checkpoint": 72,
}
RULES: dict[str, dict[str, Any]] = {
    "race": {"race": True},
    "race with confidence": {"race": True, "stop_confidence": 0.7},
    "standard error": {"stop_se": 0.02},
    "confidence": {"stop_confidence": 0.7},
    "everything": {"race": True, "stop_confidence": 0.99, "stop_se": 0.012},
}
STOPPED = {
    "race": StopReason.TRIALS,
    "race with confidence": StopReason.CONFIDENCE,
    "standard error": StopReason.STANDARD_ERROR,
    "confidence": StopReason.CONFIDENCE,
    "everything": StopReason.STANDARD_ERROR,
}


class Counting(InlineExecutor):
    """Takes tasks as it needs them and counts their trials."""

    def __init__(self) -> None:
        super().__init__()
        self.trials = 0

    def map_unordered(self, spec: Any, tasks: Any) -> Finished:
        for completed in super().map_unordered(spec, tasks):
            self.trials += completed.task.count * len(completed.task.candidates)
            yield completed


@pytest.fixture(scope="module")
def racer() -> Evaluator:
    """Not the shipped nets: better ones would end other races."""
    return Evaluator(Nets(random_net(9), random_filter(2)))


@pytest.fixture(scope="module")
def race_answers(racer: Evaluator) -> dict[str, str]:
    """The exact part of each answer, computed in the plainest way."""
    return {
        name: Run(racer, MemoryStore(), **RACE, **rules)(InlineExecutor()).result.model_dump_json()
        for name, rules in RULES.items()
    }


@pytest.mark.parametrize("name", RULES)
def test_each_rule_ends_a_rollout_for_its_reason(race_answers: dict[str, str], name: str) -> None:
    result = RolloutResult.model_validate_json(race_answers[name])
    assert result.stop is STOPPED[name]
    trials = [c.trials for c in result.candidates]
    assert trials == sorted(trials, reverse=True)
    assert all(n % 72 == 0 for n in trials)
    assert (max(trials) < 432) is (result.stop is not StopReason.TRIALS)
    assert (min(trials) < max(trials)) is ("race" in name or name == "everything")
    leaders = [c.equity for c in result.candidates if c.trials == max(trials)]
    assert leaders == sorted(leaders, reverse=True)
    assert result.candidates[0].difference == 0


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("block", [7, 36, 216])
def test_a_race_has_the_same_bytes_with_every_block_size(
    racer: Evaluator, race_answers: dict[str, str], name: str, block: int
) -> None:
    report = Run(racer, MemoryStore(), **RACE, **RULES[name], block=block)(InlineExecutor())
    assert report.result.model_dump_json() == race_answers[name]


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("seed", range(3))
def test_a_race_has_the_same_bytes_in_whatever_order_blocks_come_back(
    racer: Evaluator, race_answers: dict[str, str], name: str, seed: int
) -> None:
    report = Run(racer, MemoryStore(), **RACE, **RULES[name], block=20)(Watched(shuffle=seed))
    assert report.result.model_dump_json() == race_answers[name]


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("shuffle", [None, 5])
def test_a_race_that_was_interrupted_goes_on_to_the_same_bytes(
    racer: Evaluator, race_answers: dict[str, str], name: str, shuffle: int | None
) -> None:
    store = MemoryStore()
    for dies_after in (1, 3):
        with pytest.raises(InfrastructureError):
            Run(racer, store, **RACE, **RULES[name], block=24)(Watched(shuffle, dies_after))
    report = Run(racer, store, **RACE, **RULES[name], block=24)(InlineExecutor())
    assert report.result.model_dump_json() == race_answers[name]
    assert report.provenance.trials_from_cache > 0


@pytest.mark.parametrize("name", RULES)
def test_trials_beyond_the_end_of_a_race_do_not_count(
    racer: Evaluator, race_answers: dict[str, str], name: str
) -> None:
    store = MemoryStore()
    Run(racer, store, **RACE | {"trials": 500})(InlineExecutor())
    run = Run(racer, store, **RACE, **RULES[name])
    report = run._run.run(no_executor, run.progress.append)
    assert report.result.model_dump_json() == race_answers[name]
    assert report.provenance.trials == report.provenance.trials_from_cache
    assert report.provenance.trials == sum(c.trials for c in report.result.candidates)


def test_a_race_computes_no_trial_that_does_not_count(racer: Evaluator) -> None:
    for name in RULES:
        executor = Counting()
        report = Run(racer, MemoryStore(), **RACE, **RULES[name])(executor)
        assert executor.trials == report.provenance.trials == sum(c.trials for c in report.result.candidates)
        assert report.provenance.trials_from_cache == 0


def test_a_longer_race_takes_the_trials_of_a_shorter_one(racer: Evaluator, race_answers: dict[str, str]) -> None:
    store = MemoryStore()
    shorter = Run(racer, store, **RACE | {"trials": 216}, race=True)(InlineExecutor())
    executor = Counting()
    report = Run(racer, store, **RACE, race=True)(executor)
    # Another number of looks, another critical value: a candidate may have left the shorter race earlier or later.
    before = {c.play: c.trials for c in shorter.result.candidates}
    reused = sum(min(c.trials, before[c.play]) for c in report.result.candidates)
    assert report.result.model_dump_json() == race_answers["race"]
    assert report.provenance.trials_from_cache == reused > 0
    assert executor.trials == report.provenance.trials - reused


def test_the_same_race_again_needs_no_executor(racer: Evaluator, race_answers: dict[str, str]) -> None:
    store = MemoryStore()
    Run(racer, store, **RACE, race=True)(InlineExecutor())
    again = Run(racer, store, **RACE, race=True)
    report = again._run.run(no_executor, again.progress.append)
    assert report.result.model_dump_json() == race_answers["race"]


def test_who_left_a_race_is_compared_over_the_trials_that_both_have(racer: Evaluator) -> None:
    run = Run(racer, MemoryStore(), **RACE, race=True)
    result = run(InlineExecutor()).result
    starts = {c.play: c.start for c in run.question.candidates}
    roller = Roller(racer.nets)
    rows = {play: roller.trials(start, run.question.settings, 0, 432) for play, start in starts.items()}
    best = result.candidates[0].play
    for c in result.candidates[1:]:
        pair = Tally.of([rows[best][: c.trials], rows[c.play][: c.trials]], run.question.rules)
        assert (c.difference, c.difference_se) == (pair.difference(1, 0).mean, pair.difference(1, 0).se)
        assert (c.equity, c.se) == (pair.equity(1).mean, pair.equity(1).se)
        assert c.coefficient == 1.0


def test_progress_of_a_race_shows_who_is_left(racer: Evaluator) -> None:
    run = Run(racer, MemoryStore(), **RACE, race=True)
    result = run(InlineExecutor()).result
    left = [len(progress.active) for progress in run.progress]
    assert left[0] == 6
    assert left == sorted(left, reverse=True)
    # The verdict after the last trial may still leave some behind, who have them all.
    racing = [len(progress.active) for progress in run.progress if progress.trials_done < 432]
    assert racing[-1] == sum(c.trials == 432 for c in result.candidates)
    assert all(p.tally.candidates == len(p.active) for p in run.progress)


def test_the_coefficient_of_the_variance_reduction_is_told(ask: Asking, reference: str) -> None:
    for c in json.loads(reference)["candidates"]:
        assert 0.2 < c["coefficient"] < 2
        assert c["coefficient"] != 1
    off = ask(MemoryStore(), variance_reduction=False)(InlineExecutor()).result
    assert all(c.coefficient == 1 and c.luck == 0 for c in off.candidates)


def test_with_the_databases_the_same_question_has_another_key_and_next_to_no_error(ask: Asking) -> None:
    store = MemoryStore()
    without = ask(store)
    without(InlineExecutor())
    run = ask(store, bearoff=True)
    result = run(InlineExecutor()).result
    assert result.bearoff
    assert not {c.series for c in run.question.candidates} & {c.series for c in without.question.candidates}
    assert max(c.se for c in result.candidates) < 1e-6
    forced = ask(store, bearoff=True, rules="international+forced-bear-off", plays=(), candidates=1)
    assert forced(InlineExecutor()).result.bearoff is False
