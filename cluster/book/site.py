"""A book as a web site: a folder of pages that need no server, no network and, except for the search, no script.

`index.html` holds the openings; every position that the book knows after a play has a page of its own in `p/`, with a
table of all rolls and, unfolded, all plays of a roll with their errors and chances.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from html import escape
from importlib import resources
from pathlib import Path

from cluster.book.artifact import Book
from cluster.book.picture import board_picture
from cluster.book.schemas import BookEntry, BookInfo, BookPlay, Standing, Verdict
from engine.gnuid import format_position_id, parse_position_id
from engine.position import Position

_MARKS = {Standing.BEST: "best", Standing.PLAYABLE: "playable", Standing.OPEN: "open", Standing.BEATEN: ""}
_VERDICTS = {Verdict.SETTLED: "settled", Verdict.BOTH_PLAYABLE: "both", Verdict.OPEN: "open"}
_HEADS = ("play", "", "equity", "±", "loss", "±", "search", "rollout", "win %", "g %", "bg %", "lose g %", "lose bg %")
_WIDTH_OF_ERRORS = 1.96
"""Standard errors, so that error bars hold 95 %."""


def write_site(book: Book, folder: Path) -> list[Path]:
    """Write all pages; the same book gives the same bytes."""
    (folder / "p").mkdir(parents=True, exist_ok=True)
    entries = [entry.shown(book.stakes) for entry in book.entries()]
    positions: dict[str, list[BookEntry]] = {}
    for entry in entries:
        positions.setdefault(_position(entry), []).append(entry)
    start = format_position_id(book.stakes.rules.start.board)
    info = book.info()
    written = []
    for position, here in positions.items():
        is_start = position == start
        page = _Page(book, info, positions.keys(), "" if is_start else "../", start)
        path = folder / ("index.html" if is_start else f"p/{_slug(position)}.html")
        path.write_text(page.position(position, here), encoding="utf-8")
        written.append(path)
    index = [[entry.path, entry.plays[0].play, _address(entry, start), entry.id] for entry in entries]
    assets = {
        "table.html": opening_table(book),
        "entries.js": f"window.ENTRIES = {json.dumps(index, separators=(',', ':'))};\n",
        **{name: _asset(name) for name in ("style.css", "search.js")},
    }
    for name, text in assets.items():
        (folder / name).write_text(text, encoding="utf-8")
        written.append(folder / name)
    return written


def opening_table(book: Book) -> str:
    """All openings on one page that prints well, in need of no other file."""
    info = book.info()
    body = "".join(_printed_entry(entry.shown(book.stakes)) for entry in book.entries(1))
    names = ("roll", "play", "equity", "±", "loss", "±", "win %", "g %", "lose g %")
    heads = "".join(f"<th>{name}</th>" for name in names)
    return (
        f"{_head(f'Openings: {info.name}')}<style>{_asset('style.css')}</style></head><body class='print'>"
        f"<h1>Openings: {escape(info.name)}</h1>{_facts(info)}"
        f"<div class='scroll'><table><thead><tr>{heads}</tr></thead>{body}</table></div></body></html>\n"
    )


class _Page:
    """Pages of one book, in one folder of the site."""

    def __init__(self, book: Book, info: BookInfo, known: Iterable[str], up: str, start: str) -> None:
        self._book = book
        self._info = info
        self._known = set(known)
        self._up = up
        self._start = start

    def position(self, position: str, entries: list[BookEntry]) -> str:
        """The page of a position."""
        entries = sorted(entries, key=lambda entry: entry.roll)
        line = entries[0].path.rpartition(" ")[0]
        title = f"After {line}" if line else "Openings"
        board = Position(parse_position_id(position), self._book.stakes.match)
        overview = "".join(self._row(entry) for entry in entries)
        heads = "".join(f"<th>{head}</th>" for head in ("roll", "best play", "equity", "±", "next", "loss", "verdict"))
        return (
            f"{_head(f'{title} - {self._info.name}')}<link rel='stylesheet' href='{self._up}style.css'></head><body>"
            f"<header><p class='crumbs'>{self._crumbs(line)}</p>"
            f"<p class='find'><label>Search <input id='search' type='search' placeholder='31 8/5 6/5 64'"
            f" data-up='{self._up}' autocomplete='off'></label></p><ul id='found'></ul></header>"
            f"<main><h1>{escape(title)}</h1><div class='top'>{board_picture(board)}"
            f"{_facts(self._info) if not line else ''}</div>"
            f"<div class='scroll'><table class='overview'><thead><tr>{heads}</tr></thead>"
            f"<tbody>{overview}</tbody></table></div>{''.join(self._details(entry) for entry in entries)}</main>"
            f"<script src='{self._up}entries.js'></script><script src='{self._up}search.js'></script></body></html>\n"
        )

    def _crumbs(self, line: str) -> str:
        home = f"<a href='{self._up}index.html'>{escape(self._info.name)}</a>"
        if not line:
            return f"{home} · <a href='table.html'>table to print</a>"
        return f"{home} › {escape(line)}"

    def _row(self, entry: BookEntry) -> str:
        best, *rest = entry.plays
        second = rest[0] if rest else None
        cells = (
            f"<a href='#r{entry.roll}'>{entry.roll[0]}-{entry.roll[1]}</a>",
            self._linked(best),
            _number(best.equity),
            _error(best.se),
            escape(second.play) if second else "",
            f"{-second.difference:.4f}" if second else "",
            f"<span class='{_VERDICTS[entry.verdict]}'>{entry.verdict.value}</span>",
        )
        return f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"

    def _details(self, entry: BookEntry) -> str:
        rows = "".join(self._play(play) for play in entry.plays)
        heads = "".join(f"<th>{head}</th>" for head in _HEADS)
        return (
            f"<details id='r{entry.roll}'><summary><b>{entry.roll[0]}-{entry.roll[1]}</b> "
            f"{escape(entry.plays[0].play)} <span class='{_VERDICTS[entry.verdict]}'>{entry.verdict.value}</span>"
            f"</summary><div class='scroll'><table><thead><tr>{heads}<th>trials</th></tr></thead>"
            f"<tbody>{rows}</tbody></table></div>{self._after(entry.plays[0])}"
            f"<p class='xgid'><code>{escape(entry.xgid)}</code></p></details>"
        )

    def _after(self, play: BookPlay) -> str:
        """The board after a play, as the opponent sees it."""
        board = Position(parse_position_id(play.after), self._book.stakes.match.flip())
        replies = f" <a href='{self._page(play.after)}'>replies</a>" if play.after in self._known else ""
        return f"<p>After {escape(play.play)}, in the view of the opponent:{replies}</p>{board_picture(board)}"

    def _play(self, play: BookPlay) -> str:
        first = play.standing is Standing.BEST
        cells = (
            self._linked(play),
            f"<span class='{_MARKS[play.standing]}'>{_MARKS[play.standing]}</span>",
            _number(play.equity),
            _error(play.se),
            "" if first else f"{-play.difference:.4f}",
            "" if first else _error(play.difference_se),
            _number(play.search_equity),
            _number(play.simulation_equity),
            *(f"{100 * chance:.2f}" for chance in play.probabilities.values()),
            f"{play.trials:,}",
        )
        return f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"

    def _linked(self, play: BookPlay) -> str:
        text = escape(play.play)
        return f"<a href='{self._page(play.after)}'>{text}</a>" if play.after in self._known else text

    def _page(self, position: str) -> str:
        return f"{self._up}{_page_of(position, self._start)}"


def _position(entry: BookEntry) -> str:
    return entry.id.rpartition(":")[0]


def _address(entry: BookEntry, start: str) -> str:
    return f"{_page_of(_position(entry), start)}#r{entry.roll}"


def _page_of(position: str, start: str) -> str:
    return "index.html" if position == start else f"p/{_slug(position)}.html"


def _slug(position: str) -> str:
    """A position ID as the name of a file."""
    return position.replace("/", "_").replace("+", "-")


def _printed_entry(entry: BookEntry) -> str:
    rows = []
    for number, play in enumerate(entry.plays):
        p = play.probabilities
        cells = (
            f"{entry.roll[0]}-{entry.roll[1]}" if number == 0 else "",
            escape(play.play) + ("" if number == 0 else f" <small>{_MARKS[play.standing]}</small>"),
            *(_number(play.equity), _error(play.se)),
            *((f"{-play.difference:.4f}", _error(play.difference_se)) if number else ("", "")),
            *(f"{100 * chance:.2f}" for chance in (p.win, p.win_gammon, p.lose_gammon)),
        )
        rows.append(f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>")
    return f"<tbody>{''.join(rows)}</tbody>"


def _facts(info: BookInfo) -> str:
    identity = info.identity
    cube = "with the cube" if identity.cube else "no cube"
    count = f"{sum(info.entries):,} entries ({' + '.join(f'{n:,}' for n in info.entries)} by depth)"
    verdicts = ", ".join(f"{number:,} {name}" for name, number in info.verdicts.items())
    return (
        f"<p class='facts'>{escape(identity.rules)}, {escape(identity.score)}, {cube}. {count}: {verdicts}. "
        f"{info.trials:,} trials. A value is the mean of a {identity.search_level}-ply search and a rollout played at "
        f"{identity.simulation_level}-ply; ± is an error bar of 95 %, of the dice only. "
        f"Net {escape(identity.net)}, seed {identity.seed}.</p>"
    )


def _head(title: str) -> str:
    return (
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<title>{escape(title)}</title>"
    )


def _number(equity: float) -> str:
    return f"{equity:+.4f}".replace("-", "−")


def _error(se: float) -> str:
    return f"{_WIDTH_OF_ERRORS * se:.4f}"


def _asset(name: str) -> str:
    return (resources.files("configs") / "book" / "site" / name).read_text(encoding="utf-8")
