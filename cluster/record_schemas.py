"""Models of what `import`, `export` and `convert FILE` answer."""

from __future__ import annotations

from cluster.schemas import Model


class NoteReport(Model):
    """Something that a reader has to say."""

    problem: str
    """illegal play, illegal cube action, cut, unfinished, score or ignored."""
    reason: str
    game: int | None = None
    turn: int | None = None


class GameSummary(Model):
    """One game of a record."""

    number: int
    score: tuple[int, int]
    """Before it."""
    turns: int
    winner: int | None = None
    """1 or 2, as the record names the players; None: not known."""
    points: int | None = None
    ending: str | None = None
    """played, passed, resigned, time or forfeit."""


class RecordReport(Model):
    """One file: what was read, or why it could not be."""

    path: str
    error: str | None = None
    """Why nothing could be read or written; the fields below are then empty."""
    format: str = ""
    program: str = ""
    players: tuple[str, str] = ("", "")
    length: int = 0
    """0 = money."""
    rules: str = ""
    games: tuple[GameSummary, ...] = ()
    turns: int = 0
    positions: int = 0
    """Games that are single positions."""
    illegal_plays: int = 0
    final_score: tuple[int, int] = (0, 0)
    notes: tuple[NoteReport, ...] = ()
    written: str | None = None
    """The file that was written."""


class ImportReport(Model):
    """The JSON document of `gammonfarm import` and `export`."""

    files: tuple[RecordReport, ...]
    read: int
    failed: int
    games: int
    illegal_plays: int
    cut_games: int


class RecordConversionReport(Model):
    """The JSON document of `gammonfarm convert FILE`."""

    record: RecordReport
    to: str
    text: str | None = None
    """What was made, where it was not written to a file."""
