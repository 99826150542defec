"""The rows of a match text: which cells stand in a line, what they say, and whose column they are in.

      3) 42: 6/4 8/4                     Doubles => 2
      4)  Takes                          31: Cannot Move
                                          Wins 2 points

Programs put the columns where they like, and leave cells empty; where only one cell stands in a line, its place says
whose it is.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median


class Word(enum.Enum):
    """What a cell says."""

    ROLL = "roll"
    DOUBLE = "double"
    BEAVER = "beaver"
    RACCOON = "raccoon"
    TAKE = "take"
    DROP = "drop"
    WIN = "win"
    """This player wins."""
    LOSS = "loss"
    """This player loses: resigned, conceded, or said to have lost points."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One player's part of a row."""

    column: int
    """Where it begins."""
    word: Word
    text: str = ""
    """What follows the dice."""
    dice: tuple[int, int] | None = None
    number: int | None = None
    """The value of the cube, or the points."""
    ends_match: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a game."""

    cells: tuple[Cell, ...]
    rest: str = ""
    """What was not understood."""


_NUMBER = re.compile(r"\s*(\d{1,4})\)", re.ASCII)
_START = re.compile(
    r"(?P<dice>(?<![\d/])(?P<first>[0-6])-?(?P<second>[0-6])\s?:)"
    r"|(?<![\w/])(?P<word>(?:re-?)?doubles?|beavers?|raccoons?|takes?|accepts?|drops?|rejects?|pass(?:es)?"
    r"|resign(?:s|ed)?|concedes?|conceded|forfeits?|wins?|won|loss?es|lost)(?![\w/])",
    re.ASCII | re.IGNORECASE,
)
_CUBE = re.compile(r"(?:=>|to|:)?\s*(\d{1,9})", re.ASCII)
_POINTS = re.compile(r"\s*(?:game\b)?\s*(\d{1,6})", re.ASCII | re.IGNORECASE)
_WORDS = (
    ("beaver", Word.BEAVER),
    ("raccoon", Word.RACCOON),
    ("take", Word.TAKE),
    ("accept", Word.TAKE),
    ("drop", Word.DROP),
    ("reject", Word.DROP),
    ("pass", Word.DROP),
    ("win", Word.WIN),
    ("won", Word.WIN),
    ("resign", Word.LOSS),
    ("concede", Word.LOSS),
    ("forfeit", Word.LOSS),
    ("los", Word.LOSS),
)
_MOST_CELLS = 4
_MOST_LETTERS = 1000
_USUAL_BORDER = 20


def is_numbered(line: str) -> bool:
    """Whether a line begins with a move number."""
    return _NUMBER.match(line) is not None


def read_row(line: str, offered: bool) -> Row:
    """The cells of one line.

    Args:
        offered: an offer of the cube stands before it. A `Pass` is then an answer, else part of a play.
    """
    line = line[:_MOST_LETTERS].expandtabs(8)
    numbered = _NUMBER.match(line)
    begin = numbered.end() if numbered else 0
    starts = []
    for start in _START.finditer(line, begin):
        if start["word"] is not None and start["word"].lower().startswith("pass") and not offered:
            continue
        starts.append(start)
        offered = start["word"] is not None and _word(start["word"]) in (Word.DOUBLE, Word.BEAVER, Word.RACCOON)
    before = line[begin : starts[0].start()] if starts else line[begin:]
    cells = []
    for start, following in zip(starts[:_MOST_CELLS], [*starts[1:], None], strict=False):
        end = following.start() if following is not None else len(line)
        cells.append(_cell(start, line[start.end() : end].strip()))
    return Row(tuple(cells), before.strip(" ?-"))


def border(rows: Sequence[Row], second_name: int | None) -> float:
    """The column that separates both players' cells in a game.

    Args:
        second_name: where the second player's name begins in the line of the score.
    """
    pairs = [(row.cells[0].column, row.cells[1].column) for row in rows if len(row.cells) == 2]
    if pairs:
        return (median(left for left, _ in pairs) + median(right for _, right in pairs)) / 2
    return _USUAL_BORDER if second_name is None else min(second_name / 2 + 3, _USUAL_BORDER)


def _cell(start: re.Match[str], text: str) -> Cell:
    if start["dice"] is not None:
        first, second = int(start["first"]), int(start["second"])
        dice = (max(first, second), min(first, second)) if first and second else None
        return Cell(start.start(), Word.ROLL, text, dice)
    word = _word(start["word"])
    if word in (Word.WIN, Word.LOSS):
        points = _POINTS.match(text)
        return Cell(
            start.start(),
            word,
            text,
            number=int(points[1]) if points else None,
            ends_match="match" in text.lower(),
        )
    value = _CUBE.match(text) if word in (Word.DOUBLE, Word.BEAVER, Word.RACCOON) else None
    return Cell(start.start(), word, text, number=int(value[1]) if value else None)


def _word(text: str) -> Word:
    lower = text.lower()
    return next((word for beginning, word in _WORDS if lower.startswith(beginning)), Word.DOUBLE)
