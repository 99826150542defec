"""Nets by name: a name can come to mean another net, and looking one up keeps nobody else waiting."""

from __future__ import annotations

import threading

import pytest
from nets import random_filter, random_net

from cluster.farm.desk import Desk
from engine.errors import InputError
from engine.evaluator import Nets

OLD, NEW = (Nets(random_net(seed), random_filter(3)) for seed in (3, 4))


@pytest.mark.parametrize(
    ("name", "moves"),
    [("champion", True), ("main@best", True), ("main@v2", True), ("main@12", False), ("shipped", False)],
)
def test_a_name_that_moves_is_looked_up_again_and_others_are_not(name: str, moves: bool) -> None:
    now, meaning, asked = [0.0], [OLD], 0

    def load(asked_for: str) -> Nets:
        nonlocal asked
        asked += 1
        return meaning[0]

    desk = Desk(nets=load, clock=lambda: now[0])
    assert [desk.digest(name) for _ in range(3)] == [OLD.main.digest] * 3
    assert asked == 1
    meaning[0] = NEW
    now[0] += 60.0
    assert desk.digest(name) == (NEW if moves else OLD).main.digest
    assert desk.nets(OLD.main.digest) is OLD
    assert asked == 1 + moves


def test_a_known_net_is_there_while_a_search_runs_and_the_registry_does_not_answer() -> None:
    begun, go_on = threading.Event(), threading.Event()

    def load(name: str) -> Nets:
        if name == "shipped":
            return OLD
        begun.set()
        go_on.wait(20)
        raise InputError("net", name, "a net that is registered")

    desk = Desk(nets=load)
    desk.evaluator("shipped", None)
    told: list[str] = []

    def refused() -> None:
        with desk.quiet, pytest.raises(InputError, match="registered"):
            desk.evaluator("unknown@1", None)

    slow = threading.Thread(target=refused)
    quick = threading.Thread(target=lambda: told.append(desk.digest("shipped")))
    slow.start()
    assert begun.wait(20)
    quick.start()
    quick.join(5)
    before = list(told)
    go_on.set()
    for thread in (slow, quick):
        thread.join()
    assert before == [OLD.main.digest]
