"""The luck of a roll: what its best play is worth, less the mean over all rolls that could have come.

luck(r) = v(r) - sum of w(s) v(s) / 36, where v(s) is the value of the best play of roll s and w(s) is 1 for doubles and
2 for the others. So the luck of the 36 throws sums to zero exactly, whatever the evaluator thinks, and what is left of
a result after both sides' luck is taken out has the same mean as the result.

At the start of a game more is left to chance: which side begins, and where both opening dice are played, only 15 rolls
can come. `opening_luck` counts that in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from engine.analysis.thresholds import LUCK_STEP, THRESHOLDS, LuckGrade, Thresholds
from engine.cube import CubeQuestion
from engine.kernels.cube import POINT
from engine.kernels.network import ONE
from engine.moves import ROLLS, roll_weight
from engine.rules import Opening, RuleSet

_PER_ONE = LUCK_STEP // ONE


@dataclass(frozen=True, slots=True)
class RollLuck:
    """The luck of one roll, in the view of who rolled."""

    luck: int
    """In 1/`LUCK_STEP` points at a cube of 1 (EMG in a match)."""
    stake: float = 1.0
    """What a point of it is worth in the unit of the result: the cube in money play; in a match half of what lies
    between winning and losing a single game at this cube, in chances to win the match."""

    @property
    def points(self) -> float:
        """In points, before the stake."""
        return self.luck / LUCK_STEP

    @property
    def worth(self) -> int:
        """In 1/`LUCK_STEP` of the unit of the result."""
        return round(self.luck * self.stake)


@dataclass(frozen=True, slots=True)
class RollValues:
    """What the best play of each roll is worth to the player who is about to roll."""

    values: tuple[int, ...]
    """In 1/2**20 points (EMG in a match), in the order of `engine.moves.ROLLS`."""
    stake: float = 1.0
    """As in `RollLuck`."""

    def value(self, dice: tuple[int, int]) -> int:
        """Of one roll, in any order of the dice."""
        return self.values[ROLLS.index((max(dice), min(dice)))]

    def luck(self, dice: tuple[int, int]) -> RollLuck:
        """Of one roll against all 21."""
        total = sum(roll_weight(roll) * value for roll, value in zip(ROLLS, self.values, strict=True))
        return self._against(dice, total, 36)

    def opening_luck(self, dice: tuple[int, int], rules: RuleSet, other: RollValues | None = None) -> RollLuck:
        """Of the first roll of a game.

        Args:
            other: the same of the opponent, had he begun, where that is left to dice; None where it was known who
                begins.
        """
        both = rules.opening is Opening.KEEP_OPENING_DICE
        weights = [(0 if both else 1) if high == low else (1 if both else 2) for high, low in ROLLS]
        total, ways = sum(w * v for w, v in zip(weights, self.values, strict=True)), sum(weights)
        if other is not None:
            total -= sum(w * v for w, v in zip(weights, other.values, strict=True))
            ways *= 2
        return self._against(dice, total, ways)

    def _against(self, dice: tuple[int, int], total: int, ways: int) -> RollLuck:
        return RollLuck((self.value(dice) * ways - total) * (_PER_ONE // ways), self.stake)


def stake_of(question: CubeQuestion) -> float:
    """What a point of luck is worth in the unit of the result; see `RollLuck.stake`."""
    match = question.match
    return float(match.cube_value) if match.is_money else question.value(1.0) / POINT / 2.0


@dataclass(frozen=True, slots=True)
class LuckTally:
    """The luck of the rolls of one player. Whole numbers, so that tallies merge exactly in any order."""

    rolls: int = 0
    luck: int = 0
    """Sum, in 1/`LUCK_STEP` points."""
    worth: int = 0
    """Sum, in 1/`LUCK_STEP` of the unit of the result."""
    grades: Mapping[LuckGrade, int] = field(default_factory=dict)
    """How many rolls; those that do not occur are missing."""
    luckiest: int | None = None
    """The most luck of one roll, in 1/`LUCK_STEP` points; None without rolls."""
    unluckiest: int | None = None

    @staticmethod
    def of(roll: RollLuck, thresholds: Thresholds = THRESHOLDS) -> LuckTally:
        """Of one roll."""
        grade = thresholds.luck_grade(roll.luck)
        return LuckTally(1, roll.luck, roll.worth, {grade: 1}, roll.luck, roll.luck)

    def __add__(self, other: LuckTally) -> LuckTally:
        luckiest = [luck for luck in (self.luckiest, other.luckiest) if luck is not None]
        unluckiest = [luck for luck in (self.unluckiest, other.unluckiest) if luck is not None]
        return LuckTally(
            self.rolls + other.rolls,
            self.luck + other.luck,
            self.worth + other.worth,
            {
                grade: self.grades.get(grade, 0) + other.grades.get(grade, 0)
                for grade in LuckGrade
                if grade in self.grades or grade in other.grades
            },
            max(luckiest, default=None),
            min(unluckiest, default=None),
        )

    @property
    def points(self) -> float:
        """The sum in points."""
        return self.luck / LUCK_STEP

    @property
    def lucky(self) -> int:
        """Rolls that were lucky or very lucky."""
        return self.grades.get(LuckGrade.LUCKY, 0) + self.grades.get(LuckGrade.VERY_LUCKY, 0)

    @property
    def unlucky(self) -> int:
        """Rolls that were unlucky or very unlucky."""
        return self.grades.get(LuckGrade.UNLUCKY, 0) + self.grades.get(LuckGrade.VERY_UNLUCKY, 0)


def luck_adjusted(result: float, own: LuckTally, other: LuckTally) -> float:
    """A result without the luck of both sides: result - (own luck - the opponent's luck).

    Args:
        result: of one player: points won (negative: lost) in a money game or session; in a match 1 for a win, 0 for a
            loss.
        own, other: in the unit of the result: points, or chances to win the match.

    With perfect values it equals the worth of the start plus what the opponent's errors lost minus what the own ones
    did; with imperfect ones it still has the same mean as the result, with less noise.
    """
    return result - (own.worth - other.worth) / LUCK_STEP
