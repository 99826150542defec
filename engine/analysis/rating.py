"""How well a player decided: errors, blunders, performance rating and marks, over any set of decisions.

Everything is kept as tallies of whole numbers, losses in 1/2**20 points, so that decisions add up to games, games to
matches and matches to an archive with the same bits in any order.

PR = 500 x mean loss of the unforced decisions. Its standard error is 500 times that of the mean, the decisions taken as
independent.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from engine.analysis.cube_errors import CubeError, CubeJudgement
from engine.analysis.language import Language, Text, text
from engine.analysis.luck import LuckTally, RollLuck
from engine.analysis.position_type import PositionType
from engine.analysis.thresholds import THRESHOLDS, Grade, Thresholds, steps
from engine.kernels.network import ONE

PR_FACTOR = 500
BEST_MARK = 10.0


@dataclass(frozen=True, slots=True)
class Rating:
    """A performance rating: lower is better, 0 is without loss."""

    decisions: int
    pr: float
    se: float | None
    """Standard error; None with one decision."""


@dataclass(frozen=True, slots=True)
class LossTally:
    """What some decisions lost, in 1/2**20 points."""

    decisions: int = 0
    loss: int = 0
    squares: int = 0
    errors: int = 0
    """Blunders among them."""
    blunders: int = 0
    largest: int = 0

    @staticmethod
    def of(loss: float, thresholds: Thresholds = THRESHOLDS) -> LossTally:
        """One decision that lost this many points; a loss below zero (rounding) counts as none."""
        lost = max(steps(loss), 0)
        grade = thresholds.grade(lost)
        return LossTally(1, lost, lost * lost, int(grade is not Grade.RIGHT), int(grade is Grade.BLUNDER), lost)

    def __add__(self, other: LossTally) -> LossTally:
        return LossTally(
            self.decisions + other.decisions,
            self.loss + other.loss,
            self.squares + other.squares,
            self.errors + other.errors,
            self.blunders + other.blunders,
            max(self.largest, other.largest),
        )

    @property
    def points(self) -> float:
        """All that was lost, in points."""
        return self.loss / ONE

    @property
    def rating(self) -> Rating | None:
        """None without decisions."""
        n = self.decisions
        if n == 0:
            return None
        # n * squares - loss**2 is n * n times the variance, without cancellation.
        spread = n * self.squares - self.loss * self.loss
        se = None if n == 1 else PR_FACTOR * math.sqrt(spread / (n - 1)) / (n * ONE)
        return Rating(n, PR_FACTOR * self.loss / (n * ONE), se)

    @property
    def mark(self) -> float | None:
        """From 10 (no error) to 0, by counting: 10 x (1 - (errors + blunders) / decisions), so a blunder counts twice.

        None without decisions.
        """
        if self.decisions == 0:
            return None
        return max(BEST_MARK * (self.decisions - self.errors - self.blunders) / self.decisions, 0.0)


_Key = TypeVar("_Key", bound=enum.Enum)


@dataclass(frozen=True, slots=True)
class PlayerTally:
    """Everything counted of one player; `PlayerTally()` is nothing yet, `+` merges."""

    checker: LossTally = LossTally()
    """Plays with a choice."""
    cube: LossTally = LossTally()
    """Doubles, answers, and turns at which doubling was close or right."""
    by_type: Mapping[PositionType, LossTally] = field(default_factory=dict)
    """Both kinds of decisions by type of position."""
    cube_errors: Mapping[CubeError, LossTally] = field(default_factory=dict)
    """The wrong cube actions, however little they lost."""
    luck: LuckTally = field(default_factory=LuckTally)

    @staticmethod
    def of_play(loss: float, position_type: PositionType, thresholds: Thresholds = THRESHOLDS) -> PlayerTally:
        """One play with a choice. Forced plays and illegal recorded ones are no decisions: leave them out."""
        one = LossTally.of(loss, thresholds)
        return PlayerTally(checker=one, by_type={position_type: one})

    @staticmethod
    def of_cube(
        judgement: CubeJudgement, position_type: PositionType, thresholds: Thresholds = THRESHOLDS
    ) -> PlayerTally:
        """One cube action; nothing if it doesn't count as a decision."""
        if not judgement.unforced:
            return PlayerTally()
        one = LossTally.of(judgement.loss, thresholds)
        kinds = {} if judgement.error is None else {judgement.error: one}
        return PlayerTally(cube=one, by_type={position_type: one}, cube_errors=kinds)

    @staticmethod
    def of_roll(roll: RollLuck, thresholds: Thresholds = THRESHOLDS) -> PlayerTally:
        """One roll."""
        return PlayerTally(luck=LuckTally.of(roll, thresholds))

    def __add__(self, other: PlayerTally) -> PlayerTally:
        return PlayerTally(
            self.checker + other.checker,
            self.cube + other.cube,
            _merged(PositionType, self.by_type, other.by_type),
            _merged(CubeError, self.cube_errors, other.cube_errors),
            self.luck + other.luck,
        )

    @property
    def all(self) -> LossTally:
        """Plays and cube actions together."""
        return self.checker + self.cube


def _merged(order: type[_Key], one: Mapping[_Key, LossTally], other: Mapping[_Key, LossTally]) -> dict[_Key, LossTally]:
    """Both, in the order of the enum, so that equal tallies also print alike."""
    nothing = LossTally()
    return {key: one.get(key, nothing) + other.get(key, nothing) for key in order if key in one or key in other}


class Strength(enum.Enum):
    """What players call a performance rating; value: below which PR."""

    WORLD_CHAMPION = 2.5
    WORLD_CLASS = 5.0
    EXPERT = 7.5
    ADVANCED = 12.5
    INTERMEDIATE = 17.5
    CASUAL = 22.5
    BEGINNER = math.inf


def strength(pr: float) -> Strength:
    """The first strength below whose limit a PR lies."""
    return next(one for one in Strength if pr < one.value)


def strength_name(one: Strength, language: Language) -> str:
    """Lower case."""
    return _NAMES[one][language]


_NAMES: dict[Strength, Text] = {
    Strength.WORLD_CHAMPION: text("world champion", "campeón del mundo", "campeão mundial"),
    Strength.WORLD_CLASS: text("world class", "clase mundial", "classe mundial"),
    Strength.EXPERT: text("expert", "experto", "especialista"),
    Strength.ADVANCED: text("advanced", "avanzado", "avançado"),
    Strength.INTERMEDIATE: text("intermediate", "intermedio", "intermediário"),
    Strength.CASUAL: text("casual", "ocasional", "ocasional"),
    Strength.BEGINNER: text("beginner", "principiante", "principiante"),
}
