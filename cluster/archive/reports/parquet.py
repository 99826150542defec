"""Decisions as a Parquet file, written match by match and read by columns. The only module that imports pyarrow."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from cluster.archive.reports.decision_table import BOARD_COLUMN, COLUMNS, board_of
from engine.board import PLACES
from engine.errors import InputError

_TYPES = {str: pa.string(), int: pa.int32(), float: pa.float64(), bool: pa.bool_()}
_SCHEMA = pa.schema([*((name, _TYPES[kind]) for name, kind in COLUMNS), (BOARD_COLUMN, pa.binary(PLACES))])
_ROWS_A_GROUP = 20_000


class ParquetTable:
    """Writes decisions; complete only once closed."""

    def __init__(self, path: Path) -> None:
        self._writer = pq.ParquetWriter(path, _SCHEMA, compression="zstd")
        self._waiting: list[dict[str, Any]] = []

    def add(self, rows: list[dict[str, Any]]) -> None:
        """Some rows."""
        self._waiting += [{**row, BOARD_COLUMN: board_of(row)} for row in rows]
        if len(self._waiting) >= _ROWS_A_GROUP:
            self._flush()

    def close(self) -> None:
        """Write the rest and the footer."""
        self._flush()
        self._writer.close()

    def _flush(self) -> None:
        if self._waiting:
            self._writer.write_table(pa.Table.from_pylist(self._waiting, schema=_SCHEMA))
            self._waiting = []


def read_boards(path: Path) -> NDArray[np.int8]:
    """The boards int8[N, 26] of all rows.

    Raises:
        InputError: no table of ours.
    """
    column = _open(path).read(columns=[BOARD_COLUMN]).column(BOARD_COLUMN).combine_chunks()
    content = column.buffers()[1].to_pybytes() if len(column) else b""
    offset = column.offset * PLACES
    return np.frombuffer(content[offset : offset + len(column) * PLACES], dtype=np.int8).reshape(-1, PLACES)


def read_rows(path: Path, numbers: Sequence[int]) -> list[dict[str, Any]]:
    """Some rows, in the order asked for.

    Raises:
        InputError: no table of ours.
    """
    file = _open(path)
    names = [name for name, _ in COLUMNS]
    starts = np.cumsum([0, *(file.metadata.row_group(i).num_rows for i in range(file.num_row_groups))])
    groups = (np.searchsorted(starts, numbers, side="right") - 1).tolist()
    tables = {group: file.read_row_group(group, columns=names) for group in set(groups)}
    return [
        tables[group].slice(number - int(starts[group]), 1).to_pylist()[0]
        for number, group in zip(numbers, groups, strict=True)
    ]


def _open(path: Path) -> Any:
    try:
        file = pq.ParquetFile(path)
    except (OSError, pa.ArrowException) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError("archive", path, f"a table of decisions that analyse wrote ({reason})") from error
    if file.schema_arrow != _SCHEMA:
        raise InputError("archive", path, "a table of decisions that this version of analyse wrote")
    return file
