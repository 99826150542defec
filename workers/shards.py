"""The worker that makes shards of training samples."""

from __future__ import annotations

from engine.evaluator import Nets
from training.positions import Shard, ShardMaker, ShardTask
from workers.nets import nets_of, weights_of
from workers.spec import Weights, WorkerSpec


class ShardWorker:
    """Loads its nets once and answers `ShardTask`s."""

    def __init__(self, nets: Nets) -> None:
        self._maker = ShardMaker(nets)

    def run(self, task: ShardTask) -> Shard:
        """The samples of one task."""
        return self._maker.make(task)


def build_shard_worker(weights: Weights) -> ShardWorker:
    """A worker from the arrays of its nets, named `main.*` and `filter.*`."""
    return ShardWorker(nets_of(weights))


def shard_workers(nets: Nets) -> WorkerSpec[ShardTask, Shard]:
    """How an executor makes workers for a pair of nets."""
    return WorkerSpec(build_shard_worker, weights_of(nets), nets.digest)
