"""A match equity table: the chance to win the match at every score, up to 128 points away for each side.

A published table ends at 15 or 25 points. Beyond its end it is carried on by formulas that join it without a step,
since they read the table's own last values:

- *pre-Crawford*: the score is a random walk. A game is won by either side with the same chance and ends with `points`
  with the chance `beyond[points]`, so m(a, b) = sum over points of beyond[points] * (m(a - points, b) +
  m(a, b - points)) / 2, with m = 1 for a <= 0 and m = 0 for b <= 0. Of a cubeless table, made with the chances of its
  own games, this is the exact continuation.
- *Crawford game* (the leader needs one point, the other side b): the trailer must win it, with the gammon rate g:
  m(1, b) = 1 - ((1 - g) * post(b - 1) + g * post(b - 2)) / 2.
- *post-Crawford*: the trailer doubles at once, so he wins two points or, with a gammon, four:
  post(b) = ((1 - g) * post(b - 2) + g * post(b - 4)) / 2.

The last two are what Zadeh ("On Doubling in Tournament Backgammon", Management Science 23, 1977) uses, with g = 1/4.
Only additions and multiplications of 64-bit numbers in a fixed order: the same bits everywhere.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from engine.errors import InputError
from engine.match import MatchState, Side

MAX_AWAY = 128
"""Points that a side may need: what tables are carried on to."""

TRAILER_GAMMONS = 0.25
"""g: part of the trailer's wins that are gammons, at 1-away and beyond the end of a table with a cube."""

CUBEFUL_GAMES = MappingProxyType({1: 0.46, 2: 0.34, 4: 0.16, 8: 0.04})
"""Chances of the points of a game with the cube. Fitted: the Kazaross-XG2, Rockwell-Kazaross and Jacobs-Trice tables,
cut at 11 points and carried on with these to 25, are found again within 0.005 (on average within 0.001)."""

_ROUNDING = 0.003
"""By how much m(a, b) + m(b, a) may miss 1: published tables are rounded one value at a time."""


@dataclass(frozen=True, slots=True, eq=False)
class MatchEquityTable:
    """Chances to win the match between two equal players, at the beginning of a game. Make one with `make_table`."""

    name: str
    source: str
    """Who made it, how and when."""
    length: int
    """Points up to which it was given; beyond, formulas (see the module) carry it on to `MAX_AWAY`."""
    pre_crawford: NDArray[np.float64]
    """[MAX_AWAY, MAX_AWAY], read-only: [a - 1, b - 1] = chance of the side that needs a points against b, no Crawford
    game having been played. Where a or b is 1 the game to come is the Crawford game."""
    post_crawford: NDArray[np.float64]
    """[MAX_AWAY], read-only: [a - 1] = chance of the side that needs a points against one that needs one, after the
    Crawford game."""
    rules: str = "international"
    """Name of the rule set it was made for."""
    cube: bool = True
    """Whether it was made for play with the cube."""

    def mwc(self, own_away: int, opponent_away: int, crawford: bool) -> float:
        """Chance to win the match of the side that needs `own_away` points, before a game.

        Args:
            own_away, opponent_away: points needed; 0 or less = that side has won the match.
            crawford: whether the game to come is the Crawford game. Matters only where a side needs one point: without
                it the Crawford game is over.

        Raises:
            InputError: more than `MAX_AWAY` points needed, or both sides have won.
        """
        if own_away <= 0 or opponent_away <= 0:
            if own_away <= 0 and opponent_away <= 0:
                raise InputError("points away", f"{own_away} and {opponent_away}", "one winner at most")
            return 1.0 if own_away <= 0 else 0.0
        if max(own_away, opponent_away) > MAX_AWAY:
            raise InputError("points away", max(own_away, opponent_away), f"at most {MAX_AWAY}")
        if not crawford and opponent_away == 1:
            return float(self.post_crawford[own_away - 1])
        if not crawford and own_away == 1:
            return 1.0 - float(self.post_crawford[opponent_away - 1])
        return float(self.pre_crawford[own_away - 1, opponent_away - 1])

    def before(self, state: MatchState) -> float:
        """The mover's chance to win the match at the beginning of the game that `state` belongs to.

        Raises:
            InputError: a money game, or more than `MAX_AWAY` points needed.
        """
        own, other = _away(state)
        return self.mwc(own, other, state.crawford)

    def after(self, state: MatchState, winner: Side, points: int) -> float:
        """The mover's chance to win the match after `winner` has won this game with `points` (cube included).

        Raises:
            InputError: a money game, or more than `MAX_AWAY` points needed.
        """
        own, other = _away(state)
        # The game to come is the Crawford game where a side needs one point for the first time.
        first = state.crawford_rule and min(own, other) > 1
        if winner is Side.MOVER:
            return self.mwc(own - points, other, first)
        return self.mwc(own, other - points, first)

    @property
    def digest(self) -> str:
        """16 hexadecimal digits that name all values: part of the key of whatever depends on the table."""
        values = hashlib.blake2b(digest_size=8)
        for array in (self.pre_crawford, self.post_crawford):
            values.update(array.astype("<f8").tobytes())
        return values.hexdigest()


def make_table(
    name: str,
    source: str,
    pre_crawford: Sequence[Sequence[float]],
    post_crawford: Sequence[float] | None,
    *,
    beyond: Mapping[int, float] = CUBEFUL_GAMES,
    rules: str = "international",
    cube: bool = True,
) -> MatchEquityTable:
    """Check a table as it was published and carry it on.

    Args:
        pre_crawford: [n][n] chances of the side that needs row + 1 points against column + 1.
        post_crawford: [n] or shorter, see `MatchEquityTable`; None for a cubeless table, in which the Crawford game
            is a game like any other.
        beyond: points of a game -> chance, used beyond the end.

    Raises:
        InputError: another shape, a value that is no chance, rows that don't grow with the points that the opponent
            needs, a table in which the two sides are not equal, or chances beyond that don't add up to 1.
    """
    rows = [list(row) for row in pre_crawford]
    n = len(rows)
    if not 1 <= n <= MAX_AWAY or any(len(row) != n for row in rows):
        raise InputError("match equity table", name, f"as many columns as rows, 1 to {MAX_AWAY}")
    given = np.array(rows, dtype=np.float64)
    post = np.array(post_crawford if post_crawford is not None else given[:, 0], dtype=np.float64)
    if not 1 <= len(post) <= MAX_AWAY:
        raise InputError("match equity table", name, f"1 to {MAX_AWAY} post-Crawford values")
    for values in (given, post):
        if not bool(((values > 0.0) & (values < 1.0)).all()):
            raise InputError("match equity table", name, "chances between 0 and 1")
    if abs(given + given.T - 1.0).max() > _ROUNDING or abs(post[0] - 0.5) > _ROUNDING:
        raise InputError("match equity table", name, "two equal sides: chances that add up to 1")
    if (np.diff(given, axis=1) < 0.0).any() or (np.diff(post) > 0.0).any():
        raise InputError("match equity table", name, "chances that grow with the points that the opponent needs")
    if min(beyond, default=0) < 1 or min(beyond.values()) < 0 or abs(sum(beyond.values()) - 1.0) > 1e-9:
        raise InputError("match equity table", name, "chances of a game's points that add up to 1")
    full_post = _carry_on_post(post) if post_crawford is not None else None
    pre = _carry_on(given, full_post, beyond)
    post_column = full_post if full_post is not None else pre[:, 0].copy()
    for array in (pre, post_column):
        array.setflags(write=False)
    return MatchEquityTable(name, source, n, pre, post_column, rules, cube)


def _away(state: MatchState) -> tuple[int, int]:
    if state.away is None:
        raise InputError("match length", 0, "a match: a money game has no match equity")
    return state.away


def _carry_on_post(given: NDArray[np.float64]) -> NDArray[np.float64]:
    """[MAX_AWAY]."""
    post = np.empty(MAX_AWAY)
    post[: len(given)] = given
    for i in range(len(given), MAX_AWAY):
        single, gammon = (post[i - points] if i >= points else 1.0 for points in (2, 4))
        post[i] = ((1 - TRAILER_GAMMONS) * single + TRAILER_GAMMONS * gammon) / 2
    return post


def _carry_on(
    given: NDArray[np.float64], post: NDArray[np.float64] | None, beyond: Mapping[int, float]
) -> NDArray[np.float64]:
    """[MAX_AWAY, MAX_AWAY], exactly antisymmetric; `post` is None where the Crawford game is a game like others."""
    n = len(given)
    # One row and column more than the result: a side that needs no points has won.
    m = np.zeros((MAX_AWAY + 1, MAX_AWAY + 1))
    m[0, 1:] = 1.0
    upper = np.triu(given, 1) - np.triu(given.T - 1.0, 1) if n > 1 else np.zeros((1, 1))
    m[1 : n + 1, 1 : n + 1] = np.triu(upper, 1) / 2
    for b in range(1, MAX_AWAY + 1):
        for a in range(1, b):
            if b > n:
                m[a, b] = _beyond(m, post, beyond, a, b)
            m[b, a] = 1.0 - m[a, b]
        m[b, b] = 0.5
    return m[1:, 1:].copy()


def _beyond(
    m: NDArray[np.float64], post: NDArray[np.float64] | None, beyond: Mapping[int, float], a: int, b: int
) -> float:
    """m(a, b) from the scores that one game leads to (a < b)."""
    if a == 1 and post is not None:
        gammon = post[b - 3] if b >= 3 else 1.0
        return float(1.0 - ((1 - TRAILER_GAMMONS) * post[b - 2] + TRAILER_GAMMONS * gammon) / 2)
    after = 0.0
    for points, chance in sorted(beyond.items()):
        after += chance * (m[max(a - points, 0), b] + m[a, max(b - points, 0)])
    return float(after / 2)
