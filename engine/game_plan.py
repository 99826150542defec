"""What kind of game a position is, by simple rules on the board alone.

The kinds divide errors of an evaluator into groups that a player would name. They decide no value. Every rule looks at
both sides, so a position has one kind whoever is on roll. The first rule that holds gives the kind:

race            no checker has an opposing one in front of it
opening         at most six of the thirty checkers have left the places where they start
back game       a side holds two or more anchors in the opponent's home and is behind in the race
bear-in         a side has brought every checker past its midpoint, to its points 1 to 12, with contact left
crunched        a side has at most six checkers that are neither off nor on its points 1 and 2
prime vs prime  both sides have four or more points in a row, with a checker of the opponent behind them
priming         one side does
blitz           a side on the bar holds no anchor, against three or more points made in the opponent's home
mutual holding  both sides hold a point from which they wait: 18 to 24 in their own numbering
holding         one side does, and the other has no checker left on its points 19 to 24 or on the bar
mixed           everything else

"Holds" and "made" mean two checkers or more. Close to the usual names, not the same as those of any other program: GNU
Backgammon's class "crashed", for example, counts deep checkers in another way.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from itertools import pairwise

from engine.board import BAR, PLACES, START, Board

_MOVED_IN_THE_OPENING = 6
_DEEP_POINTS = 2
_LIVE_CHECKERS = 6
_PRIME = 4
_BLITZ_POINTS = 3
_HOME = range(1, 7)
_FAR_HOME = range(19, 25)
_WAITING = range(18, 25)
_MIDPOINT = 13

_Counts = Sequence[int]  # 26 places in one side's numbering: his checkers, by their number

_START = [max(count, 0) for count in START.tolist()]


class GamePlan(enum.Enum):
    """The kind of game; see the module for the rules."""

    RACE = "race"
    OPENING = "opening"
    BACK_GAME = "back game"
    BEAR_IN = "bear-in"
    CRUNCHED = "crunched"
    PRIME_VS_PRIME = "prime vs prime"
    PRIMING = "priming"
    BLITZ = "blitz"
    MUTUAL_HOLDING = "mutual holding"
    HOLDING = "holding"
    MIXED = "mixed"


def game_plan(board: Board) -> GamePlan:
    """The kind of game of a board, int8[26] in the view of either player: `game_plan(flip(b)) is game_plan(b)`."""
    counts = board.tolist()
    sides = ([max(count, 0) for count in counts], [max(-count, 0) for count in reversed(counts)])
    one, other = sides
    both = ((one, other), (other, one))
    if _rearmost(one) + _rearmost(other) < PLACES:
        return GamePlan.RACE
    if sum(max(start - count, 0) for side in sides for start, count in zip(_START, side, strict=True)) <= (
        _MOVED_IN_THE_OPENING
    ):
        return GamePlan.OPENING
    if any(_held(side, _FAR_HOME) >= 2 and _pips(side) > _pips(against) for side, against in both):
        return GamePlan.BACK_GAME
    if any(_rearmost(side) < _MIDPOINT for side in sides):
        return GamePlan.BEAR_IN
    if any(sum(side[_DEEP_POINTS + 1 :]) <= _LIVE_CHECKERS for side in sides):
        return GamePlan.CRUNCHED
    primes = [_primes(side, against) for side, against in both]
    if any(primes):
        return GamePlan.PRIME_VS_PRIME if all(primes) else GamePlan.PRIMING
    if any(
        side[BAR] and not _held(side, _FAR_HOME) and _held(against, _HOME) >= _BLITZ_POINTS for side, against in both
    ):
        return GamePlan.BLITZ
    waits = [_held(side, _WAITING) > 0 for side in sides]
    if all(waits):
        return GamePlan.MUTUAL_HOLDING
    if any(wait and _rearmost(against) < _FAR_HOME.start for wait, (_, against) in zip(waits, both, strict=True)):
        return GamePlan.HOLDING
    return GamePlan.MIXED


def _rearmost(side: _Counts) -> int:
    return max((place for place, count in enumerate(side) if count), default=0)


def _held(side: _Counts, points: range) -> int:
    """How many of the points the side has made."""
    return sum(side[point] >= 2 for point in points)


def _pips(side: _Counts) -> int:
    return sum(place * count for place, count in enumerate(side))


def _primes(side: _Counts, against: _Counts) -> bool:
    """Whether the side has four points in a row, and the opponent a checker that has yet to pass them."""
    # The opponent's rearmost checker as the side numbers places; the opponent's bar is 0.
    trapped = BAR - _rearmost(against)
    made = [point for point in range(trapped + 1, BAR) if side[point] >= 2]
    run = 1
    for lower, higher in pairwise(made):
        run = run + 1 if higher == lower + 1 else 1
        if run >= _PRIME:
            return True
    return False
