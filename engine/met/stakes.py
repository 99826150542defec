"""What is at stake in a game: the worth of its ends, normalised equity, take points and gammon values.

All from the mover's view of a `MatchState`; `take_points` gives both sides.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.errors import InputError
from engine.match import MatchState, Side
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
            points = (state.cube_value << doubling) * state.counted(kind, after_double=doubling > 0)
            values[doubling, kind - 1] = _worth(state, met, points)
            values[doubling, KINDS + kind - 1] = _worth(state, met, -points)
    return values


def emg_of(value: float, state: MatchState, met: MatchEquityTable | None) -> float:
    """Equivalent money game equity (normalised equity) of a value of the game to the mover.

    The line through -1 = losing and +1 = winning a single game at this cube (the convention of GNU Backgammon and
    eXtreme Gammon): emg = (2 * value - win - lose) / (win - lose).

    Args:
        value: in the units of `game_values`: a chance to win the match, or points in money play.
    """
    win, lose = _single(state, met)
    return (2.0 * value - win - lose) / (win - lose)


def mwc_of(emg: float, state: MatchState, met: MatchEquityTable | None) -> float:
    """The inverse of `emg_of`: a chance to win the match, or points in money play."""
    win, lose = _single(state, met)
    return (win + lose + emg * (win - lose)) / 2.0


@dataclass(frozen=True, slots=True)
class CubeStakes:
    """What the cube and gammons are worth to one side, with the cube at its value c now.

    W(n) and L(n) are that side's chances to win the match after winning or losing n points (in money play: n, -n).
    """

    take_point_dead: float | None
    """Chance of winning, gammons left out, from which a double from c to 2c is a take if the cube is never turned
    again: (L(c) - L(2c)) / (W(2c) - L(2c)). Where losing 2c loses the match the taker redoubles at once, having
    nothing left to lose, and W(4c) takes the place of W(2c). None: nobody may double."""
    take_point_live: float | None
    """The same if the taker uses the cube perfectly and his chances move without jumps: he wins 2c when they reach the
    opponent's own live cash point, so it is (L(c) - L(2c)) / (W(2c) - L(2c)) times (1 - the opponent's live take point
    for a redouble from 2c to 4c). The last cube (at its cap, or 2c wins the match) is dead."""
    gammon_value: float
    """(W(2c) - W(c)) / (W(c) - L(c)): what a gammon adds to a win, compared with what a win adds to a loss. In money
    play 0.5; 0 where gammons don't count (rule set, Jacoby with a centred cube, or c wins the match)."""
    backgammon_value: float
    """(W(3c) - W(2c)) / (W(c) - L(c)): what a backgammon adds to a gammon."""


def take_points(state: MatchState, met: MatchEquityTable | None) -> tuple[CubeStakes, CubeStakes]:
    """Take points and gammon values of mover and opponent, for the cube at its value now, whoever owns it.

    Raises:
        InputError: a match without a table, or one longer than tables go.
    """
    return _stakes_of(state, met), _stakes_of(state.flip(), met)


def _stakes_of(state: MatchState, met: MatchEquityTable | None) -> CubeStakes:
    """Of the mover."""
    single, gammon, backgammon, lost = (float(value) for value in game_values(state, met, 0)[0, : KINDS + 1])
    cube = state.cube_value
    turns = state.cube_in_play and 2 * cube <= state.cube_cap
    return CubeStakes(
        take_point_dead=_dead_take_point(state, met, cube) if turns else None,
        take_point_live=_live_take_point(state, met, cube) if turns else None,
        gammon_value=(gammon - single) / (single - lost),
        backgammon_value=(backgammon - gammon) / (single - lost),
    )


def _dead_take_point(state: MatchState, met: MatchEquityTable | None, cube: int) -> float:
    passed, lost = _worth(state, met, -cube), _worth(state, met, -2 * cube)
    redoubles = state.away is not None and state.away[1] <= 2 * cube and 4 * cube <= state.cube_cap
    return (passed - lost) / (_worth(state, met, (4 if redoubles else 2) * cube) - lost)


def _live_take_point(state: MatchState, met: MatchEquityTable | None, cube: int) -> float:
    """Of the mover, who is doubled from `cube` to twice as much."""
    passed, lost = _worth(state, met, -cube), _worth(state, met, -2 * cube)
    dead = (passed - lost) / (_worth(state, met, 2 * cube) - lost)
    useless = 4 * cube > state.cube_cap or (state.away is not None and state.away[0] <= 2 * cube)
    return dead if useless else dead * (1.0 - _live_take_point(state.flip(), met, 2 * cube))


def _worth(state: MatchState, met: MatchEquityTable | None, points: int) -> float:
    """To the mover, of winning (or losing, if negative) so many points."""
    if state.is_money:
        return float(points)
    return _table(met).after(state, Side.MOVER if points > 0 else Side.OPPONENT, abs(points))


def _single(state: MatchState, met: MatchEquityTable | None) -> tuple[float, float]:
    return _worth(state, met, state.cube_value), _worth(state, met, -state.cube_value)


def _table(met: MatchEquityTable | None) -> MatchEquityTable:
    if met is None:
        raise InputError("match equity table", None, "one, since this is a match")
    return met
