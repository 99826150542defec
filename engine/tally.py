"""Tallies: what is kept of the trials of several candidates on the same dice, exact and mergeable in any order.

All sums are Python integers (fixed point, 1/2**20), so merging is associative and commutative to the last bit and
cannot overflow. Means and errors become floating point only when they are read.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.errors import InternalError
from engine.kernels.network import ONE
from engine.outcome import OUTCOMES
from engine.rollout import ROW, TrialRows
from engine.rules import RuleSet

Exact = NDArray[np.object_]  # Python integers


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean with its standard error."""

    mean: float
    se: float


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """Sums over the common trials of K candidates.

    With x = outcome - luck of one trial (or the outcome alone where no luck was computed), e its equity, g the luck's
    equity: `outcome_sums` [K, 5] of x, `outcome_squares` [K, 5] of x * x, `equity_sums` [K] of e, `equity_products`
    [K, K] of e_i * e_j, `luck_sums` [K] of g, `luck_squares` [K] of g * g.
    """

    trials: int
    outcome_sums: Exact
    outcome_squares: Exact
    equity_sums: Exact
    equity_products: Exact
    luck_sums: Exact
    luck_squares: Exact

    @staticmethod
    def empty(candidates: int) -> Tally:
        """No trials yet."""

        def zeros(*shape: int) -> Exact:
            return np.zeros(shape, dtype=np.int64).astype(object)

        k = candidates
        return Tally(0, zeros(k, OUTCOMES), zeros(k, OUTCOMES), zeros(k), zeros(k, k), zeros(k), zeros(k))

    @staticmethod
    def of(rows: list[TrialRows], rules: RuleSet) -> Tally:
        """Of one range of trials; `rows[i]` are those of candidate i.

        Raises:
            InternalError: candidates with different numbers of trials.
        """
        n = len(rows[0])
        if any(part.shape != (n, ROW) for part in rows):
            raise InternalError("a tally needs the same trials of every candidate")
        # int64 suffices inside a block: |x| < 2**25 and n < 2**13 keep every sum of products below 2**63.
        if n > 2**13:
            merged = Tally.empty(len(rows))
            for start in range(0, n, 2**13):
                merged = merged.merge(Tally.of([part[start : start + 2**13] for part in rows], rules))
            return merged
        stacked = np.stack(rows).astype(np.int64)  # [K, n, 10]
        luck = stacked[:, :, OUTCOMES:]
        x = stacked[:, :, :OUTCOMES] - luck
        e = x @ rules.utility - ONE
        g = luck @ rules.utility
        if max(int(np.abs(values).max(initial=0)) for values in (x, e, g)) >= 2**25:
            raise InternalError("a trial's value is outside the range of the tally")
        return Tally(
            n,
            x.sum(axis=1).astype(object),
            (x * x).sum(axis=1).astype(object),
            e.sum(axis=1).astype(object),
            (e @ e.T).astype(object),
            g.sum(axis=1).astype(object),
            (g * g).sum(axis=1).astype(object),
        )

    def merge(self, other: Tally) -> Tally:
        """The tally of both ranges of trials (which must not overlap)."""
        return Tally(
            self.trials + other.trials,
            self.outcome_sums + other.outcome_sums,
            self.outcome_squares + other.outcome_squares,
            self.equity_sums + other.equity_sums,
            self.equity_products + other.equity_products,
            self.luck_sums + other.luck_sums,
            self.luck_squares + other.luck_squares,
        )

    def equity(self, candidate: int) -> Estimate:
        """Cubeless equity, mover's view."""
        total = self.equity_sums[candidate]
        return self._estimate(total, self.equity_products[candidate, candidate])

    def difference(self, candidate: int, reference: int) -> Estimate:
        """Equity of a candidate minus that of another, trial by trial on the same dice."""
        total = self.equity_sums[candidate] - self.equity_sums[reference]
        squares = (
            self.equity_products[candidate, candidate]
            - 2 * self.equity_products[candidate, reference]
            + self.equity_products[reference, reference]
        )
        return self._estimate(total, squares)

    def outcome(self, candidate: int) -> list[Estimate]:
        """The five cumulative probabilities, mover's view."""
        return [
            self._estimate(self.outcome_sums[candidate, o], self.outcome_squares[candidate, o]) for o in range(OUTCOMES)
        ]

    def luck(self, candidate: int) -> Estimate:
        """Mean luck in equity; an unbiased rollout has it within a few standard errors of zero."""
        return self._estimate(self.luck_sums[candidate], self.luck_squares[candidate])

    def _estimate(self, total: int, squares: int) -> Estimate:
        n = self.trials
        if n == 0:
            return Estimate(math.nan, math.inf)
        mean = total / (n * ONE)
        if n == 1:
            return Estimate(mean, math.inf)
        # n * sum(x*x) - sum(x)**2 in integers: no cancellation.
        spread = n * squares - total * total
        return Estimate(mean, math.sqrt(spread / (n * n * (n - 1))) / ONE)
