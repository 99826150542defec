"""One trial of a rollout with the cube the plain way: plays, cube decisions, ends and luck by their definitions.

Values are exact fractions in units of the cube of the question (in a match: twice the chance to win it, less one), in
the view of the side that is named beside them. Side 0 is the question's mover. There is no filter net and there are no
databases.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from oracles import dice
from oracles.cube import Cube, CubeSearcher
from oracles.moves import ROLLS, Position, legal_after_positions, own_checkers, turned_round
from oracles.rollout import ONE, other_view


class Start(NamedTuple):
    """Where a trial starts."""

    before: Position
    """The view of the side that does not roll first."""
    first: int
    """Which side rolls first."""
    cube: Cube
    may_double: bool
    """Whether it may double before."""


class How(NamedTuple):
    """How trials are played."""

    seed: int
    truncate: int | None
    level: int
    width: int
    margin: Fraction
    """At level 2, in values of the question."""
    window: Fraction
    """How much worse than rolling a double may look and still be looked at, in values at the question's cube."""
    per_cube: bool
    """Whether margin and window grow with the cube: in money without a limit all cubes are alike."""


class Result(NamedTuple):
    """What a trial leaves, in the view of side 0."""

    outcome: list[Fraction | int]
    value: Fraction
    luck: list[Fraction]
    """In the five outcomes, then in the value."""


def trial(start: Start, how: How, number: int, searcher: CubeSearcher) -> Result:
    """Play one trial."""
    after, side, cube = start.before, start.first, start.cube
    luck = [Fraction(0)] * 6
    half_move = 0
    found: tuple[Sequence[Fraction | int], Fraction] = (searcher.values([after])[0], Fraction(0))
    while True:
        if half_move > 0 or start.may_double:
            cube, ended = _offer(after, cube, side, how, searcher)
            if ended is not None:
                outcome, signed = found[0], ended if side == 0 else -ended
                return Result(list(outcome) if side == 1 else other_view(outcome, ONE), signed, luck)
        position = turned_round(after)
        index = dice.roll_index(how.seed, number, half_move)
        roll = (index // 6 + 1, index % 6 + 1)
        for o, part in enumerate(_luck(position, roll, cube, side, searcher)):
            luck[o] += part
        after, outcome, value = _play(position, roll, cube, side, how, searcher)
        found = (outcome, value)
        half_move += 1
        if own_checkers(after) == 0 or half_move == how.truncate:
            seen = list(outcome) if side == 0 else other_view(outcome, ONE)
            return Result(seen, value if side == 0 else -value, luck)
        side = 1 - side


def _scaled(size: Fraction, cube: Cube, how: How) -> Fraction:
    return size * 2**cube.turns if how.per_cube else size


def _offer(after: Position, cube: Cube, side: int, how: How, searcher: CubeSearcher) -> tuple[Cube, Fraction | None]:
    """The cube after `side`'s chance to double, and what the game is worth to it if it ends there."""
    stakes = searcher.stakes
    if cube.owner == 1 - side or not stakes.useful[side][cube.turns]:
        return cube, None
    passing = stakes.worth[side][cube.turns][0]
    answers = {}
    for level in (1, 2):
        roll = searcher.rolling(after, cube, side, level)
        answers = {"take": searcher.rolling(after, Cube(1 - side, cube.turns + 1), side, level)}
        dropped = stakes.worth[side][cube.turns + 1][3]
        if stakes.beavers and stakes.useful[side][cube.turns + 1]:
            going_on = searcher.rolling(after, Cube(1 - side, cube.turns + 2), side, level)
            answers["beaver" if going_on >= dropped else "drop"] = max(going_on, dropped)
        answers["pass"] = passing
        if level == 1 and min(answers.values()) < roll - _scaled(how.window, cube, how):
            return cube, None
    order = [name for name in ("take", "beaver", "drop", "pass") if name in answers]
    answer = min(order, key=lambda name: answers[name])
    if answers[answer] <= roll:
        return cube, None
    if answer in ("pass", "drop"):
        return cube, answers[answer]
    return Cube(1 - side, cube.turns + (1 if answer == "take" else 2)), None


def _luck(position: Position, roll: tuple[int, int], cube: Cube, side: int, searcher: CubeSearcher) -> list[Fraction]:
    """Of a roll, in the view of side 0: outcomes and value of the best play, less their means over all 36 throws."""

    def best(throw: tuple[int, int]) -> list[Fraction]:
        play = searcher.best(position, throw, cube, side)
        value = -searcher.before_rolling(play, cube, 1 - side, 1)
        return [*(Fraction(int(p)) for p in searcher.values([play])[0]), value]

    mean = [Fraction(0)] * 6
    for high, low in ROLLS:
        weight = 1 if high == low else 2
        mean = [m + weight * part / 36 for m, part in zip(mean, best((high, low)), strict=True)]
    *outcome, value = [part - m for part, m in zip(best(roll), mean, strict=True)]
    if side == 1:
        outcome, value = [Fraction(p) for p in other_view(outcome, 0)], -value
    return [*outcome, value]


def _play(
    position: Position, roll: tuple[int, int], cube: Cube, side: int, how: How, searcher: CubeSearcher
) -> tuple[Position, Sequence[Fraction | int], Fraction]:
    """The play of `side`, its outcome (of one look) and its value, both in that side's view."""
    best = searcher.best(position, roll, cube, side)
    value = -searcher.before_rolling(best, cube, 1 - side, 1)
    if how.level == 1:
        return best, searcher.values([best])[0], value
    plays = sorted(legal_after_positions(position, roll, searcher.rules))
    by_look = {play: -searcher.before_rolling(play, cube, 1 - side, 1) for play in plays}
    near = [play for play in plays if by_look[play] >= value - _scaled(how.margin, cube, how)]
    near = sorted(near, key=lambda play: -by_look[play])[: how.width]
    deeper = {play: -searcher.before_rolling(play, cube, 1 - side, 2) for play in near}
    chosen = max(near, key=lambda play: (deeper[play], -own_checkers(play)))
    return chosen, searcher.values([chosen])[0], deeper[chosen]
