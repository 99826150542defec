"""A job that is one task, whose output is the answer: the simplest `JobRun`, for kinds without parts worth sharing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from cluster.farm.kinds import Cost, Piece
from cluster.ledger import Block
from cluster.store import TrialRange
from cluster.versions import versions
from workers.spec import WorkerSpec


class OneTaskJob:
    """See `JobRun`.

    Args:
        spec: how its worker is made; `run(task)` gives the exact answer as JSON bytes.
        report: where the answer came from, once it is there.
        patience: see `Piece`.
    """

    total = 1
    series: tuple[str, ...] = ()
    minutes: float | None = None
    likeness = ""

    def __init__(
        self, spec: WorkerSpec[Any, bytes], task: Any, report: Callable[[Cost], dict[str, Any]], patience: float = 0.0
    ) -> None:
        self._piece: Piece | None = Piece(spec, task, 1, patience=patience)
        self._report = report
        self._answer: bytes | None = None

    @property
    def finished(self) -> bool:
        """See `JobRun`."""
        return self._answer is not None

    @property
    def done(self) -> int:
        """See `JobRun`."""
        return int(self.finished)

    @property
    def left(self) -> int:
        """See `JobRun`."""
        return int(self._piece is not None)

    def pieces(self, units: int, under_way: Mapping[str, Sequence[TrialRange]]) -> list[Piece]:
        """See `JobRun`."""
        piece, self._piece = self._piece, None
        return [piece] if piece else []

    def blocks(self, task: Any, output: bytes) -> list[Block]:
        """See `JobRun`."""
        return []

    def take(self, task: Any, output: bytes) -> None:
        """See `JobRun`."""
        self._answer = output

    def offer(self, series: str, trials: TrialRange, payload: bytes) -> None:
        """See `JobRun`."""

    def progress(self) -> dict[str, Any]:
        """See `JobRun`."""
        return {}

    def result(self) -> bytes:
        """See `JobRun`."""
        return self._answer or b""

    def report(self, cost: Cost) -> dict[str, Any]:
        """See `JobRun`."""
        return self._report(cost)

    def close(self) -> None:
        """See `JobRun`."""


def where_from(key: str, net: str, job: str, seconds: float) -> dict[str, Any]:
    """Provenance and timing of such an answer."""
    provenance = {"key": key, "net": net, "job": job, "executor": "farm", "versions": versions()}
    return {"provenance": provenance, "timing": {"seconds": seconds}}
