"""Models of what `analyse` and `similar` answer."""

from __future__ import annotations

from cluster.schemas import Model


class PlayerLine(Model):
    """A player over the archive."""

    name: str
    matches: int
    decisions: int
    pr: float | None
    se: float | None
    errors: int
    blunders: int
    luck: float


class SkippedFile(Model):
    """A file of which nothing was analysed."""

    file: str
    reason: str
    same_as: str | None = None
    """The file whose match it holds too; null: it could not be read."""


class ValuesLine(Model):
    """Distinct positions that were valued at one level."""

    level: str
    asked: int
    from_cache: int
    computed: int


class AnalyseReport(Model):
    """What an analysis did. The results themselves are in the folder: `archive.json` and `matches/*.json`."""

    out: str | None
    policy: str
    level: int
    net: str
    books: tuple[str, ...]
    """Names of the opening books that were looked into."""
    from_book: bool
    """Whether plays that a book lists were judged by its values; else they stand beside the analysis only."""
    matches: int
    games: int
    decisions: int
    """That count in ratings."""
    levels: dict[str, int]
    """How many of them were judged at which level."""
    pr: float | None
    """Of all players."""
    se: float | None
    players: tuple[PlayerLine, ...]
    """Those with most decisions, at most a thousand."""
    more_players: int
    """How many are left out above; `archive.json` has all."""
    unreadable: int
    """Files of which nothing could be read."""
    copies: int
    """Files with a match that another file holds too."""
    skipped: tuple[SkippedFile, ...]
    """Both, at most a thousand."""
    values: tuple[ValuesLine, ...]
    job: str
    """Id of its record."""
    seconds: float


class SimilarPosition(Model):
    """A position of an archive that is like the one asked about."""

    percent: int
    occurrences: int
    """How often the archive has exactly this position."""
    xgid: str
    type: str
    file: str
    date: str | None = None
    player: str
    opponent: str
    game: int
    turn: int
    done: str | None = None
    best: str | None = None
    loss: float | None = None
    level: str | None = None


class SimilarReport(Model):
    """The positions most like one, best first."""

    xgid: str
    type: str
    searched: int
    """Distinct positions."""
    similar: tuple[SimilarPosition, ...]
    milliseconds: float
    """Of the search alone."""
