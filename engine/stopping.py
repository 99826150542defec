"""When a rollout has seen enough, and which candidates still deserve trials.

Verdicts are given at checkpoints only: fixed numbers of trials that belong to the question. They depend on the trials
up to there and nothing else, so block sizes, workers and the order in which results arrive can't change them. Looking
often is paid for: the chance of a wrong verdict is shared out over all looks and all rivals (Bonferroni), so the
stated confidence holds for the whole rollout, not for one look.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist

from engine.errors import InputError
from engine.tally import Estimate

DEFAULT_CONFIDENCE = 0.99


class StopReason(enum.Enum):
    """Why a rollout ended."""

    TRIALS = "trials"
    """All trials that were asked for."""
    CONFIDENCE = "confidence"
    """The best candidate is the best with the confidence asked for."""
    STANDARD_ERROR = "standard-error"
    """Every difference that still matters is known to the error asked for."""


@dataclass(frozen=True, slots=True)
class StopRules:
    """How long a rollout goes on."""

    trials: int
    """Most trials a candidate gets."""
    checkpoint: int = 324
    """Trials between two looks."""
    target_se: float | None = None
    """Stop when the difference of each candidate in contention to the best has at most this standard error (with one
    candidate: its equity)."""
    confidence: float | None = None
    """Stop when the best is the best with at least this probability."""
    race: bool = False
    """Candidates that are beaten with `confidence` (0.99 if none is given) get no more trials."""

    def __post_init__(self) -> None:
        if self.checkpoint < 36:
            raise InputError("checkpoint", self.checkpoint, "a whole number of at least 36 trials")
        if self.target_se is not None and not 0.0 < self.target_se < 1.0:
            raise InputError("stop-se", self.target_se, "a standard error between 0 and 1")
        if self.confidence is not None and not 0.5 < self.confidence < 1.0:
            raise InputError("stop-confidence", self.confidence, "a probability between 0.5 and 1")

    @property
    def checkpoints(self) -> tuple[int, ...]:
        """Numbers of trials after which a verdict is given, rising, the last being `trials`."""
        if self.target_se is None and self.confidence is None and not self.race:
            return (self.trials,)
        return (*range(self.checkpoint, self.trials, self.checkpoint), self.trials)

    def critical_value(self, candidates: int) -> float:
        """Standard errors by which a candidate must be behind to be beaten, for the whole rollout."""
        wrong = 1.0 - (self.confidence or DEFAULT_CONFIDENCE)
        looks = len(self.checkpoints) * max(candidates - 1, 1)
        return NormalDist().inv_cdf(1.0 - wrong / looks)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a checkpoint decides."""

    active: tuple[int, ...]
    """Candidates that get more trials, in their order."""
    stop: StopReason | None


def judge(
    rules: StopRules,
    trials: int,
    candidates: int,
    active: Sequence[int],
    best: int,
    equity: Estimate,
    behind: Mapping[int, Estimate],
) -> Verdict:
    """The verdict at a checkpoint.

    Args:
        candidates: how many the rollout began with. active: those still in it. best: the best of them so far.
        equity: of the best. behind: for each other active candidate, its difference to the best (zero or negative),
            on common dice.
    """
    critical = rules.critical_value(candidates)
    beaten = {i for i, difference in behind.items() if -difference.mean > critical * difference.se}
    in_contention = [i for i in behind if i not in beaten]
    stop: StopReason | None = None
    if rules.confidence is not None and behind and not in_contention:
        stop = StopReason.CONFIDENCE
    elif rules.target_se is not None:
        errors = [behind[i].se for i in in_contention] or ([] if behind else [equity.se])
        if all(se <= rules.target_se for se in errors):
            stop = StopReason.STANDARD_ERROR
    if stop is None and trials >= rules.trials:
        stop = StopReason.TRIALS
    left = tuple(i for i in active if i not in beaten) if rules.race else tuple(active)
    if stop is None and rules.race and len(left) == 1 and candidates > 1:
        stop = StopReason.CONFIDENCE  # nobody is left to race against
    return Verdict(left, stop)
