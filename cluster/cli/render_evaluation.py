"""What people see of `gammonfarm evaluate`: plays, cube decisions, answers to offers, resignations."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from cluster.cli.render import OUTCOME_HEADS, percent, plain_table, scale_text, stdout_console
from cluster.cli.render_book import show_match
from cluster.evaluation_schemas import CubeCase, CubeReport, EvaluationReport, PlayValue
from engine.match import CubeOwner

_OWNERS = {CubeOwner.CENTRED: "centred cube", CubeOwner.MOVER: "own cube", CubeOwner.OPPONENT: "opponent's cube"}
_SEQUENCES = 1296
_REPLIES = 36


def show_evaluation(report: EvaluationReport, top: int) -> None:
    """Value of a position, and its `top` best plays (0: all) or the right cube action."""
    out = stdout_console()
    out.print(
        f"net {report.net}, {report.level}-ply, {report.rules}, {scale_text(report.cubeful, report.met)}", markup=False
    )
    for name, side in zip(("player on roll", "opponent"), report.bearoff, strict=True):
        if side is not None:
            rolls = f"{side.mean_rolls:.3f} rolls on average"
            out.print(f"bear-off, {name}: {rolls}, EPC {side.epc:.2f}, wastage {side.wastage:.2f}", markup=False)
    if report.plays:
        _show_plays(out, report.plays, top)
    else:
        _show_value(out, report)
    for case in report.cases:
        _show_case(out, case, top)
    if report.book is not None:
        show_match(report.book)


def _show_plays(out: Console, plays: Sequence[PlayValue], top: int) -> None:
    match = plays[0].mwc is not None
    heads = ["play", "level", "equity", "diff", *(["mwc %"] if match else []), "cubeless"]
    table = plain_table(*heads, *(f"{h} %" for h in OUTCOME_HEADS))
    for p in plays[: top or len(plays)]:
        difference = f"{p.difference:+.4f}" if p.difference else ""
        chance = [f"{100 * p.mwc:.2f}"] if p.mwc is not None else []
        values = (f"{p.equity:+.4f}", difference, *chance, f"{p.cubeless_equity:+.4f}")
        table.add_row(p.play, f"{p.level}-ply", *values, *percent(p.probabilities))
    out.print(table)
    if top and len(plays) > top:
        out.print(f"{len(plays) - top} more plays (--top 0 lists all)", markup=False)


def _show_value(out: Console, report: EvaluationReport) -> None:
    heads = ["position", "equity", *(["mwc %"] if report.mwc is not None else []), "cubeless"]
    table = plain_table(*heads, *(f"{h} %" for h in OUTCOME_HEADS))
    name = "before the roll" if report.cube is None or report.cube.equity_nd is not None else "the offer"
    chance = [f"{100 * report.mwc:.2f}"] if report.mwc is not None else []
    values = (f"{report.equity:+.4f}", *chance, f"{report.cubeless_equity:+.4f}")
    table.add_row(name, *values, *percent(report.probabilities))
    out.print(table)
    if report.cube is not None:
        out.print()
        _show_cube(out, report.cube)
    if report.resignation is not None:
        r = report.resignation
        out.print(f"resigning: accept {_article(r.accept)}; offer {_article(r.offer)}", markup=False)


def _show_cube(out: Console, cube: CubeReport) -> None:
    rows = (
        ("no double", cube.equity_nd, cube.mwc_nd, cube.loss_no_double),
        ("double/take" if cube.equity_nd is not None else "take", cube.equity_dt, cube.mwc_dt, cube.loss_take),
        ("double/pass" if cube.equity_nd is not None else "pass", cube.equity_dp, cube.mwc_dp, cube.loss_pass),
        ("beaver", cube.equity_beaver, None, cube.loss_beaver),
        ("raccoon", cube.equity_raccoon, None, cube.loss_raccoon),
    )
    match = cube.mwc_nd is not None or cube.mwc_dt is not None
    table = plain_table("cube action", "equity", *(["mwc %"] if match else []), "loss")
    for name, equity, mwc, loss in rows:
        if equity is None:
            continue
        chance = ([f"{100 * mwc:.2f}"] if mwc is not None else [""]) if match else []
        table.add_row(name, f"{equity:+.4f}", *chance, f"{loss:.4f}" if loss else "")
    out.print(table)
    if cube.loss_double:
        out.print(f"doubling loses {cube.loss_double:.4f}", markup=False)
    out.print(f"right: {cube.verdict}{' (exact)' if cube.exact else ''}", style="bold", markup=False)
    if cube.cash_point is not None and cube.take_point is not None:
        too_good = f", too good from {_chance(cube.too_good_point)}" if cube.too_good_point is not None else ""
        points = f"take point {_chance(cube.take_point)}, cash point {_chance(cube.cash_point)}{too_good}"
        out.print(f"{points} (cube efficiency {cube.efficiency:.2f})", markup=False)
    if cube.market_losers is not None:
        lost = cube.market_losers
        rolls = ", ".join(
            f"{roll[0]}-{roll[1]}" + ("" if count == _REPLIES else f" ({count}/{_REPLIES})")
            for roll, count in sorted(lost.rolls.items(), key=lambda item: -item[1])
        )
        share = f"{100 * lost.sequences / _SEQUENCES:.1f} % of all pairs of rolls"
        out.print(f"market losers: {share}{f': {rolls}' if rolls else ''}", markup=False, soft_wrap=True)


def _show_case(out: Console, case: CubeCase, top: int) -> None:
    out.print(f"\n{_OWNERS[case.owner]} at {case.cube}", style="bold", markup=False)
    if case.plays:
        _show_plays(out, case.plays, top)
    elif case.decision is not None:
        _show_cube(out, case.decision)


def _chance(value: float | None) -> str:
    return "never" if value is None else f"{100 * value:.2f} %"


def _article(level: str) -> str:
    return f"a {level} game" if level == "single" else f"a {level}"
