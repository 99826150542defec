"""One game of a match the plain way: ranked plays, dice by their oracle, luck by its definition."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from oracles.dice import match_roll
from oracles.rollout import ONE, nearest

from engine.board import Board, borne_off, flip
from engine.evaluator import Evaluator
from engine.moves import ROLLS, roll_weight
from engine.rules import Opening, RuleSet
from engine.search import FilterStep, MoveFilter, rank_plays

NARROW = MoveFilter("as in trials", ((FilterStep(1, 4, 0.08),), (), ()))
"""What a player at level 2 looks at."""


@dataclass(frozen=True)
class Player:
    """Chooses at a level."""

    evaluator: Evaluator
    level: int

    def choose(self, board: Board, dice: tuple[int, int], rules: RuleSet) -> Board:
        """The after-position of the best play."""
        return rank_plays(self.evaluator, board, dice, rules, self.level, NARROW)[0].after


def game(
    players: tuple[Player, Player],
    first: int,
    judge: Evaluator,
    rules: RuleSet,
    seed: int,
    pair: int,
    start: Board,
    worth: Callable[[Board], int],
) -> tuple[int, int]:
    """(points, luck in 1/2**20) of player 0 in a game that player `first` begins.

    Args:
        judge: an evaluator without a filter net. worth: points of a won after-position.
    """
    board, on_roll, half_move = start, first, 0
    luck = Fraction(0)
    while True:
        dice = match_roll(seed, pair, half_move, rules.opening is Opening.WINNER_REROLLS)
        sign = 1 if on_roll == 0 else -1
        luck += sign * luck_of(judge, board, dice, rules)
        after = players[on_roll].choose(board, dice, rules)
        if borne_off(after)[0] == 15:
            return sign * worth(after), nearest(luck)
        board, on_roll, half_move = flip(after), 1 - on_roll, half_move + 1


def luck_of(judge: Evaluator, board: Board, dice: tuple[int, int], rules: RuleSet) -> Fraction:
    """Equity of the roll that came, less the mean over all 36 throws, in 1/2**20; view of the player who rolls."""

    def best(roll: tuple[int, int]) -> int:
        _, outcomes = judge.plays(board, roll, rules)
        return int((outcomes @ rules.utility - ONE).max())

    mean = sum((Fraction(roll_weight(roll) * best(roll), 36) for roll in ROLLS), Fraction(0))
    return best((max(dice), min(dice))) - mean


def points(after: Board, backgammon_counts: bool) -> int:
    """1, 2 or 3 by the rule book: gammon if the loser has borne off nothing; backgammon if, besides, one of his
    checkers is in the winner's home or on the bar.
    """
    loser = np.where(after < 0, -after, 0)
    if loser.sum() < 15:
        return 1
    return 3 if backgammon_counts and loser[:7].sum() > 0 else 2
