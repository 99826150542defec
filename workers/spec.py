"""What a worker is, and how one is made on another machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from numpy.typing import NDArray

from engine.errors import InternalError

T = TypeVar("T")
O = TypeVar("O")  # noqa: E741 - task and output, as everywhere in the executors
T_contra = TypeVar("T_contra", contravariant=True)
O_co = TypeVar("O_co", covariant=True)

Weights = Mapping[str, NDArray[Any]]


class Worker(Protocol[T_contra, O_co]):
    """Turns tasks into outputs, one at a time, for as long as its process lives.

    The output must depend on the task (and the weights) alone: a task whose worker died is run again elsewhere.
    """

    def run(self, task: T_contra) -> O_co:
        """The output for one task. An exception ends the whole map and reaches its caller."""


@dataclass(frozen=True)
class WorkerSpec(Generic[T, O]):
    """How to build a worker.

    `build` must be a function at the top level of an importable module: it travels by name. It gets the weights as
    numpy arrays that may be read-only and shared with other processes; copy what is to be changed. `digest` names the
    weights (and anything else that `build` depends on): the same `build` with the same digest is built once a process.
    """

    build: Callable[[Weights], Worker[T, O]]
    weights: Weights
    digest: str

    def __post_init__(self) -> None:
        name = getattr(self.build, "__qualname__", "<no name>")
        if "<" in name:
            raise InternalError(f"worker builder {name} is no top-level function")

    @property
    def key(self) -> str:
        """Names builder and weights: workers with the same key are the same."""
        return f"{self.build.__module__}:{self.build.__qualname__}:{self.digest}"
