"""The page of one match: who played how, charts, and every error with its board."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from html import escape
from itertools import accumulate

from cluster.archive.reports.charts import Bar, Line, Point, bar_chart, line_chart
from cluster.archive.reports.page import (
    conditions_html,
    decision_html,
    figures_pr,
    page,
    pr_text,
    question_text,
    table,
)
from cluster.archive.reports.words import Words
from cluster.archive.results import DecisionResult, GameFigures, MatchAnalysis, PlayerFigures
from engine.analysis.language import Language, percent
from engine.analysis.thresholds import Grade

MOST_POSITIONS = 100
"""Open decisions on a page; the others are in its JSON document."""
_STYLES = ("a", "b")


def match_page(analysis: MatchAnalysis, language: Language, back: str | None = None) -> str:
    """The whole page; `back`: address of the archive's page."""
    words = Words(language)
    own, other = (escape(name) for name in analysis.players)
    title = f"{analysis.players[0]} – {analysis.players[1]}"
    parts = [
        f'<nav><a href="{escape(back)}">← {words("back")}</a></nav>' if back else "",
        f"<h1>{own} – {other}</h1><p class=soft>{_facts(analysis, words)}</p>",
        _players(analysis, words),
        _adjusted(analysis, words),
        _charts(analysis, words),
        f"<h2>{words('games')}</h2>{_games(analysis, words)}",
        _errors(analysis, words),
        _open(analysis, words),
        _notes(analysis, words),
        conditions_html(analysis.conditions, analysis.levels, words),
    ]
    return page(title, "".join(parts), words)


def match_kind(length: int, words: Words) -> str:
    """How long a match is."""
    return words("to_points", length=length) if length else words("money")


def _facts(analysis: MatchAnalysis, words: Words) -> str:
    score = f"{words('result')} {analysis.final_score[0]} : {analysis.final_score[1]}"
    known = (analysis.event, analysis.date, match_kind(analysis.length, words), score, analysis.file)
    return " · ".join(escape(one) for one in known if one)


def _players(analysis: MatchAnalysis, words: Words) -> str:
    rows: tuple[tuple[str, Callable[[PlayerFigures], str]], ...] = (
        ("PR", lambda one: figures_pr(one, words, '<span class="big">{}</span>')),
        (words("strength"), lambda one: escape(words.strength(one.strength))),
        (words("decisions"), lambda one: f"{one.decisions}"),
        (words("errors"), lambda one: f"{one.errors}"),
        (words("of_them_blunders"), lambda one: f"{one.blunders}"),
        (words("lost"), lambda one: words.number(one.loss, 3)),
        (words("mark"), lambda one: "–" if one.mark is None else words.number(one.mark, 1)),
        (words("checker_pr"), lambda one: pr_text(one.checker, words)),
        (words("cube_pr"), lambda one: pr_text(one.cube, words)),
        (words("cube_errors"), lambda one: _cube_errors(one, words)),
        (words("luck_points"), lambda one: words.number(one.luck, 2, sign=True)),
        (words("lucky"), lambda one: f"{one.lucky} / {one.unlucky}"),
    )
    heads = ("", *(escape(name) for name in analysis.players))
    return table(heads, [(label, *(shown(one) for one in analysis.figures)) for label, shown in rows], kind="pair")


def _cube_errors(figures: PlayerFigures, words: Words) -> str:
    return ", ".join(f"{words.cube_error(kind)} {one.decisions}" for kind, one in figures.cube_errors.items()) or "–"


def _adjusted(analysis: MatchAnalysis, words: Words) -> str:
    if analysis.luck_adjusted is None:
        return ""
    player = escape(analysis.players[0])
    if analysis.length:
        share = percent(min(max(analysis.luck_adjusted, 0.0), 1.0), words.language)
        return f"<p>{words('adjusted_match', player=player, percent=share)}</p>"
    points = words.number(analysis.luck_adjusted, 1, sign=True)
    return f"<p>{words('adjusted_money', player=player, points=points)}</p>"


def _charts(analysis: MatchAnalysis, words: Words) -> str:
    charts = [
        (words("pr_by_game"), _pr_by_game(analysis, words)),
        (words("luck_chart"), _luck(analysis, words)),
        *((f"{words('by_type')}: {escape(one.name)}", type_bars(one, style, words)) for one, style in _both(analysis)),
    ]
    cards = "".join(f"<div class=card><h3>{title}</h3>{chart}</div>" for title, chart in charts if chart)
    return f'<h2>{words("overview")}</h2><div class="grid">{cards}</div>'


def _both(analysis: MatchAnalysis) -> Iterator[tuple[PlayerFigures, str]]:
    return zip(analysis.figures, _STYLES, strict=True)


def _pr_by_game(analysis: MatchAnalysis, words: Words) -> str:
    if len(analysis.games) < 2:
        return ""
    lines = [
        Line(name, [_game_point(game, seat, words) for game in analysis.games], _STYLES[seat])
        for seat, name in enumerate(analysis.players)
    ]
    return line_chart(lines, words("pr_by_game"))


def _game_point(game: GameFigures, seat: int, words: Words) -> Point:
    pr = game.players[seat].pr or 0.0
    return Point(pr, title=f"{words('game')} {game.number}: PR {words.number(pr)}")


def _luck(analysis: MatchAnalysis, words: Words) -> str:
    rolls = [one for one in analysis.decisions if one.luck is not None]
    if not rolls:
        return ""
    lines = []
    for seat, name in enumerate(analysis.players):
        added = accumulate(one.luck or 0.0 if one.player == seat + 1 else 0.0 for one in rolls)
        lines.append(Line(name, [Point(value) for value in added], _STYLES[seat]))
    starts = [place for place, one in enumerate(rolls) if place and one.game != rolls[place - 1].game]
    told = "; ".join(f"{one.name}: {words.number(one.luck, 2, sign=True)}" for one in analysis.figures)
    return line_chart(lines, words("luck_chart"), marks=starts, from_zero=False, told=told)


def type_bars(figures: PlayerFigures, style: str, words: Words) -> str:
    """What a player lost in each type of position, the most first."""
    known = sorted(figures.by_type.items(), key=lambda item: (-item[1].loss, item[0]))
    bars = [
        Bar(words.area(kind), one.loss, f"{words.number(one.loss)} · PR {words.number(one.pr, 1)}", style)
        for kind, one in known
        if one.loss > 0
    ]
    return bar_chart(bars, words("by_type")) if bars else ""


def _games(analysis: MatchAnalysis, words: Words) -> str:
    heads = (
        words("game"),
        words("score"),
        words("winner"),
        words("points"),
        *(f"PR {escape(name)}" for name in analysis.players),
        *(f"{words('luck')} {escape(name)}" for name in analysis.players),
    )
    rows = []
    for game in analysis.games:
        first = next((f"#{_anchor(one)}" for one in _wrong(analysis) if one.game == game.number), None)
        number = f'<a href="{first}">{game.number}</a>' if first else f"{game.number}"
        winner = "–" if game.winner is None else escape(analysis.players[game.winner - 1])
        crawford = " C" if game.crawford else ""
        rows.append(
            (
                number,
                f"{game.score[0]} : {game.score[1]}{crawford}",
                winner,
                "–" if game.points is None else f"{game.points}",
                *(figures_pr(one, words) for one in game.players),
                *(words.number(one.luck, 2, sign=True) for one in game.players),
            )
        )
    return table(heads, rows, texts=(2,))


def _wrong(analysis: MatchAnalysis) -> list[DecisionResult]:
    return [one for one in analysis.decisions if one.counts and one.grade in (Grade.ERROR, Grade.BLUNDER)]


def _errors(analysis: MatchAnalysis, words: Words) -> str:
    if not any(one.counts for one in analysis.decisions):
        return ""
    cards = "".join(_card(one, analysis, words) for one in _wrong(analysis))
    return f"<h2>{words('errors_list')}</h2>" + (cards or f"<p>{words('no_errors')}</p>")


def _open(analysis: MatchAnalysis, words: Words) -> str:
    """Decisions that nobody took: positions of a list, or where a record stops."""
    cards = [_card(one, analysis, words) for one in analysis.decisions if one.done is None]
    return f"<h2>{words('positions')}</h2>{''.join(cards[:MOST_POSITIONS])}" if cards else ""


def _card(one: DecisionResult, analysis: MatchAnalysis, words: Words) -> str:
    player = escape(analysis.players[one.player - 1])
    where = words("where", game=one.game, turn=one.turn)
    head = f'<b>{question_text(one, player, words)}</b><span class="soft">{where} · {words.area(one.type.value)}</span>'
    return decision_html(one, analysis.rules, head, words, _anchor(one))


def _anchor(one: DecisionResult) -> str:
    return f"g{one.game}t{one.turn}{one.kind.value}"


def _notes(analysis: MatchAnalysis, words: Words) -> str:
    shown = [escape(note) for note in analysis.notes]
    if analysis.illegal_plays:
        shown.insert(0, words("illegal", count=analysis.illegal_plays))
    if not shown:
        return ""
    return f"<h2>{words('notes')}</h2><ul>{''.join(f'<li>{one}</li>' for one in shown)}</ul>"
