"""Workers come, prove themselves, work, die and are found out."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cluster.roster import (
    DEPTH,
    FIRST_LEASE,
    LATELY,
    LEASE_FLOOR,
    MAX_KILLS,
    MOST_KILLS,
    Assignment,
    Death,
    Roster,
    Standing,
)


def work(job: str = "job", expected: float = 2.0) -> Assignment:
    return Assignment(job, "task", expected)


def golden() -> Assignment:
    return Assignment(None, "golden", 1.0)


def ready(*names: str, recheck_every: int = 0) -> Roster:
    roster = Roster(recheck_every)
    roster.meet(set(names), 0.0)
    for worker in roster.to_prove():
        question = golden()
        roster.assign(worker, question, 0.0)
        roster.finished(worker.name, question, 1.0)
        roster.proved(worker.name)
    return roster


def test_a_worker_gets_no_work_before_its_golden_block_was_right() -> None:
    roster = Roster()
    roster.meet({"w"}, 0.0)
    assert roster.idle() is None
    (worker,) = roster.to_prove()
    question = golden()
    roster.assign(worker, question, 0.0)
    assert roster.idle() is None
    assert roster.to_prove() == []
    roster.finished("w", question, 1.0)
    assert roster.idle() is None
    roster.proved("w")
    assert roster.idle() is worker


def test_a_wrong_golden_block_retires_a_worker_and_its_tasks_go_to_others_without_blame() -> None:
    roster = ready("good", "bad")
    task = work()
    roster.assign(roster.workers["bad"], task, 0.0)
    assert roster.retire("bad") == (task,)
    assert task.kills == 0
    assert roster.workers["bad"].standing is Standing.RETIRED
    for _ in range(DEPTH):
        worker = roster.idle()
        assert worker is not None
        assert worker.name == "good"
        roster.assign(worker, work(), 0.0)
    assert roster.idle() is None
    roster.proved("bad")
    assert roster.idle() is None


def test_workers_are_asked_again_about_as_often_as_configured() -> None:
    roster = ready("w", recheck_every=50)
    asked = 0
    for _ in range(5000):
        task = work()
        roster.assign(roster.workers["w"], task, 0.0)
        asked += roster.finished("w", task, 1.0)
    assert 60 <= asked <= 140


def test_the_task_that_ran_is_blamed_and_the_one_behind_it_only_runs_alone() -> None:
    roster = ready("w")
    ran, waited = work(), work()
    for task in (ran, waited):
        roster.assign(roster.workers["w"], task, 0.0)
    death = roster.died("w", 0.0)
    assert death.again == (ran, waited)
    assert (ran.kills, waited.kills) == (1, 0)
    assert ran.alone
    assert waited.alone


def test_nothing_waits_beside_a_task_that_runs_alone() -> None:
    roster = ready("w")
    suspect = work()
    suspect.alone = True
    roster.assign(roster.workers["w"], suspect, 0.0)
    assert roster.idle() is None


def test_a_task_that_killed_three_workers_is_quarantined_and_not_before() -> None:
    task = work()
    for kills in range(1, MAX_KILLS + 1):
        roster = ready("w")
        roster.assign(roster.workers["w"], task, 0.0)
        death = roster.died("w", 0.0)
        assert task.kills == kills
        assert (task in death.quarantined) == (kills == MAX_KILLS)
        assert (task in death.again) == (kills < MAX_KILLS)


def lost(roster: Roster, task: Assignment, now: float) -> Death:
    """What comes of the death of a new worker that ran it."""
    name = f"w{now}"
    roster.meet({*roster.workers, name}, now)
    roster.proved(name)
    roster.assign(roster.workers[name], task, now)
    return roster.died(name, now)


def test_a_task_gets_more_tries_where_the_other_workers_die_as_well() -> None:
    task, roster = work(), Roster()
    roster.meet({"other"}, 0.0)
    for kills in range(1, MOST_KILLS + 1):
        death = lost(roster, task, float(kills))
        assert (task in death.quarantined) == (kills == MOST_KILLS)
        lost(roster, work(), kills + 0.5)


def test_a_task_that_comes_while_workers_die_all_the_time_has_that_excuse_from_the_beginning() -> None:
    task, roster = work(), Roster()
    roster.meet({"other"}, 0.0)
    lost(roster, work(), 0.0)
    for kills in range(1, MOST_KILLS + 1):
        death = lost(roster, task, float(kills))
        assert (task in death.quarantined) == (kills == MOST_KILLS)


def test_deaths_of_long_ago_are_no_excuse_and_few_among_many_workers_are_none_either() -> None:
    task, roster = work(), Roster()
    for number in range(20):
        lost(roster, work(), float(number))
    roster.meet({f"other{number}" for number in range(10)}, 20.0)
    for kills in range(1, MAX_KILLS + 1):
        death = lost(roster, task, 20.0 + LATELY + kills)
        assert (task in death.quarantined) == (kills == MAX_KILLS)
        lost(roster, work(), 20.5 + LATELY + kills)


def test_a_node_that_was_taken_away_blames_nobody() -> None:
    roster = ready("w")
    task = work()
    roster.assign(roster.workers["w"], task, 0.0)
    assert roster.forget("w").again == (task,)
    assert task.kills == 0


def test_a_silent_worker_is_overdue_after_its_lease_and_a_waiting_task_does_not_count() -> None:
    roster = ready("w")
    roster.workers["w"].done = 10
    for _ in range(2):
        roster.assign(roster.workers["w"], work(), 1000.0)
    assert roster.overdue(1000.0 + LEASE_FLOOR - 1) == []
    assert roster.overdue(1000.0 + LEASE_FLOOR + 1) == ["w"]


def test_a_task_that_may_take_long_is_waited_for() -> None:
    roster = ready("w")
    roster.workers["w"].done = 10
    roster.assign(roster.workers["w"], Assignment("job", "a long match", 2.0, patience=20 * LEASE_FLOOR), 1000.0)
    assert roster.overdue(1000.0 + 20 * LEASE_FLOOR - 1) == []
    assert roster.overdue(1000.0 + 20 * LEASE_FLOOR + 1) == ["w"]


def test_the_first_tasks_of_a_worker_may_take_longer_because_they_compile() -> None:
    roster = Roster()
    roster.meet({"w"}, 0.0)
    roster.assign(roster.workers["w"], golden(), 0.0)
    assert roster.overdue(FIRST_LEASE - 1) == []
    assert roster.overdue(FIRST_LEASE + 1) == ["w"]


@given(st.lists(st.tuples(st.sampled_from("madfxrp"), st.integers(0, 4)), max_size=80))
def test_whatever_happens_only_ready_workers_with_room_are_offered(steps: list[tuple[str, int]]) -> None:
    roster = Roster(recheck_every=0)
    for what, number in steps:
        name = f"w{number}"
        worker = roster.workers.get(name)
        if what == "m":
            roster.meet({*roster.workers, name}, 0.0)
        elif what == "p":
            roster.proved(name)
        elif what == "a" and (found := roster.idle()) is not None:
            roster.assign(found, work(), 0.0)
        elif what == "f" and worker and worker.held:
            roster.finished(name, worker.held[0], 1.0)
        elif what == "d":
            roster.died(name, 0.0)
        elif what == "r":
            roster.retire(name)
        elif what == "x":
            roster.suspect(name)
    offered = roster.idle()
    able = [w for w in roster.workers.values() if w.standing is Standing.READY and len(w.held) < DEPTH and not w.alone]
    assert roster.ready() == sum(w.standing is Standing.READY for w in roster.workers.values())
    assert (offered is None) == (not able)
    assert offered is None or offered in able
    assert set(map(id, roster.to_prove())) == {
        id(w) for w in roster.workers.values() if w.standing is Standing.NEW and not w.held
    }
