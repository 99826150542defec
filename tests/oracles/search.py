"""Looking ahead the plain way: recursion over all rolls, every legal play generated, whole numbers throughout.

The nets come in as functions. Positions are tuples of 26 signed counts; outcomes five whole numbers in 1/2**20.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from oracles.filter import equity
from oracles.moves import ROLLS, MovementRules, Position, legal_after_positions, own_checkers, turned_round
from oracles.rollout import ONE, Outcome, TieError, Values, nobody_knows, other_view


class Searcher(NamedTuple):
    """Chooses by the main net among the plays that the filter net likes; nothing is remembered."""

    values: Values
    """Of the main net; exact for finished games."""
    filter_values: Values | None
    """Of the filter net, which is asked about unfinished games only; None: the main net looks at every play."""
    keep: int
    utility: Sequence[int]
    rules: MovementRules
    settled: Callable[[Position], bool] = nobody_knows
    """Positions whose value is all that matters: which of two with the same is reached makes no difference."""

    def likely(self, position: Position, roll: tuple[int, int]) -> list[Position]:
        """The plays that the main net looks at."""
        plays = sorted(legal_after_positions(position, roll, self.rules))
        if self.filter_values is None or len(plays) <= self.keep:
            return plays
        won = [play for play in plays if own_checkers(play) == 0]
        others = [play for play in plays if own_checkers(play) > 0]
        ranked = sorted(
            zip([equity(p, self.utility) for p in self.filter_values(others)], others, strict=True), reverse=True
        )
        left = self.keep - len(won)
        if left < len(ranked) and ranked[left - 1][0] == ranked[left][0]:
            raise TieError(position, roll)  # this oracle doesn't know which was generated first
        return won + [play for _, play in ranked[:left]]

    def best(self, position: Position, roll: tuple[int, int]) -> tuple[Position, Outcome]:
        """(after-position, outcome) of the best likely play; of equal ones that which bears off most."""
        plays = self.likely(position, roll)
        outcomes = self.values(plays)
        keys = [(equity(o, self.utility), -own_checkers(play)) for o, play in zip(outcomes, plays, strict=True)]
        tied = [i for i, k in enumerate(keys) if k == max(keys)]
        if len({tuple(outcomes[i]) for i in tied}) == 1 and all(self.settled(plays[i]) for i in tied):
            return plays[tied[0]], outcomes[tied[0]]
        best = unique_best(keys)
        return plays[best], outcomes[best]

    def value(self, after: Position, level: int) -> Outcome:
        """Outcome of an after-position at a level, in the view of the player who just moved: the mean over the 36
        throws of the reply's value one level lower, rounded to the nearest whole number, halves up.
        """
        if level == 1 or own_checkers(after) == 0 or self.settled(after):
            return self.values([after])[0]
        total = [0] * 5
        for high, low in ROLLS:
            reply, _ = self.best(turned_round(after), (high, low))
            seen = other_view(self.value(reply, level - 1), ONE)
            total = [t + (1 if high == low else 2) * int(p) for t, p in zip(total, seen, strict=True)]
        return tuple((2 * t + 36) // 72 for t in total)


class SecondPly(NamedTuple):
    """Chooses at 2-ply among the best plays by 1-ply."""

    searcher: Searcher
    width: int
    margin: int
    """In 1/2**20."""

    def best(self, position: Position, roll: tuple[int, int]) -> tuple[Position, Outcome]:
        """(after-position, outcome at 2-ply) of the play to make. Ties go to bearing off more, then to 1-ply."""
        s = self.searcher
        plays = sorted(legal_after_positions(position, roll, s.rules))
        ranked = sorted(zip([equity(o, s.utility) for o in s.values(plays)], plays, strict=True), key=lambda p: -p[0])
        looked_at = [p for p in ranked[: self.width] if p[0] >= ranked[0][0] - self.margin]
        following = ranked[len(looked_at) : len(looked_at) + 1]
        if following and following[0][0] == looked_at[-1][0]:
            raise TieError(position, roll)
        outcomes = [s.value(play, 2) for _, play in looked_at]
        best = unique_best(
            [
                (equity(outcome, s.utility), -own_checkers(play), first)
                for outcome, (first, play) in zip(outcomes, looked_at, strict=True)
            ]
        )
        return looked_at[best][1], outcomes[best]


def unique_best(keys: Sequence[tuple[int, ...]]) -> int:
    """Index of the largest key.

    Raises:
        TieError: there are two, and this oracle doesn't know the order of generation.
    """
    best = max(keys)
    if keys.count(best) > 1:
        raise TieError(keys)
    return keys.index(best)
