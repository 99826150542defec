"""The problem of the day."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest
from books import Workshop, tiny_recipe

from cluster import daily
from cluster.book.artifact import open_book
from cluster.book.schemas import Standing
from cluster.cli.options import chosen_nets
from cluster.daily import DailyQuestion, ProblemKind, days, explain, find_problem, has_clear_answer, positions
from cluster.store import MemoryStore
from engine.bearoff import Bearoff
from engine.board import Board
from engine.errors import InputError
from engine.ids import parse_position
from engine.rules import HYPERGAMMON, INTERNATIONAL

DAY = datetime.date(2026, 12, 24)


@pytest.fixture(scope="module")
def workshop(databases: Bearoff) -> Workshop:
    return Workshop(chosen_nets(None), databases)


def first_of(workshop: Workshop, key: str, number: int) -> list[tuple[bytes, tuple[int, int]]]:
    stream = positions(key, workshop.evaluator, INTERNATIONAL)
    found: list[tuple[Board, tuple[int, int]]] = [next(stream) for _ in range(number)]
    return [(board.tobytes(), dice) for board, dice in found]


def test_a_key_always_gives_the_same_positions_and_another_one_others(workshop: Workshop) -> None:
    assert first_of(workshop, "a", 3) == first_of(workshop, "a", 3)
    assert first_of(workshop, "a", 3) != first_of(workshop, "b", 3)


def test_a_day_and_a_month_are_read() -> None:
    assert days("2026-12-24") == [DAY]
    assert len(days("2028-02")) == 29
    for wrong in ("2026-13", "24.12.2026", "2026-02-30"):
        with pytest.raises(InputError, match="date"):
            days(wrong)


def test_the_problem_of_a_day_is_the_same_for_everybody_and_has_a_clear_answer(
    workshop: Workshop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Three checkers a side, few trials: games are short. The policy is the same.
    monkeypatch.setattr(daily, "QUESTION", daily.QUESTION.model_copy(update={"trials": 108, "checkpoint": 36}))
    monkeypatch.setattr(daily, "SEEMS_CLOSE", 1.0)
    monkeypatch.setattr(daily, "LEAST_LOSS", 0.01)
    monkeypatch.setattr(daily, "MOST_LOSS", 1.0)
    recipe = tiny_recipe(HYPERGAMMON.name)
    found = []
    for number in (1, 2):
        with workshop.open(tmp_path / f"{number}.book", recipe) as book:
            simulator = workshop.simulator(book, MemoryStore())
            question = DailyQuestion(DAY, ProblemKind.CHECKER)
            found.append(find_problem(question, simulator, workshop.evaluator, lambda _: None))
    problem, again = found
    assert problem == again
    best, *others = problem.plays
    assert best.standing is Standing.BEST
    assert others
    assert all(play.standing is Standing.BEATEN and play.difference <= -0.01 for play in others)
    assert parse_position(problem.xgid).dice == (int(problem.roll[0]), int(problem.roll[1]))
    assert best.play in problem.explanation
    assert best.play not in daily.as_text(problem, answer=False)
    assert best.play in daily.as_text(problem, answer=True)


def test_an_open_choice_is_no_problem_and_the_explanation_names_both_plays(workshop: Workshop, tmp_path: Path) -> None:
    path = tmp_path / "tiny.book"
    workshop.build(path, tiny_recipe(budget=200))
    with open_book(path) as book:
        entries = [entry for entry in book.entries(1) if len(entry.plays) > 1]
    for entry in entries:
        if any(play.standing is not Standing.BEATEN for play in entry.plays[1:]):
            assert not has_clear_answer(entry)
        text = explain(entry.plays)
        assert entry.plays[0].play in text
        assert entry.plays[1].play in text


def test_a_cube_problem_says_what_it_waits_for(workshop: Workshop, tmp_path: Path) -> None:
    with workshop.open(tmp_path / "tiny.book", tiny_recipe()) as book:
        simulator = workshop.simulator(book, MemoryStore())
        with pytest.raises(InputError, match="cube"):
            find_problem(DailyQuestion(DAY, ProblemKind.CUBE), simulator, workshop.evaluator, lambda _: None)
