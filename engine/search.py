"""Ranking the plays of a roll at any level."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.board import Board
from engine.errors import InputError, InternalError
from engine.evaluator import Evaluator, Valuation
from engine.kernels.network import ONE
from engine.kernels.search import HIGHEST_LEVEL
from engine.rules import RuleSet


@dataclass(frozen=True, slots=True)
class FilterStep:
    """Which plays go on to the next level: the best ones at `level`, at most `keep`, none more than `margin` worse."""

    level: int
    keep: int
    margin: float
    """Equity."""

    def __post_init__(self) -> None:
        if self.keep < 1 or self.margin < 0 or not 1 <= self.level < HIGHEST_LEVEL:
            raise InputError("filter", f"level {self.level}, keep {self.keep}, margin {self.margin}", "a usable step")


@dataclass(frozen=True, slots=True)
class MoveFilter:
    """The steps from 1-ply to each level; data, see `configs/search`."""

    name: str
    steps: tuple[tuple[FilterStep, ...], ...]
    """For level 2, 3, 4: steps with rising `level`, the first at level 1."""

    def for_level(self, level: int) -> tuple[FilterStep, ...]:
        """The steps on the way to a level (none for level 1)."""
        return () if level == 1 else self.steps[level - 2]


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
        raise InputError("level", level, f"a whole number from 1 (the net on every legal play) to {HIGHEST_LEVEL}")


@dataclass(slots=True)
class _Candidate:
    after: NDArray[np.int8]
    order: int
    left: int
    """The mover's checkers that are still on the board."""
    outcome: NDArray[np.int64]
    equity: int
    level: int

    def value(self) -> Valuation:
        """In floating point; the numbers are multiples of 1/2**20, so nothing is rounded."""
        win, gammon, backgammon, lose_gammon, lose_backgammon = (p / ONE for p in self.outcome.tolist())
        return Valuation((win, gammon, backgammon, lose_gammon, lose_backgammon), self.equity / ONE)


def rank_plays(
    evaluator: Evaluator,
    board: Board,
    dice: tuple[int, int],
    rules: RuleSet,
    level: int = 1,
    move_filter: MoveFilter | None = None,
) -> list[RankedPlay]:
    """All legal plays, best first; `move_filter` is needed above level 1.

    Plays that the filter leaves behind keep the level they reached and stand below all plays of a higher level. Ties go
    to bearing off more, then to the order of generation.

    Raises:
        InputError: an unknown level.
    """
    check_level(level)
    afters, outcomes = evaluator.plays(board, dice, rules)
    equities = (outcomes @ rules.utility - ONE).tolist()
    left = np.maximum(afters, 0).sum(axis=1).tolist()
    plays = [_Candidate(afters[i], i, left[i], outcomes[i], equities[i], 1) for i in range(len(afters))]
    if level > 1 and move_filter is None:
        raise InternalError("a search needs a move filter")
    steps = move_filter.for_level(level) if move_filter else ()
    for number, step in enumerate(steps):
        plays = _sorted(plays)
        limit = plays[0].equity - round(step.margin * ONE)
        going_on = [p for p in plays[: step.keep] if p.level == step.level and p.equity >= limit]
        target = steps[number + 1].level if number + 1 < len(steps) else level
        for play in going_on:
            play.outcome = evaluator.after_position(play.after, rules, target)
            play.equity = int(play.outcome @ rules.utility) - ONE
            play.level = target
    return [RankedPlay(p.after, p.value(), p.level) for p in _sorted(plays)]


def _sorted(plays: Iterable[_Candidate]) -> list[_Candidate]:
    return sorted(plays, key=lambda p: (-p.level, -p.equity, p.left, p.order))
