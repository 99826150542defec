"""The worker that plays trials."""

from __future__ import annotations

from engine.bearoff import open_databases
from engine.evaluator import Nets
from engine.rollout import Roller
from engine.weights import NetKind, make_net
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


def weights_of(nets: Nets) -> Weights:
    """The arrays of a pair of nets under one roof, named `main.*` and `filter.*`."""
    return {f"{net.kind.value}.{k}": a for net in (nets.main, nets.filter) if net for k, a in net.arrays.items()}


def nets_of(weights: Weights) -> Nets:
    """The nets again."""
    main = make_net(_part(weights, NetKind.MAIN))
    arrays = _part(weights, NetKind.FILTER)
    return Nets(main, make_net(arrays, kind=NetKind.FILTER) if arrays else None)


def _part(weights: Weights, kind: NetKind) -> Weights:
    prefix = f"{kind.value}."
    return {name.removeprefix(prefix): array for name, array in weights.items() if name.startswith(prefix)}
