"""Who plays better: statistics of pairs of games (`engine.versus`) and the test that decides.

The pairs are the samples. All sums are integers, so tallies merge to the same bits in any order. Verdicts are given at
looks, fixed numbers of pairs that belong to the question, and each look has a critical value of its own
(Haybittle 1971, Peto 1976): an early one takes an error probability of 0.001, the last one what is left of 0.05. By
Bonferroni's inequality the intervals of all looks together hold the truth with at least 95 %, so a test that is looked
at often is no more often wrong than one that is looked at once.
"""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass, fields
from statistics import NormalDist

import numpy as np

from engine.errors import InputError
from engine.kernels.network import ONE
from engine.tally import Estimate
from engine.versus import PairRows

WRONG = 0.05
"""Chance that any interval of a test misses the truth, by the normal approximation."""
_WRONG_EARLY = 0.001
MOST_LOOKS = 20
LEAST_BETWEEN_LOOKS = 50
"""Pairs; with fewer the normal approximation of a look would be poor."""
MOST_POINTS = 3

_FEW_PAIRS = 36
_CHUNK = 1 << 13


@dataclass(frozen=True, slots=True)
class PairTally:
    """Sums over pairs. y = A's points in both games, g = A's luck in both, each in 1/2**20."""

    results: tuple[int, ...] = (0,) * (2 * MOST_POINTS + 1)
    """Games by A's points, from -3 to 3; the middle one counts games that were not finished."""
    pairs: int = 0
    points: int = 0
    """Sum of y."""
    luck: int = 0
    """Sum of g."""
    points2: int = 0
    """Sum of y * y; the next two of y * g and g * g."""
    points_luck: int = 0
    luck2: int = 0

    @staticmethod
    def of(rows: PairRows) -> PairTally:
        """Of one range of pairs."""
        whole = PairTally()
        for start in range(0, len(rows), _CHUNK):  # int64 holds the sums of products of one chunk
            part = rows[start : start + _CHUNK].astype(np.int64)
            y = part[:, :2].sum(axis=1) * ONE
            g = part[:, 2:].sum(axis=1)
            results = np.bincount(part[:, :2].ravel() + MOST_POINTS, minlength=2 * MOST_POINTS + 1)
            sums = (y.sum(), g.sum(), y @ y, y @ g, g @ g)
            whole = whole.merge(PairTally(tuple(int(n) for n in results), len(part), *map(int, sums)))
        return whole

    def merge(self, other: PairTally) -> PairTally:
        """The tally of both ranges (which must not overlap)."""
        numbers = [getattr(self, f.name) + getattr(other, f.name) for f in fields(self) if f.name != "results"]
        return PairTally(tuple(a + b for a, b in zip(self.results, other.results, strict=True)), *numbers)

    @property
    def games(self) -> int:
        """Games that were played, unfinished ones included."""
        return 2 * self.pairs

    @property
    def unfinished(self) -> int:
        """Games that were given up after `engine.versus.MAX_HALF_MOVES`."""
        return self.results[MOST_POINTS]

    @property
    def coefficient(self) -> float:
        """Of the luck in the variance reduction: the regression of points on luck over these pairs; 1 with few pairs or
        without luck.
        """
        spread = self.pairs * self.luck2 - self.luck * self.luck
        if self.pairs < _FEW_PAIRS or spread == 0:
            return 1.0
        return (self.pairs * self.points_luck - self.points * self.luck) / spread

    @property
    def raw(self) -> Estimate:
        """A's points per game as they were played."""
        return self._estimate(0.0)

    @property
    def reduced(self) -> Estimate:
        """A's points per game less the luck: unbiased too, and with a much smaller error."""
        return self._estimate(self.coefficient)

    @property
    def mean_luck(self) -> Estimate:
        """A's luck per game; within a few standard errors of zero."""
        n = self.pairs
        spread = n * self.luck2 - self.luck * self.luck
        return Estimate(self.luck / (2 * n * ONE) if n else math.nan, self._error(spread))

    def _estimate(self, c: float) -> Estimate:
        n = self.pairs
        if n == 0:
            return Estimate(math.nan, math.inf)
        yy = n * self.points2 - self.points * self.points
        yg = n * self.points_luck - self.points * self.luck
        gg = n * self.luck2 - self.luck * self.luck
        mean = (self.points - c * self.luck) / (2 * n * ONE)
        return Estimate(mean, self._error(math.fsum([yy, -2.0 * c * yg, c * c * gg])))

    def _error(self, spread: float) -> float:
        """Of a mean per game, from n * n times the variance over pairs."""
        n = self.pairs
        return math.sqrt(max(spread, 0.0) / (n - 1)) / (2 * n * ONE) if n > 1 else math.inf


class Verdict(enum.Enum):
    """What a test says."""

    A_BETTER = "a-better"
    B_BETTER = "b-better"
    EQUAL = "equal"
    """Neither is better by the margin or more."""
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class MatchTest:
    """How many pairs are played and when they are looked at; part of the question."""

    pairs: int
    """At most."""
    looks: int = 1
    """Evenly spread; with one, all pairs are played."""
    margin: float | None = None
    """Points per game: two players closer than this count as equal."""

    def __post_init__(self) -> None:
        if self.pairs < 1:
            raise InputError("games", 2 * self.pairs, "an even number of at least 2 games")
        if not 1 <= self.looks <= MOST_LOOKS:
            raise InputError("looks", self.looks, f"a whole number from 1 to {MOST_LOOKS}")
        if self.looks > 1 and self.pairs < self.looks * LEAST_BETWEEN_LOOKS:
            least = 2 * self.looks * LEAST_BETWEEN_LOOKS
            raise InputError("games", 2 * self.pairs, f"at least {least} games for {self.looks} looks")
        if self.margin is not None and not 0.0 < self.margin < 1.0:
            raise InputError("margin", self.margin, "points per game between 0 and 1")

    def pairs_at(self, look: int) -> int:
        """Pairs that have been played at a look, counted from 1."""
        return self.pairs * look // self.looks

    def critical_value(self, look: int) -> float:
        """Standard errors on either side of an estimate at a look, counted from 1."""
        wrong = _WRONG_EARLY if look < self.looks else WRONG - _WRONG_EARLY * (self.looks - 1)
        return NormalDist().inv_cdf(1.0 - wrong / 2)

    def interval(self, estimate: Estimate, look: int) -> tuple[float, float]:
        """The interval of an estimate at a look: those of all looks together hold with 95 %."""
        half = self.critical_value(look) * estimate.se
        return estimate.mean - half, estimate.mean + half

    def judge(self, estimate: Estimate, look: int) -> Verdict:
        """The verdict at a look, in A's view; `UNDECIDED` before the last one means: go on."""
        low, high = self.interval(estimate, look)
        if low > 0.0:
            return Verdict.A_BETTER
        if high < 0.0:
            return Verdict.B_BETTER
        if self.margin is not None and -self.margin < low and high < self.margin:
            return Verdict.EQUAL
        return Verdict.UNDECIDED
