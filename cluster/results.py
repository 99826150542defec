"""The exact part of a rollout's answer: a function of the question and its trials, made in this one place.

So it has the same bytes whoever computed which trial, and in which order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from cluster.planner import RolloutQuestion
from cluster.schemas import CandidateResult, Probabilities, RolloutResult
from cluster.store import TrialRange
from engine.stopping import StopReason
from engine.tally import Estimate, Tally
from engine.xgid import format_xgid

TallyOf = Callable[[Sequence[int], TrialRange], Tally]
"""(numbers of candidates, complete range) -> their tally."""


def make_result(question: RolloutQuestion, tally_of: TallyOf, trials: Sequence[int], stop: StopReason) -> RolloutResult:
    """The exact part of the answer: a function of the question and its trials.

    Candidates that got all trials come first, best first; then those that were beaten earlier, later ones first.
    """
    own = [tally_of((i,), TrialRange(0, n)) for i, n in enumerate(trials)]
    equities = [tally.equity(0).mean for tally in own]
    order = sorted(range(len(trials)), key=lambda i: (-trials[i], -equities[i], i))
    best = order[0]
    settings = question.settings
    return RolloutResult(
        xgid=format_xgid(question.position),
        rules=settings.rules.name,
        net=question.net,
        seed=settings.seed,
        truncate=settings.truncate,
        variance_reduction=settings.variance_reduction,
        bearoff=settings.uses_bearoff,
        bearoff_checkers=settings.bearoff_checkers if settings.uses_bearoff else None,
        stop=stop,
        candidates=tuple(
            _candidate(question, i, own[i], tally_of((best, i), TrialRange(0, min(trials[i], trials[best]))), i == best)
            for i in order
        ),
    )


def _candidate(question: RolloutQuestion, i: int, own: Tally, pair: Tally, is_best: bool) -> CandidateResult:
    equity = own.equity(0)
    difference = Estimate(0.0, 0.0) if is_best else pair.difference(1, 0)
    outcome = own.outcome(0)
    luck = own.luck(0)
    return CandidateResult(
        play=question.candidates[i].play,
        level=question.settings.level,
        equity=equity.mean,
        se=_finite(equity.se),
        difference=difference.mean,
        difference_se=_finite(difference.se),
        probabilities=Probabilities.of([p.mean for p in outcome]),
        probabilities_se=Probabilities.of([_finite(p.se) for p in outcome]),
        trials=own.trials,
        luck=luck.mean,
        luck_se=_finite(luck.se),
        coefficient=own.coefficient(0),
    )


def _finite(se: float) -> float:
    """One trial has no standard error; JSON has no infinity, and the largest equity is a bound that says as much."""
    return se if se < 3.0 else 3.0
