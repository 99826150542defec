"""Writing a file whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Where to write; what was written replaces `path` at the end. After an error the older file stands."""
    partial = path.with_name(path.name + ".partial")
    yield partial
    partial.replace(path)
