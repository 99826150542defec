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
    half: float | None
    """Half the 95 % interval by the normal approximation, taking the numbers as independent; None for one number."""

    @property
    def interval95(self) -> tuple[float, float] | None:
        """From `mean - half` to `mean + half`."""
        return None if self.half is None else (self.mean - self.half, self.mean + self.half)

    def scaled(self, factor: float) -> Estimate:
        """The same in another unit; `factor` is positive."""
        return Estimate(self.n, self.mean * factor, None if self.half is None else self.half * factor)


def estimate_mean(values: Sequence[float]) -> Estimate:
    """The mean of at least one number, the same whatever their order: sums are exact before they are rounded."""
    n = len(values)
    mean = math.fsum(values) / n
    if n == 1:
        return Estimate(1, mean, None)
    variance = math.fsum((value - mean) ** 2 for value in values) / (n - 1)
    return Estimate(n, mean, STANDARD_ERRORS_95 * math.sqrt(variance / n))
