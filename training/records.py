"""What a training run leaves in MLflow: a run, and inside it one for each stage."""

from __future__ import annotations

from collections.abc import Sequence

from engine.evaluator import Nets
from engine.rules import RuleSet
from training import plots
from training.benchmark import CheckerScore
from training.gate import GateResult
from training.held_out import hold_out
from training.history import Entry
from training.production import Produced
from training.quantisation import GAMES, quantisation_loss
from training.tracking import TrackedRun


class Records:
    """The record of a run under way; the runs of its stages begin with their first entry."""

    def __init__(self, run: TrackedRun) -> None:
        self._run = run
        self._stages: dict[str, TrackedRun] = {}

    def _stage(self, name: str) -> TrackedRun:
        if name not in self._stages:
            self._stages[name] = self._run.child(name, {})
        return self._stages[name]

    def positions(self, produced: Produced, games_per_s: float, samples_per_s: float, step: int) -> None:
        """Where self-play and labelling stand."""
        values = {
            "games": produced.games,
            "samples": produced.samples,
            "refused": produced.refused,
            "games_per_s": games_per_s,
            "samples_per_s": samples_per_s,
        }
        self._stage("positions").metrics(values, step)

    def fit(self, entry: Entry, samples_per_s: float) -> None:
        """One generation."""
        values = {
            "loss": entry.loss,
            "learning_rate": entry.learning_rate,
            "td_lambda": entry.td_lambda,
            "fitted": entry.fitted,
            "samples_per_s": samples_per_s,
        }
        self._stage("fit").metrics(values, entry.generation)

    def benchmark(self, score: CheckerScore, step: int) -> None:
        """A score of the net on its way."""
        low, high = score.interval95
        values = {"checker_meq": score.meq_per_decision, "checker_meq_low": low, "checker_meq_high": high}
        self._stage("benchmark").metrics(values, step)
        self._run.metrics(values, step)

    def gate(self, result: GateResult) -> None:
        """The verdict with its evidence."""
        values: dict[str, float] = {}
        if result.benchmark is not None:
            low, high = result.benchmark.interval95
            values |= {"difference_meq": result.benchmark.difference, "low": low, "high": high}
        if result.match is not None:
            low, high = result.match.interval95
            values |= {"points": result.match.estimate.mean, "points_low": low, "points_high": high}
            values["games"] = result.match.games
        self._stage("gate").metrics(values)
        self._run.tags({"gate": result.verdict.value, "champion": result.champion})

    def finished(self, nets: Nets, rules: RuleSet, seed: int, entries: Sequence[Entry]) -> dict[str, str]:
        """Look at the finished net on games that it was not trained on, draw the pictures; returns what its
        description should say.
        """
        # In proportion to the run: a look must not take longer than the training.
        games = min(2000, max(50, sum(entry.games for entry in entries) // 10))
        found = hold_out(nets, rules, seed, games, max(1, games // 60))
        loss = quantisation_loss(nets.main, rules, min(GAMES, games))
        values = {"quantisation_mean": loss.mean, "quantisation_largest": loss.largest}
        values |= {f"calibration_{name}": one.error for name, one in found.calibration.items()}
        values |= {f"error_{kind.value}": error for kind, error in found.errors.items()}
        self._run.metrics(values, len(entries))
        self._run.artifact("learning_curve.png", plots.learning_curve(entries))
        self._run.artifact("calibration.png", plots.calibration(found))
        self._run.artifact("errors_by_start.png", plots.errors_by_start(found))
        text = f"mean {loss.mean:.5f}, largest {loss.largest:.5f} over {loss.positions} positions"
        self._run.tags({"quantisation": text})
        return {"quantisation": text}

    def net(self, digest: str, file: str) -> None:
        """What came out."""
        self._run.tags({"net": digest, "file": file})

    def finish(self, ok: bool = True) -> None:
        """End the run and its stages."""
        for stage in self._stages.values():
            stage.finish(ok)
        self._run.finish(ok)
