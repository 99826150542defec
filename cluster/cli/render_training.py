"""What people see of a training run: a live table on stderr, and what it left."""

from __future__ import annotations

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from cluster.cli.on_screen import OnScreen
from cluster.cli.render import stdout_console
from cluster.schemas_training import TrainingReport
from training.distill import DistillRound
from training.history import Score
from training.progress import Status


class TrainingDisplay(OnScreen):
    """A live table on stderr for a training run."""

    def __init__(self, name: str) -> None:
        self._live = Live(console=Console(stderr=True, emoji=False), refresh_per_second=2, transient=False)
        super().__init__(self._live)
        self._name = name

    def show(self, status: Status) -> None:
        """Replace the table: where the training stands."""
        table = Table(box=None, show_header=False, pad_edge=False)
        table.add_row("generation", f"{status.generation:,} of {status.generations:,}", status.doing)
        made = status.produced
        refused = f", {made.refused:,} labels refused" if made.refused else ""
        table.add_row(
            "positions",
            f"{made.games:,} games, {made.samples:,} labels{refused}",
            f"{status.games_per_s:,.0f} games/s, {status.samples_per_s:,.0f} labels/s",
        )
        loss = "" if status.loss is None else f"loss {status.loss:.4f}"
        table.add_row("fit", loss, f"{status.fitted_per_s:,.0f} samples/s" if status.fitted_per_s else "")
        if status.score is not None:
            table.add_row("benchmark", score_text(status.score), "")
        left = "" if status.seconds_left is None else _time(status.seconds_left)
        table.add_row("time left", left, "")
        bar = ProgressBar(total=status.generations, completed=status.generation, width=60)
        self._live.update(Group(Text(self._name, style="bold"), bar, table))

    def show_round(self, rounds: int, done: DistillRound) -> None:
        """The same for a filter net."""
        bar = ProgressBar(total=rounds, completed=done.number, width=60)
        text = f"round {done.number:,} of {rounds:,}, {done.samples:,} samples, loss {done.loss:.4f}"
        self._live.update(Group(Text(self._name, style="bold"), bar, Text(text)))


def score_text(score: Score) -> str:
    """A benchmark in words."""
    return f"{score.meq:.2f} mEq per decision (95 % {score.low:.1f} to {score.high:.1f})"


def _time(seconds: float) -> str:
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60:02} min" if minutes >= 60 else f"{minutes} min"


def show_training(report: TrainingReport) -> None:
    """What a run or a stage left; the net's file comes last, on a line of its own."""
    out = stdout_console()
    made = f"{report.shards:,} shards with {report.samples:,} labels made" if report.shards else "no shards made"
    refused = f", {report.refused:,} refused" if report.refused else ""
    out.print(
        f"{report.recipe}: {report.generations:,} generations, {report.games:,} games; {made}{refused}", markup=False
    )
    if report.benchmark is not None:
        low, high = report.benchmark.interval95
        score = Score(meq=report.benchmark.meq_per_decision, low=low, high=high)
        out.print(f"benchmark: {score_text(score)} over {report.benchmark.decisions:,} decisions", markup=False)
    if report.gate is not None:
        out.print(f"gate: {report.gate.verdict.value}, against {report.gate.champion}", markup=False)
        if report.gate.benchmark is not None:
            low, high = report.gate.benchmark.interval95
            difference = f"{report.gate.benchmark.difference_meq:+.2f} mEq per decision"
            out.print(f"  {difference} (95 % {low:+.2f} to {high:+.2f}; negative is better)", markup=False)
        if report.gate.match is not None:
            low, high = report.gate.match.interval95
            points = f"{report.gate.match.points:+.4f} points per game"
            out.print(
                f"  {points} (95 % {low:+.4f} to {high:+.4f}) over {report.gate.match.games:,} games", markup=False
            )
    out.print(report.file, markup=False, soft_wrap=True)
