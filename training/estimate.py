"""A mean over recorded positions or decisions, with its 95 % interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

STANDARD_ERRORS_95 = 1.96


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean of `n` numbers."""

    n: int
    mean: float
    se: float | None
    """Standard error, taking the numbers as independent; None for one number."""

    @property
    def half(self) -> float | None:
        """Half the 95 % interval, by the normal approximation."""
        return None if self.se is None else STANDARD_ERRORS_95 * self.se

    @property
    def interval95(self) -> tuple[float, float] | None:
        """From `mean - half` to `mean + half`."""
        half = self.half
        return None if half is None else (self.mean - half, self.mean + half)

    def scaled(self, factor: float) -> Estimate:
        """The same in another unit; `factor` is positive."""
        return Estimate(self.n, self.mean * factor, None if self.se is None else self.se * factor)


def estimate_mean(values: Sequence[float]) -> Estimate:
    """The mean of at least one number, the same whatever their order: sums are exact before they are rounded."""
    n = len(values)
    mean = math.fsum(values) / n
    if n == 1:
        return Estimate(1, mean, None)
    variance = math.fsum((value - mean) ** 2 for value in values) / (n - 1)
    return Estimate(n, mean, math.sqrt(variance / n))
