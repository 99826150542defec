"""Whether one evaluator is better than another: the same recorded decisions put to both, difference by difference."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from engine.errors import InputError
from engine.evaluator import Evaluator
from engine.search import MoveFilter
from training.benchmark import CheckerDecision, choice_of
from training.estimate import STANDARD_ERRORS_95, estimate_mean


@dataclass(frozen=True, slots=True)
class PairedScore:
    """What A's choices lose more than B's on the same decisions, in thousandths of a point: negative = A is better."""

    decisions: int
    a_meq: float
    """Mean loss of A's choices, per decision."""
    b_meq: float
    difference: float
    """`a_meq` - `b_meq`."""
    se: float
    """Standard error of the difference, from the differences of single decisions (0 when all choices are worth the
    same)."""
    differing: int
    """Decisions on which the two choose different plays."""

    @property
    def interval95(self) -> tuple[float, float]:
        """95 % interval of the difference, by the normal approximation."""
        return self.difference - STANDARD_ERRORS_95 * self.se, self.difference + STANDARD_ERRORS_95 * self.se

    @property
    def a_is_worse(self) -> bool:
        """Whether A loses significantly more: the whole interval lies above zero."""
        return self.interval95[0] > 0.0

    @property
    def a_is_better(self) -> bool:
        """Whether A loses significantly less: the whole interval lies below zero."""
        return self.interval95[1] < 0.0


def paired_benchmark(
    a: Evaluator,
    b: Evaluator,
    decisions: Iterable[CheckerDecision],
    level: int = 1,
    move_filter: MoveFilter | None = None,
) -> PairedScore:
    """Let both choose on every decision, cubeless money, and compare what the choices lose.

    Args:
        move_filter: needed above level 1.

    Raises:
        InputError: no decisions at all, or an unknown level.
    """
    losses_a: list[float] = []
    losses_b: list[float] = []
    differing = 0
    for decision in decisions:
        choice_a = choice_of(a, decision, level, move_filter)
        choice_b = choice_of(b, decision, level, move_filter)
        differing += choice_a.after != choice_b.after
        losses_a.append(choice_a.loss)
        losses_b.append(choice_b.loss)
    n = len(losses_a)
    if n == 0:
        raise InputError("benchmark file", "no decisions", "at least one record with moves")
    difference = estimate_mean([1000 * (x - y) for x, y in zip(losses_a, losses_b, strict=True)])
    return PairedScore(
        decisions=n,
        a_meq=1000 * math.fsum(losses_a) / n,
        b_meq=1000 * math.fsum(losses_b) / n,
        difference=difference.mean,
        # One decision says nothing about the spread.
        se=math.inf if difference.se is None else difference.se,
        differing=differing,
    )
