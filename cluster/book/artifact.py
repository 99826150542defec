"""A book's file: one SQLite database that anyone can read, check and merge.

Table `meta` holds the book's name, identity and last recipe; `entry` the rolls in positions with their questions and
verdicts; `play` their plays with the exact sums that all numbers follow from (see `cluster.book.entry.packed`). Every
entry is written in one transaction, so a killed build leaves whole entries.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from urllib.parse import quote

from pydantic import ValidationError

from cluster.book.entry import Entry, PlayFacts, Spot, packed, unpacked
from cluster.book.recipe import BookRecipe
from cluster.book.schemas import FORMAT, BookIdentity, BookInfo, BookPlay, EntryQuestion, Standing, Verdict
from cluster.book.stakes import Seat, Stakes, stakes_of
from cluster.schemas import Probabilities
from engine.errors import InfrastructureError, InputError
from engine.outcome import NAMES

_SCHEMA = f"""
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE entry (
    position TEXT NOT NULL, roll TEXT NOT NULL, seat INTEGER NOT NULL,
    depth INTEGER NOT NULL, path TEXT NOT NULL, reach REAL NOT NULL,
    verdict TEXT NOT NULL, trials INTEGER NOT NULL, question TEXT NOT NULL,
    PRIMARY KEY (position, roll, seat)
);
CREATE TABLE play (
    position TEXT NOT NULL, roll TEXT NOT NULL, seat INTEGER NOT NULL, rank INTEGER NOT NULL,
    play TEXT NOT NULL, after TEXT NOT NULL,
    standing TEXT NOT NULL, equity REAL NOT NULL, se REAL NOT NULL,
    difference REAL NOT NULL, difference_se REAL NOT NULL,
    search_equity REAL NOT NULL, search_level INTEGER NOT NULL,
    simulation_equity REAL NOT NULL, simulation_se REAL NOT NULL,
    simulation_difference REAL NOT NULL, simulation_difference_se REAL NOT NULL,
    {", ".join(f"{name} REAL NOT NULL, {name}_se REAL NOT NULL" for name in NAMES)},
    trials INTEGER NOT NULL, rows_digest TEXT NOT NULL, sums TEXT NOT NULL,
    PRIMARY KEY (position, roll, seat, rank)
);
"""
_NUMBERS = (
    *("equity", "se", "difference", "difference_se", "search_equity", "search_level", "simulation_equity"),
    *("simulation_se", "simulation_difference", "simulation_difference_se"),
)
_COLUMNS = (
    *("position", "roll", "seat", "rank", "play", "after", "standing"),
    *_NUMBERS,
    *(column for name in NAMES for column in (name, f"{name}_se")),
    *("trials", "rows_digest", "sums"),
)
_KEY = "position = ? AND roll = ? AND seat = ?"
_BUSY_S = 30.0
_IN_MEMORY = ":memory:"


class Book:
    """An open book. Make one with `create_book` or `open_book`; use it as a context."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection
        connection.row_factory = sqlite3.Row
        meta = {row["key"]: row["value"] for row in self._query("SELECT key, value FROM meta")}
        if meta.get("format") != str(FORMAT):
            raise InputError("book", path, f"a book of format {FORMAT}, not {meta.get('format')}")
        try:
            self.identity = BookIdentity.model_validate_json(meta["identity"])
            self.name = meta["name"]
        except (KeyError, ValidationError) as error:
            raise InputError("book", path, "a gammonfarm book (its identity can't be read)") from error
        self.stakes: Stakes = stakes_of(self.identity)

    def __enter__(self) -> Book:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Release the file."""
        self._connection.close()

    def remember(self, recipe: BookRecipe) -> None:
        """Keep the recipe that the book is built by, and its name."""
        with self._connection:
            self._connection.execute("INSERT OR REPLACE INTO meta VALUES ('recipe', ?)", (recipe.model_dump_json(),))
            self._connection.execute("INSERT OR REPLACE INTO meta VALUES ('name', ?)", (recipe.name,))
        self.name = recipe.name

    def put(self, entry: Entry) -> None:
        """Write an entry, new or in the place of an older one, in one transaction.

        Raises:
            InfrastructureError: the disk is full, or another process keeps the file locked.
        """
        spot = entry.spot
        try:
            with self._connection:
                self._connection.execute(f"DELETE FROM play WHERE {_KEY}", _key(spot))
                self._connection.execute(
                    "INSERT OR REPLACE INTO entry VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    (
                        *(*_key(spot), spot.depth, spot.path, spot.reach),
                        *(entry.verdict.value, entry.trials, entry.question.model_dump_json()),
                    ),
                )
                marks = ", ".join("?" * len(_COLUMNS))
                self._connection.executemany(
                    f"INSERT INTO play ({', '.join(_COLUMNS)}) VALUES ({marks})",
                    [
                        _play_row(spot, rank, play, facts)
                        for rank, (play, facts) in enumerate(zip(entry.plays, entry.facts, strict=True))
                    ],
                )
        except sqlite3.OperationalError as error:
            raise InfrastructureError(f"book {self.path} can't be written: {error}") from error

    def move(self, spot: Spot) -> None:
        """Say anew how an entry that is there comes about."""
        with self._connection:
            self._connection.execute(
                f"UPDATE entry SET depth = ?, path = ?, reach = ? WHERE {_KEY}",
                (spot.depth, spot.path, spot.reach, *_key(spot)),
            )

    def entry(self, position: str, dice: tuple[int, int], seat: Seat) -> Entry | None:
        """The entry of a roll in a position (GNU position ID)."""
        found = list(self._entries(f"WHERE {_KEY}", (position, f"{dice[0]}{dice[1]}", seat.value)))
        return found[0] if found else None

    def entries_at(self, position: str, seat: Seat) -> list[Entry]:
        """The entries of a position, by roll."""
        return list(self._entries("WHERE position = ? AND seat = ? ORDER BY roll", (position, seat.value)))

    def entries(self, depth: int | None = None) -> Iterator[Entry]:
        """All entries, or those of a depth; by depth, greatest reach first."""
        if depth is None:
            return self._entries("ORDER BY depth, reach DESC, path", ())
        return self._entries("WHERE depth = ? ORDER BY reach DESC, path", (depth,))

    @property
    def trials(self) -> int:
        """Over all entries."""
        return int(self._query("SELECT COALESCE(SUM(trials), 0) AS n FROM entry")[0]["n"])

    def digest(self) -> str:
        """Of the content of all entries, however they were computed and merged."""
        whole = hashlib.sha256(self.identity.model_dump_json().encode())
        for entry in self._entries("ORDER BY position, roll, seat", ()):
            whole.update(entry.content().encode())
        return whole.hexdigest()[:32]

    def file_bytes(self) -> bytes:
        """What its file holds."""
        return self._connection.serialize()

    def info(self) -> BookInfo:
        """Which book, and how large it is."""
        rows = self._query("SELECT depth, verdict, COUNT(*) AS n, SUM(trials) AS t FROM entry GROUP BY depth, verdict")
        depths = [0] * max((row["depth"] for row in rows), default=0)
        verdicts = {verdict.value: 0 for verdict in Verdict}
        for row in rows:
            depths[row["depth"] - 1] += row["n"]
            verdicts[row["verdict"]] += row["n"]
        return BookInfo(
            name=self.name,
            file=str(self.path),
            identity=self.identity,
            entries=tuple(depths),
            verdicts=verdicts,
            trials=sum(row["t"] for row in rows),
        )

    def _entries(self, where: str, values: Iterable[object]) -> Iterator[Entry]:
        for row in self._query(f"SELECT * FROM entry {where}", values):
            key = (row["position"], row["roll"], row["seat"])
            plays = self._query(f"SELECT * FROM play WHERE {_KEY} ORDER BY rank", key)
            dice = (int(row["roll"][0]), int(row["roll"][1]))
            yield Entry(
                spot=Spot(row["position"], dice, row["depth"], row["path"], row["reach"], Seat(row["seat"])),
                question=EntryQuestion.model_validate_json(row["question"]),
                verdict=Verdict(row["verdict"]),
                facts=tuple(_facts(play) for play in plays),
                plays=tuple(_play(play) for play in plays),
            )

    def _query(self, text: str, values: Iterable[object] = ()) -> list[sqlite3.Row]:
        try:
            return self._connection.execute(text, tuple(values)).fetchall()
        except sqlite3.DatabaseError as error:
            raise InputError("book", self.path, f"a gammonfarm book ({error})") from error


def create_book(path: Path, identity: BookIdentity, name: str) -> Book:
    """A new, empty book.

    Raises:
        InputError: a file is there already, or none can be made.
    """
    if path.exists():
        raise InputError("book", path, "a name that is free")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(path, timeout=_BUSY_S)
        _lay_out(connection, identity, name)
    except (OSError, sqlite3.Error) as error:
        raise InputError("book", path, f"a file that can be written ({error})") from error
    return Book(path, connection)


def memory_book(identity: BookIdentity, name: str) -> Book:
    """A new, empty book without a file; `Book.file_bytes` is what its file would hold."""
    connection = sqlite3.connect(_IN_MEMORY)
    _lay_out(connection, identity, name)
    return Book(Path(_IN_MEMORY), connection)


def _lay_out(connection: sqlite3.Connection, identity: BookIdentity, name: str) -> None:
    meta = {"format": str(FORMAT), "identity": identity.model_dump_json(), "name": name}
    rows = "".join(f"INSERT INTO meta VALUES ('{key}', {_quoted(value)});" for key, value in meta.items())
    # All in one transaction: a kill leaves a whole empty book, or an empty file that `open_or_create` takes.
    connection.executescript(f"BEGIN; {_SCHEMA} {rows} COMMIT;")


def open_or_create(path: Path, identity: BookIdentity, name: str) -> Book:
    """The book at `path`, new if there is none, to be written.

    Raises:
        InputError: a book of another identity, or a file that is no book.
    """
    if path.exists() and path.stat().st_size == 0:
        path.unlink()
    if not path.exists():
        return create_book(path, identity, name)
    book = open_book(path, writable=True)
    check_same_identity(book, identity)
    return book


def open_book(path: Path, *, writable: bool = False) -> Book:
    """An existing book.

    Raises:
        InputError: no such file, or one that is no book.
    """
    if not path.is_file():
        raise InputError("book", path, "a book's file")
    mode = "rw" if writable else "ro"
    try:
        connection = sqlite3.connect(f"file:{quote(str(path.absolute()))}?mode={mode}", uri=True, timeout=_BUSY_S)
    except sqlite3.Error as error:
        raise InputError("book", path, f"a gammonfarm book ({error})") from error
    try:
        return Book(path, connection)
    except BaseException:
        connection.close()
        raise


def check_same_identity(book: Book, identity: BookIdentity) -> None:
    """
    Raises:
        InputError: the book is about something else; names the first field.
    """
    for field in type(identity).model_fields:
        has, wanted = getattr(book.identity, field), getattr(identity, field)
        if has != wanted:
            raise InputError("book", book.path, f"a book with {field} {_short(wanted)}, not {_short(has)}")


def _short(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _key(spot: Spot) -> tuple[str, str, int]:
    """For `_KEY`."""
    return spot.position, spot.roll, spot.seat.value


def _play_row(spot: Spot, rank: int, play: BookPlay, facts: PlayFacts) -> tuple[object, ...]:
    chances = zip(play.probabilities.values(), play.probabilities_se.values(), strict=True)
    return (
        *(*_key(spot), rank, play.play, play.after, play.standing.value),
        *(getattr(play, name) for name in _NUMBERS),
        *(number for pair in chances for number in pair),
        *(play.trials, facts.rows, packed(facts)),
    )


def _play(row: sqlite3.Row) -> BookPlay:
    return BookPlay(
        play=row["play"],
        after=row["after"],
        standing=Standing(row["standing"]),
        probabilities=Probabilities.of([row[name] for name in NAMES]),
        probabilities_se=Probabilities.of([row[f"{name}_se"] for name in NAMES]),
        trials=row["trials"],
        **{name: row[name] for name in _NUMBERS},
    )


def _facts(row: sqlite3.Row) -> PlayFacts:
    tally, pair = unpacked(row["sums"])
    return PlayFacts(
        play=row["play"],
        after=row["after"],
        search_equity=row["search_equity"],
        search_level=row["search_level"],
        tally=tally,
        pair=pair,
        rows=row["rows_digest"],
    )
