"""The worker that values the positions of an archive's decisions, in batches."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.bearoff import open_databases
from engine.board import PLACES
from engine.cube import MOST_STATES
from engine.cubeful import CubefulEvaluator, RolledPlays
from engine.evaluator import Evaluator, IntegerNets, Nets
from engine.moves import ROLLS
from engine.outcome import OUTCOMES
from workers.nets import nets_of, weights_of
from workers.spec import Weights, WorkerSpec
from workers.tasks import NodeBatch, NodeValues, RollBatch, RollPlays, Table

AnalysisTask = NodeBatch | RollBatch
AnalysisOutput = NodeValues | RollPlays


class AnalysisWorker:
    """Holds the integer twins of its nets and answers both kinds of batches; opens the bear-off databases for the
    first of them.
    """

    def __init__(self, nets: IntegerNets) -> None:
        self._nets = nets
        self._evaluators: dict[tuple[str | None, bytes, int], CubefulEvaluator] = {}

    def run(self, task: AnalysisTask) -> AnalysisOutput:
        """The values of one batch; each depends on its own position alone."""
        evaluator = self._evaluator(task.table)
        return value_nodes(evaluator, task) if isinstance(task, NodeBatch) else value_rolls(evaluator, task)

    def _evaluator(self, table: Table) -> CubefulEvaluator:
        met = None if table.met is None else table.met.digest
        key = (met, table.efficiency.rows.tobytes(), table.bearoff_checkers)
        if key not in self._evaluators:
            # Opened here, not sent: all workers of a machine share the pages of one file.
            bearoff = open_databases(two_sided_checkers=table.bearoff_checkers).arrays
            self._evaluators[key] = CubefulEvaluator(Evaluator(self._nets, bearoff), table.met, table.efficiency)
        return self._evaluators[key]


def value_nodes(evaluator: CubefulEvaluator, batch: NodeBatch) -> NodeValues:
    """After-positions at the level of the batch."""
    n = len(batch.boards)
    outcomes = np.zeros((n, OUTCOMES), dtype=np.int64)
    rolling = np.zeros((n, MOST_STATES), dtype=np.int64)
    for i, match in enumerate(batch.match_of.tolist()):
        outcome, values = evaluator.after_position(batch.boards[i], batch.matches[match], batch.level)
        outcomes[i] = outcome
        rolling[i, : len(values)] = values
    return NodeValues(outcomes, rolling)


def value_rolls(evaluator: CubefulEvaluator, batch: RollBatch) -> RollPlays:
    """Plays of rolls at 1-ply, and what each of the 21 rolls would have been worth."""
    n = len(batch.boards)
    legal = np.zeros(n, dtype=np.int32)
    rolls = np.zeros((n, len(ROLLS)), dtype=np.int64)
    found: list[tuple[RolledPlays, NDArray[np.int64]]] = []
    firsts = np.searchsorted(batch.wanted_of, np.arange(n + 1)).tolist()
    for i, (match, (high, low)) in enumerate(zip(batch.match_of.tolist(), batch.dice.tolist(), strict=True)):
        board, state = batch.boards[i], batch.matches[match]
        plays = evaluator.plays(board, (high, low), state)
        legal[i] = len(plays.values)
        found.append((plays, _chosen(plays, batch.keep, batch.wanted[firsts[i] : firsts[i + 1]])))
        if batch.every_play:
            rolls[i] = [evaluator.plays(board, roll, state).values.max() for roll in ROLLS]
        else:
            rolls[i] = evaluator.best_of_rolls(board, state)
    starts = np.zeros(n + 1, dtype=np.int32)
    np.cumsum([len(chosen) for _, chosen in found], out=starts[1:])
    return RollPlays(
        legal=legal,
        starts=starts,
        afters=np.concatenate([np.zeros((0, PLACES), np.int8), *(p.afters[chosen] for p, chosen in found)]),
        outcomes=np.concatenate([np.zeros((0, OUTCOMES), np.int64), *(p.outcomes[chosen] for p, chosen in found)]),
        values=np.concatenate([np.zeros(0, np.int64), *(p.values[chosen] for p, chosen in found)]),
        cubeless=np.concatenate([np.zeros(0, np.int64), *(p.cubeless[chosen] for p, chosen in found)]),
        order=np.concatenate([np.zeros(0, np.int16), *(chosen.astype(np.int16) for _, chosen in found)]),
        rolls=rolls,
    )


def _chosen(plays: RolledPlays, keep: int, wanted: NDArray[np.int8]) -> np.ndarray:
    """Which plays are given back, the best first: ties as in `CubefulEvaluator.rank_plays`."""
    left = np.maximum(plays.afters, 0).sum(axis=1)
    ranked = np.lexsort((left, -plays.cubeless, -plays.values))
    chosen = ranked[:keep]
    for after in wanted:
        (where,) = np.nonzero((plays.afters == after).all(axis=1))
        if len(where) and where[0] not in chosen:
            chosen = np.append(chosen, where[0])
    return np.asarray(chosen)


def build_analysis_worker(weights: Weights) -> AnalysisWorker:
    """A worker from the arrays of its nets, named `main.*` and `filter.*`."""
    return AnalysisWorker(nets_of(weights).integers())


def analysis_workers(nets: Nets) -> WorkerSpec[AnalysisTask, AnalysisOutput]:
    """How an executor makes workers for a pair of nets."""
    return WorkerSpec(build_analysis_worker, weights_of(nets), nets.digest)
