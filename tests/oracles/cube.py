"""The cube the plain way: Janowski's model by its definitions, in exact fractions, and looking ahead by recursion.

Every cube has a value of its own: one that has been turned t times stands at 2**t times the cube of the question, and
without a limit the chain simply goes on for `ENDLESS` turns, after which it can't matter any more. The two sides are 0
and 1; chances and values are those of the side that is named beside them.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache, cached_property
from itertools import pairwise
from typing import NamedTuple

from oracles.moves import ROLLS, MovementRules, Position, legal_after_positions, own_checkers, turned_round
from oracles.rollout import ONE, Values, other_view

ENDLESS = 24


class Cube(NamedTuple):
    """A state of the cube."""

    owner: int | None
    """None: centred."""
    turns: int


class Stakes(NamedTuple):
    """What is played for."""

    worth: tuple[Sequence[Sequence[Fraction]], Sequence[Sequence[Fraction]]]
    """For side 0 and 1, by turns: winning 1, 2, 3 times the cube, losing 1, 2, 3 times."""
    useful: tuple[Sequence[bool], Sequence[bool]]
    """For side 0 and 1, by turns: whether turning the cube once more can be of use."""
    jacoby: bool = False
    beavers: bool = False


def money(turns: int = ENDLESS, jacoby: bool = False, beavers: bool = False) -> Stakes:
    """Points, in units of the cube of the question, which may be turned so often."""
    rows = [[Fraction(2**t * n) for n in (1, 2, 3, -1, -2, -3)] for t in range(turns + 1)]
    useful = [t < turns for t in range(turns + 1)]
    return Stakes((rows, rows), (useful, useful), jacoby, beavers)


class Model:
    """The values of one outcome (five chances in 1/2**20 in the view of side 0) in all states of the cube."""

    def __init__(self, outcome: Sequence[int], stakes: Stakes, efficiency: Fraction) -> None:
        mine = [Fraction(int(chance), ONE) for chance in outcome]
        theirs = [Fraction(chance) for chance in other_view(mine, 1)]
        self.chances = (mine, theirs)
        self.stakes = stakes
        self.efficiency = efficiency

    @cached_property
    def ends(self) -> list[list[tuple[Fraction, Fraction]]]:
        """By side and turns: what a loss and a win are worth on average."""
        found = []
        for side in (0, 1):
            win, gammon, backgammon, lose_gammon, lose_backgammon = self.chances[side]
            wins = _parts(win, gammon, backgammon)
            losses = _parts(1 - win, lose_gammon, lose_backgammon)
            found.append(
                [
                    (
                        sum((p * u for p, u in zip(losses, row[3:], strict=True)), Fraction(0)),
                        sum((p * u for p, u in zip(wins, row[:3], strict=True)), Fraction(0)),
                    )
                    for row in self.stakes.worth[side]
                ]
            )
        return found

    @cache  # noqa: B019 - no more models are made than a test needs
    def take_point(self, side: int, turns: int) -> Fraction:
        """The chance at which `side`, doubled by a cube that has been turned so often, gets as much for a take, after
        which it owns a live cube, as for a pass.
        """
        passing = self.stakes.worth[side][turns][3]
        line = self.line(side, Cube(side, turns + 1))
        for (low, low_value), (high, high_value) in pairwise(line):
            if low_value <= passing <= high_value and low_value < high_value:
                return low + (high - low) * (passing - low_value) / (high_value - low_value)
        raise AssertionError("a pass is worth something between the worst loss and the best win")

    def cash_point(self, side: int, turns: int) -> Fraction:
        """The chance at which the other side, doubled, gets as much for a take as for a pass."""
        return 1 - self.take_point(1 - side, turns)

    def line(self, side: int, cube: Cube) -> list[tuple[Fraction, Fraction]]:
        """Corners (chance to win, value) of the values with a live cube."""
        row = self.stakes.worth[side][cube.turns]
        loss, win = self.ends[side][cube.turns]
        if self.stakes.jacoby and cube.owner is None:
            loss, win = row[3], row[0]
        corners = [(Fraction(0), loss)]
        if cube.owner != side and self.stakes.useful[1 - side][cube.turns]:
            corners.append((self.take_point(side, cube.turns), row[3]))
        if cube.owner != 1 - side and self.stakes.useful[side][cube.turns]:
            corners.append((self.cash_point(side, cube.turns), row[0]))
        return [*corners, (Fraction(1), win)]

    def value(self, side: int, cube: Cube) -> Fraction:
        """Part dead, part live; `side` is about to roll."""
        p = self.chances[side][0]
        line = self.line(side, cube)
        dead = line[0][1] + (line[-1][1] - line[0][1]) * p
        for (low, low_value), (high, high_value) in pairwise(line):
            if low <= p <= high:
                along = (p - low) / (high - low) if high > low else Fraction(1)
                live = low_value + (high_value - low_value) * along
                return (1 - self.efficiency) * dead + self.efficiency * live
        raise AssertionError("chances lie between 0 and 1")


def _parts(all_of_them: Fraction, gammons: Fraction, backgammons: Fraction) -> list[Fraction]:
    """Parts of single games, gammons and backgammons; single games where there is nothing to divide."""
    if all_of_them == 0:
        return [Fraction(1), Fraction(0), Fraction(0)]
    return [1 - gammons / all_of_them, (gammons - backgammons) / all_of_them, backgammons / all_of_them]


class CubeSearcher(NamedTuple):
    """Looks ahead without a filter net; side 0 is on roll first."""

    values: Values
    stakes: Stakes
    efficiency: Fraction
    utilities: tuple[Sequence[int], Sequence[int]]
    """Decide between plays of equal value, for side 0 and 1."""
    rules: MovementRules

    def rolling(self, after: Position, cube: Cube, side: int, level: int) -> Fraction:
        """What it is worth to `side` to roll now; `after` is in the view of the other one, who has just moved."""
        if level == 1 or own_checkers(after) == 0:
            return self._model(after, side).value(side, cube)
        total = Fraction(0)
        for high, low in ROLLS:
            best = self.best(turned_round(after), (high, low), cube, side)
            total -= (1 if high == low else 2) * self.before_rolling(best, cube, 1 - side, level - 1)
        return total / 36

    def before_rolling(self, after: Position, cube: Cube, side: int, level: int) -> Fraction:
        """The same where `side` doubles first if that is better."""
        roll = self.rolling(after, cube, side, level)
        if cube.owner == 1 - side or not self.stakes.useful[side][cube.turns]:
            return roll
        taken = Cube(1 - side, cube.turns + 1)
        answers = [self.rolling(after, taken, side, level), self.stakes.worth[side][cube.turns][0]]
        if self.stakes.beavers and self.stakes.useful[side][cube.turns + 1]:
            beavered = self.rolling(after, Cube(1 - side, cube.turns + 2), side, level)
            answers.append(max(beavered, self.stakes.worth[side][cube.turns + 1][3]))
        return max(roll, min(answers))

    def best(self, position: Position, roll: tuple[int, int], cube: Cube, side: int) -> Position:
        """The play of `side` that is best by one look; of equal ones the better one without the cube, then that which
        bears off most.
        """
        plays = sorted(legal_after_positions(position, roll, self.rules))
        keys = []
        for play in plays:
            outcome = self.values([play])[0]
            cubeless = sum(w * p for w, p in zip(self.utilities[side], outcome, strict=True))
            keys.append((-self.before_rolling(play, cube, 1 - side, 1), cubeless, -own_checkers(play)))
        return plays[keys.index(max(keys))]

    def _model(self, after: Position, side: int) -> Model:
        """`side` is on roll; the outcome of `after` is in the view of the other one."""
        outcome = self.values([after])[0]
        in_view_of_0 = other_view(outcome, ONE) if side == 0 else outcome
        return Model([int(chance) for chance in in_view_of_0], self.stakes, self.efficiency)
