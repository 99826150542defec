"""Resigning: the level that is safe to accept, and the one that an opponent could not refuse.

A level is safe when it gives at least what playing on is worth, with the cube and the score looked at. Levels that the
game can't end with, or that give no more than a lower one, are not offered: gammons against a side that has borne off,
kinds of win that the rules or the Jacoby rule don't count, and in a match more points than win it.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.board import Board, borne_off
from engine.cubeful import CubeValues
from engine.decision import TOLERANCE
from engine.kernels.cube import NOBODY
from engine.scoring import Win


@dataclass(frozen=True, slots=True)
class Resignation:
    """Of a position before the roll, in the view of the player on roll."""

    accept: Win
    """The lowest level of the opponent's resignation that he loses nothing by accepting."""
    offer: Win
    """The lowest level at which the opponent would lose nothing by accepting his."""


def resignation(board: Board, values: CubeValues) -> Resignation:
    """The levels for a position before the roll; equities within `TOLERANCE` count as equal.

    Where no level is safe by the evaluator, the highest that can be offered is: no play could end better.
    """
    own_off, other_off = borne_off(board)
    best = values.best
    slack = values.question.value(TOLERANCE)
    wins = _levels(values, 0, other_off)
    losses = _levels(values, 3, own_off)
    accept = next((level for level, worth in wins.items() if worth >= best - slack), max(wins))
    offer = next((level for level, worth in losses.items() if worth <= best + slack), max(losses))
    return Resignation(accept, offer)


def _levels(values: CubeValues, first: int, loser_off: int) -> dict[Win, int]:
    """What the player on roll gets, by level, if the game ends so; `first`: 0 for his wins, 3 for his losses."""
    question = values.question
    flat = question.game.jacoby and question.game.owner[0] == NOBODY
    found: dict[Win, int] = {}
    for level in Win:
        worth = question.points(first + level - 1)
        possible = level is Win.SINGLE or not (flat or loser_off > 0)
        if possible and worth not in found.values():
            found[level] = worth
    return found
