"""Running the suite: which part looks at which file, at which levels, and how much of it."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import TypeVar

from engine.efficiency import CubeEfficiency, load_efficiency
from engine.errors import InputError
from engine.met import load_met
from engine.search import check_level
from training.benchmark import read_decisions
from training.suite.calibration import calibration_figures
from training.suite.checker import checker_figures
from training.suite.contestant import Contestant
from training.suite.cube import WithCube, cube_figures, play_figures, read_cube_decisions
from training.suite.endings import (
    known_ending_figures,
    one_sided_figures,
    read_known_endings,
    read_one_sided,
    read_two_sided,
    two_sided_figures,
)
from training.suite.figures import Advance, Figure, Missing, OpeningChoice, Part, ReliabilityBin, SuiteResult
from training.suite.files import source_name
from training.suite.openings import (
    book_figures,
    opening_figures,
    read_book,
    read_published,
    read_table_of_openings,
)
from training.suite.values import read_rolled_out, value_figures

FOLDER = "benchmarks"
"""Below the folder of reference data."""

T = TypeVar("T")

LARGE_FILE_LIMIT = 10_000
"""Decisions of the large file that are scored where no limit is given: reading takes longer than scoring at 1-ply."""

DEFAULT_LEVELS: dict[Part, tuple[int, ...]] = {
    Part.CHECKER: (1, 2),
    Part.VALUE: (1, 2),
    Part.OPENINGS: (1, 2, 3),
    Part.BEAROFF: (1, 2),
    Part.CALIBRATION: (1,),
    Part.CUBE: (1, 2),
}


class DataFile(enum.Enum):
    """The files of reference data that the suite knows, by name."""

    DECISIONS_SMALL = "gnubg4ply_small.jsonl"
    DECISIONS_LARGE = "gnubg4ply_half.jsonl.gz"
    ROLLOUTS = "bgsage_benchmark_cubeful_pr_rollouts_half.jsonl.gz"
    PLAYER_BACK_GAMES = "bgsage_player-backgame-benchmark-rollout_half.txt.gz"
    OPPONENT_BACK_GAMES = "bgsage_opponent-backgame-benchmark-rollout_half.txt.gz"
    OPENING_TABLE = "opening_table_xg_book.tsv"
    OPENINGS_PUBLISHED = "opening_published.json"
    OPENING_BOOK = "xg_book_half.jsonl"
    ONE_SIDED = "bearoff_one_sided.jsonl"
    TWO_SIDED = "bearoff_two_sided.jsonl"
    RACES = "wildbg_race_positions_half.txt"


_ROLLED_OUT = (DataFile.ROLLOUTS, DataFile.PLAYER_BACK_GAMES, DataFile.OPPONENT_BACK_GAMES)

FILES: dict[Part, tuple[DataFile, ...]] = {
    Part.CHECKER: (DataFile.DECISIONS_SMALL, DataFile.DECISIONS_LARGE),
    Part.VALUE: _ROLLED_OUT,
    Part.OPENINGS: (DataFile.OPENING_TABLE, DataFile.OPENINGS_PUBLISHED, DataFile.OPENING_BOOK),
    Part.BEAROFF: (DataFile.ONE_SIDED, DataFile.TWO_SIDED, DataFile.RACES),
    Part.CALIBRATION: _ROLLED_OUT,
    Part.CUBE: (DataFile.DECISIONS_SMALL, DataFile.DECISIONS_LARGE),
}


@dataclass(frozen=True, slots=True)
class SuiteOptions:
    """What to look at.

    Raises:
        InputError: no part or an unknown level, or a limit below 1.
    """

    parts: tuple[Part, ...] = tuple(Part)
    levels: tuple[int, ...] | None = None
    """The same for all parts; None: `DEFAULT_LEVELS`."""
    limit: int | None = None
    """Decisions or positions of each file, from its start; the openings are always complete. None: all, and
    `LARGE_FILE_LIMIT` of the large file.
    """
    efficiency: CubeEfficiency = field(default_factory=load_efficiency)
    """Of the cube, where one is in play."""

    def __post_init__(self) -> None:
        if not self.parts:
            raise InputError("part", "none", "at least one part")
        if self.limit is not None and self.limit < 1:
            raise InputError("limit", self.limit, "a whole number of at least 1")
        if self.levels is not None and not self.levels:
            raise InputError("levels", "none", "at least one level")
        for level in self.levels or ():
            check_level(level)

    def levels_of(self, part: Part) -> tuple[int, ...]:
        """The levels at which a part is looked at, each once."""
        return tuple(sorted(set(self.levels or DEFAULT_LEVELS[part])))


@dataclass(frozen=True, slots=True)
class SuiteFiles:
    """Which files a run has, and which it lacks, both in the order of `Part` and `FILES`."""

    present: tuple[tuple[Part, DataFile, Path], ...]
    missing: tuple[Missing, ...]


def available_files(data: Path, options: SuiteOptions) -> SuiteFiles:
    """Look for the files of the wanted parts in `data`, the folder of public reference data.

    Raises:
        InputError: none of them is there.
    """
    folder = data / FOLDER
    wanted = [(part, file, folder / file.value) for part in Part if part in options.parts for file in FILES[part]]
    present = tuple(one for one in wanted if one[2].is_file())
    if not present:
        names = dict.fromkeys(file.value for _, file, _ in wanted)
        raise InputError("data", folder, f"a folder with at least one of {', '.join(names)}")
    return SuiteFiles(present, tuple(Missing(part, file.value) for part, file, path in wanted if not path.is_file()))


def run_suite(contestant: Contestant, files: SuiteFiles, options: SuiteOptions, advance: Advance) -> SuiteResult:
    """Measure everything that the files allow, in their order.

    The answer depends on nets, files and options alone, not on the number of threads.

    Raises:
        InputError: a file is malformed, or has nothing to measure.
    """
    found: list[Figure | OpeningChoice | ReliabilityBin] = []
    for part, file, path in files.present:
        found += _measure(part, file, path, contestant, options, advance)
    return SuiteResult(
        figures=tuple(one for one in found if isinstance(one, Figure)),
        openings=tuple(one for one in found if isinstance(one, OpeningChoice)),
        reliability=tuple(one for one in found if isinstance(one, ReliabilityBin)),
        missing=files.missing,
    )


def _measure(
    part: Part, file: DataFile, path: Path, contestant: Contestant, options: SuiteOptions, advance: Advance
) -> Iterable[Figure | OpeningChoice | ReliabilityBin]:
    source = source_name(path)
    levels = options.levels_of(part)
    limit = options.limit
    advance(f"{source}, reading", 0, 1)
    match file:
        case DataFile.DECISIONS_SMALL | DataFile.DECISIONS_LARGE:
            if limit is None and file is DataFile.DECISIONS_LARGE:
                limit = LARGE_FILE_LIMIT
            if part is Part.CUBE:
                cubes = read_cube_decisions(path, limit)
                plays = list(read_decisions(path, limit))
                _some(path, [*cubes, *plays])
                with_cube = WithCube(load_met(), options.efficiency)
                return chain(
                    cube_figures(source, cubes, contestant, with_cube, levels, advance) if cubes else (),
                    play_figures(source, plays, contestant, with_cube, levels, advance) if plays else (),
                )
            decisions = _some(path, list(read_decisions(path, limit)))
            return checker_figures(source, decisions, contestant, levels, advance)
        case DataFile.ROLLOUTS | DataFile.PLAYER_BACK_GAMES | DataFile.OPPONENT_BACK_GAMES:
            positions = read_rolled_out(path, limit)
            if part is Part.VALUE:
                return value_figures(source, positions, contestant, levels, advance)
            return calibration_figures(source, positions, contestant, levels, advance)
        case DataFile.OPENING_TABLE:
            return opening_figures(source, _some(path, read_table_of_openings(path)), contestant, levels, advance)
        case DataFile.OPENINGS_PUBLISHED:
            return opening_figures(source, _some(path, read_published(path)), contestant, levels, advance)
        case DataFile.OPENING_BOOK:
            return book_figures(source, _some(path, read_book(path)), contestant, levels, advance)
        case DataFile.ONE_SIDED:
            return one_sided_figures(source, _some(path, read_one_sided(path, limit)), contestant.bearoff)
        case DataFile.TWO_SIDED:
            return two_sided_figures(source, _some(path, read_two_sided(path, limit)), contestant, levels, advance)
        case DataFile.RACES:
            boards = _some(path, read_known_endings(path, limit))
            return known_ending_figures(source, boards, contestant, levels, advance)


def _some(path: Path, records: list[T]) -> list[T]:
    """The records of a file.

    Raises:
        InputError: there are none, so that there would be no mean.
    """
    if not records:
        raise InputError("benchmark file", path.name, "at least one usable record")
    return records
