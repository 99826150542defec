"""Match equity tables for play without a cube, from the chances of one game.

Let p_k and q_k be the chances of the side that begins to win or lose k points. Where the winner of a game begins the
next one, the chance of the side that begins, needing a points against b, is

    S(a, b) = sum over k of p_k * S(a - k, b) + q_k * (1 - S(b - k, a)),

with S(0 or less, b) = 1. Before the first game an opening roll decides who begins:
m(a, b) = (S(a, b) + 1 - S(b, a)) / 2. Where an opening roll decides each time, m takes the place of S on the right
side. Both are exact, given the chances.
The chances are those of money play: nobody plays for (or against) gammons because of the score.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.errors import InputError
from engine.met.table import DECIMALS, MAX_AWAY, MatchEquityTable, read_only
from engine.rules import RuleSet


@dataclass(frozen=True, slots=True)
class GameChances:
    """How a game ends, in the view of the side that begins. The six chances add up to 1.

    Raises:
        InputError: on construction, where they don't, or one is negative.
    """

    win: tuple[float, float, float]
    """Of winning exactly a single game, a gammon, a backgammon."""
    lose: tuple[float, float, float]

    def __post_init__(self) -> None:
        chances = (*self.win, *self.lose)
        if len(chances) != 6 or min(chances) < 0.0 or abs(sum(chances) - 1.0) > 1e-6:
            shown = " ".join(f"{chance:g}" for chance in chances)
            raise InputError("chances of a game", shown, "six chances that add up to 1")

    def by_points(self, rules: RuleSet) -> list[tuple[int, float, float]]:
        """(points, chance to win them, chance to lose them) for each number of points that a game can end with."""
        found: dict[int, tuple[float, float]] = {}
        for kind, (won, lost) in enumerate(zip(self.win, self.lose, strict=True), 1):
            points = min(kind, 1 + rules.gammon_counts * (1 + rules.backgammon_counts))
            before = found.get(points, (0.0, 0.0))
            found[points] = (before[0] + won, before[1] + lost)
        return [(points, *both) for points, both in sorted(found.items())]


def cubeless_table(name: str, source: str, chances: GameChances, rules: RuleSet, length: int) -> MatchEquityTable:
    """The table of a game with these chances (see the module).

    Args:
        length: points up to which the table is shown; it holds `MAX_AWAY`.

    Raises:
        InputError: an impossible length.
    """
    if not 1 <= length <= MAX_AWAY:
        raise InputError("length", length, f"a whole number from 1 to {MAX_AWAY}")
    ends = chances.by_points(rules)
    # One row and column more than the result: a side that needs no points has won.
    begins, mean = (np.zeros((MAX_AWAY + 1, MAX_AWAY + 1)) for _ in range(2))
    begins[0, 1:] = mean[0, 1:] = 1.0
    later = begins if rules.winner_starts_next else mean
    for total in range(2, 2 * MAX_AWAY + 1):
        scores = [(a, total - a) for a in range(max(1, total - MAX_AWAY), min(MAX_AWAY, total - 1) + 1)]
        for a, b in scores:
            begins[a, b] = _begins(later, ends, a, b)
        for a, b in scores:
            mean[a, b] = 0.5 if a == b else (begins[a, b] + 1.0 - begins[b, a]) / 2
    pre = read_only(np.round(mean[1:, 1:], DECIMALS))
    starting = read_only(np.round(begins[1:, 1:], DECIMALS)) if rules.winner_starts_next else None
    post = read_only(pre[:, 0].copy())
    return MatchEquityTable(name, source, length, pre, post, rules.name, cube=False, starting=starting)


def _begins(later: NDArray[np.float64], ends: list[tuple[int, float, float]], a: int, b: int) -> float:
    chance = 0.0
    for points, won, lost in ends:
        chance += won * (later[a - points, b] if a > points else 1.0)
        chance += lost * (1.0 - later[b - points, a] if b > points else 0.0)
    return float(chance)
