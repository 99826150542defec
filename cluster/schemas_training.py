"""The JSON documents of `gammonfarm train`."""

from __future__ import annotations

from cluster.schemas import CheckerBenchmark, Model
from training import match
from training.benchmark import CheckerScore
from training.gate import GateResult, Verdict
from training.run import Outcome


class GateBenchmark(Model):
    """A net and the champion on the same recorded decisions."""

    difference_meq: float
    """Of the loss per decision: negative = the new net is better."""
    interval95: tuple[float, float]
    decisions: int


class GateMatch(Model):
    """A net against the champion on the same dice."""

    points: float
    """Of the new net per game."""
    interval95: tuple[float, float]
    games: int
    verdict: match.Verdict
    """The new net is A."""


class GateReport(Model):
    """A net against the champion."""

    verdict: Verdict
    champion: str
    """Digest."""
    benchmark: GateBenchmark | None
    match: GateMatch | None


class TrainingReport(Model):
    """What a run or one of its stages left."""

    recipe: str
    stage: str
    """`all`, or the one that was asked for."""
    net: str
    """Digest of the net as it stands."""
    file: str
    generations: int
    """Fitted in all."""
    games: int
    """Whose samples were fitted."""
    shards: int
    """Made by this command."""
    samples: int
    """In these shards."""
    refused: int
    """Left out of them, because their label was impossible."""
    loss: float | None
    """Of the last generation."""
    benchmark: CheckerBenchmark | None
    gate: GateReport | None
    seconds: float


class DistillReport(Model):
    """What a distillation left."""

    recipe: str
    net: str
    """Digest of the filter net."""
    file: str
    teacher: str
    """Digest of the main net."""
    rounds: int
    seconds: float


def checker_benchmark(score: CheckerScore) -> CheckerBenchmark:
    """The model of a score."""
    return CheckerBenchmark(
        meq_per_decision=score.meq_per_decision,
        interval95=score.interval95,
        decisions=score.decisions,
        error_rate=score.error_rate,
        first_choice=score.first_choice,
        unlisted=score.unlisted,
    )


def training_report(recipe: str, stage: str, outcome: Outcome) -> TrainingReport:
    """The document of what a run left."""
    return TrainingReport(
        recipe=recipe,
        stage=stage,
        net=outcome.net.digest,
        file=str(outcome.path),
        generations=outcome.generations,
        games=outcome.games,
        shards=outcome.produced.shards,
        samples=outcome.produced.samples,
        refused=outcome.produced.refused,
        loss=outcome.loss,
        benchmark=checker_benchmark(outcome.benchmark) if outcome.benchmark else None,
        gate=_gate_report(outcome.gate) if outcome.gate else None,
        seconds=outcome.seconds,
    )


def _gate_report(result: GateResult) -> GateReport:
    return GateReport(
        verdict=result.verdict,
        champion=result.champion,
        benchmark=GateBenchmark(
            difference_meq=result.benchmark.difference,
            interval95=result.benchmark.interval95,
            decisions=result.benchmark.decisions,
        )
        if result.benchmark
        else None,
        match=GateMatch(
            points=result.match.estimate.mean,
            interval95=result.match.interval95,
            games=result.match.games,
            verdict=result.match.verdict,
        )
        if result.match
        else None,
    )
