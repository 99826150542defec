"""What people see of the benchmark suite: live progress on stderr, tables on stdout."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from cluster.cli.on_screen import OnScreen
from cluster.cli.render import plain_table, stdout_console
from cluster.suite_schemas import OpeningRow, ReferenceFigure, ReliabilityRow, SuiteFigure, SuiteReport
from engine.outcome import NAMES
from training.suite.figures import Measure, Unit

_DECIMALS = {Unit.MEQ: 2, Unit.POINTS: 4, Unit.PERCENT: 2, Unit.ROLLS: 4}
_NO_LEVEL = "databases"
_WIDTH = 140

_Row = tuple[str, Measure, str | None]  # source, measure, group


class SuiteProgress(OnScreen):
    """A line on stderr that goes away at the end: what is being looked at, and how far it is."""

    def __init__(self) -> None:
        self._progress = Progress(
            BarColumn(bar_width=16),
            TextColumn("{task.description}"),
            TextColumn("{task.completed:,}/{task.total:,}"),
            TimeElapsedColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        super().__init__(self._progress)
        self._task = self._progress.add_task("starting", total=1)

    def update(self, what: str, done: int, total: int) -> None:
        """Show where the run stands."""
        self._progress.update(self._task, description=what, completed=done, total=total)


def show_suite(report: SuiteReport) -> None:
    """The figures by part, the openings, the reliability tables, and one line of provenance."""
    out = stdout_console(_WIDTH)
    if report.figures:
        out.print(_figures(report.figures))
    for table in (*_openings(report.openings), *_reliability(report.reliability)):
        out.print()
        out.print(table)
    out.print(
        f"\nnet {report.net}, filter {report.filter}, cube efficiency {report.efficiency}, {report.seconds:.0f} s; "
        "± is the 95 % interval",
        markup=False,
    )
    for one in report.missing:
        out.print(f"{one.part.value}: left out {one.file}, which is missing", markup=False)


def _figures(figures: tuple[SuiteFigure, ...]) -> Table:
    """One row for each measure of each file, one column for each level; other programs below in their own rows."""
    levels = sorted({f.level for f in figures}, key=lambda level: level or 0)
    table = plain_table("figure", "n", "unit", *(_NO_LEVEL if level is None else f"{level}-ply" for level in levels))
    table.columns[2].justify = "left"
    for part in dict.fromkeys(f.part for f in figures):
        table.add_row(Text(part.value, style="bold"))
        of_part = [f for f in figures if f.part is part]
        for source in dict.fromkeys(f.source for f in of_part):
            table.add_row(f"  {source}")
            of_source = [f for f in of_part if f.source == source]
            for row in _rows(of_source):
                cells = {f.level: f for f in of_source if (f.source, f.measure, f.group) == row}
                _add_figure(table, levels, row, cells)
    return table


def _rows(figures: list[SuiteFigure]) -> list[_Row]:
    """The rows of one file in the order of the figures, those of one measure together."""
    rows = dict.fromkeys((f.source, f.measure, f.group) for f in figures)
    measures = list(dict.fromkeys(measure for _, measure, _ in rows))
    return sorted(rows, key=lambda row: measures.index(row[1]))


def _add_figure(table: Table, levels: list[int | None], row: _Row, cells: dict[int | None, SuiteFigure]) -> None:
    _, measure, group = row
    first = next(iter(cells.values()))

    def text(one: SuiteFigure | ReferenceFigure | None) -> str:
        if one is None:
            return ""
        half = f" ± {(one.interval95[1] - one.interval95[0]) / 2:.{decimals}f}" if one.interval95 else ""
        return f"{one.value:{sign}.{decimals}f}{half}"

    decimals = _DECIMALS[first.unit]
    sign = "+" if measure is Measure.BIAS else ""
    name = f"    {measure.value}{f': {group}' if group else ''}"
    table.add_row(name, f"{first.n:,}", first.unit.value, *(text(cells.get(level)) for level in levels))
    for program in dict.fromkeys(r.program for f in cells.values() for r in f.references):
        theirs = {f.level: r for f in cells.values() for r in f.references if r.program == program}
        table.add_row(f"      {program}", "", "", *(text(theirs.get(level)) for level in levels), style="dim")


def _openings(rows: tuple[OpeningRow, ...]) -> Iterable[Table]:
    """For each book: first rolls, its play, and ours at each level where it is another one, with what it loses."""
    for source in dict.fromkeys(row.source for row in rows):
        of_source = [row for row in rows if row.source == source]
        levels = list(dict.fromkeys(row.level for row in of_source))
        table = plain_table(source, "the book's play", *(f"{level}-ply" for level in levels))
        for column in table.columns:
            column.justify = "left"
        for roll in dict.fromkeys(row.roll for row in of_source):
            by_level = {row.level: row for row in of_source if row.roll == roll}
            book = next(iter(by_level.values())).book_play
            table.add_row(f"{roll[0]}-{roll[1]}", book, *(_opening(by_level[level]) for level in levels))
        yield table


def _opening(row: OpeningRow) -> str:
    if row.play == row.book_play:
        return "="
    return f"{row.play} ({'not in the book' if row.loss is None else f'-{row.loss:.4f}'})"


def _reliability(rows: tuple[ReliabilityRow, ...]) -> Iterable[Table]:
    """For each file and level: by bin, how much too high (+) each probability is, with the positions in the bin."""
    for source, level in dict.fromkeys((row.source, row.level) for row in rows):
        chosen = [row for row in rows if (row.source, row.level) == (source, level)]
        table = plain_table(f"{source}, {level}-ply", *(f"{name.replace('_', ' ')} %" for name in NAMES))
        for low, high in sorted({(row.low, row.high) for row in chosen}):
            cells = {row.probability: row for row in chosen if row.low == low}
            bounds = f"  given {100 * low:.0f} to {100 * high:.0f} %"
            table.add_row(bounds, *(_difference(cells.get(name)) for name in NAMES))
        yield table


def _difference(row: ReliabilityRow | None) -> str:
    return f"{100 * (row.predicted - row.rolled_out):+.2f} ({row.n:,})" if row else ""
