"""The rules of position types one board at a time, as a person would check them."""

from __future__ import annotations

from itertools import pairwise

from engine.analysis.position_type import PositionType
from engine.board import BAR, START, Board

Counts = list[int]


def plain_position_type(board: Board) -> PositionType:
    counts = board.tolist()
    one, other = [max(count, 0) for count in counts], [max(-count, 0) for count in reversed(counts)]
    sides = (one, other)
    both = ((one, other), (other, one))
    if rearmost(one) + rearmost(other) < 26:
        return PositionType.BEAR_OFF if rearmost(one) <= 6 and rearmost(other) <= 6 else PositionType.RACE
    start = [max(count, 0) for count in START.tolist()]
    if sum(max(there - count, 0) for side in sides for there, count in zip(start, side, strict=True)) <= 6:
        return PositionType.OPENING
    if any(len(anchors(side)) >= 2 and pips(side) > pips(against) for side, against in both):
        return PositionType.BACK_GAME
    if any(anchors(side) == [24] and pips(side) > pips(against) and rearmost(against) <= 12 for side, against in both):
        return PositionType.ACE_POINT
    if any(1 <= sum(side[19:]) <= 2 and not anchors(side) and sum(side[1:7]) + 15 - sum(side) >= 11 for side in sides):
        return PositionType.CONTAINMENT
    if any(rearmost(side) <= 12 for side in sides):
        return PositionType.BEAR_IN
    if any(sum(side[3:]) <= 6 for side in sides):
        return PositionType.CRUNCHED
    if any(side[BAR] and not anchors(side) and len(made(against, 1, 6)) in (3, 4) for side, against in both):
        return PositionType.BLITZ
    primes = [holds_a_prime(side, against) for side, against in both]
    if any(primes):
        return PositionType.PRIME_VS_PRIME if all(primes) else PositionType.PRIME
    waits = [bool(made(side, 18, 24)) for side in sides]
    if all(waits):
        return PositionType.MUTUAL_HOLDING
    if any(wait and rearmost(against) <= 18 for wait, (_, against) in zip(waits, both, strict=True)):
        return PositionType.HOLDING
    return PositionType.MIXED


def rearmost(side: Counts) -> int:
    return max((place for place, count in enumerate(side) if count), default=0)


def made(side: Counts, first: int, last: int) -> list[int]:
    return [point for point in range(first, last + 1) if side[point] >= 2]


def anchors(side: Counts) -> list[int]:
    return made(side, 19, 24)


def pips(side: Counts) -> int:
    return sum(place * count for place, count in enumerate(side))


def holds_a_prime(side: Counts, against: Counts) -> bool:
    run, longest = 1, 0
    for lower, higher in pairwise(made(side, BAR - rearmost(against) + 1, 24)):
        run = run + 1 if higher == lower + 1 else 1
        longest = max(longest, run)
    return longest >= 4
