"""What is at stake in a game: the worth of its ends, normalised equity, take points and gammon values.

All from the mover's view of a `MatchState`; `take_points` gives both sides.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.errors import InputError
from engine.match import CubeOwner, MatchState, Side
from engine.met.table import MatchEquityTable

KINDS = 3
"""Kinds of win: single, gammon, backgammon."""


def game_values(state: MatchState, met: MatchEquityTable | None, doublings: int = 1) -> NDArray[np.float64]:
    """What every end of the game is worth to the mover, at this cube and at those that accepted doubles lead to.

    Args:
        met: needed in a match; not looked at in money play.

    Returns:
        float64[doublings + 1, 6]: row d is for the cube at 2**d times its value now; columns are the mover winning a
        single game, a gammon, a backgammon, then losing them. In a match: his chance to win the match. In money play:
        points (cube included). Kinds of win that the rule set doesn't count are worth the lower kind, and in row 0 so
        are all where Jacoby holds (centred cube); in the other rows a double has been accepted.

    Raises:
        InputError: a match without a table, or one longer than tables go.
    """
    values = np.empty((doublings + 1, 2 * KINDS))
    for doubling in range(doublings + 1):
        for kind in range(1, KINDS + 1):
            points = (state.cube_value << doubling) * _counted(state, kind, turned=doubling > 0)
            if state.is_money:
                values[doubling, kind - 1], values[doubling, KINDS + kind - 1] = points, -points
                continue
            if met is None:
                raise InputError("match equity table", None, "one, since this is a match")
            values[doubling, kind - 1] = met.after(state, Side.MOVER, points)
            values[doubling, KINDS + kind - 1] = met.after(state, Side.OPPONENT, points)
    return values


def _counted(state: MatchState, kind: int, turned: bool) -> int:
    """What multiplies the cube when a game is won by `kind`; `turned`: after a double that was accepted."""
    if not state.rules.gammon_counts or (state.jacoby and state.cube_owner is CubeOwner.CENTRED and not turned):
        return 1
    return kind if state.rules.backgammon_counts else min(kind, 2)
