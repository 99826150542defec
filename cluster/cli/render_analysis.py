"""What people see of an analysis: progress on stderr, tables on stdout."""

from __future__ import annotations

import logging

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from cluster.archive.files import Skipped
from cluster.archive.schemas import AnalyseReport, SimilarReport
from cluster.archive.session import Progress as Told
from cluster.cli.on_screen import OnScreen
from cluster.cli.render import plain_table, stdout_console

_PLAYERS_SHOWN = 20
log = logging.getLogger(__name__)


class AnalysisProgress(OnScreen):
    """Live lines on stderr: files done, and what is being valued."""

    def __init__(self) -> None:
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.completed:,.0f}/{task.total:,.0f}"),
            TextColumn("{task.fields[unit]}"),
            TimeElapsedColumn(),
            console=Console(stderr=True, emoji=False),
        )
        super().__init__(self._progress)
        self._files = self._progress.add_task("files", total=1, unit="read and judged")
        self._values = self._progress.add_task("values", total=1, unit="", visible=False)

    def told(self) -> Told:
        """What the analysis tells."""
        return Told(advance=self._advance, files=self._file, skipped=self._skipped)

    def _advance(self, what: str, done: int, total: int) -> None:
        self._progress.update(self._values, completed=done, total=total, unit=f"positions at {what}", visible=True)

    def _file(self, done: int, total: int) -> None:
        self._progress.update(self._files, completed=done, total=total)

    def _skipped(self, skipped: Skipped) -> None:
        if skipped.same_as is None:
            log.warning("%s skipped: %s", skipped.file, skipped.reason)


def show_analysis(report: AnalyseReport) -> None:
    """Players with their ratings, and where the reports are."""
    table = plain_table("player", "matches", "decisions", "PR", "SE", "errors", "blunders", "luck")
    for one in report.players[:_PLAYERS_SHOWN]:
        table.add_row(
            one.name,
            f"{one.matches}",
            f"{one.decisions:,}",
            "" if one.pr is None else f"{one.pr:.2f}",
            "" if one.se is None else f"{one.se:.2f}",
            f"{one.errors}",
            f"{one.blunders}",
            f"{one.luck:+.2f}",
        )
    out = stdout_console()
    out.print(table)
    more = len(report.players) + report.more_players - _PLAYERS_SHOWN
    if more > 0:
        out.print(f"and {more} more", markup=False)
    left_out = ""
    if report.skipped:
        left_out = f"; left out: {report.unreadable} files that can't be read, {report.copies} copies"
    levels = ", ".join(f"{level} {count:,}" for level, count in report.levels.items())
    out.print(f"\n{report.matches} matches, {report.games} games{left_out}", markup=False)
    out.print(f"policy {report.policy}, {report.decisions:,} decisions by level: {levels}", markup=False)
    values = ", ".join(
        f"{one.level} {one.computed:,} computed" + (f" and {one.from_cache:,} from the cache" if one.from_cache else "")
        for one in report.values
    )
    where = f"distinct positions: {values}" if report.values else "valued by the farm"
    out.print(f"{where}; net {report.net}, {report.seconds:.1f} s", markup=False)
    if report.books:
        use = "what they list is judged by their values" if report.from_book else "beside the analysis only"
        out.print(f"opening books: {', '.join(report.books)}; {use}", markup=False)
    if report.out is not None:
        out.print(f"report: {report.out}/index.html", markup=False)


def show_similar(report: SimilarReport) -> None:
    """The positions that were found."""
    table = plain_table("%", "times", "type", "where", "players", "done", "best", "loss", "XGID")
    for column in table.columns[2:]:
        column.justify = "left"
    for one in report.similar:
        where = f"{one.file} {one.game}/{one.turn}" + (f" {one.date}" if one.date else "")
        loss = "" if one.loss is None else f"{one.loss:.3f} ({one.level})"
        row = (f"{one.percent}", f"{one.occurrences}", one.type, where, f"{one.player} - {one.opponent}")
        table.add_row(*row, one.done or "", one.best or "", loss, one.xgid)
    out = stdout_console(220)
    out.print(table)
    out.print(
        f"\n{len(report.similar)} of {report.searched:,} distinct positions, {report.milliseconds:.0f} ms; "
        f"this one: {report.type}",
        markup=False,
    )
