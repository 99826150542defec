"""How long to wait before the next try of what goes on failing."""

from __future__ import annotations

_MOST_DOUBLED = 60
"""More is no longer pause anywhere, and in the end no number."""


def doubled(first: float, failures: int, longest: float) -> float:
    """`first` seconds, doubled with each of so many failures, at most `longest`: also after a night of them."""
    return min(first * 2.0 ** min(failures, _MOST_DOUBLED), longest)
