"""Which gammonfarm is installed here: machines of one farm must have the same."""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path

_ROOT = Path(__file__).resolve().parent.parent
_PARTS = ("engine", "training", "workers", "cluster", "configs")
_KINDS = {".py", ".toml", ".txt"}


@functools.cache
def sources_digest(root: Path = _ROOT) -> str:
    """Hex digest over the names and contents of all sources and settings that come with gammonfarm."""
    digest = hashlib.blake2b(digest_size=8)
    for part in _PARTS:
        for path in sorted((root / part).rglob("*")):
            if path.suffix in _KINDS:
                digest.update(path.relative_to(root).as_posix().encode() + b"\0")
                digest.update(hashlib.blake2b(path.read_bytes(), digest_size=16).digest())
    return digest.hexdigest()
