"""Endings the plain way: expectation over all rolls, every legal play tried, nothing kept but answers.

A side is six counts, its points 1 to 6. Numbers of rolls are exact fractions; equities are floats, because nothing is
compared in them that could tie.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import NamedTuple

from oracles.moves import ROLLS, Position, legal_after_positions

Side = tuple[int, ...]
OFF: Side = (0,) * 6


@dataclass(frozen=True)
class FreeBearOff:
    """The movement rules of the databases."""

    hit_and_run_ban: bool = False
    forced_bear_off: bool = False


class Rolls(NamedTuple):
    """How many rolls something takes: their mean and the chance of each number from 0."""

    mean: Fraction
    chances: tuple[Fraction, ...]


def as_position(own: Side, other: Side = OFF) -> Position:
    """Both sides on one board, view of the first."""
    return (0, *own, *[0] * 12, *[-count for count in reversed(other)], 0)


@cache
def plays(side: Side, roll: tuple[int, int]) -> tuple[Side, ...]:
    """All positions of the side after a roll."""
    return tuple(sorted(after[1:7] for after in legal_after_positions(as_position(side), roll, FreeBearOff())))


def weight(roll: tuple[int, int]) -> Fraction:
    """Chance of a roll."""
    return Fraction(1 if roll[0] == roll[1] else 2, 36)


def order(side: Side) -> tuple[int, ...]:
    """What decides between equal plays: fewer checkers; then fewer on point 2 and behind, on point 3 and behind, ..."""
    return tuple(sum(side[point:]) for point in range(6))


def _after_best_rolls(parts: list[tuple[Fraction, Rolls]]) -> Rolls:
    """One roll, then what each of its best plays leaves."""
    length = max(len(rest.chances) for _, rest in parts)
    chances = [Fraction(0)] * (length + 1)
    for chance, rest in parts:
        for rolls, part in enumerate(rest.chances):
            chances[rolls + 1] += chance * part
    return Rolls(1 + sum((chance * rest.mean for chance, rest in parts), Fraction(0)), tuple(chances))


@cache
def to_bear_off(side: Side) -> Rolls:
    """Rolls to bear off everything, played for the least mean."""
    if side == OFF:
        return Rolls(Fraction(0), (Fraction(1),))
    return _after_best_rolls([(weight(roll), to_bear_off(best_play(side, roll))) for roll in ROLLS])


@cache
def best_play(side: Side, roll: tuple[int, int]) -> Side:
    """The play that leaves the least mean number of rolls."""
    return min(plays(side, roll), key=lambda after: (to_bear_off(after).mean, order(after)))


@cache
def to_first_off(side: Side, checkers: int) -> Rolls:
    """Rolls until fewer than `checkers` are left, played for the least mean."""
    if sum(side) < checkers:
        return Rolls(Fraction(0), (Fraction(1),))
    return _after_best_rolls([(weight(roll), to_first_off(saving_play(side, roll), sum(side))) for roll in ROLLS])


@cache
def saving_play(side: Side, roll: tuple[int, int]) -> Side:
    """The play that leaves the least mean number of rolls until the first checker is off."""
    now = [after for after in plays(side, roll) if sum(after) < sum(side)]
    if now:
        return now[0]
    return min(plays(side, roll), key=lambda after: (to_first_off(after, sum(side)).mean, order(after)))


@cache
def race_win(on_roll: Side, other: Side) -> Fraction:
    """Chance of the player on roll to bear off first if both play for their least mean number of rolls."""
    return sum(
        (
            weight(roll) * (1 if after == OFF else 1 - race_win(other, after))
            for roll in ROLLS
            for after in [best_play(on_roll, roll)]
        ),
        Fraction(0),
    )


@cache
def race_gammon(winner: Side, loser: Side, winner_rolls: bool) -> Fraction:
    """Chance that the winner is off before the loser's first checker: one plays for his mean, the other to save it."""
    total = Fraction(0)
    for roll in ROLLS:
        if winner_rolls:
            after = best_play(winner, roll)
            total += weight(roll) * (1 if after == OFF else race_gammon(after, loser, False))
        else:
            after = saving_play(loser, roll)
            if sum(after) == sum(loser):
                total += weight(roll) * race_gammon(winner, after, True)
    return total


class Equities(NamedTuple):
    """Money equities of a player on roll, in units of the cube's value."""

    cubeless: float
    owned: float
    centred: float
    opponent_owns: float


@cache
def rolling(own: Side, other: Side) -> Equities:
    """Equities of rolling without doubling first."""
    sums = [0.0] * 4
    for roll in ROLLS:
        replies = [best_action(other, after) for after in plays(own, roll)]
        # A cube that the player owns is the opponent's when seen by him, and the other way round.
        best = [max(-reply[state] for reply in replies) for state in (0, 3, 2, 1)]
        sums = [total + float(weight(roll)) * value for total, value in zip(sums, best, strict=True)]
    return Equities(*sums)


@cache
def best_action(own: Side, other: Side) -> Equities:
    """Equities before the best decision to double, and the best answer."""
    if other == OFF:
        return Equities(-1.0, -1.0, -1.0, -1.0)
    values = rolling(own, other)
    doubled = min(2 * values.opponent_owns, 1.0)
    return values._replace(owned=max(values.owned, doubled), centred=max(values.centred, doubled))
