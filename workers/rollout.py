"""The worker that plays trials."""

from __future__ import annotations

from engine.bearoff import open_databases
from engine.evaluator import Nets
from engine.rollout import Roller
from workers.nets import nets_of, weights_of
from workers.spec import Weights, WorkerSpec
from workers.tasks import RolloutOutput, RolloutTask


class RolloutWorker:
    """Loads its nets once and answers `RolloutTask`s; opens the bear-off databases when a task first needs them."""

    def __init__(self, nets: Nets) -> None:
        self._nets = nets
        self._roller = Roller(nets)
        self._has_databases = False

    def run(self, task: RolloutTask) -> RolloutOutput:
        """All rows of one task."""
        if task.settings.uses_bearoff and not self._has_databases:
            # Opened here, not sent: all workers of a machine share the pages of one file.
            self._roller = Roller(self._nets, open_databases().arrays)
            self._has_databases = True
        return RolloutOutput(
            tuple(self._roller.trials(c, task.settings, task.first, task.count) for c in task.candidates)
        )


def build_rollout_worker(weights: Weights) -> RolloutWorker:
    """A worker from the arrays of its nets, named `main.*` and `filter.*`."""
    return RolloutWorker(nets_of(weights))


def rollout_workers(nets: Nets) -> WorkerSpec[RolloutTask, RolloutOutput]:
    """How an executor makes workers for a pair of nets."""
    return WorkerSpec(build_rollout_worker, weights_of(nets), nets.digest)
