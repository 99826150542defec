"""Versions of what an answer depends on."""

from __future__ import annotations

import platform
from functools import cache
from importlib.metadata import PackageNotFoundError, version

_NAMED = ("gammonfarm", "numba", "numpy", "ray", "torch")


def versions(names: tuple[str, ...] = _NAMED) -> dict[str, str]:
    """Installed versions by distribution name, and Python's; nothing is imported."""
    return {"python": platform.python_version(), **{name: _version(name) for name in names}}


@cache
def _version(name: str) -> str:
    try:
        return version(name)  # reads a file; every answer of a farm asks
    except PackageNotFoundError:
        return "not installed"
