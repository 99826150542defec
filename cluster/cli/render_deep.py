"""What people see of `gammonfarm deep`: candidates that change places while it runs, and the answer."""

from __future__ import annotations

import math

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from cluster.cli.on_screen import OnScreen
from cluster.cli.render import BRANCHES, effort, percent, plain_table, scale_text, show_verdict, stdout_console
from cluster.deep.planner import SEARCH_LEVEL, DeepQuestion
from cluster.deep.results import standings
from cluster.deep.run import DeepProgress
from cluster.deep.schemas import DeepCandidate, DeepReport, DeepResult

_WIDTH = 160
"""Columns where the answer goes to no terminal."""
_CHANCES = ("win %", "win g %", "lose g %")


def show_deep(report: DeepReport) -> None:
    """The table of candidates, the verdict, what the halves say of each other, one line of provenance."""
    result = report.result
    out = stdout_console(_WIDTH)
    out.print(_table(result))
    cube = result.cube
    if cube is not None:
        show_verdict(out, cube)
        if cube.doubling is not None and cube.doubling.playable:
            out.print(f"double, no double: {_playable(cube.doubling.gap, cube.doubling.margin)}", markup=False)
        if cube.answering is not None and cube.answering.playable:
            out.print(f"answers: {_playable(cube.answering.gap, cube.answering.margin)}", markup=False)
    out.print(f"\n{_halves_text(result)}", markup=False)
    p = report.provenance
    scale = scale_text(result.cubeful, result.met)
    out.print(f"net {p.net}, seed {result.seed}, {scale}", markup=False)
    cached = f"{p.trials_from_cache:,} of {p.trials:,} trials from the cache"
    out.print(f"{cached}, {effort(p.workers, p.executor, report.timing)}", markup=False)


def _table(result: DeepResult) -> Table:
    match = result.met is not None
    heads = ["equity", *(["mwc %"] if match else []), "diff", "noise", f"{result.candidates[0].search_level}-ply"]
    first = "play" if result.cube is None else "cube action"
    table = plain_table(first, *heads, "simulation", "SE", "half 1", "half 2", *_CHANCES, "trials", "")
    table.columns[-1].justify = "left"
    playable = sum(c.playable for c in result.candidates) > 1 and result.cube is None
    for c in result.candidates:
        win, gammon, _, lose_gammon, _ = percent(c.probabilities)
        table.add_row(
            _name(c),
            f"{c.equity:+.4f}",
            *([f"{100 * (c.mwc or 0.0):.2f}"] if match else []),
            f"{c.difference:+.4f}" if c.difference else "",
            f"± {c.margin:.4f}" if c.margin else "",
            f"{c.search_equity:+.4f}",
            f"{c.simulation_equity:+.4f}",
            f"{c.simulation_se:.4f}",
            *(f"{half.equity:+.4f}" for half in c.halves),
            *(win, gammon, lose_gammon),
            f"{c.trials:,}",
            "both playable" if playable and c.playable else "",
        )
    if result.cube is not None and result.cube.equity_dp is not None:
        chance = [f"{100 * result.cube.mwc_dp:.2f}"] if result.cube.mwc_dp is not None else []
        table.add_row("double/pass", f"{result.cube.equity_dp:+.4f}", *chance)
    return table


def _name(candidate: DeepCandidate) -> str:
    return candidate.play or BRANCHES.get(candidate.branch or "", "before the roll")


def _playable(gap: float, margin: float) -> str:
    return f"both playable, {abs(gap):.4f} apart where noise may make {margin:.4f}"


def _halves_text(result: DeepResult) -> str:
    """How far the halves are apart; by name those that are too far."""
    odd = [c for c in result.candidates if abs(c.gap) > c.gap_allowed]
    if odd:
        named = ", ".join(f"{_name(c)} by {abs(c.gap):.4f} (chance: {c.gap_allowed:.4f})" for c in odd)
        return f"CAUTION: the halves differ by more than chance allows: {named}"
    widest = max(result.candidates, key=lambda c: abs(c.gap) / c.gap_allowed if c.gap_allowed else 0.0)
    return f"the halves agree: at most {abs(widest.gap):.4f} apart, where chance allows {widest.gap_allowed:.4f}"


class DeepDisplay(OnScreen):
    """A live table on stderr: the candidates in the order of now."""

    def __init__(self, question: DeepQuestion) -> None:
        self._question = question
        # It goes at the end: the answer shows the same and more.
        self._live = Live(console=Console(stderr=True, emoji=False), transient=True, refresh_per_second=4)
        super().__init__(self._live)

    def __enter__(self) -> DeepDisplay:
        super().__enter__()
        self.update(DeepProgress())
        return self

    def update(self, progress: DeepProgress) -> None:
        """Show where the analysis stands."""
        first, second = progress.halves
        tallies = (first.tally if first else None, second.tally if second else None)
        table = plain_table("play", "equity", "diff", "SE", "trials")
        for one in standings(self._question, tallies):
            name = one.asked.play or (BRANCHES[one.asked.branch.value] if self._question.cube else "before the roll")
            error = one.difference.se
            table.add_row(
                name,
                f"{one.equity:+.4f}",
                f"{one.difference.mean:+.4f}" if one.difference.mean else "",
                f"± {error:.4f}" if error and math.isfinite(error) else "",
                f"{one.trials:,}" if one.trials else f"{SEARCH_LEVEL}-ply",
            )
        blocks = [half for half in progress.halves if half is not None]
        done, of = sum(half.blocks_done for half in blocks), 2 * blocks[0].blocks if blocks else 0
        state = f"{done} of {of} blocks" if done else "starting workers (the first run compiles the kernels)"
        self._live.update(Group(table, Text(state)))
