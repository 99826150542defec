"""What people see of match records."""

from __future__ import annotations

from rich.console import Console

from cluster.cli.render import plain_table, stdout_console
from cluster.record_schemas import ImportReport, NoteReport, RecordReport

_WIDTH = 160


def show_import(report: ImportReport, most_notes: int) -> None:
    """A row for each file, then the notes, then one line of sums."""
    table = plain_table("file", "format", "players", "length", "games", "turns", "score", "illegal", "notes")
    for file in report.files:
        if file.error is None:
            length = str(file.length) if file.length else "money"
            score = f"{file.final_score[0]}-{file.final_score[1]}"
            table.add_row(
                file.path,
                file.format,
                _players(file),
                "" if file.positions == len(file.games) else length,
                str(len(file.games)),
                str(file.turns),
                "" if file.positions == len(file.games) else score,
                str(file.illegal_plays or ""),
                str(len(file.notes) or ""),
            )
    out = stdout_console(_WIDTH)
    if report.read:
        out.print(table)
    for file in report.files:
        if file.error is not None:
            out.print(f"{file.path}: not read: {file.error}", markup=False, soft_wrap=True)
        shown = file.notes[:most_notes] if most_notes else file.notes
        for note in shown:
            out.print(f"{file.path}: {note_text(note)}", markup=False, soft_wrap=True)
        if len(shown) < len(file.notes):
            out.print(f"{file.path}: and {len(file.notes) - len(shown)} more (--notes 0)", markup=False, soft_wrap=True)
    written = sum(file.written is not None for file in report.files)
    text = f"\n{report.read} of {len(report.files)} files read, {report.games} games"
    text += f", {report.illegal_plays} illegal plays" if report.illegal_plays else ""
    text += f", {report.cut_games} games cut" if report.cut_games else ""
    text += f", {written} written" if written else ""
    out.print(text)


def show_notes(report: RecordReport) -> None:
    """On stderr, because stdout may be the record."""
    console = Console(stderr=True, highlight=False, emoji=False)
    for note in report.notes:
        console.print(f"{report.path}: {note_text(note)}", markup=False, soft_wrap=True)
    if report.written is not None:
        console.print(f"{report.path}: written to {report.written}", markup=False, soft_wrap=True)


def note_text(note: NoteReport) -> str:
    """One line."""
    where = "".join(
        f"{name} {number}, " for name, number in (("game", note.game), ("turn", note.turn)) if number is not None
    )
    return f"{where}{note.problem}: {note.reason}"


def _players(file: RecordReport) -> str:
    return " - ".join(name for name in file.players if name)
