"""Making a shard: self-play positions of some games with their labels, a pure function of the task and the nets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.bearoff import NO_DATABASES, open_databases
from engine.evaluator import Evaluator, Nets
from engine.kernels.labels import label_2ply
from engine.kernels.network import ONE
from engine.kernels.selfplay import MAX_HALF_MOVES, Exploration, Games, play_exploring, play_labelled
from engine.outcome import OUTCOMES
from engine.rollout import Candidate, Roller, RolloutSettings
from engine.rules import Opening, RuleSet
from training.labels import ESTIMATE_TOLERANCE, TOLERANCE, possible, to_the_edge
from training.recipe import LabelKind
from training.starts import StartKind, StartMix

_KINDS = list(StartKind)
_ROOM = 64 * MAX_HALF_MOVES
"""Samples a kernel gets room for at a time."""
_TRIALS_A_GAME = 1 << 13
"""Positions that one game can't exceed: their trials are numbered apart."""


@dataclass(frozen=True)
class Labelling:
    """How positions get their labels; see `training.recipe.LabelPart`."""

    kind: LabelKind
    td_lambda: float = 0.0
    half_moves: int = 7
    trials: int = 36
    level: int = 1
    bearoff: bool = False


@dataclass(frozen=True)
class ShardTask:
    """Everything that a shard depends on besides the nets."""

    generation: int
    index: int
    rules: RuleSet
    seed: int
    first_game: int
    games: int
    starts: StartMix
    settle: int
    """Half-moves after a special start that leave no samples."""
    half_moves: int
    """Half-moves after these that do."""
    explore: Exploration
    labels: Labelling

    def __repr__(self) -> str:
        return f"shard {self.index} of generation {self.generation}"


@dataclass(frozen=True)
class Shard:
    """Labelled after-positions, both from the view of the player who just moved."""

    boards: NDArray[np.int8]  # [N, 26]
    labels: NDArray[np.float32]  # [N, 5]
    starts: NDArray[np.int8]  # [N]: the kind of start of the game, its place in `StartKind`
    games: int
    """Games that left samples or could have."""
    refused: int
    """Samples left out because their label was impossible."""


@dataclass(frozen=True)
class _Positions:
    boards: NDArray[np.int8]
    targets: NDArray[np.float32]
    starts: NDArray[np.int8]
    games: int


class ShardMaker:
    """Makes shards with one pair of nets on one thread."""

    def __init__(self, nets: Nets) -> None:
        self._nets = nets
        self._evaluators: dict[bool, Evaluator] = {}
        self._roller: Roller | None = None

    def make(self, task: ShardTask) -> Shard:
        """Play, label, check."""
        how = task.labels
        evaluator = self._evaluator(how.bearoff)
        found = _play(task, evaluator)
        tolerance = TOLERANCE
        if how.kind is LabelKind.TWO_PLY:
            label_2ply(found.boards, evaluator.engine(task.rules), evaluator.workspaces[0], found.targets)
        elif how.kind is LabelKind.ROLLOUT:
            self._roll_out(task, found)
            tolerance = ESTIMATE_TOLERANCE
        good = possible(found.boards, found.targets, task.rules.start.checkers, tolerance)
        labels = found.targets[good]
        return Shard(
            boards=found.boards[good],
            labels=to_the_edge(labels) if how.kind is LabelKind.ROLLOUT else labels,
            starts=found.starts[good],
            games=found.games,
            refused=int((~good).sum()),
        )

    def _evaluator(self, bearoff: bool) -> Evaluator:
        if bearoff not in self._evaluators:
            databases = open_databases().arrays if bearoff else NO_DATABASES
            self._evaluators[bearoff] = Evaluator(self._nets, databases)
        return self._evaluators[bearoff]

    def _roll_out(self, task: ShardTask, found: _Positions) -> None:
        how = task.labels
        if self._roller is None:
            self._roller = Roller(self._nets, open_databases().arrays if how.bearoff else NO_DATABASES)
        settings = RolloutSettings(
            task.rules, seed=task.seed, level=how.level, truncate=how.half_moves, bearoff=how.bearoff
        )
        base = task.first_game * _TRIALS_A_GAME
        for i, board in enumerate(found.boards):
            rows = self._roller.trials(Candidate.after_play(board), settings, (base + i) * how.trials, how.trials)
            sums = rows.astype(np.int64).sum(axis=0)
            # The luck has mean zero: outcome less luck is the estimate with the smaller error.
            found.targets[i] = (sums[:OUTCOMES] - sums[OUTCOMES:]) / (how.trials * ONE)


def _play(task: ShardTask, evaluator: Evaluator) -> _Positions:
    """The games of a task; their targets are only filled in where labels are TD returns."""
    greedy = task.labels.kind is LabelKind.TD
    games, kinds = _games_of(task)
    engine, w = evaluator.engine(task.rules), evaluator.workspaces[0]
    parts: list[_Positions] = []
    done = 0
    while done < task.games:
        rest = games._replace(
            first=games.first + done,
            starts=games.starts[done:],
            opening=games.opening[done:],
            skip=games.skip[done:],
            length=games.length[done:],
        )
        left = task.games - done
        boards = np.empty((_ROOM, 26), dtype=np.int8)
        targets = np.zeros((_ROOM, OUTCOMES), dtype=np.float32)
        written = np.zeros(left, dtype=np.int64)
        lengths = np.ones(left, dtype=np.int64)
        if greedy:
            total, played = play_labelled(rest, task.labels.td_lambda, engine, w, boards, targets, written, lengths)
        else:
            total, played = play_exploring(rest, task.explore, engine, w, boards, written)
        part = slice(done, done + played)
        starts = np.repeat(kinds[part], written[:played])
        parts.append(_Positions(boards[:total], targets[:total], starts, int((lengths[:played] > 0).sum())))
        done += played
    return _Positions(
        np.concatenate([part.boards for part in parts]),
        np.concatenate([part.targets for part in parts]),
        np.concatenate([part.starts for part in parts]),
        sum(part.games for part in parts),
    )


def _games_of(task: ShardTask) -> tuple[Games, NDArray[np.int8]]:
    """The games to play, and the kind of start of each (int8[games])."""
    starts = [task.starts.start(task.rules, task.seed, task.first_game + g) for g in range(task.games)]
    opening = np.array([start.kind is StartKind.OPENING for start in starts])
    games = Games(
        seed=task.seed,
        first=task.first_game,
        reroll=task.rules.opening is Opening.WINNER_REROLLS,
        starts=np.stack([start.board for start in starts]),
        opening=opening,
        skip=np.where(opening, 0, task.settle).astype(np.int64),
        length=np.where(opening, MAX_HALF_MOVES, task.half_moves).astype(np.int64),
    )
    return games, np.array([_KINDS.index(start.kind) for start in starts], dtype=np.int8)
