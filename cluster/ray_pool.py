"""The farm's workers on Ray: one actor for each core of each node, as nodes come and go.

Ray's own retries are off, as in `cluster.ray_executor`: who is to blame for a death is decided in `cluster.roster`.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any

import ray
from ray import exceptions as ray_errors
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from cluster.farm.pool import Departure, Outcome, PoolBrokenError
from cluster.probation import Probation
from cluster.ray_executor import ONE_THREAD, application_error, first_line
from cluster.roster import Assignment
from engine.errors import InfrastructureError
from workers.ray_actor import Identity, Reply, WorkerActor
from workers.sources import sources_digest
from workers.spec import WorkerSpec

_ray: Any = ray
log = logging.getLogger(__name__)

_LOOK_SECONDS = 1.0
_PING_SECONDS = 5.0
_START_SECONDS = 120.0
_KEPT_WEIGHTS = 4
_LOST = (
    ray_errors.RayActorError,
    ray_errors.WorkerCrashedError,
    ray_errors.NodeDiedError,
    ray_errors.OutOfMemoryError,
    ray_errors.ActorUnavailableError,
)


@dataclass(eq=False)
class _Member:
    name: str
    node: str
    actor: Any
    started: float
    ready: bool = False
    ping: Any = None
    pinged: float = 0.0
    tasks: dict[Any, Assignment] = field(default_factory=dict)


class RayPool:
    """See `WorkerPool`. Ray must be up in this process; ends only its own actors."""

    def __init__(self) -> None:
        self._class = ray.remote(WorkerActor)
        self._members: dict[str, _Member] = {}
        self._gone: OrderedDict[str, Departure] = OrderedDict()
        self._weights: OrderedDict[str, Any] = OrderedDict()
        self._looked = -1e9
        self._nodes: dict[str, int] = {}
        self._made = 0
        self._probation = Probation()

    def members(self) -> set[str]:
        """See `WorkerPool`."""
        now = time.monotonic()
        if now - self._looked > _LOOK_SECONDS:
            self._looked = now
            self._look(now)
        return {member.name for member in self._members.values() if member.ready}

    def departure(self, worker: str) -> Departure:
        """See `WorkerPool`."""
        return self._gone.get(worker, Departure("it is unknown", blame=False))

    def submit(self, worker: str, assignment: Assignment, spec: WorkerSpec[Any, Any]) -> None:
        """See `WorkerPool`."""
        member = self._members.get(worker)
        if member is None:
            return  # the next look at the members tells
        weights = self._weights_of(spec)
        with _or_broken():
            ref = member.actor.run.remote(spec.key, spec.build, [weights], assignment.task)
        member.tasks[ref] = assignment

    def wait(self, seconds: float) -> list[Outcome]:
        """See `WorkerPool`."""
        refs = {ref: member for member in self._members.values() for ref in member.tasks}
        if not refs:
            time.sleep(min(seconds, _LOOK_SECONDS))
            return []
        with _or_broken():
            ready, _ = ray.wait(list(refs), num_returns=1, timeout=seconds)
            if ready:
                ready, _ = ray.wait(list(refs), num_returns=len(refs), timeout=0)
        found = (self._settle(refs[ref], ref) for ref in ready)
        return [outcome for outcome in found if outcome is not None]

    def withdraw(self, worker: str, assignment: Assignment) -> None:
        """See `WorkerPool`."""
        member = self._members.get(worker)
        for ref, held in member.tasks.items() if member else ():
            if held is assignment:
                with contextlib.suppress(Exception):
                    ray.cancel(ref)

    def kill(self, worker: str, *, broken: str = "") -> None:
        """See `WorkerPool`."""
        member = self._members.get(worker)
        if member is not None:
            if broken:
                self._probation.failed(member.node, broken, time.monotonic())
            self._remove(worker, Departure(broken or "it was ended", blame=False))

    def describe(self) -> dict[str, Any]:
        """See `WorkerPool`."""
        return {
            "executor": "ray",
            "version": ray.__version__,
            "nodes": len(self._nodes),
            "workers": len(self._members),
            "out": {node[:8]: reason for node, reason in self._probation.out(time.monotonic()).items()},
        }

    def close(self) -> None:
        """See `WorkerPool`."""
        for worker in list(self._members):
            self.kill(worker)

    def _settle(self, member: _Member, ref: Any) -> Outcome | None:
        assignment = member.tasks.get(ref)
        if assignment is None or self._members.get(member.name) is not member:
            return None  # buried already, for another of its tasks
        try:
            reply: Reply = ray.get(ref)
        except ray_errors.TaskCancelledError as error:
            del member.tasks[ref]
            return Outcome(member.name, assignment, None, 0.0, InfrastructureError(first_line(error)))
        except ray_errors.RayTaskError as error:
            del member.tasks[ref]
            return Outcome(member.name, assignment, None, 0.0, application_error(error))
        except _LOST as error:
            self._remove(member.name, self._why(member, error))
            return None
        except ray_errors.RayError as error:
            raise PoolBrokenError(f"ray: {first_line(error)}") from error
        del member.tasks[ref]
        return Outcome(member.name, assignment, reply.output, reply.seconds)

    def _why(self, member: _Member, error: Exception) -> Departure:
        """A machine that went takes its workers along: no task is to blame."""
        text = str(error).lower()
        node_gone = (
            isinstance(error, ray_errors.NodeDiedError) or "node has died" in text or "node was terminated" in text
        )
        if not node_gone:
            with _or_broken():
                node_gone = member.node not in self._alive()
        return Departure(f"its node is gone: {first_line(error)}" if node_gone else first_line(error), not node_gone)

    def _look(self, now: float) -> None:
        """Compare actors with nodes; see which have started and which have died without a task."""
        with _or_broken():
            alive = self._alive()
        for node in self._nodes.keys() - alive.keys():
            self._probation.forget(node)
        self._nodes = alive
        for member in list(self._members.values()):
            if member.node not in self._nodes:
                self._remove(member.name, Departure("its node is gone", blame=False))
            else:
                self._look_after(member, now)
        for node, cores in self._nodes.items():
            if self._probation.is_out(node, now):
                continue
            there = sum(member.node == node for member in self._members.values())
            for _ in range(cores - there):
                self._add(node, now)

    def _look_after(self, member: _Member, now: float) -> None:
        """Look after a start or a ping."""
        if member.ping is None:
            if not member.tasks and now - member.pinged > _PING_SECONDS:
                member.ping, member.pinged = member.actor.identity.remote(), now
        elif ray.wait([member.ping], timeout=0)[0]:
            try:
                identity: Identity = ray.get(member.ping)
            except ray_errors.RayError as error:
                # With tasks, whoever waits for them finds out.
                if member.ready:
                    self._remove(member.name, Departure(first_line(error), blame=False))
                else:
                    self._refuse(member, f"its worker did not start: {first_line(error)}", now)
                return
            if identity.sources != sources_digest():
                self._refuse(member, f"{identity.host} has another gammonfarm than the coordinator", now)
                return
            member.ping, member.ready = None, True
        elif not member.ready and now - member.started > _START_SECONDS:
            self._refuse(member, f"its worker did not start within {_START_SECONDS:.0f} s", now)

    def _refuse(self, member: _Member, reason: str, now: float) -> None:
        log.warning("node %s is left alone for a while: %s", member.node[:8], reason)
        self._probation.failed(member.node, reason, now)
        self._remove(member.name, Departure(reason, blame=False))

    def _add(self, node: str, now: float) -> None:
        self._made += 1
        strategy = NodeAffinitySchedulingStrategy(node_id=node, soft=False)
        actor = self._class.options(
            num_cpus=1,
            max_restarts=0,
            max_task_retries=0,
            # Nodes of a cluster that we did not start must be told.
            runtime_env={"env_vars": ONE_THREAD},
            scheduling_strategy=strategy,
        ).remote()
        name = f"{node[:8]}/{self._made}"
        self._members[name] = _Member(name, node, actor, now, ping=actor.identity.remote(), pinged=now)

    def _remove(self, name: str, departure: Departure) -> None:
        member = self._members.pop(name)
        self._gone[name] = departure
        if len(self._gone) > 1000:
            self._gone.popitem(last=False)
        with contextlib.suppress(Exception):
            ray.kill(member.actor)

    def _alive(self) -> dict[str, int]:
        return {node["NodeID"]: int(node["Resources"].get("CPU", 0)) for node in _ray.nodes() if node["Alive"]}

    def _weights_of(self, spec: WorkerSpec[Any, Any]) -> Any:
        """Weights stay in the object store for as long as a reference lives: only the latest are kept."""
        if spec.key not in self._weights:
            self._weights[spec.key] = ray.put(dict(spec.weights))
            if len(self._weights) > _KEPT_WEIGHTS:
                self._weights.popitem(last=False)
        self._weights.move_to_end(spec.key)
        return self._weights[spec.key]


@contextlib.contextmanager
def _or_broken() -> Any:
    try:
        yield
    except Exception as error:
        raise PoolBrokenError(f"ray: {first_line(error)}") from error
