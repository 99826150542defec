"""The opening table of a book as a PDF."""

from __future__ import annotations

from pathlib import Path

from matplotlib.backends.backend_pdf import PdfPages
from matplotlib.figure import Figure

from cluster.book.artifact import Book
from cluster.book.schemas import BookEntry, Standing

_A4 = (8.27, 11.69)
_ROWS_A_PAGE = 60
_HEADS = ("roll", "play", "equity", "±", "loss", "±", "win", "gammon", "lost g.")
_COLUMNS = (0.07, 0.13, 0.47, 0.54, 0.64, 0.71, 0.79, 0.87, 0.95)
"""Where they begin (the first two) or end, as parts of the width."""
_MARKS = {Standing.BEST: "", Standing.PLAYABLE: " =", Standing.OPEN: " ?", Standing.BEATEN: ""}


def write_opening_pdf(book: Book, path: Path) -> None:
    """All openings with their plays: value, loss, both with 95 % error bars, and chances in per cent."""
    rows = [row for entry in book.entries(1) for row in _rows(entry.shown(book.stakes))]
    identity = book.identity
    title = f"Openings: {book.name} ({identity.words})"
    note = f"net {identity.net}; = also playable, ? open; error bars of 95 %"
    # Without dates, so that the same book gives the same file.
    with PdfPages(path, metadata={"Title": title, "CreationDate": None, "ModDate": None}) as pages:
        for first in range(0, len(rows), _ROWS_A_PAGE):
            pages.savefig(_page(title, note, rows[first : first + _ROWS_A_PAGE]))


def _rows(entry: BookEntry) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for number, play in enumerate(entry.plays):
        p = play.probabilities
        loss = (f"{-play.difference:.4f}", f"{1.96 * play.difference_se:.4f}") if number else ("", "")
        rows.append(
            (
                "-".join(entry.roll) if number == 0 else "",
                play.play + _MARKS[play.standing],
                *(f"{play.equity:+.4f}", f"{1.96 * play.se:.4f}", *loss),
                *(f"{100 * p.win:.2f}", f"{100 * p.win_gammon:.2f}", f"{100 * p.lose_gammon:.2f}"),
            )
        )
    return rows


def _page(title: str, note: str, rows: list[tuple[str, ...]]) -> Figure:
    figure = Figure(figsize=_A4)
    figure.text(_COLUMNS[0], 0.95, title, fontsize=13, weight="bold")
    step = 0.85 / (_ROWS_A_PAGE + 2)
    for line, row in enumerate([_HEADS, *rows]):
        for column, (at, text) in enumerate(zip(_COLUMNS, row, strict=True)):
            side = "left" if column < 2 else "right"
            weight = "bold" if line == 0 or (row[0] and column < 2) else "normal"
            figure.text(at, 0.92 - step * line, text, fontsize=8, ha=side, weight=weight)
    figure.text(_COLUMNS[0], 0.03, note, fontsize=7)
    return figure
