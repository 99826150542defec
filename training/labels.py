"""What a label must be like: outcomes that no position can have are refused, and counted."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.outcome import LOSE_BACKGAMMON, LOSE_GAMMON, WIN, WIN_BACKGAMMON, WIN_GAMMON

TOLERANCE = 1e-5
"""Rounding of float32."""
ESTIMATE_TOLERANCE = 0.05
"""How far an estimate with variance reduction may leave what is possible by chance; it is then moved to the edge."""


def possible(
    boards: NDArray[np.int8], labels: NDArray[np.float32], checkers: int, tolerance: float = TOLERANCE
) -> NDArray[np.bool_]:
    """Which labels (float32[N, 5]) their after-positions (int8[N, 26], same view) can have: bool[N].

    Impossible are: no numbers; chances outside [0, 1]; more gammons than wins or more backgammons than gammons; a
    gammon against a side that has borne off a checker (of `checkers`).
    """
    p = labels.astype(np.float64)
    counts = boards.astype(np.int64)
    own_off = np.maximum(counts, 0).sum(axis=1) < checkers
    other_off = np.maximum(-counts, 0).sum(axis=1) < checkers
    lose = 1.0 - p[:, WIN]
    differences = np.stack(
        [
            p[:, WIN_BACKGAMMON],
            p[:, WIN_GAMMON] - p[:, WIN_BACKGAMMON],
            p[:, WIN] - p[:, WIN_GAMMON],
            lose - p[:, LOSE_GAMMON],
            p[:, LOSE_GAMMON] - p[:, LOSE_BACKGAMMON],
            p[:, LOSE_BACKGAMMON],
            np.where(other_off, -p[:, WIN_GAMMON], 0.0),
            np.where(own_off, -p[:, LOSE_GAMMON], 0.0),
        ]
    )
    # Comparisons with NaN are false: what is no number is impossible.
    return np.asarray(np.all(differences >= -tolerance, axis=0), dtype=np.bool_)


def to_the_edge(labels: NDArray[np.float32]) -> NDArray[np.float32]:
    """Estimates that left what is possible by a little, moved to the nearest edge (float32[N, 5], a copy)."""
    p = np.clip(labels, 0.0, 1.0)
    p[:, WIN_GAMMON] = np.minimum(p[:, WIN_GAMMON], p[:, WIN])
    p[:, WIN_BACKGAMMON] = np.minimum(p[:, WIN_BACKGAMMON], p[:, WIN_GAMMON])
    p[:, LOSE_GAMMON] = np.minimum(p[:, LOSE_GAMMON], 1.0 - p[:, WIN])
    p[:, LOSE_BACKGAMMON] = np.minimum(p[:, LOSE_BACKGAMMON], p[:, LOSE_GAMMON])
    return p.astype(np.float32)
