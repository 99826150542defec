"""The positions of an archive that are most like a given one, exactly, out of millions in milliseconds.

The difference of two positions (`engine.analysis.similarity`) is a sum of sizes |a - b| of numbers that each position
has by itself. Sums of neighbouring ones give numbers with |sum a - sum b| <= sum |a - b|, so a few small columns bound
every difference from below. A search takes the bounds of all positions, works out the difference where the bound is
least, and goes on only where a bound does not yet rule a position out. So it finds what comparing all would find.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from engine.analysis.position_type import position_types
from engine.analysis.similarity import (
    SAME,
    STEP_WEIGHTS,
    TYPE_WEIGHT,
    cumulative,
    differences_of_type,
    sides_of,
)
from engine.board import BAR, PLACES, Board
from engine.errors import InputError
from engine.whole_file import replacing

MOST_SIMILAR = 12
LEAST_PERCENT = 60
FORMAT = "gammonfarm-similarity-1"
"""Raised when the measure, the rules of types or the layout change."""

_BLOCKS = (0, 2, 5, 7, 10, 15, 19, BAR)
"""Edges of the blocks of places of which a column holds the sum; weights of a block add up to at most 17, so that with
fifteen checkers a sum fits a byte."""
_FIRST_LOOK = 512
_ROWS_AT_ONCE = 1 << 15


@dataclass(frozen=True, slots=True)
class Similar:
    """A position that was found."""

    row: int
    """Where it stood first among the boards that the index was made of."""
    occurrences: int
    """How often it stood there."""
    percent: int


@dataclass(frozen=True, slots=True, eq=False)
class SimilarityIndex:
    """Distinct positions, ready to be searched. Made by `of`, or read from a file by `load_index`."""

    boards: NDArray[np.int8]
    """[N, 26], in order of first occurrence, each in the view of its player on roll."""
    columns: NDArray[np.uint8]
    """[C, N]: sums over blocks, and in the last column the type."""
    first: NDArray[np.int64]
    """[N]: where each stood first among the boards given."""
    occurrences: NDArray[np.int64]
    """[N]."""

    @staticmethod
    def of(boards: NDArray[np.int8]) -> SimilarityIndex:
        """Of many boards, int8[M, 26], repeated ones too."""
        whole = np.ascontiguousarray(boards, dtype=np.int8).reshape(-1, PLACES)
        rows = whole.view(np.dtype((np.void, PLACES))).ravel()
        _, first, occurrences = np.unique(rows, return_index=True, return_counts=True)
        order = np.argsort(first, kind="stable")
        distinct = whole[first[order]]
        parts = [_columns(distinct[at : at + _ROWS_AT_ONCE]) for at in range(0, len(distinct), _ROWS_AT_ONCE)]
        columns = np.concatenate(parts, axis=1) if parts else _columns(distinct)
        return SimilarityIndex(distinct, columns, first[order].astype(np.int64), occurrences[order].astype(np.int64))

    def __len__(self) -> int:
        """Distinct positions."""
        return len(self.boards)

    def nearest(self, board: Board, most: int = MOST_SIMILAR, least_percent: int = LEAST_PERCENT) -> list[Similar]:
        """The positions most like a board (int8[26], its player on roll's view), the best first.

        At most `most`, none below `least_percent`; of equals the one that stood first. The position itself is found
        too, with 100 percent, if it is in the index.

        Raises:
            InputError: fewer than 1 position wanted, or a percentage outside 1 to 100.
        """
        if most < 1:
            raise InputError("number of similar positions", most, "at least 1")
        if not 1 <= least_percent <= SAME:
            raise InputError("similarity", least_percent, f"a percentage from 1 to {SAME}")
        query = _columns(np.asarray(board, dtype=np.int8)[None])[:, 0]
        bounds = self._bounds(query)
        limit = SAME - least_percent
        found: list[tuple[int, int]] = []
        rows = np.flatnonzero(bounds <= limit)
        rows = rows[np.argsort(bounds[rows], kind="stable")]
        size = _FIRST_LOOK
        while len(rows):
            at_once, rows = rows[:size], rows[size:]
            found += self._exact(board, query, at_once, limit)
            found = sorted(found)[:most]
            if len(found) == most:
                # Whoever is to come in must differ less, or as much and have stood earlier.
                limit = min(limit, found[-1][0])
                rows = rows[: np.searchsorted(bounds[rows], limit, side="right")]
            size = _ROWS_AT_ONCE
        return [
            Similar(int(self.first[row]), int(self.occurrences[row]), SAME - difference) for difference, row in found
        ]

    def _bounds(self, query: NDArray[np.uint8]) -> NDArray[np.uint16]:
        """uint16[N]: what each position differs at least."""
        total = (self.columns[-1] != query[-1]).astype(np.uint16) * np.uint16(TYPE_WEIGHT)
        for column, value in zip(self.columns[:-1], query[:-1], strict=True):
            total += np.maximum(column, value) - np.minimum(column, value)
        return np.asarray(total, dtype=np.uint16)

    def _exact(
        self, board: Board, query: NDArray[np.uint8], rows: NDArray[np.int64], limit: int
    ) -> list[tuple[int, int]]:
        """(difference, row) of those rows that differ by `limit` at most."""
        found = differences_of_type(board, int(query[-1]), self.boards[rows], self.columns[-1][rows])
        near = found <= limit
        return list(zip(found[near].tolist(), rows[near].tolist(), strict=True))


def save_index(index: SimilarityIndex, path: Path) -> None:
    """Write an index; the file replaces an older one only when it is complete."""
    arrays = _arrays(index)
    with replacing(path) as partial:
        save_file(arrays, partial, metadata={"format": FORMAT, "digest": _digest(arrays)})


def load_index(path: Path) -> SimilarityIndex:
    """Read an index.

    Raises:
        InputError: unreadable, of another format or version, or damaged.
    """
    try:
        with safe_open(path, framework="numpy") as file:
            header = dict(file.metadata() or {})
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - a file, no dict
    except (OSError, SafetensorError, ValueError) as error:
        raise InputError("index", path, f"a readable safetensors file ({str(error).splitlines()[0]})") from error
    if header.get("format") != FORMAT:
        raise InputError("index", path, f"a file of format {FORMAT}; make it again")
    if set(arrays) != {"boards", "columns", "first", "occurrences"} or header.get("digest") != _digest(arrays):
        raise InputError("index", path, "an undamaged index; make it again")
    return SimilarityIndex(**arrays)


def _arrays(index: SimilarityIndex) -> dict[str, NDArray[np.generic]]:
    named = {
        "boards": index.boards,
        "columns": index.columns,
        "first": index.first,
        "occurrences": index.occurrences,
    }
    return {name: np.ascontiguousarray(array) for name, array in named.items()}


def _digest(arrays: dict[str, NDArray[np.generic]]) -> str:
    found = hashlib.blake2b(digest_size=16)
    for name in sorted(arrays):
        found.update(f"{name} {arrays[name].dtype} {arrays[name].shape}".encode())
        found.update(np.ascontiguousarray(arrays[name]).data)
    return found.hexdigest()


def _columns(boards: NDArray[np.int8]) -> NDArray[np.uint8]:
    """[C, N] of boards int8[N, 26]."""
    weights = np.array(STEP_WEIGHTS, dtype=np.int64)
    parts = [np.add.reduceat(cumulative(side) * weights, _BLOCKS[:-1], axis=1) for side in sides_of(boards)]
    kinds = position_types(boards)[0]
    return np.ascontiguousarray(np.concatenate([*parts, kinds[:, None]], axis=1).T.astype(np.uint8))
