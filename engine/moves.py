"""Legal plays and perft for readers who don't write kernels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.board import Board
from engine.kernels import moves as kernel
from engine.memory import writable
from engine.rules import RuleSet

ROLLS: tuple[tuple[int, int], ...] = tuple((high, low) for high in range(1, 7) for low in range(1, high + 1))
"""The 21 rolls, higher die first."""


def roll_weight(dice: tuple[int, int]) -> int:
    """How many of the 36 throws show this roll."""
    return 1 if dice[0] == dice[1] else 2


def legal_plays(board: Board, dice: tuple[int, int], rules: RuleSet) -> NDArray[np.int8]:
    """All distinct after-positions of a roll.

    Returns:
        int8[P, 26] in the mover's view, before turning round; one row, the unchanged board, if nothing can be played.
    """
    plays: NDArray[np.int8] = kernel.legal_plays(writable(board), dice[0], dice[1], rules.move_flags)
    return plays
