"""Games of a net against itself as samples: what is measured, distilled and compared on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.bearoff import NO_DATABASES
from engine.evaluator import Evaluator, Nets
from engine.kernels.bearoff import BearoffArrays
from engine.kernels.selfplay import MAX_HALF_MOVES, play_games
from engine.rules import Opening, RuleSet


@dataclass(frozen=True, slots=True)
class Samples:
    """After-positions with their targets, both from the view of the player who just moved, in the order of play."""

    boards: NDArray[np.int8]  # [N, 26]
    targets: NDArray[np.float32]  # [N, 5]
    games: int
    """Games that ended; games beyond the length limit leave no samples."""


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
    return play_games_of(Evaluator(nets, bearoff), rules, seed, first_game, games, td_lambda)


def play_games_of(
    evaluator: Evaluator, rules: RuleSet, seed: int, first_game: int, games: int, td_lambda: float
) -> Samples:
    """The same with an evaluator at hand: making one takes as long as some dozens of games."""
    start = rules.start.board
    parts: list[tuple[NDArray[np.int8], NDArray[np.float32]]] = []
    finished = 0
    done = 0
    while done < games:
        room = min(games - done, 256) * 96 + MAX_HALF_MOVES
        boards = np.empty((room, 26), dtype=np.int8)
        targets = np.empty((room, 5), dtype=np.float32)
        lengths = np.zeros(games - done, dtype=np.int64)
        written, played = play_games(
            start,
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
