"""Fixtures that many tests share."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import numba
import pytest

import engine.kernels  # noqa: F401 - fixes where compiled code is kept
from engine.bearoff import Bearoff, open_databases

if TYPE_CHECKING:
    from cluster.ray_executor import RayExecutor

# Every test has a data folder of its own, but compiling takes longer than all tests together: this process, those it
# starts and later sessions share the one folder that belongs to the kernel sources as they are now.
os.environ.setdefault("NUMBA_CACHE_DIR", numba.config.CACHE_DIR)


# On the way to main the same examples every time; by hand new ones every time, so that bugs still get found. Never a
# deadline: the first example may have to compile a kernel.
hypothesis.settings.register_profile("ci", derandomize=True, deadline=None)
hypothesis.settings.register_profile("hand", deadline=None)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "hand")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Where several processes share the tests (`-n 2 --dist loadgroup`), files stay whole, because their fixtures are,
    and one process has all that need Ray, because two clusters would starve each other.
    """
    for item in items:
        folder = item.path.parent.name
        item.add_marker(pytest.mark.xdist_group(folder if folder == "integration" else item.path.stem))


@pytest.fixture(scope="session", autouse=True)
def session_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """No test may read the user's settings, touch their data or send anything anywhere."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("REDIS_URL", "RAY_ADDRESS", "MLFLOW_URI", "URL", "TOKEN", "TOKEN_FILE", "TOKENS", "TOKENS_FILE"):
            variable = f"GAMMONFARM_{name}"
            patch.delenv(variable, raising=False)
        home = tmp_path_factory.mktemp("home")
        patch.setenv("GAMMONFARM_HOME", str(home))
        patch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
        yield home


@pytest.fixture(scope="session")
def databases(session_home: Path) -> Bearoff:
    """Everything a user has; one for the whole session, because building takes seconds."""
    return open_databases(session_home)


@pytest.fixture(scope="session")
def ray_executor() -> Iterator[RayExecutor]:
    """Two workers on a local Ray cluster; one for the whole session, because a start costs seconds."""
    from cluster.ray_executor import RayExecutor

    executor = RayExecutor(workers=2)
    yield executor
    executor.close()


@pytest.fixture(scope="session")
def tracking_uri(tmp_path_factory: pytest.TempPathFactory) -> str:
    """One MLflow database for the whole session, because making one takes seconds."""
    return f"sqlite:///{tmp_path_factory.mktemp('mlflow') / 'runs.db'}"
