"""Files of match records: reading many, summarising them, and writing them in another format."""

from __future__ import annotations

import itertools
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from cluster.record_schemas import GameSummary, ImportReport, NoteReport, RecordReport
from engine.errors import InfrastructureError, InputError
from engine.position import Player
from engine.records.encoding import MOST_BYTES
from engine.records.formats import WRITTEN, read_record, write_record
from engine.records.record import GameRecord, MatchRecord, Problem, RecordFormat

EXTENSIONS = {
    RecordFormat.MAT: ".mat",
    RecordFormat.TXT: ".txt",
    RecordFormat.SGF: ".sgf",
    RecordFormat.XGID: ".xgid",
    RecordFormat.JSON: ".json",
}
MOST_FILES = 1_000_000


def record_format(name: str) -> RecordFormat:
    """A format that can be written, by its name.

    Raises:
        InputError: none.
    """
    known = {target.value: target for target in WRITTEN}
    if name.lower() not in known:
        raise InputError("format", name, f"one of {', '.join(known)}")
    return known[name.lower()]


def is_file(text: str) -> bool:
    """Whether a text names a file (an ID never does)."""
    try:
        return Path(text).is_file()
    except (OSError, ValueError):
        return False


def read_file(path: Path) -> MatchRecord:
    """Read a record from a file.

    Raises:
        InputError: no file, too large, or nothing that can be read.
        InfrastructureError: the disk can't be read.
    """
    try:
        if not path.is_file():
            raise InputError("path", path, "a file with a match record")
        if path.stat().st_size > MOST_BYTES:
            raise InputError("path", path, f"a file of at most {MOST_BYTES} bytes")
        data = path.read_bytes()
    except PermissionError as error:
        raise InputError("path", path, f"a file that can be read ({error.strerror})") from None
    except OSError as error:
        raise InfrastructureError(f"{path}: {error.strerror or error}") from None
    return read_record(data)


def import_files(paths: Sequence[Path], folder: Path | None, target: RecordFormat) -> ImportReport:
    """Read all files, those of folders too, and write each to `folder` if one is given.

    One bad file never stops the others: its report says what was wrong.

    Raises:
        InputError: there is no file at all, or `folder` is none.
    """
    files = list(_files(paths))
    if not files:
        raise InputError("path", ", ".join(map(str, paths)), "files, or folders with files")
    if folder is not None:
        _make_folder(folder)
    taken: set[Path] = {file.resolve() for file in files}
    reports = tuple(_import(file, folder, target, taken) for file in files)
    done = [report for report in reports if report.error is None]
    return ImportReport(
        files=reports,
        read=len(done),
        failed=len(reports) - len(done),
        games=sum(len(report.games) for report in done),
        illegal_plays=sum(report.illegal_plays for report in done),
        cut_games=sum(len({n.game for n in report.notes if n.problem == Problem.CUT.value}) for report in done),
    )


def summarise(path: Path, record: MatchRecord, written: Path | None = None) -> RecordReport:
    """What a record holds."""
    return RecordReport(
        path=str(path),
        format=record.source.format.value if record.source is not None else "",
        program=record.source.program if record.source is not None else "",
        players=record.players,
        length=record.match.length,
        rules=record.match.rules.name,
        games=tuple(_game(game) for game in record.games),
        turns=record.turns,
        positions=sum(game.start is not None and not game.turns for game in record.games),
        illegal_plays=record.illegal_plays,
        final_score=record.final_score,
        notes=tuple(
            NoteReport(problem=note.problem.value, reason=note.reason, game=note.game, turn=note.turn)
            for note in record.notes
        ),
        written=None if written is None else str(written),
    )


def write_file(path: Path, text: str) -> None:
    """Write a whole file or nothing.

    Raises:
        InputError: there is no such folder, or it can't be written to.
        InfrastructureError: the disk is full or away.
    """
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:40]}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
                file.write(text)
            # What mkstemp makes is for this user only; a record is like any other file of his.
            mask = os.umask(0)
            os.umask(mask)
            os.chmod(name, 0o666 & ~mask)
            os.replace(name, path)
        except BaseException:
            os.unlink(name)
            raise
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError, PermissionError) as error:
        raise InputError("out", path, f"a file that can be written ({error.strerror})") from None
    except OSError as error:
        raise InfrastructureError(f"{path}: {error.strerror or error}") from None


def _files(paths: Sequence[Path]) -> Iterator[Path]:
    """Files as they are named; of folders all files, sorted, hidden ones left out."""
    for path in paths:
        if path.is_dir():
            yield from sorted(
                file
                for file in path.rglob("*")
                if file.is_file() and not any(part.startswith(".") for part in file.relative_to(path).parts)
            )
        else:
            yield path


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError, PermissionError) as error:
        raise InputError("out", folder, f"a folder ({error.strerror})") from None


def _import(path: Path, folder: Path | None, target: RecordFormat, taken: set[Path]) -> RecordReport:
    try:
        record = read_file(path)
        written = None
        if folder is not None:
            text = write_record(record, target)
            written = _free_name(folder, path, target, taken)
            write_file(written, text)
        return summarise(path, record, written)
    except InputError as error:
        return RecordReport(path=str(path), error=str(error))


def _free_name(folder: Path, path: Path, target: RecordFormat, taken: set[Path]) -> Path:
    """A file of the folder that is neither read nor written in this run; one of an earlier run is replaced."""
    extension = EXTENSIONS[target]
    names = (f"{path.stem}{extension}", f"{path.name}{extension}")
    numbered = (f"{path.name}.{number}{extension}" for number in range(2, MOST_FILES))
    for name in itertools.chain(names, numbered):
        candidate = folder / name
        if candidate.resolve() not in taken:
            taken.add(candidate.resolve())
            return candidate
    raise InputError("out", folder, "a folder with a free name")


def _game(game: GameRecord) -> GameSummary:
    result = game.result
    return GameSummary(
        number=game.number,
        score=game.score,
        turns=len(game.turns),
        winner=None if result is None else 1 if result.winner is Player.X else 2,
        points=None if result is None else result.points,
        ending=None if result is None else result.ending.value,
    )
