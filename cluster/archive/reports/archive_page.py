"""The page of an archive: its players with their trends, luck, habits and openings, its matches, its largest errors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from itertools import accumulate, islice

from cluster.archive.register import MatchRow
from cluster.archive.reports.charts import Line, Point, line_chart
from cluster.archive.reports.match_page import match_kind, type_bars
from cluster.archive.reports.opening_cards import book_card, books_html, first_plays_card
from cluster.archive.reports.page import (
    conditions_html,
    decision_html,
    figures_pr,
    frame,
    page,
    pr_text,
    question_text,
    table,
    table_rows,
)
from cluster.archive.reports.words import Words
from cluster.archive.summary import ArchivePlayer, ArchiveSummary, TrendPoint, WithoutLuck, WorstDecision
from engine.analysis.language import Language, percent

PLAYERS_IN_FULL = 12
"""Those with most decisions; the others stand in the table."""
PLAYERS_LISTED = 200
MATCHES_LISTED = 200
"""The latest; a page of its own has all of them."""
SKIPPED_LISTED = 200


def archive_page(summary: ArchiveSummary, language: Language, every_match: str) -> str:
    """The whole page; pages of matches are linked by their addresses in the summary.

    Args:
        every_match: address of `matches_page`, for archives with more matches than are listed here.
    """
    words = Words(language)
    facts, register = summary.facts, summary.register
    listed = list(summary.players(PLAYERS_LISTED))
    counts = (("matches", register.matches), ("players", register.players), ("decisions", facts.decisions))
    counted = " · ".join(f"{words.count(count)} {words(key).lower()}" for key, count in counts)
    parts = [
        f"<h1>{words('archive')}</h1>",
        f'<p class="soft">{counted} · {words("all_players")}: PR {pr_text(facts.all, words)}</p>',
        f"<h2>{words('players')}</h2>{_players(listed, register.players, words)}",
        *(_player(number, player, words) for number, player in enumerate(listed[:PLAYERS_IN_FULL])),
        f"<h2>{words('matches')}</h2>{_matches(summary, every_match, words)}",
        f"<h2>{words('worst')}</h2>{''.join(_worst(one, words) for one in facts.worst)}" if facts.worst else "",
        _skipped(summary, words),
        books_html(facts.books, words),
        conditions_html(facts.conditions, facts.levels, words),
    ]
    return page(words("archive"), "".join(parts), words)


def matches_page(summary: ArchiveSummary, language: Language, back: str) -> Iterator[str]:
    """The page with all matches, piece by piece; `back`: address of the archive's page."""
    words = Words(language)
    before, after = frame(words("matches"), words)
    yield f'{before}<nav><a href="{escape(back)}">← {words("back")}</a></nav><h1>{words("matches")}</h1>'
    yield from table_rows(_match_heads(words), (_match(row, words) for row in summary.register.every_match()), (1, 2))
    yield after


def _players(listed: Sequence[ArchivePlayer], count: int, words: Words) -> str:
    heads = (
        words("player"),
        "PR",
        words("decisions"),
        words("matches"),
        words("won_lost"),
        words("checker_pr"),
        words("cube_pr"),
        f"{words('errors')} / {words('blunders').lower()}",
        words("luck"),
    )
    rows = []
    for number, player in enumerate(listed):
        one = player.figures
        name = escape(one.name)
        rows.append(
            (
                f'<a href="#p{number}">{name}</a>' if number < PLAYERS_IN_FULL else name,
                figures_pr(one, words, "<b>{}</b>"),
                words.count(one.decisions),
                words.count(player.matches),
                f"{words.count(player.won)} / {words.count(player.lost)}",
                pr_text(one.checker, words),
                pr_text(one.cube, words),
                f"{words.count(one.errors)} / {words.count(one.blunders)}",
                words.number(one.luck, 2, sign=True),
            )
        )
    left = count - len(listed)
    more = f"<p class=soft>{words('more_players', count=left)}</p>" if left > 0 else ""
    return table(heads, rows, kind="names") + more


def _player(number: int, player: ArchivePlayer, words: Words) -> str:
    one = player.figures
    strength = f' <small class="soft">{escape(words.strength(one.strength))}</small>' if one.strength else ""
    cards = [
        (words("pr_trend"), _trend(player.trend, words)),
        (words("luck_trend"), _luck(player, words)),
        (words("by_type"), type_bars(one, "a", words)),
        (words("frequent"), _frequent(player, words)),
        (words("plan"), _plan(player, words)),
        (words("cube_errors"), _cube_errors(player, words)),
        (words("openings"), first_plays_card(player.openings, words)),
    ]
    shown = "".join(f"<div class=card><h3>{title}</h3>{body}</div>" for title, body in cards if body)
    shown += "".join(
        f'<div class="card wide"><h3>{words("by_book", book=escape(one.book))}</h3>{book_card(one, words)}</div>'
        for one in player.openings.books
    )
    return f'<h2 id="p{number}">{escape(one.name)}{strength}</h2><div class="grid">{shown}</div>'


def _trend(points: tuple[TrendPoint, ...], words: Words) -> str:
    shown = [Point(one.pr, one.se, _told(one, words)) for one in points if one.pr is not None]
    return line_chart([Line("PR", shown)], words("pr_trend")) if len(shown) > 1 else ""


def _luck(player: ArchivePlayer, words: Words) -> str:
    """The luck of all matches so far, each with its result: a ring is a match that was lost."""
    points = player.trend
    if len(points) < 2:
        return _results(player.without_luck, words)
    sums = accumulate(one.luck for one in points)
    shown = [
        Point(luck, title=_told(one, words), hollow=one.lost > one.won) for luck, one in zip(sums, points, strict=True)
    ]
    chart = line_chart([Line(words("luck"), shown)], words("luck_trend"), from_zero=False)
    legend = "".join(
        f'<span class="key {kind}">{words(key)}</span>' for kind, key in (("a", "won"), ("hollow", "lost_match"))
    )
    decided = any(one.won or one.lost for one in points)
    return chart + (f'<p class="legend">{legend}</p>' if decided else "") + _results(player.without_luck, words)


def _told(one: TrendPoint, words: Words) -> str:
    """A point of a trend as a sentence."""
    who = one.opponent if one.matches == 1 else f"{words.count(one.matches)} {words('matches').lower()}"
    pr = "–" if one.pr is None else words.number(one.pr)
    luck = words.number(one.luck, 2, sign=True)
    result = ""
    if one.matches > 1:
        result = f", {words('won')} {one.won}, {words('lost_match')} {one.lost}"
    elif one.won or one.lost:
        result = f", {words('won' if one.won else 'lost_match')}"
    return f"{one.date} {who}: PR {pr}, {words('luck').lower()} {luck}{result}".strip()


def _results(known: WithoutLuck, words: Words) -> str:
    shown = ""
    if known.matches:
        adjusted = words.number(known.won_without_luck, 1)
        shown += f"<p>{words('won_without_luck', won=known.won, matches=known.matches, adjusted=adjusted)}</p>"
    if known.sessions:
        adjusted = words.number(known.points_without_luck, 1, sign=True)
        points = words.number(known.points, 0, sign=True)
        shown += f"<p>{words('points_without_luck', points=points, sessions=known.sessions, adjusted=adjusted)}</p>"
    return shown


def _frequent(player: ArchivePlayer, words: Words) -> str:
    if not player.frequent:
        return ""
    rows = [
        (
            words.area(one.area),
            f"{one.errors} / {one.decisions}",
            words.number(one.pr),
            "" if one.trend is None else words.trend(one.trend),
        )
        for one in player.frequent
    ]
    return table((words("area"), f"{words('errors')} / {words('decisions').lower()}", "PR", ""), rows)


def _plan(player: ArchivePlayer, words: Words) -> str:
    if not player.plan:
        return f"<p class=soft>{words('no_plan')}</p>"
    steps = "".join(
        "<li>"
        + words(
            "plan_step",
            area=f"<b>{words.area(one.area)}</b>",
            pr=words.number(one.pr),
            decisions=one.decisions,
            loss=words.number(one.loss),
        )
        + "</li>"
        for one in player.plan
    )
    return f"<ol>{steps}</ol>"


def _cube_errors(player: ArchivePlayer, words: Words) -> str:
    known = sorted(player.figures.cube_errors.items(), key=lambda item: (-item[1].loss, item[0]))
    rows = [(words.cube_error(kind), f"{one.decisions}", words.number(one.loss, 3)) for kind, one in known]
    return table((words("error"), words("times"), words("lost")), rows) if rows else ""


def _matches(summary: ArchiveSummary, every_match: str, words: Words) -> str:
    count = summary.register.matches
    if count <= MATCHES_LISTED:
        return table(
            _match_heads(words),
            (_match(row, words) for row in summary.register.every_match()),
            texts=(1, 2),
            kind="names",
        )
    latest = [_match(row, words) for row in summary.register.latest_matches(MATCHES_LISTED)]
    note = words("latest_matches", shown=len(latest), link=f'<a href="{escape(every_match)}">{words.count(count)}</a>')
    return f"<p>{note}</p>{table(_match_heads(words), latest, texts=(1, 2), kind='names')}"


def _match_heads(words: Words) -> tuple[str, ...]:
    return (words("match"), words("date"), "", words("result"), "PR", words("luck"), words("adjusted"))


def _match(row: MatchRow, words: Words) -> tuple[str, ...]:
    names = " – ".join(escape(name) for name in row.players)
    adjusted = ""
    if row.luck_adjusted is not None:
        adjusted = (
            percent(min(max(row.luck_adjusted, 0.0), 1.0), words.language)
            if row.length
            else words.number(row.luck_adjusted, 1, sign=True)
        )
    return (
        f'<a href="{escape(row.report)}.html">{names}</a>',
        escape(row.date),
        match_kind(row.length, words),
        f"{row.final_score[0]} : {row.final_score[1]}",
        " – ".join("–" if one is None else words.number(one.pr) for one in row.figures),
        " / ".join(words.number(luck, 1, sign=True) for luck in row.luck),
        f'<small title="{escape(row.file)}">{adjusted}</small>',
    )


def _worst(one: WorstDecision, words: Words) -> str:
    where = words("where", game=one.decision.game, turn=one.decision.turn)
    head = (
        f"<b>{question_text(one.decision, escape(one.player), words)}</b>"
        f'<span class="soft"><a href="{escape(one.report)}.html">{escape(one.player)} – {escape(one.opponent)}</a>, '
        f"{where} · {words.area(one.decision.type.value)}</span>"
    )
    return decision_html(one.decision, one.rules, head, words)


def _skipped(summary: ArchiveSummary, words: Words) -> str:
    register = summary.register
    if not register.skipped:
        return ""
    rows = [
        (escape(one.file), f'<span class="wrap">{escape(one.reason)}</span>')
        for one in islice(register.every_skipped(), SKIPPED_LISTED)
    ]
    left = register.skipped - len(rows)
    more = f"<p class=soft>{words('more_files', count=left)}</p>" if left else ""
    return f"<h2>{words('skipped')}</h2>{table((words('file'), words('reason')), rows, texts=(1,))}{more}"
