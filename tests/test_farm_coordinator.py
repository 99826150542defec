"""The farm's coordinator: every job ends once with the bytes of a calm run, whatever dies.

The rollouts are short bear-offs without the databases, by small random nets.
"""

from __future__ import annotations

import base64
import json
import random
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar, cast

import numpy as np
import pytest
from farm_pools import FlakyLedger, ToyPool
from nets import random_filter, random_net

from cluster.archive.analysis import AnalysedMatch, ArchiveAnalysis
from cluster.archive.files import FoundFile
from cluster.archive.matches import Conditions
from cluster.archive.policy import load_policy
from cluster.bench.farm import SimulatedPool
from cluster.coordinator import RolloutRun
from cluster.deep import planner as deep_planner
from cluster.deep.run import DeepRun
from cluster.deep.schemas import DeepRequest
from cluster.executor import InlineExecutor
from cluster.farm.analyse_job import AnalyseResult
from cluster.farm.coordinator import Farm, FarmOptions
from cluster.farm.desk import Desk
from cluster.farm.pool import InlinePool, PoolBrokenError
from cluster.farm.registry import Kinds, written
from cluster.farm.rollout_job import RolloutJob
from cluster.farm.status import FarmStatus
from cluster.ledger import Change, EventKind, Submission
from cluster.memory_ledger import MemoryLedger
from cluster.planner import plan
from cluster.roster import MAX_KILLS
from cluster.scheduling import Courtesy, Priority
from cluster.schemas import RolloutRequest
from cluster.store import JobKind, JobState, MemoryStore
from engine.analysis.language import Language
from engine.bearoff import Bearoff
from engine.errors import InputError
from engine.evaluator import Evaluator, Nets
from training.positions import ShardTask
from workers.golden import GoldenTask
from workers.rollout import rollout_workers
from workers.tasks import RolloutTask

BEAR_OFF = "XGID=-BBB" + "-" * 18 + "bbb-:0:0:1:21:0:0:0:0:10"
PLAYS = ("2/off 1/off", "3/off")
NETS = Nets(random_net(3), random_filter(3))
KINDS = Kinds()


class Clock:
    """Time that passes only when it is told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Stage:
    """A farm in this process."""

    def __init__(self, ledger: MemoryLedger | None = None, pool: Any = None, **options: Any) -> None:
        self.clock = Clock()
        self.ledger = ledger or MemoryLedger(clock=self.clock)
        self.pool = pool or ToyPool()
        self.desk = Desk(nets=lambda name: NETS)
        self.options: dict[str, Any] = {"golden": False} | options
        self.coordinators = 0
        self.kinds = KINDS
        self.farm = self.coordinator()

    def coordinator(self) -> Farm:
        """One more process that could be in charge."""
        self.coordinators += 1
        options = FarmOptions(owner=f"coordinator {self.coordinators}", **self.options)
        return Farm(self.ledger, self.pool, self.desk, options, kinds=self.kinds, clock=self.clock, wall=self.clock)

    def submit(
        self, priority: Priority = Priority.NORMAL, client: str = "anna", kind: str = "rollout", **fields: Any
    ) -> str:
        of = self.kinds.of(kind)
        if kind == "rollout":
            fields = {"position": BEAR_OFF, "plays": PLAYS, "trials": 144, "bearoff": False} | fields
        request = of.request(**fields)
        key = of.key(request, "shipped", self.desk)
        submission = Submission(JobKind(kind), key, written("shipped", request), client, priority)
        return self.ledger.submit([submission], self.clock())[0].job

    def step(self, seconds: float = 0.3) -> None:
        self.clock.now += seconds
        self.farm.step()

    def until(self, condition: Callable[[], bool], most: int = 3000) -> None:
        for _ in range(most):
            if condition():
                return
            self.step()
        raise AssertionError("it did not happen")

    def finish(self) -> None:
        """Let all jobs end."""
        self.until(lambda: not self.ledger._open)

    def state(self, job: str) -> JobState:
        record = self.ledger._jobs[job]
        return record.state

    def answer(self, job: str) -> bytes | None:
        return MemoryLedger.get_result(self.ledger, self.ledger._jobs[job].key)

    def kinds_of_events(self, job: str) -> list[EventKind]:
        return [event.kind for event in self.ledger._events[job]]


def calm(**fields: Any) -> bytes:
    """The bytes of the same rollout by one command."""
    request = RolloutRequest(**({"position": BEAR_OFF, "plays": PLAYS, "trials": 144, "bearoff": False} | fields))
    run = RolloutRun(request, plan(request, Evaluator(NETS)), NETS, MemoryStore())
    return run.run(InlineExecutor, lambda _: None).result.model_dump_json().encode()


def test_a_rollout_on_the_farm_has_the_bytes_of_the_command() -> None:
    stage = Stage(pool=InlinePool())
    job = stage.submit()
    stage.finish()
    assert stage.state(job) is JobState.DONE
    assert stage.answer(job) == calm()
    events = stage.kinds_of_events(job)
    assert events[:2] == [EventKind.QUEUED, EventKind.STARTED]
    assert [kind.is_final for kind in events].count(True) == 1
    assert events[-1] is EventKind.DONE
    report = json.loads(stage.ledger._jobs[job].report)
    assert report["provenance"]["job"] == job
    assert report["provenance"]["trials"] == 288
    assert report["provenance"]["trials_from_cache"] == 0


@pytest.mark.parametrize("fields", [{"race": True, "checkpoint": 36}, {"trials": 100, "truncate": 4}, {"plays": ()}])
def test_neither_racing_nor_cutting_changes_the_bytes(fields: dict[str, Any]) -> None:
    stage = Stage(pool=ToyPool(4, seed=5))
    job = stage.submit(**fields)
    stage.finish()
    assert stage.answer(job) == calm(**fields)


def test_a_deep_analysis_on_the_farm_has_the_bytes_of_the_command(databases: Bearoff) -> None:
    fields: dict[str, Any] = {"position": BEAR_OFF, "plays": PLAYS, "trials": 720}
    stage = Stage(pool=ToyPool(3, seed=2))
    job = stage.submit(kind="deep", **fields)
    stage.finish()
    question = deep_planner.plan(DeepRequest(**fields), lambda checkers: stage.desk.evaluator("shipped", checkers))
    report = DeepRun(question, NETS, MemoryStore()).run(InlineExecutor, lambda _: None)
    assert stage.answer(job) == report.result.model_dump_json().encode()
    assert json.loads(stage.ledger._jobs[job].report)["provenance"]["trials"] == 2 * 720
    ran = len(stage.pool.ran)
    shared = stage.submit(trials=360, bearoff=True)  # its trials are those of the first half
    stage.finish()
    assert stage.state(shared) is JobState.DONE
    assert len(stage.pool.ran) == ran


RECORD = """1 point match

 Game 1
 Anna : 0                  Ben : 0
  1) 31: 8/5 6/5           42: 24/20 13/11
  2) 64: 24/14             11: 8/7(2) 6/5(2)
"""


def test_a_match_is_analysed_on_the_farm_as_by_the_command(databases: Bearoff, tmp_path: Path) -> None:
    stage = Stage(pool=ToyPool(2))
    job = stage.submit(kind="analyse", text=RECORD, policy="quick", name="ours.mat")
    stage.finish()
    assert stage.state(job) is JobState.DONE
    (tmp_path / "ours.mat").write_text(RECORD)
    command = ArchiveAnalysis(
        Conditions(NETS), load_policy("quick"), Language.ENGLISH, MemoryStore(), InlineExecutor, lambda *_: None
    )
    (found,) = command.run([FoundFile(tmp_path / "ours.mat", "ours.mat")])
    assert isinstance(found, AnalysedMatch)
    alone = AnalyseResult(analysis=found.analysis, tallies=found.tallies)
    assert stage.answer(job) == alone.model_dump_json().encode()
    encoded = base64.b64encode(RECORD.encode()).decode()
    with pytest.raises(InputError, match="either text or base64"):
        stage.submit(kind="analyse", text=RECORD, base64=encoded)
    with pytest.raises(InputError, match="policy"):
        stage.submit(kind="analyse", text=RECORD, policy="/etc/passwd")


def test_a_match_that_takes_minutes_does_not_count_as_hung(databases: Bearoff) -> None:
    stage = Stage(pool=ToyPool(1))
    wait, stage.pool.wait = stage.pool.wait, lambda seconds: []
    stage.step()
    (worker,) = stage.farm.crew.roster.workers.values()
    worker.done = 10  # nothing is compiled any more
    games = "".join(RECORD.partition("\n\n")[2].replace("Game 1", f"Game {number}") for number in range(1, 31))
    job = stage.submit(kind="analyse", text=f"0 point match\n\n{games}", policy="quick")
    for _ in range(8):
        stage.step(seconds=100.0)
    assert stage.pool.deaths == 0
    stage.pool.wait = wait
    stage.finish()
    assert stage.state(job) is JobState.DONE


MATCH = "XGID=-BBB" + "-" * 18 + "bbb-:0:0:1:{dice}:1:2:0:5:10"
CUBEFUL: list[dict[str, Any]] = [
    {"position": BEAR_OFF.replace(":21:", ":00:"), "plays": (), "trials": 72},  # no double and double/take
    {"position": MATCH.format(dice="00"), "plays": (), "trials": 72, "met": "Woolsey"},
    {"position": MATCH.format(dice="21"), "trials": 72, "race": True, "checkpoint": 36},
    {"cube": True, "trials": 72, "truncate": 3},
]


@pytest.mark.parametrize("fields", CUBEFUL)
def test_a_rollout_with_the_cube_has_the_bytes_of_the_command(fields: dict[str, Any]) -> None:
    stage = Stage(pool=ToyPool(3, seed=7))
    job = stage.submit(**fields)
    stage.finish()
    answer = stage.answer(job)
    assert answer == calm(**fields)
    found = json.loads(answer or b"")
    assert found["cubeful"]
    assert (found["cube"] is not None) == (len(found["candidates"]) == 2 and found["candidates"][0]["play"] is None)


def test_blocks_of_a_rollout_with_the_cube_are_kept_and_reused() -> None:
    stage = Stage()
    fields: dict[str, Any] = {"cube": True, "trials": 72}
    stage.submit(**fields)
    stage.finish()
    before = len(stage.pool.ran)
    longer = stage.submit(**fields | {"trials": 108})
    stage.finish()
    assert sum(task.count * len(task.candidates) for task in stage.pool.ran[before:]) == 2 * 36
    assert stage.answer(longer) == calm(**fields | {"trials": 108})


def test_an_evaluation_is_one_task_and_its_answer_is_kept() -> None:
    stage = Stage(pool=InlinePool())
    position = "XGID=-b----E-C---eE---c-e----B-:0:0:1:31:0:0:0:0:10"
    job = stage.submit(kind="evaluate", position=position)
    stage.finish()
    assert stage.state(job) is JobState.DONE
    answer = json.loads(stage.answer(job) or b"")
    assert answer["plays"][0]["play"]
    assert answer["net"] == NETS.digest
    again = Stage(ledger=stage.ledger, pool=ToyPool(0))
    stage.ledger._questions.clear()
    other = again.submit(kind="evaluate", position=position)
    again.finish()
    assert other == job
    assert again.state(other) is JobState.DONE


IMPORTS_OF_A_KIND = """
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar
from pydantic import Field
from cluster.farm.desk import Desk
from cluster.farm.kinds import Size
from cluster.farm.one_task import OneTaskJob
from cluster.planner import content_key
from cluster.scheduling import Courtesy, Priority
from cluster.schemas import Model
from cluster.store import JobKind, Store
from engine.errors import InputError
from engine.ids import parse_position
from engine.xgid import format_xgid
from workers.spec import Weights, WorkerSpec
"""


def test_a_net_is_packed_once_however_many_jobs_play_with_it() -> None:
    packed = rollout_workers(NETS).weights
    assert rollout_workers(Nets(NETS.main, NETS.filter)).weights is packed
    other = rollout_workers(Nets(random_net(4), NETS.filter)).weights
    assert other is not packed
    assert not np.array_equal(other["main.table"], packed["main.table"])


def test_jobs_that_begin_or_end_together_are_written_together() -> None:
    class Counting(MemoryLedger):
        trips: ClassVar[list[int]] = []

        def take(self, steps: Sequence[Change]) -> list[bool]:
            self.trips.append(sum(step.kind is EventKind.STARTED for step in steps))
            return super().take(steps)

    stage = Stage(ledger=Counting())
    jobs = [stage.submit(seed=i, trials=36) for i in range(6)]
    stage.finish()
    assert [stage.kinds_of_events(job)[:2] for job in jobs] == [[EventKind.QUEUED, EventKind.STARTED]] * 6
    assert sum(Counting.trips) == 6
    assert max(Counting.trips) == 6


def test_the_kind_of_job_in_the_documents_works() -> None:
    text = (Path(__file__).resolve().parent.parent / "docs" / "farm.md").read_text(encoding="utf-8")
    source = text.split("```python\n")[1].split("```")[0].replace("JobKind.PIPS", "JobKind.EVALUATE")
    made = ModuleType("pips")
    exec(compile(IMPORTS_OF_A_KIND + source, "docs/farm.md", "exec", dont_inherit=True), made.__dict__)
    stage = Stage()
    stage.kinds = Kinds([made.PipsKind()])
    stage.farm = stage.coordinator()
    job = stage.submit(kind="evaluate", position=BEAR_OFF)
    stage.finish()
    assert json.loads(stage.answer(job) or b"") == {"pips": 12}


def test_two_jobs_with_the_same_candidates_compute_each_trial_once() -> None:
    stage = Stage(pool=ToyPool(4))
    jobs = [stage.submit(trials=trials) for trials in (288, 432)]
    stage.finish()
    assert [stage.answer(job) for job in jobs] == [calm(trials=288), calm(trials=432)]
    trials = sum(task.count * len(task.candidates) for task in stage.pool.ran if isinstance(task, RolloutTask))
    assert trials == 2 * 432


def test_more_trials_only_add_what_is_missing() -> None:
    stage = Stage()
    stage.submit(trials=144)
    stage.finish()
    before = len(stage.pool.ran)
    longer = stage.submit(trials=216)
    stage.finish()
    assert sum(task.count * len(task.candidates) for task in stage.pool.ran[before:]) == 2 * 72
    assert stage.answer(longer) == calm(trials=216)


def test_a_cancelled_job_is_forgotten_and_the_others_go_on() -> None:
    stage = Stage()
    long = stage.submit(trials=100_000)
    for _ in range(4):
        stage.step()
    short = stage.submit(seed=2)
    stage.ledger.finish(long, JobState.CANCELLED, stage.clock())
    stage.finish()
    assert stage.state(long) is JobState.CANCELLED
    assert stage.answer(short) == calm(seed=2)
    stage.step()
    assert stage.farm.crew.roster.held() == 0


def test_a_job_whose_question_no_longer_makes_sense_fails_alone() -> None:
    stage = Stage()
    broken = stage.ledger.submit(
        [Submission(JobKind.ROLLOUT, "k", '{"net":"shipped","request":{}}', "anna", Priority.NORMAL)], 1.0
    )[0].job
    good = stage.submit()
    stage.finish()
    assert (stage.state(broken), stage.ledger._jobs[broken].code) == (JobState.FAILED, "input")
    assert stage.state(good) is JobState.DONE


@pytest.mark.parametrize("part", ["progress", "blocks", "take"])
def test_a_failure_of_ours_in_one_job_ends_that_job_alone(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    right = getattr(RolloutJob, part)

    def broken(self: RolloutJob, *args: Any) -> Any:
        if self._question.settings.seed == 13:
            raise ZeroDivisionError("a mistake")
        return right(self, *args)

    monkeypatch.setattr(RolloutJob, part, broken)
    stage = Stage()
    bad, good = stage.submit(seed=13), stage.submit(seed=2)
    stage.finish()
    record = stage.ledger._jobs[bad]
    assert (record.state, record.code, record.message) == (JobState.FAILED, "internal", "ZeroDivisionError: a mistake")
    assert stage.answer(good) == calm(seed=2)


def test_a_coordinator_that_breaks_down_lets_its_jobs_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """A training's learner is a thread: it must not go on beside that of the next coordinator."""
    closed: list[RolloutJob] = []
    monkeypatch.setattr(RolloutJob, "close", lambda self: closed.append(self))
    stage = Stage()
    stage.submit(trials=10_000)
    stage.until(lambda: stage.farm.crew.roster.held() > 0)

    def broken(seconds: float) -> Any:
        raise PoolBrokenError("ray is gone")

    stage.pool.wait = broken
    with pytest.raises(PoolBrokenError):
        stage.farm.run(threading.Event())
    assert len(closed) == 1
    assert stage.ledger.lease("coordinator", "the next one", 15.0)


def test_a_known_answer_of_a_job_that_is_cancelled_meanwhile_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage()
    stage.submit()
    stage.finish()
    stage.ledger._questions.clear()
    stage.ledger._jobs.clear()
    job = stage.submit()
    get_result = stage.ledger.get_result

    def cancelled_meanwhile(key: str) -> bytes | None:
        stage.ledger.finish(job, JobState.CANCELLED, stage.clock())
        return get_result(key)

    monkeypatch.setattr(stage.ledger, "get_result", cancelled_meanwhile)
    stage.step()
    assert stage.state(job) is JobState.CANCELLED
    assert stage.farm.counters.done == 1


# --- deaths ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_workers_that_die_all_the_time_change_no_byte(seed: int) -> None:
    stage = Stage(pool=ToyPool(4, seed=seed))
    stage.pool.blame = seed % 2 == 0
    jobs = {stage.submit(seed=i, trials=108): calm(seed=i, trials=108) for i in range(5)}
    dice = random.Random(seed)
    for _ in range(400):
        if dice.random() < 0.15:
            stage.pool.die()
        stage.step()
    stage.finish()
    assert stage.pool.deaths > 10
    assert {job: stage.answer(job) for job in jobs} == jobs
    assert all(sum(k.is_final for k in stage.kinds_of_events(job)) == 1 for job in jobs)


def test_a_block_that_kills_three_workers_fails_its_job_and_no_other() -> None:
    def poison(task: Any) -> bool:
        return isinstance(task, RolloutTask) and task.settings.seed == 13 and task.first == 0

    stage = Stage(pool=ToyPool(3, poison=poison))
    others = [stage.submit(seed=i) for i in range(3)]
    deadly = stage.submit(seed=13)
    stage.finish()
    record = stage.ledger._jobs[deadly]
    assert (record.state, record.code) == (JobState.FAILED, "quarantined")
    assert f"killed {MAX_KILLS} workers" in record.message
    assert "trials 0-" in record.message
    assert stage.pool.deaths == MAX_KILLS
    assert [stage.answer(job) for job in others] == [calm(seed=i) for i in range(3)]


def test_a_task_that_raises_fails_its_job_with_the_reason() -> None:
    stage = Stage(pool=InlinePool())
    job = stage.submit()
    stage.desk._nets.clear()

    class Broken:
        def run(self, task: Any) -> Any:
            raise InputError("net", "broken", "a net that works")

    stage.pool._built.of = lambda spec: Broken()  # type: ignore[method-assign]
    stage.finish()
    assert stage.state(job) is JobState.FAILED
    assert stage.ledger._jobs[job].message == "net: 'broken': expected a net that works"


def test_a_worker_that_hangs_is_given_up_and_its_task_runs_elsewhere() -> None:
    pool = ToyPool(2)
    stage = Stage(pool=pool)
    job = stage.submit()
    wait, pool.wait = pool.wait, lambda seconds: []  # type: ignore[method-assign]
    for _ in range(5):
        stage.step()
    assert stage.farm.crew.roster.held() > 0
    stage.step(seconds=10_000.0)
    pool.wait = wait  # type: ignore[method-assign]
    stage.finish()
    assert pool.deaths > 0
    assert stage.answer(job) == calm()


# --- golden blocks ---------------------------------------------------------------------------------------------------


def test_a_worker_that_answers_wrongly_never_gets_work() -> None:
    stage = Stage(pool=ToyPool(3, wrong=lambda name: name == "toy/2"), golden=True)
    job = stage.submit()
    stage.finish()
    assert stage.answer(job) == calm()
    assert stage.farm.crew.roster.retired == 1


def test_a_worker_that_breaks_later_is_found_when_it_is_asked_again() -> None:
    broken: set[str] = set()
    pool = ToyPool(2, wrong=lambda name: name in broken)
    stage = Stage(pool=pool, golden=True, recheck_every=1)
    stage.submit(trials=36)
    stage.finish()
    asked = sum(isinstance(task, GoldenTask) for task in pool.ran)
    assert asked > 2
    stage.until(lambda: stage.farm.crew.roster.ready() == 2)
    broken.update(pool.members())
    for worker in list(stage.farm.crew.roster.workers):
        stage.farm.crew.roster.suspect(worker)
    for _ in range(3):
        stage.step()
    assert stage.farm.crew.roster.retired == 2
    job = stage.submit(seed=2)
    stage.finish()
    assert stage.answer(job) == calm(seed=2)


# --- the ledger, the lease -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_books_that_fail_at_random_lose_nothing_and_double_nothing(seed: int) -> None:
    ledger = FlakyLedger(0.0, seed)
    stage = Stage(ledger=ledger)
    jobs = {stage.submit(seed=i, trials=108): calm(seed=i, trials=108) for i in range(3)}
    ledger.chance = 0.1
    for _ in range(2000):
        stage.step(seconds=1.0)
    ledger.chance = 0.0
    stage.finish()
    assert ledger.failures > 20
    assert {job: stage.answer(job) for job in jobs} == jobs
    assert all(sum(k.is_final for k in stage.kinds_of_events(job)) == 1 for job in jobs)


def test_while_the_books_are_away_finished_blocks_stay_in_hand() -> None:
    ledger = FlakyLedger(0.0, 0)
    stage = Stage(ledger=ledger)
    job = stage.submit(trials=1000)
    stage.until(lambda: stage.farm.crew.roster.held() > 1)
    ledger.away = True
    ran = len(stage.pool.ran)
    for _ in range(50):
        stage.step(seconds=0.1)
    held = len(stage.farm._inbox)
    assert 0 < held <= 2 * 3
    assert len(stage.pool.ran) - ran <= 2 * 3
    ledger.away = False
    stage.finish()
    assert stage.answer(job) == calm(trials=1000)
    status = FarmStatus.model_validate_json(ledger.get_status() or b"")
    assert status.ledger_failures > 0
    assert status.ledger_away_seconds > 0


def test_pauses_grow_while_the_books_are_away() -> None:
    ledger = FlakyLedger(0.0, 0)
    stage = Stage(ledger=ledger)
    ledger.away = True
    for _ in range(600):
        stage.step(seconds=0.1)
    # A minute: with pauses of a quarter second there would be some 300 tries.
    assert 5 <= ledger.failures <= 20


def test_a_coordinator_that_dies_is_followed_by_another_that_goes_on() -> None:
    stage = Stage()
    jobs = {stage.submit(seed=i, trials=2000): calm(seed=i, trials=2000) for i in range(3)}
    second = stage.coordinator()
    stage.until(lambda: len(stage.pool.ran) > 8)
    kept = sum(len(blocks) for blocks in stage.ledger._series.values())
    assert kept
    # It is gone without a word: the lease ends by itself.
    stage.farm = second
    stage.step()
    assert not second._charge.held
    stage.clock.now += 60.0
    ran = len(stage.pool.ran)
    stage.finish()
    assert second._charge.held
    assert {job: stage.answer(job) for job in jobs} == jobs
    assert stage.farm.counters.done == 3
    trials = sum(t.count * len(t.candidates) for t in stage.pool.ran[ran:] if isinstance(t, RolloutTask))
    assert trials < 3 * 2 * 2000


def test_a_coordinator_that_lost_its_lease_stops_working() -> None:
    stage = Stage()
    stage.submit(trials=100_000)
    stage.until(lambda: stage.farm.crew.roster.held() > 0)
    del stage.ledger._leases["coordinator"]
    assert stage.ledger.lease("coordinator", "somebody else", 1000.0)
    for _ in range(40):
        stage.step()
    assert stage.farm.crew.roster.held() == 0
    ran = len(stage.pool.ran)
    for _ in range(20):
        stage.step()
    assert len(stage.pool.ran) == ran


# --- whose turn ------------------------------------------------------------------------------------------------------


def test_an_interactive_job_does_not_wait_behind_a_book() -> None:
    stage = Stage()
    book = stage.submit(Priority.BULK, trials=50_000)
    for _ in range(10):
        stage.step()
    click = stage.submit(Priority.INTERACTIVE, client="ben", seed=9, trials=36)
    ran = len(stage.pool.ran)
    stage.until(lambda: stage.state(click) is JobState.DONE)
    between = [t for t in stage.pool.ran[ran:] if isinstance(t, RolloutTask) and t.settings.seed != 9]
    # What was under way, two on each of three workers; and what those workers took on that could not help, while the
    # first block of the click was measured and its last one ran. In order of arrival it would be all of the book.
    assert len(between) <= 18
    left = 2 * 50_000 - sum(t.count * len(t.candidates) for t in stage.pool.ran if t.settings.seed != 9)
    assert left > 50_000
    assert stage.state(book) is JobState.RUNNING


def waits_of_clicks(courtesy: Courtesy) -> list[float]:
    """Simulated seconds for which each of some clicks, ten seconds apart, waits behind a book on four workers."""
    pool = SimulatedPool(4, trials_per_second=180.0)
    stage = Stage(pool=pool, ledger=MemoryLedger(clock=lambda: pool.now))
    stage.clock = cast("Clock", lambda: pool.now)
    stage.farm = stage.coordinator()
    stage.farm._courtesy = courtesy
    stage.submit(Priority.BULK, trials=1_000_000)
    waits = []
    for number in range(10):
        until = pool.now + 10.0
        while pool.now < until:
            stage.farm.step(0.05)
        pool.now += 0.07 * (number % 10)  # somewhere inside the blocks that run
        asked = pool.now
        click = stage.submit(Priority.INTERACTIVE, client="ben", seed=100 + number, trials=36)
        while stage.state(click) is not JobState.DONE:
            stage.farm.step(0.05)
        waits.append(pool.now - asked - 2 * 36 / 180.0)
    return waits


def test_a_click_waits_for_one_short_block_where_another_came_lately() -> None:
    waits, rude = waits_of_clicks(Courtesy()), waits_of_clicks(Courtesy(seconds=0.0))
    assert max(waits[1:]) <= 1.1
    assert min(rude[1:]) > 2.0


def test_workers_hold_a_block_ahead_again_once_nobody_clicks_any_more() -> None:
    stage = Stage()
    stage.submit(Priority.BULK, trials=1_000_000)
    stage.until(lambda: stage.farm.crew.roster.held() == 6)
    click = stage.submit(Priority.INTERACTIVE, client="ben", seed=9, trials=36)
    stage.until(lambda: stage.state(click) is JobState.DONE)
    for _ in range(5):
        stage.step()
        assert stage.farm.crew.roster.held() <= 3
    stage.step(seconds=61.0)
    stage.step()
    assert stage.farm.crew.roster.held() == 6


def test_a_job_like_one_that_was_measured_begins_on_all_workers_at_once() -> None:
    stage = Stage()
    first = stage.submit(trials=720)
    stage.step()
    assert stage.farm.crew.roster.held() == 1  # the first of its kind is measured
    stage.until(lambda: stage.state(first) is JobState.DONE)
    stage.submit(trials=7200, seed=2)
    stage.step()
    assert stage.farm.crew.roster.held() == 6


def test_jobs_of_one_task_keep_all_workers_busy_however_few_clients_there_are() -> None:
    stage = Stage(pool=ToyPool(12))
    position = "XGID=-b----E-C---eE---c-e----B-:0:0:1:{}:0:0:0:0:10"
    rolls = [f"{high}{low}" for high in range(1, 7) for low in range(1, high + 1)]
    jobs = [
        stage.submit(kind="evaluate", position=position.format(roll), cubeless=cubeless)
        for roll in rolls
        for cubeless in (False, True)
    ]
    stage.step()
    assert stage.farm.crew.roster.held() == 2 * 12
    stage.finish()
    assert {stage.state(job) for job in jobs} == {JobState.DONE}


def test_trials_that_end_in_the_databases_say_nothing_about_others(databases: Bearoff) -> None:
    """Those are over four hundred times as soon: guessed by them, first blocks of others would take minutes."""
    stage = Stage()
    contact = "XGID=-BBB-" + "a" + "-" * 15 + "bba--:0:0:1:21:0:0:0:0:10"

    def likeness(**fields: Any) -> str:
        request = RolloutRequest(**{"position": BEAR_OFF, "trials": 36, "candidates": 2} | fields)
        return KINDS.of("rollout").begin(request, "shipped", stage.desk, stage.ledger).likeness

    assert likeness() == likeness(seed=2, trials=72)
    assert len({likeness(), likeness(bearoff=False), likeness(position=contact), likeness(level=2)}) == 4


def test_a_job_can_be_moved_to_another_class_while_it_waits() -> None:
    stage = Stage()
    for i in range(3):
        stage.submit(trials=20_000, seed=i, client=f"client {i}")
    late = stage.submit(Priority.BULK, seed=7, trials=5_000)
    for _ in range(5):
        stage.step()
    assert stage.ledger.prioritise(late, Priority.INTERACTIVE, stage.clock())
    stage.until(lambda: stage.state(late) is JobState.DONE)
    assert len(stage.ledger._open) == 3


def test_the_status_says_why_workers_are_idle() -> None:
    stage = Stage(pool=ToyPool(0))

    def said() -> FarmStatus:
        stage.step(seconds=2.0)
        return FarmStatus.model_validate_json(stage.ledger.get_status() or b"")

    assert said().idle == "no workers"
    for _ in range(2):
        stage.pool._add()
    assert said().idle == "no jobs"
    stage.submit(trials=100_000)
    busy = [said() for _ in range(4)][-1]
    assert (busy.idle, busy.workers_busy, busy.jobs_running) == ("", 2, 1)
    assert busy.blocks > 0


# --- training --------------------------------------------------------------------------------------------------------


def test_a_training_is_a_job_whose_shards_the_workers_make(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cluster.farm.train_job.data_home", lambda: tmp_path)
    results = []
    for pool in (ToyPool(2), InlinePool()):
        stage = Stage(pool=pool)
        job = stage.submit(kind="train", recipe="quick", generations=2, games_per_shard=4, width=32)
        deadline = time.monotonic() + 120
        while stage.ledger._open and time.monotonic() < deadline:
            time.sleep(0.01)
            stage.step(seconds=1.1)
        assert stage.state(job) is JobState.DONE, stage.ledger._jobs[job].message
        results.append(json.loads(stage.answer(job) or b""))
        (folder,) = (tmp_path / "runs").iterdir()
        assert (folder / "quick.safetensors").exists()
        folder.rename(tmp_path / f"run {len(results)}")
        if isinstance(pool, ToyPool):
            assert sum(isinstance(task, ShardTask) for task in pool.ran) == 4
    # The same bits from two workers in any order as from one.
    assert results[0] == results[1]
    assert results[0]["generations"] == 2
    assert 12 <= results[0]["games"] <= 16  # between random nets a game may not end, and is left out
