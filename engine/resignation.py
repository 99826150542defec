"""Resigning: the level that is safe to accept, and the one that an opponent could not refuse.

A level is safe when it gives at least what playing on is worth, with the cube and the score looked at.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.board import Board, flip
from engine.cubeful import CubeValues
from engine.decision import TOLERANCE
from engine.kernels.cube import LOSE1, WIN1
from engine.scoring import Win, resignation_levels


@dataclass(frozen=True, slots=True)
class Resignation:
    """Of a position before the roll, in the view of the player on roll."""

    accept: Win
    """The lowest level of the opponent's resignation that he loses nothing by accepting."""
    offer: Win
    """The lowest level at which the opponent would lose nothing by accepting his."""


def resignation(board: Board, values: CubeValues) -> Resignation:
    """The levels for a position before the roll; equities within `TOLERANCE` count as equal.

    Only levels at which a player can resign (`engine.scoring.resignation_levels`) are looked at. Where none of them is
    safe by the evaluator, the highest is given: no play could end better.
    """
    question = values.question
    best = values.best
    slack = question.value(TOLERANCE)
    theirs = resignation_levels(question.match.flip(), flip(board))
    ours = resignation_levels(question.match, board)
    accept = next((w for w in theirs if question.points(WIN1 + w - Win.SINGLE) >= best - slack), theirs[-1])
    offer = next((w for w in ours if question.points(LOSE1 + w - Win.SINGLE) <= best + slack), ours[-1])
    return Resignation(accept, offer)
