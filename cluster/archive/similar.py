"""Positions of an archive that are like a given one: of a folder that `analyse` wrote, or of match files as they are.

The index of a folder is made when it is first asked for, kept beside the table, and made again when the table changes.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cluster.archive.files import find_files
from cluster.archive.output import PARQUET
from cluster.archive.reports.parquet import read_boards, read_rows
from cluster.archive.schemas import SimilarPosition, SimilarReport
from cluster.records import read_file
from engine.analysis.position_type import position_type
from engine.analysis.similarity_index import SimilarityIndex, load_index, save_index
from engine.board import PLACES
from engine.errors import InputError
from engine.position import Player, Position
from engine.records.record import Action
from engine.records.replay import decisions
from engine.xgid import format_xgid

INDEX = "positions.safetensors"
log = logging.getLogger(__name__)

_Rows = Callable[[Sequence[int]], list[dict[str, Any]]]


def find_similar(position: Position, archive: Path, most: int, least_percent: int) -> SimilarReport:
    """The positions most like one, best first; what is compared are boards with the player on roll.

    Raises:
        InputError: no archive there, or limits that can't be.
    """
    index, rows = _analysed(archive) if (archive / PARQUET).is_file() else _unanalysed(archive)
    started = time.perf_counter()
    found = index.nearest(position.board, most, least_percent)
    milliseconds = 1000 * (time.perf_counter() - started)
    told = rows([one.row for one in found])
    similar = tuple(
        SimilarPosition(
            percent=one.percent,
            occurrences=one.occurrences,
            **{name: row[name] for name in SimilarPosition.model_fields if name in row},
        )
        for one, row in zip(found, told, strict=True)
    )
    return SimilarReport(
        xgid=format_xgid(position),
        type=position_type(position.board).value,
        searched=len(index),
        similar=similar,
        milliseconds=milliseconds,
    )


def _analysed(folder: Path) -> tuple[SimilarityIndex, _Rows]:
    table, kept = folder / PARQUET, folder / INDEX
    index = None
    if kept.is_file() and kept.stat().st_mtime_ns >= table.stat().st_mtime_ns:
        try:
            index = load_index(kept)
        except InputError as error:
            log.warning("%s; it is made again", error)
    if index is None:
        index = SimilarityIndex.of(read_boards(table))
        try:
            save_index(index, kept)
        except OSError as error:
            log.warning("the index could not be kept: %s", error)
    return index, lambda numbers: read_rows(table, numbers)


def _unanalysed(path: Path) -> tuple[SimilarityIndex, _Rows]:
    """Match files without an analysis: what was done is known, what would have been best is not."""
    rows: list[dict[str, Any]] = []
    boards: list[np.ndarray[Any, np.dtype[np.int8]]] = []
    for file in find_files([path]):
        try:
            record = read_file(file.path)
        except InputError as error:
            log.warning("%s is left out: %s", file.shown, error)
            continue
        for one in decisions(record):
            if one.action is Action.ROLL:
                continue  # the play of the same turn follows
            seat = 0 if one.player is Player.X else 1
            boards.append(one.position.board)
            rows.append(
                {
                    "xgid": format_xgid(one.position),
                    "type": position_type(one.position.board).value,
                    "file": file.shown,
                    "date": record.about.date or None,
                    "player": record.players[seat],
                    "opponent": record.players[1 - seat],
                    "game": one.game,
                    "turn": one.turn,
                    "done": getattr(one.told, "play", None) or (None if one.action is None else one.action.value),
                }
            )
    if not boards:
        raise InputError("in", path, "a folder that analyse wrote, or files with match records")
    index = SimilarityIndex.of(np.stack(boards).reshape(-1, PLACES))
    return index, lambda numbers: [rows[number] for number in numbers]
