"""Pairs of games between two players: the same dice twice, with sides exchanged.

In the first game of a pair A moves first, in the second B does, with the dice that A had. What luck does for one side
in one game it does for the other in the other, so a pair says more than two games. A pair is a function of the players,
the settings and its number, so any range of pairs can be played anywhere; `training.match` makes statistics of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from engine.errors import InputError
from engine.evaluator import Evaluator
from engine.kernels.network import ONE
from engine.kernels.versus import choose_plays, pair_dice, points_won, roll_lucks
from engine.rollout import LEVEL_2_MARGIN, LEVEL_2_PLAYS
from engine.rules import Opening, RuleSet

RESULT_VERSION = 1
"""Raised whenever the same pair would get other bits: part of every content key."""

MAX_HALF_MOVES = 2048
"""A game as long as this is left unfinished, 0 points to either side; no game of sensible players comes near it."""

PAIR_ROW = 4
"""Numbers a pair leaves: A's points in both games (whole; 0 = unfinished), then A's luck in both (1/2**20)."""

PairRows = NDArray[np.int32]  # int32[pairs, PAIR_ROW]


@dataclass(frozen=True, slots=True)
class VersusSettings:
    """How pairs of games are played; together with the two players it fixes every bit of every pair."""

    rules: RuleSet
    seed: int = 1
    variance_reduction: bool = True
    """Whether luck is computed."""
    bearoff: bool = True
    """Whether nets (in choosing and in judging luck) look endings up in the databases."""

    def __post_init__(self) -> None:
        if not 0 <= self.seed < 2**63:
            raise InputError("seed", self.seed, "a whole number from 0 to 2**63 - 1")

    @property
    def uses_bearoff(self) -> bool:
        """Whether the databases can matter."""
        return self.bearoff and self.rules.databases_hold


def check_playing_level(field: str, level: int) -> None:
    """
    Raises:
        InputError: a level with which nets don't play games.
    """
    if level not in (1, 2):
        raise InputError(field, level, "1 or 2 (plies with which the net chooses)")


class GamePlayer(Protocol):
    """One of the two who play; its choice must depend on position and roll alone."""

    def choose(self, boards: NDArray[np.int8], dice: NDArray[np.int64]) -> NDArray[np.int8]:
        """After-positions int8[N, 26] for boards int8[N, 26] and dice int64[N, 2], all in the mover's view."""


class NetPlayer:
    """A pair of nets that plays at level 1 or 2, as the trials of a rollout do."""

    def __init__(self, evaluator: Evaluator, rules: RuleSet, level: int) -> None:
        check_playing_level("level", level)
        self._evaluator = evaluator
        self._rules = rules
        self._level = level

    def choose(self, boards: NDArray[np.int8], dice: NDArray[np.int64]) -> NDArray[np.int8]:
        """See `GamePlayer`."""
        afters = np.empty_like(boards)
        w, w2, *_ = self._evaluator.workspaces
        engine = self._evaluator.engine(self._rules)
        margin = round(LEVEL_2_MARGIN * ONE)
        choose_plays(boards, dice, self._level, LEVEL_2_PLAYS, margin, engine, w, w2, afters)
        return afters


def play_pairs(
    a: GamePlayer, b: GamePlayer, judge: Evaluator, settings: VersusSettings, first: int, count: int
) -> PairRows:
    """Play pairs `first .. first + count - 1`, all games side by side.

    Args:
        judge: says what every roll is worth, whoever rolls it; how good it is changes only how much luck can be taken
            out of the results.

    Returns:
        int32[count, PAIR_ROW], A's view. An estimate with variance reduction is points - luck.
    """
    rules = settings.rules
    games = 2 * count
    boards = np.tile(rules.start.board, (games, 1))
    pairs = np.repeat(np.arange(first, first + count), 2)
    a_moves = np.arange(games) % 2 == 0
    points = np.zeros(games, dtype=np.int64)
    luck36 = np.zeros(games, dtype=np.int64)
    live = np.arange(games)
    for half_move in range(MAX_HALF_MOVES):
        dice = np.empty((len(live), 2), dtype=np.int64)
        pair_dice(settings.seed, pairs[live], half_move, rules.opening is Opening.WINNER_REROLLS, dice)
        of_a = a_moves[live]
        sign = np.where(of_a, 1, -1)
        before = boards[live]
        if settings.variance_reduction:
            luck36[live] += sign * _lucks36(judge, rules, before, dice)
        afters = np.empty_like(before)
        for player, moves in ((a, of_a), (b, ~of_a)):
            if moves.any():
                afters[moves] = player.choose(before[moves], dice[moves])
        won = np.empty(len(live), dtype=np.int64)
        points_won(afters, rules.start.checkers, rules.utility, won)
        points[live] = sign * won
        boards[live] = -afters[:, ::-1]
        a_moves[live] = ~of_a
        live = live[won == 0]
        if not len(live):
            break
    # Halves are rounded away from zero, so that both views of a game mirror each other.
    luck = np.sign(luck36) * ((np.abs(luck36) + 18) // 36)
    return np.concatenate([points.reshape(count, 2), luck.reshape(count, 2)], axis=1).astype(np.int32)


def _lucks36(judge: Evaluator, rules: RuleSet, boards: NDArray[np.int8], dice: NDArray[np.int64]) -> NDArray[np.int64]:
    lucks = np.empty(len(boards), dtype=np.int64)
    roll_lucks(boards, dice, judge.engine(rules), judge.workspaces[0], lucks)
    return lucks
