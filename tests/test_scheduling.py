"""Whose turn it is, how large blocks are, when a job will be done: on invented jobs whose speed is known."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster.scheduling import (
    JOBS_AT_ONCE,
    MOST_CREDIT,
    SHARES,
    Arrival,
    BlockSizes,
    Courtesy,
    FairQueue,
    Priority,
    Speed,
    Speeds,
)
from engine.errors import InternalError

SECONDS = st.floats(0.25, 4.0)


def serve(queue: FairQueue, turns: int, seconds: float = 1.0) -> dict[str, float]:
    """Give so many blocks away; what each job got."""
    got: dict[str, float] = {}
    for _ in range(turns):
        job = queue.next()
        assert job is not None
        queue.begin(job)
        queue.charge(job, seconds)
        got[job] = got.get(job, 0.0) + seconds
    return got


def queue_of(*jobs: tuple[str, str, Priority]) -> FairQueue:
    queue = FairQueue()
    for order, (job, client, priority) in enumerate(jobs):
        queue.add(job, client, priority, order)
    return queue


@given(st.lists(SECONDS, min_size=1, max_size=40), st.integers(2, 5))
def test_clients_with_work_share_the_farm_equally_whatever_their_blocks_take(blocks: list[float], clients: int) -> None:
    queue = queue_of(*((f"job{c}", f"client{c}", Priority.NORMAL) for c in range(clients)))
    got = dict.fromkeys((f"job{c}" for c in range(clients)), 0.0)
    for turn in range(len(blocks) * clients * 3):
        job = queue.next()
        assert job is not None
        queue.begin(job)
        seconds = blocks[turn % len(blocks)]
        queue.charge(job, seconds)
        got[job] += seconds
    # Nobody is ever more than one block ahead of another.
    assert max(got.values()) - min(got.values()) <= max(blocks) + 1e-6


def test_many_jobs_do_not_give_a_client_a_larger_share() -> None:
    queue = queue_of(
        *((f"a{i}", "many", Priority.NORMAL) for i in range(20)),
        ("b", "one", Priority.NORMAL),
    )
    assert serve(queue, 40)["b"] == pytest.approx(20, abs=1)


def test_an_interactive_job_is_next_although_a_book_has_waited_for_long() -> None:
    queue = queue_of(("book", "publisher", Priority.BULK), ("rollout", "player", Priority.NORMAL))
    serve(queue, 1000)
    queue.add("click", "visitor", Priority.INTERACTIVE, 5000)
    assert queue.next() == "click"


def test_a_book_gets_its_small_share_while_others_are_busy() -> None:
    queue = queue_of(("book", "publisher", Priority.BULK), ("rollout", "player", Priority.NORMAL))
    got = serve(queue, 1100)
    expected = 1100 * SHARES[Priority.BULK] / (SHARES[Priority.BULK] + SHARES[Priority.NORMAL])
    assert got["book"] == pytest.approx(expected, rel=0.02)


def test_who_had_nothing_to_do_gets_no_credit_for_it() -> None:
    queue = queue_of(("old", "early", Priority.NORMAL))
    serve(queue, 500)
    queue.add("new", "late", Priority.NORMAL, 501)
    got = serve(queue, 100)
    assert got["new"] == pytest.approx(50, abs=2)


def test_who_waited_for_long_gets_little_credit_for_it() -> None:
    """As a training whose learner fits for minutes, and has shards to be made after that."""
    queue = queue_of(("training", "lab", Priority.BULK), ("click", "visitor", Priority.INTERACTIVE))
    serve(queue, 4)
    queue.wait("training", True)
    serve(queue, 20_000)
    queue.wait("training", False)
    assert serve(queue, 50)["click"] >= 50 - MOST_CREDIT - 2


def test_a_client_who_waited_for_long_gets_little_credit_for_it() -> None:
    queue = queue_of(("a", "anna", Priority.NORMAL), ("b", "ben", Priority.NORMAL))
    serve(queue, 4)
    queue.wait("a", True)
    serve(queue, 500)
    queue.wait("a", False)
    assert serve(queue, 100)["a"] == pytest.approx(50 + MOST_CREDIT / 2, abs=2)


def test_a_client_works_on_a_few_jobs_at_a_time_in_the_order_they_came() -> None:
    queue = queue_of(*((f"{i:03}", "client", Priority.NORMAL) for i in range(3 * JOBS_AT_ONCE)))
    assert set(serve(queue, 200)) == {f"{i:03}" for i in range(JOBS_AT_ONCE)}
    queue.remove("003")
    assert f"{JOBS_AT_ONCE:03}" in serve(queue, 20)


def test_jobs_that_only_wait_for_their_last_blocks_leave_room_for_others() -> None:
    names = [f"{i:03}" for i in range(3 * JOBS_AT_ONCE)]
    queue = queue_of(*((name, "client", Priority.NORMAL) for name in names))
    begun = []
    for _ in range(2 * JOBS_AT_ONCE):
        (job,) = serve(queue, 1)
        begun.append(job)
        queue.spend(job)
    assert begun == names[: 2 * JOBS_AT_ONCE]
    queue.wait(begun[0], False)
    queue.move(begun[1], Priority.INTERACTIVE)
    assert queue.next() == names[2 * JOBS_AT_ONCE]
    for name in names:
        queue.remove(name)
    assert len(queue) == 0
    assert queue.clients() == 0


def test_a_small_job_overtakes_a_large_one_of_the_same_client() -> None:
    queue = queue_of(("large", "client", Priority.NORMAL))
    serve(queue, 300)
    queue.add("small", "client", Priority.NORMAL, 1)
    assert serve(queue, 5) == {"small": 5.0}


def test_a_job_with_nothing_to_hand_out_is_passed_over_until_something_comes_back() -> None:
    queue = queue_of(("a", "client", Priority.NORMAL), ("b", "client", Priority.NORMAL))
    serve(queue, 2)
    queue.wait("a", True)
    assert set(serve(queue, 5)) == {"b"}
    queue.wait("b", True)
    assert queue.next() is None
    queue.wait("a", False)
    assert queue.next() == "a"


def test_a_job_that_moves_to_another_class_keeps_its_state() -> None:
    queue = queue_of(("a", "client", Priority.BULK), ("b", "client", Priority.BULK))
    serve(queue, 2)
    queue.wait("a", True)
    queue.move("a", Priority.INTERACTIVE)
    assert queue.next() == "b"
    queue.wait("a", False)
    assert queue.next() == "a"


def test_the_same_job_is_not_let_in_twice() -> None:
    queue = queue_of(("a", "client", Priority.BULK))
    with pytest.raises(InternalError, match="already"):
        queue.add("a", "client", Priority.BULK, 0)


@given(st.lists(st.tuples(st.sampled_from("arswmf"), st.integers(0, 9), st.sampled_from(Priority)), max_size=60))
def test_whatever_happens_the_queue_names_only_jobs_that_are_in_it(steps: list[tuple[str, int, Priority]]) -> None:
    queue = FairQueue()
    inside: set[str] = set()
    waiting: set[str] = set()
    for what, number, priority in steps:
        job = f"job{number}"
        if what == "a" and job not in inside:
            queue.add(job, f"client{number % 3}", priority, number)
            inside.add(job)
        elif what == "r":
            queue.remove(job)
            inside.discard(job)
            waiting.discard(job)
        elif what == "s" and (found := queue.next()) is not None:
            queue.begin(found)
            queue.charge(found, 1.0)
        elif what == "w" and job in inside:
            queue.begin(job)
            queue.wait(job, True)
            waiting.add(job)
        elif what == "f" and job in inside:
            queue.begin(job)
            queue.spend(job)
            waiting.add(job)
        elif what == "m" and job in inside:
            queue.move(job, priority)
    assert len(queue) == len(inside)
    found = queue.next()
    assert found is None or found in inside - waiting
    if inside and not waiting:
        assert found is not None


# --- blocks ----------------------------------------------------------------------------------------------------------


@given(per_second=st.floats(0.5, 50_000), noise=st.lists(st.floats(0.8, 1.25), min_size=12, max_size=12))
def test_blocks_of_a_steady_job_soon_take_one_to_three_seconds(per_second: float, noise: list[float]) -> None:
    speed, sizes = Speed(), BlockSizes()
    left = 10**9
    taken = []
    for factor in noise:
        size = speed.block(left, workers=10)
        seconds = size / per_second * factor
        speed.measured(size, seconds)
        taken.append(size / per_second)
    # Single units can be longer than that.
    assert 0.9 <= taken[-1] <= 3.0 or size == 1
    assert size == 1 or size <= sizes.round_to or size % sizes.round_to == 0


def test_blocks_are_half_as_long_while_room_is_kept_for_people() -> None:
    speed = Speed()
    for _ in range(4):
        speed.measured(3600, 1.0)
    assert (speed.block(10**9, 10), speed.block(10**9, 10, brisk=True)) == (7200, 3600)


def test_only_interactive_jobs_ask_for_room_and_only_for_a_minute() -> None:
    courtesy = Courtesy(seconds=60.0)
    courtesy.came(Priority.BULK, 0.0)
    courtesy.came(Priority.NORMAL, 0.0)
    assert not courtesy.asks(Priority.BULK, 1.0)
    courtesy.came(Priority.INTERACTIVE, 10.0)
    asked = {priority: courtesy.asks(priority, 69.0) for priority in Priority}
    assert asked == {Priority.INTERACTIVE: False, Priority.NORMAL: True, Priority.BULK: True}
    assert not courtesy.asks(Priority.BULK, 70.0)


def test_the_last_blocks_of_a_job_are_cut_smaller_so_that_all_workers_end_together() -> None:
    speed = Speed()
    speed.measured(1000, 1.0)
    assert speed.block(10**6, workers=4) > speed.block(4000, workers=4) >= 250


@given(
    per_second=st.floats(50.0, 5000.0), workers=st.integers(2, 12), seconds=st.floats(4.0, 60.0), random=st.randoms()
)
def test_workers_that_share_a_job_are_idle_for_less_than_half_a_second_in_all(
    per_second: float, workers: int, seconds: float, random: Random
) -> None:
    """From the first block, for which all but one wait, to the last, with `seconds` of work for each of the workers:
    each has a block in hand and one behind it, and blocks take a fifth longer or shorter than expected.
    """
    speed, left = Speed(), round(per_second * seconds * workers)
    probe = speed.block(left, workers)
    speed.measured(probe, probe / per_second)
    left -= probe
    computed = probe / per_second
    held: dict[int, list[tuple[int, float]]] = {worker: [] for worker in range(workers)}
    free_at = dict.fromkeys(held, computed)
    while left or any(held.values()):
        for depth in (0, 1):
            for queue in held.values():
                if left and len(queue) == depth:
                    size = speed.block(left, workers)
                    queue.append((size, size / per_second * random.uniform(0.8, 1.2)))
                    left -= size
        _, first = min((free_at[worker] + queue[0][1], worker) for worker, queue in held.items() if queue)
        size, taken = held[first].pop(0)
        free_at[first] += taken
        computed += taken
        speed.measured(size, taken)
    assert max(free_at.values()) - computed / workers < 0.5


@given(st.integers(1, 500), st.integers(1, 100))
def test_a_block_is_never_empty_and_never_more_than_what_is_left(left: int, workers: int) -> None:
    speed = Speed()
    for _ in range(4):
        size = speed.block(left, workers)
        assert 1 <= size <= left
        speed.measured(size, 0.01)


def test_a_job_begins_on_all_workers_at_once_where_one_like_it_was_measured() -> None:
    speeds = Speeds()
    first = speeds.of("like this")
    assert not first.known
    first.measured(1000, 1.0)
    speeds.note("like this", first)
    second = speeds.of("like this")
    assert second.known
    assert second.seconds(500) == pytest.approx(0.5)
    # Half a second of its guess, until it is measured itself.
    assert second.block(10**6, workers=4) == 468
    second.measured(468, 4.68)
    assert second.seconds(500) == pytest.approx(5.0)
    assert not speeds.of("unlike it").known


def test_what_is_like_nothing_is_not_guessed_and_only_so_many_likenesses_are_remembered() -> None:
    speeds = Speeds(most=2)
    for name in ("", "a", "b", "a", "c"):
        speed = Speed()
        speed.measured(10, 1.0)
        speeds.note(name, speed)
    assert [name for name in ("", "a", "b", "c") if speeds.of(name).known] == ["a", "c"]


def test_the_speed_follows_when_games_get_longer() -> None:
    speed = Speed()
    for _ in range(50):
        speed.measured(1000, 1.0)
    for _ in range(20):
        speed.measured(1000, 4.0)
    assert speed.seconds(1000) == pytest.approx(4.0, rel=0.05)


# --- when ------------------------------------------------------------------------------------------------------------


def test_the_time_left_converges_to_the_truth() -> None:
    # Two workers serve a job of 1,000 processor seconds: it takes 500 seconds.
    arrival = Arrival(started=100.0)
    assert arrival.left(100.0, 1000.0) is None
    for second in range(1, 400):
        arrival.served(2.0)
        left = arrival.left(100.0 + second, 1000.0 - 2.0 * second)
        assert left == pytest.approx(500 - second)
