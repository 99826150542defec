"""A book as a web site: a folder of pages that need no server, no network and, except for the search, no script.

`index.html` holds the openings; every position that the book knows after a play has a page of its own in `p/`, with a
table of all rolls and, unfolded, all plays of a roll with their errors and chances.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from html import escape
from importlib import resources
from pathlib import Path

from cluster.book.artifact import Book
from cluster.book.entry import Entry
from cluster.book.picture import BOARD_STYLE, board_picture
from cluster.book.schemas import BookInfo, BookPlay, Standing, Verdict
from cluster.book.stakes import Seat
from engine.board import flip
from engine.gnuid import format_position_id, parse_position_id
from engine.xgid import format_xgid

_MARKS = {Standing.BEST: "best", Standing.PLAYABLE: "playable", Standing.OPEN: "open", Standing.BEATEN: ""}
_VERDICTS = {Verdict.SETTLED: "settled", Verdict.BOTH_PLAYABLE: "both", Verdict.OPEN: "open"}
_HEADS = ("play", "", "equity", "±", "loss", "±", "search", "rollout", "win %", "g %", "bg %", "lose g %", "lose bg %")
_WIDTH_OF_ERRORS = 1.96
"""Standard errors, so that error bars hold 95 %."""


Place = tuple[str, Seat]
"""A page: a position (GNU ID) and who plays there."""


def write_site(book: Book, folder: Path) -> list[Path]:
    """Write all pages; the same book gives the same bytes."""
    (folder / "p").mkdir(parents=True, exist_ok=True)
    places: dict[Place, list[Entry]] = {}
    for entry in book.entries():
        places.setdefault((entry.spot.position, entry.spot.seat), []).append(entry)
    start = format_position_id(book.stakes.rules.start.board)
    site = _Site(book, book.info(), frozenset(places), start)
    pages = {site.address(place): site.page(place, here) for place, here in places.items()}
    index = [
        [entry.spot.path, entry.plays[0].play, f"{site.address(place)}#r{entry.spot.roll}", entry.spot.id]
        for place, here in places.items()
        for entry in here
    ]
    files = {
        **pages,
        "table.html": opening_table(book),
        "entries.js": f"window.ENTRIES = {json.dumps(index, separators=(',', ':'))};\n",
        "search.js": _asset("search.js"),
        "style.css": _asset("style.css") + BOARD_STYLE + "\n",
    }
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return [folder / name for name in files]


def opening_table(book: Book) -> str:
    """All openings on one page that prints well, in need of no other file."""
    info = book.info()
    body = "".join(_printed_entry(entry) for entry in book.entries(1))
    names = ("roll", "play", "equity", "±", "loss", "±", "win %", "g %", "lose g %")
    heads = "".join(f"<th>{name}</th>" for name in names)
    return (
        f"{_head(f'Openings: {info.name}')}<style>{_asset('style.css')}</style></head><body class='print'>"
        f"<h1>Openings: {escape(info.name)}</h1>{_facts(info)}"
        f"<div class='scroll'><table><thead><tr>{heads}</tr></thead>{body}</table></div></body></html>\n"
    )


@dataclass(frozen=True, slots=True)
class _Site:
    """Pages of one book."""

    book: Book
    info: BookInfo
    known: frozenset[Place]
    start: str

    def address(self, place: Place) -> str:
        """Of the page of a position, from the folder of the site."""
        position, seat = place
        if position == self.start and seat in (Seat.EITHER, Seat.OPENER):
            return "index.html"
        # A position ID as the name of a file; the ends of seats keep apart what differs by the score alone.
        return f"p/{position.replace('/', '_').replace('+', '-')}{'-2' if seat is Seat.OPPONENT else ''}.html"

    def page(self, place: Place, entries: list[Entry]) -> str:
        """The page of a position."""
        up = "" if self.address(place) == "index.html" else "../"
        entries = sorted(entries, key=lambda entry: entry.spot.roll)
        line = entries[0].spot.path.rpartition(" ")[0]
        title = f"After {line}" if line else "Openings"
        board = replace(entries[0].spot.under(self.book.stakes), dice=None)
        overview = "".join(self._row(entry, up) for entry in entries)
        heads = "".join(f"<th>{head}</th>" for head in ("roll", "best play", "equity", "±", "next", "loss", "verdict"))
        return (
            f"{_head(f'{title} - {self.info.name}')}<link rel='stylesheet' href='{up}style.css'></head><body>"
            f"<header><p class='crumbs'>{self._crumbs(line, up)}</p>"
            f"<p class='find'><label>Search <input id='search' type='search' placeholder='31 8/5 6/5 64'"
            f" data-up='{up}' autocomplete='off'></label></p><ul id='found'></ul></header>"
            f"<main><h1>{escape(title)}</h1><div class='top'>{board_picture(board)}"
            f"{_facts(self.info) if not line else ''}</div>"
            f"<div class='scroll'><table class='overview'><thead><tr>{heads}</tr></thead>"
            f"<tbody>{overview}</tbody></table></div>{''.join(self._details(entry, up) for entry in entries)}</main>"
            f"<script src='{up}entries.js'></script><script src='{up}search.js'></script></body></html>\n"
        )

    def _crumbs(self, line: str, up: str) -> str:
        home = f"<a href='{up}index.html'>{escape(self.info.name)}</a>"
        if not line:
            return f"{home} · <a href='table.html'>table to print</a>"
        return f"{home} › {escape(line)}"

    def _row(self, entry: Entry, up: str) -> str:
        best, *rest = entry.plays
        second = rest[0] if rest else None
        cells = (
            f"<a href='#r{entry.spot.roll}'>{'-'.join(entry.spot.roll)}</a>",
            self._linked(entry, best, up),
            _number(best.equity),
            _error(best.se),
            escape(second.play) if second else "",
            f"{-second.difference:.4f}" if second else "",
            _verdict(entry),
        )
        return f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"

    def _details(self, entry: Entry, up: str) -> str:
        rows = "".join(self._play(entry, play, up) for play in entry.plays)
        heads = "".join(f"<th>{head}</th>" for head in _HEADS)
        position = entry.spot.under(self.book.stakes)
        best = entry.plays[0]
        after = flip(parse_position_id(best.after))
        link = self._replies(entry, best, up)
        replies = f"<p><a href='{link}'>Replies to {escape(best.play)}</a></p>" if link else ""
        return (
            f"<details id='r{entry.spot.roll}'><summary><b>{'-'.join(entry.spot.roll)}</b> "
            f"{escape(best.play)} {_verdict(entry)}</summary><div class='scroll'><table>"
            f"<thead><tr>{heads}<th>trials</th></tr></thead><tbody>{rows}</tbody></table></div>"
            f"{board_picture(position, after)}{replies}"
            f"<p class='xgid'><code>{escape(format_xgid(position))}</code></p></details>"
        )

    def _play(self, entry: Entry, play: BookPlay, up: str) -> str:
        first = play.standing is Standing.BEST
        cells = (
            self._linked(entry, play, up),
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

    def _replies(self, entry: Entry, play: BookPlay, up: str) -> str | None:
        """Address of the page after a play, if there is one."""
        place = (play.after, entry.spot.seat.other)
        return up + self.address(place) if place in self.known else None

    def _linked(self, entry: Entry, play: BookPlay, up: str) -> str:
        text, link = escape(play.play), self._replies(entry, play, up)
        return f"<a href='{link}'>{text}</a>" if link else text


def _verdict(entry: Entry) -> str:
    return f"<span class='{_VERDICTS[entry.verdict]}'>{entry.verdict.value}</span>"


def _printed_entry(entry: Entry) -> str:
    rows = []
    for number, play in enumerate(entry.plays):
        p = play.probabilities
        cells = (
            "-".join(entry.spot.roll) if number == 0 else "",
            escape(play.play) + ("" if number == 0 else f" <small>{_MARKS[play.standing]}</small>"),
            *(_number(play.equity), _error(play.se)),
            *((f"{-play.difference:.4f}", _error(play.difference_se)) if number else ("", "")),
            *(f"{100 * chance:.2f}" for chance in (p.win, p.win_gammon, p.lose_gammon)),
        )
        rows.append(f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>")
    return f"<tbody>{''.join(rows)}</tbody>"


def _facts(info: BookInfo) -> str:
    identity = info.identity
    count = f"{sum(info.entries):,} entries ({' + '.join(f'{n:,}' for n in info.entries)} by depth)"
    verdicts = ", ".join(f"{number:,} {name}" for name, number in info.verdicts.items())
    return (
        f"<p class='facts'>{escape(identity.words)}. {count}: {verdicts}. "
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
