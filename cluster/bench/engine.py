"""The figures of one core: evaluations, legal plays, searches, rollouts and self-play, in this process."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from cluster.bench.measure import Effort, Figure, cpu_seconds, passes_for, repeat
from cluster.bench.positions import BenchPositions
from engine.board import Board
from engine.errors import InternalError
from engine.evaluator import Evaluator, Nets
from engine.kernels.bearoff import BearoffArrays
from engine.kernels.bench import count_plays, count_unfinished, evaluate_all_plays
from engine.kernels.search import HIGHEST_LEVEL
from engine.moves import legal_plays
from engine.notation import format_play
from engine.position import Position
from engine.rollout import Candidate, Roller, RolloutSettings, TrialRows
from engine.rules import INTERNATIONAL
from engine.search import MoveFilter, rank_plays
from engine.tally import Tally
from training.selfplay import play_games_of, play_round

SEED = 20261129
RULES = INTERNATIONAL
TRIALS = 1296
"""Of each of the two plays that are rolled out."""
TARGET_SE = 0.004
PLAYS_ROLLED = 2

_GAMES = 200
"""Of self-play whose positions are evaluated, and a run of the self-play figure."""
_RUN_SECONDS = 1.0
_SEARCH_SECONDS = 0.3
_EVERY_4PLY = 8
"""4-ply is measured on every eighth position: it takes several times as long as 3-ply."""


@dataclass(frozen=True, slots=True)
class RolloutFigures:
    """Of rolling out two plays of the problem."""

    trials_per_cpu_s: Figure
    cpu_s_to_se: Figure
    """Processor seconds a play to a standard error of 0.004, from the errors that the trials left."""
    cpu_s: float
    """Median of a run, both plays."""
    rows: tuple[TrialRows, ...]
    """Of each play."""


@dataclass(frozen=True, slots=True)
class Rolls:
    """Many positions with a roll each."""

    boards: NDArray[np.int8]  # [N, 26], views of the players on roll
    dice: NDArray[np.int64]  # [N, 2]


def self_play_rolls(nets: Nets, games: int = _GAMES) -> Rolls:
    """The positions of self-play games, each before a random roll: the same ones for the same net."""
    samples = play_round(nets, RULES, SEED, 0, games, td_lambda=0.0)
    boards = np.ascontiguousarray(-samples.boards[:, ::-1])
    dice = np.random.default_rng(SEED).integers(1, 7, size=(len(boards), 2), dtype=np.int64)
    return Rolls(boards, dice)


def measure_leaf(nets: Nets, effort: Effort) -> Figure:
    """Evaluations a second by the main net of all plays of self-play positions, generating the plays included."""
    evaluator = Evaluator(nets)  # without databases: the net answers for every play that doesn't end the game
    rolls = self_play_rolls(nets)
    engine, w = evaluator.engine(RULES), evaluator.workspaces[0]
    evaluations = count_unfinished(rolls.boards, rolls.dice, RULES.move_flags, w.main)

    def one_pass() -> int:
        return int(evaluate_all_plays(rolls.boards, rolls.dice, engine, w))

    return _rate(one_pass, evaluations, effort)


def measure_plays(nets: Nets, effort: Effort) -> Figure:
    """After-positions generated a second, all plays of self-play positions."""
    rolls = self_play_rolls(nets)
    scratch = Evaluator(nets).workspaces[0].main

    def one_pass() -> int:
        return int(count_plays(rolls.boards, rolls.dice, RULES.move_flags, scratch))

    return _rate(one_pass, one_pass(), effort)


def measure_self_play(nets: Nets, effort: Effort) -> Figure:
    """Games a second in which the main net values every play."""
    evaluator = Evaluator(nets)

    def one_pass() -> int:
        return play_games_of(evaluator, RULES, SEED, 0, _GAMES, td_lambda=0.0).games

    return _rate(one_pass, one_pass(), effort)


def searched_positions(level: int, positions: BenchPositions) -> tuple[Position, ...]:
    """Which positions are searched at a level."""
    return positions.positions[::_EVERY_4PLY] if level == HIGHEST_LEVEL else positions.positions


def measure_search(
    nets: Nets, bearoff: BearoffArrays, move_filter: MoveFilter, positions: BenchPositions, effort: Effort
) -> dict[int, Figure]:
    """Milliseconds to rank the plays of a position, the mean over the positions, by level. The highest level is left
    out where one pass would not be done in its share of the time.
    """
    evaluator = Evaluator(nets, bearoff)
    found: dict[int, Figure] = {}
    started = time.perf_counter()
    for level in range(1, HIGHEST_LEVEL + 1):
        chosen = searched_positions(level, positions)
        _rank_all(evaluator, chosen[:1], level, move_filter)  # compiles where that is needed
        one = cpu_seconds(partial(_rank_all, evaluator, chosen[:1], level, move_filter))
        if level == HIGHEST_LEVEL and one * len(chosen) > effort.seconds / 2:
            break
        passes = passes_for(one * len(chosen), _SEARCH_SECONDS)
        run = partial(_milliseconds, evaluator, chosen, passes, level, move_filter)
        left = effort.seconds - (time.perf_counter() - started)
        found[level] = repeat(run, Effort(effort.repeats, left / (HIGHEST_LEVEL + 1 - level)))
    return found


def _milliseconds(
    evaluator: Evaluator, positions: tuple[Position, ...], passes: int, level: int, move_filter: MoveFilter
) -> float:
    one_pass = partial(_rank_all, evaluator, positions, level, move_filter)
    return 1000 * cpu_seconds(lambda: [one_pass() for _ in range(passes)]) / (passes * len(positions))


def _rank_all(evaluator: Evaluator, positions: tuple[Position, ...], level: int, move_filter: MoveFilter) -> None:
    """One pass; the search remembers nothing from before it."""
    evaluator.forget()
    for position in positions:
        assert position.dice is not None
        rank_plays(evaluator, position.board, position.dice, RULES, level, move_filter)


def rolled_plays(nets: Nets, bearoff: BearoffArrays, move_filter: MoveFilter, problem: Position) -> list[Board]:
    """The two best plays of the problem by 3-ply, as after-positions in the mover's view."""
    if problem.dice is None or len(legal_plays(problem.board, problem.dice, RULES)) < PLAYS_ROLLED:
        raise InternalError("a position to roll out needs dice and two plays")
    ranked = rank_plays(Evaluator(nets, bearoff), problem.board, problem.dice, RULES, 3, move_filter)
    return [play.after for play in ranked[:PLAYS_ROLLED]]


def play_names(problem: Position, afters: list[Board]) -> list[str]:
    """Standard notation of plays of the problem."""
    assert problem.dice is not None
    return [format_play(problem.board, after, problem.dice, RULES) for after in afters]


def measure_rollout(nets: Nets, bearoff: BearoffArrays, afters: list[Board], effort: Effort) -> RolloutFigures:
    """Full rollouts of plays at 1-ply with variance reduction, ending in the bear-off databases."""
    settings = RolloutSettings(RULES)
    candidates = [Candidate.after_play(after) for after in afters]
    rows: list[TrialRows] = []

    def seconds(trials: int = TRIALS) -> float:
        roller = Roller(nets, bearoff)  # a new one each time: a roller remembers first moves
        rows.clear()
        return cpu_seconds(lambda: rows.extend(roller.trials(c, settings, 0, trials) for c in candidates))

    seconds(1)  # compiles where that is needed
    spent = repeat(seconds, effort)
    return RolloutFigures(
        trials_per_cpu_s=Figure(tuple(len(afters) * TRIALS / s for s in spent.runs)),
        cpu_s_to_se=Figure(tuple(seconds_to_se(tuple(rows), s) for s in spent.runs)),
        cpu_s=spent.median,
        rows=tuple(rows),
    )


def seconds_to_se(rows: tuple[TrialRows, ...], cpu_s: float) -> float:
    """Processor seconds a play would need to reach the target error, when these rows of several plays took `cpu_s`."""
    tally = Tally.of(list(rows), RULES)
    return seconds_to_target([tally.equity(i).se for i in range(tally.candidates)], cpu_s)


def seconds_to_target(errors: list[float], cpu_s: float) -> float:
    """The same from the standard errors that the plays reached: an error falls with the root of the time."""
    return sum((se / TARGET_SE) ** 2 for se in errors) / len(errors) * cpu_s / len(errors)


def _rate(one_pass: Callable[[], object], count: int, effort: Effort) -> Figure:
    """`count` things a pass, a second."""
    one_pass()  # compiles where that is needed
    passes = passes_for(cpu_seconds(one_pass), _RUN_SECONDS)

    def run() -> float:
        return passes * count / cpu_seconds(lambda: [one_pass() for _ in range(passes)])

    return repeat(run, effort)
