"""Plays as records write them: from the words of a source, or from two boards, to a board and standard notation.

Programs write one play in many ways: `24/18 18/13`, `24/13`, `bar/20*`, `25/20`, `6/0`, `6/Off`, `8/5(2)`, with or
without stars, `Bar/24 Pass`. A play is legal if some legal play of the roll fits the words. One that isn't is carried
out as it stands, so that the record can be followed further, unless a checker would have to come from an empty point
or to land on a point that the opponent holds.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

import numpy as np

from engine.board import BAR, OPPONENT_BAR, Board
from engine.errors import InputError
from engine.moves import legal_plays
from engine.notation import NO_PLAY, Segment, Spoken, format_play, parse_play, read_parts, write_place
from engine.rules import RuleSet

_OFF = 0
_MOST_SEGMENTS = 16
_NO_MOVE = r"can(?:not|'t|no|\s+not)\s+move|no\s+(?:legal\s+|valid\s+)?(?:moves?|plays?)(?:\s+(?:possible|available))?"
_NOTHING = re.compile(
    rf"(?:{_NO_MOVE}|danc\w*|fan(?:s|ned)?|skip\w*|pass(?:es)?|forfeits?|none|blocked|x+|-+)?", re.IGNORECASE
)
_FILLER = re.compile(rf"\b(?:pass|{_NO_MOVE})(?=\W|$)", re.IGNORECASE)
_REMARK = re.compile(r"\[[^\]]*\]|\{[^}]*\}|\((?!\d\))[^)]*\)|[?!]+")
"""What some write beside a play: times, losses, marks of errors; a count such as `(2)` is none."""
_ILLEGAL = re.compile(r"illegal\s+(?:play|move)\s*:?\s*\(?([^()]*(?:\(\d\)[^()]*)*)\)?", re.IGNORECASE)
_TIMES = re.compile(r"\s?\bx\s?([2-4])\b|(?<=\d)x([2-4])\b", re.IGNORECASE)
_HIT = re.compile(r"(?<=\d)x(?=[\s/-]|$)", re.IGNORECASE)
_SHORT_BAR = re.compile(r"\bb(?=[/-])", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Resolved:
    """A play that can be followed."""

    after: Board
    """int8[26], the mover's view; may hold no checker of the mover."""
    play: str
    """Standard notation if legal; else the segments as they were recorded, from the highest point down."""
    legal: bool


def read_spoken(text: str) -> Spoken | None:
    """What the words of a source say; None if they are no notation."""
    words = " ".join(text.replace(",", " ").split())
    illegal = _ILLEGAL.fullmatch(words)
    words = " ".join(_REMARK.sub(" ", illegal[1] if illegal else words).split())
    if _NOTHING.fullmatch(words):
        return Spoken()
    words = _SHORT_BAR.sub("bar", _HIT.sub("*", _TIMES.sub(_times, _FILLER.sub(" ", words))))
    return read_parts(" ".join(words.split()), _MOST_SEGMENTS)


def _times(found: re.Match[str]) -> str:
    return f"({found[1] or found[2]})"


def words_of(spoken: Spoken) -> str:
    """Segments as they stand, one by one; empty if there are none."""
    return " ".join(f"{write_place(start)}/{write_place(end)}" for start, end in spoken.segments)


def resolve(board: Board, dice: tuple[int, int] | None, spoken: Spoken, rules: RuleSet) -> Resolved | None:
    """The play that is meant, legal or not; None if it can't be carried out.

    Args:
        board: int8[26], the mover's view.
        dice: None where the record doesn't say: then no play is legal.
    """
    legal = None if dice is None else _legal(board, dice, spoken, rules)
    if legal is not None and dice is not None:
        return Resolved(legal, format_play(board, legal, dice, rules), True)
    ordered = tuple(sorted(spoken.segments, reverse=True))
    carried = _carry(board, ordered)
    if carried is None:
        return None
    after, hits = carried
    return Resolved(after, _write(ordered, hits), False)


def resolve_board(board: Board, dice: tuple[int, int] | None, after: Board, rules: RuleSet) -> Resolved | None:
    """The play between two boards (int8[26], both in the mover's view); None if checkers alone can't lead there."""
    if dice is not None and bool((legal_plays(board, dice, rules) == after).all(axis=1).any()):
        return Resolved(after, format_play(board, after, dice, rules), True)
    left: list[int] = []
    arrived: list[int] = []
    for place in range(BAR, 0, -1):
        change = max(int(after[place]), 0) - max(int(board[place]), 0)
        left += [place] * max(-change, 0)
        arrived += [place] * max(change, 0)
    arrived += [_OFF] * (len(left) - len(arrived))
    if len(left) != len(arrived) or any(start <= end for start, end in zip(left, arrived, strict=True)):
        return None
    found = resolve(board, None, Spoken(tuple(zip(left, arrived, strict=True))), rules)
    return found if found is not None and bool((found.after == after).all()) else None


def replayed(board: Board, dice: tuple[int, int] | None, play: str, legal: bool, rules: RuleSet) -> Board | None:
    """The board (int8[26], the mover's view) after a play of a record; None if it can't be carried out."""
    if legal and dice is not None:
        return parse_play(play, board, dice, rules)
    spoken = read_spoken(play)
    carried = None if spoken is None else _carry(board, spoken.segments)
    return None if carried is None else carried[0]


def _legal(board: Board, dice: tuple[int, int], spoken: Spoken, rules: RuleSet) -> Board | None:
    plays = legal_plays(board, dice, rules)
    if not spoken.segments:
        return board.copy() if bool((plays == board).all(axis=1).any()) else None
    carried = _carry(board, tuple(sorted(spoken.segments, reverse=True)))
    arrives = carried is not None and bool((plays == carried[0]).all(axis=1).any())
    if carried is not None and arrives and not spoken.stars:
        return carried[0]  # sources without stars name every step, or a way on which nothing is hit
    text = _write(spoken.segments, set(spoken.stars))
    plain = _write(spoken.segments, set())
    for words in dict.fromkeys((text, plain)):
        try:
            return parse_play(words, board, dice, rules)
        except InputError:
            continue
    # A play is its after-position, whatever steps the record names.
    return carried[0] if carried is not None and arrives else None


def _carry(board: Board, segments: tuple[Segment, ...]) -> tuple[Board, set[int]] | None:
    """The board after carrying checkers over segments one by one, and where they hit; None if that can't be done."""
    counts = [int(count) for count in board]
    hits: set[int] = set()
    for start, end in segments:
        if counts[start] < 1 or (end != _OFF and counts[end] < -1):
            return None
        counts[start] -= 1
        if end == _OFF:
            continue
        if counts[end] == -1:
            counts[end] = 0
            counts[OPPONENT_BAR] -= 1
            hits.add(end)
        counts[end] += 1
    return np.array(counts, dtype=np.int8), hits


def _write(segments: tuple[Segment, ...], hits: set[int]) -> str:
    """Notation for segments as they stand; the first checker to reach a point takes its star."""
    if not segments:
        return NO_PLAY
    unmarked = set(hits)
    parts = []
    for (start, end), number in Counter(segments).items():
        star = "*" if end in unmarked else ""
        unmarked.discard(end)
        parts.append(f"{write_place(start)}/{write_place(end)}{star}" + (f"({number})" if number > 1 else ""))
    return " ".join(parts)
