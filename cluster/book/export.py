"""A book in other formats: JSON, CSV, text as eXtreme Gammon writes rollouts, a web site, a table to print, a PDF."""

from __future__ import annotations

import csv
import enum
import io
from collections.abc import Iterator
from pathlib import Path

from cluster.book.artifact import Book
from cluster.book.schemas import BookEntry, BookInfo, BookPlay
from cluster.schemas import Model
from engine.display import board_text
from engine.errors import InputError
from engine.ids import parse_position
from engine.outcome import NAMES


class ExportFormat(enum.Enum):
    """What a book can be written as."""

    JSON = "json"
    CSV = "csv"
    TEXT = "text"
    SITE = "site"
    """A folder of web pages that need no server."""
    TABLE = "table"
    """The openings as one web page for printing."""
    PDF = "pdf"
    """The openings."""


class BookDocument(Model):
    """A whole book as JSON."""

    book: BookInfo
    digest: str
    entries: tuple[BookEntry, ...]


def export(book: Book, form: ExportFormat, path: Path) -> list[Path]:
    """Write a book; what was written.

    Raises:
        InputError: an empty book, or a place that can't be written.
    """
    if not book.info().trials:
        raise InputError("book", book.path, "a book with entries")
    try:
        if form is ExportFormat.SITE:
            from cluster.book.site import write_site

            return write_site(book, path)
        path.parent.mkdir(parents=True, exist_ok=True)
        if form is ExportFormat.PDF:
            from cluster.book.pdf import write_opening_pdf

            write_opening_pdf(book, path)
        else:
            path.write_text(_text_of(book, form), encoding="utf-8")
    except OSError as error:
        raise InputError("file", path, f"a place that can be written ({error.strerror})") from error
    return [path]


def _text_of(book: Book, form: ExportFormat) -> str:
    if form is ExportFormat.JSON:
        return document(book).model_dump_json(indent=1) + "\n"
    if form is ExportFormat.CSV:
        return as_csv(book)
    if form is ExportFormat.TEXT:
        return as_text(book)
    from cluster.book.site import opening_table

    return opening_table(book)


def document(book: Book) -> BookDocument:
    """The whole book."""
    entries = tuple(entry.shown(book.stakes) for entry in book.entries())
    return BookDocument(book=book.info(), digest=book.digest(), entries=entries)


def as_csv(book: Book) -> str:
    """A line a play; the columns are the fields of `BookPlay`, and what names the entry before them."""
    numbers = [name for name in BookPlay.model_fields if not name.startswith("probabilities")]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    chances = [f"{name}{end}" for name in NAMES for end in ("", "_se")]
    writer.writerow(["id", "path", "depth", "roll", "verdict", "rank", *numbers, *chances])
    for entry in book.entries():
        spot = entry.spot
        for rank, play in enumerate(entry.plays, 1):
            fields = play.model_dump(mode="json", exclude={"probabilities", "probabilities_se"})
            pairs = zip(play.probabilities.values(), play.probabilities_se.values(), strict=True)
            writer.writerow(
                [
                    *(spot.id, spot.path, spot.depth, spot.roll, entry.verdict.value, rank),
                    *(fields[name] for name in numbers),
                    *(number for pair in pairs for number in pair),
                ]
            )
    return out.getvalue()


def as_text(book: Book) -> str:
    """Every entry in the layout of eXtreme Gammon's text exports of rollouts; confidence is 1.96 standard errors."""
    return "\n\n".join(_entry_text(entry.shown(book.stakes)) for entry in book.entries()) + "\n"


def _entry_text(entry: BookEntry) -> str:
    lines = [
        entry.xgid,
        "",
        board_text(parse_position(entry.xgid)),
        "",
        f"Line: {entry.path}   ({entry.verdict.value})",
    ]
    for rank, play in enumerate(entry.plays, 1):
        lines += ["", *_play_text(rank, play)]
    return "\n".join(lines)


def _play_text(rank: int, play: BookPlay) -> Iterator[str]:
    p = play.probabilities
    behind = f" ({play.difference:+.4f})" if rank > 1 else ""
    how = f"Rollout and {play.search_level}-ply"
    yield f"  {rank:>3}. {how:<20} {play.play:<26} eq:{play.equity:+.4f}{behind}"
    yield f"       Player:   {100 * p.win:6.2f}% (G:{100 * p.win_gammon:.2f}% B:{100 * p.win_backgammon:.2f}%)"
    lose = f"(G:{100 * p.lose_gammon:.2f}% B:{100 * p.lose_backgammon:.2f}%)"
    yield f"       Opponent: {100 * (1 - p.win):6.2f}% {lose}"
    band = 1.96 * play.simulation_se
    low, high = play.simulation_equity - band, play.simulation_equity + band
    yield f"       Confidence: ±{band:.4f} ({low:+.4f}..{high:+.4f}), {play.trials} trials"
    yield f"       {play.search_level}-ply {play.search_equity:+.4f}"
