"""What people see of match equity tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from cluster.cli.render import plain_table, stdout_console
from cluster.met_schemas import MetComputedReport, MetInfo, MetScoreReport, MetTableReport

_COLUMN = 8
_HEAD = 16


def show_table(report: MetTableReport) -> None:
    """Chances in per cent: a row for each number of points that a side needs, a column for its opponent's."""
    length = len(report.pre_crawford)
    table = plain_table("you need", *(str(b) for b in range(1, length + 1)))
    for a, row in enumerate(report.pre_crawford, 1):
        table.add_row(str(a), *(f"{100 * chance:.2f}" for chance in row))
    if report.post_crawford is not None:
        table.add_row("post-Crawford", *(f"{100 * chance:.2f}" for chance in report.post_crawford))
    out = stdout_console(_HEAD + _COLUMN * length)
    out.print(_title(report.met), markup=False, soft_wrap=True)
    what = "chance to win the match in %, by the points that you (rows) and the opponent (columns) need\n"
    out.print(what, soft_wrap=True)
    out.print(table)
    if report.post_crawford is not None:
        out.print("\npost-Crawford: of the side that needs so many points against one that needs one", soft_wrap=True)


def show_score(report: MetScoreReport) -> None:
    """Both sides beside each other."""
    own, other = report.own, report.opponent
    table = plain_table("", f"you, {own.points_away} away", f"opponent, {other.points_away} away")
    table.add_row("chance to win the match %", *(f"{100 * side.mwc:.2f}" for side in (own, other)))
    for what, values in (("winning", "after_win"), ("losing", "after_loss")):
        for kind, name in enumerate(("single game", "gammon", "backgammon")):
            chances = (getattr(side, values)[kind] for side in (own, other))
            table.add_row(f"  after {what} a {name}", *(f"{100 * chance:.2f}" for chance in chances))
    for name, field in (("take point, dead cube %", "take_point_dead"), ("take point, live cube %", "take_point_live")):
        points = (getattr(side, field) for side in (own, other))
        table.add_row(name, *("no double" if point is None else f"{100 * point:.2f}" for point in points))
    table.add_row("gammon value", *(f"{side.gammon_value:.3f}" for side in (own, other)))
    table.add_row("backgammon value", *(f"{side.backgammon_value:.3f}" for side in (own, other)))
    out = stdout_console()
    game = ", Crawford game" if report.crawford else ", post-Crawford" if report.post_crawford else ""
    out.print(_title(report.met), markup=False, soft_wrap=True)
    out.print(f"{own.points_away}-away {other.points_away}-away{game}, cube {report.cube}\n", markup=False)
    out.print(table)
    if own.take_point_dead is not None:
        out.print(f"\ntake points: without gammons, for a double from {report.cube} to {2 * report.cube}")


def show_computed(report: MetComputedReport) -> None:
    """How games end, and where the table lies."""
    table = plain_table("the side that begins", "single game %", "gammon %", "backgammon %")
    for name, chances in (("wins", report.win), ("loses", report.lose)):
        table.add_row(name, *(f"{100 * chance:.2f}" for chance in chances))
    out = stdout_console()
    out.print(table)
    out.print(
        f"\nnet {report.net}, {report.trials:,} trials, largest standard error {100 * report.se:.2f} %,"
        f" {report.seconds:.1f} s\nwritten: {report.file}",
        markup=False,
    )


@contextmanager
def computing() -> Iterator[Callable[[float], None]]:
    """A progress bar on stderr; takes the part that is done."""
    console = Console(stderr=True)
    columns = (TextColumn("rolling out openings"), BarColumn(bar_width=24), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("openings", total=1.0)
        yield lambda done: progress.update(task, completed=done)


def _title(met: MetInfo) -> str:
    return f"{met.name}: {met.source}"
