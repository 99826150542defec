"""Values of an archive's positions: each distinct one once, from the store or from the workers, in batches.

Two kinds of questions are asked. A **roll**: the best plays of a roll at 1-ply, and what every other roll would have
been worth; answered anew each time, because that is about as quick as fetching it. A **node**: an after-position at a
level, with the cube; above 1-ply its answer is kept in the store, so a killed run goes on from it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import chain
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from cluster.archive.matches import Matches
from cluster.executor import Executor
from cluster.store import Store
from engine.board import PLACES
from engine.errors import InternalError
from engine.outcome import OUTCOMES
from workers.analysis import AnalysisOutput, AnalysisTask, analysis_workers
from workers.tasks import NodeBatch, NodeValues, RollBatch, RollPlays

Board = bytes
"""int8[26], as a key."""
Node = tuple[Board, int]
"""An after-position in the view of who has just moved, and the number of the match state in the other one's view."""
Rolled = tuple[Board, int, tuple[int, int]]
"""A position in the view of who has rolled, the number of the match state in his view, and the dice."""

ROLLS_A_TASK = 256
NODES_A_TASK = {1: 2048, 2: 512, 3: 64, 4: 8}
"""By level: a task takes about a tenth of a second. Changes no answer."""
FETCHED_AT_ONCE = 20_000

_VALUE = struct.Struct("<5i")
Q = TypeVar("Q")


@dataclass(frozen=True, slots=True)
class ValuedPlay:
    """One play of a roll, in the mover's view."""

    after: Board
    outcome: NDArray[np.int64]
    """[5] in 1/2**20."""
    value: int
    """In 1/2**30, with the cube."""
    cubeless: int
    """Decides between equal values."""
    left: int
    """The mover's checkers still on the board."""
    order: int
    """In generation."""
    level: int = 1
    se: float | None = None
    """Standard error of its equity; of rollouts only."""


@dataclass(frozen=True, slots=True, eq=False)
class RolledAnswer:
    """What 1-ply says about a roll."""

    legal: int
    plays: tuple[ValuedPlay, ...]
    """The best ones first, then those that were wanted."""
    rolls: NDArray[np.int64]
    """[21] in 1/2**30: what the best play of each roll would have been worth."""


@dataclass(frozen=True, slots=True, eq=False)
class NodeAnswer:
    """See `engine.cubeful.CubefulEvaluator.after_position`."""

    outcome: NDArray[np.int64]
    rolling: NDArray[np.int64]


@dataclass(slots=True)
class Count:
    """What has been asked and answered."""

    asked: int = 0
    """Distinct questions."""
    cached: int = 0
    computed: int = 0


Advance = Callable[[str, int, int], None]
"""What is being done, how many questions of how many are answered."""


class Evaluation:
    """Answers questions on an executor's workers."""

    def __init__(
        self, matches: Matches, store: Store, executor_for: Callable[[], Executor], advance: Advance, every_play: bool
    ) -> None:
        self._matches = matches
        self._store = store
        self._executor_for = executor_for
        self._advance = advance
        self._every_play = every_play
        self._spec = analysis_workers(matches.conditions.nets)
        self.counts: dict[int, Count] = {}
        """By level; rolls count at level 1."""

    def rolls(self, wanted: dict[Rolled, list[Board]], keep: int) -> dict[Rolled, RolledAnswer]:
        """1-ply answers, with the values of the plays that are `wanted` of each roll however bad they are."""
        questions = self._in_order(list(wanted))
        found: dict[Rolled, RolledAnswer] = {}
        self._count(1).asked += len(questions)

        def batches() -> Iterator[tuple[list[Rolled], AnalysisTask]]:
            for chunk in self._chunks(questions, ROLLS_A_TASK):
                yield chunk, self._roll_batch(chunk, wanted, keep)

        for chunk, output in self._map(batches()):
            assert isinstance(output, RollPlays)
            found.update(zip(chunk, _rolled_answers(output), strict=True))
            self._count(1).computed += len(chunk)
            self._advance("1-ply", len(found), len(questions))
        return found

    def nodes(self, wanted: Sequence[Node], level: int) -> dict[Node, NodeAnswer]:
        """Answers of after-positions at a level; above 1-ply from the store where it has them."""
        questions = self._in_order(list(dict.fromkeys(wanted)))
        count = self._count(level)
        count.asked += len(questions)
        found: dict[Node, NodeAnswer] = {}
        keys: dict[Node, str] = {}
        if level > 1:
            for first in range(0, len(questions), FETCHED_AT_ONCE):
                some = questions[first : first + FETCHED_AT_ONCE]
                keys.update((node, self._matches.key(node[1], level, node[0])) for node in some)
                stored = self._store.get_values([keys[node] for node in some])
                found.update(
                    (node, _unpacked(payload))
                    for node, payload in zip(some, stored, strict=True)
                    if payload is not None
                )
            count.cached += len(found)
        missing = [node for node in questions if node not in found]
        name = f"{level}-ply"
        self._advance(name, len(found), len(questions))

        def batches() -> Iterator[tuple[list[Node], AnalysisTask]]:
            for chunk in self._chunks(missing, NODES_A_TASK[level]):
                yield chunk, self._node_batch(chunk, level)

        for chunk, output in self._map(batches()):
            assert isinstance(output, NodeValues)
            answers = _node_answers(output, [int(self._matches.question(number).game.counts[1]) for _, number in chunk])
            if level > 1:
                payloads = {keys[node]: _packed(answer) for node, answer in zip(chunk, answers, strict=True)}
                self._store.put_values(payloads)
            found.update(zip(chunk, answers, strict=True))
            count.computed += len(chunk)
            self._advance(name, len(found), len(questions))
        return found

    def _count(self, level: int) -> Count:
        return self.counts.setdefault(level, Count())

    def _in_order(self, questions: list[Q]) -> list[Q]:
        """By match state, so that batches hold few of them and searches remember more; else as they came."""
        return sorted(questions, key=lambda question: question[1])  # type: ignore[index]

    def _chunks(self, questions: list[Q], size: int) -> Iterator[list[Q]]:
        """Lists of at most `size` questions that share their match equity table."""
        chunk: list[Q] = []
        table = None
        for question in questions:
            own = self._matches.table(question[1])  # type: ignore[index]
            if chunk and (own is not table or len(chunk) == size):
                yield chunk
                chunk = []
            table = own
            chunk.append(question)
        if chunk:
            yield chunk

    def _map(self, batches: Iterator[tuple[list[Q], AnalysisTask]]) -> Iterator[tuple[list[Q], AnalysisOutput]]:
        """Run batches; the executor is started by the first."""
        first = next(batches, None)
        if first is None:
            return
        asked: dict[int, list[Q]] = {}

        def tasks() -> Iterator[AnalysisTask]:
            for chunk, task in chain([first], batches):
                asked[id(task)] = chunk
                yield task

        with closing(self._executor_for().map_unordered(self._spec, tasks())) as results:
            for completed in results:
                yield asked.pop(id(completed.task)), completed.output
        if asked:
            raise InternalError("the executor ended before all positions were valued")

    def _roll_batch(self, chunk: list[Rolled], wanted: dict[Rolled, list[Board]], keep: int) -> RollBatch:
        numbers, match_of = _numbered([number for _, number, _ in chunk])
        plays = [(i, after) for i, rolled in enumerate(chunk) for after in wanted[rolled]]
        return RollBatch(
            table=self._matches.table(chunk[0][1]),
            matches=tuple(self._matches.match(number) for number in numbers),
            match_of=match_of,
            boards=_boards([board for board, _, _ in chunk]),
            dice=np.array([dice for _, _, dice in chunk], dtype=np.int8),
            wanted=_boards([after for _, after in plays]),
            wanted_of=np.array([i for i, _ in plays], dtype=np.int32),
            keep=keep,
            every_play=self._every_play,
        )

    def _node_batch(self, chunk: list[Node], level: int) -> NodeBatch:
        numbers, match_of = _numbered([number for _, number in chunk])
        return NodeBatch(
            table=self._matches.table(chunk[0][1]),
            level=level,
            matches=tuple(self._matches.match(number) for number in numbers),
            match_of=match_of,
            boards=_boards([board for board, _ in chunk]),
        )


def _numbered(numbers: list[int]) -> tuple[list[int], NDArray[np.int32]]:
    """The distinct numbers, and where each stands among them."""
    distinct = list(dict.fromkeys(numbers))
    place = {number: i for i, number in enumerate(distinct)}
    return distinct, np.array([place[number] for number in numbers], dtype=np.int32)


def _boards(boards: list[Board]) -> NDArray[np.int8]:
    return np.frombuffer(b"".join(boards), dtype=np.int8).reshape(-1, PLACES).copy()


def _rolled_answers(output: RollPlays) -> Iterator[RolledAnswer]:
    left = np.maximum(output.afters, 0).sum(axis=1).tolist()
    values, cubeless, order = output.values.tolist(), output.cubeless.tolist(), output.order.tolist()
    for i, legal in enumerate(output.legal.tolist()):
        places = range(int(output.starts[i]), int(output.starts[i + 1]))
        plays = tuple(
            ValuedPlay(output.afters[k].tobytes(), output.outcomes[k], values[k], cubeless[k], left[k], order[k])
            for k in places
        )
        yield RolledAnswer(legal, plays, output.rolls[i])


def _node_answers(output: NodeValues, states: list[int]) -> list[NodeAnswer]:
    return [
        NodeAnswer(outcome, rolling[:n])
        for outcome, rolling, n in zip(output.outcomes, output.rolling, states, strict=True)
    ]


def _packed(answer: NodeAnswer) -> bytes:
    return _VALUE.pack(*answer.outcome.tolist()) + answer.rolling.astype("<i8").tobytes()


def _unpacked(payload: bytes) -> NodeAnswer:
    if len(payload) < _VALUE.size or (len(payload) - _VALUE.size) % 8:
        raise InternalError(f"stored values of {len(payload)} bytes")
    outcome = np.array(_VALUE.unpack_from(payload), dtype=np.int64)
    assert len(outcome) == OUTCOMES
    return NodeAnswer(outcome, np.frombuffer(payload, dtype="<i8", offset=_VALUE.size).astype(np.int64))
