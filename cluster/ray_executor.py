"""Tasks on Ray: long-lived actors, a bounded number of tasks in flight, lost workers replaced.

Ray's own retries are switched off. It would retry a task that kills its worker without telling anyone, and it can't
know that a task which merely waited behind the killer is not to blame. Both are counted here: the oldest unfinished
task of a dead worker is blamed. That can be wrong once, when a worker died before the answer to its last task was sent;
so every task that was lost runs the next time alone on its worker, where there is no doubt.

When this process is killed by force, its workers and the cluster end within about two seconds; two idle agents of Ray
(no workers, no work) stay for the minute that Ray gives them.
"""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
import shutil
import signal
import socket
import sys
import sysconfig
import threading
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass, field, replace
from types import FrameType
from typing import Any, Generic, NoReturn, TypeVar

from cluster.executor import MAX_ATTEMPTS, Completed, TaskQuarantined
from engine.errors import InfrastructureError, InputError, InternalError
from training.cores import cores
from workers.spec import WorkerSpec

# Ray reads these once, while it is imported.
for _name, _value in {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_SCHEDULER_EVENTS": "0",
    "RAY_DEDUP_LOGS": "1",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",
}.items():
    os.environ.setdefault(_name, _value)

import ray  # noqa: E402
from ray import exceptions as ray_errors  # noqa: E402

from workers.ray_actor import Identity, Reply, WorkerActor  # noqa: E402

_ray: Any = ray  # for the functions that Ray leaves without type hints

T = TypeVar("T")
O = TypeVar("O")  # noqa: E741 - task and output

_DEPTH = 2  # tasks on each actor: one that runs, one that waits, so that the actor never waits for us
_MEBI = 1 << 20
_OBJECT_STORE = 256 * _MEBI
_OBJECT_STORE_LEAST = 78 * _MEBI  # Ray refuses less
_READY_TIMEOUT = 90.0
_CONNECT_TIMEOUT = 3.0
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
# Ray's own threads would each keep a heap; and what building a worker needs would stay in it, were the tables not given
# back one by one (glibc raises this threshold as it goes, unless it is set).
ONE_THREAD["MALLOC_ARENA_MAX"] = "2"
ONE_THREAD["MALLOC_MMAP_THRESHOLD_"] = str(1 << 17)
_WORKER_LOST = (
    ray_errors.RayActorError,
    ray_errors.WorkerCrashedError,
    ray_errors.NodeDiedError,
    ray_errors.OutOfMemoryError,
)


@dataclass
class _Slot:
    """A place for one actor; `queue` holds the references of its tasks, the oldest is the one that runs."""

    actor: Any = None
    identity: Identity | None = None
    queue: deque[Any] = field(default_factory=deque)
    closed: bool = False  # its task runs alone: nothing may wait behind it


@dataclass(frozen=True)
class _Attempt(Generic[T]):
    """A task and how many workers it has killed so far."""

    task: T
    kills: int = 0
    alone: bool = False


class RayExecutor:
    """See `Executor`. Starts a local Ray cluster, or joins the one at `address`.

    Only one can live in a process, and no other code may have started Ray in it. Raises `InputError` for more workers
    than a given cluster has cores, `InfrastructureError` when Ray can't be started or reached.
    """

    def __init__(self, workers: int | None = None, address: str | None = None) -> None:
        if workers is not None and workers < 1:
            raise InputError("workers", workers, "a whole number of at least 1")
        if ray.is_initialized():
            raise InternalError("Ray is already running in this process")
        self._address = address
        self._busy = False
        self._open = True
        if address is None:
            self._workers = workers or cores()
            _start_local(self._workers)
        else:
            join_cluster(address)
            self._workers = self._check_workers(workers)
        # Weights stay in the object store for as long as a reference lives: only those in use now.
        self._weights: tuple[str, Any] | None = None
        self._actor_class = ray.remote(WorkerActor).options(
            num_cpus=1,
            max_restarts=0,
            max_task_retries=0,
            # A local cluster inherits the variables from us; another one has to be told.
            runtime_env=None if address is None else {"env_vars": ONE_THREAD},
        )
        self._slots = [_Slot() for _ in range(self._workers)]
        for slot in self._slots:
            slot.actor = self._actor_class.remote()

    @property
    def workers(self) -> int:
        """See `Executor`."""
        return self._workers

    def map_unordered(self, spec: WorkerSpec[T, O], tasks: Iterable[T]) -> Generator[Completed[T, O], None, None]:
        """See `Executor`. At most two tasks per worker are in flight."""
        if self._busy:
            raise InternalError("a map is already under way on this executor")
        self._busy = True
        in_flight: dict[Any, _Attempt[T]] = {}
        try:
            self._make_ready()
            weights = self._put_weights(spec)
            waiting = iter(tasks)
            lost: deque[_Attempt[T]] = deque()
            while True:
                for slot in self._free_slots():
                    if lost and slot.queue:
                        break  # nothing new may wait anywhere: the next worker that gets idle takes the lost task
                    attempt = lost.popleft() if lost else next((_Attempt(task) for task in waiting), None)
                    if attempt is None:
                        break
                    ref = slot.actor.run.remote(spec.key, spec.build, [weights], attempt.task)
                    slot.queue.append(ref)
                    slot.closed = attempt.alone
                    in_flight[ref] = attempt
                if not in_flight:
                    return
                ready, _ = ray.wait(list(in_flight), num_returns=1)
                slot = next(slot for slot in self._slots if ready[0] in slot.queue)
                yield from self._settle(slot, in_flight, lost)
        finally:
            self._busy = False
            self._drop_in_flight()

    def worker_pids(self) -> list[int]:
        """The process ids of the workers that are known to be up (on whatever machine they run)."""
        if not self._busy:
            self._make_ready()
        return [slot.identity.pid for slot in self._slots if slot.identity is not None]

    def describe(self) -> dict[str, Any]:
        """See `Executor`."""
        return {
            "executor": "ray",
            "version": ray.__version__,
            "address": self._address or "local",
            "workers": self._workers,
            "nodes": len([node for node in _ray.nodes() if node["Alive"]]) if self._open else 0,
        }

    def close(self) -> None:
        """See `Executor`. Ends a local cluster; leaves one that was joined."""
        if not self._open:
            return
        self._open = False
        for slot in self._slots:
            self._kill(slot)
        self._weights = None
        ray.shutdown()

    def _settle(
        self, slot: _Slot, in_flight: dict[Any, _Attempt[T]], lost: deque[_Attempt[T]]
    ) -> Iterator[Completed[T, Any]]:
        """Take in what a slot has finished, oldest first. If its worker died: replace it, queue its tasks again."""
        while slot.queue:
            ref = slot.queue[0]
            if not ray.wait([ref], timeout=0)[0]:
                return
            try:
                reply: Reply = ray.get(ref)
            except ray_errors.RayTaskError as error:
                raise application_error(error) from error
            except _WORKER_LOST as error:
                # Everything behind the oldest unfinished task only waited: it goes back without blame.
                blamed, *innocent = [in_flight.pop(queued) for queued in slot.queue]
                slot.queue.clear()
                self._kill(slot)
                kills = blamed.kills + 1
                if kills >= MAX_ATTEMPTS:
                    raise TaskQuarantined(blamed.task, kills, first_line(error)) from error
                lost.append(_Attempt(blamed.task, kills, alone=True))
                lost.extend(replace(attempt, alone=True) for attempt in innocent)
                slot.actor = self._actor_class.remote()
                return
            except ray_errors.RayError as error:
                raise InfrastructureError(f"ray: {first_line(error)}") from error
            slot.queue.popleft()
            attempt = in_flight.pop(ref)
            slot.identity = reply.identity
            yield Completed(attempt.task, reply.output, str(reply.identity), reply.seconds, attempt.kills + 1)

    def _free_slots(self) -> Iterator[_Slot]:
        """Slots with room, one entry per place: first the idle ones, then those where a task would wait."""
        for depth in range(_DEPTH):
            for slot in self._slots:
                if len(slot.queue) == depth and not (slot.queue and slot.closed):
                    yield slot

    def _put_weights(self, spec: WorkerSpec[Any, Any]) -> Any:
        if self._weights is None or self._weights[0] != spec.key:
            self._weights = (spec.key, ray.put(dict(spec.weights)))
        return self._weights[1]

    def _make_ready(self) -> None:
        """Wait until every slot has a live worker, so that a worker which can't start is never blamed on a task."""
        if not self._open:
            raise InternalError("this executor is closed")
        for _ in range(MAX_ATTEMPTS):
            for slot in self._slots:
                if slot.actor is None:
                    slot.actor = self._actor_class.remote()
            checks = {slot.actor.identity.remote(): slot for slot in self._slots}
            ready, late = ray.wait(list(checks), num_returns=len(checks), timeout=_READY_TIMEOUT)
            if late:
                raise InfrastructureError(
                    f"ray: {len(late)} of {self._workers} workers did not start within {_READY_TIMEOUT:.0f} s"
                )
            problem: Exception | None = None
            for ref in ready:
                try:
                    checks[ref].identity = ray.get(ref)
                except ray_errors.RayError as error:
                    problem = error
                    self._kill(checks[ref])
            if problem is None:
                return
        raise InfrastructureError(f"ray: a worker can't be started: {first_line(problem)}") from problem

    def _drop_in_flight(self) -> None:
        # A running method can't be interrupted, only its process ended. The next map makes new ones.
        for slot in self._slots:
            if slot.queue:
                slot.queue.clear()
                self._kill(slot)

    def _kill(self, slot: _Slot) -> None:
        actor, slot.actor, slot.identity = slot.actor, None, None
        if actor is not None:
            with contextlib.suppress(Exception):
                ray.kill(actor)

    def _check_workers(self, workers: int | None) -> int:
        cores = int(_ray.cluster_resources().get("CPU", 0))
        if cores < 1:
            ray.shutdown()
            raise InfrastructureError(f"ray at {self._address}: the cluster has no CPU")
        if workers is not None and workers > cores:
            ray.shutdown()
            raise InputError("workers", workers, f"at most {cores}, the cores of the cluster")
        return workers or cores


def _start_local(workers: int) -> None:
    if "RAY_AUTH_MODE" not in os.environ:
        # Ray listens on the machine's own address: without a token anyone on the network could run code here. A token
        # in the environment keeps it closed, writes no file to the user's home and prints no warning.
        os.environ["RAY_AUTH_MODE"] = "token"
        if "RAY_AUTH_TOKEN_PATH" not in os.environ:
            os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
        # Ray took its settings from the environment when it was imported; have it look again.
        _ray._raylet.Config.initialize("")
    with _environment({**ONE_THREAD, "PYTHONPATH": os.pathsep.join(import_paths())}):
        try:
            _init(
                address="local",
                num_cpus=workers,
                include_dashboard=False,
                object_store_memory=_object_store_memory(),
            )
        except Exception as error:
            ray.shutdown()
            raise InfrastructureError(f"ray can't be started: {first_line(error)}") from error


def join_cluster(address: str, **options: Any) -> None:
    """Connect this process to a cluster.

    Raises:
        InfrastructureError: it does not answer.
    """
    host, _, port = address.rpartition(":")
    if host:
        # Ray itself tries for a minute and may end the whole process.
        try:
            socket.create_connection((host, int(port)), timeout=_CONNECT_TIMEOUT).close()
        except (OSError, ValueError, OverflowError) as error:
            raise InfrastructureError(f"ray at {address}: {first_line(error)}") from error
    try:
        _init(address=address, **options)
    except Exception as error:
        ray.shutdown()
        raise InfrastructureError(f"ray at {address}: {first_line(error)}") from error


def _init(**options: Any) -> None:
    before = signal.getsignal(signal.SIGTERM)
    ray.init(logging_level=logging.ERROR, log_to_driver=False, **options)
    if threading.current_thread() is threading.main_thread():
        # Ray puts in a handler of its own that prints a stack trace. Give the program's back; where it had none, leave
        # in good order, so that the workers and the embedded server end too.
        signal.signal(signal.SIGTERM, _leave if before in (None, signal.SIG_DFL) else before)


def _leave(number: int, _frame: FrameType | None) -> NoReturn:
    raise SystemExit(128 + number)


@contextlib.contextmanager
def _environment(variables: dict[str, str]) -> Iterator[None]:
    """Set variables for processes that are started inside the block; this process's own threads stay as they are."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def import_paths() -> list[str]:
    """The folders this process imports from, without those that every interpreter of this installation has."""
    own = {os.path.realpath(path) for path in sysconfig.get_paths().values()}
    own |= {os.path.join(path, "lib-dynload") for path in own}
    return [
        path
        for path in dict.fromkeys(os.path.abspath(path) for path in sys.path)
        if os.path.isdir(path) and os.path.realpath(path) not in own
    ]


def _object_store_memory() -> int:
    # Containers often have little shared memory; what is stored here is a network or two.
    with contextlib.suppress(OSError):
        free = shutil.disk_usage("/dev/shm").free
        return max(_OBJECT_STORE_LEAST, min(_OBJECT_STORE, free * 8 // 10))
    return _OBJECT_STORE


def application_error(error: ray_errors.RayTaskError) -> BaseException:
    cause = error.cause
    return cause if isinstance(cause, BaseException) else InternalError(first_line(error))


def first_line(error: BaseException | None) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
