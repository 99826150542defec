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
    times: int | None = None
    """Of a result without points: 2 for a gammon, 3 for a backgammon."""
    ends_match: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a game."""

    cells: tuple[Cell, ...]
    rest: str = ""
    """What was not understood."""


_NUMBER = re.compile(r"\s*(\d{1,4})(?:\)|\.(?=\s))", re.ASCII)
_WORD = (
    r"|(?<![\w/])(?P<word>(?:offers?\s+(?:a\s+)?)?(?:re-?)?doubl(?:es?|ed)|beaver(?:s|ed)?|raccoons?"
    r"|takes?|took|accept(?:s|ed)?|drop(?:s|ped)?|reject(?:s|ed)?|refuse[sd]?|decline[sd]?|fold(?:s|ed)?|pass(?:es|ed)?"
    r"|resign(?:s|ed)?|concedes?|conceded|forfeits?|wins?|won|loss?es|lost)(?![\w/])"
)
_START = re.compile(
    rf"(?P<dice>(?<![\d/])(?P<first>[0-6])[-,\s]?(?P<second>[0-6])\s?:){_WORD}", re.ASCII | re.IGNORECASE
)
_BARE = re.compile(
    r"(?P<dice>(?<![\d/(-])[(\[]?(?P<first>[1-6])[-,\s]?(?P<second>[1-6])[)\]]?(?=\s+(?:bar|\d{1,2})\s?[/-]))"
    rf"{_WORD}",
    re.ASCII | re.IGNORECASE,
)
"""Dice without a colon, as some transcribers write them: only before a play, and only where no colon stands."""
_PLAIN = str.maketrans(
    {
        **dict.fromkeys("\N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}\N{FIGURE SPACE}\N{IDEOGRAPHIC SPACE}", " "),
        **dict.fromkeys("\N{EN DASH}\N{EM DASH}\N{MINUS SIGN}\N{NON-BREAKING HYPHEN}\N{HYPHEN}", "-"),
        **dict.fromkeys("\N{FRACTION SLASH}\N{DIVISION SLASH}\N{FULLWIDTH SOLIDUS}", "/"),
        **dict.fromkeys("\N{RIGHT SINGLE QUOTATION MARK}\N{ACUTE ACCENT}", "'"),
        "\N{FULLWIDTH COLON}": ":",
        "\N{MULTIPLICATION SIGN}": "x",
    }
)
_CUBE = re.compile(r"(?:=>|to|:)?\s*(\d{1,9})", re.ASCII)
_POINTS = re.compile(r"\s*(?:game\b)?\s*(\d{1,6})", re.ASCII | re.IGNORECASE)
_WORDS = (
    ("beaver", Word.BEAVER),
    ("raccoon", Word.RACCOON),
    ("take", Word.TAKE),
    ("took", Word.TAKE),
    ("accept", Word.TAKE),
    ("drop", Word.DROP),
    ("reject", Word.DROP),
    ("refuse", Word.DROP),
    ("decline", Word.DROP),
    ("fold", Word.DROP),
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


def plain(text: str) -> str:
    """Without the spaces, dashes, slashes and quotes that word processors put in the place of plain ones."""
    return text.translate(_PLAIN)


def is_numbered(line: str) -> bool:
    """Whether a line begins with a move number."""
    return _NUMBER.match(line) is not None


def read_row(line: str, offered: bool) -> Row:
    """The cells of one line.

    Args:
        offered: an offer of the cube stands before it. A `Pass` is then an answer, else part of a play.
    """
    line = plain(line[:_MOST_LETTERS]).expandtabs(8)
    numbered = _NUMBER.match(line)
    begin = numbered.end() if numbered else 0
    starts = []
    found = list(_START.finditer(line, begin))
    if numbered and all(start["dice"] is None for start in found):
        found = list(_BARE.finditer(line, begin))
    for start in found:
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
            times=_times(text) if points is None else None,
            ends_match="match" in text.lower(),
        )
    value = _CUBE.match(text) if word in (Word.DOUBLE, Word.BEAVER, Word.RACCOON) else None
    return Cell(start.start(), word, text, number=int(value[1]) if value else None)


def _times(text: str) -> int | None:
    lower = text.lower()
    return 3 if "backgammon" in lower else 2 if "gammon" in lower else None


def _word(text: str) -> Word:
    lower = text.lower()
    return next((word for beginning, word in _WORDS if lower.startswith(beginning)), Word.DOUBLE)
