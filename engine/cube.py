"""The game of the cube around a position: which states it can reach in a search, and what they are worth.

The kernels (`engine.kernels.cube`) know no scores and no rules: everything that they need stands in the arrays that are
made here from a match state.
"""

from __future__ import annotations

import enum
import hashlib
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from engine.efficiency import CubeEfficiency
from engine.kernels.cube import LOSE1, NOBODY, NONE, POINT, WIN1, CubeGame
from engine.kernels.search import HIGHEST_LEVEL
from engine.match import CubeOwner, MatchState
from engine.met import MatchEquityTable

UNLIMITED_DOUBLINGS = 6
"""Money play with room for as many doublings counts as play without a limit: all cubes are alike then."""
MOST_STATES = 24
MOST_TURNS = 17
"""Bounds of the S and L of any `CubeGame`: a match goes up to 128 points a side."""
_UTILITY_STEPS = 1024

_State = tuple[int, int]  # turns, owner


class CubeBranch(enum.Enum):
    """What has been done with the cube where trials start; of no meaning without the cube."""

    OPEN = "open"
    """The player who rolls first may double before he does."""
    NO_DOUBLE = "no_double"
    """He has decided to roll."""
    DOUBLE_TAKE = "double_take"
    """He has doubled, and his opponent has taken."""


@dataclass(frozen=True, slots=True)
class CubePlay:
    """The cube as the trials of a rollout play with it; equal where no trial can tell the difference."""

    digest: str
    """Of everything that a trial can see: states of the cube, what they are worth, efficiencies."""
    match: MatchState = field(compare=False)
    """In the view of the question's mover, before he doubles or rolls."""
    met: MatchEquityTable | None = field(compare=False)
    efficiency: CubeEfficiency = field(compare=False)

    @staticmethod
    def of(match: MatchState, met: MatchEquityTable | None, efficiency: CubeEfficiency) -> CubePlay:
        """
        Raises:
            InputError: as `make_question`.
        """
        question = make_question(match, met, efficiency, to_the_end=True)
        digest = hashlib.blake2b(digest_size=8)
        for name, part in zip(CubeGame._fields, question.game, strict=True):
            if name != "counts":
                array = np.asarray(part)
                digest.update(f"{name}{array.dtype.str}{array.shape}".encode() + array.tobytes())
        return CubePlay(digest.hexdigest(), match, met, efficiency)

    def question(self) -> CubeQuestion:
        """Side 0 is the question's mover."""
        return make_question(self.match, self.met, self.efficiency, to_the_end=True)


@dataclass(frozen=True, slots=True, eq=False)
class CubeQuestion:
    """A match state as a search takes it; side 0 is the player whose view the state has, and who is on roll."""

    match: MatchState
    game: CubeGame
    utilities: tuple[NDArray[np.int64], NDArray[np.int64]]
    """[5] for side 0 and 1: cubeless worth of the five outcomes, for ordering plays; any positive unit."""

    def equity(self, value: int) -> float:
        """A kernel's value as equity in units of the cube: +1 and -1 are winning and losing a single game.

        In a match that is the linear scale through these two chances to win the match (EMG).
        """
        low, high = self.single
        return (value / POINT - low) / (high - low) * 2.0 - 1.0

    def mwc(self, value: int) -> float | None:
        """A kernel's value as chance to win the match; None in money play."""
        return None if self.match.is_money else (value / POINT + 1.0) / 2.0

    def value(self, equity: float) -> float:
        """What a difference of equity is as a difference of kernel values."""
        low, high = self.single
        return equity * (high - low) / 2.0 * POINT

    @property
    def single(self) -> tuple[float, float]:
        """Values of losing and of winning a single game now: what counts as an equity of -1 and +1."""
        worth = self.game.worth[0, 0]
        return float(worth[LOSE1]), float(worth[WIN1])

    def points(self, end: int) -> int:
        """The value of a game that ends now: 0, 1, 2 for a win of 1, 2, 3 times the cube; 3, 4, 5 for a loss."""
        return _in_points(float(self.game.worth[0, 0, end]))


def cube_in_play(match: MatchState) -> bool:
    """Whether either side may still turn the cube to some use in this game."""
    return bool(_live(match).any())


def cube_matters(match: MatchState) -> bool:
    """Whether a value with the cube and at the score says more than a cubeless one."""
    return not match.is_money or cube_in_play(match)


def make_question(
    match: MatchState, met: MatchEquityTable | None, efficiency: CubeEfficiency, *, to_the_end: bool = False
) -> CubeQuestion:
    """Everything about the cube that a search from this state needs.

    Args:
        match: in the view of the player on roll at the search's first node, before he doubles or rolls.
        met: needed in a match.
        to_the_end: with all states that a whole game can reach, not only those of a search; `counts` then mean nothing.

    Raises:
        InputError: a match without a table, or one longer than tables go.
    """
    live = _live(match)
    unlimited = _unlimited(match)
    worth = _worth(match, met, live.shape[1])
    order, counts = _states(match, live, unlimited, to_the_end)
    index = {state: number for number, state in enumerate(order)}
    s = len(order)
    taken = np.full((2, s), NONE, dtype=np.int64)
    beavered = np.full((2, s), NONE, dtype=np.int64)
    passed = np.zeros((2, s), dtype=np.int64)
    dropped = np.zeros((2, s), dtype=np.int64)
    for side in (0, 1):
        for number, state in enumerate(order):
            after, again = _turned(state, side, live, unlimited, match.beaver)
            # A state that is first met at the last node is never doubled in: its successor isn't there.
            if after is None or after not in index:
                continue
            turns = state[0]
            taken[side, number] = index[after]
            passed[side, number] = _in_points(worth[side, turns, WIN1])
            if again is not None and again in index:
                beavered[side, number] = index[again]
                next_loss = 2.0 * worth[side, 0, LOSE1] if unlimited else worth[side, turns + 1, LOSE1]
                dropped[side, number] = _in_points(next_loss)
    game = CubeGame(
        counts=np.array(counts, dtype=np.int64),
        owner=np.array([owner for _, owner in order], dtype=np.int64),
        turns=np.array([turns for turns, _ in order], dtype=np.int64),
        taken=taken,
        beavered=beavered,
        pass_value=passed,
        drop_value=dropped,
        worth=worth,
        live=live,
        scale=2 if unlimited else 1,
        unlimited=unlimited,
        jacoby=_jacoby(match),
        exact=unlimited,
        efficiency=np.array(efficiency.rows),  # writable: for read-only arrays kernels would be compiled a second time
    )
    return CubeQuestion(match, game, (_utility(worth[0, 0]), _utility(worth[1, 0])))


def _in_points(value: float) -> int:
    return int(np.floor(value * POINT + 0.5))


def _doublings_left(match: MatchState) -> int:
    """How often the cube may be turned before it reaches its cap; 0 where the game is played without it."""
    if not match.cube_in_play:
        return 0
    return (match.cube_cap // match.cube_value).bit_length() - 1


def _unlimited(match: MatchState) -> bool:
    return match.is_money and _doublings_left(match) >= UNLIMITED_DOUBLINGS


def _jacoby(match: MatchState) -> bool:
    """Whether gammons count single on a centred cube: not in games that are played without a cube."""
    return match.jacoby and match.cube_in_play


def _live(match: MatchState) -> NDArray[np.bool_]:
    """[2, L]: whether a side can gain by turning a cube that has been turned so often; the last column is False unless
    all cubes are alike.

    In a match a cube is of no use to a player who wins the match with a single game at its value.
    """
    left = _doublings_left(match)
    if _unlimited(match):
        return np.ones((2, 1), dtype=np.bool_)
    away = match.away
    if away is None:
        return np.array([[turns < left for turns in range(left + 1)]] * 2)
    useful = 0
    while match.cube_value << useful < max(away):
        useful += 1
    top = min(left, useful)
    cubes = [match.cube_value << turns for turns in range(top + 1)]
    return np.array([[turns < top and points > cube for turns, cube in enumerate(cubes)] for points in away])


def _worth(match: MatchState, met: MatchEquityTable | None, length: int) -> NDArray[np.float64]:
    """float64[2, length, 6], see `CubeGame.worth`: gammons count in all of it, also under the Jacoby rule."""
    if match.is_money:
        rules = match.rules
        second = 2.0 if rules.gammon_counts else 1.0
        third = 3.0 if rules.gammon_counts and rules.backgammon_counts else second
        wins = np.array([1.0, second, third])
        rows = [np.concatenate([wins, -wins]) * (1 << turns) for turns in range(length)]
        return np.stack([np.stack(rows)] * 2)
    mover = 2.0 * match.game_values(met, length - 1) - 1.0
    return np.stack([mover, -np.roll(mover, 3, axis=1)])


def _turned(
    state: _State, side: int, live: NDArray[np.bool_], unlimited: bool, beavers: bool
) -> tuple[_State | None, _State | None]:
    """The states after the side's double is taken, and after it is beavered; None where it can't be or is of no use."""
    turns, owner = state
    if owner == 1 - side or not live[side, turns]:
        return None, None
    if unlimited:
        return (0, 1 - side), (0, 1 - side) if beavers else None
    room = turns + 2 < live.shape[1]
    return (turns + 1, 1 - side), (turns + 2, 1 - side) if beavers and room else None


def _states(
    match: MatchState, live: NDArray[np.bool_], unlimited: bool, to_the_end: bool
) -> tuple[list[_State], list[int]]:
    """The states in the order in which a search meets them, and `CubeGame.counts`; `to_the_end`: all of them."""
    owner = {CubeOwner.CENTRED: NOBODY, CubeOwner.MOVER: 0, CubeOwner.OPPONENT: 1}[match.cube_owner]
    order: list[_State] = [(0, owner)]
    counts = [1]
    for depth in range(HIGHEST_LEVEL):
        for state in list(order):
            for following in _turned(state, depth & 1, live, unlimited, match.beaver):
                if following is not None and following not in order:
                    order.append(following)
        counts.append(len(order))
    if to_the_end:
        for state in order:  # which grows as it is walked
            found = {following for side in (0, 1) for following in _turned(state, side, live, unlimited, match.beaver)}
            order.extend(sorted(following for following in found if following and following not in order))
    return order, counts


def _utility(worth: NDArray[np.float64]) -> NDArray[np.int64]:
    """int64[5] for `engine.kernels.network.equity_of`, in 1/1,024 of half of what lies between a win and a loss.

    Only the order that it gives matters, so rounding it decides no value.
    """
    win, gammon, backgammon, loss, lose_gammon, lose_backgammon = (float(u) for u in worth)
    steps = np.array([win - loss, gammon - win, backgammon - gammon, lose_gammon - loss, lose_backgammon - lose_gammon])
    return np.rint(steps * (2.0 * _UTILITY_STEPS / (win - loss))).astype(np.int64)
