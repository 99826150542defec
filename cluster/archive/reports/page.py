"""What all pages share: the frame, the style sheet, tables, and the card of one decision. No script, nothing from
elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape

from cluster.archive.reports.boards import decision_board
from cluster.archive.reports.words import Words
from cluster.archive.results import (
    BookOpinion,
    ConditionsShown,
    CubeNumbers,
    DecisionKind,
    DecisionResult,
    GroupFigures,
    PlayCandidate,
    PlayerFigures,
)
from cluster.book.schemas import Standing
from engine.analysis.language import percent
from engine.analysis.thresholds import Grade
from engine.board_svg import STYLE as BOARD_STYLE

_STYLE = """
:root{--bg:#fbfaf7;--card:#fff;--ink:#23201c;--soft:#6d665c;--line:#e4dfd5;--a:#1769c4;--b:#c2571a;--good:#2c7a3f;
--error:#b87400;--blunder:#b3261e;color-scheme:light dark}
@media screen and (prefers-color-scheme:dark){:root{--bg:#181613;--card:#22201c;--ink:#ece7de;--soft:#a69e92;
--line:#3a362f;--a:#63a8f0;--b:#ef9a63;--good:#7cc78d;--error:#e6b04d;--blunder:#f28b82}}
*{box-sizing:border-box}
body{margin:0;background:var(--bg);color:var(--ink);font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
main{max-width:68rem;margin:0 auto;padding:1rem}
h1{font-size:1.6rem;line-height:1.2;margin:.6rem 0 .2rem}
h2{font-size:1.2rem;margin:2.2rem 0 .7rem;padding-bottom:.25rem;border-bottom:2px solid var(--line)}
h3{font-size:1rem;margin:1.2rem 0 .4rem}
p{margin:.4rem 0}.soft,small{color:var(--soft)}
a{color:var(--a)}
.scroll{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
th,td{padding:.32rem .55rem;text-align:right;border-bottom:1px solid var(--line);white-space:nowrap}
th{font-weight:600;color:var(--soft);font-size:.86rem;white-space:normal;vertical-align:bottom}
th:first-child,td:first-child,td.text,th.text{text-align:left}
.wrap{white-space:normal;display:inline-block;min-width:14rem;max-width:40rem}
tr.done td{font-weight:600}
.grid{display:grid;gap:1rem;grid-template-columns:repeat(auto-fit,minmax(min(100%,26rem),1fr))}
.card{background:var(--card);border:1px solid var(--line);border-radius:.6rem;padding:.8rem 1rem}
.card h3:first-child{margin-top:.1rem}.wide{grid-column:1/-1}.wide table{max-width:52rem}
.pair table{max-width:44rem}.pair th,.pair td{white-space:normal;width:30%}
.decision{display:grid;gap:.4rem 1.2rem;grid-template-columns:minmax(0,24rem) minmax(0,1fr);margin:1rem 0;
break-inside:avoid;border-left:4px solid var(--error)}
.decision.blunder{border-left-color:var(--blunder)}
.decision header{grid-column:1/-1;display:flex;flex-wrap:wrap;gap:.2rem .8rem;align-items:baseline}
.decision .why{font-size:1.02rem}
.badge{border-radius:1rem;padding:.05rem .6rem;color:#fff;background:var(--error);font-size:.86rem;font-weight:600}
.blunder .badge{background:var(--blunder)}
@media screen and (prefers-color-scheme:dark){.badge{color:#181613}}
.big{font-size:1.9rem;font-weight:700;line-height:1.1}
.chart{display:block;width:100%;max-width:34rem;height:auto}
.chart text{font:10.5px system-ui,sans-serif;fill:var(--ink)}.chart .value{fill:var(--soft)}
.chart .a{fill:var(--a)}.chart .b{fill:var(--b)}
.chart polyline{fill:none!important;stroke-width:2;stroke-linejoin:round}
.chart polyline.a,.chart line.a{stroke:var(--a)}.chart polyline.b,.chart line.b{stroke:var(--b)}
.chart .hollow{fill:var(--card);stroke-width:1.6}.chart .hollow.a{stroke:var(--a)}.chart .hollow.b{stroke:var(--b)}
.chart .whisker{opacity:.45}.chart .rule{stroke:var(--line)}.chart .axis{stroke:var(--soft)}
.legend{margin:.2rem 0;font-size:.9rem}.key{margin-right:1rem}
.key::before{content:"";display:inline-block;width:.8em;height:.8em;border-radius:50%;margin-right:.35em}
.key.a::before{background:var(--a)}.key.b::before{background:var(--b)}
.key.hollow::before{background:none;border:2px solid var(--a)}
details summary{cursor:pointer;color:var(--a)}
.xgid{font:12px ui-monospace,monospace;color:var(--soft);overflow-wrap:anywhere}
@media (max-width:44rem){.decision{grid-template-columns:minmax(0,1fr)}th,td{padding:.3rem .4rem}
body{font-size:15px}main{padding:.7rem}.card{padding:.7rem}.card th,.card td{padding:.3rem .2rem}
.names td:first-child{white-space:normal}
.decision table{font-size:.8em}.decision th,.decision td{padding:.25rem .15rem}}
@page{margin:1.4cm}
@media print{:root{--bg:#fff;--card:#fff;--ink:#000;--soft:#444;--line:#bbb}body{font-size:10.5pt}
main{max-width:none;padding:0}.decision{grid-template-columns:7.5cm 1fr}
.scroll{overflow:visible}a{color:inherit;text-decoration:none}
.grid{grid-template-columns:1fr 1fr;gap:.4cm}.card{break-inside:avoid;padding:.25cm .35cm}.card.wide{break-inside:auto}
.card th,.card td{padding:.1rem .2rem}.badge,.key::before{print-color-adjust:exact;-webkit-print-color-adjust:exact}
h2,h3{break-after:avoid}tr{break-inside:avoid}nav{display:none}th,td{padding:.15rem .3rem}details{display:none}}
"""


def frame(title: str, words: Words) -> tuple[str, str]:
    """What stands before and after the body of a document."""
    before = (
        f'<!DOCTYPE html>\n<html lang="{words.language.value}"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        '<meta name="generator" content="gammonfarm">'
        f"<title>{escape(title)}</title><style>{_STYLE}{BOARD_STYLE}</style></head><body><main>"
    )
    return before, "</main></body></html>\n"


def page(title: str, body: str, words: Words) -> str:
    """A whole HTML document."""
    before, after = frame(title, words)
    return f"{before}{body}{after}"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], texts: Sequence[int] = (), kind: str = "") -> str:
    """A table that scrolls by itself where the page is narrow.

    Args:
        rows: cells that are already HTML. texts: columns besides the first that stand to the left. kind: another class.
    """
    return "".join(table_rows(heads, rows, texts, kind))


def table_rows(
    heads: Sequence[str], rows: Iterable[Sequence[str]], texts: Sequence[int] = (), kind: str = ""
) -> Iterator[str]:
    """The same, piece by piece."""

    def cells(tag: str, row: Sequence[str]) -> str:
        return "".join(
            f"<{tag}{' class=text' if place in texts else ''}>{cell}</{tag}>" for place, cell in enumerate(row)
        )

    yield f'<div class="{f"scroll {kind}".strip()}"><table><thead><tr>{cells("th", heads)}</tr></thead><tbody>'
    for row in rows:
        yield f"<tr>{cells('td', row)}</tr>"
    yield "</tbody></table></div>"


def pr_text(group: GroupFigures | None, words: Words) -> str:
    """A PR with its standard error."""
    if group is None:
        return "–"
    error = "" if group.se is None else f" <small>± {words.number(group.se)}</small>"
    return f"{words.number(group.pr)}{error}"


def figures_pr(figures: PlayerFigures, words: Words, frame: str = "{}") -> str:
    """The same of a player; `frame`: HTML around the number."""
    if figures.pr is None:
        return "–"
    error = "" if figures.se is None else f" <small>± {words.number(figures.se)}</small>"
    return f"{frame.format(words.number(figures.pr))}{error}"


def conditions_html(conditions: ConditionsShown, levels: dict[str, int], words: Words) -> str:
    """How everything was valued: net, policy, and how many decisions at which level."""
    counts = ", ".join(f"{level}: {words.count(count)}" for level, count in levels.items())
    shown = (
        f"{conditions.policy} ({conditions.level}-ply, filter {conditions.filter}"
        + (f", rollouts up to {conditions.rollout_close}" if conditions.rollout_close else "")
        + (", opening plays by the book" if conditions.from_book else "")
        + f"), net {conditions.net}, MET {conditions.met}, cube efficiency {conditions.efficiency}"
    )
    return (
        f'<h2>{words("conditions")}</h2><p class="soft">{escape(shown)}.<br>{words("levels")}: {counts}.</p>'
        f'<p class="soft">{words("explain_pr")}</p>'
    )


def decision_html(decision: DecisionResult, rules: str, head: str, words: Words, anchor: str = "") -> str:
    """The card of an error or an open decision: board, what was played, what is best, why, and the candidates."""
    blunder = decision.grade is Grade.BLUNDER
    values = _plays_html(decision, words) if decision.kind is DecisionKind.PLAY else _cube_html(decision, words)
    comment = f'<p class="soft">“{escape(decision.comment)}”</p>' if decision.comment else ""
    identity = f' id="{escape(anchor)}"' if anchor else ""
    badge = played = ""
    if decision.loss is not None:
        loss = words.number(-decision.loss, 3)
        badge = f'<span class="badge">{words("blunder" if blunder else "error")} {loss}</span>'
        played = f"{words('played')}: <b>{escape(words.done(decision.done or ''))}</b> · "
    why = f'<p class="why">{escape(decision.sentence)}</p>' if decision.sentence else ""
    return (
        f'<article class="card decision{" blunder" if blunder else ""}"{identity}>'
        f"<header>{head}{badge}</header><div>{decision_board(decision, rules)}</div>"
        f"<div>{why}<p>{played}{words('best')}: <b>{escape(words.done(decision.best))}</b></p>{values}"
        f"{_opinion_html(decision.book, words)}{comment}"
        f'<p class="xgid">{escape(decision.xgid)}</p></div></article>'
    )


def _opinion_html(opinion: BookOpinion | None, words: Words) -> str:
    """What a book says about one play, under its name."""
    if opinion is None:
        return ""
    verdict = {
        Standing.BEST: words("book_says_best"),
        Standing.PLAYABLE: words("book_says_playable"),
        None: words("book_unlisted").lower(),
    }.get(opinion.standing, words.number(-(opinion.loss or 0.0), 3))
    book, best = escape(opinion.book), escape(opinion.best)
    return f'<p class="soft">{words("book_opinion", book=book, best=best, verdict=verdict)}</p>'


def question_text(decision: DecisionResult, player: str, words: Words) -> str:
    """What has to be decided."""
    if decision.kind is DecisionKind.PLAY and decision.dice is not None:
        return words("to_play", player=player, dice=f"{decision.dice[0]}-{decision.dice[1]}")
    return f"{player}: {words('cube_action' if decision.kind is DecisionKind.DOUBLE else 'take_pass')}"


def _plays_html(decision: DecisionResult, words: Words) -> str:
    rows = []
    for candidate in decision.candidates:
        done = candidate.play == decision.done
        rows.append(
            f"<tr{' class=done' if done else ''}><td>{escape(words.done(candidate.play))}{' ◂' if done else ''}</td>"
            f"<td>{_equity(candidate, words)}</td><td>{_loss(candidate, words)}</td>"
            f"<td>{percent(candidate.probabilities[0], words.language)}</td>"
            f"<td>{percent(candidate.probabilities[1], words.language)}</td><td>{candidate.level}</td></tr>"
        )
    heads = "".join(f"<th>{words(key)}</th>" for key in ("play", "equity", "loss", "wins", "gammons", "level"))
    mixed = len({candidate.level for candidate in decision.candidates}) > 1
    hint = f"<p><small>{words('lower_level')}</small></p>" if mixed else ""
    return (
        f'<div class="scroll"><table><thead><tr>{heads}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>{hint}'
    )


def _cube_html(decision: DecisionResult, words: Words) -> str:
    assert decision.cube is not None
    rows = [
        (words.done(name), words.number(value, 3, sign=True))
        for name, value in cube_lines(decision.cube, decision.kind)
    ]
    win = "" if decision.cube.win is None else f"{words('wins')}: {percent(decision.cube.win, words.language)} · "
    note = f"<p><small>{win}{words('level')}: {decision.level}</small></p>"
    return table((words("action"), words("equity")), rows) + note


def cube_lines(cube: CubeNumbers, kind: DecisionKind) -> list[tuple[str, float]]:
    """The equities of a cube decision with the names of the actions."""
    double = kind is DecisionKind.DOUBLE
    named = (
        ("no double", cube.no_double),
        ("double, take" if double else "take", cube.take),
        ("double, pass" if double else "pass", cube.passed),
        ("double, beaver" if double else "beaver", cube.turned_back),
    )
    return [(name, value) for name, value in named if value is not None]


def _equity(candidate: PlayCandidate, words: Words) -> str:
    error = "" if candidate.se is None else f" <small>± {words.number(candidate.se, 3)}</small>"
    return f"{words.number(candidate.equity, 3, sign=True)}{error}"


def _loss(candidate: PlayCandidate, words: Words) -> str:
    return words.number(-candidate.loss, 3) if candidate.loss else ""
