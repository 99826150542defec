"""Shards of training samples from an executor's workers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cluster.executor import Executor
from engine.evaluator import Nets
from training.positions import ShardTask
from training.production import Made
from workers.shards import shard_workers


class ShardFarm:
    """See `training.production.Producer`. The nets travel once a version; a lost worker's shard is made again."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    @property
    def workers(self) -> int:
        """See `Producer`."""
        return self._executor.workers

    def make(self, nets: Nets, tasks: Iterable[ShardTask]) -> Iterator[Made]:
        """See `Producer`."""
        for completed in self._executor.map_unordered(shard_workers(nets), tasks):
            yield Made(completed.task, completed.output)

    def close(self) -> None:
        """See `Producer`."""
        self._executor.close()
