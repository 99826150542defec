"""The worker that plays trials."""

from __future__ import annotations

from engine.bearoff import NO_DATABASES, open_databases
from engine.evaluator import IntegerNets, Nets
from engine.rollout import Roller, RolloutSettings
from workers.nets import nets_of, weights_of
from workers.spec import Weights, WorkerSpec
from workers.tasks import RolloutOutput, RolloutTask


class RolloutWorker:
    """Holds the integer twins of its nets and answers `RolloutTask`s; opens the bear-off databases when a task first
    needs them.
    """

    def __init__(self, nets: IntegerNets) -> None:
        self._nets = nets
        self._rollers: dict[int | None, Roller] = {}

    def run(self, task: RolloutTask) -> RolloutOutput:
        """All rows of one task."""
        roller = self._roller(task.settings)
        return RolloutOutput(tuple(roller.trials(c, task.settings, task.first, task.count) for c in task.candidates))

    def _roller(self, settings: RolloutSettings) -> Roller:
        checkers = settings.bearoff_checkers if settings.uses_bearoff else None
        if checkers not in self._rollers:
            # Opened here, not sent: all workers of a machine share the pages of one file.
            arrays = NO_DATABASES if checkers is None else open_databases(two_sided_checkers=checkers).arrays
            self._rollers[checkers] = Roller(self._nets, arrays)
        return self._rollers[checkers]


def build_rollout_worker(weights: Weights) -> RolloutWorker:
    """A worker from the arrays of its nets, named `main.*` and `filter.*`."""
    return RolloutWorker(nets_of(weights).integers())


def rollout_workers(nets: Nets) -> WorkerSpec[RolloutTask, RolloutOutput]:
    """How an executor makes workers for a pair of nets."""
    return WorkerSpec(build_rollout_worker, weights_of(nets), nets.digest)
