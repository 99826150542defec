"""Versions of what an answer depends on."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

_NAMED = ("gammonfarm", "numba", "numpy", "ray", "torch")


def versions(names: tuple[str, ...] = _NAMED) -> dict[str, str]:
    """Installed versions by distribution name, and Python's; nothing is imported."""
    found = {"python": platform.python_version()}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found
