"""Bear-off databases: exact endings, built on first use, kept in the data folder and shared by all processes.

One-sided: for every position of up to 15 checkers in their home the chances of each number of rolls to bear off, with
the plays that need the fewest rolls on average; for fifteen checkers also the rolls until the first one is off.
Two-sided: up to 6 checkers a side, equities of rolling now, without a cube and in the three states of a money cube;
from the next turn on with the best doubles, takes and passes.

They hold for free bear-off and fifteen checkers a side: use `NO_DATABASES` where `RuleSet.databases_hold` says no.

A database is one safetensors file with a checksum over all it says. It is verified at each opening and then
memory-mapped, so all workers of a machine share its pages; a damaged or older one is built again.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import logging
import mmap
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import save_file

from engine.board import Board
from engine.errors import InfrastructureError, InputError
from engine.home import data_home
from engine.kernels.bearoff import (
    ALL_CHECKERS,
    CERTAIN,
    CUBE_STATES,
    FIRST_OF_FIFTEEN,
    HOME_POINTS,
    MEAN_BITS,
    TERMS,
    BearoffArrays,
    equities_of,
    position_count,
)
from engine.kernels.bearoff_build import MOST_ROLLS, build_first_checker, build_rolls, build_two_sided, list_plays

FORMAT = "gammonfarm-bearoff"
VERSION = 1
"""Raised whenever a database would hold other numbers or arrays; files of another version are built again."""

METADATA = "database"
"""Key of the file's own description in the safetensors header."""

ONE_SIDED = "one_sided"
TWO_SIDED = "two_sided"
MOST_TWO_SIDED = 8
TWO_SIDED_CHECKERS = 6
"""Checkers a side of the two-sided database, unless another number is asked for."""
PIPS_A_ROLL = 49 / 6

Arrays = Mapping[str, NDArray[np.generic]]
Progress = Callable[[str, float], None]
"""Called with what is being built and how much of it is done, 0 to 1."""

log = logging.getLogger(__name__)

_DTYPES: dict[str, dict[str, tuple[str, str]]] = {
    # Name in safetensors and in numpy; the order is that of `BearoffArrays`.
    ONE_SIDED: {
        "means": ("I64", "<i8"),
        "least": ("I8", "|i1"),
        "starts": ("I32", "<i4"),
        "chances": ("U32", "<u4"),
        "first_later": ("U32", "<u4"),
    },
    TWO_SIDED: {"two_sided": ("I32", "<i4")},
}
_CHUNK = 500


class _Unusable(Exception):
    """A file that can't be used; the text says why."""


@dataclass(frozen=True, slots=True)
class _Database:
    """Which database: its kind and the checkers a side it goes up to."""

    kind: str
    checkers: int

    def __str__(self) -> str:
        return f"{self.kind.replace('_', '-')} bear-off database of {self.checkers} checkers"

    @property
    def file_name(self) -> str:
        return f"{self.kind}_{self.checkers}.safetensors"

    def header(self, arrays: Arrays) -> str:
        """What the file says about itself, as JSON, with the checksum of that and of the arrays.

        One text, because safetensors writes several in any order, and equal databases should be equal files.
        """
        facts = {
            "format": FORMAT,
            "version": VERSION,
            "kind": self.kind,
            "checkers": self.checkers,
            "positions": position_count(self.checkers),
        }
        digest = hashlib.blake2b(json.dumps(facts, sort_keys=True).encode(), digest_size=16)
        for name in _DTYPES[self.kind]:
            digest.update(f"{name}{arrays[name].dtype.str}{arrays[name].shape}".encode())
            digest.update(arrays[name].data)
        return json.dumps({**facts, "blake2b": digest.hexdigest()}, sort_keys=True)


@dataclass(frozen=True, slots=True, eq=False)
class Bearoff:
    """The opened databases. `counts` are a side's checkers on its points 1 to 6, in this order."""

    arrays: BearoffArrays
    """For the kernels: `engine.kernels.bearoff.bearoff_outcome` and `bearoff_equities`."""

    def rolls_distribution(self, counts: Sequence[int]) -> NDArray[np.float64]:
        """float64[R]: chance of bearing off everything with exactly 0, 1, 2, ... rolls.

        Raises:
            InputError: not six counts, or more checkers than the database knows.
        """
        index = self._index(counts)
        arrays = self.arrays
        least = int(arrays.least[index])
        chances = arrays.chances[int(arrays.starts[index]) : int(arrays.starts[index + 1])]
        return np.concatenate([np.zeros(least), chances / CERTAIN])

    def first_checker_distribution(self, counts: Sequence[int]) -> NDArray[np.float64]:
        """float64[R]: chance that the first of fifteen checkers is off with exactly 0, 1, 2, ... rolls.

        Raises:
            InputError: not six counts, or not fifteen checkers, or fifteen are more than the database knows.
        """
        index = self._index(counts)
        if index < FIRST_OF_FIFTEEN:
            raise InputError("counts", list(counts), "all fifteen checkers")
        later = self.arrays.first_later[index - FIRST_OF_FIFTEEN].astype(np.int64)
        chances: NDArray[np.float64] = -np.diff(later, prepend=CERTAIN, append=0) / CERTAIN
        return chances

    def mean_rolls(self, counts: Sequence[int]) -> float:
        """Least mean number of rolls to bear off everything; raises as `rolls_distribution`."""
        return int(self.arrays.means[self._index(counts)]) / (1 << MEAN_BITS)

    def epc(self, counts: Sequence[int]) -> float:
        """Effective pip count: 49/6 pips for every roll needed on average; raises as `rolls_distribution`."""
        return PIPS_A_ROLL * self.mean_rolls(counts)

    def wastage(self, counts: Sequence[int]) -> float:
        """Effective pip count less pips; raises as `rolls_distribution`."""
        return self.epc(counts) - sum(point * count for point, count in enumerate(counts, start=1))

    def two_sided(self, board: Board) -> tuple[float, float, float, float]:
        """Money equities of the player on roll who rolls now, without doubling first, in units of the cube's value.

        `board` is in his view. Returns (cubeless, he owns the cube, centred without Jacoby, the opponent owns it).
        From the next turn on both play and use the cube best. So he doubles if `min(2 * opponent_owns, 1)` is more than
        his equity of rolling, and the opponent takes if `2 * opponent_owns` is less than 1.

        Raises:
            InputError: the two-sided database doesn't know the position.
        """
        equities = np.zeros((1, CUBE_STATES), dtype=np.int64)
        known = np.zeros(1, dtype=np.bool_)
        equities_of(np.asarray(board, dtype=np.int8)[None], self.arrays, equities, known)
        if not known[0]:
            raise InputError("board", np.asarray(board).tolist(), "a bear-off of the two-sided database")
        cubeless, owned, centred, opponent_owns = (equities[0] / CERTAIN).tolist()
        return cubeless, owned, centred, opponent_owns

    def _index(self, counts: Sequence[int]) -> int:
        if len(counts) != HOME_POINTS or min(counts) < 0 or sum(counts) > ALL_CHECKERS:
            raise InputError("counts", list(counts), "checkers on points 1 to 6, at most 15 in all")
        behind = np.cumsum(np.asarray(counts, dtype=np.int64)[::-1])[::-1]
        index = int(TERMS[np.arange(HOME_POINTS), behind].sum())
        if index >= len(self.arrays.means):
            raise InputError("counts", list(counts), "no more checkers than the one-sided database has")
        return index


def check_two_sided(checkers: int) -> None:
    """
    Raises:
        InputError: no size that the two-sided database can have.
    """
    if not 1 <= checkers <= MOST_TWO_SIDED:
        raise InputError("bearoff_checkers", checkers, f"a whole number from 1 to {MOST_TWO_SIDED}")


def open_databases(
    home: Path | None = None,
    progress: Progress | None = None,
    *,
    checkers: int = ALL_CHECKERS,
    two_sided_checkers: int = TWO_SIDED_CHECKERS,
) -> Bearoff:
    """Open the databases in the data folder; what is missing, damaged or of another version is built first.

    Several processes may do so at once: one builds, the others wait for it.

    Args:
        home: the data folder, by default that of `data_home`. progress: told while something is built.
        checkers: up to how many a side the one-sided database goes (1..15). Without 15, gammons are left out with the
            positions that could lose one. two_sided_checkers: the same for the two-sided one (1..8; 8 takes 144 MB).

    Raises:
        InputError: a number of checkers out of range. InfrastructureError: the folder can't be written.
    """
    if not 1 <= checkers <= ALL_CHECKERS:
        raise InputError("checkers", checkers, "a whole number from 1 to 15")
    check_two_sided(two_sided_checkers)
    folder = (home or data_home()) / "bearoff"
    report = progress or _silent
    arrays: dict[str, NDArray[np.generic]] = {}
    for database in (_Database(ONE_SIDED, checkers), _Database(TWO_SIDED, two_sided_checkers)):
        arrays.update(_open(folder, database, report))
    return Bearoff(BearoffArrays(**arrays))  # type: ignore[arg-type] # dtypes are checked against _DTYPES


def _silent(what: str, done: float) -> None:
    """Progress that nobody asked for."""


def _empty() -> BearoffArrays:
    """Databases without a position, of the same types as opened ones, so that one compiled kernel takes both."""
    shapes = {"starts": (1,), "first_later": (0, 1), "two_sided": (0, 0, CUBE_STATES)}
    arrays: dict[str, NDArray[np.generic]] = {}
    for dtypes in _DTYPES.values():
        for name, (_, dtype) in dtypes.items():
            arrays[name] = np.zeros(shapes.get(name, (0,)), dtype=dtype)
            arrays[name].setflags(write=False)
    return BearoffArrays(**arrays)  # type: ignore[arg-type]


NO_DATABASES = _empty()
"""For rule sets for which they don't hold: the kernels know no position then."""


# Files


def _open(folder: Path, database: _Database, report: Progress) -> Arrays:
    """Arrays of one database, memory-mapped."""
    path = folder / database.file_name
    try:
        if path.exists():
            return _read(path, database)
    except _Unusable:
        pass  # looked at again under the lock: another process may be replacing it
    except OSError as error:
        raise _away(path, error) from error
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _locked(path.with_suffix(".lock")):
            if path.exists():
                try:
                    return _read(path, database)
                except _Unusable as error:
                    log.warning("%s: %s; building it again", path, error)
            arrays = _BUILDERS[database.kind](database.checkers, lambda done: report(str(database), done))
            _write(path, database, arrays)
            return _read(path, database)
    except _Unusable as error:
        raise InfrastructureError(f"{path}: {error}, just after it was written: is the disk all right?") from error
    except (OSError, SafetensorError) as error:
        raise _away(path, error) from error


def _away(path: Path, error: Exception) -> InfrastructureError:
    return InfrastructureError(f"{path}: cannot be read or written ({str(error).splitlines()[0]})")


def _write(path: Path, database: _Database, arrays: dict[str, NDArray[np.generic]]) -> None:
    """The file appears, or replaces an older one, only when it is complete."""
    partial = path.with_suffix(".partial")
    try:
        save_file(arrays, partial, metadata={METADATA: database.header(arrays)})
        partial.replace(path)
    except (OSError, SafetensorError):
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        raise


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Only one process (or thread) at a time is inside; the system drops the lock of one that dies."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _read(path: Path, database: _Database) -> Arrays:
    """Map a file and verify all of it.

    Raises:
        _Unusable: it isn't the database, is of another version, or is damaged.
    """
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size < 8:
            raise _Unusable("truncated")
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    begin = 8 + int.from_bytes(mapped[:8], "little")
    try:
        # The start of a safetensors file is the length of a JSON header, then the header; the arrays follow.
        header = json.loads(mapped[8:begin].decode())
        told = header["__metadata__"][METADATA]
        facts = json.loads(told)
        if facts["format"] != FORMAT or facts["version"] != VERSION:
            raise _Unusable(f"version {facts['version']} instead of {VERSION}")
        arrays = {}
        for name, (code, dtype) in _DTYPES[database.kind].items():
            start, end = header[name]["data_offsets"]
            if header[name]["dtype"] != code or not 0 <= start <= end <= size - begin:
                raise _Unusable("truncated or damaged")
            flat = np.frombuffer(mapped, dtype, (end - start) // np.dtype(dtype).itemsize, begin + start)
            arrays[name] = flat.reshape(header[name]["shape"])
        expected = database.header(arrays)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise _Unusable("truncated or damaged") from error
    if told != expected:
        raise _Unusable("its checksum is wrong")
    if hasattr(mapped, "madvise"):
        # All of it was read for the checksum. Pages that are needed come back from the system's cache one by one, so
        # the others need not count as this process's memory.
        mapped.madvise(mmap.MADV_DONTNEED)
    return arrays


# Building


def _build_one_sided(checkers: int, report: Callable[[float], None]) -> dict[str, NDArray[np.generic]]:
    count = position_count(checkers)
    means = np.zeros(count, dtype=np.int64)
    chances = np.zeros((count, MOST_ROLLS + 1), dtype=np.uint32)
    total = count + max(count - FIRST_OF_FIFTEEN, 0)
    for first in range(0, count, _CHUNK):
        report(first / total)
        build_rolls(first, min(first + _CHUNK, count), means, chances)
    later = _build_first_later(lambda done: report((count + done) / total)) if checkers == ALL_CHECKERS else None
    report(1.0)
    rolls = np.arange(MOST_ROLLS + 1)
    least = np.argmax(chances > 0, axis=1)
    most = MOST_ROLLS - np.argmax(chances[:, ::-1] > 0, axis=1)
    used = (rolls >= least[:, None]) & (rolls <= most[:, None])
    return {
        "means": means,
        "least": least.astype(np.int8),
        "starts": np.concatenate([[0], np.cumsum(most - least + 1)]).astype(np.int32),
        "chances": chances[used],
        "first_later": later if later is not None else np.zeros((0, 1), dtype=np.uint32),
    }


def _build_first_later(report: Callable[[int], None]) -> NDArray[np.uint32]:
    """uint32[Q, W]: `BearoffArrays.first_later`, as wide as it has chances above zero."""
    count = position_count(ALL_CHECKERS) - FIRST_OF_FIFTEEN
    means = np.zeros(count, dtype=np.int64)
    chances = np.zeros((count, MOST_ROLLS + 1), dtype=np.uint32)
    for first in range(0, count, _CHUNK):
        report(first)
        build_first_checker(first, min(first + _CHUNK, count), means, chances)
    later = CERTAIN - np.cumsum(chances, axis=1, dtype=np.int64)
    width = int(later.any(axis=0).sum())
    return np.ascontiguousarray(later[:, :width], dtype=np.uint32)


def _build_two_sided(checkers: int, report: Callable[[float], None]) -> dict[str, NDArray[np.generic]]:
    count = position_count(checkers)
    starts, afters = list_plays(count)
    values = np.zeros((count, count, CUBE_STATES), dtype=np.int32)
    values[:, 0] = -CERTAIN
    values[0] = CERTAIN
    chunk = max(count // 50, 1)
    for first in range(1, count, chunk):
        report(((first - 1) / count) ** 2)
        build_two_sided(first, min(first + chunk, count), starts, afters, values)
    report(1.0)
    return {"two_sided": values}


_BUILDERS = {ONE_SIDED: _build_one_sided, TWO_SIDED: _build_two_sided}
