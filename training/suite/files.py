"""Reading files of positions with known answers; a malformed line is named by its number."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from engine.errors import InputError

ENDINGS = (".gz", ".jsonl", ".json", ".tsv", ".txt")

T = TypeVar("T")


def source_name(path: Path | str) -> str:
    """A file's name without its endings: what figures call it."""
    name = Path(path).name
    for ending in ENDINGS:
        name = name.removesuffix(ending)
    return name


def read_lines(path: Path, what: str, read: Callable[[str], T | None], limit: int | None = None) -> list[T]:
    """`read` on each line that isn't empty, of a plain or packed text file, until it has given `limit` items; lines for
    which it gives None are passed over.

    Raises:
        InputError: an unreadable file, or a line that `read` refuses with a ValueError, KeyError, TypeError, IndexError
            or AttributeError; `what` says what was expected there.
    """
    found: list[T] = []
    for number, line in _numbered_lines(path):
        if limit is not None and len(found) >= limit:
            break
        with refusing(f"{path.name} line {number}", line.strip(), what):
            item = read(line)
        if item is not None:
            found.append(item)
    return found


def read_objects(
    path: Path, what: str, read: Callable[[dict[str, Any]], T | None], limit: int | None = None
) -> list[T]:
    """`read` on each JSON object of a file of JSON lines; raises as `read_lines`."""

    def from_line(line: str) -> T | None:
        record = json.loads(line)
        if not isinstance(record, dict):
            raise ValueError("not a JSON object")
        return read(record)

    return read_lines(path, what, from_line, limit)


def read_table(path: Path, what: str, read: Callable[[dict[str, str]], T]) -> list[T]:
    """`read` on each row of a tab-separated file whose first line names the columns; raises as `read_lines`."""
    numbered = list(_numbered_lines(path))
    rows = csv.DictReader((line for _, line in numbered), delimiter="\t")
    found: list[T] = []
    for (number, _), row in zip(numbered[1:], rows, strict=True):
        with refusing(f"{path.name} line {number}", " ".join(str(value) for value in row.values()), what):
            found.append(read(row))
    return found


@contextmanager
def refusing(field: str, value: object, what: str) -> Iterator[None]:
    """Turns the errors of reading into one that names the place."""
    try:
        yield
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise InputError(field, value, f"{what} ({error})") from error


def _numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    try:
        with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    yield number, line
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise InputError("benchmark file", path, f"a readable text file ({error})") from error
