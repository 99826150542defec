"""The suite as a whole and its command: parts, files, levels, threads, tables and documents."""

from __future__ import annotations

from pathlib import Path

import pytest
from nets import random_net
from suite_files import contestant, decision, ranked, silent, write_all, write_lines

from cluster.cli.main import main
from cluster.cli.suite_tables import show_suite
from cluster.suite_schemas import SuiteReport, suite_report
from engine.bearoff import Bearoff
from engine.board import START
from engine.errors import InputError
from engine.weights import save_net
from training.suite.contestant import CHUNK
from training.suite.figures import Figure, Measure, Missing, Part, SuiteResult, Unit
from training.suite.references import Reference, load_references
from training.suite.run import FILES, SuiteOptions, available_files, run_suite

QUICK = SuiteOptions(levels=(1,))


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory, databases: Bearoff) -> Path:
    """Every file, with a few records."""
    return write_all(tmp_path_factory.mktemp("data"), databases)


@pytest.fixture
def shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, session_home: Path, databases: Bearoff
) -> pytest.MonkeyPatch:
    """A data folder with databases, and no reference data."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "bearoff").symlink_to(session_home / "bearoff")
    monkeypatch.setenv("GAMMONFARM_HOME", str(home))
    monkeypatch.delenv("GAMMONFARM_DATA", raising=False)
    return monkeypatch


def run(data: Path, databases: Bearoff, options: SuiteOptions = QUICK, threads: int = 1) -> SuiteResult:
    return run_suite(contestant(databases, threads), available_files(data, options), options, silent)


def test_every_part_has_figures_and_no_two_have_one_name(data: Path, databases: Bearoff) -> None:
    result = run(data, databases)
    assert {figure.part for figure in result.figures} == set(Part)
    names = [(f.part, f.source, f.measure, f.group, f.level) for f in result.figures]
    assert len(set(names)) == len(names)
    assert result.missing == ()
    assert {(o.source, o.dice) for o in result.openings} == {
        ("opening_table_xg_book", (3, 1)),
        ("opening_table_xg_book", (6, 1)),
        ("opening_published", (6, 1)),
    }
    # The labels are the net's own values, so that it is perfectly calibrated.
    assert result.reliability
    for one in result.reliability:
        assert one.predicted == pytest.approx(one.rolled_out, abs=1e-6)


def test_the_number_of_threads_changes_no_bit(data: Path, databases: Bearoff, tmp_path: Path) -> None:
    plays = ranked(START, (3, 1))
    many = [
        decision(START, (3, 1), [(plays[i % 3], 0.1), (plays[0], i / 1000), (plays[9], -0.1)])
        for i in range(2 * CHUNK + 5)
    ]
    write_lines(tmp_path / "benchmarks" / "gnubg4ply_small.jsonl", many)
    for folder in (data, tmp_path):
        assert run(folder, databases, threads=3) == run(folder, databases, threads=1)


def test_work_is_answered_in_the_order_of_the_items_with_progress(databases: Bearoff) -> None:
    seen: list[tuple[int, int]] = []
    items = list(range(3 * CHUNK + 1))
    found = contestant(databases, threads=4).over(items, lambda _, item: item * 2, lambda *told: seen.append(told))
    assert found == [2 * item for item in items]
    assert seen == [(done, len(items)) for done in (CHUNK, 2 * CHUNK, 3 * CHUNK, len(items))]


def test_an_error_in_a_thread_reaches_the_caller(databases: Bearoff) -> None:
    def fail(_: object, item: int) -> int:
        raise InputError("item", item, "another one")

    with pytest.raises(InputError, match="another one"):
        contestant(databases, threads=2).over([1, 2, 3], fail, lambda *_: None)


def test_levels_and_parts_are_those_asked_for(data: Path, databases: Bearoff) -> None:
    options = SuiteOptions(parts=(Part.VALUE, Part.CHECKER), levels=(2, 1, 2))
    figures = run(data, databases, options).figures
    assert list(dict.fromkeys(f.part for f in figures)) == [Part.CHECKER, Part.VALUE]
    assert list(dict.fromkeys(f.level for f in figures)) == [1, 2]


def test_a_limit_takes_the_first_positions_of_each_file(data: Path, databases: Bearoff) -> None:
    figures = run(data, databases, SuiteOptions(levels=(1,), limit=1)).figures
    all_of_it = [f for f in figures if f.group is None and f.part in (Part.CHECKER, Part.VALUE)]
    assert {f.n for f in all_of_it} == {1}
    assert all(f.interval95 is None for f in all_of_it)


def test_parts_whose_files_are_missing_are_left_out_and_named(databases: Bearoff, tmp_path: Path, data: Path) -> None:
    for name in ("gnubg4ply_small.jsonl", "bearoff_two_sided.jsonl"):
        write_lines(tmp_path / "benchmarks" / name, (data / "benchmarks" / name).read_text().splitlines())
    result = run(tmp_path, databases)
    assert {f.source for f in result.figures} == {"gnubg4ply_small", "bearoff_two_sided"}
    there = {"gnubg4ply_small.jsonl", "bearoff_two_sided.jsonl"}
    assert result.missing == tuple(
        Missing(part, file.value) for part in Part for file in FILES[part] if file.value not in there
    )


def test_a_file_without_usable_records_is_refused(databases: Bearoff, tmp_path: Path) -> None:
    for part, name in ((Part.CHECKER, "gnubg4ply_small.jsonl"), (Part.BEAROFF, "wildbg_race_positions_half.txt")):
        write_lines(tmp_path / "benchmarks" / name, [])
        with pytest.raises(InputError, match=name):
            run(tmp_path, databases, SuiteOptions(parts=(part,), levels=(1,)))
        (tmp_path / "benchmarks" / name).unlink()


def test_without_levels_each_part_has_its_own(data: Path, databases: Bearoff) -> None:
    figures = run(data, databases, SuiteOptions(parts=(Part.OPENINGS, Part.BEAROFF, Part.CALIBRATION))).figures
    levels = {part: sorted({f.level for f in figures if f.part is part}, key=lambda v: v or 0) for part in Part}
    assert levels == {
        Part.CHECKER: [],
        Part.VALUE: [],
        Part.OPENINGS: [1, 2, 3],
        Part.BEAROFF: [None, 1, 2],
        Part.CALIBRATION: [1],
        Part.CUBE: [],
    }


# --- references ------------------------------------------------------------------------------------------------------


def test_every_shipped_reference_belongs_to_a_file_and_can_stand_once_beside_a_figure() -> None:
    references = load_references()
    names = [(r.part, r.source, r.measure, r.group, r.level, r.n, r.program) for r in references]
    assert len(set(names)) == len(names) > 10
    for reference in references:
        assert reference.source in {file.value.split(".")[0] for file in FILES[reference.part]}
        assert reference.origin
        if reference.interval95:
            assert reference.interval95[0] < reference.value < reference.interval95[1]


def test_a_reference_stands_only_beside_a_figure_of_as_many_decisions() -> None:
    small = Figure(Part.CHECKER, "gnubg4ply_small", Measure.LOSS, None, 1, 1759, 6.0, Unit.MEQ, (5.0, 7.0))
    fewer = Figure(Part.CHECKER, "gnubg4ply_small", Measure.LOSS, None, 1, 500, 6.0, Unit.MEQ, (5.0, 7.0))
    report = suite_report(SuiteResult((small, fewer), (), (), ()), "net", "normal", "fitted", 1.0)
    assert [[r.program for r in f.references] for f in report.figures] == [["GNU Backgammon"], []]


def test_a_reference_of_another_level_or_group_is_not_beside_a_figure() -> None:
    figure = Figure(Part.CHECKER, "s", Measure.LOSS, "race", 1, 9, 6.0, Unit.MEQ)
    reference = Reference(
        part=Part.CHECKER,
        source="s",
        measure=Measure.LOSS,
        group="race",
        level=1,
        n=9,
        program="another",
        value=1.0,
        origin="here",
    )
    assert reference.is_beside(figure)
    for change in ({"group": None}, {"level": 2}, {"n": 8}, {"measure": Measure.BIAS}):
        assert not reference.model_copy(update=change).is_beside(figure)


def test_other_programs_stand_below_our_figure_in_the_column_of_their_level(
    capsys: pytest.CaptureFixture[str],
) -> None:
    figures = (
        Figure(Part.CHECKER, "gnubg4ply_small", Measure.LOSS, None, 2, 1759, 3.456, Unit.MEQ, (2.456, 4.456)),
        Figure(Part.BEAROFF, "bearoff_two_sided", Measure.LARGEST, "owned", None, 120, 0.00012, Unit.POINTS),
    )
    show_suite(suite_report(SuiteResult(figures, (), (), ()), "net", "normal", "fitted", 1.0))
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    head, ours, theirs, exact = (
        next(line for line in lines if words in line)
        for words in ("databases", "loss per decision", "GNU Backgammon", "largest error: owned")
    )
    assert ours.split()[-5:] == ["1,759", "mEq", "3.46", "±", "1.00"]
    assert theirs.split() == ["GNU", "Backgammon", "3.14", "±", "0.56"]
    assert head.index("2-ply") + len("2-ply") == len(ours) == len(theirs)
    assert exact.split()[-3:] == ["120", "points", "0.0001"]
    assert head.index("databases") + len("databases") == len(exact)


# --- the command -----------------------------------------------------------------------------------------------------


def suite(*arguments: str) -> int:
    return main(["benchmark", "suite", *arguments])


def test_the_command_prints_one_table_and_what_is_missing(
    shell: pytest.MonkeyPatch, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "some" / "benchmarks"
    for name in ("gnubg4ply_small.jsonl", "opening_table_xg_book.tsv"):
        write_lines(folder / name, (data / "benchmarks" / name).read_text().splitlines())
    shell.setenv("GAMMONFARM_DATA", str(folder.parent))
    assert suite("--part", "checker", "--part", "openings", "--levels", "1") == 0
    captured = capsys.readouterr()
    lines = [line.rstrip() for line in captured.out.splitlines()]
    assert lines[0].split() == ["figure", "n", "unit", "1-ply"]
    assert [line for line in lines if line in ("checker", "openings")] == ["checker", "openings"]
    assert any(line.startswith("    loss per decision: opening") for line in lines)
    assert any(line.startswith("3-1") and "6/5" in line for line in lines)
    assert [line for line in lines if "missing" in line] == [
        "checker: left out gnubg4ply_half.jsonl.gz, which is missing",
        "openings: left out opening_published.json, which is missing",
        "openings: left out xg_book_half.jsonl, which is missing",
    ]


def test_the_document_holds_the_table_and_the_chosen_net(
    shell: pytest.MonkeyPatch, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    net = random_net(3)
    save_net(net, tmp_path / "net.safetensors")
    options = ["--data", str(data), "--levels", "1", "--limit", "2", "--threads", "2"]
    assert suite(*options, "--net", str(tmp_path / "net.safetensors"), "--json") == 0
    captured = capsys.readouterr()
    report = SuiteReport.model_validate_json(captured.out)
    assert report.net.startswith(net.digest)
    assert report.filter == "normal"
    assert {f.part for f in report.figures} == set(Part)
    assert {(row.roll, row.book_play) for row in report.openings} == {("31", "8/5 6/5"), ("61", "13/7 8/7")}
    assert report.missing == ()


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ([], ["data", "GAMMONFARM_DATA"]),
        (["--data", "nowhere"], ["data", "nowhere", "gnubg4ply_small.jsonl"]),
        (["--data", ".", "--levels", "1,x"], ["levels", "1,x", "1,2,3"]),
        (["--data", ".", "--levels", "5"], ["level", "5"]),
        (["--data", ".", "--limit", "0"], ["limit", "0", "at least 1"]),
        (["--data", ".", "--threads", "0"], ["threads", "0", "at least 1"]),
        (["--data", ".", "--part", "dice"], ["--part", "dice", "openings"]),
    ],
)
def test_bad_input_is_one_line(
    shell: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: list[str], named: list[str]
) -> None:
    assert suite(*arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    (line,) = captured.err.splitlines()
    assert all(part in line for part in named)


def test_a_file_is_benchmarked_with_and_without_the_word(
    shell: pytest.MonkeyPatch, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(data / "benchmarks" / "gnubg4ply_small.jsonl")
    for arguments in ([file, "--limit", "1"], ["--limit", "1", file], ["file", file, "--limit", "1"]):
        assert main(["benchmark", *arguments]) == 0
        assert "over 1 checker decisions" in capsys.readouterr().out
    assert main(["benchmark"]) == 2
    assert "FILE" in capsys.readouterr().err
