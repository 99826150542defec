"""Reports of an archive: pages that stand alone, tables, flash cards, habits, openings, and similar positions."""

from __future__ import annotations

import csv
import gc
import io
import json
import re
import sqlite3
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from archive_made import analysed, matches_of, small_nets, small_policy, write_matches

from cluster.archive import output
from cluster.archive.analysis import AnalysedMatch, conditions_shown
from cluster.archive.files import Skipped
from cluster.archive.habits import Habits, Played, Trend
from cluster.archive.matches import Conditions
from cluster.archive.openings import OpeningDecision, Openings, opening_decision
from cluster.archive.output import CARDS, CSV, DOCUMENT, EVERY_MATCH, PAGE, PARQUET, open_output, report_name
from cluster.archive.register import MatchRow, Register, SeatRow
from cluster.archive.reports import archive_page
from cluster.archive.reports.charts import Bar, Line, Point, bar_chart, line_chart
from cluster.archive.reports.decision_table import COLUMNS, CsvTable, rows_of
from cluster.archive.reports.match_page import match_page
from cluster.archive.reports.parquet import read_boards, read_rows
from cluster.archive.reports.words import Words
from cluster.archive.results import BookOpinion, DecisionKind
from cluster.archive.similar import INDEX, find_similar
from cluster.archive.summary import TREND_POINTS, WORST_SHOWN, Summary, TrendPoint, WithoutLuck
from engine.analysis.language import Language
from engine.analysis.rating import LossTally
from engine.analysis.thresholds import Grade
from engine.errors import InputError
from engine.xgid import parse_xgid

pytestmark = pytest.mark.usefixtures("databases")


@pytest.fixture(scope="module")
def matches(tmp_path_factory: pytest.TempPathFactory) -> list[AnalysedMatch]:
    made = tmp_path_factory.mktemp("archive")
    write_matches(made, (1, 9))
    return matches_of(analysed(made, small_policy(level=1)))


@pytest.fixture(scope="module")
def folder(matches: list[AnalysedMatch], tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("out") / "report"
    write(out, matches, Language.SPANISH)
    return out


def new_summary(register: Register) -> Summary:
    return Summary(conditions_shown(Conditions(small_nets()), small_policy(level=1)), register)


def write(out: Path, matches: list[AnalysedMatch], language: Language = Language.ENGLISH) -> None:
    with Register() as register, open_output(out, new_summary(register), language) as writing:
        for match in matches:
            writing.add(match)
        writing.finish()


def wrong(matches: list[AnalysedMatch], *grades: Grade) -> int:
    return sum(one.grade in grades and one.counts for match in matches for one in match.analysis.decisions)


# --- pages -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("language", Language)
def test_a_page_stands_alone_and_shows_every_error(matches: list[AnalysedMatch], language: Language) -> None:
    for match in matches:
        page = match_page(match.analysis, language)
        addresses = set(re.findall(r"(?:https?:)?//[^\s\"'<>]+", page)) - {"http://www.w3.org/2000/svg"}
        assert addresses == set(), "nothing is fetched from anywhere"
        assert "<script" not in page
        undecided = sum(one.done is None for one in match.analysis.decisions)
        assert page.count("<article") == wrong([match], Grade.ERROR, Grade.BLUNDER) + undecided
        assert f'<html lang="{language.value}">' in page
        assert Words(language)("errors_list") in page
        for figures in match.analysis.figures:
            assert figures.pr is None or Words(language).number(figures.pr) in page


def test_positions_of_a_list_are_shown_with_their_best_plays(tmp_path: Path) -> None:
    ids = ["XGID=-b----E-C---eE---c-e----B-:0:0:1:31:0:0:0:0:10", "XGID=-b----E-C---eE---c-e----B-:0:0:1:00:0:0:0:0:10"]
    (tmp_path / "list.txt").write_text("\n".join(ids), encoding="utf-8")
    (found,) = matches_of(analysed(tmp_path, small_policy(level=1)))
    play, cube = found.analysis.decisions
    assert (play.done, play.loss, cube.done, cube.loss) == (None, None, None, None)
    page = match_page(found.analysis, Language.ENGLISH)
    assert page.count("<article") == 2
    assert f"<b>{play.best}</b>" in page
    assert 'class="badge"' not in page


def test_names_of_players_are_no_html(matches: list[AnalysedMatch]) -> None:
    analysis = replace(matches[0].analysis, players=("<b>Bob</b>", 'Eve" onload="x'), event="<i>Cup</i>")
    page = match_page(analysis, Language.ENGLISH)
    assert "<b>Bob" not in page
    assert "<i>Cup" not in page
    assert 'Eve" onload' not in page
    assert "&lt;b&gt;Bob" in page


def test_the_folder_links_every_match_and_its_documents_can_be_read(folder: Path, matches: list[AnalysedMatch]) -> None:
    page = (folder / PAGE).read_text(encoding="utf-8")
    summary = json.loads((folder / DOCUMENT).read_bytes())
    assert len(summary["matches"]) == len(matches)
    for row, match in zip(summary["matches"], matches, strict=True):
        report = row["report"]
        assert f'href="{report}.html"' in page
        assert (folder / f"{report}.html").is_file()
        assert report.endswith(report_name(match.analysis))
        kept = json.loads((folder / f"{report}.json").read_bytes())
        assert kept["digest"] == match.analysis.digest
    assert not list(folder.rglob("*.partial"))
    assert len(summary["worst"]) == min(WORST_SHOWN, wrong(matches, Grade.ERROR, Grade.BLUNDER))
    losses = [one["decision"]["loss"] for one in summary["worst"]]
    assert losses == sorted(losses, reverse=True)


def test_a_summary_adds_its_matches_up(matches: list[AnalysedMatch]) -> None:
    with Register() as register:
        summary = new_summary(register)
        for match in matches:
            summary.add(match, "x")
        summary.skip(Skipped("rotten.mat", "why"))
        found = summary.finish()
        players = list(found.players())
        assert [one.file for one in register.every_skipped()] == ["rotten.mat"]
        assert list(found.players(1)) == players[:1]
    assert found.facts.decisions == sum(one.figures.decisions for one in players) == sum(found.facts.levels.values())
    assert {one.figures.name for one in players} == {"Fox", "Ümit"}
    assert all(len(one.trend) == len(matches) for one in players)
    assert all((one.figures.strength is None) == (one.figures.decisions < 20) for one in players)
    with Register() as register:
        backwards = new_summary(register)
        for match in reversed(matches):
            backwards.add(match, "x")
        assert [one.figures for one in backwards.finish().players()] == [one.figures for one in players]


def test_what_is_kept_of_a_match_lies_on_disk(matches: list[AnalysedMatch]) -> None:
    def in_memory() -> int:
        gc.collect()
        return sum(type(one) in (MatchRow, SeatRow, TrendPoint, OpeningDecision) for one in gc.get_objects())

    with Register() as register:
        before, summary = in_memory(), new_summary(register)
        for number in range(150):
            summary.add(matches[number % len(matches)], f"m{number}")
        assert in_memory() == before
        found = summary.finish()
        assert sum(1 for _ in register.every_match()) == register.matches == 150
        for player in found.players():
            assert player.matches == sum(point.matches for point in player.trend) == 150
            assert len(player.trend) <= TREND_POINTS
            assert player.figures.luck == pytest.approx(sum(point.luck for point in player.trend), abs=1e-3)


def test_an_archive_with_many_matches_gets_a_page_of_its_own_for_them(
    matches: list[AnalysedMatch], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive_page, "MATCHES_LISTED", 1)
    monkeypatch.setattr(output, "MATCHES_LISTED", 1)
    write(tmp_path, matches)
    first, every = ((tmp_path / name).read_text(encoding="utf-8") for name in (PAGE, EVERY_MATCH))
    assert f'href="{EVERY_MATCH}"' in first
    for match in matches:
        assert f"{report_name(match.analysis)}.html" in every
    monkeypatch.undo()
    write(tmp_path, matches[:1])
    assert not (tmp_path / EVERY_MATCH).exists(), "that of the earlier archive is gone"


def test_results_stand_beside_those_without_luck(matches: list[AnalysedMatch]) -> None:
    analysis = matches[0].analysis
    won = replace(matches[0], analysis=replace(analysis, length=5, winner=1, luck_adjusted=0.3, players=("A", "B")))
    session = replace(matches[0], analysis=replace(analysis, length=0, winner=None, luck_adjusted=2.5))
    session = replace(session, analysis=replace(session.analysis, players=("B", "A")))
    points = sum((game.points or 0) * (1 if game.winner == 1 else -1) for game in analysis.games if game.winner)
    with Register() as register:
        summary = new_summary(register)
        for match in (won, session):
            summary.add(match, "x")
        found = {one.figures.name: one.without_luck for one in summary.finish().players()}
    assert found["A"] == WithoutLuck(1, 1, 0.3, 1, -points, -2.5)
    assert found["B"] == WithoutLuck(1, 0, 0.7, 1, points, 2.5)


# --- charts ----------------------------------------------------------------------------------------------------------


def test_the_longest_bar_has_the_largest_value() -> None:
    chart = bar_chart([Bar("a", 2.0, "2"), Bar("b", 1.0, "1"), Bar("c", 0.0, "0")], "t")
    first, second, third = (float(width) for width in re.findall(r'<rect[^>]* width="([\d.]+)"', chart))
    assert first == pytest.approx(2 * second, abs=0.2)
    assert third == 1.0, "still to be seen"


def test_higher_values_stand_higher_and_errors_are_whiskers() -> None:
    chart = line_chart([Line("x", [Point(1.0, 0.5, "one"), Point(3.0, None, "three")])], "t")
    low, high = (float(y) for y in re.findall(r'<circle[^>]* cy="([\d.]+)"', chart))
    assert high < low
    assert chart.count("whisker") == 1
    assert "<title>three</title>" in chart
    assert line_chart([], "t") == ""


def test_charts_are_told_to_those_who_can_not_see_them() -> None:
    assert "<title>t</title><desc>a: 2; b: 1</desc>" in bar_chart([Bar("a", 2.0, "2"), Bar("b", 1.0, "1")], "t")
    points = [Point(1.0, title="one"), Point(2.0, title="two")]
    assert "<title>t</title><desc>one; two</desc>" in line_chart([Line("x", points)], "t")
    assert "<desc>in words</desc>" in line_chart([Line("x", points)], "t", told="in words")


@pytest.mark.parametrize("language", Language)
def test_the_luck_of_a_player_is_a_line_with_rings_where_a_match_was_lost(
    matches: list[AnalysedMatch], language: Language
) -> None:
    results = [(1, 0.2), (2, 0.6), (2, None)]
    with Register() as register:
        summary = new_summary(register)
        for winner, adjusted in results:
            told = replace(matches[0].analysis, length=5, winner=winner, luck_adjusted=adjusted, players=("A", "B"))
            summary.add(replace(matches[0], analysis=told), "x")
        page = archive_page.archive_page(summary.finish(), language, EVERY_MATCH)
    words = Words(language)
    charts = re.findall(rf'<svg class="chart"[^>]*aria-label="{re.escape(words("luck_trend"))}".*?</svg>', page)
    assert [(chart.count("<circle"), chart.count("hollow")) for chart in charts] in ([(3, 2), (3, 1)], [(3, 1), (3, 2)])
    assert all(words("lost_match") in chart and words("won") in chart for chart in charts)
    assert words("won_without_luck", won=1, matches=2, adjusted=words.number(0.8, 1)) in page


# --- tables ----------------------------------------------------------------------------------------------------------


def test_csv_and_parquet_hold_every_decision(folder: Path, matches: list[AnalysedMatch]) -> None:
    every = [(match.analysis.file, one) for match in matches for one in match.analysis.decisions]
    with (folder / CSV).open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    assert len(lines) == len(every)
    boards = read_boards(folder / PARQUET)
    numbers = [0, len(every) - 1, len(every) // 2]
    rows = read_rows(folder / PARQUET, numbers)
    assert len(boards) == len(every)
    for number, row in zip(numbers, rows, strict=True):
        name, one = every[number]
        assert (row["file"], row["xgid"], row["done"], row["loss"]) == (name, one.xgid, one.done, one.loss)
        assert lines[number]["xgid"] == one.xgid
        assert lines[number]["loss"] == ("" if one.loss is None else str(one.loss))
        assert (boards[number] == parse_xgid(one.xgid).board).all()
    assert list(lines[0]) == [name for name, _ in COLUMNS]


def test_no_cell_becomes_a_formula(matches: list[AnalysedMatch]) -> None:
    text = io.StringIO()
    CsvTable(text).add(list(rows_of(replace(matches[0].analysis, players=("=1+1", "@x"))))[:1])
    (row,) = csv.DictReader(io.StringIO(text.getvalue()))
    assert {row["player"], row["opponent"]} == {"'=1+1", "'@x"}


def test_tables_of_others_are_refused(tmp_path: Path) -> None:
    (tmp_path / PARQUET).write_bytes(b"PAR1 nothing")
    with pytest.raises(InputError, match="decisions"):
        read_boards(tmp_path / PARQUET)


def test_flash_cards_are_the_blunders_and_keep_their_names(
    folder: Path, matches: list[AnalysedMatch], tmp_path: Path
) -> None:
    def notes(package: Path) -> list[tuple[str, str]]:
        with zipfile.ZipFile(package) as archive:
            archive.extract("collection.anki2", tmp_path)
        with sqlite3.connect(tmp_path / "collection.anki2") as database:
            return list(database.execute("select guid, flds from notes order by guid"))

    found = notes(folder / CARDS)
    assert len(found) == wrong(matches, Grade.BLUNDER) > 10
    assert all("<svg" in fields and "XGID=" in fields for _, fields in found)
    write(tmp_path / "again", matches)
    assert [guid for guid, _ in notes(tmp_path / "again" / CARDS)] == [guid for guid, _ in found]


# --- habits and openings ---------------------------------------------------------------------------------------------


def tally(decisions: int, errors: int, loss: float = 0.05) -> LossTally:
    total = LossTally()
    for number in range(decisions):
        total += LossTally.of(loss if number < errors else 0.0)
    return total


def habits(matches: list[Played]) -> Habits:
    collected = Habits()
    for match in matches:
        collected.add(match)
    return collected


def test_the_most_frequent_errors_are_three_areas_with_enough_decisions() -> None:
    areas = {
        "race": tally(20, 5),
        "blitz": tally(30, 9),
        "prime": tally(19, 19),
        "mixed": tally(40, 2),
        "cube": tally(25, 3),
    }
    found = habits([Played(3, areas)]).frequent_errors()
    assert [(one.area, one.errors, one.decisions) for one in found] == [
        ("blitz", 9, 30),
        ("race", 5, 20),
        ("cube", 3, 25),
    ]
    assert [one.trend for one in found] == [None] * 3, "there is nothing earlier"


def test_the_last_ten_games_are_compared_with_those_before() -> None:
    def played(games: int, errors: int) -> Played:
        return Played(games, {"race": tally(20, errors)})

    earlier, newer = [played(7, 8)], [played(4, 2), played(6, 2)]

    def trend(*matches: Played) -> Trend | None:
        return habits(list(matches)).frequent_errors()[0].trend

    assert trend(*earlier, *newer) is Trend.IMPROVING
    assert trend(played(7, 2), played(5, 8), played(5, 8)) is Trend.WORSENING
    assert trend(played(9, 4), played(10, 4)) is Trend.STEADY


def test_the_plan_takes_the_two_worst_areas_with_forty_decisions() -> None:
    areas = {
        "race": tally(40, 4),
        "blitz": tally(50, 20),
        "prime": tally(39, 39),
        "mixed": tally(45, 9),
        "cube": tally(90, 0),
    }
    plan = habits([Played(1, areas)]).weekly_plan()
    assert [one.area for one in plan] == ["blitz", "mixed"]
    assert plan[0].pr == pytest.approx(500 * 20 * 0.05 / 50, abs=1e-3)
    assert habits([]).weekly_plan() == ()


OPENING = "XGID=-b----E-C---eE---c-e----B-:0:0:1:{}:0:0:0:0:10"


def opened(match: AnalysedMatch, roll: str, done: str, loss: float, book: BookOpinion | None = None) -> OpeningDecision:
    """A first play as an archive keeps it."""
    play = next(d for d in match.analysis.decisions if d.kind is DecisionKind.PLAY and d.turn == 1 and d.counts)
    dice = (int(roll[0]), int(roll[1]))
    decision = replace(play, xgid=OPENING.format(roll), dice=dice, done=done, loss=loss, best="8/5 6/5", book=book)
    kept = opening_decision(decision, "international")
    assert kept is not None
    return kept


def test_openings_count_first_plays_by_roll(matches: list[AnalysedMatch]) -> None:
    collected = Openings()
    first = opened(matches[0], "31", "8/5 6/5", 0.0)
    for one in (first, first, replace(first, done="13/9", loss=0.06), opened(matches[0], "42", "8/4 6/4", 0.0)):
        collected.add(one)
    collected.add(replace(first, turn=2, usual=False, loss=0.04))
    found = collected.figures()
    assert (found.first_plays, found.replies, found.replies_pr) == (4, 1, pytest.approx(20.0, abs=1e-3))
    assert [roll.dice for roll in found.rolls] == [(4, 2), (3, 1)]
    plays = [(one.play, one.times, one.loss, one.book_asked) for one in found.rolls[1].plays]
    assert plays == [("8/5 6/5", 2, 0.0, False), ("13/9", 1, pytest.approx(0.06), False)]
    assert found.books == ()


def test_only_plays_of_openings_are_kept(matches: list[AnalysedMatch]) -> None:
    later = next(d for d in matches[0].analysis.decisions if d.kind is DecisionKind.PLAY and d.turn == 7)
    elsewhere = replace(later, turn=1, xgid="XGID=" + "-" * 12 + "A" + "-" * 12 + "a:0:0:1:31:0:0:0:0:10")
    assert opening_decision(later, "international") is None
    assert opening_decision(elsewhere, "international") is None


# --- similar positions -----------------------------------------------------------------------------------------------


def test_a_position_of_the_archive_is_found_first_and_the_index_is_kept(
    folder: Path, matches: list[AnalysedMatch]
) -> None:
    one = next(d for d in matches[0].analysis.decisions if d.kind is DecisionKind.PLAY and d.turn > 4)
    report = find_similar(parse_xgid(one.xgid), folder, most=5, least_percent=60)
    first = report.similar[0]
    assert (first.percent, first.file, first.game, first.turn) == (100, "m1.mat", one.game, one.turn)
    assert first.best == one.best
    kept = folder / INDEX
    written = kept.stat().st_mtime_ns
    assert find_similar(parse_xgid(one.xgid), folder, 5, 60).similar == report.similar
    assert kept.stat().st_mtime_ns == written
    kept.write_bytes(b"broken")
    assert find_similar(parse_xgid(one.xgid), folder, 5, 60).similar == report.similar


def test_match_files_can_be_searched_without_an_analysis(tmp_path: Path, matches: list[AnalysedMatch]) -> None:
    write_matches(tmp_path, (1,))
    one = next(d for d in matches[0].analysis.decisions if d.kind is DecisionKind.PLAY and d.turn > 4)
    first = find_similar(parse_xgid(one.xgid), tmp_path, 3, 60).similar[0]
    assert (first.percent, first.file, first.game, first.turn, first.done) == (
        100,
        "m1.mat",
        one.game,
        one.turn,
        one.done,
    )
    assert first.loss is None
    with pytest.raises(InputError, match="similar"):
        find_similar(parse_xgid(one.xgid), tmp_path, 0, 60)
    with pytest.raises(InputError):
        find_similar(parse_xgid(one.xgid), tmp_path / "nowhere", 3, 60)
