"""Commands for match records: import, export, convert."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cluster.cli.options import JsonOption, print_json

if TYPE_CHECKING:
    from cluster.record_schemas import ImportReport

PathsArgument = Annotated[list[Path], typer.Argument(metavar="PATH...", help="Files, or folders with files.")]
FormatOption = Annotated[str, typer.Option("--to", metavar="FORMAT", help="mat, txt, sgf, xgid or json.")]
NotesOption = Annotated[int, typer.Option("--notes", metavar="N", help="Notes to show for each file (0: all).")]


def import_records(
    paths: PathsArgument,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Keep every record here, in the format of --to.")
    ] = None,
    to: FormatOption = "json",
    notes: NotesOption = 5,
    json: JsonOption = False,
) -> None:
    """Read match records of any format and say what is in them and what is wrong with them.

    The content decides the format: match texts (.mat, .txt), SGF, XG (.xg, .xgp), BGBlitz (.bgf), text exports of GNU
    Backgammon, XG and BGBlitz, lists of XGIDs and GNU IDs, records of our own. A file that can't be read doesn't stop
    the others; the exit code is then 2.
    """
    _answer(paths, out, to, notes, json)


def export_records(
    paths: PathsArgument,
    to: FormatOption,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder to write to.")],
    notes: NotesOption = 5,
    json: JsonOption = False,
) -> None:
    """Write match records, such as those kept by `import --out`, in another format, one file each."""
    _answer(paths, out, to, notes, json)


def convert(
    source: Annotated[
        str, typer.Argument(metavar="POSITION|FILE", help="XGID or GNU positionID:matchID; or a match record.")
    ],
    to: Annotated[
        str | None, typer.Option("--to", metavar="FORMAT", help="Of a file: mat, txt, sgf, xgid or json.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Of a file: write here.")] = None,
    json: JsonOption = False,
) -> None:
    """Print XGID, GNU position and match ID, pip counts and the board of a position; or write a match record in
    another format.
    """
    from cluster.records import is_file

    if to is not None or out is not None or is_file(source):
        _convert_file(Path(source), to, out, json)
    else:
        _convert_position(source, json)


def _convert_position(text: str, json: bool) -> None:
    from cluster.answers import convert_position
    from cluster.cli import render

    parsed, report = convert_position(text)
    if json:
        print_json(report)
    else:
        render.show_conversion(parsed, report)


def _convert_file(path: Path, to: str | None, out: Path | None, json: bool) -> None:
    from cluster.cli.render_records import show_notes
    from cluster.record_schemas import RecordConversionReport
    from cluster.records import read_file, record_format, summarise, write_file
    from engine.errors import InputError
    from engine.records.formats import write_record

    if to is None:
        raise InputError("to", to, "a format to write the record in: mat, txt, sgf, xgid or json")
    target = record_format(to)
    record = read_file(path)
    text = write_record(record, target)
    if out is not None:
        write_file(out, text)
    report = summarise(path, record, out)
    if json:
        print_json(RecordConversionReport(record=report, to=target.value, text=text if out is None else None))
        return
    show_notes(report)
    if out is None:
        sys.stdout.write(text)
        sys.stdout.flush()


def _answer(paths: list[Path], out: Path | None, to: str, notes: int, json: bool) -> None:
    from cluster.cli.render_records import show_import
    from cluster.records import import_files, record_format
    from engine.errors import InputError

    if notes < 0:
        raise InputError("notes", notes, "0 or a number of notes")
    report: ImportReport = import_files(paths, out, record_format(to))
    if json:
        print_json(report)
    else:
        show_import(report, notes)
    if report.failed:
        raise typer.Exit(2)
