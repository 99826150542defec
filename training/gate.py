"""The gate: whether a new net may take the champion's place, by tests with an error bar."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from engine.evaluator import Evaluator, Nets
from engine.rules import RuleSet
from engine.tally import Estimate
from engine.weights import Net
from training import match
from training.benchmark import CheckerDecision
from training.compare import PairedScore, paired_benchmark


class Verdict(enum.Enum):
    """Of a net against the champion."""

    BETTER = "better"
    WORSE = "worse"
    UNDECIDED = "undecided"
    """Neither is proven: the champion stays."""


@dataclass(frozen=True, slots=True)
class MatchScore:
    """A duplicate match of the net (A) against the champion (B)."""

    verdict: match.Verdict
    estimate: Estimate
    """The net's points per game."""
    interval95: tuple[float, float]
    games: int


@dataclass(frozen=True, slots=True)
class GateResult:
    """The evidence for a verdict; at least one of the two tests was made."""

    net: str
    """Digest."""
    champion: str
    benchmark: PairedScore | None = None
    """The net (A) and the champion (B) on the same recorded decisions."""
    match: MatchScore | None = None

    @property
    def verdict(self) -> Verdict:
        """By the match where there was one, else by the benchmark: which side of zero the whole interval lies on. A net
        that is proven worse on the benchmark is not better, whatever the match says.
        """
        worse = self.benchmark is not None and self.benchmark.a_is_worse
        if self.match is None:
            if worse:
                return Verdict.WORSE
            return Verdict.BETTER if self.benchmark and self.benchmark.a_is_better else Verdict.UNDECIDED
        if self.match.verdict is match.Verdict.B_BETTER:
            return Verdict.WORSE
        better = self.match.verdict is match.Verdict.A_BETTER
        return Verdict.BETTER if better and not worse else Verdict.UNDECIDED


MatchGate = Callable[[Net, Net, RuleSet, Callable[[str], None]], MatchScore]
"""(net, champion, rules, who is told how far it is) -> score: plays the match, on whatever workers there are."""


def benchmark_gate(net: Net, champion: Net, decisions: Sequence[CheckerDecision]) -> PairedScore:
    """Put the same recorded decisions to both at 1-ply."""
    return paired_benchmark(Evaluator(Nets(net)), Evaluator(Nets(champion)), decisions)
