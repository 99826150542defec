"""What a rollout, a deep analysis, a match or the analysis of an archive leaves in MLflow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cluster.deep.planner import DeepQuestion
from cluster.deep.schemas import DeepReport
from cluster.match import MatchQuestion
from cluster.match_schemas import MatchReport
from cluster.planner import RolloutQuestion
from cluster.schemas import RolloutReport, RolloutRequest
from cluster.settings import Settings
from cluster.versions import versions
from training.tracking import TrackedRun, start_run
from workers.tasks import GnubgOpponent

if TYPE_CHECKING:  # what writes reports is heavy, and rollouts need none of it
    from cluster.archive.schemas import AnalyseReport
    from cluster.archive.session import AnalysisRequest

EXPERIMENT = "gammonfarm rollouts"
DEEP_EXPERIMENT = "gammonfarm deep analyses"
MATCH_EXPERIMENT = "gammonfarm matches"
ARCHIVE_EXPERIMENT = "gammonfarm archives"


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


class TrackedDeep:
    """The record of one deep analysis under way."""

    def __init__(self, run: TrackedRun) -> None:
        self._run = run

    def finished(self, report: DeepReport) -> str | None:
        """Record the answer; returns the run's id."""
        result, provenance = report.result, report.provenance
        for step, c in enumerate(result.candidates):
            values = {"equity": c.equity, "difference": c.difference, "margin": c.margin, "gap": c.gap}
            self._run.metrics(values | {"search": c.search_equity, "simulation": c.simulation_equity}, step)
        timing = report.timing
        self._run.metrics({"seconds": timing.seconds, "trials_per_second": timing.trials_per_second})
        self._run.tags(
            {
                "key": provenance.key,
                "jobs": ", ".join(provenance.jobs),
                "plays": ", ".join(c.play or c.branch or "before the roll" for c in result.candidates),
                "playable": str(sum(c.playable for c in result.candidates)),
                "halves": "agree" if result.halves_agree else "differ by more than chance allows",
                "executor": f"{provenance.executor} x {provenance.workers}",
                **{f"version.{name}": version for name, version in provenance.versions.items()},
            }
        )
        return self._run.finish()

    def failed(self) -> None:
        """Record that there is no answer."""
        self._run.finish(ok=False)


def track_deep(settings: Settings, question: DeepQuestion) -> TrackedDeep:
    """Begin the record of a deep analysis."""
    params = question.request.model_dump() | {"net": question.halves[0].net, "plays": len(question.candidates)}
    return TrackedDeep(start_run(settings.tracking_uri, DEEP_EXPERIMENT, question.key[:12], params))


class TrackedMatch:
    """The record of one match under way."""

    def __init__(self, run: TrackedRun) -> None:
        self._run = run

    def finished(self, report: MatchReport) -> str | None:
        """Record the answer; returns the run's id."""
        r, p = report.result, report.provenance
        low, high = r.estimate.interval95
        self._run.metrics(
            {
                "points": r.estimate.points,
                "se": r.estimate.se,
                "points_low": low,
                "points_high": high,
                "points_as_played": r.raw.points,
                "luck": r.luck,
                "games": r.games,
                "games_per_second": p.games_per_second,
                "seconds": p.seconds,
            }
        )
        self._run.tags({"verdict": r.verdict.value, "series": p.series, "executor": f"{p.executor} x {p.workers}"})
        return self._run.finish()

    def failed(self) -> None:
        """Record that there is no answer."""
        self._run.finish(ok=False)


def track_match(settings: Settings, question: MatchQuestion) -> TrackedMatch:
    """Begin the record of a match."""
    b = question.b
    params = {
        "a": question.a.nets.digest,
        "b": f"gnubg {b.version}" if isinstance(b, GnubgOpponent) else b.nets.digest,
        "level_a": question.level_a,
        "level_b": question.level_b,
        "rules": question.settings.rules.name,
        "seed": question.settings.seed,
        "games": 2 * question.test.pairs,
        "looks": question.test.looks,
    }
    return TrackedMatch(start_run(settings.tracking_uri, MATCH_EXPERIMENT, question.series[:12], params))


class TrackedAnalysis:
    """The record of one analysis of an archive under way."""

    def __init__(self, run: TrackedRun) -> None:
        self._run = run

    def finished(self, report: AnalyseReport) -> str | None:
        """Record what was done; returns the run's id."""
        numbers = {
            "matches": report.matches,
            "games": report.games,
            "players": len(report.players) + report.more_players,
            "decisions": report.decisions,
            "decisions_per_second": report.decisions / max(report.seconds, 1e-9),
            "pr": report.pr,
            "se": report.se,
            "unreadable": report.unreadable,
            "copies": report.copies,
            "seconds": report.seconds,
        }
        for line in report.values:
            numbers |= {f"computed_{line.level}": line.computed, f"from_cache_{line.level}": line.from_cache}
        self._run.metrics({name: value for name, value in numbers.items() if value is not None})
        self._run.tags(
            {
                "job": report.job,
                "levels": ", ".join(f"{level} {count}" for level, count in report.levels.items()),
                "books": ", ".join(report.books) or "none",
                **{f"version.{name}": version for name, version in versions().items()},
            }
        )
        return self._run.finish()

    def failed(self) -> None:
        """Record that it did not end."""
        self._run.finish(ok=False)


def track_analysis(settings: Settings, request: AnalysisRequest) -> TrackedAnalysis:
    """Begin the record of an analysis."""
    name = f"{request.policy.name}, {len(request.files)} files"
    return TrackedAnalysis(start_run(settings.tracking_uri, ARCHIVE_EXPERIMENT, name, request.described()))
