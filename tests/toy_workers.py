"""Workers that do something small, or something terrible, on purpose."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from engine.errors import InputError
from workers.spec import Weights, WorkerSpec


@dataclass(frozen=True)
class Multiply:
    """A task: this number times the weight."""

    number: int


class Multiplier:
    def __init__(self, weights: Weights) -> None:
        self.factor = int(weights["factor"][0])

    def run(self, task: Multiply) -> int:
        if task.number == 13:
            raise InputError("number", task.number, "another number")
        return task.number * self.factor


@dataclass(frozen=True)
class Perilous:
    """A task that ends its process as often as it finds fewer than `deaths` lines in `diary`."""

    number: int
    diary: Path
    deaths: int = 0


class Mortal:
    def run(self, task: Perilous) -> tuple[int, int]:
        with task.diary.open("a+") as diary:
            diary.seek(0)
            died = len(diary.readlines())
            if died < task.deaths:
                diary.write("died\n")
                diary.flush()
                os.kill(os.getpid(), signal.SIGKILL)
        return task.number, os.getpid()


@dataclass(frozen=True)
class Wait:
    """A task that says it has begun by making `begun`, and ends once `open` exists (or after a minute, in any case)."""

    begun: Path
    open: Path


class Waiter:
    def run(self, task: Wait) -> int:
        task.begun.touch()
        for _ in range(3000):
            if task.open.exists():
                break
            time.sleep(0.02)
        return os.getpid()


class Environment:
    def run(self, task: str) -> str | None:
        return os.environ.get(task)


def build_multiplier(weights: Weights) -> Multiplier:
    return Multiplier(weights)


def build_mortal(weights: Weights) -> Mortal:
    return Mortal()


def build_waiter(weights: Weights) -> Waiter:
    return Waiter()


def build_environment(weights: Weights) -> Environment:
    return Environment()


def build_never(weights: Weights) -> Any:
    raise InputError("net", "broken", "a net that loads")


def multiply_by(factor: int) -> WorkerSpec[Multiply, int]:
    return WorkerSpec(build_multiplier, {"factor": np.array([factor])}, digest=f"factor {factor}")
