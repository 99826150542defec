"""The outcome vector: five cumulative probabilities, and what they are worth.

`outcome` is float32[5] (or [N, 5]): win, win gammon, win backgammon, lose gammon, lose backgammon. "Cumulative": a win
gammon is also a win, a backgammon also a gammon. The point of view stands in the name of every variable that holds one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.rules import RuleSet

WIN, WIN_GAMMON, WIN_BACKGAMMON, LOSE_GAMMON, LOSE_BACKGAMMON = range(5)
OUTCOMES = 5
NAMES = ("win", "win_gammon", "win_backgammon", "lose_gammon", "lose_backgammon")

Floats = NDArray[np.float64]


def invert(outcome: Floats) -> Floats:
    """The same chances from the other player's view; `invert(invert(p)) == p`."""
    inverted = outcome[..., [WIN, LOSE_GAMMON, LOSE_BACKGAMMON, WIN_GAMMON, WIN_BACKGAMMON]].copy()
    inverted[..., WIN] = 1.0 - outcome[..., WIN]
    return inverted


def cubeless_equity(outcome: Floats, rules: RuleSet) -> Floats:
    """Points per game without a cube, from the view of the outcome: 2w - 1 + wg - lg (+ wbg - lbg)."""
    equity: Floats = np.asarray(outcome, dtype=np.float64) @ rules.utility - 1.0
    return equity


def is_consistent(outcome: Floats, tolerance: float = 1e-6) -> bool:
    """Whether all probabilities lie in [0, 1] and gammons nest: win >= wg >= wbg >= 0 and 1 - win >= lg >= lbg >= 0."""
    p = np.asarray(outcome, dtype=np.float64)
    nested = np.stack(
        [
            p[..., WIN_BACKGAMMON],
            p[..., WIN_GAMMON] - p[..., WIN_BACKGAMMON],
            p[..., WIN] - p[..., WIN_GAMMON],
            1.0 - p[..., WIN] - p[..., LOSE_GAMMON],
            p[..., LOSE_GAMMON] - p[..., LOSE_BACKGAMMON],
            p[..., LOSE_BACKGAMMON],
        ]
    )
    return bool(np.isfinite(nested).all() and (nested >= -tolerance).all())
