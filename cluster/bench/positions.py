"""The positions that searches and rollouts are measured on.

A file of JSON lines with an `xgid` each (and perhaps an `id`), or of plain XGIDs, one a line, `#` before comments. All
of them have dice. Searches take every position; rollouts take one, the **problem**: the one with id 113 where there is
one, else the first.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from engine.errors import InputError
from engine.ids import parse_position
from engine.moves import legal_plays
from engine.position import Position
from engine.rules import INTERNATIONAL

DATA_VARIABLE = "GAMMONFARM_DATA"
SPEED_FILE = Path("benchmarks") / "speed_positions.jsonl"
OWN_SET = "own set"
PROBLEM_ID = 113


@dataclass(frozen=True, slots=True)
class BenchPositions:
    """A set of positions with dice, and which of them is rolled out."""

    source: str
    """File name, or `own set`."""
    positions: tuple[Position, ...]
    problem: int


def load_positions(path: Path | None) -> BenchPositions:
    """From a file; without one the speed positions below `GAMMONFARM_DATA` if they are there, else the own set.

    Raises:
        InputError: an unreadable file, no position, a line that is no position with dice, a problem without a choice.
    """
    if path is None:
        folder = os.environ.get(DATA_VARIABLE)
        usual = Path(folder) / SPEED_FILE if folder else None
        if usual is None or not usual.is_file():
            text = (resources.files("configs") / "bench" / "positions.txt").read_text(encoding="utf-8")
            return read_positions(OWN_SET, text)
        path = usual
    try:
        return read_positions(path.name, path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError("positions", path, f"a readable text file ({error})") from error


def read_positions(source: str, text: str) -> BenchPositions:
    """See `load_positions`."""
    found = list(_lines(source, text))
    if not found:
        raise InputError("positions", source, "at least one position")
    problem = next((i for i, (name, _) in enumerate(found) if name == PROBLEM_ID), 0)
    position = found[problem][1]
    assert position.dice is not None
    if len(legal_plays(position.board, position.dice, INTERNATIONAL)) < 2:
        raise InputError("positions", source, "a first position (or one with id 113) with at least two legal plays")
    return BenchPositions(source, tuple(position for _, position in found), problem)


def _lines(source: str, text: str) -> Iterator[tuple[object, Position]]:
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        name: object = None
        try:
            if stripped.startswith("{"):
                record: dict[str, Any] = json.loads(stripped)
                name, stripped = record.get("id"), str(record["xgid"])
            position = parse_position(stripped)
        except (KeyError, ValueError) as error:
            raise InputError(f"{source} line {number}", stripped, f"an XGID ({error})") from error
        if position.dice is None:
            raise InputError(f"{source} line {number}", stripped, "a position with dice")
        yield name, position
