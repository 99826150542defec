"""A book's openings beside published tables, and which nets a check needs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from books import Workshop, tiny_recipe

from cluster.book.artifact import open_book
from cluster.book.compare import compare_openings
from cluster.book.entry import Entry
from cluster.book.opening_page import opening_page
from cluster.book.published import TABLE, TABLES, named_in_the_manual, read_published_tables
from cluster.book.quiz import longest_streak
from cluster.book.schemas import BookCompareReport, QuizAnswer, Side, Standing
from cluster.book.verify import check_nets
from cluster.cli.main import main
from cluster.cli.options import chosen_nets
from engine.bearoff import Bearoff
from engine.errors import InputError


@pytest.fixture(scope="module")
def workshop(databases: Bearoff) -> Workshop:
    return Workshop(chosen_nets(None), databases)


@pytest.fixture(scope="module")
def built(workshop: Workshop, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first roll of a book of the usual game, three plays of it."""
    tiny = tiny_recipe("international", budget=1)
    wide = tuple(part.model_copy(update={"margin": 0.5, "most": 3}) for part in tiny.depth)
    path = tmp_path_factory.mktemp("books") / "one.book"
    workshop.build(path, tiny.model_copy(update={"depth": wide}))
    return path


@pytest.fixture
def entry(built: Path) -> Entry:
    with open_book(built) as book:
        return next(book.entries())


def data(folder: Path, entry: Entry, equities: dict[str, float], length: int = 0) -> Path:
    """A folder of reference data in which the plays of the entry have these values."""
    benchmarks = folder / "benchmarks"
    benchmarks.mkdir()
    roll = entry.spot.roll
    lines = [f"{roll}\t{length}\t[0, 2]\t{play}\t{equity}" for play, equity in equities.items()]
    (benchmarks / TABLE).write_text("\n".join(["roll\tlength\tscore\tmove\tequity_norm", *lines, ""]))
    older = {"old": {"units": "mean equity loss", "source": "x", "rows": {roll: [[entry.plays[0].play, 0.0]]}}}
    (benchmarks / TABLES).write_text(json.dumps(older))
    return folder


def test_a_play_that_others_prefer_is_judged_by_our_error_bars(built: Path, entry: Entry, tmp_path: Path) -> None:
    best, second, third = entry.plays
    values = {second.play: 0.05, best.play: 0.02, third.play: 0.01}
    with open_book(built) as book:
        found = compare_openings(book, read_published_tables(data(tmp_path, entry, values)), named_in_the_manual())
    table, older = found.tables
    (roll,) = table.rolls
    assert (roll.play, roll.published_play) == (best.play, second.play)
    assert roll.published_loss == pytest.approx(0.03)
    assert roll.loss == -second.difference
    assert roll.published_equity == 0.05
    assert roll.good == (-second.difference <= 0.01)
    assert not roll.good_there
    expected = [(play, -play.difference - (0.02 - values[play.play])) for play in (second, third)]
    assert table.plays == 2
    assert table.mean_gap == pytest.approx(sum(gap for _, gap in expected) / 2)
    assert table.within_bars == sum(abs(gap) <= 1.96 * play.simulation_difference_se for play, gap in expected)
    # A table of losses has no values to put beside ours.
    assert older.rolls[0].side is Side.SAME
    assert older.rolls[0].published_equity is None


def test_values_at_a_score_are_named_and_not_averaged(built: Path, entry: Entry, tmp_path: Path) -> None:
    values = {play.play: 0.1 for play in entry.plays}
    with open_book(built) as book:
        tables = read_published_tables(data(tmp_path, entry, values, length=5))
        found = compare_openings(book, tables, named_in_the_manual())
    assert found.tables[0].rolls[0].published_score == "5-point match at 0-2"
    assert found.tables[0].plays == 0
    assert found.tables[0].mean_gap is None


def test_the_plays_of_the_manual_are_legal_and_ranked(built: Path, entry: Entry) -> None:
    named = named_in_the_manual()
    assert {roll: len(plays) for roll, plays in named.rolls.items()} == {"21": 1, "31": 1, "64": 3}
    with open_book(built) as book:
        found = compare_openings(book, [], named)
    assert {play.roll for play in found.named} == {entry.spot.roll} & set(named.rolls)


def test_a_page_has_every_opening_and_both_sides(built: Path, entry: Entry, tmp_path: Path) -> None:
    best, second = entry.plays[:2]
    with open_book(built) as book:
        tables = read_published_tables(data(tmp_path, entry, {second.play: 0.05, best.play: 0.02}))
        found = compare_openings(book, tables, named_in_the_manual())
    page = opening_page(BookCompareReport(books=(found, found)))
    assert page.startswith("# ")
    assert f"| {'-'.join(entry.spot.roll)} | {best.play} | {second.play} |" in page
    assert "## tiny and tiny" in page
    assert "0 have other best plays" in page


def test_comparing_needs_the_data_and_says_so(
    built: Path, entry: Entry, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GAMMONFARM_DATA", raising=False)
    assert main(["book", "compare", str(built)]) == 2
    assert "GAMMONFARM_DATA" in capsys.readouterr().err
    folder = data(tmp_path, entry, {entry.plays[0].play: 0.0})
    assert main(["book", "compare", str(built), "--data", str(folder), "--json"]) == 0
    report = BookCompareReport.model_validate_json(capsys.readouterr().out)
    assert report.books[0].tables[0].sides[Side.SAME.value] == 1
    assert main(["book", "compare", str(built), "--data", str(folder)]) == 0
    assert entry.plays[0].play in capsys.readouterr().out


def test_a_check_names_the_net_that_it_needs(workshop: Workshop, built: Path) -> None:
    with open_book(built) as book:
        identity = book.identity
    check_nets(identity, workshop.nets)
    main_net, filter_net = identity.net.split("-")
    for other, said in (
        (f"0123456789abcdef-{filter_net}", "main net 0123456789abcdef.*--net FILE"),
        (f"{main_net}-0123456789abcdef", "filter net 0123456789abcdef.*--filter-net FILE"),
    ):
        with pytest.raises(InputError, match=said):
            check_nets(identity.model_copy(update={"net": other}), workshop.nets)
    with pytest.raises(InputError, match="match equity table"):
        check_nets(identity.model_copy(update={"stakes": "0" * 16}), workshop.nets)


def test_a_book_is_shown_whatever_net_is_here(built: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import sqlite3

    path = tmp_path / "old.book"
    path.write_bytes(built.read_bytes())
    with open_book(path) as book:
        other = book.identity.model_copy(update={"net": "0123456789abcdef-0123456789abcdef"})
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE meta SET value = ? WHERE key = 'identity'", (other.model_dump_json(),))
    connection.close()
    assert main(["book", "show", "--book", str(path)]) == 0
    assert "0123456789abcdef" in capsys.readouterr().out
    assert main(["book", "verify", str(path)]) == 0
    capsys.readouterr()
    assert main(["book", "verify", str(path), "--sample", "1", "--executor", "inline"]) == 2
    assert "main net 0123456789abcdef" in capsys.readouterr().err


def test_a_streak_is_the_most_right_answers_in_a_row() -> None:
    def answers(*standings: Standing | None) -> list[QuizAnswer]:
        return [QuizAnswer(id="", path="", answer="x", best="x", loss=None, standing=one) for one in standings]

    right, near, wrong = Standing.BEST, Standing.PLAYABLE, Standing.BEATEN
    assert longest_streak(answers()) == 0
    assert longest_streak(answers(right, near, wrong, right, right, near, None, right)) == 3
