"""What type of position a board is, by simple rules on the board alone.

The types divide errors into groups that a player would name, and each has a plan. They decide no value. Every rule
looks at both sides, so a position has one type whoever is on roll. "Holds" and "made" mean two checkers or more, points
are in the numbering of the side that is spoken of, and "behind" is by pips. The first rule that holds gives the type:

bear-off        no checker has an opposing one in front of it, and all checkers left are in their homes
race            no checker has an opposing one in front of it
opening         at most six of the thirty checkers have left the places where they start
back game       a side holds two or more points of the opponent's home and is behind in the race
ace-point       a side holds its point 24 and no other point of the opponent's home and is behind in the race; the
                opponent has brought every checker past its midpoint
containment     a side has one or two checkers on the bar or in the opponent's home, where it holds no point, and eleven
                or more at home or off: the other side tries to keep the straggler from coming home
bear-in         a side has brought every checker past its midpoint, to its points 1 to 12, with contact left
crunched        a side has at most six checkers that are neither off nor on its points 1 and 2
blitz           a side on the bar holds no point of the opponent's home, where three or four points are made against it
prime vs prime  both sides have four or more points in a row, with a checker of the opponent behind them
prime           one side does
mutual holding  both sides hold a point from which they wait: 18 to 24
holding         one side does, and the other has no checker left on its points 19 to 24 or on the bar
mixed           everything else

Close to the usual names, not the same as those of any other program: GNU Backgammon's class "crashed", for example,
counts deep checkers in another way.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.board import BAR, CHECKERS, PLACES, START, Board
from engine.match import Side

_MOVED_IN_THE_OPENING = 6
_DEEP_POINTS = 2
_LIVE_CHECKERS = 6
_PRIME = 4
_BLITZ_POINTS = (3, 4)
_STRAGGLERS = 2
_SAFE_BESIDE_STRAGGLERS = 11
_ACE_POINT = 24
_HOME = slice(1, 7)
_FAR_HOME = slice(19, 25)
_WAITING = slice(18, 25)
_MIDPOINT = 13

Flags = NDArray[np.bool_]


class PositionType(enum.Enum):
    """The type of a position, in the order of the rules; see the module for them."""

    BEAR_OFF = "bear-off"
    RACE = "race"
    OPENING = "opening"
    BACK_GAME = "back game"
    ACE_POINT = "ace-point"
    CONTAINMENT = "containment"
    BEAR_IN = "bear-in"
    CRUNCHED = "crunched"
    BLITZ = "blitz"
    PRIME_VS_PRIME = "prime vs prime"
    PRIME = "prime"
    MUTUAL_HOLDING = "mutual holding"
    HOLDING = "holding"
    MIXED = "mixed"

    @property
    def has_contact(self) -> bool:
        """Whether a checker can still be hit or blocked."""
        return self not in (PositionType.BEAR_OFF, PositionType.RACE)


TYPES: tuple[PositionType, ...] = tuple(PositionType)


@dataclass(frozen=True, slots=True)
class TypedPosition:
    """The type of one position, and whose game it is."""

    type: PositionType
    side: Side | None
    """The side that the rule speaks of (in a containment game: the one that contains), in the mover's view; None where
    both have the same plan."""


@dataclass(frozen=True, slots=True, eq=False)
class _Facts:
    """What the rules look at. First axis: positions; second: the mover, then the opponent."""

    counts: NDArray[np.int64]
    """[N, 2, 26]: each side's checkers by his own numbering."""
    rearmost: NDArray[np.int64]
    pips: NDArray[np.int64]

    def held(self, points: slice) -> NDArray[np.int64]:
        """How many of these points each side has made, [N, 2]."""
        return np.asarray((self.counts[:, :, points] >= 2).sum(axis=2))

    def checkers(self, places: slice) -> NDArray[np.int64]:
        """How many checkers each side has there, [N, 2]."""
        return np.asarray(self.counts[:, :, places].sum(axis=2))

    @property
    def behind(self) -> Flags:
        """Whether a side needs more pips than the other, [N, 2]."""
        return np.greater(self.pips, self.pips[:, ::-1])


def position_types(boards: NDArray[np.int8]) -> tuple[NDArray[np.uint8], NDArray[np.int8]]:
    """The types of many boards.

    Args:
        boards: int8[N, 26], each in the view of either player.

    Returns:
        (types uint8[N], indices into `TYPES`; sides int8[N]: 1 the side whose view the board has, -1 the other, 0
        both), `sides` as in `TypedPosition`.
    """
    counts = np.stack([np.maximum(boards, 0), np.maximum(-boards[:, ::-1], 0)], axis=1).astype(np.int64)
    places = np.arange(PLACES)
    facts = _Facts(counts, np.where(counts > 0, places, 0).max(axis=2, initial=0), counts @ places)
    types = np.full(len(boards), TYPES.index(PositionType.MIXED), dtype=np.uint8)
    sides = np.zeros(len(boards), dtype=np.int8)
    open_ = np.ones(len(boards), dtype=np.bool_)
    for number, position_type in enumerate(TYPES[:-1]):
        found = _RULES[position_type](facts)
        holds, own, other = (found, found, found) if found.ndim == 1 else (found.any(axis=1), found[:, 0], found[:, 1])
        first = open_ & holds
        types[first] = number
        sides[first] = (own.astype(np.int8) - other.astype(np.int8))[first]
        open_ &= ~holds
    return types, sides


def types_of(boards: NDArray[np.int8]) -> list[PositionType]:
    """The types of many boards, int8[N, 26], each in the view of either player."""
    return [TYPES[number] for number in position_types(boards)[0].tolist()]


def typed_position(board: Board) -> TypedPosition:
    """The type of a board, int8[26] in the mover's view, and whose game it is."""
    types, sides = position_types(np.asarray(board)[None])
    side = {1: Side.MOVER, -1: Side.OPPONENT, 0: None}[int(sides[0])]
    return TypedPosition(TYPES[int(types[0])], side)


def position_type(board: Board) -> PositionType:
    """The type of a board, int8[26] in the view of either player: `position_type(flip(b)) is position_type(b)`."""
    return typed_position(board).type


# One function per rule. A rule that both sides share gives bool[N]; one that is about a side gives bool[N, 2]: whether
# it holds for the mover, for the opponent.


def _race(facts: _Facts) -> Flags:
    return np.asarray(facts.rearmost.sum(axis=1) < PLACES)


def _bear_off(facts: _Facts) -> Flags:
    return _race(facts) & (facts.rearmost < _HOME.stop).all(axis=1)


def _opening(facts: _Facts) -> Flags:
    start = np.maximum(START, 0).astype(np.int64)
    return np.asarray(np.maximum(start - facts.counts, 0).sum(axis=(1, 2)) <= _MOVED_IN_THE_OPENING)


def _back_game(facts: _Facts) -> Flags:
    return (facts.held(_FAR_HOME) >= 2) & facts.behind


def _ace_point(facts: _Facts) -> Flags:
    alone = (facts.counts[:, :, _ACE_POINT] >= 2) & (facts.held(_FAR_HOME) == 1)
    return np.asarray(alone & facts.behind & _past_the_midpoint(facts)[:, ::-1])


def _containment(facts: _Facts) -> Flags:
    stragglers = facts.checkers(slice(_FAR_HOME.start, PLACES))
    safe = facts.checkers(_HOME) + CHECKERS - facts.counts.sum(axis=2)
    strays = (stragglers >= 1) & (stragglers <= _STRAGGLERS) & (facts.held(_FAR_HOME) == 0)
    return np.asarray((strays & (safe >= _SAFE_BESIDE_STRAGGLERS))[:, ::-1])


def _past_the_midpoint(facts: _Facts) -> Flags:
    return facts.rearmost < _MIDPOINT


def _crunched(facts: _Facts) -> Flags:
    return facts.checkers(slice(_DEEP_POINTS + 1, PLACES)) <= _LIVE_CHECKERS


def _blitz(facts: _Facts) -> Flags:
    fewest, most = _BLITZ_POINTS
    attacked = (facts.counts[:, :, BAR] > 0) & (facts.held(_FAR_HOME) == 0)
    home = facts.held(_HOME)
    return np.asarray(attacked[:, ::-1] & (home >= fewest) & (home <= most))


def _prime(facts: _Facts) -> Flags:
    # The opponent's rearmost checker as the side numbers places; the opponent's bar is 0.
    trapped = BAR - facts.rearmost[:, ::-1]
    places = np.arange(PLACES)
    made = (facts.counts >= 2) & (places > trapped[:, :, None]) & (places < BAR)
    for _ in range(_PRIME - 1):
        made = made[:, :, 1:] & made[:, :, :-1]
    return np.asarray(made.any(axis=2))


def _prime_vs_prime(facts: _Facts) -> Flags:
    return np.asarray(_prime(facts).all(axis=1))


def _mutual_holding(facts: _Facts) -> Flags:
    return np.asarray((facts.held(_WAITING) > 0).all(axis=1))


def _holding(facts: _Facts) -> Flags:
    return (facts.held(_WAITING) > 0) & (facts.rearmost < _FAR_HOME.start)[:, ::-1]


_RULES: dict[PositionType, Callable[[_Facts], Flags]] = {
    PositionType.BEAR_OFF: _bear_off,
    PositionType.RACE: _race,
    PositionType.OPENING: _opening,
    PositionType.BACK_GAME: _back_game,
    PositionType.ACE_POINT: _ace_point,
    PositionType.CONTAINMENT: _containment,
    PositionType.BEAR_IN: _past_the_midpoint,
    PositionType.CRUNCHED: _crunched,
    PositionType.BLITZ: _blitz,
    PositionType.PRIME_VS_PRIME: _prime_vs_prime,
    PositionType.PRIME: _prime,
    PositionType.MUTUAL_HOLDING: _mutual_holding,
    PositionType.HOLDING: _holding,
}
