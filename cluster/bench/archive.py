"""How fast archives are analysed, and whether memory grows with them: matches of the net against itself, from files."""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from cluster.archive.analysis import ArchiveAnalysis, conditions_shown
from cluster.archive.files import FoundFile, Skipped
from cluster.archive.matches import Conditions
from cluster.archive.policy import load_policy
from cluster.archive.register import Register
from cluster.archive.summary import Summary
from cluster.bench.measure import Effort, Figure
from cluster.executor import InlineExecutor
from cluster.store import MemoryStore
from engine.analysis.language import Language
from engine.bearoff import open_databases
from engine.board import pips
from engine.evaluator import Evaluator, Nets
from engine.match import MatchState
from engine.notation import format_play
from engine.position import Player, Position
from engine.records.mat_writer import write_mat
from engine.records.record import Ending, GameRecord, GameResult, MatchRecord, Play, Turn
from engine.records.table import after_play

MATCHES = {"quick": 25, "normal": 4}
"""Matches a run, by policy: some seconds of work."""
GROWTH_FROM, GROWTH_TO = 100, 200
_LENGTH = 3
_SLIP = 5
"""One play in so many is a poor one, so that there are errors to explain."""
_MOST_TURNS = 400
_SEED = 20


@dataclass(frozen=True, slots=True)
class ArchiveFigures:
    """What was measured."""

    decisions_per_s: dict[str, Figure]
    mb_per_1000_matches: Figure


def measure_archive(nets: Nets, effort: Effort) -> ArchiveFigures:
    """Decisions a second of processor time by policy, and the growth of the process over many matches."""
    with tempfile.TemporaryDirectory(prefix="gammonfarm-bench-") as folder:
        files = list(_files(nets, Path(folder), max(MATCHES.values())))
        _analysed(nets, "quick", files[:1])  # compiles
        _analysed(nets, "normal", files[:1])
        speeds = {
            name: _speed(nets, name, files[:count], effort.shared(len(MATCHES))) for name, count in MATCHES.items()
        }
        return ArchiveFigures(speeds, Figure((_growth(nets, files),)))


def _speed(nets: Nets, policy: str, files: list[FoundFile], effort: Effort) -> Figure:
    started = time.perf_counter()
    rates: list[float] = []
    while len(rates) < effort.repeats:
        before = time.process_time()
        decisions = _analysed(nets, policy, files)
        rates.append(decisions / (time.process_time() - before))
        spent = time.perf_counter() - started
        if spent + spent / len(rates) > effort.seconds:
            break
    return Figure(tuple(rates))


def _growth(nets: Nets, files: list[FoundFile]) -> float:
    """In millions of bytes for a thousand matches, at 1-ply; the same files stand for many, under other names."""
    analysis = _analysis(nets, "quick")
    peaks = []
    with Register() as register:
        summary = Summary(conditions_shown(Conditions(nets), load_policy("quick")), register)
        for wanted in (GROWTH_FROM, GROWTH_TO - GROWTH_FROM):
            for first in range(0, wanted, len(files)):
                some = files[: min(len(files), wanted - first)]
                for found in analysis.run(some):
                    if not isinstance(found, Skipped):
                        summary.add(found, found.analysis.file)
            peaks.append(_peak_bytes())
    return (peaks[1] - peaks[0]) / 1e6 / (GROWTH_TO - GROWTH_FROM) * 1000


def _peak_bytes() -> int:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def _analysed(nets: Nets, policy: str, files: list[FoundFile]) -> int:
    analysis = _analysis(nets, policy)
    for _ in analysis.run(files):
        pass
    return analysis.counted.decisions


def _analysis(nets: Nets, policy: str) -> ArchiveAnalysis:
    executor = InlineExecutor()
    return ArchiveAnalysis(
        Conditions(nets), load_policy(policy), Language.ENGLISH, MemoryStore(), lambda: executor, lambda *_: None
    )


def _files(nets: Nets, folder: Path, count: int) -> Iterator[FoundFile]:
    evaluator = Evaluator(nets, open_databases().arrays)
    for number in range(count):
        path = folder / f"{number}.mat"
        path.write_text(write_mat(made_match(evaluator, number)), encoding="utf-8")
        yield FoundFile(path, path.name)


def made_match(evaluator: Evaluator, number: int, turns: int = _MOST_TURNS) -> MatchRecord:
    """A match of the net against itself at 1-ply without doubles, with a poor play now and then; each number has its
    own dice.

    Args:
        turns: after so many turns of a game the side that is behind in the race resigns.
    """
    chance = np.random.default_rng((_SEED, number))
    match = MatchState(length=_LENGTH)
    games: list[GameRecord] = []
    score = (0, 0)
    while max(score) < _LENGTH:
        state = replace(match, score=score, crawford=max(score) == _LENGTH - 1)
        game = _game(evaluator, chance, state, len(games) + 1, turns)
        games.append(game)
        assert game.result is not None
        points = game.result.points
        score = (score[0] + points, score[1]) if game.result.winner is Player.X else (score[0], score[1] + points)
    return MatchRecord((f"Player {number}", f"Rival {number}"), match, tuple(games))


def _game(
    evaluator: Evaluator, chance: np.random.Generator, state: MatchState, number: int, most_turns: int
) -> GameRecord:
    rules = state.rules
    first = Player.X if chance.random() < 0.5 else Player.O
    position = Position(rules.start.board, state if first is Player.X else state.flip(), None, first)
    turns: list[Turn] = []
    result: GameResult | None = None
    while result is None and len(turns) < most_turns:
        one, other = (int(die) for die in chance.integers(1, 7, 2))
        while not turns and one == other:
            other = int(chance.integers(1, 7))
        dice = (max(one, other), min(one, other))
        afters, outcomes = evaluator.plays(position.board, dice, rules)
        ranked = np.argsort(-(outcomes @ rules.utility), kind="stable")
        slip = chance.integers(_SLIP) == 0
        after = afters[ranked[min(int(chance.integers(1, 4)), len(ranked) - 1) if slip else 0]]
        turns.append(Play(position.on_roll, dice, format_play(position.board, after, dice, rules)))
        table = after_play(position, after)
        position, result = table.position, table.result
    if result is None:
        own, other = pips(position.board)
        ahead = position.on_roll if own <= other else position.on_roll.other
        result = GameResult(ahead, 1, Ending.RESIGNED)
    return GameRecord(number, state.score, state.crawford, turns=tuple(turns), result=result)
