"""A match equity table: the chance to win the match at every score, up to 128 points away for each side.

A published table ends at 15 or 25 points. Beyond its end it is carried on by formulas that join it without a step,
since they read the table's own last values:

- *pre-Crawford*: the score is a random walk. A game is won by either side with the same chance and ends with n points
  with the chance `CUBEFUL_GAMES[n]`, so m(a, b) = sum over n of CUBEFUL_GAMES[n] * (m(a - n, b) + m(a, b - n)) / 2,
  with m = 1 for a <= 0 and m = 0 for b <= 0.
- *Crawford game* (the leader needs one point, the other side b): the trailer must win it, with the gammon rate g:
  m(1, b) = 1 - ((1 - g) * post(b - 1) + g * post(b - 2)) / 2.
- *post-Crawford*: the trailer doubles at once, so he wins two points or, with a gammon, four:
  post(b) = ((1 - g) * post(b - 2) + g * post(b - 4)) / 2.

No chance falls as the opponent needs more points: where rounded values at the end of a table would make it, it stays
what it was. The last two formulas are what Zadeh uses ("On Doubling in Tournament Backgammon", Management Science 23,
1977), with g = 1/4. Cubeless tables (`engine.met.cubeless`) are computed that far anyway. Only additions and
multiplications of 64-bit numbers in a fixed order: the same bits everywhere.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from engine.errors import InputError
from engine.match import MatchState, Side

MAX_AWAY = 128
"""Points that a side may need: what tables are carried on to."""

TRAILER_GAMMONS = 0.25
"""g: part of the trailer's wins that are gammons where the leader needs one point, beyond the end of a table."""

CUBEFUL_GAMES = MappingProxyType({1: 0.46, 2: 0.34, 4: 0.16, 8: 0.04})
"""Chances of the points of a game with the cube. Fitted: the Kazaross-XG2, Rockwell-Kazaross and Jacobs-Trice tables,
cut at 11 points and carried on with these to 25, are found again within 0.005 (on average within 0.0014)."""

DECIMALS = 12
"""To which chances are rounded."""

_ROUNDING = 0.003
"""By how much m(a, b) + m(b, a) may miss 1: published tables are rounded one value at a time."""


@dataclass(frozen=True, slots=True, eq=False)
class MatchEquityTable:
    """Chances to win the match between two equal players, at the beginning of a game.

    Made by `load_met`, `make_table` or `engine.met.cubeless.cubeless_table`.
    """

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
    starting: NDArray[np.float64] | None = None
    """[MAX_AWAY, MAX_AWAY], read-only: [a - 1, b - 1] = chance of the side that needs a points and begins the game, for
    rules by which the winner of a game begins the next one; None: an opening roll decides. Then `pre_crawford` is the
    mean over who begins."""

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
        own_left, other_left = (own - points, other) if winner is Side.MOVER else (own, other - points)
        if self.starting is None or min(own_left, other_left) <= 0:
            # The game to come is the Crawford game where a side needs one point for the first time.
            return self.mwc(own_left, other_left, state.crawford_rule and min(own, other) > 1)
        if max(own_left, other_left) > MAX_AWAY:
            raise InputError("points away", max(own_left, other_left), f"at most {MAX_AWAY}")
        if winner is Side.MOVER:
            return float(self.starting[own_left - 1, other_left - 1])
        return 1.0 - float(self.starting[other_left - 1, own_left - 1])

    @property
    def digest(self) -> str:
        """16 hexadecimal digits that name all values; belongs in the key of whatever depends on the table."""
        values = hashlib.blake2b(digest_size=8)
        for array in (self.pre_crawford, self.post_crawford, self.starting):
            if array is not None:
                values.update(array.astype("<f8").tobytes())
        return values.hexdigest()


def make_table(
    name: str,
    source: str,
    pre_crawford: Sequence[Sequence[float]],
    post_crawford: Sequence[float],
    rules: str = "international",
) -> MatchEquityTable:
    """Check a table with a cube as it was published and carry it on.

    Args:
        pre_crawford: [n][n] chances of the side that needs row + 1 points against column + 1.
        post_crawford: [n] or shorter, see `MatchEquityTable`.

    Raises:
        InputError: another shape, a value that is no chance, rows that don't grow with the points that the opponent
            needs, or a table in which the two sides are not equal.
    """
    rows = [list(row) for row in pre_crawford]
    n = len(rows)
    if not 1 <= n <= MAX_AWAY or any(len(row) != n for row in rows):
        raise InputError("match equity table", name, f"as many columns as rows, 1 to {MAX_AWAY}")
    if not 1 <= len(post_crawford) <= MAX_AWAY:
        raise InputError("match equity table", name, f"1 to {MAX_AWAY} post-Crawford values")
    given, post = np.array(rows, dtype=np.float64), np.array(post_crawford, dtype=np.float64)
    for values in (given, post):
        if not bool(((values > 0.0) & (values < 1.0)).all()):
            raise InputError("match equity table", name, "chances between 0 and 1")
    if abs(given + given.T - 1.0).max() > _ROUNDING or abs(post[0] - 0.5) > _ROUNDING:
        raise InputError("match equity table", name, "two equal sides: chances that add up to 1")
    if (np.diff(given, axis=1) < 0.0).any() or (np.diff(post) > 0.0).any():
        raise InputError("match equity table", name, "chances that grow with the points that the opponent needs")
    full_post = _carry_on_post(post)
    full = _carry_on(given, full_post)
    return MatchEquityTable(name, source, n, read_only(full), read_only(full_post), rules)


def read_only(array: NDArray[np.float64]) -> NDArray[np.float64]:
    """The same array, which nobody can write to any more."""
    array.setflags(write=False)
    return array


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
        post[i] = min(post[i - 1], ((1 - TRAILER_GAMMONS) * single + TRAILER_GAMMONS * gammon) / 2)
    return post


def _carry_on(given: NDArray[np.float64], post: NDArray[np.float64]) -> NDArray[np.float64]:
    """[MAX_AWAY, MAX_AWAY], exactly antisymmetric."""
    n = len(given)
    # One row and column more than the result: a side that needs no points has won.
    m = np.zeros((MAX_AWAY + 1, MAX_AWAY + 1))
    m[0, 1:] = 1.0
    m[1 : n + 1, 1 : n + 1] = (given + 1.0 - given.T) / 2
    for b in range(1, MAX_AWAY + 1):
        for a in range(1, b):
            if b > n:
                m[a, b] = max(m[a, b - 1], _beyond(m, post, a, b))
            m[b, a] = 1.0 - m[a, b]
        m[b, b] = 0.5
    return np.round(m[1:, 1:], DECIMALS)  # a published 0.32264 stays 0.32264


def _beyond(m: NDArray[np.float64], post: NDArray[np.float64], a: int, b: int) -> float:
    """m(a, b) from the scores that one game leads to (a < b)."""
    if a == 1:
        gammon = post[b - 3] if b >= 3 else 1.0
        return float(1.0 - ((1 - TRAILER_GAMMONS) * post[b - 2] + TRAILER_GAMMONS * gammon) / 2)
    after = 0.0
    for points, chance in CUBEFUL_GAMES.items():
        after += chance * (m[max(a - points, 0), b] + m[a, max(b - points, 0)])
    return float(after / 2)
