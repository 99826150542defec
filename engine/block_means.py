"""The noise of a mean from the dispersion of its blocks, and two independent halves that check each other.

The method is that of batch means (A. M. Law, *Simulation Modeling and Analysis*, the chapter on output analysis of a
single system): trials are cut into equal blocks, and the standard error of their mean is the standard deviation of the
block means over the root of their number. Trials inside a block may hang together, as those of a rollout do: 36
trials hold every first roll once. What that saves is in the dispersion of the blocks, and so in the error.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist


@dataclass(frozen=True, slots=True)
class BlockMeans:
    """The means of equal blocks of some quantity, in two halves with dice of their own, equally many in each."""

    halves: tuple[tuple[float, ...], tuple[float, ...]]

    @staticmethod
    def combination(parts: Sequence[tuple[float, BlockMeans]]) -> BlockMeans:
        """Of a weighted sum of quantities, block by block on the same dice."""
        first, second = (
            tuple(
                math.fsum(weight * value for (weight, _), value in zip(parts, block, strict=True))
                for block in zip(*(means.halves[half] for _, means in parts), strict=True)
            )
            for half in (0, 1)
        )
        return BlockMeans((first, second))

    @property
    def blocks(self) -> int:
        """In both halves."""
        return len(self.halves[0]) + len(self.halves[1])

    @property
    def freedom(self) -> int:
        """Degrees of freedom of `se`: each half has a mean of its own."""
        return self.blocks - 2

    @property
    def half_means(self) -> tuple[float, float]:
        """The mean of each half."""
        first, second = (math.fsum(half) / len(half) for half in self.halves)
        return first, second

    @property
    def mean(self) -> float:
        """Of all blocks."""
        return math.fsum(self.half_means) / 2.0

    @property
    def se(self) -> float:
        """Standard error of `mean`; from the dispersion inside each half, so that a difference between the halves is
        no part of it.
        """
        squares = (
            (value - mean) ** 2 for half, mean in zip(self.halves, self.half_means, strict=True) for value in half
        )
        return math.sqrt(math.fsum(squares) / self.freedom / self.blocks)

    @property
    def gap(self) -> float:
        """First half less second half."""
        first, second = self.half_means
        return first - second

    @property
    def gap_se(self) -> float:
        """Standard error of `gap`: each half has half the blocks."""
        return 2.0 * self.se


def critical_value(confidence: float, freedom: int, looks: int = 1) -> float:
    """Standard errors within which noise stays, with this probability in all `looks` together (Bonferroni).

    The quantile of Student's t, two-sided, by the expansion in 1 / `freedom` of M. Abramowitz and I. A. Stegun,
    *Handbook of Mathematical Functions*, 26.7.5; from 18 degrees of freedom on, up to 99.99 %, good to 0.0003.
    """
    x = NormalDist().inv_cdf(1.0 - (1.0 - confidence) / (2.0 * looks))
    n = float(freedom)
    first = (x**3 + x) / 4.0
    second = (5.0 * x**5 + 16.0 * x**3 + 3.0 * x) / 96.0
    third = (3.0 * x**7 + 19.0 * x**5 + 17.0 * x**3 - 15.0 * x) / 384.0
    fourth = (79.0 * x**9 + 776.0 * x**7 + 1482.0 * x**5 - 1920.0 * x**3 - 945.0 * x) / 92160.0
    return x + first / n + second / n**2 + third / n**3 + fourth / n**4
