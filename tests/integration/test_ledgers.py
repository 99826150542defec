"""The farm's books, in memory and on a real server: both must keep the same promises."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
import redis

from cluster.embedded_redis import EmbeddedRedis
from cluster.ledger import Completion, EventKind, JobQuery, Ledger, Submission
from cluster.memory_ledger import MemoryLedger
from cluster.redis_ledger import RedisLedger, open_ledger
from cluster.scheduling import Priority
from cluster.settings import Settings
from cluster.store import JobKind, JobState, TrialRange
from engine.errors import InfrastructureError


@pytest.fixture(scope="module")
def server_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with EmbeddedRedis(tmp_path_factory.mktemp("server")) as server:
        yield server.url


@pytest.fixture(params=["memory", "redis"])
def ledger(request: pytest.FixtureRequest) -> Iterator[Ledger]:
    if request.param == "memory":
        yield MemoryLedger()
        return
    url = request.getfixturevalue("server_url")
    with redis.Redis.from_url(url) as client:
        client.flushall()
    found = RedisLedger(url)
    yield found
    found.close()


def question(number: int, **changes: object) -> Submission:
    fields: dict[str, object] = {
        "kind": JobKind.ROLLOUT,
        "key": f"{number:08x}",
        "request": '{"position": "…"}',
        "client": "anna",
        "priority": Priority.NORMAL,
    }
    return Submission(**(fields | changes))  # type: ignore[arg-type]


def submit(ledger: Ledger, number: int, now: float = 100.0, **changes: object) -> str:
    return ledger.submit([question(number, **changes)], now)[0].job


def test_a_submission_is_a_queued_job_with_all_its_fields(ledger: Ledger) -> None:
    job = ledger.get_job(submit(ledger, 1, now=123.25, priority=Priority.BULK))
    assert job is not None
    assert (job.state, job.kind, job.client, job.priority) == (JobState.QUEUED, JobKind.ROLLOUT, "anna", Priority.BULK)
    assert (job.created, job.updated, job.key, job.events) == (123.25, 123.25, "00000001", 1)
    assert job.request == '{"position": "…"}'
    assert ledger.open_ids() == [job.id]


def test_a_submission_tells_the_job_as_it_is(ledger: Ledger) -> None:
    (first,) = ledger.submit([question(1)], 1.0)
    assert first.record == ledger.get_job(first.job)
    ledger.start(first.job, 7, 2.0)
    (again, other) = ledger.submit([question(1), question(2)], 3.0)
    assert again.record == ledger.get_job(first.job)
    assert again.record is not None
    assert again.record.state is JobState.RUNNING
    assert other.record == ledger.get_job(other.job)


def test_the_same_question_is_the_same_job_while_it_is_open_and_when_it_is_done(ledger: Ledger) -> None:
    (first,) = ledger.submit([question(1)], 1.0)
    (again,) = ledger.submit([question(1, client="ben")], 2.0)
    assert first.created
    assert not again.created
    assert again.job == first.job
    ledger.start(first.job, 1, 3.0)
    ledger.put_result("00000001", b"answer")
    ledger.finish(first.job, JobState.DONE, 4.0)
    assert ledger.submit([question(1)], 5.0)[0] == again
    assert ledger.open_ids() == []


def test_a_job_that_several_clients_asked_for_ends_when_the_last_one_leaves(ledger: Ledger) -> None:
    job = submit(ledger, 1)
    ledger.submit([question(1, client="ben")], 2.0)
    assert ledger.leave(job, "eve", 3.0) is None
    assert ledger.leave(job, "anna", 3.0) == 1
    assert ledger.leave(job, "anna", 3.0) is None
    assert ledger.open_ids() == [job]
    assert ledger.leave(job, "ben", 4.0) == 0
    record = ledger.get_job(job)
    assert record is not None
    assert (record.state, record.message, record.code) == (JobState.CANCELLED, "by ben", "cancelled")
    assert ledger.leave(job, "ben", 5.0) == 0
    assert [event.kind for event in ledger.events(job)] == [EventKind.QUEUED, EventKind.CANCELLED]


def test_a_job_that_is_done_stays_done_whoever_leaves(ledger: Ledger) -> None:
    job = submit(ledger, 1)
    ledger.finish(job, JobState.DONE, 2.0)
    assert ledger.leave(job, "anna", 3.0) == 0
    assert ledger.get_job(job).state is JobState.DONE  # type: ignore[union-attr]


def test_jobs_that_are_forgotten_leave_the_list(server_url: str) -> None:
    ledger = RedisLedger(server_url)
    with redis.Redis.from_url(server_url) as client:
        client.flushall()
        jobs = [submit(ledger, number, now=float(number + 1)) for number in range(3)]
        assert ledger.tidy() == 0
        client.delete(f"gammonfarm:1:job:{jobs[1]}")
        assert ledger.tidy() == 1
        assert client.zcard("gammonfarm:1:jobs") == 2
    assert [job.id for job in ledger.find_jobs(JobQuery()).jobs] == [jobs[2], jobs[0]]
    ledger.close()


def test_jobs_that_stay_for_ever_do_not_keep_others_in_the_list(server_url: str) -> None:
    """As those of commands that work for themselves."""
    ledger = RedisLedger(server_url)
    with redis.Redis.from_url(server_url) as client:
        client.flushall()
        jobs = [submit(ledger, number, now=float(number + 1)) for number in range(7)]
        for job in jobs[3:6]:
            client.delete(f"gammonfarm:1:job:{job}")
        assert [ledger.tidy(most=2) for _ in range(6)] == [0, 1, 2, 0, 0, 0]
        client.delete(f"gammonfarm:1:job:{jobs[0]}")
        assert sum(ledger.tidy(most=2) for _ in range(3)) == 1
        assert client.zrange("gammonfarm:1:jobs", 0, -1) == [job.encode() for job in (jobs[1], jobs[2], jobs[6])]
    ledger.close()


@pytest.mark.parametrize("end", [None, JobState.DONE, JobState.CANCELLED])
def test_a_question_that_was_forgotten_before_its_job_harms_neither(server_url: str, end: JobState | None) -> None:
    """It is kept from its last submission on, the job from its end on: for a while only one of them is there."""
    ledger = RedisLedger(server_url)
    with redis.Redis.from_url(server_url) as client:
        client.flushall()
        job = submit(ledger, 1)
        ledger.start(job, 10, 2.0)
        for done in range(3):
            ledger.note(job, done, 10, {}, 3.0)
        if end is JobState.DONE:
            ledger.put_result("00000001", b"answer")
        if end is not None:
            ledger.finish(job, end, 4.0)
        client.delete("gammonfarm:1:question:00000001")
    for _ in range(2):
        (found,) = ledger.submit([question(1)], 5.0)
    assert (found.job == job) == (end is not JobState.CANCELLED)
    assert ledger.start(found.job, 10, 6.0) == (end is JobState.CANCELLED)
    kinds = [event.kind for event in ledger.events(job)]
    assert kinds[:3] == [EventKind.QUEUED, EventKind.STARTED, EventKind.PROGRESS]
    assert len(kinds) == 5 + (end is not None)
    ledger.close()


def test_an_embedded_server_that_is_killed_is_started_again_with_all_that_was_written(tmp_path: Path) -> None:
    with open_ledger(Settings(home=tmp_path)) as ledger:
        job = submit(ledger, 1)
        before = int((tmp_path / "redis" / "server.pid").read_text())
        os.kill(before, signal.SIGKILL)
        deadline = time.monotonic() + 30
        found: list[str] = []
        while found != [job] and time.monotonic() < deadline:
            with contextlib.suppress(InfrastructureError):
                found = ledger.open_ids()
        assert found == [job]
        assert int((tmp_path / "redis" / "server.pid").read_text()) != before


def test_a_server_that_another_command_started_again_is_as_safe_as_before(tmp_path: Path) -> None:
    with EmbeddedRedis(tmp_path, safe=True) as served:
        killed = served.pid
        assert killed is not None
        os.kill(killed, signal.SIGKILL)
        with EmbeddedRedis(tmp_path) as command:
            assert command.pid != killed
            assert not served.revive()
            with redis.Redis.from_url(served.url) as client:
                assert client.config_get("appendfsync") == {"appendfsync": "always"}


def test_a_full_disk_is_named_and_the_server_comes_back_when_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with EmbeddedRedis(tmp_path, safe=True) as server:
        ledger = RedisLedger(server.url, server.trouble)
        job = submit(ledger, 1)
        assert server.pid is not None
        os.kill(server.pid, signal.SIGKILL)
        with monkeypatch.context() as patch:
            patch.setattr("shutil.disk_usage", lambda path: SimpleNamespace(free=1000))
            with pytest.raises(InfrastructureError, match="is full"):
                ledger.open_ids()
            with pytest.raises(InfrastructureError, match="is full"):
                server.revive()
        assert server.revive()
        assert not server.revive()
        assert ledger.open_ids() == [job]
        ledger.close()


def test_settings_of_a_server_that_could_lose_jobs_are_named(server_url: str) -> None:
    ledger = RedisLedger(server_url)
    with redis.Redis.from_url(server_url) as client:
        assert ledger.risks() == []
        try:
            client.config_set("maxmemory-policy", "allkeys-lru")
            assert ledger.risks() == []  # without a limit nothing is forgotten
            client.config_set("maxmemory", 2**40)
            client.config_set("appendonly", "no")
            forgets, volatile = ledger.risks()
        finally:
            client.config_set("maxmemory", 0)
            client.config_set("maxmemory-policy", "noeviction")
            client.config_set("appendonly", "yes")
    assert "allkeys-lru" in forgets
    assert "memory only" in volatile
    ledger.close()


def test_a_server_that_refuses_to_write_says_why_and_goes_on_when_it_can(server_url: str) -> None:
    ledger = RedisLedger(server_url)
    with redis.Redis.from_url(server_url) as client:
        client.flushall()
        client.config_set("maxmemory", 1)
        try:
            for refused in (ledger.probe, lambda: submit(ledger, 1), lambda: ledger.put_status(b"x")):
                with pytest.raises(InfrastructureError, match=r"maxmemory|OOM"):
                    refused()
            assert ledger.open_ids() == []
        finally:
            client.config_set("maxmemory", 0)
    ledger.probe()
    job = submit(ledger, 1)
    assert ledger.open_ids() == [job]
    ledger.close()


@pytest.mark.parametrize("end", [JobState.FAILED, JobState.CANCELLED])
def test_a_question_whose_job_failed_or_was_cancelled_is_a_new_job(ledger: Ledger, end: JobState) -> None:
    first = submit(ledger, 1)
    ledger.finish(first, end, 2.0)
    second = submit(ledger, 1)
    assert second != first
    assert ledger.get_job(first).state is end  # type: ignore[union-attr]
    assert ledger.open_ids() == [second]


def test_a_question_whose_answer_has_been_forgotten_is_a_new_job(ledger: Ledger) -> None:
    first = submit(ledger, 1)
    ledger.finish(first, JobState.DONE, 2.0)
    assert submit(ledger, 1) != first


def test_a_batch_keeps_its_order_and_knows_what_is_new(ledger: Ledger) -> None:
    old = submit(ledger, 3)
    found = ledger.submit([question(i) for i in (5, 3, 4, 5)], 10.0)
    assert [s.created for s in found] == [True, False, True, False]
    assert found[1].job == old
    assert found[0].job == found[3].job
    assert ledger.open_ids() == [old, found[0].job, found[2].job]
    orders = [job.order for job in ledger.get_jobs(ledger.open_ids()) if job]
    assert orders == sorted(orders)


def test_a_job_ends_once_and_its_final_event_is_its_last(ledger: Ledger) -> None:
    job = submit(ledger, 1)
    assert ledger.start(job, 7, 1.0)
    assert not ledger.start(job, 7, 1.5)
    assert ledger.note(job, 3, 7, {"se": 0.25}, 2.0)
    assert ledger.finish(job, JobState.DONE, 3.0, report="{}")
    assert not ledger.finish(job, JobState.CANCELLED, 4.0)
    assert not ledger.finish(job, JobState.DONE, 4.0)
    assert not ledger.note(job, 4, 7, {}, 5.0)
    assert not ledger.prioritise(job, Priority.BULK, 5.0)
    events = ledger.events(job)
    assert [e.kind for e in events] == [EventKind.QUEUED, EventKind.STARTED, EventKind.PROGRESS, EventKind.DONE]
    assert [e.number for e in events] == [1, 2, 3, 4]
    assert events[2].data == {"done": 3, "total": 7, "se": 0.25}
    assert [e.kind.is_final for e in events] == [False, False, False, True]
    record = ledger.get_job(job)
    assert record is not None
    assert (record.state, record.updated, record.blocks_done, record.report) == (JobState.DONE, 3.0, 3, "{}")


def done(job: str, answer: bytes) -> Completion:
    return Completion(job, "00000001", answer, "{}", done=7, total=7, data={"se": 0.25})


def test_a_job_is_done_together_with_its_answer_and_once(ledger: Ledger) -> None:
    job = submit(ledger, 1)
    ledger.start(job, 7, 1.0)
    assert ledger.complete([], 2.0) == []
    assert ledger.complete([done(job, b"answer"), done("never", b"answer")], 2.0) == [True, False]
    assert ledger.complete([done(job, b"answer")], 3.0) == [False]
    assert ledger.get_result("00000001") == b"answer"
    events = ledger.events(job)
    assert [e.kind for e in events] == [EventKind.QUEUED, EventKind.STARTED, EventKind.PROGRESS, EventKind.DONE]
    assert events[2].data == {"done": 7, "total": 7, "se": 0.25}
    record = ledger.get_job(job)
    assert record is not None
    assert (record.state, record.updated, record.blocks_done, record.report) == (JobState.DONE, 2.0, 7, "{}")


def test_a_server_without_room_takes_neither_an_answer_nor_its_end(server_url: str) -> None:
    ledger = RedisLedger(server_url)
    with redis.Redis.from_url(server_url) as client:
        client.flushall()
        job = submit(ledger, 1)
        ledger.start(job, 7, 1.0)
        client.config_set("maxmemory", 1)
        try:
            with pytest.raises(InfrastructureError, match=r"maxmemory|OOM"):
                ledger.complete([done(job, b"answer")], 2.0)
        finally:
            client.config_set("maxmemory", 0)
    assert ledger.get_result("00000001") is None
    assert [e.kind for e in ledger.events(job)] == [EventKind.QUEUED, EventKind.STARTED]
    assert ledger.complete([done(job, b"answer")], 3.0) == [True]
    ledger.close()


def test_a_failure_says_why_in_the_record_and_in_the_event(ledger: Ledger) -> None:
    job = submit(ledger, 1)
    ledger.finish(job, JobState.FAILED, 3.0, message="it – broke", code="quarantined")
    record = ledger.get_job(job)
    assert record is not None
    assert (record.message, record.code) == ("it – broke", "quarantined")
    assert ledger.events(job)[-1].data == {"message": "it – broke", "code": "quarantined"}


def test_steps_of_an_unknown_job_do_nothing(ledger: Ledger) -> None:
    assert not ledger.start("never", 1, 1.0)
    assert not ledger.finish("never", JobState.DONE, 1.0)
    assert ledger.events("never") == []
    assert ledger.get_jobs(["never"]) == [None]


def test_events_go_on_after_a_number(ledger: Ledger) -> None:
    job = submit(ledger, 1)
    ledger.start(job, 9, 1.0)
    for done in range(1, 6):
        ledger.note(job, done, 9, {}, 2.0)
    assert [e.number for e in ledger.events(job, after=4)] == [5, 6, 7]
    assert [e.number for e in ledger.events(job, after=2, limit=2)] == [3, 4]


def test_the_feed_has_the_events_of_all_jobs_since_a_mark(ledger: Ledger) -> None:
    submit(ledger, 1)
    nothing, mark = ledger.feed(None)
    assert nothing == []
    second = submit(ledger, 2)
    ledger.prioritise(second, Priority.INTERACTIVE, 1.0)
    events, later = ledger.feed(mark)
    assert [(e.job, e.number, e.kind) for e in events] == [
        (second, 1, EventKind.QUEUED),
        (second, 2, EventKind.PRIORITY),
    ]
    assert events[1].data == {"priority": "interactive"}
    assert ledger.feed(later) == ([], later)
    record = ledger.get_job(second)
    assert record is not None
    assert record.priority is Priority.INTERACTIVE


def test_a_reader_of_the_feed_is_woken(ledger: Ledger) -> None:
    _, mark = ledger.feed(None)
    found: list[str] = []
    reader = threading.Thread(target=lambda: found.extend(e.job for e in ledger.feed(mark, wait=4.0)[0]))
    reader.start()
    job = submit(ledger, 1)
    reader.join()
    assert found == [job]


def test_jobs_are_found_by_what_they_are_the_latest_first(ledger: Ledger) -> None:
    ids = [submit(ledger, i, now=100.0 + i, client="anna" if i % 2 else "ben") for i in range(6)]
    ledger.finish(ids[5], JobState.CANCELLED, 200.0)

    def found(**fields: object) -> list[str]:
        return [job.id for job in ledger.find_jobs(JobQuery(**fields)).jobs]  # type: ignore[arg-type]

    assert found() == ids[::-1]
    assert found(client="anna") == [ids[5], ids[3], ids[1]]
    assert found(client="anna", state=JobState.QUEUED) == [ids[3], ids[1]]
    assert found(before=103.0) == [ids[2], ids[1], ids[0]]
    assert found(limit=2) == [ids[5], ids[4]]
    assert found(kind=JobKind.TRAIN) == []


def test_a_search_that_looks_at_many_jobs_says_where_to_go_on(server_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cluster.redis_ledger._PAGE", 4)
    monkeypatch.setattr("cluster.redis_ledger._MOST_PAGES", 2)
    with redis.Redis.from_url(server_url) as client:
        client.flushall()
    ledger = RedisLedger(server_url)
    for i in range(21):
        submit(ledger, i, now=100.0 + i, client="ben" if i in (1, 2, 13) else "anna")
    met: list[str] = []
    before, pages = None, 0
    while pages == 0 or before is not None:
        found = ledger.find_jobs(JobQuery(client="ben", before=before))
        met += [job.id for job in found.jobs]
        before, pages = found.before, pages + 1
    assert met == ["0000000d", "00000002", "00000001"]
    assert pages == 3
    assert ledger.find_jobs(JobQuery(client="ben", limit=1)).before == 113.0
    ledger.close()


def test_states_are_told_without_the_jobs(ledger: Ledger) -> None:
    first, second = submit(ledger, 1), submit(ledger, 2)
    ledger.finish(second, JobState.FAILED, 2.0)
    assert ledger.get_states([second, "0000ffff", first]) == [JobState.FAILED, None, JobState.QUEUED]
    assert ledger.get_states([]) == []


def test_a_duty_has_one_holder_who_can_renew_it_and_give_it_back(ledger: Ledger) -> None:
    assert ledger.lease("coordinator", "a", 30.0)
    assert ledger.lease("coordinator", "a", 30.0)
    assert not ledger.lease("coordinator", "b", 30.0)
    assert ledger.lease("another", "b", 30.0)
    ledger.release("coordinator", "b")
    assert not ledger.lease("coordinator", "b", 30.0)
    ledger.release("coordinator", "a")
    assert ledger.lease("coordinator", "b", 30.0)


def test_a_duty_that_is_not_renewed_falls_to_another(ledger: Ledger) -> None:
    assert ledger.lease("coordinator", "a", 0.001)
    while not ledger.lease("coordinator", "b", 30.0):
        pass
    assert not ledger.lease("coordinator", "a", 30.0)


def test_blocks_are_written_together_and_the_first_write_wins(ledger: Ledger) -> None:
    ledger.put_blocks([])
    ledger.put_blocks([("s", TrialRange(0, 36), b"one"), ("t", TrialRange(0, 36), b"two")])
    ledger.put_blocks([("s", TrialRange(0, 36), b"other"), ("s", TrialRange(36, 36), b"three")])
    assert ledger.blocks("s") == {TrialRange(0, 36): b"one", TrialRange(36, 36): b"three"}
    assert ledger.blocks("t") == {TrialRange(0, 36): b"two"}


def test_status_and_batches_are_remembered(ledger: Ledger) -> None:
    assert ledger.get_status() is None
    ledger.put_status(b"{}")
    assert ledger.get_status() == b"{}"
    assert ledger.get_batch("b") is None
    ledger.put_batch("b", ["x", "y", "x"])
    assert ledger.get_batch("b") == ["x", "y", "x"]


def test_books_that_are_away_say_so() -> None:
    ledger = RedisLedger("redis://127.0.0.1:1/0")
    with pytest.raises(InfrastructureError, match=r"127\.0\.0\.1:1"):
        ledger.submit([question(1)], 1.0)
