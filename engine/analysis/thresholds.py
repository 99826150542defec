"""From which loss on a decision is an error, and from which luck on a roll is lucky: data, each limit inclusive.

Losses and luck are compared as whole numbers of small steps, so that 0.02 is an error even where a floating-point
difference comes out as 0.01999999.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from engine.kernels.network import ONE

LUCK_STEP = 360 * ONE
"""Luck is kept in 1 / (360 * 2**20) points: divided by the 36 rolls, or the 30 and 72 ways in which a game can start,
luck stays a whole number."""


class Grade(enum.Enum):
    """What a decision is by what it loses."""

    RIGHT = "right"
    ERROR = "error"
    BLUNDER = "blunder"
    """Also an error."""


class LuckGrade(enum.Enum):
    """What a roll is by its luck."""

    VERY_LUCKY = "very_lucky"
    LUCKY = "lucky"
    ORDINARY = "ordinary"
    UNLUCKY = "unlucky"
    VERY_UNLUCKY = "very_unlucky"


@dataclass(frozen=True, slots=True)
class Thresholds:
    """All in points (units of the cube; EMG in a match)."""

    error: float = 0.02
    blunder: float = 0.08
    lucky: float = 0.3
    """Either way."""
    very_lucky: float = 0.6

    def grade(self, loss: int) -> Grade:
        """Of a loss in 1/2**20."""
        if loss >= steps(self.blunder):
            return Grade.BLUNDER
        return Grade.ERROR if loss >= steps(self.error) else Grade.RIGHT

    def luck_grade(self, luck: int) -> LuckGrade:
        """Of a luck in 1/`LUCK_STEP`."""
        size = abs(luck)
        if size >= steps(self.very_lucky, LUCK_STEP):
            return LuckGrade.VERY_LUCKY if luck > 0 else LuckGrade.VERY_UNLUCKY
        if size >= steps(self.lucky, LUCK_STEP):
            return LuckGrade.LUCKY if luck > 0 else LuckGrade.UNLUCKY
        return LuckGrade.ORDINARY


THRESHOLDS = Thresholds()


def steps(points: float, one: int = ONE) -> int:
    """A number of points as the nearest whole number of steps of 1/`one`."""
    return round(points * one)
