"""The page of an archive: its players with their trends, habits and openings, its matches, its largest errors."""

from __future__ import annotations

from html import escape

from cluster.archive.openings import OpeningFigures
from cluster.archive.reports.charts import Line, Point, line_chart
from cluster.archive.reports.match_page import match_kind, type_bars
from cluster.archive.reports.page import (
    conditions_html,
    decision_html,
    page,
    pr_text,
    question_text,
    table,
)
from cluster.archive.reports.words import Words
from cluster.archive.summary import ArchivePlayer, ArchiveSummary, MatchRow, TrendPoint, WorstDecision
from engine.analysis.language import Language, percent

PLAYERS_IN_FULL = 12
"""Those with most decisions; the others stand in the table."""
PLAYERS_LISTED = 200


def archive_page(summary: ArchiveSummary, language: Language) -> str:
    """The whole page; pages of matches are linked by their addresses in the summary."""
    words = Words(language)
    detailed = summary.players[:PLAYERS_IN_FULL]
    parts = [
        f"<h1>{words('archive')}</h1>",
        f'<p class="soft">{len(summary.matches):,} {words("matches").lower()} · '
        f"{len(summary.players):,} {words('players').lower()} · {summary.decisions:,} {words('decisions').lower()}"
        f" · {words('all_players')}: PR {pr_text(summary.all, words)}</p>",
        f"<h2>{words('players')}</h2>{_players(summary, words)}",
        *(_player(number, player, words) for number, player in enumerate(detailed)),
        f"<h2>{words('matches')}</h2>{_matches(summary, words)}",
        f"<h2>{words('worst')}</h2>{''.join(_worst(one, words) for one in summary.worst)}" if summary.worst else "",
        _skipped(summary, words),
        conditions_html(summary.conditions, summary.levels, words),
    ]
    return page(words("archive"), "".join(parts), words)


def _players(summary: ArchiveSummary, words: Words) -> str:
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
    for number, player in enumerate(summary.players[:PLAYERS_LISTED]):
        one = player.figures
        name = escape(one.name)
        rows.append(
            (
                f'<a href="#p{number}">{name}</a>' if number < PLAYERS_IN_FULL else name,
                "–" if one.pr is None else _own_pr(player, words),
                f"{one.decisions:,}",
                f"{player.matches}",
                f"{player.won} / {player.lost}",
                pr_text(one.checker, words),
                pr_text(one.cube, words),
                f"{one.errors} / {one.blunders}",
                words.number(one.luck, 2, sign=True),
            )
        )
    left = len(summary.players) - PLAYERS_LISTED
    more = f"<p class=soft>{words('more_players', count=left)}</p>" if left > 0 else ""
    return table(heads, rows, kind="names") + more


def _own_pr(player: ArchivePlayer, words: Words) -> str:
    one = player.figures
    error = "" if one.se is None else f" <small>± {words.number(one.se)}</small>"
    return f"<b>{words.number(one.pr or 0.0)}</b>{error}"


def _player(number: int, player: ArchivePlayer, words: Words) -> str:
    one = player.figures
    strength = f' <small class="soft">{escape(words.strength(one.strength))}</small>' if one.strength else ""
    cards = [
        (words("pr_trend"), _trend(player.trend, words)),
        (words("by_type"), type_bars(one, "a", words)),
        (words("frequent"), _frequent(player, words)),
        (words("plan"), _plan(player, words)),
        (words("cube_errors"), _cube_errors(player, words)),
        (words("openings"), _openings(player.openings, words)),
    ]
    shown = "".join(f"<div class=card><h3>{title}</h3>{body}</div>" for title, body in cards if body)
    return f'<h2 id="p{number}">{escape(one.name)}{strength}</h2><div class="grid">{shown}</div>'


def _trend(points: tuple[TrendPoint, ...], words: Words) -> str:
    if len(points) < 2:
        return ""
    shown = [
        Point(
            one.pr,
            one.se,
            f"{one.date} {one.opponent}: PR {words.number(one.pr)}, {words('luck')} {words.number(one.luck, 2, True)}",
        )
        for one in points
    ]
    return line_chart([Line("PR", shown)], words("pr_trend"))


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


def _openings(openings: OpeningFigures, words: Words) -> str:
    if not openings.first_plays:
        return ""
    total = words(
        "openings_sum",
        first=openings.first_plays,
        first_pr=_number(openings.first_plays_pr, words),
        replies=openings.replies,
        replies_pr=_number(openings.replies_pr, words),
    )
    rows = [
        (
            f"{roll.dice[0]}-{roll.dice[1]}" if place == 0 else "",
            escape(play.play),
            f"{play.times}",
            words.number(play.loss, 3) if play.loss else "✓",
        )
        for roll in openings.rolls
        for place, play in enumerate(roll.plays)
    ]
    heads = (words("roll"), words("play"), words("times"), words("mean_loss"))
    return f"<p>{total}</p>{table(heads, rows, texts=(1,))}"


def _number(value: float | None, words: Words) -> str:
    return "–" if value is None else words.number(value)


def _matches(summary: ArchiveSummary, words: Words) -> str:
    heads = (words("match"), words("date"), "", words("result"), "PR", words("luck"), words("adjusted"))
    return table(heads, [_match(row, words) for row in summary.matches], texts=(1, 2), kind="names")


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
    if not summary.skipped:
        return ""
    rows = [(escape(one.file), f'<span class="wrap">{escape(one.reason)}</span>') for one in summary.skipped]
    return f"<h2>{words('skipped')}</h2>{table((words('file'), words('reason')), rows, texts=(1,))}"
