"""What a kind of job is. One entry in `cluster.farm.registry` makes a new kind known to the API, the coordinator, the
client and the documents.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from cluster.farm.desk import Desk
from cluster.ledger import Block
from cluster.scheduling import Priority
from cluster.schemas import Model
from cluster.store import JobKind, Store, TrialRange
from engine.errors import InputError
from workers.spec import WorkerSpec


@dataclass(frozen=True)
class Piece:
    """A task of a job."""

    spec: WorkerSpec[Any, Any]
    """How its worker is made."""
    task: Any
    units: int
    """What it costs, in the job's own unit (trials, positions, shards); 0: it says nothing about the job's speed."""
    ranges: tuple[tuple[str, TrialRange], ...] = ()
    """What it will compute, by series: other jobs that want the same wait for it."""
    patience: float = 0.0
    """Seconds that it may well take, where that can be minutes: before that its worker doesn't count as hung."""


@dataclass(frozen=True)
class Size:
    """What a job may take at most: what limits of the API are compared with."""

    units: int
    entries: int = 0
    """Of a book."""
    minutes: float = 0.0
    """After which it is given up."""


class JobRun(Protocol):
    """A job under way, taken step by step. It starts nothing and reads no clock. Only `pieces` and `result` may use the
    store: where it is away they raise `InfrastructureError` and are asked again.
    """

    @property
    def series(self) -> tuple[str, ...]:
        """Content keys of the series it fills now; () for a job whose parts are of no use to others."""

    @property
    def likeness(self) -> str:
        """Jobs with the same take about as long for a unit; "": nothing can be said of that."""

    @property
    def minutes(self) -> float | None:
        """After so long it is given up, with what it has computed in the store; None: never."""

    @property
    def finished(self) -> bool:
        """Whether the answer is there."""

    @property
    def total(self) -> int:
        """Units in all, as far as is known now."""

    @property
    def done(self) -> int:
        """Units that are there."""

    @property
    def left(self) -> int:
        """Units that nobody was asked for; 0 only once there will be none any more."""

    def pieces(self, units: int, under_way: Mapping[str, Sequence[TrialRange]]) -> list[Piece]:
        """The next tasks, of about so many units together; [] when there is nothing to hand out now.

        Args:
            under_way: ranges that other jobs have computed now, by series.
        """

    def blocks(self, task: Any, output: Any) -> list[Block]:
        """What of an output is to be kept before it counts."""

    def take(self, task: Any, output: Any) -> None:
        """Count an output; twice does no harm."""

    def offer(self, series: str, trials: TrialRange, payload: bytes) -> None:
        """Count a block that another job had computed."""

    def progress(self) -> dict[str, Any]:
        """What watchers are told; JSON values only."""

    def result(self) -> bytes:
        """The exact answer as JSON, once `finished`."""

    def report(self, cost: Cost) -> dict[str, Any]:
        """Where the answer came from; JSON values only."""

    def close(self) -> None:
        """Let go of what it holds. Safe to call twice."""


@dataclass(frozen=True)
class Cost:
    """What a job took."""

    job: str
    workers: int
    """Different workers that had a part in it."""
    retries: int
    seconds: float
    """From its first task to its answer."""


class Kind(Protocol):
    """A kind of job."""

    @property
    def name(self) -> JobKind:
        """Its name."""

    @property
    def request(self) -> type[Model]:
        """Model of its requests."""

    @property
    def result(self) -> type[Model]:
        """Model of its answers."""

    @property
    def priority(self) -> Priority:
        """Class of a job whose client names none."""

    @property
    def example(self) -> Mapping[str, Any]:
        """A request, as documents show it."""

    @property
    def summary(self) -> str:
        """What it does, in a sentence."""

    def key(self, request: Any, net: str, desk: Desk) -> str:
        """Content key of the question: everything that any bit of the answer depends on.

        Raises:
            InputError: the question makes no sense.
        """

    def begin(self, request: Any, net: str, desk: Desk, store: Store) -> JobRun:
        """Begin to answer it; what the store knows already is read here."""

    def extended(self, request: Any, changes: Mapping[str, Any]) -> Any:
        """The same question with more work in it.

        Raises:
            InputError: a change that is none, or not possible for this kind.
        """

    def size(self, request: Any) -> Size:
        """What it may take at most."""

    def old_report(self, key: str, net: str, result: bytes, job: str) -> dict[str, Any]:
        """Where an answer came from that was found in the cache. Raises `ValueError` if it can't be read any more."""


def the_change(changes: Mapping[str, Any], name: str) -> Any:
    """The new value of the one thing by which a kind of job is extended; "nothing" where it is not named.

    Raises:
        InputError: something else is named.
    """
    odd = next((other for other in changes if other != name), None)
    if odd is not None:
        raise InputError(odd, changes[odd], f"{name}: that is what such a job is extended by")
    return changes.get(name, "nothing")
