"""Questions with known answers: a worker that answers one wrong has a broken CPU, memory, compiler or installation.

They use small nets that are made of integers here, so the answers stay the same whatever net is shipped. `make golden`
writes the answers down in `GOLDEN`; they change with `engine.rollout.RESULT_VERSION` only.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.evaluator import Nets
from engine.ids import parse_position
from engine.kernels.facts import CLASSES, ROWS, TABLES
from engine.kernels.filter import FILTER_ROWS
from engine.kernels.network import DIRECT, SECOND
from engine.outcome import OUTCOMES
from engine.rollout import Candidate, Roller, RolloutSettings
from engine.rules import INTERNATIONAL
from engine.weights import NetKind, make_net
from workers.spec import Weights, WorkerSpec

_WIDTH = 32
_TRIALS = 36
_TRUNCATE = 12
_POSITIONS = (
    "XGID=-b----E-C---eE---c-e----B-:0:0:1:00:0:0:0:0:10",
    "XGID=--ABBBC-B---eB---c-cbb--A-:0:0:1:00:0:0:0:0:10",
    "XGID=-BBCBB-A--A-------a-bbcbb-:0:0:1:00:0:0:0:0:10",
)


@dataclass(frozen=True)
class GoldenTask:
    """The question of this number."""

    number: int


GOLDEN: tuple[str, ...] = (
    "4a67bb9c896dbcbb9b0e2bdb16a646f3",
    "27d6c453803e39ec1987b0911f391ced",
    "6ba415e07b2404759f3191b19c1bdd47",
)
"""The right answers, by number."""


class GoldenWorker:
    """Answers `GoldenTask`s."""

    def __init__(self) -> None:
        self._roller = Roller(golden_nets())

    def run(self, task: GoldenTask) -> str:
        """Digest of the rows of some trials, at level 1 with luck and at level 2 without."""
        board = parse_position(_POSITIONS[task.number]).board
        digest = hashlib.blake2b(digest_size=16)
        for level in (1, 2):
            settings = RolloutSettings(
                INTERNATIONAL,
                seed=task.number,
                level=level,
                truncate=_TRUNCATE // level,
                variance_reduction=level == 1,
                bearoff=False,
            )
            rows = self._roller.trials(Candidate.before_roll(board), settings, 0, _TRIALS // level)
            digest.update(np.ascontiguousarray(rows, dtype="<i4").tobytes())
        return digest.hexdigest()


def build_golden_worker(weights: Weights) -> GoldenWorker:
    """A worker; it makes its own nets."""
    return GoldenWorker()


def golden_workers() -> WorkerSpec[GoldenTask, str]:
    """How an executor makes workers for golden questions."""
    return WorkerSpec(build_golden_worker, {}, "golden")


def is_right(task: GoldenTask, answer: object) -> bool:
    """Whether an answer is the one that is written down."""
    return answer == GOLDEN[task.number]


def golden_answers() -> tuple[str, ...]:
    """What this process answers."""
    worker = GoldenWorker()
    return tuple(worker.run(GoldenTask(number)) for number in range(len(_POSITIONS)))


def golden_nets() -> Nets:
    """Small nets made of integers: of no strength, but the same everywhere."""
    main = {
        "table": _weights("table", (TABLES * ROWS, _WIDTH), 1 / 512),
        "bias": _weights("bias", (TABLES, _WIDTH), 1 / 128),
        "second": _weights("second", (CLASSES, _WIDTH, SECOND), 1 / 256),
        "second_bias": _weights("second_bias", (CLASSES, SECOND), 1 / 256),
        "last": _weights("last", (CLASSES, SECOND - DIRECT, OUTCOMES), 1 / 128),
        "last_bias": _weights("last_bias", (CLASSES, OUTCOMES), 1 / 128),
    }
    small = {
        "table": _weights("filter table", (TABLES * FILTER_ROWS, _WIDTH), 1 / 512),
        "bias": _weights("filter bias", (TABLES, _WIDTH), 1 / 128),
        "last": _weights("filter last", (TABLES, _WIDTH, OUTCOMES), 1 / 128),
        "last_bias": _weights("filter last_bias", (TABLES, OUTCOMES), 1 / 128),
    }
    return Nets(make_net(main), make_net(small, kind=NetKind.FILTER))


def _weights(name: str, shape: tuple[int, ...], step: float) -> NDArray[np.float32]:
    """Whole numbers of steps from -32 to 31, by SplitMix64 over a counter that begins with the name."""
    start = int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "little")
    z = np.arange(int(np.prod(shape)), dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(start)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return (((z >> np.uint64(58)).astype(np.float32) - 32.0) * np.float32(step)).reshape(shape)
