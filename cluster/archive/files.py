"""Finding the files of an archive, and reading each once: a rotten one is named and skipped."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from cluster.archive.matches import Matches
from cluster.archive.work import MatchWork, ask
from cluster.records import read_file, record_files
from engine.errors import InputError, InternalError
from engine.records.record import MatchRecord

_DIGEST_BYTES = 16
_TURNS_THAT_TELL = 20
"""So many equal turns are no coincidence."""


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file that may hold a match."""

    path: Path
    shown: str
    """As reports name it: below the folder that was asked for, or as it was asked for."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file of which nothing is analysed."""

    file: str
    reason: str
    same_as: str | None = None
    """The file whose match it holds too, where that is the reason."""


def find_files(paths: Sequence[Path]) -> list[FoundFile]:
    """All files, those of folders too, hidden ones left out.

    Raises:
        InputError: a path that isn't there, or no file at all.
    """
    found: list[FoundFile] = []
    for path in paths:
        if not os.path.exists(path):
            raise InputError("path", path, "a file or folder")
        for file in record_files([path]):
            shown = file.relative_to(path).as_posix() if path.is_dir() else file.as_posix()
            found.append(FoundFile(file, printable(shown)))
    if not found:
        raise InputError("path", ", ".join(map(str, paths)), "files, or folders with files")
    return found


class Reader:
    """Reads files into work. The same match in several formats is taken once, from the file that comes first."""

    def __init__(self, matches: Matches) -> None:
        self._matches = matches
        self._seen: dict[bytes, str] = {}

    def read(self, files: Sequence[FoundFile]) -> Iterator[MatchWork | Skipped]:
        """One answer for each file."""
        for file in files:
            yield self._read(file)

    def _read(self, file: FoundFile) -> MatchWork | Skipped:
        try:
            record = read_file(file.path)
            if not record.games:
                return Skipped(file.shown, "no games")
            asked = ask(record, self._matches)
        except (InputError, InternalError) as error:  # of hundreds of files, none may stop the others
            return Skipped(file.shown, printable(str(error)))
        content = content_of(record)
        first = self._seen.setdefault(content, file.shown)
        if first is not file.shown:
            return Skipped(file.shown, f"the same match as {first}", same_as=first)
        return MatchWork(file.path, file.shown, content.hex(), record, asked)


def printable(text: str) -> str:
    """Fit to show and to write: file names and contents may hold anything."""
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)


def content_of(record: MatchRecord) -> bytes:
    """Names a match by its games, whatever format its file has; short ones by their players too."""
    players = record.players if record.turns < _TURNS_THAT_TELL else None
    return hashlib.blake2b(repr((players, record.plays_only())).encode(), digest_size=_DIGEST_BYTES).digest()
