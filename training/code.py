"""Which code made something."""

from __future__ import annotations

import hashlib
from importlib import metadata
from pathlib import Path

_ROOT = Path(__file__).resolve().parent.parent


def code_version() -> str:
    """The installed version of gammonfarm, or `unknown` where it only lies in a folder."""
    try:
        return metadata.version("gammonfarm")
    except metadata.PackageNotFoundError:
        return "unknown"


def code_digest() -> str:
    """Names the sources that a net depends on: all of `engine` and `training`."""
    digest = hashlib.sha256()
    for room in ("engine", "training"):
        for path in sorted((_ROOT / room).rglob("*.py")):
            digest.update(path.relative_to(_ROOT).as_posix().encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
