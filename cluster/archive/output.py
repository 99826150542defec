"""The folder of an analysis: pages and JSON of every match as it is finished, tables and the archive's page at the end.

index.html, archive.json           the archive
matches.html                       all its matches, where the first page has room for the latest only
matches/NAME.html, NAME.json       each match
decisions.csv, decisions.parquet   a row for each decision
blunders.apkg                      flash cards for Anki
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from cluster.archive.analysis import AnalysedMatch
from cluster.archive.books import BookUsed
from cluster.archive.reports.anki import Cards
from cluster.archive.reports.archive_page import MATCHES_LISTED, archive_page, matches_page
from cluster.archive.reports.decision_table import CsvTable, rows_of
from cluster.archive.reports.match_page import match_page
from cluster.archive.reports.parquet import ParquetTable
from cluster.archive.results import MatchAnalysis, to_json
from cluster.archive.summary import ArchiveSummary, Summary
from engine.analysis.language import Language
from engine.errors import InfrastructureError, InputError
from engine.whole_file import replacing

PAGE, EVERY_MATCH, DOCUMENT = "index.html", "matches.html", "archive.json"
MATCHES = "matches"
CSV, PARQUET, CARDS = "decisions.csv", "decisions.parquet", "blunders.apkg"
_NAME_LETTERS = 60


class Output:
    """Writes an analysis into a folder."""

    def __init__(
        self, folder: Path, summary: Summary, language: Language, tables: tuple[CsvTable, ParquetTable]
    ) -> None:
        self._folder = folder
        self._summary = summary
        self._language = language
        self._tables = tables
        self._cards = Cards(language)

    def add(self, match: AnalysedMatch) -> None:
        """Take in a match and write its page and document."""
        analysis = match.analysis
        name = report_name(analysis)
        self._summary.add(match, f"{MATCHES}/{name}")
        rows = list(rows_of(analysis))
        for table in self._tables:
            table.add(rows)
        self._cards.add(analysis)
        folder = self._folder / MATCHES
        write_whole(folder / f"{name}.json", to_json(analysis))
        write_whole(folder / f"{name}.html", match_page(analysis, self._language, f"../{PAGE}").encode())

    def finish(self, books: tuple[BookUsed, ...] = ()) -> ArchiveSummary:
        """Write what is about the whole archive."""
        found = self._summary.finish(books)
        with replacing(self._folder / CARDS) as partial:
            self._cards.write(partial)
        with replacing(self._folder / DOCUMENT) as partial, partial.open("wb") as file:
            file.writelines(archive_document(found))
        every = self._folder / EVERY_MATCH
        every.unlink(missing_ok=True)  # of an earlier, larger archive
        if found.register.matches > MATCHES_LISTED:
            with replacing(every) as partial, partial.open("w", encoding="utf-8") as page:
                page.writelines(matches_page(found, self._language, PAGE))
        write_whole(self._folder / PAGE, archive_page(found, self._language, EVERY_MATCH).encode())
        return found


def archive_document(summary: ArchiveSummary) -> Iterator[bytes]:
    """`archive.json`, piece by piece: the facts, then all players, matches and files left out."""
    register = summary.register
    yield to_json(summary.facts).rstrip()[:-1]
    for name, rows in (
        ("players", summary.players()),
        ("matches", register.every_match()),
        ("skipped", register.every_skipped()),
    ):
        yield f',"{name}":['.encode()
        for number, row in enumerate(rows):
            yield (b"," if number else b"") + to_json(row).rstrip()
        yield b"]"
    yield b"}\n"


@contextmanager
def open_output(folder: Path, summary: Summary, language: Language) -> Iterator[Output]:
    """A folder to write into; tables of an earlier run are replaced once all is done.

    Raises:
        InputError: it is no folder, or can't be written to.
        InfrastructureError: the disk is full or away.
    """
    try:
        (folder / MATCHES).mkdir(parents=True, exist_ok=True)
        with ExitStack() as stack:
            csv = stack.enter_context(replacing(folder / CSV))
            file = stack.enter_context(csv.open("w", encoding="utf-8", newline=""))
            parquet = ParquetTable(stack.enter_context(replacing(folder / PARQUET)))
            stack.callback(parquet.close)
            yield Output(folder, summary, language, (CsvTable(file), parquet))
    except (FileExistsError, NotADirectoryError, PermissionError) as error:
        raise InputError("out", folder, f"a folder that can be written to ({error.strerror})") from None
    except OSError as error:
        raise InfrastructureError(f"{folder}: {error.strerror or error}") from None


def report_name(analysis: MatchAnalysis) -> str:
    """Of a match's files: its own file's name as far as every system takes it, and the digest of its content."""
    stem = Path(analysis.file).stem
    plain = unicodedata.normalize("NFKD", stem).encode("ascii", "ignore").decode()
    return f"{re.sub(r'[^A-Za-z0-9._-]+', '-', plain)[:_NAME_LETTERS].strip('-.') or 'match'}-{analysis.digest[:8]}"


def write_whole(path: Path, content: bytes) -> None:
    """Write a whole file or nothing."""
    with replacing(path) as partial:
        partial.write_bytes(content)
