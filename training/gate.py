"""The gate: whether a new net may take the champion's place, by a test with an error bar."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from engine.evaluator import Evaluator, Nets
from engine.weights import Net
from training.benchmark import CheckerDecision
from training.compare import PairedScore, paired_benchmark


class Verdict(enum.Enum):
    """Of a net against the champion."""

    BETTER = "better"
    """The whole interval of the difference lies on the net's side."""
    WORSE = "worse"
    UNDECIDED = "undecided"
    """The interval holds zero: the champion stays."""


@dataclass(frozen=True, slots=True)
class GateResult:
    """A verdict with its evidence."""

    verdict: Verdict
    net: str
    champion: str
    score: PairedScore
    """Of the net (A) against the champion (B)."""


Gate = Callable[[Net, Net], GateResult]
"""(net, champion) -> verdict."""


def benchmark_gate(decisions: Sequence[CheckerDecision]) -> Gate:
    """A gate that puts the same recorded decisions to both at 1-ply."""

    def gate(net: Net, champion: Net) -> GateResult:
        score = paired_benchmark(Evaluator(Nets(net)), Evaluator(Nets(champion)), decisions)
        verdict = Verdict.UNDECIDED
        if score.a_is_better:
            verdict = Verdict.BETTER
        elif score.a_is_worse:
            verdict = Verdict.WORSE
        return GateResult(verdict, net.digest, champion.digest, score)

    return gate
