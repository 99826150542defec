"""One trial of a rollout the plain way: legal plays and dice by their plain oracles, luck by its definition.

Positions are tuples of 26 signed counts. The network comes in as a function, because what is tested here is what is
done with its values. Outcomes are five whole numbers in 1/2**20.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import NamedTuple, Protocol

from oracles import dice
from oracles.moves import ROLLS, MovementRules, Position, legal_after_positions, own_checkers, turned_round

ONE = 1 << 20

Outcome = tuple[int, ...]
Values = Callable[[list[Position]], list[Outcome]]
"""Outcomes of after-positions, from the view of the player who just moved."""


class TieError(Exception):
    """Two best plays are equal in equity and checkers borne off; this oracle doesn't know which came first."""


class Chooser(Protocol):
    """How a side chooses."""

    def best(self, position: Position, roll: tuple[int, int]) -> tuple[Position, Outcome]:
        """(after-position, its outcome in the mover's view) of the play to make."""


class Policy(NamedTuple):
    """How both sides choose."""

    values: Values
    utility: Sequence[int]
    rules: MovementRules

    def best(self, position: Position, roll: tuple[int, int]) -> tuple[Position, Outcome]:
        """(after-position, outcome in the mover's view) of the best play; of equal ones that which bears off most."""
        plays = sorted(legal_after_positions(position, roll, self.rules))
        outcomes = self.values(plays)
        equities = [sum(w * p for w, p in zip(self.utility, outcome, strict=True)) for outcome in outcomes]
        keys = [(equity, -own_checkers(play)) for equity, play in zip(equities, plays, strict=True)]
        if keys.count(max(keys)) > 1:
            raise TieError(position, roll)
        best = keys.index(max(keys))
        return plays[best], outcomes[best]


def other_view(outcome: Sequence[Fraction | int], whole: int) -> list[Fraction | int]:
    """Chances (`whole` = ONE) or differences of chances (0) seen by the other player."""
    win, gammon, backgammon, lose_gammon, lose_backgammon = outcome
    return [whole - win, lose_gammon, lose_backgammon, gammon, backgammon]


def luck_of(position: Position, roll: tuple[int, int], policy: Chooser) -> list[Fraction]:
    """Best outcome with the roll, less the mean of the best outcomes over all 36; view of the player who rolls."""
    mean = [Fraction(0)] * 5
    for high, low in ROLLS:
        _, outcome = policy.best(position, (high, low))
        mean = [m + Fraction((1 if high == low else 2) * p, 36) for m, p in zip(mean, outcome, strict=True)]
    _, outcome = policy.best(position, roll)
    return [p - m for p, m in zip(outcome, mean, strict=True)]


def nobody_knows(position: Position) -> bool:
    """Without databases games go on to their end."""
    return False


def trial(
    start: Position,
    mover_rolls: bool,
    seed: int,
    number: int,
    truncate: int | None,
    reduce: bool,
    policy: Chooser,
    luck_policy: Chooser | None = None,
    is_known: Callable[[Position], bool] = nobody_knows,
) -> list[int]:
    """Five outcomes and their luck, view of the question's mover; luck rounded to the nearest, halves away from zero.

    Args:
        luck_policy: says what a roll is worth (`policy` if None). is_known: after-positions that end the trial.
    """
    position, in_view = start, mover_rolls
    luck: list[Fraction] = [Fraction(0)] * 5
    half_move = 0
    while True:
        index = dice.roll_index(seed, number, half_move)
        roll = (index // 6 + 1, index % 6 + 1)
        if reduce:
            rolled = luck_of(position, roll, luck_policy or policy)
            seen = rolled if in_view else other_view(rolled, 0)
            luck = [Fraction(a + b) for a, b in zip(luck, seen, strict=True)]
        after, outcome = policy.best(position, roll)
        half_move += 1
        if own_checkers(after) == 0 or half_move == truncate or is_known(after):
            result = outcome if in_view else other_view(outcome, ONE)
            return [int(p) for p in result] + [nearest(x) for x in luck]
        position, in_view = turned_round(after), not in_view


def nearest(value: Fraction) -> int:
    """Halves go away from zero, so that both sides of a trial see opposite numbers."""
    size = (abs(value) + Fraction(1, 2)).__floor__()
    return size if value >= 0 else -size


def exact_outcome(position: Position, policy: Policy, known: dict[Position, list[Fraction]]) -> list[Fraction]:
    """Expectation over all dice to the end of the game, in 1/2**20, view of the player about to roll.

    For positions whose game trees are small: `known` fills up with those already worked out.
    """
    if position not in known:
        total = [Fraction(0)] * 5
        for high, low in ROLLS:
            after, outcome = policy.best(position, (high, low))
            if own_checkers(after) == 0:
                worth: Sequence[Fraction | int] = outcome
            else:
                worth = other_view(exact_outcome(turned_round(after), policy, known), ONE)
            total = [t + (1 if high == low else 2) * Fraction(w) for t, w in zip(total, worth, strict=True)]
        known[position] = [t / 36 for t in total]
    return known[position]
