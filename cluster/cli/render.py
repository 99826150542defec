"""What people see: boards and tables on stdout, live progress on stderr."""

from __future__ import annotations

import math

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from cluster import rollout_progress
from cluster.cli.on_screen import OnScreen
from cluster.planner import RolloutQuestion, blocks_of
from cluster.schemas import (
    BenchmarkReport,
    ConversionReport,
    CubeRolloutDecision,
    DoctorReport,
    PerftReport,
    Probabilities,
    RolloutReport,
    Timing,
)
from engine.bearoff import TWO_SIDED_CHECKERS, Bearoff, open_databases
from engine.display import board_text
from engine.position import Position
from engine.stopping import StopReason

OUTCOME_HEADS = ("win", "win g", "win bg", "lose g", "lose bg")
_CHANCES = tuple(f"{head} %" for head in OUTCOME_HEADS)
BRANCHES = {"no_double": "no double", "double_take": "double/take"}
_WIDTH_WHEN_PIPED = 120
_STOPPED = {
    StopReason.CONFIDENCE: "stopped early: the best play is the best with the confidence asked for",
    StopReason.STANDARD_ERROR: "stopped early: the differences are known to the error asked for",
}


def stdout_console(width: int = _WIDTH_WHEN_PIPED) -> Console:
    """Standard output for tables, `width` columns wide where it is no terminal."""
    # No emoji: rich would turn the ":-1:" of an XGID into one.
    console = Console(highlight=False, emoji=False)
    # A pipe has no width: without one, tables would be squeezed to 80 columns.
    return console if console.is_terminal else Console(highlight=False, emoji=False, width=width)


def percent(p: Probabilities) -> list[str]:
    """The five probabilities with two decimals."""
    # Tiny negative estimates would print as -0.00.
    return [f"{100 * value:.2f}".replace("-0.00", "0.00") for value in p.values()]


def scale_text(cubeful: bool, met: str | None) -> str:
    """What equities are measured in; `met`: the match equity table, at a score."""
    if not cubeful:
        return "cubeless money equity"
    return f"equity with the cube, EMG by {met}" if met else "money equity with the cube"


def plain_table(*heads: str) -> Table:
    """A table without lines: the first column to the left, the others to the right."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for number, head in enumerate(heads):
        table.add_column(head, justify="left" if number == 0 else "right", no_wrap=True)
    return table


def show_board(position: Position) -> None:
    """The board as text."""
    stdout_console().print(board_text(position), markup=False)
    stdout_console().print()


def show_rollout(report: RolloutReport) -> None:
    """The table of candidates, the verdict of a cube decision, and one line of provenance."""
    result = report.result
    match = result.met is not None
    heads = ["equity", *(["mwc %"] if match else []), "SE", "diff", "SE diff"]
    table = plain_table("play" if result.cube is None else "cube action", "level", *heads, *_CHANCES, "trials")
    for c in result.candidates:
        table.add_row(
            c.play or BRANCHES.get(c.branch or "", "before the roll"),
            f"{c.level}-ply",
            f"{c.equity:+.4f}",
            *([f"{100 * (c.mwc or 0.0):.2f}"] if match else []),
            f"{c.se:.4f}",
            f"{c.difference:+.4f}" if c.difference else "",
            f"{c.difference_se:.4f}" if c.difference_se else "",
            *percent(c.probabilities),
            f"{c.trials:,}",
        )
    cube = result.cube
    if cube is not None and cube.equity_dp is not None:
        chance = [f"{100 * cube.mwc_dp:.2f}"] if cube.mwc_dp is not None else []
        table.add_row("double/pass", "exact", f"{cube.equity_dp:+.4f}", *chance)
    out = stdout_console()
    out.print(table)
    if cube is not None:
        show_verdict(out, cube)
    if result.stop is not StopReason.TRIALS:
        out.print(f"\n{_STOPPED[result.stop]}", markup=False)
    p = report.provenance
    cached = f"{p.blocks_from_cache} of {p.blocks} blocks from the cache"
    if p.blocks_from_cache == p.blocks:
        cached = f"all {p.blocks} blocks from the cache"
    out.print(f"\nnet {p.net}, seed {p.seed}, {scale_text(result.cubeful, result.met)}", markup=False)
    out.print(f"{cached}, {effort(p.workers, p.executor, report.timing)}", markup=False)


def show_verdict(out: Console, cube: CubeRolloutDecision) -> None:
    """The right action of a rolled out cube decision, and what the others lose."""
    out.print(f"\nright: {cube.verdict}", markup=False)
    losses = {
        "no double": cube.loss_no_double,
        "double": cube.loss_double,
        "take": cube.loss_take,
        "pass": cube.loss_pass,
    }
    wrong = [f"{name} {loss:.4f}" for name, loss in losses.items() if loss]
    if wrong:
        out.print(f"losses: {', '.join(wrong)}", markup=False)


def effort(workers: int, executor: str, timing: Timing) -> str:
    """Who computed an answer, and how long it took."""
    who = f"{workers} {executor} worker{'s' if workers != 1 else ''}" if workers else "no workers needed"
    rate = f", {timing.trials_per_second:,.0f} trials/s" if timing.trials_per_second else ""
    return f"{who}, {timing.seconds:.1f} s{rate}"


class _Rate(ProgressColumn):
    def render(self, task: Task) -> Text:
        """Trials a second over the whole run (all candidates), and when it will be done."""
        done = task.fields["computed"]
        elapsed = task.elapsed or 0.0
        if not done or elapsed <= 0:
            return Text(task.fields["waiting"])
        left = elapsed / done * (task.fields["to_compute"] - done)
        return Text(f"{done / elapsed:,.0f} trials/s, {max(left, 0):.0f} s left")


class RolloutProgress(OnScreen):
    """A live line on stderr: blocks done, trials per second, the current error, time left."""

    def __init__(self, question: RolloutQuestion) -> None:
        self._candidates = len(question.candidates)
        self._trials = question.trials
        self._started_from: int | None = None
        self._progress = Progress(
            BarColumn(bar_width=16),
            TextColumn("{task.completed}/{task.total} blocks"),
            _Rate(),
            TextColumn("{task.fields[error]}"),
            TimeElapsedColumn(),
            console=Console(stderr=True, emoji=False),
        )
        super().__init__(self._progress)
        self._task = self._progress.add_task(
            "rollout",
            total=len(blocks_of(question)),
            computed=0,
            to_compute=0,
            error="",
            waiting="starting",
        )

    def update(self, progress: rollout_progress.Progress) -> None:
        """Show where the rollout stands."""
        if self._started_from is None:
            self._started_from = progress.trials_done
        going_on = progress.blocks_done < progress.blocks
        self._progress.update(
            self._task,
            completed=progress.blocks_done,
            computed=progress.computed,
            to_compute=(self._trials - self._started_from) * len(progress.active),
            error=self._error(progress),
            waiting="starting workers (the first run compiles the kernels)" if going_on else "",
        )

    def _error(self, progress: rollout_progress.Progress) -> str:
        tally = progress.tally
        if tally.trials < 2:
            return ""
        best = tally.best()
        largest = max(tally.equity(i).se for i in range(tally.candidates))
        text = f"SE {largest:.4f}" if math.isfinite(largest) else ""
        rivals = [tally.difference(i, best) for i in range(tally.candidates) if i != best]
        if rivals:
            closest = max(rivals, key=lambda d: d.mean)
            text += f", lead {-closest.mean:.4f} ± {closest.se:.4f}"
        if len(progress.active) < self._candidates:
            text += f", {len(progress.active)} of {self._candidates} in the race"
        return text


def open_databases_live(two_sided_checkers: int = TWO_SIDED_CHECKERS) -> Bearoff:
    """The bear-off databases; where they must be built first, with a progress bar on stderr."""
    with Progress(
        TextColumn("building the {task.description}"),
        BarColumn(bar_width=24),
        console=Console(stderr=True),
        transient=True,
    ) as progress:
        tasks: dict[str, TaskID] = {}

        def show(name: str, done: float) -> None:
            if name not in tasks:
                tasks[name] = progress.add_task(name, total=1.0)
            progress.update(tasks[name], completed=done)

        return open_databases(progress=show, two_sided_checkers=two_sided_checkers)


def show_perft(report: PerftReport) -> None:
    """Counts and speed."""
    rate = report.plays / report.seconds if report.seconds > 0 else 0.0
    stdout_console().print(
        f"depth {report.depth}, {report.rules}: {report.plays:,} plays over 21 rolls, "
        f"{report.weighted:,} weighted over 36 ({report.seconds:.2f} s, {rate:,.0f}/s)",
        markup=False,
    )


def show_conversion(position: Position, report: ConversionReport) -> None:
    """All notations and the board."""
    out = stdout_console()
    out.print(report.xgid, markup=False)
    out.print(f"GNU position ID {report.gnu_position_id}, match ID {report.gnu_match_id}", markup=False)
    other = position.on_roll.other.name
    out.print(f"pips {report.on_roll} {report.pips[0]}, {other} {report.pips[1]}\n", markup=False)
    show_board(position)


def show_benchmark(report: BenchmarkReport) -> None:
    """One line of scores."""
    c = report.checker
    low, high = c.interval95
    stdout_console().print(
        f"{report.file}, net {report.net}, {report.level}-ply: {c.meq_per_decision:.2f} mEq per decision"
        f" (95 % {low:.2f} to {high:.2f}) over {c.decisions:,} checker decisions, PR scale {c.error_rate:.2f},"
        f" first choice {100 * c.first_choice:.1f} %, unlisted {100 * c.unlisted:.1f} % ({report.seconds:.1f} s)",
        markup=False,
    )


def show_doctor(report: DoctorReport) -> None:
    """Services and versions."""
    table = plain_table("service", "state", "configured", "found")
    for column in table.columns[1:]:
        column.justify = "left"
        column.no_wrap = False
    for service in report.services:
        table.add_row(service.name, "ok" if service.ok else "AWAY", service.configured, service.detail)
    out = stdout_console()
    out.print(table)
    out.print("\n" + ", ".join(f"{name} {version}" for name, version in report.versions.items()), markup=False)
