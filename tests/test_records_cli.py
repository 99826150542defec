"""`import`, `export` and `convert FILE`: what they print, write and refuse."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from records_made import bgf_file, xg_file
from test_records_formats import IDS, MAT, SGF, small_bgf, small_xg

from cluster.cli.main import main
from cluster.record_schemas import ImportReport, RecordConversionReport
from engine.records.formats import read_record


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Files of several formats with names that say nothing about them, and one that is none."""
    files = {
        "a.txt": SGF.encode(),
        "b.sgf": MAT.replace("13/9", "13/8").encode(),
        "c.doc": xg_file(small_xg()),
        "deeper/d": bgf_file(small_bgf()),
        "broken.mat": b"\x00\x01\x02 no record at all",
        ".hidden": b"left out",
    }
    for name, data in files.items():
        path = tmp_path / "in" / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_bytes(data)
    return tmp_path / "in"


def test_import_says_what_is_in_every_file_and_a_bad_one_stops_no_other(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["import", str(folder), "--json"]) == 2
    report = ImportReport.model_validate_json(capsys.readouterr().out)
    assert (report.read, report.failed, report.games, report.illegal_plays) == (4, 1, 4, 1)
    files = {Path(file.path).name: file for file in report.files}
    assert {name: file.format for name, file in files.items() if file.error is None} == {
        "a.txt": "sgf",
        "b.sgf": "mat",
        "c.doc": "xg",
        "d": "bgf",
    }
    assert files["broken.mat"].error is not None
    assert "expected a match text" in files["broken.mat"].error
    first = files["a.txt"]
    assert (first.players, first.length, first.turns, first.final_score) == (("Fox", "Crow"), 5, 4, (1, 0))
    assert first.games[0].model_dump() == {
        "number": 1,
        "score": (0, 0),
        "turns": 4,
        "winner": 1,
        "points": 1,
        "ending": "passed",
    }
    (note,) = files["b.sgf"].notes
    assert (note.problem, note.game, note.turn) == ("illegal play", 1, 2)


def test_import_shows_a_row_a_file_and_the_notes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", str(folder / "a.txt"), str(folder / "b.sgf")]) == 0
    out = capsys.readouterr().out
    assert "Fox - Crow" in out
    assert "game 1, turn 2, illegal play: '24/18 13/8' is no legal play of 64" in out
    assert "2 of 2 files read, 2 games, 1 illegal plays" in out


def test_records_are_kept_by_import_and_written_again_by_export(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept, written = tmp_path / "kept", tmp_path / "written"
    assert main(["import", str(folder), "--out", str(kept)]) == 2
    assert sorted(path.name for path in kept.iterdir()) == ["a.json", "b.json", "c.json", "d.json"]
    assert main(["export", str(kept), "--to", "sgf", "--out", str(written), "--json"]) == 0
    capsys.readouterr()
    for name in "abcd":
        ours = read_record((kept / f"{name}.json").read_bytes())
        assert read_record((written / f"{name}.sgf").read_bytes()).plays_only() == ours.plays_only()


def test_files_of_the_same_name_get_names_of_their_own_and_no_source_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "match.mat").write_text(MAT)
    (tmp_path / "match.sgf").write_text(SGF)
    assert main(["import", str(tmp_path), "--to", "sgf", "--out", str(tmp_path)]) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "match.mat",
        "match.mat.sgf",
        "match.sgf",
        "match.sgf.sgf",
    ]
    assert (tmp_path / "match.sgf").read_text() == SGF


def test_convert_prints_a_file_in_another_format_or_writes_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, target = tmp_path / "match", tmp_path / "match.sgf"
    source.write_text(MAT)
    assert main(["convert", str(source), "--to", "txt"]) == 0
    assert read_record(capsys.readouterr().out.encode()).plays_only() == read_record(MAT.encode()).plays_only()
    assert main(["convert", str(source), "--to", "sgf", "--out", str(target)]) == 0
    assert capsys.readouterr().out == ""
    assert read_record(target.read_bytes()).plays_only() == read_record(MAT.encode()).plays_only()
    assert main(["convert", str(source), "--to", "json", "--json"]) == 0
    report = RecordConversionReport.model_validate_json(capsys.readouterr().out)
    assert report.text is not None
    assert json.loads(report.text)["players"] == ["Fox", "Crow"]


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["convert", "{file}"], ["to", "mat, txt, sgf, xgid or json"]),
        (["convert", "{file}", "--to", "pdf"], ["format", "pdf", "one of mat, txt, sgf, xgid, json"]),
        (["convert", "{missing}", "--to", "sgf"], ["path", "missing", "a file"]),
        (["convert", "{ids}", "--to", "mat"], ["set-up position"]),
        (["convert", "{file}", "--to", "sgf", "--out", "{missing}/x"], ["out", "missing"]),
        (["import", "{missing}"], []),
        (["import", "{empty}"], ["path", "files, or folders with files"]),
        (["import", "{file}", "--out", "{file}"], ["out", "a folder"]),
        (["import", "{file}", "--notes=-1"], ["notes", "-1"]),
        (["export", "{file}", "--to", "sgf"], ["--out"]),
    ],
)
def test_mistakes_are_one_line_that_names_the_field(
    arguments: list[str], parts: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    places = {name: tmp_path / name for name in ("file", "ids", "missing", "empty")}
    places["file"].write_text(MAT)
    places["ids"].write_text(IDS)
    places["empty"].mkdir()
    assert main([argument.format(**places) for argument in arguments]) == 2
    error = capsys.readouterr().err
    assert len(error.splitlines()) == (1 if parts else 0)
    assert all(part in error for part in parts)
