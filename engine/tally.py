"""Tallies: what is kept of the trials of several candidates on the same dice, exact and mergeable in any order.

All sums are Python integers (fixed point, 1/2**20), so merging is associative and commutative to the last bit and
cannot overflow. Means and errors become floating point only when they are read, and so does the coefficient of the
control variate: the estimate of a trial is its result minus `coefficient` times its luck, and since the mean luck is
zero for any coefficient, the one that leaves the least variance is taken (regression of the result on the luck).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from engine.errors import InternalError
from engine.kernels.network import ONE
from engine.outcome import OUTCOMES
from engine.rollout import CUBE_ROW, ROW, TrialRows
from engine.rules import RuleSet

Exact = NDArray[np.object_]  # Python integers

_BLOCK = 2**13
_SAFE = 2**25
FEW_TRIALS = 36
"""With fewer trials a fitted coefficient would be noise: it is taken as 1."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean with its standard error."""

    mean: float
    se: float


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """Sums over the common trials of K candidates.

    With y = the equity of a trial's result and g = the equity of its luck, per candidate; z = (y_0 .. y_K-1, g_0 ..
    g_K-1). Of trials with the cube these are the equities with the cube that the rows hold; of others they follow from
    the outcomes.
    """

    trials: int
    sums: Exact
    """[2K]: of z."""
    products: Exact
    """[2K, 2K]: of z_i * z_j."""
    outcome_sums: Exact
    """[K, 2, 5]: of the outcomes, and of the luck in each."""
    outcome_products: Exact
    """[K, 3, 5]: of outcome * outcome, outcome * luck, luck * luck."""

    @staticmethod
    def empty(candidates: int) -> Tally:
        """No trials yet."""

        def zeros(*shape: int) -> Exact:
            return np.zeros(shape, dtype=np.int64).astype(object)

        k = candidates
        return Tally(0, zeros(2 * k), zeros(2 * k, 2 * k), zeros(k, 2, OUTCOMES), zeros(k, 3, OUTCOMES))

    @staticmethod
    def of(rows: list[TrialRows], rules: RuleSet) -> Tally:
        """Of one range of trials; `rows[i]` are those of candidate i.

        Raises:
            InternalError: candidates with different numbers of trials, or a value that no trial can have.
        """
        n = len(rows[0])
        columns = rows[0].shape[1]
        if columns not in (ROW, CUBE_ROW) or any(part.shape != (n, columns) for part in rows):
            raise InternalError("a tally needs the same trials of every candidate")
        if n > _BLOCK:
            merged = Tally.empty(len(rows))
            for start in range(0, n, _BLOCK):
                merged = merged.merge(Tally.of([part[start : start + _BLOCK] for part in rows], rules))
            return merged
        stacked = np.stack(rows).astype(np.int64)  # [K, n, columns]
        half = columns // 2
        p, luck = stacked[:, :, :OUTCOMES], stacked[:, :, half : half + OUTCOMES]
        if columns == CUBE_ROW:
            z = np.concatenate([stacked[:, :, half - 1], stacked[:, :, -1]])  # [2K, n]
        else:
            z = np.concatenate([p @ rules.utility - ONE, luck @ rules.utility])
        # int64 suffices inside a block: |value| < 2**25 and n <= 2**13 keep every sum of products within 2**63.
        if max(_largest(p), _largest(luck), 0 if columns == CUBE_ROW else _largest(z)) >= _SAFE:
            raise InternalError("a trial's value is outside the range of the tally")
        if _largest(z) >= _SAFE:  # a cube that was turned very often
            z = z.astype(object)
        squares = np.stack([(p * p).sum(axis=1), (p * luck).sum(axis=1), (luck * luck).sum(axis=1)], axis=1)
        return Tally(
            n,
            z.sum(axis=1).astype(object),
            (z @ z.T).astype(object),
            np.stack([p.sum(axis=1), luck.sum(axis=1)], axis=1).astype(object),
            squares.astype(object),
        )

    def merge(self, other: Tally) -> Tally:
        """The tally of both ranges of trials (which must not overlap)."""
        return Tally(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    @property
    def candidates(self) -> int:
        """K."""
        return len(self.sums) // 2

    def coefficient(self, candidate: int) -> float:
        """Of the control variate for one candidate; 1 with few trials or without luck."""
        g = self.candidates + candidate
        spread = self._spread(g, g)
        if self.trials < FEW_TRIALS or spread == 0:
            return 1.0
        return self._spread(candidate, g) / spread

    def equity(self, candidate: int) -> Estimate:
        """Equity, mover's view."""
        return self._estimate({candidate: 1.0, self.candidates + candidate: -self.coefficient(candidate)})

    def difference(self, candidate: int, reference: int) -> Estimate:
        """Equity of a candidate minus that of another, trial by trial on the same dice."""
        if candidate == reference:
            return Estimate(0.0, 0.0)
        k = self.candidates
        return self._estimate(
            {
                candidate: 1.0,
                k + candidate: -self.coefficient(candidate),
                reference: -1.0,
                k + reference: self.coefficient(reference),
            }
        )

    def outcome(self, candidate: int) -> list[Estimate]:
        """The five cumulative probabilities, mover's view, with the coefficient of the equity."""
        c = self.coefficient(candidate)
        return [self._outcome(candidate, o, c) for o in range(OUTCOMES)]

    def luck(self, candidate: int) -> Estimate:
        """Mean luck in equity; an unbiased rollout has it within a few standard errors of zero."""
        return self._estimate({self.candidates + candidate: 1.0})

    def best(self) -> int:
        """The candidate with the highest equity, the first of equals."""
        return max(range(self.candidates), key=lambda i: (self.equity(i).mean, -i))

    def _spread(self, i: int, j: int) -> int:
        """n * sum(z_i z_j) - sum(z_i) sum(z_j): n * n times the covariance, without cancellation."""
        value: int = self.trials * self.products[i, j] - self.sums[i] * self.sums[j]
        return value

    def _estimate(self, weights: dict[int, float]) -> Estimate:
        """Of a weighted sum of entries of z."""
        n = self.trials
        if n == 0:
            return Estimate(math.nan, math.inf)
        mean = math.fsum(w * self.sums[i] for i, w in weights.items()) / (n * ONE)
        if n == 1:
            return Estimate(mean, math.inf)
        terms = (wi * wj * self._spread(i, j) for i, wi in weights.items() for j, wj in weights.items())
        return Estimate(mean, _standard_error(math.fsum(terms), n))

    def _outcome(self, candidate: int, o: int, c: float) -> Estimate:
        n = self.trials
        if n == 0:
            return Estimate(math.nan, math.inf)
        p, luck = self.outcome_sums[candidate, :, o]
        pp, pl, ll = self.outcome_products[candidate, :, o]
        mean = (p - c * luck) / (n * ONE)
        if n == 1:
            return Estimate(mean, math.inf)
        spread = math.fsum([n * pp - p * p, -2.0 * c * (n * pl - p * luck), c * c * (n * ll - luck * luck)])
        return Estimate(mean, _standard_error(spread, n))


def _largest(values: NDArray[np.int64]) -> int:
    return int(np.abs(values).max(initial=0))


def _standard_error(spread: float, n: int) -> float:
    """Of a mean over n trials whose sum of squared deviations is spread / n."""
    return math.sqrt(max(spread, 0.0) / (n - 1)) / (n * ONE)
