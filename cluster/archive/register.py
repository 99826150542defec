"""What is kept of the matches of an archive until its reports are written: in a private database on disk, which ends
with the process, so that memory doesn't grow with the archive.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from types import TracebackType

from pydantic import TypeAdapter

from cluster.archive.files import Skipped
from cluster.archive.openings import OpeningDecision
from cluster.archive.results import GroupFigures, to_json
from engine.analysis.rating import PlayerTally
from engine.errors import InfrastructureError

_SCHEMA = """
CREATE TABLE match (number INTEGER PRIMARY KEY, date TEXT NOT NULL, content BLOB NOT NULL);
CREATE TABLE seat (
    player TEXT NOT NULL, date TEXT NOT NULL, number INTEGER NOT NULL, seat INTEGER NOT NULL,
    decisions INTEGER NOT NULL, content BLOB NOT NULL
);
CREATE INDEX by_player ON seat (player, date, number, seat, decisions);
CREATE TABLE skipped (number INTEGER PRIMARY KEY, content BLOB NOT NULL);
"""
# Dates of the form 2024-05-01 sort as text; matches without one come first, in the order of their files.
_IN_ORDER = "ORDER BY date, number"


@dataclass(frozen=True, slots=True)
class MatchRow:
    """One match in the list of an archive."""

    file: str
    report: str
    """Its pages, without the ending: `.html` and `.json` below the report's folder."""
    players: tuple[str, str]
    length: int
    rules: str
    date: str
    event: str
    final_score: tuple[int, int]
    winner: int | None
    games: int
    figures: tuple[GroupFigures | None, GroupFigures | None]
    luck: tuple[float, float]
    luck_adjusted: float | None
    illegal_plays: int
    notes: int


@dataclass(frozen=True, slots=True)
class SeatRow:
    """One player in one match."""

    name: str
    file: str
    date: str
    opponent: str
    money: bool
    games: int
    won: bool | None
    """None: not finished, or money."""
    points: int
    """Won less lost, of the games that are decided."""
    adjusted: float | None
    """The result without luck, in his view: chance to have won the match, or points in money play."""
    tally: PlayerTally
    openings: tuple[OpeningDecision, ...]


_MATCH, _SEAT, _SKIPPED = TypeAdapter(MatchRow), TypeAdapter(SeatRow), TypeAdapter(Skipped)


class Register:
    """Rows of matches, players and files left out. A context."""

    def __init__(self) -> None:
        # No name: a database of this connection alone, in memory as far as its cache goes and else on disk.
        self._connection = sqlite3.connect("", isolation_level=None)
        self._connection.executescript(f"PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; {_SCHEMA}")
        self.matches = 0
        """How many there are."""
        self.skipped = 0
        """How many files were left out, ..."""
        self.copies = 0
        """... and how many of them because they hold a match of another file."""

    def __enter__(self) -> Register:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()

    def add(self, row: MatchRow, seats: tuple[SeatRow, SeatRow]) -> None:
        """Keep a match and its players.

        Raises:
            InfrastructureError: the disk for temporary files is full.
        """
        number = self.matches = self.matches + 1
        self._write("INSERT INTO match VALUES (?, ?, ?)", (number, row.date, to_json(row)))
        for seat, one in enumerate(seats):
            values = (one.name.casefold(), one.date, number, seat, one.tally.all.decisions, to_json(one))
            self._write("INSERT INTO seat VALUES (?, ?, ?, ?, ?, ?)", values)

    def skip(self, skipped: Skipped) -> None:
        """Keep a file of which nothing is analysed."""
        self.skipped += 1
        self.copies += skipped.same_as is not None
        self._write("INSERT INTO skipped VALUES (?, ?)", (self.skipped, to_json(skipped)))

    @property
    def players(self) -> int:
        """How many different names there are, whatever the case."""
        return int(self._connection.execute("SELECT COUNT(DISTINCT player) FROM seat").fetchone()[0])

    def every_match(self) -> Iterator[MatchRow]:
        """In the order in which they came."""
        for (content,) in self._connection.execute("SELECT content FROM match ORDER BY number"):
            yield _MATCH.validate_json(content)

    def latest_matches(self, most: int) -> list[MatchRow]:
        """The newest, newest first."""
        wanted = "SELECT content FROM match ORDER BY date DESC, number DESC LIMIT ?"
        return [_MATCH.validate_json(content) for (content,) in self._connection.execute(wanted, (most,))]

    def every_skipped(self) -> Iterator[Skipped]:
        """In the order in which they came."""
        for (content,) in self._connection.execute("SELECT content FROM skipped ORDER BY number"):
            yield _SKIPPED.validate_json(content)

    def player_keys(self) -> Iterator[tuple[str, int]]:
        """(key, matches) of every player, those with most decisions first."""
        yield from self._connection.execute(
            "SELECT player, COUNT(*) FROM seat GROUP BY player ORDER BY SUM(decisions) DESC, player"
        )

    def seats(self, key: str) -> Iterator[SeatRow]:
        """The matches of a player, the oldest first."""
        for (content,) in self._connection.execute(f"SELECT content FROM seat WHERE player = ? {_IN_ORDER}", (key,)):
            yield _SEAT.validate_json(content)

    def _write(self, text: str, values: tuple[object, ...]) -> None:
        try:
            self._connection.execute(text, values)
        except sqlite3.OperationalError as error:
            raise InfrastructureError(f"the rows of the archive can't be kept on disk ({error})") from error
