"""What people see of matches and of the registry of nets."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, datetime
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from cluster.cli.render import plain_table, stdout_console
from cluster.match import MatchProgress, MatchQuestion
from cluster.match_schemas import (
    ComparisonReport,
    MatchEstimate,
    MatchReport,
    MatchResult,
    NetDetails,
    NetRow,
    NetsReport,
    PairedBenchmark,
    PromotionReport,
)
from training.match import Verdict


def show_match(report: MatchReport) -> None:
    """The estimates, how the games ended, and the verdict."""
    r, p = report.result, report.provenance
    out = stdout_console()
    for letter, player in (("A", r.a), ("B", r.b)):
        net = f", net {player.net}" if player.net else ""
        out.print(f"{letter}: {player.name} at {player.level}-ply{net}", markup=False)
    out.print()
    table = plain_table("points per game", "A", "SE", "95 % from", "to")
    if r.variance_reduction:
        table.add_row("less luck", *_estimate(r.estimate))
    table.add_row("as played", *_estimate(r.raw))
    if r.variance_reduction:
        table.add_row("luck", f"{r.luck:+.4f}", f"{r.luck_se:.4f}")
    out.print(table)
    g = r.results
    unfinished = f", {g.unfinished:,} unfinished" if g.unfinished else ""
    out.print(
        f"\nA won {g.wins:,} ({g.gammons:,} gammons, {g.backgammons:,} backgammons),"
        f" B {g.losses:,} ({g.gammons_lost:,}, {g.backgammons_lost:,}) of {r.games:,} games{unfinished}",
        markup=False,
    )
    out.print(verdict_line(r), markup=False)
    cached = f", {p.games_from_cache:,} games from the cache" if p.games_from_cache else ""
    workers = f", {p.workers} {p.executor} worker{'s' if p.workers != 1 else ''}" if p.workers else ""
    rate = f", {p.games_per_second:,.0f} games/s" if p.games_per_second else ""
    out.print(f"{r.rules}, cubeless, seed {r.seed}{cached}{workers}, {p.seconds:.1f} s{rate}", markup=False)


def _estimate(e: MatchEstimate) -> list[str]:
    return [f"{number:+.4f}" if signed else f"{number:.4f}" for number, signed in _numbers(e)]


def _numbers(e: MatchEstimate) -> list[tuple[float, bool]]:
    low, high = e.interval95
    return [(e.points, True), (e.se, False), (low, True), (high, True)]


def verdict_line(result: MatchResult) -> str:
    """The verdict in words."""
    said = {
        Verdict.A_BETTER: "A plays better",
        Verdict.B_BETTER: "B plays better",
        Verdict.EQUAL: f"equal: they differ by less than {result.margin} points per game",
        Verdict.UNDECIDED: "undecided: the interval holds zero",
    }[result.verdict]
    return f"{said} (look {result.look} of {result.looks})" if result.looks > 1 else said


class MatchProgressLine:
    """A live line on stderr: games done, the running score with its interval, games per second."""

    def __init__(self, question: MatchQuestion) -> None:
        self._progress = Progress(
            BarColumn(bar_width=16),
            TextColumn("{task.completed}/{task.total} games"),
            TextColumn("{task.fields[score]}"),
            TimeElapsedColumn(),
            console=Console(stderr=True, emoji=False),
        )
        waiting = "starting workers (the first run compiles the kernels)"
        self._task = self._progress.add_task("match", total=2 * question.test.pairs, score=waiting)

    def __enter__(self) -> Callable[[MatchProgress], None]:
        self._progress.start()
        return self.update

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def update(self, progress: MatchProgress) -> None:
        """Show where the match stands."""
        if not progress.tally.pairs:
            self._progress.update(self._task, completed=progress.games_done)
            return
        elapsed = self._progress.tasks[0].elapsed or 0.0
        rate = f", {progress.computed / elapsed:,.0f} games/s" if progress.computed and elapsed > 0 else ""
        low, high = progress.interval
        interval = f" ({low:+.4f} to {high:+.4f})" if math.isfinite(high) else ""
        score = f"A {progress.estimate.mean:+.4f}{interval}{rate}"
        self._progress.update(self._task, completed=progress.games_done, score=score)


def show_nets(report: NetsReport) -> None:
    """A table of the registry."""
    table = plain_table("net", "alias", "digest", "recipe", "games", "rules", "mEq per decision", "registered")
    for column in table.columns[1:]:
        column.justify = "left"
    for net in report.nets:
        table.add_row(
            f"{net.name}@{net.version}",
            ", ".join(net.aliases),
            net.digest,
            net.recipe,
            f"{int(net.games):,}" if net.games.isdigit() else net.games,
            net.rules,
            "; ".join(f"{s.meq_per_decision:.2f} {s.level}-ply {s.file}" for s in net.scores),
            _day(net.registered),
        )
    stdout_console(160).print(table)


def show_net(report: NetDetails) -> None:
    """One net: header, shapes, scores, places in the registry."""
    out = stdout_console()
    out.print(f"{report.kind} net {report.digest}, {report.width} wide", markup=False)
    out.print(", ".join(f"{key} {value}" for key, value in report.header.items()), markup=False)
    shapes = (f"{name} {'x'.join(map(str, shape))}" for name, shape in report.shapes.items())
    out.print(f"arrays: {', '.join(shapes)}", markup=False)
    out.print(
        f"rounding to integers: mean {report.quantisation_mean:.5f}, largest {report.quantisation_largest:.5f}",
        markup=False,
    )
    if not report.registered:
        out.print("not in the registry (gammonfarm nets register)", markup=False)
    for net in report.registered:
        _show_entry(net, out)


def _show_entry(net: NetRow, out: Console) -> None:
    alias = f" ({', '.join(net.aliases)})" if net.aliases else ""
    out.print(f"\n{net.name}@{net.version}{alias}, registered {_day(net.registered)}", markup=False)
    for s in net.scores:
        low, high = s.interval95
        out.print(
            f"  {s.file}, {s.level}-ply: {s.meq_per_decision:.2f} mEq per decision"
            f" (95 % {low:.2f} to {high:.2f}) over {s.decisions:,} decisions",
            markup=False,
        )
    for p in net.promotions:
        why = "first champion"
        if p.forced is not None:
            why = f"forced: {p.forced}"
        elif p.points is not None and p.interval95 is not None:
            low, high = p.interval95
            why = f"{p.points:+.4f} points per game ({low:+.4f} to {high:+.4f}) over {p.games:,} games"
        over = f" over {p.replaced}" if p.replaced else ""
        out.print(f"  champion since {_day(p.time)}{over}: {why}", markup=False)


def show_paired(benchmark: PairedBenchmark) -> None:
    """One line: the difference on the same decisions."""
    low, high = benchmark.interval95
    stdout_console().print(
        f"{benchmark.file}, {benchmark.level}-ply: A loses {benchmark.a_meq:.2f}, B {benchmark.b_meq:.2f} mEq per"
        f" decision; difference {benchmark.difference:+.2f} (95 % {low:+.2f} to {high:+.2f}) over"
        f" {benchmark.decisions:,} decisions, {benchmark.differing:,} of them different",
        markup=False,
    )


def show_comparison(report: ComparisonReport) -> None:
    """Benchmark difference, then the match."""
    if report.benchmark:
        show_paired(report.benchmark)
    if report.match:
        if report.benchmark:
            stdout_console().print()
        show_match(report.match)


def show_promotion(report: PromotionReport) -> None:
    """The evidence and the decision."""
    show_comparison(ComparisonReport(match=report.match, benchmark=report.benchmark))
    said = "is now champion" if report.promoted else "is not promoted"
    stdout_console().print(f"{report.net.name}@{report.net.version} {said}: {report.reason}", markup=False)


def _day(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M")
