"""Numbers for Prometheus: of this API process, and of the farm as the coordinator last described it."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector
from starlette.types import Scope

from cluster.farm.status import FarmStatus

_METHODS = {"GET", "POST", "PUT"}
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_GAUGES = {
    "workers": "Workers that may work",
    "workers_busy": "Workers with a task",
    "workers_proving": "Workers that prove themselves",
    "workers_retired": "Workers retired because of a wrong golden block",
    "workers_lost": "Workers that died",
    "jobs_queued": "Jobs that have not begun",
    "jobs_running": "Jobs under way",
    "tasks": "Tasks under way",
    "outputs_in_hand": "Finished outputs that are not kept yet",
    "blocks": "Blocks finished since the coordinator took over",
    "units": "Units finished since then",
    "seconds": "Processor seconds of workers since then",
    "jobs_done": "Jobs done since then",
    "jobs_failed": "Jobs failed since then",
    "quarantined": "Tasks given up since then",
    "ledger_failures": "Tries on which Redis was away",
    "utilisation": "Part of the workers' time spent working",
}


class Metrics:
    """The numbers of one process."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        labels = ("method", "route")
        self._seconds = Histogram(
            "gammonfarm_request_seconds",
            "Time to the answer's beginning",
            labels,
            registry=self._registry,
            buckets=(0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 5),
        )
        self._answers = Counter(
            "gammonfarm_answers_total", "Answers by status", (*labels, "status"), registry=self._registry
        )
        self._streams = Gauge("gammonfarm_streams", "Open event and result streams", registry=self._registry)

    def answered(self, scope: Scope, status: int, seconds: float) -> None:
        """Count an answer that took so long to begin."""
        # The pattern of the path: names in it would make a series each.
        route = getattr(scope.get("route"), "path", "none")
        method = scope["method"] if scope["method"] in _METHODS else "other"
        self._seconds.labels(method, route).observe(seconds)
        self._answers.labels(method, route, str(status)).inc()

    def text(self, streams: int, status: FarmStatus | None) -> bytes:
        """The page that Prometheus reads."""
        self._streams.set(streams)
        farm = CollectorRegistry()
        farm.register(_Farm(status))
        return generate_latest(self._registry) + generate_latest(farm)


class _Farm(Collector):
    def __init__(self, status: FarmStatus | None) -> None:
        self._status = status

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """See `Collector`."""
        up = GaugeMetricFamily("gammonfarm_coordinator_up", "Whether a coordinator spoke within a minute")
        up.add_metric([], float(self._status is not None))
        yield up
        for name, text in _GAUGES.items() if self._status is not None else ():
            gauge = GaugeMetricFamily(f"gammonfarm_{name}", text)
            gauge.add_metric([], float(getattr(self._status, name)))
            yield gauge
