"""The match around a game: length, score, cube and the rules that change what a point is worth.

Everything is in the **mover's** view: `score[0]` is the mover's, `CubeOwner.MOVER` is the player to decide.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from engine.errors import InputError
from engine.rules import INTERNATIONAL, RuleSet

if TYPE_CHECKING:
    from engine.met.table import MatchEquityTable

DEFAULT_CUBE_CAP = 1024
"""What both XG and GNU Backgammon use when nothing is said."""
MAX_CUBE = 1 << 30
MAX_POINTS = 32767
"""Longest match and highest score: the GNU match ID gives each of them 15 bits."""


class Side(enum.Enum):
    """One of the two sides, in the mover's view."""

    MOVER = "mover"
    OPPONENT = "opponent"

    @property
    def other(self) -> Side:
        """The other one; also the same side seen by the other player."""
        return Side.OPPONENT if self is Side.MOVER else Side.MOVER


class CubeOwner(enum.Enum):
    """Who may turn the cube next, in the mover's view."""

    CENTRED = "centred"
    MOVER = "mover"
    OPPONENT = "opponent"

    def flip(self) -> CubeOwner:
        """The same owner seen by the other player."""
        return _OTHER_OWNER[self]


_OTHER_OWNER = {
    CubeOwner.CENTRED: CubeOwner.CENTRED,
    CubeOwner.MOVER: CubeOwner.OPPONENT,
    CubeOwner.OPPONENT: CubeOwner.MOVER,
}


@dataclass(frozen=True, slots=True)
class MatchState:
    """Score and cube, in the mover's view.

    Raises:
        InputError: on construction, for the first field that cannot be so (`match length`, `score`, `cube value`,
            `cube owner`, `cube cap`, `Crawford`, `Jacoby`, `beaver`, `automatic doubles`).
    """

    length: int = 0
    """Points to win the match, 0..32767; 0 = money."""
    score: tuple[int, int] = (0, 0)
    """Points won so far (mover, opponent). In money play a running score: kept for round trips, it means nothing."""
    cube_value: int = 1
    """A power of two, at most `cube_cap`. While a double stands unanswered: the value before it."""
    cube_owner: CubeOwner = CubeOwner.CENTRED
    """A cube above 1 may be centred (automatic doubles); a cube at 1 always is."""
    cube_cap: int = DEFAULT_CUBE_CAP
    """The largest value the cube may reach, a power of two; 1 = play without a cube."""
    crawford: bool = False
    """This is the one game of a match that is played without a cube."""
    jacoby: bool = False
    """Money only: gammons count once the cube has been turned."""
    beaver: bool = False
    """Money only: the player who is doubled may redouble at once and keep the cube."""
    raccoon: bool = True
    """Where beavers are played: the player who is beavered may redouble once more, the cube staying where it is."""
    automatic_doubles: int = 0
    """Money only: how often a game equal opening dice turn the cube, which stays centred; 0 = not played."""
    crawford_rule: bool = True
    """Matches only: the first game in which a side needs one point is played without the cube."""
    rules: RuleSet = INTERNATIONAL
    """How the game is played. IDs don't say it: `Position.under` sets it."""

    def __post_init__(self) -> None:
        if not 0 <= self.length <= MAX_POINTS:
            raise InputError("match length", self.length, f"0 (money) to {MAX_POINTS}")
        shown_score = f"{self.score[0]}-{self.score[1]}"
        if not all(0 <= points <= MAX_POINTS for points in self.score):
            raise InputError("score", shown_score, f"points from 0 to {MAX_POINTS}")
        if self.length and max(self.score) >= self.length:
            raise InputError("score", shown_score, f"less than the match length {self.length}")
        if not _is_power_of_two(self.cube_cap) or self.cube_cap > MAX_CUBE:
            raise InputError("cube cap", self.cube_cap, "a power of two")
        if not _is_power_of_two(self.cube_value) or self.cube_value > self.cube_cap:
            raise InputError("cube value", self.cube_value, f"a power of two, at most the cap {self.cube_cap}")
        if self.cube_value == 1 and self.cube_owner is not CubeOwner.CENTRED:
            raise InputError("cube owner", self.cube_owner.value, "centred while the cube is at 1")
        if self.crawford:
            self._check_crawford()
        if self.jacoby and self.length:
            raise InputError("Jacoby", self.jacoby, "only in money play")
        if self.beaver and self.length:
            raise InputError("beaver", self.beaver, "only in money play")
        if self.automatic_doubles < 0 or (self.automatic_doubles and self.length):
            raise InputError("automatic doubles", self.automatic_doubles, "0, or a number of them in money play")

    def _check_crawford(self) -> None:
        if not self.length:
            raise InputError("Crawford", self.crawford, "only in a match")
        if not self.crawford_rule:
            raise InputError("Crawford", self.crawford, "a match with the Crawford rule")
        if max(self.score) != self.length - 1:
            shown = f"{self.score[0]}-{self.score[1]} of {self.length}"
            raise InputError("Crawford", shown, "a score at which one side needs one point")
        if self.cube_value != 1:
            raise InputError("cube value", self.cube_value, "1 in the Crawford game")

    @property
    def is_money(self) -> bool:
        """No match: every game stands alone and points add up."""
        return self.length == 0

    @property
    def away(self) -> tuple[int, int] | None:
        """Points that (mover, opponent) still need; None in money play."""
        if self.is_money:
            return None
        return self.length - self.score[0], self.length - self.score[1]

    @property
    def post_crawford(self) -> bool:
        """A side needs one point and the Crawford game is over (or there was none)."""
        return self.length > 0 and max(self.score) == self.length - 1 and not self.crawford

    @property
    def cube_in_play(self) -> bool:
        """Whether anybody may double in this game: not in the Crawford game, a one-point match or without a cube."""
        return self.rules.cube and not self.crawford and self.length != 1 and self.cube_cap > 1

    def counted(self, kind: int, after_double: bool = False) -> int:
        """What a win of this kind (1 single, 2 gammon, 3 backgammon) multiplies the cube by.

        With the Jacoby rule gammons count single while the cube is centred, also where automatic doubles have turned
        it.

        Args:
            after_double: as it would be once a double has been accepted.
        """
        centred = self.cube_owner is CubeOwner.CENTRED and not after_double
        if not self.rules.gammon_counts or (self.jacoby and centred):
            return 1
        return kind if self.rules.backgammon_counts else min(kind, 2)

    def game_values(self, met: MatchEquityTable | None, doublings: int = 1) -> NDArray[np.float64]:
        """What every end of this game is worth to the mover: see `engine.met.stakes.game_values`."""
        # Inside, because tables need match states: this method is a shorter name for a function of `engine.met`.
        from engine.met.stakes import game_values

        return game_values(self, met, doublings)

    def flip(self) -> MatchState:
        """The same match seen by the other player; `flip()` twice is the identity."""
        return replace(self, score=(self.score[1], self.score[0]), cube_owner=self.cube_owner.flip())


def _is_power_of_two(value: int) -> bool:
    return value > 0 and value & (value - 1) == 0
