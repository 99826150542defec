"""Openings as others have published them: tables of first rolls with what their plays are worth."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from engine.board import START, flip
from engine.errors import InputError
from engine.gnuid import format_position_id
from engine.notation import format_play, parse_play
from engine.rules import INTERNATIONAL
from training.suite.files import read_table, refusing

TABLE, TABLES = "opening_table_xg_book.tsv", "opening_published.json"
"""Below `benchmarks/` of the reference data."""

_NAMED: dict[str, tuple[str, ...]] = {
    "31": ("8/5 6/5",),
    "21": ("13/11 24/23",),
    "64": ("24/14", "24/18 13/9", "8/2 6/2"),
}


_Row = tuple[str, str, float | None, str | None]
"""Roll, play, equity, score."""


@dataclass(frozen=True, slots=True)
class PublishedPlay:
    """A play of a first roll."""

    play: str
    """Our notation."""
    after: str
    """GNU position ID, the opponent's view."""
    equity: float | None
    """What the table says, in its own unit; null where it only names the play."""
    score: str | None = None
    """The score, where it is not for money."""


@dataclass(frozen=True, slots=True)
class PublishedTable:
    """Plays by roll, the higher die first; the best of a roll first."""

    name: str
    source: str
    units: str
    rolls: Mapping[str, tuple[PublishedPlay, ...]]

    @property
    def has_values(self) -> bool:
        """Whether the numbers are values of plays, not losses only."""
        return "loss" not in self.units


def named_in_the_manual() -> PublishedTable:
    """The plays that the text of the manual names (rules digest, C8); of 6-4 three that "differ very little"."""
    rows = [(roll, play, None, None) for roll, plays in _NAMED.items() for play in plays]
    return _table("manual", "named in the text of the manual; its own table is lost", "names only", rows)


def read_published_tables(folder: Path) -> list[PublishedTable]:
    """The tables of the reference data: eXtreme Gammon's book, then those of older programs.

    Args:
        folder: of the reference data.

    Raises:
        InputError: unreadable or malformed files.
    """
    benchmarks = folder / "benchmarks"
    return [_xg_book(benchmarks / TABLE), *_older(benchmarks / TABLES)]


def _xg_book(path: Path) -> PublishedTable:
    def read(row: Mapping[str, str]) -> _Row:
        length = int(row["length"])
        score = f"{length}-point match at {'-'.join(str(n) for n in json.loads(row['score']))}" if length else None
        return row["roll"], row["move"], float(row["equity_norm"]), score

    rows = read_table(path, "an opening play", read)
    return _table("xg-book", "eXtreme Gammon 2's opening book", "money equity with the cube", rows)


def _older(path: Path) -> list[PublishedTable]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError("benchmark file", path, f"a readable JSON file ({error})") from error
    with refusing("benchmark file", path, "published opening plays"):
        return [
            _table(
                name,
                str(table["source"]),
                str(table["units"]),
                [
                    (roll, str(play), float(value), None)
                    for roll, plays in table["rows"].items()
                    for play, value in plays
                    if value is not None
                ],
            )
            for name, table in json.loads(text).items()
        ]


def _table(name: str, source: str, units: str, rows: Iterable[_Row]) -> PublishedTable:
    rolls: dict[str, list[PublishedPlay]] = {}
    for roll, text, equity, score in rows:
        dice = int(roll[0]), int(roll[1])
        after = parse_play(text, START, dice, INTERNATIONAL)
        play = PublishedPlay(
            format_play(START, after, dice, INTERNATIONAL), format_position_id(flip(after)), equity, score
        )
        rolls.setdefault(f"{max(dice)}{min(dice)}", []).append(play)
    for plays in rolls.values():
        plays.sort(key=lambda play: -(play.equity or 0.0))
    return PublishedTable(name, source, units, {roll: tuple(rolls[roll]) for roll in sorted(rolls)})
