"""The evaluator under test, on as many threads as there are cores: the kernels run without Python's lock."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from engine.bearoff import NO_DATABASES, Bearoff
from engine.board import Board
from engine.evaluator import Evaluator, Nets
from engine.kernels.network import ONE
from engine.rules import INTERNATIONAL
from engine.search import MoveFilter
from training.suite.figures import Advance

CHUNK = 64
"""Items that a thread takes at a time."""

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, slots=True, eq=False)
class Contestant:
    """What is measured: nets, and how they search. The number of threads changes no figure."""

    nets: Nets
    bearoff: Bearoff
    move_filter: MoveFilter
    threads: int

    def without_databases(self) -> Callable[[], Evaluator]:
        """Makes evaluators that know endings by the nets alone."""
        return lambda: Evaluator(self.nets, NO_DATABASES)

    def as_it_plays(self) -> Callable[[], Evaluator]:
        """Makes evaluators that take the endings they know from the bear-off databases, as all commands do."""
        return lambda: Evaluator(self.nets, self.bearoff.arrays)

    def over(
        self,
        items: Sequence[T],
        work: Callable[[Evaluator, T], R],
        advance: Callable[[int, int], None],
        make_evaluator: Callable[[], Evaluator] | None = None,
    ) -> list[R]:
        """`work` on every item, in the order of the items.

        Each thread has an evaluator of its own, by default `as_it_plays`; `advance` is told how many of how many
        items are done, on the calling thread.
        """
        make = make_evaluator or self.as_it_plays()
        own = threading.local()

        def do(first: int) -> list[R]:
            if not hasattr(own, "evaluator"):
                own.evaluator = make()
            return [work(own.evaluator, item) for item in items[first : first + CHUNK]]

        found: list[R] = []
        with ThreadPoolExecutor(self.threads) as pool:
            try:
                for part in pool.map(do, range(0, len(items), CHUNK)):
                    found += part
                    advance(len(found), len(items))
            finally:
                pool.shutdown(wait=True, cancel_futures=True)
        return found

    def outcomes(
        self, boards: NDArray[np.int8], level: int, advance: Callable[[int, int], None]
    ) -> NDArray[np.float64]:
        """Five probabilities float64[N, 5] of after-positions int8[N, 26], in the view of who just moved."""

        def value(evaluator: Evaluator, board: Board) -> NDArray[np.int64]:
            return evaluator.after_position(board, INTERNATIONAL, level)

        return np.stack(self.over(list(boards), value, advance)) / ONE


def named(advance: Advance, what: str) -> Callable[[int, int], None]:
    """Progress of one thing."""
    return lambda done, total: advance(what, done, total)
