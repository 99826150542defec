"""Bear-off databases on disk: built once for all processes, and never read damaged."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import numba
import pytest

import engine.bearoff
from engine.bearoff import Bearoff, open_databases
from engine.errors import InfrastructureError, InputError


def small(home: Path) -> Bearoff:
    """Databases made in a moment."""
    return open_databases(home, checkers=3, two_sided_checkers=2)


def files(home: Path) -> dict[str, bytes]:
    """The databases on disk."""
    return {path.name: path.read_bytes() for path in (home / "bearoff").glob("*.safetensors")}


def told_by(home: Path) -> tuple[Bearoff, set[str]]:
    """Small databases and what was built for them."""
    built: set[str] = set()
    databases = open_databases(home, lambda what, done: built.add(what), checkers=3, two_sided_checkers=2)
    return databases, built


def test_databases_are_built_once_with_progress(tmp_path: Path) -> None:
    told: list[tuple[str, float]] = []
    open_databases(tmp_path, lambda *step: told.append(step), checkers=6, two_sided_checkers=2)
    steps = {what: [done for name, done in told if name == what] for what, _ in told}
    assert len(steps) == 2
    for done in steps.values():
        assert done == sorted(done)
        assert (done[0], done[-1]) == (0.0, 1.0)
    told.clear()
    open_databases(tmp_path, lambda *step: told.append(step), checkers=6, two_sided_checkers=2)
    assert told == []


def test_building_gives_the_same_bytes_each_time(tmp_path: Path) -> None:
    for name in ("one", "two"):
        small(tmp_path / name)
    assert files(tmp_path / "one") == files(tmp_path / "two")


def test_arrays_cannot_be_written(tmp_path: Path) -> None:
    assert not any(array.flags.writeable for array in small(tmp_path).arrays)


def flip_a_bit(data: bytes, place: int) -> bytes:
    """One bit changed."""
    return data[:place] + bytes([data[place] ^ 4]) + data[place + 1 :]


def other_checksum(data: bytes) -> bytes:
    """The same file with another digit in its checksum."""
    place = data.index(b"blake2b") + len('blake2b\\": \\"')
    return data[:place] + (b"0" if data[place : place + 1] != b"0" else b"1") + data[place + 1 :]


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "a bit of the last number": lambda data: flip_a_bit(data, len(data) - 1),
    "a bit of the first number": lambda data: flip_a_bit(data, 8 + int.from_bytes(data[:8], "little")),
    "a bit of the header's length": lambda data: flip_a_bit(data, 0),
    "a bit of the header": lambda data: flip_a_bit(data, 12),
    "the checksum": other_checksum,
    "cut in the middle": lambda data: data[: len(data) // 2],
    "cut by one byte": lambda data: data[:-1],
    "cut in the header": lambda data: data[:20],
    "empty": lambda data: b"",
    "another file": lambda data: b"not a database at all, but longer than a header",
    "the other kind": lambda data: data.replace(b"_sided", b"-sided", 1),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
@pytest.mark.parametrize("kind", ["one_sided", "two_sided"])
def test_a_damaged_file_is_built_again_with_one_warning(
    tmp_path: Path, kind: str, damage: Callable[[bytes], bytes], caplog: pytest.LogCaptureFixture
) -> None:
    whole = [array.tolist() for array in small(tmp_path).arrays]
    before = files(tmp_path)
    (name,) = (name for name in before if name.startswith(kind))
    (tmp_path / "bearoff" / name).write_bytes(damage(before[name]))
    assert files(tmp_path) != before
    with caplog.at_level(logging.WARNING):
        again, built = told_by(tmp_path)
    assert len(built) == 1
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert name in caplog.text
    assert "building it again" in caplog.text
    assert files(tmp_path) == before
    assert [array.tolist() for array in again.arrays] == whole
    assert told_by(tmp_path)[1] == set()


def test_a_file_of_another_version_is_built_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(engine.bearoff, "VERSION", 0)
        small(tmp_path)
    with caplog.at_level(logging.WARNING):
        _, built = told_by(tmp_path)
    assert len(built) == 2
    assert len(caplog.records) == 2
    assert "version 0 instead of" in caplog.text


def test_a_mapped_database_survives_that_its_file_is_replaced(tmp_path: Path) -> None:
    opened = small(tmp_path)
    values = [array.tolist() for array in opened.arrays]
    for name in files(tmp_path):
        path = tmp_path / "bearoff" / name
        partial = path.with_suffix(".other")
        partial.write_bytes(b"something else")
        partial.replace(path)
    assert [array.tolist() for array in opened.arrays] == values


def test_who_comes_while_another_builds_waits_and_builds_nothing(tmp_path: Path) -> None:
    second: list[set[str]] = []
    threads: list[threading.Thread] = []

    def while_building(what: str, done: float) -> None:
        threads.append(threading.Thread(target=lambda: second.append(told_by(tmp_path)[1])))
        threads[-1].start()

    # Both databases are built by the first; each step of it brings one more who wants them.
    open_databases(tmp_path, lambda what, done: while_building(what, done), checkers=3, two_sided_checkers=1)
    for thread in threads:
        thread.join()
    assert threads
    assert len([built for built in second if any(what.startswith("one-sided") for what in built)]) == 0
    assert len([built for built in second if built]) == 1  # the two-sided one of two checkers


def test_processes_that_start_at_once_build_each_database_once(tmp_path: Path) -> None:
    script = """
import json, sys
from pathlib import Path
from engine.bearoff import open_databases
built = set()
databases = open_databases(Path(sys.argv[1]), lambda what, done: built.add(what), checkers=3, two_sided_checkers=2)
print(json.dumps([sorted(built), databases.mean_rolls((0, 1, 0, 0, 1, 0))]))
"""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(numba.config.CACHE_DIR)}
    command = [sys.executable, "-c", script, str(tmp_path)]
    root = Path(engine.bearoff.__file__).parent.parent
    processes = [
        subprocess.Popen(command, env=environment, cwd=root, stdout=subprocess.PIPE, text=True) for _ in range(3)
    ]
    told = [json.loads(process.communicate()[0]) for process in processes]
    assert sorted(what for built, _ in told for what in built) == [
        "one-sided bear-off database of 3 checkers",
        "two-sided bear-off database of 2 checkers",
    ]
    assert len({mean for _, mean in told}) == 1


def test_a_folder_that_cannot_be_made_is_no_crash(tmp_path: Path) -> None:
    (tmp_path / "bearoff").write_text("in the way")
    with pytest.raises(InfrastructureError, match="bearoff"):
        small(tmp_path)


@pytest.mark.parametrize("wrong", [{"checkers": 0}, {"checkers": 16}, {"two_sided_checkers": 9}])
def test_impossible_sizes_are_refused_by_name(tmp_path: Path, wrong: dict[str, int]) -> None:
    with pytest.raises(InputError, match=r"^(bearoff_)?checkers: .*a whole number from 1 to (8|15)$"):
        open_databases(tmp_path, **wrong)  # type: ignore[arg-type] # sizes only


def test_a_database_that_cannot_be_written_is_no_crash(tmp_path: Path) -> None:
    (tmp_path / "bearoff" / "one_sided_3.safetensors.partial" / "in the way").mkdir(parents=True)
    with pytest.raises(InfrastructureError, match="one_sided_3"):
        small(tmp_path)
    assert files(tmp_path) == {}
