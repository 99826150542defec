"""Displays that are on the screen for as long as something runs."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from rich.live import Live
from rich.progress import Progress


class OnScreen:
    """A context in which a display of rich is shown."""

    def __init__(self, display: Progress | Live) -> None:
        self._display = display

    def __enter__(self) -> Self:
        self._display.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._display.stop()
