"""Ranking the plays of a roll."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.board import Board, borne_off
from engine.errors import InputError
from engine.evaluator import Evaluator, Valuation, valuation
from engine.kernels.network import ONE
from engine.rules import RuleSet

HIGHEST_LEVEL = 1


@dataclass(frozen=True, slots=True)
class RankedPlay:
    """One legal play with its value in the mover's view and the level (plies, counted from 1) that gave it."""

    after: Board
    value: Valuation
    level: int


def check_level(level: int) -> None:
    """
    Raises:
        InputError: a level that this version cannot search.
    """
    if not 1 <= level <= HIGHEST_LEVEL:
        raise InputError("level", level, "1 (the network on every legal play)")


def rank_plays(
    evaluator: Evaluator, board: Board, dice: tuple[int, int], rules: RuleSet, level: int = 1
) -> list[RankedPlay]:
    """All legal plays, best first; ties go to bearing off more, then to the order of generation.

    Raises:
        InputError: an unknown level.
    """
    check_level(level)
    afters, outcomes = evaluator.plays(board, dice, rules)
    equities = outcomes @ rules.utility - ONE
    order = sorted(range(len(afters)), key=lambda i: (-int(equities[i]), -borne_off(afters[i])[0], i))
    return [RankedPlay(np.array(afters[i]), valuation(outcomes[i] / ONE, rules), level) for i in order]
