"""Decisions as rows of a table: the columns that CSV and Parquet share, and writing CSV."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from typing import IO, Any

import numpy as np

from cluster.archive.results import DecisionResult, MatchAnalysis
from engine.xgid import parse_xgid

COLUMNS: tuple[tuple[str, type], ...] = (
    ("file", str),
    ("players", str),
    ("date", str),
    ("length", int),
    ("player", str),
    ("opponent", str),
    ("game", int),
    ("turn", int),
    ("kind", str),
    ("xgid", str),
    ("type", str),
    ("dice", str),
    ("done", str),
    ("best", str),
    ("loss", float),
    ("grade", str),
    ("level", str),
    ("cube_error", str),
    ("counts", bool),
    ("legal", bool),
    ("equity", float),
    ("best_equity", float),
    ("luck", float),
    ("luck_grade", str),
    ("sentence", str),
    ("comment", str),
)
"""Names and types; every cell but those of `file`, `game`, `turn`, `kind`, `xgid`, `type`, `counts` may be empty."""
BOARD_COLUMN = "board"
"""int8[26] in the view of the player to decide; Parquet only."""


def rows_of(analysis: MatchAnalysis) -> Iterator[dict[str, Any]]:
    """One row for each decision."""
    for one in analysis.decisions:
        equity, best = _equities(one)
        yield {
            "file": analysis.file,
            "players": " - ".join(analysis.players),
            "date": analysis.date or None,
            "length": analysis.length,
            "player": analysis.players[one.player - 1],
            "opponent": analysis.players[2 - one.player],
            "game": one.game,
            "turn": one.turn,
            "kind": one.kind.value,
            "xgid": one.xgid,
            "type": one.type.value,
            "dice": None if one.dice is None else f"{one.dice[0]}{one.dice[1]}",
            "done": one.done,
            "best": one.best,
            "loss": one.loss,
            "grade": None if one.grade is None else one.grade.value,
            "level": one.level,
            "cube_error": None if one.error is None else one.error.value,
            "counts": one.counts,
            "legal": one.legal,
            "equity": equity,
            "best_equity": best,
            "luck": one.luck,
            "luck_grade": None if one.luck_grade is None else one.luck_grade.value,
            "sentence": one.sentence or None,
            "comment": one.comment or None,
        }


def board_of(row: dict[str, Any]) -> bytes:
    """The board of a row."""
    return np.asarray(parse_xgid(str(row["xgid"])).board, dtype=np.int8).tobytes()


class CsvTable:
    """Writes decisions to a CSV file (UTF-8, comma, decimal point)."""

    def __init__(self, file: IO[str]) -> None:
        self._writer = csv.DictWriter(file, [name for name, _ in COLUMNS], lineterminator="\n")
        self._writer.writeheader()

    def add(self, rows: list[dict[str, Any]]) -> None:
        """Some rows; what is unknown stays empty."""
        self._writer.writerows({name: _cell(value) for name, value in row.items()} for row in rows)


def _cell(value: object) -> object:
    if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t"):
        return "'" + value  # a name or comment of somebody else's must not become a formula in a spreadsheet
    return value


def _equities(one: DecisionResult) -> tuple[float | None, float | None]:
    """(of what was done, of the best), where plays were compared."""
    if not one.candidates or one.loss is None:
        return None, one.candidates[0].equity if one.candidates else None
    best = one.candidates[0].equity
    return round(best - one.loss, 6), best
