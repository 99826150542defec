"""The worker that makes the parts of an opening book's entries: searches that pick plays, and trials of these."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

from engine.bearoff import open_databases
from engine.cubeful import CubefulEvaluator
from engine.errors import InternalError
from engine.evaluator import Evaluator, Nets
from engine.notation import format_play
from engine.search import rank_plays
from workers.nets import nets_of, weights_of
from workers.rollout import RolloutWorker
from workers.spec import Weights, WorkerSpec
from workers.tasks import RolloutOutput, RolloutTask, SearchedPlay, SearchTask

BookTask = SearchTask | RolloutTask
BookOutput = tuple[SearchedPlay, ...] | RolloutOutput
"""Of a search its plays, best first; of trials their rows."""


class BookWorker:
    """Answers both kinds of tasks; opens the bear-off databases when a task first needs them."""

    def __init__(self, nets: Nets) -> None:
        self._nets = nets
        self._trials = RolloutWorker(nets.integers())

    def run(self, task: BookTask) -> BookOutput:
        """The output of one task."""
        if isinstance(task, RolloutTask):
            return self._trials.run(task)
        return searched_plays(self._evaluator, task)

    @cached_property
    def _evaluator(self) -> Evaluator:
        return Evaluator(self._nets, open_databases().arrays)


def searched_plays(evaluator: Evaluator, task: SearchTask) -> tuple[SearchedPlay, ...]:
    """The plays of a roll that a search puts within the margin of its best one; best first.

    Args:
        evaluator: with the bear-off databases.
    """
    position = task.position
    board, match, dice = position.board, position.match, position.dice
    if dice is None:
        raise InternalError("a search of plays without a roll")
    if task.cube is None:
        ranked = [
            SearchedPlay("", play.after, play.value.equity, play.level)
            for play in rank_plays(evaluator, board, dice, match.rules, task.level, task.filter)
        ]
    else:
        cubeful = CubefulEvaluator(evaluator, task.cube.met, task.cube.efficiency)
        ranked = [
            SearchedPlay("", play.after, play.equity, play.level)
            for play in cubeful.rank_plays(board, dice, match, task.level, task.filter)
        ]
    best = ranked[0]
    near = [play for play in ranked if play.level == best.level and best.equity - play.equity <= task.margin]
    return tuple(replace(play, play=format_play(board, play.after, dice, match.rules)) for play in near[: task.most])


def build_book_worker(weights: Weights) -> BookWorker:
    """A worker from the arrays of its nets."""
    return BookWorker(nets_of(weights))


def book_workers(nets: Nets) -> WorkerSpec[BookTask, BookOutput]:
    """How an executor makes workers for a pair of nets."""
    return WorkerSpec(build_book_worker, weights_of(nets), nets.digest)
