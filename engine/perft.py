"""Counting after-positions: the exact check of a move generator."""

from __future__ import annotations

from dataclasses import dataclass

from engine.board import Board
from engine.errors import InputError
from engine.kernels import perft as kernel
from engine.memory import writable
from engine.rules import RuleSet


@dataclass(frozen=True, slots=True)
class PerftCount:
    """Distinct after-positions at some depth; a pass counts as one, and nothing follows a finished game."""

    plays: int
    """Each of the 21 rolls counted once."""
    weighted: int
    """Each of the 36 throws counted once."""


def perft(board: Board, depth: int, rules: RuleSet) -> PerftCount:
    """Count the after-positions `depth` half-moves ahead.

    Raises:
        InputError: depth below 1.
    """
    if depth < 1:
        raise InputError("depth", depth, "a whole number of at least 1")
    plays, weighted = kernel.perft(writable(board), depth, rules.move_flags)
    return PerftCount(int(plays), int(weighted))
