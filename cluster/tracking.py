"""What a rollout leaves in MLflow."""

from __future__ import annotations

from cluster.planner import RolloutQuestion
from cluster.schemas import RolloutReport, RolloutRequest
from cluster.settings import Settings
from training.tracking import TrackedRun, start_run

EXPERIMENT = "gammonfarm rollouts"


class TrackedRollout:
    """The record of one rollout under way."""

    def __init__(self, run: TrackedRun) -> None:
        self._run = run

    def finished(self, report: RolloutReport) -> str | None:
        """Record the answer; returns the run's id."""
        metrics = {"seconds": report.timing.seconds, "trials_per_second": report.timing.trials_per_second}
        for step, candidate in enumerate(report.result.candidates):
            values = {"equity": candidate.equity, "se": candidate.se, "luck": candidate.luck}
            self._run.metrics(values | {"difference": candidate.difference}, step)
        self._run.metrics(metrics)
        provenance = report.provenance
        self._run.tags(
            {
                "key": provenance.key,
                "job": provenance.job,
                "plays": ", ".join(c.play or "before the roll" for c in report.result.candidates),
                "blocks": f"{provenance.blocks_from_cache} of {provenance.blocks} from cache",
                "executor": f"{provenance.executor} x {provenance.workers}",
                **{f"version.{name}": version for name, version in provenance.versions.items()},
            }
        )
        return self._run.finish()

    def failed(self) -> None:
        """Record that there is no answer."""
        self._run.finish(ok=False)


def track_rollout(settings: Settings, request: RolloutRequest, question: RolloutQuestion) -> TrackedRollout:
    """Begin the record of a rollout."""
    params = request.model_dump() | {"net": question.net, "plays": len(question.candidates)}
    return TrackedRollout(start_run(settings.tracking_uri, EXPERIMENT, question.key[:12], params))
