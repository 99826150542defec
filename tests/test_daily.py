"""The problem of the day."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from books import Workshop, tiny_recipe

from cluster.book.artifact import open_book
from cluster.book.recipe import SimulationPart
from cluster.book.schemas import Standing
from cluster.book.simulation import Farm
from cluster.cli.main import main
from cluster.cli.options import chosen_nets
from cluster.daily import checker, cube, publish
from cluster.daily.checker import explain, find_checker_problem, has_clear_answer
from cluster.daily.cube import CubeBench, find_cube_problem, is_clear
from cluster.daily.games import DailyQuestion, days, positions
from cluster.daily.schemas import DailyProblem, ProblemKind
from cluster.executor import InlineExecutor
from cluster.store import MemoryStore
from engine.bearoff import Bearoff
from engine.board import Board
from engine.decision import CubeAction, CubeEquities, judge
from engine.errors import InputError
from engine.ids import parse_position
from engine.rules import HYPERGAMMON, INTERNATIONAL, TAVLA, RuleSet

DAY = datetime.date(2026, 12, 24)


@pytest.fixture(scope="module")
def workshop(databases: Bearoff) -> Workshop:
    return Workshop(chosen_nets(None), databases)


@pytest.fixture(scope="module")
def bench(workshop: Workshop) -> CubeBench:
    executor = InlineExecutor()
    return CubeBench(workshop.nets, workshop.evaluator, Farm(MemoryStore(), lambda: executor))


def asked(workshop: Workshop, kind: ProblemKind, rules: RuleSet, day: datetime.date = DAY) -> DailyQuestion:
    return DailyQuestion(day, kind, rules, workshop.nets.digest)


@pytest.fixture(scope="module")
def problems(workshop: Workshop, bench: CubeBench, tmp_path_factory: pytest.TempPathFactory) -> list[DailyProblem]:
    """A checker and a cube problem, each found twice. Three checkers a side, few trials, little confidence; the policy
    is the same.
    """
    found = []
    recipe = tiny_recipe(HYPERGAMMON.name).model_copy(update={"simulation": SimulationPart(confidence=0.6)})
    with pytest.MonkeyPatch.context() as patch:
        short = {"trials": 72, "checkpoint": 36, "most": 2}
        patch.setattr(checker, "QUESTION", checker.QUESTION.model_copy(update=short))
        patch.setattr(checker, "SEEMS_CLOSE", 1.0)
        patch.setattr(checker, "LEAST_LOSS", 0.01)
        patch.setattr(checker, "MOST_LOSS", 1.0)
        patch.setattr(cube, "ACTIONS", (CubeAction.DOUBLE_TAKE,))
        patch.setattr(cube, "TRIALS", 144)
        patch.setattr(cube, "MOST_LOSS", 1.0)
        patch.setattr(cube, "MOST_ANSWER_LOSS", {})
        for number in (1, 2):
            path = tmp_path_factory.mktemp("daily") / f"{number}.book"
            with workshop.open(path, recipe) as book:
                simulator = workshop.simulator(book, MemoryStore())
                question = asked(workshop, ProblemKind.CHECKER, HYPERGAMMON)
                found.append(find_checker_problem(question, simulator, workshop.evaluator))
            found.append(find_cube_problem(asked(workshop, ProblemKind.CUBE, HYPERGAMMON), bench, lambda _: None))
    return found


def first_of(workshop: Workshop, key: str, number: int) -> list[tuple[bytes, tuple[int, int]]]:
    stream = positions(key, workshop.evaluator, INTERNATIONAL)
    found: list[tuple[Board, tuple[int, int]]] = [next(stream) for _ in range(number)]
    return [(board.tobytes(), dice) for board, dice in found]


def test_a_key_always_gives_the_same_positions_and_another_one_others(workshop: Workshop) -> None:
    assert first_of(workshop, "a", 3) == first_of(workshop, "a", 3)
    assert first_of(workshop, "a", 3) != first_of(workshop, "b", 3)


def test_date_kind_rules_and_net_decide_the_key(workshop: Workshop) -> None:
    question = asked(workshop, ProblemKind.CUBE, INTERNATIONAL)
    others = [
        asked(workshop, ProblemKind.CHECKER, INTERNATIONAL),
        asked(workshop, ProblemKind.CUBE, HYPERGAMMON),
        asked(workshop, ProblemKind.CUBE, INTERNATIONAL, DAY + datetime.timedelta(days=1)),
        DailyQuestion(DAY, ProblemKind.CUBE, INTERNATIONAL, "other-nets"),
    ]
    assert question.key == asked(workshop, ProblemKind.CUBE, INTERNATIONAL).key
    assert len({question.key, *(other.key for other in others)}) == 5


def test_a_day_and_a_month_are_read() -> None:
    assert days("2026-12-24") == [DAY]
    assert len(days("2028-02")) == 29
    for wrong in ("2026-13", "24.12.2026", "2026-02-30"):
        with pytest.raises(InputError, match="date"):
            days(wrong)


def test_the_problem_of_a_day_is_the_same_for_everybody_and_has_a_clear_answer(problems: list[DailyProblem]) -> None:
    problem, _, again, _ = problems
    assert problem == again
    best, *others = problem.plays
    assert best.standing is Standing.BEST
    assert others
    assert all(play.standing is Standing.BEATEN and play.difference <= -0.01 for play in others)
    assert problem.roll is not None
    assert parse_position(problem.xgid).dice == (int(problem.roll[0]), int(problem.roll[1]))
    assert best.play in problem.explanation
    assert best.play not in publish.as_text(problem, answer=False)
    assert best.play in publish.as_text(problem, answer=True)


def test_a_cube_problem_has_one_right_action_by_more_than_the_error(problems: list[DailyProblem]) -> None:
    _, problem, _, again = problems
    assert problem == again
    found = problem.cube
    assert found is not None
    assert found.equity_dt is not None
    assert found.equity_dp is not None
    assert found.action is CubeAction.DOUBLE_TAKE
    assert found.action is judge(CubeEquities(found.equity_nd, found.equity_dt, found.equity_dp)).action
    assert abs(found.equity_dt - found.equity_dp) > 2 * (found.se_dt or 0.0)
    assert parse_position(problem.xgid).dice is None
    assert found.verdict in publish.as_text(problem, answer=True)
    assert found.verdict not in publish.as_text(problem, answer=False)


def test_a_cube_problem_is_no_trifle_and_no_absurdity() -> None:
    assert is_clear(CubeEquities(0.60, 0.70, 1.0), CubeAction.DOUBLE_TAKE)
    assert not is_clear(CubeEquities(0.69, 0.70, 1.0), CubeAction.DOUBLE_TAKE)  # rolling costs nothing
    assert not is_clear(CubeEquities(0.90, 0.98, 1.0), CubeAction.DOUBLE_TAKE)  # passing costs nothing
    assert not is_clear(CubeEquities(0.10, 0.70, 1.0), CubeAction.DOUBLE_TAKE)  # nobody would roll
    assert not is_clear(CubeEquities(0.60, 0.70, 1.0), CubeAction.DOUBLE_PASS)
    assert is_clear(CubeEquities(0.90, 1.20, 1.0), CubeAction.DOUBLE_PASS)
    assert is_clear(CubeEquities(1.08, 2.20, 1.0), CubeAction.TOO_GOOD)


def test_rules_without_a_cube_have_no_cube_problems(workshop: Workshop, bench: CubeBench) -> None:
    with pytest.raises(InputError, match="without a cube"):
        find_cube_problem(asked(workshop, ProblemKind.CUBE, TAVLA), bench, lambda _: None)


def test_an_open_choice_is_no_problem_and_the_explanation_names_both_plays(workshop: Workshop, tmp_path: Path) -> None:
    path = tmp_path / "tiny.book"
    workshop.build(path, tiny_recipe(budget=200))
    with open_book(path) as book:
        entries = [entry for entry in book.entries(1) if len(entry.plays) > 1]
        for entry in entries:
            if any(play.standing is not Standing.BEATEN for play in entry.plays[1:]):
                assert not has_clear_answer(entry)
            text = explain(entry.spot.under(book.stakes), entry.plays)
            assert entry.plays[0].play in text
            assert entry.plays[1].play in text


def test_a_calendar_has_an_event_a_day_in_short_lines(problems: list[DailyProblem]) -> None:
    text = publish.as_calendar(problems[:2], answer=True)
    lines = text.split("\r\n")
    assert lines[0] == "BEGIN:VCALENDAR"
    assert lines[-2:] == ["END:VCALENDAR", ""]
    assert all(len(line.encode()) <= 75 for line in lines)
    whole = text.replace("\r\n ", "").split("\r\n")
    assert whole.count("BEGIN:VEVENT") == whole.count("END:VEVENT") == 2
    assert whole.count("DTSTART;VALUE=DATE:20261224") == 2
    assert len({line for line in whole if line.startswith("UID:")}) == 2
    (described, _) = [line for line in whole if line.startswith("DESCRIPTION:")]
    unescaped = described.removeprefix("DESCRIPTION:").replace("\\n", "\n").replace("\\,", ",").replace("\\;", ";")
    assert unescaped.replace("\\\\", "\\") == publish.as_text(problems[0], answer=True)


def test_a_feed_begins_with_the_latest_problem_and_shows_answers_only_if_asked(problems: list[DailyProblem]) -> None:
    later = problems[1].model_copy(update={"date": DAY + datetime.timedelta(days=1)})
    feed = json.loads(publish.as_feed([problems[0], later], answer=False))
    assert feed["version"].startswith("https://jsonfeed.org/version/1")
    assert [item["date_published"][:10] for item in feed["items"]] == ["2026-12-25", "2026-12-24"]
    assert problems[0].explanation not in json.dumps(feed)
    assert "<svg" in feed["items"][0]["content_html"]


def test_pictures_show_the_answer_as_arrows(problems: list[DailyProblem]) -> None:
    problem = problems[0]
    plain, solved = (publish.as_svg(problem, answer) for answer in (False, True))
    ElementTree.fromstring(plain)
    assert solved.count("<line") > plain.count("<line")
    assert publish.as_png(problem, answer=True).startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--format", "gif"), "text, svg, png, ics, feed"),
        (("--format", "png"), "--out"),
        (("--format", "svg", "--date", "2026-12"), "--out"),
        (("--kind", "race"), "checker, cube"),
    ],
)
def test_what_cannot_be_written_is_said_before_anything_starts(
    arguments: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["daily", *arguments]) == 2
    assert said in capsys.readouterr().err
