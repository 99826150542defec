"""Measuring honestly: repeated runs and their median, processor time, and one pinned core.

Figures of one core are taken from the processor time of the process, so that other work on the machine disturbs them
little; on a loaded machine they still come out lower, because caches and the clock are shared. Nothing here warms up:
callers run once before they measure, so that compiling is no part of a figure.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from engine.errors import InputError, InternalError

MOST_REPEATS = 99


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure, measured in one or more runs."""

    runs: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.runs:
            raise InternalError("a figure needs at least one run")

    @property
    def median(self) -> float:
        """What is reported."""
        return statistics.median(self.runs)

    @property
    def low(self) -> float:
        """The smallest run."""
        return min(self.runs)

    @property
    def high(self) -> float:
        """The largest run."""
        return max(self.runs)


@dataclass(frozen=True, slots=True)
class Effort:
    """How often to measure, and how much wall time one part of the benchmark may take."""

    repeats: int = 3
    seconds: float = 40.0

    def __post_init__(self) -> None:
        if not 1 <= self.repeats <= MOST_REPEATS:
            raise InputError("repeats", self.repeats, f"a whole number from 1 to {MOST_REPEATS}")

    def shared(self, parts: int) -> Effort:
        """The same repeats with an equal share of the time."""
        return Effort(self.repeats, self.seconds / parts)


def repeat(run: Callable[[], float], effort: Effort) -> Figure:
    """What `run` returns, several times: at least once, and no more than are likely to be done in time."""
    started = time.perf_counter()
    values = [run()]
    while len(values) < effort.repeats:
        spent = time.perf_counter() - started
        if spent + spent / len(values) > effort.seconds:
            break
        values.append(run())
    return Figure(tuple(values))


def cpu_seconds(work: Callable[[], object]) -> float:
    """Processor time of this process that `work` takes."""
    started = time.process_time()
    work()
    # A clock that stood still would make a rate infinite.
    return max(time.process_time() - started, 1e-9)


def wall_seconds(work: Callable[[], object]) -> float:
    """Time on the clock that `work` takes."""
    started = time.perf_counter()
    work()
    return max(time.perf_counter() - started, 1e-9)


def passes_for(one_pass: float, wanted: float) -> int:
    """How many passes of `one_pass` seconds a run of about `wanted` seconds needs."""
    return max(1, round(wanted / one_pass))


@contextmanager
def pinned(core: int | None) -> Iterator[None]:
    """Keep this process and those it starts inside the block on one core; None: wherever they were.

    Raises:
        InputError: a core that this process may not use, or a system that can't pin.
    """
    if core is None:
        yield
        return
    if not hasattr(os, "sched_setaffinity"):
        raise InputError("pin", core, "nothing: this system can't keep a process on one core")
    before = os.sched_getaffinity(0)
    if core not in before:
        raise InputError("pin", core, f"one of the cores {', '.join(map(str, sorted(before)))}")
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def load_average() -> float | None:
    """Mean number of processes that wanted a core in the last minute; None where the system doesn't say."""
    try:
        return os.getloadavg()[0]
    except (AttributeError, OSError):
        return None
