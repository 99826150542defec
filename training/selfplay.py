"""Rounds of self-play as samples for the learner."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.bearoff import NO_DATABASES
from engine.board import START
from engine.evaluator import Evaluator, Nets
from engine.kernels.bearoff import BearoffArrays
from engine.kernels.facts import WIDTH, rows_of
from engine.kernels.labels import label_2ply
from engine.kernels.selfplay import MAX_HALF_MOVES, play_games
from engine.rules import Opening, RuleSet


@dataclass(frozen=True, slots=True)
class Samples:
    """After-positions with their targets, both from the view of the player who just moved, in the order of play."""

    boards: NDArray[np.int8]  # [N, 26]
    targets: NDArray[np.float32]  # [N, 5]
    games: int
    """Games that ended; games beyond the length limit leave no samples."""

    def inputs(self) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
        """(rows int32[N, WIDTH], races bool[N]) for `engine.network.Network`."""
        rows = np.empty((len(self.boards), WIDTH), dtype=np.int32)
        races = np.empty(len(self.boards), dtype=np.bool_)
        rows_of(self.boards, rows, races)
        return rows, races


def play_round(
    nets: Nets,
    rules: RuleSet,
    seed: int,
    first_game: int,
    games: int,
    td_lambda: float,
    bearoff: BearoffArrays = NO_DATABASES,
) -> Samples:
    """Play games `first_game .. first_game + games - 1` of a seed with one net; the same games from any process."""
    evaluator = Evaluator(nets, bearoff)
    parts: list[tuple[NDArray[np.int8], NDArray[np.float32]]] = []
    finished = 0
    done = 0
    while done < games:
        room = min(games - done, 256) * 96 + MAX_HALF_MOVES
        boards = np.empty((room, 26), dtype=np.int8)
        targets = np.empty((room, 5), dtype=np.float32)
        lengths = np.zeros(games - done, dtype=np.int64)
        written, played = play_games(
            START,
            seed,
            first_game + done,
            games - done,
            rules.opening is Opening.WINNER_REROLLS,
            td_lambda,
            evaluator.engine(rules),
            evaluator.workspaces[0],
            boards,
            targets,
            lengths,
        )
        parts.append((boards[:written], targets[:written]))
        finished += int((lengths[:played] > 0).sum())
        done += played
    return Samples(
        boards=np.concatenate([b for b, _ in parts]),
        targets=np.concatenate([t for _, t in parts]),
        games=finished,
    )


def look_ahead(samples: Samples, nets: Nets, rules: RuleSet, bearoff: BearoffArrays = NO_DATABASES) -> Samples:
    """The same positions labelled at 2-ply: the exact mean over the 21 rolls that follow."""
    evaluator = Evaluator(nets, bearoff)
    targets = np.empty_like(samples.targets)
    label_2ply(samples.boards, evaluator.engine(rules), evaluator.workspaces[0], targets)
    return Samples(samples.boards, targets, samples.games)
