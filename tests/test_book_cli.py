"""What people do with a finished book: look things up, compare, publish, quiz; on the command line and in files."""

from __future__ import annotations

import csv
import io
import json
from html.parser import HTMLParser
from pathlib import Path

import pytest
from books import Workshop, tiny_recipe

from cluster.book.artifact import Book, open_book
from cluster.book.diff import compare
from cluster.book.entry import Entry
from cluster.book.export import BookDocument, ExportFormat, export
from cluster.book.quiz import mark, pick
from cluster.book.recipe import SimulationPart, known_recipes, load_recipe, parse_recipe
from cluster.book.schemas import (
    BookBuildReport,
    BookDiffReport,
    BookListReport,
    BookMergeReport,
    BookQuizReport,
    BookShowReport,
    BookVerifyReport,
    Side,
    Verdict,
)
from cluster.book.show import show
from cluster.cli.main import main
from cluster.cli.options import chosen_nets
from cluster.evaluation_schemas import EvaluationReport
from cluster.schemas import Model
from engine.bearoff import Bearoff
from engine.errors import InputError

Run = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def workshop(databases: Bearoff) -> Workshop:
    return Workshop(chosen_nets(None), databases)


@pytest.fixture(scope="module")
def built(workshop: Workshop, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("books") / "tiny.book"
    workshop.build(path, tiny_recipe(budget=1_300))
    return path


@pytest.fixture(scope="module")
def decided(workshop: Workshop, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A book of openings with several plays, most of them settled because little confidence is asked for."""
    tiny = tiny_recipe(budget=1_000)
    wide = tiny.depth[0].model_copy(update={"margin": 0.5, "most": 2})
    path = tmp_path_factory.mktemp("books") / "decided.book"
    workshop.build(path, tiny.model_copy(update={"depth": (wide,), "simulation": SimulationPart(confidence=0.6)}))
    return path


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, built: Path, databases: Bearoff, session_home: Path) -> Path:
    """A data folder with one book."""
    folder = tmp_path / "home"
    (folder / "books").mkdir(parents=True)
    (folder / "books" / "tiny.book").write_bytes(built.read_bytes())
    (folder / "bearoff").symlink_to(session_home / "bearoff")
    monkeypatch.setenv("GAMMONFARM_HOME", str(folder))
    return folder


def document(model: type[Model], capsys: Run, *arguments: str) -> Model:
    """What a command prints with `--json`."""
    capsys.readouterr()
    code = main([*arguments, "--json"])
    captured = capsys.readouterr()
    assert code == 0, captured.err
    return model.model_validate_json(captured.out)


def replied(book: Book) -> tuple[Entry, Entry]:
    """A reply and the opening that it answers."""
    reply = next(book.entries(2))
    opening = next(e for e in book.entries(1) if e.spot.roll == reply.spot.path.split()[0])
    return opening, reply


def test_a_roll_is_shown_with_its_plays_best_first(home: Path, capsys: Run) -> None:
    report = document(BookShowReport, capsys, "book", "show", "13", "--rules", "hypergammon")
    assert isinstance(report, BookShowReport)
    assert [entry.roll for entry in report.entries] == ["31"]
    assert report.plays == report.entries[0].plays
    assert [p.equity for p in report.plays] == sorted((p.equity for p in report.plays), reverse=True)


def test_without_a_roll_all_openings_are_shown(home: Path, capsys: Run) -> None:
    report = document(BookShowReport, capsys, "book", "show", "--book", "tiny")
    assert isinstance(report, BookShowReport)
    assert len(report.entries) == 15
    assert report.plays == ()


def test_replies_are_found_with_and_without_the_roll_of_the_opening(built: Path) -> None:
    with open_book(built) as book:
        opening, reply = replied(book)
        play = opening.plays[0].play
        for line in (play, f"{opening.spot.roll} {play}"):
            position, report = show(book, reply.spot.roll, [line])
            assert report.plays == reply.plays
            assert (position.board == reply.spot.board).all()
        assert len(show(book, None, [play])[1].entries) >= 1


def test_what_a_book_does_not_know_is_said_in_one_line(home: Path, capsys: Run) -> None:
    assert main(["book", "show", "66", "--book", "tiny"]) == 2
    assert "one that tiny.book knows" in capsys.readouterr().err
    assert main(["book", "show", "--rules", "nackgammon"]) == 2
    assert "of which there is a book" in capsys.readouterr().err
    assert main(["book", "show", "--book", "none"]) == 2
    assert "tiny" in capsys.readouterr().err


def test_a_file_that_is_no_book_is_refused(tmp_path: Path, capsys: Run) -> None:
    path = tmp_path / "text.book"
    path.write_text("not a database, but quite some text " * 40)
    assert main(["book", "show", "--book", str(path)]) == 2
    assert "gammonfarm book" in capsys.readouterr().err


def test_an_evaluation_names_the_book_and_is_not_changed_by_it(home: Path, capsys: Run, built: Path) -> None:
    with open_book(built) as book:
        entry = next(book.entries(1)).shown(book.stakes)
    arguments = ("evaluate", entry.xgid, "--rules", "hypergammon", "--cubeless")
    plain = document(EvaluationReport, capsys, *arguments)
    beside = document(EvaluationReport, capsys, *arguments, "--book", "tiny")
    assert isinstance(plain, EvaluationReport)
    assert isinstance(beside, EvaluationReport)
    assert plain.book is None
    assert beside.book is not None
    assert beside.book.name == "tiny"
    assert beside.book.plays == entry.plays
    assert beside.model_copy(update={"book": None}) == plain


def test_books_are_listed_verified_and_merged_on_the_command_line(home: Path, capsys: Run, built: Path) -> None:
    listed = document(BookListReport, capsys, "book", "list")
    assert isinstance(listed, BookListReport)
    assert [info.name for info in listed.books if info.file.startswith(str(home))] == ["tiny"]
    checked = document(BookVerifyReport, capsys, "book", "verify", "tiny")
    assert isinstance(checked, BookVerifyReport)
    merged = document(BookMergeReport, capsys, "book", "merge", str(home / "all.book"), "tiny")
    assert isinstance(merged, BookMergeReport)
    assert merged.digest == checked.digest
    assert merged.added == sum(checked.book.entries)


def test_a_build_on_the_command_line_resumes_what_is_there(home: Path, capsys: Run, tmp_path: Path) -> None:
    recipe = tmp_path / "tiny.toml"
    recipe.write_text(
        'name = "tiny"\nrules = "hypergammon"\ncube = false\n[search]\nlevel = 1\n'
        "[[depth]]\nmargin = 0.02\nmost = 2\ntrials = 36\ncheckpoint = 36\n"
    )
    arguments = ("book", "build", str(recipe), "--executor", "inline")
    report = document(BookBuildReport, capsys, *arguments)
    assert isinstance(report, BookBuildReport)
    assert report.finished
    assert report.computed == 0


def test_a_recipe_for_another_book_of_that_name_is_refused(home: Path, capsys: Run, tmp_path: Path) -> None:
    recipe = tmp_path / "tiny.toml"
    text = 'name = "tiny"\nrules = "hypergammon"\ncube = false\nseed = 2\n[search]\nlevel = 1\n'
    recipe.write_text(text + "[[depth]]\nmargin = 0.0\nmost = 1\ntrials = 36\n")
    assert main(["book", "build", str(recipe), "--executor", "inline"]) == 2
    assert "with seed 2, not 1" in capsys.readouterr().err


def test_a_book_agrees_with_itself(built: Path) -> None:
    with open_book(built) as book:
        report = compare(book, str(built), everything=True)
    assert report.sides[Side.SAME.value] == report.compared == len(report.entries)
    assert all(entry.a_loss == 0.0 for entry in report.entries)


def test_a_published_table_is_judged_by_our_error_bars(workshop: Workshop, tmp_path: Path) -> None:
    recipe = tiny_recipe("international", budget=1).model_copy(
        update={"depth": tuple(d.model_copy(update={"margin": 0.5, "most": 3}) for d in tiny_recipe().depth)}
    )
    path = tmp_path / "one.book"
    workshop.build(path, recipe)
    with open_book(path) as book:
        (entry,) = book.entries()
        first, second = entry.plays[:2]
        table = tmp_path / "table.tsv"
        table.write_text(
            f"roll\tmove\tequity_norm\n{entry.spot.roll}\t{second.play}\t0.05\n{entry.spot.roll}\t{first.play}\t0.02\n"
        )
        report = compare(book, str(table), everything=False)
    (found,) = report.entries
    assert isinstance(report, BookDiffReport)
    assert (found.a_play, found.b_play) == (first.play, second.play)
    assert found.b_loss == pytest.approx(0.03)
    assert found.a_loss == -second.difference
    decided = -second.difference > 2 * second.simulation_difference_se
    if -second.difference <= 0.01:
        assert found.side is Side.CLOSE
    else:
        assert found.side is (Side.DIFFERENT if decided else Side.UNDECIDED)


def test_a_quiz_marks_answers_in_any_notation_and_asks_only_what_is_known(decided: Path) -> None:
    with open_book(decided) as book:
        entries = pick(book, 3, seed=1, depth=None)
        assert all(entry.verdict is not Verdict.OPEN and len(entry.plays) > 1 for entry in entries)
        entry = entries[0]
        best, second = entry.plays[:2]
        assert mark(book, entry, best.play.replace("/", "-").upper()).loss == 0.0
        assert mark(book, entry, second.play).loss == -second.difference
        assert mark(book, entry, " ").answer is None
        with pytest.raises(InputError):
            mark(book, entry, "24/1")


def test_a_quiz_reads_a_play_a_line(home: Path, capsys: Run, monkeypatch: pytest.MonkeyPatch, decided: Path) -> None:
    with open_book(decided) as book:
        answers = [entry.plays[0].play for entry in pick(book, 2, seed=3, depth=None)]
    monkeypatch.setattr("sys.stdin", io.StringIO("nonsense\n" + "\n".join(answers) + "\n"))
    report = document(BookQuizReport, capsys, "book", "quiz", "--book", str(decided), "--count", "2", "--seed", "3")
    assert isinstance(report, BookQuizReport)
    assert report.right == len(answers)
    assert report.mean_loss == 0.0


def test_json_and_csv_hold_every_play(built: Path, tmp_path: Path) -> None:
    with open_book(built) as book:
        plays = [play for entry in book.entries() for play in entry.plays]
        (as_json,) = export(book, ExportFormat.JSON, tmp_path / "book.json")
        (as_csv,) = export(book, ExportFormat.CSV, tmp_path / "book.csv")
    whole = BookDocument.model_validate_json(as_json.read_text())
    assert [play for entry in whole.entries for play in entry.plays] == plays
    rows = list(csv.DictReader(as_csv.open()))
    assert [(row["play"], float(row["equity"]), float(row["win"])) for row in rows] == [
        (play.play, play.equity, play.probabilities.win) for play in plays
    ]


def test_text_and_pdf_name_the_openings(built: Path, tmp_path: Path) -> None:
    with open_book(built) as book:
        opening = next(book.entries(1))
        (text,) = export(book, ExportFormat.TEXT, tmp_path / "book.txt")
        (pdf,) = export(book, ExportFormat.PDF, tmp_path / "book.pdf")
        export(book, ExportFormat.PDF, tmp_path / "again.pdf")
    assert f"{opening.plays[0].play}" in text.read_text()
    assert "Player:" in text.read_text()
    assert pdf.read_bytes().startswith(b"%PDF")
    assert pdf.read_bytes() == (tmp_path / "again.pdf").read_bytes()


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.ids: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = {name: value or "" for name, value in attrs}
        self.ids.add(named.get("id", ""))
        self.links += [named[key] for key in ("href", "src") if key in named]


def test_every_link_of_the_site_leads_somewhere_and_needs_no_network(built: Path, tmp_path: Path) -> None:
    with open_book(built) as book:
        written = export(book, ExportFormat.SITE, tmp_path / "site")
        positions = {entry.spot.position for entry in book.entries()}
    pages = {path.resolve(): _Links() for path in written if path.suffix == ".html"}
    assert len(pages) == len(positions) + 1  # the table to print
    for path, page in pages.items():
        page.feed(path.read_text(encoding="utf-8"))
    for path, page in pages.items():
        for link in page.links:
            assert "//" not in link
            file, _, anchor = link.partition("#")
            target = (path.parent / file).resolve() if file else path
            assert target.is_file(), link
            assert not anchor or anchor in pages[target].ids


def test_the_search_of_the_site_knows_every_entry(built: Path, tmp_path: Path) -> None:
    with open_book(built) as book:
        export(book, ExportFormat.SITE, tmp_path / "site")
        ids = {entry.spot.id for entry in book.entries()}
    script = (tmp_path / "site" / "entries.js").read_text()
    index = json.loads(script.removeprefix("window.ENTRIES = ").removesuffix(";\n"))
    assert {entry[3] for entry in index} == ids
    assert all((tmp_path / "site" / entry[2].partition("#")[0]).is_file() for entry in index)


@pytest.mark.parametrize("name", known_recipes())
def test_shipped_recipes_begin_with_openings_and_replies(name: str) -> None:
    recipe = load_recipe(name)
    assert recipe.name == name
    assert len(recipe.depth) >= 2


def test_a_recipe_with_an_unknown_field_is_refused() -> None:
    with pytest.raises(InputError, match="depths"):
        parse_recipe('name = "x"\ndepths = 3\n[[depth]]\nmargin = 0.0\nmost = 1\ntrials = 36\n', "x.toml")


def test_an_unknown_format_is_refused(home: Path, tmp_path: Path, capsys: Run) -> None:
    assert main(["book", "export", str(tmp_path / "x"), "--format", "docx", "--book", "tiny"]) == 2
    assert "json, csv, text, site, table, pdf" in capsys.readouterr().err
