"""The worker that plays trials."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from engine.rollout import Roller
from engine.weights import Net, make_net
from workers.spec import Weights, WorkerSpec
from workers.tasks import RolloutOutput, RolloutTask


class RolloutWorker:
    """Loads a net once and answers `RolloutTask`s."""

    def __init__(self, net: Net) -> None:
        self._roller = Roller(net)

    def run(self, task: RolloutTask) -> RolloutOutput:
        """All rows of one task."""
        # Boards that came through Ray are read-only, for which the kernels would be compiled a second time.
        candidates = [replace(c, board=np.array(c.board)) for c in task.candidates]
        return RolloutOutput(tuple(self._roller.trials(c, task.settings, task.first, task.count) for c in candidates))


def build_rollout_worker(weights: Weights) -> RolloutWorker:
    """A worker from the arrays of a net."""
    return RolloutWorker(make_net(weights))


def rollout_workers(net: Net) -> WorkerSpec[RolloutTask, RolloutOutput]:
    """How an executor makes workers for a net."""
    return WorkerSpec(build_rollout_worker, net.arrays, net.digest)
