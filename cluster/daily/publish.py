"""Daily problems for people and programs: text, pictures, a calendar, a feed."""

from __future__ import annotations

import datetime
import enum
import json
from collections.abc import Sequence
from html import escape

from cluster.daily.schemas import DailyProblem
from engine.board import flip
from engine.board_drawing import Arrow, play_arrows
from engine.board_svg import board_svg
from engine.display import board_text
from engine.gnuid import parse_position_id
from engine.ids import parse_position
from engine.position import Position
from engine.rules import rule_set

_LINE = 75
"""Most bytes of a line of a calendar (RFC 5545, section 3.1)."""


class DailyFormat(enum.Enum):
    """What problems can be written as."""

    TEXT = "text"
    SVG = "svg"
    PNG = "png"
    CALENDAR = "ics"
    """iCalendar (RFC 5545): an all-day event a problem."""
    FEED = "feed"
    """JSON Feed 1.1: an item a problem."""


def as_text(problem: DailyProblem, answer: bool) -> str:
    """The problem for people; with the `answer`, or without."""
    lines = [f"{title(problem)}: {_question(problem)}", board_text(_position(problem)), problem.xgid]
    if answer:
        lines += ["", *_answer(problem)]
    return "\n".join(lines)


def title(problem: DailyProblem) -> str:
    """Names the problem."""
    cube = "with the cube" if problem.cube is not None else "no cube"
    return f"Problem of {problem.date.isoformat()} ({problem.rules}, money, {cube})"


def as_svg(problem: DailyProblem, answer: bool) -> str:
    """A picture; the `answer` is arrows."""
    return board_svg(_position(problem), _arrows(problem, answer), title=f"{title(problem)}: {_question(problem)}")


def as_png(problem: DailyProblem, answer: bool) -> bytes:
    """The same picture in pixels."""
    from cluster.reports.board_png import board_png

    return board_png(_position(problem), _arrows(problem, answer))


def as_calendar(problems: Sequence[DailyProblem], answer: bool) -> str:
    """An iCalendar of all-day events; the same problems give the same bytes."""
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//gammonfarm//daily problems//EN"]
    for problem in problems:
        day, next_day = problem.date, problem.date + datetime.timedelta(days=1)
        lines += [
            "BEGIN:VEVENT",
            f"UID:{_name(problem)}@gammonfarm",
            f"DTSTAMP:{day:%Y%m%d}T000000Z",
            f"DTSTART;VALUE=DATE:{day:%Y%m%d}",
            f"DTEND;VALUE=DATE:{next_day:%Y%m%d}",
            f"SUMMARY:{_escaped(f'Backgammon: {_question(problem)}')}",
            f"DESCRIPTION:{_escaped(as_text(problem, answer))}",
            "END:VEVENT",
        ]
    lines.append("END:VCALENDAR")
    return "".join(f"{_folded(line)}\r\n" for line in lines)


def as_feed(problems: Sequence[DailyProblem], answer: bool) -> str:
    """A JSON Feed, the latest problem first, each with its picture."""
    items = [
        {
            "id": _name(problem),
            "title": f"{title(problem)}: {_question(problem)}",
            "date_published": f"{problem.date.isoformat()}T00:00:00Z",
            "content_html": f"{as_svg(problem, answer=False)}<pre>{_plain(problem, answer)}</pre>",
            "content_text": as_text(problem, answer),
        }
        for problem in sorted(problems, key=lambda problem: problem.date, reverse=True)
    ]
    feed = {"version": "https://jsonfeed.org/version/1.1", "title": "Backgammon: problems of the day", "items": items}
    return json.dumps(feed, indent=1, ensure_ascii=False) + "\n"


def _name(problem: DailyProblem) -> str:
    return f"{problem.date.isoformat()}-{problem.kind.value}-{problem.rules}-{problem.version}"


def _position(problem: DailyProblem) -> Position:
    return parse_position(problem.xgid).under(rule_set(problem.rules))


def _question(problem: DailyProblem) -> str:
    if problem.cube is None:
        return f"how to play {problem.roll}?"
    return f"{'redouble' if problem.cube.redouble else 'double'}? And if so: take or pass?"


def _arrows(problem: DailyProblem, answer: bool) -> tuple[Arrow, ...]:
    if not answer or not problem.plays:
        return ()
    return play_arrows(_position(problem), flip(parse_position_id(problem.plays[0].after)))


def _answer(problem: DailyProblem) -> list[str]:
    lines = [problem.explanation]
    for play in problem.plays:
        error = f" ± {1.96 * play.difference_se:.4f}" if play.difference else ""
        lines.append(f"  {play.play:<26} {play.equity:+.4f}  {play.difference:+.4f}{error}")
    cube = problem.cube
    if cube is not None:
        rows = (
            ("no double", cube.equity_nd, cube.se_nd),
            ("double, take", cube.equity_dt, cube.se_dt),
            ("double, pass", cube.equity_dp, None),
        )
        for name, equity, se in rows:
            error = f" ± {1.96 * se:.4f}" if se is not None else ""
            lines += [f"  {name:<12} {equity:+.4f}{error}"] if equity is not None else []
    return lines


def _plain(problem: DailyProblem, answer: bool) -> str:
    return escape("\n".join([problem.xgid, *(_answer(problem) if answer else [])]))


def _escaped(text: str) -> str:
    """A TEXT value (RFC 5545, section 3.3.11)."""
    for character in ("\\", ";", ","):
        text = text.replace(character, f"\\{character}")
    return text.replace("\n", "\\n")


def _folded(line: str) -> str:
    """Long lines go on after a line break and a space; no character is cut in two."""
    parts, part, size = [], "", 0
    for character in line:
        width = len(character.encode())
        if size + width > _LINE:
            parts.append(part)
            part, size = " ", 1
        part += character
        size += width
    return "\r\n".join([*parts, part])
