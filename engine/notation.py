"""Plays as text: `24/18 13/11*`, always in the numbering of the player who moves.

Why a search: a play is identified by its after-position, which does not say which checker went where. The text is
reconstructed from it, and a text that is read is played out step by step to find the after-positions that it can mean.

The mover's checkers after a play follow from the text alone. The opponent's don't: `24/17` with a 6-1 may pass by 18
or by 23, and a blot may stand on either. `format_play` therefore writes every point on which a checker is hit, with its
star (`24/18*/17`), and `parse_play` tells such plays apart by the stars.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from engine.board import BAR, OPPONENT_BAR, Board
from engine.errors import InputError
from engine.moves import legal_plays
from engine.rules import RuleSet

NO_PLAY = "no play"

_PASSES = frozenset({NO_PLAY, "pass", "cannot move", "can't move", "-", "dance", "dances"})
_OFF = 0
_HOME = 6
_MOST_STEPS = 4

_STOP = r"(?:bar|off|\d{1,2})\*?"
_PART = re.compile(rf"({_STOP}(?:[/-]{_STOP})+)(?:\((\d)\))?(\*?)", re.ASCII)
_SEPARATORS = re.compile(r"[\s,]+")
_SPACED_LINK = re.compile(r"\s*/\s*|\s+(?=[(*])")

_Counts = tuple[int, ...]  # a board as 26 plain integers, the mover's view
Segment = tuple[int, int]  # from a higher place to a lower one; 25 is the bar, 0 is off


@dataclass(frozen=True, slots=True)
class Spoken:
    """What a text says about a play: checkers to carry over segments, and the points on which it says that they hit."""

    segments: tuple[Segment, ...] = ()
    stars: frozenset[int] = frozenset()


def format_play(before: Board, after: Board, dice: tuple[int, int], rules: RuleSet) -> str:
    """Standard notation of the play that leads from `before` to `after` (both int8[26], the mover's view).

    Parts stand in order of their first point, the highest first; from the same point first what plays most dice, then
    the shorter way (`13/8 13/7`), as GNU Backgammon writes. A checker that plays several dice shows only where it
    starts, where it ends and where it hits in passing; `(2)` counts equal parts; `*` stands once for each hit.

    Raises:
        InputError: `after` is not reached by a legal play of `dice`.
    """
    plays = legal_plays(before, dice, rules)
    if not _contains(plays, after):
        raise InputError("after-position", after.tolist(), f"a position after a legal play of {_roll_text(dice)}")
    return _describe(_counts(before), _counts(after), dice)


def single_steps(before: Board, after: Board, dice: tuple[int, int]) -> tuple[tuple[int, int], ...]:
    """One way to reach `after` from `before` (both int8[26], the mover's view), one die at a time.

    Returns:
        (from, to) for every die played, the highest first; 25 is the bar, 0 is off.

    Raises:
        InputError: no steps of `dice` lead there.
    """
    for route in _routes(_counts(before), _counts(after), _dice_of(dice)):
        return route
    raise InputError("after-position", after.tolist(), f"a position after steps of {_roll_text(dice)}")


def parse_play(text: str, board: Board, dice: tuple[int, int], rules: RuleSet) -> Board:
    """The after-position (int8[26], the mover's view) of a play written by a person or a program.

    Parts may come in any order, separated by spaces or commas, with `/` or `-` between points, with or without stars
    and with or without the points passed on the way. A text with stars must hit on every point that it stars. Where
    a text can still mean several plays, those differ in hits only, and the choice is: the one that hits exactly where
    the stars are; else the one with the fewest hits; else the one that hits on the lowest points.

    Raises:
        InputError: the text is not notation, or no legal play fits it; names a legal play.
    """
    plays = legal_plays(board, dice, rules)
    before = _counts(board)
    words = " ".join(text.lower().split())
    if words in _PASSES:
        if not _contains(plays, board):
            raise _refusal(text, before, plays, dice)
        return board.copy()
    claim = read_parts(words, _MOST_STEPS)
    if claim is None:
        raise _refusal(text, before, plays, dice)
    legal = {_counts(play) for play in plays}
    found = [
        (hits != claim.stars, len(hits), sorted(hits), after)
        for after in _play_out(before, claim.segments, _dice_of(dice))
        if after in legal and claim.stars <= (hits := _hits(before, after))
    ]
    if not found:
        raise _refusal(text, before, plays, dice)
    return np.array(min(found)[-1], dtype=np.int8)


def read_parts(text: str, most_segments: int) -> Spoken | None:
    """The parts of a play as they stand, legal or not; None if they are no notation, or more than `most_segments`."""
    words = _SPACED_LINK.sub(lambda link: link.group().strip(), text.lower()).strip(" ,")
    segments: list[Segment] = []
    stars: set[int] = set()
    for word in _SEPARATORS.split(words):
        part = _PART.fullmatch(word)
        if part is None:
            return None
        stops = re.split("[/-]", part[1] + part[3])
        places = [_place(stop.rstrip("*")) for stop in stops]
        stars |= {place for place, stop in zip(places, stops, strict=True) if stop.endswith("*")}
        links = list(pairwise(places))
        if places[0] > BAR or any(start <= end for start, end in links):
            return None
        segments += links * (int(part[2]) if part[2] else 1)
        if len(segments) > most_segments:
            return None
    # A count of (0) leaves nothing to carry.
    return Spoken(tuple(segments), frozenset(stars)) if segments else None


def write_place(place: int) -> str:
    """A point as notation names it; 25 is the bar, 0 is off."""
    return {BAR: "bar", _OFF: "off"}.get(place, str(place))


def _refusal(text: str, before: _Counts, plays: NDArray[np.int8], dice: tuple[int, int]) -> InputError:
    """The error for a text that means no legal play; the example is one that is legal here."""
    first = _counts(plays[0])
    if first == before:
        return InputError("play", text, f"{NO_PLAY!r}, since no checker can move with {_roll_text(dice)}")
    return InputError("play", text, f"a legal play of {_roll_text(dice)}, such as {_describe(before, first, dice)}")


def _place(name: str) -> int:
    return {"bar": BAR, "off": _OFF}[name] if name.isalpha() else int(name)


def _play_out(board: _Counts, segments: tuple[Segment, ...], dice: tuple[int, ...]) -> set[_Counts]:
    """All boards reached by carrying checkers over exactly these segments, step by step, in any order of dice."""
    if not segments:
        return {board}
    reached: set[_Counts] = set()
    for die in set(dice):
        for start, end in set(segments):
            after = _step(board, start, die)
            landing = max(start - die, _OFF)
            if after is None or landing < end:
                continue
            left = list(segments)
            left.remove((start, end))
            if landing > end:
                left.append((landing, end))
            reached |= _play_out(after, tuple(left), _without(dice, die))
    return reached


def _describe(before: _Counts, after: _Counts, dice: tuple[int, int]) -> str:
    """Notation for a legal play; of several ways to see it, the one with the fewest parts."""
    if before == after:
        return NO_PLAY
    hits = _hits(before, after)
    texts = [_write(route, hits) for route in _routes(before, after, _dice_of(dice))]
    return min(texts, key=lambda text: (text.count(" "), len(text), text))


def _routes(board: _Counts, after: _Counts, dice: tuple[int, ...]) -> Iterator[tuple[Segment, ...]]:
    """Ways to reach `after` as single steps, from the highest point down.

    Checkers only go down, so the highest point on which the boards differ is one that a checker must leave, and any
    legal order of steps is also legal sorted that way: it enters first, and bears off after the rest has come home.
    """
    if board == after:
        yield ()
        return
    start = next((p for p in range(BAR, 0, -1) if max(board[p], 0) != max(after[p], 0)), 0)
    if board[start] <= max(after[start], 0):
        return
    for die in sorted(set(dice), reverse=True):
        stepped = _step(board, start, die)
        if stepped is not None:
            for rest in _routes(stepped, after, _without(dice, die)):
                yield ((start, max(start - die, _OFF)), *rest)


def _write(route: tuple[Segment, ...], hits: frozenset[int]) -> str:
    """Join the steps of a route into the paths of checkers and write them down."""
    paths: list[list[int]] = []
    for start, end in route:
        arrived = next((path for path in paths if path[-1] == start), None)
        if arrived is None:
            paths.append([start, end])
        else:
            arrived.append(end)
    counted = sorted(
        Counter(map(tuple, paths)).items(), key=lambda item: (item[0][0], len(item[0]), item[0][-1]), reverse=True
    )
    unmarked = set(hits)
    # A checker that stays where the opponent was hit takes the star, rather than one that passed by: shorter, and it
    # reads right under a ban on hitting and running.
    ends = {path[-1] for path, _ in counted}
    parts = []
    for path, number in counted:
        stops = [write_place(path[0])]
        for place in path[1:]:
            final = place == path[-1]
            if place in unmarked and (final or place not in ends):
                unmarked.remove(place)
                stops.append(f"{place}*")
            elif final:
                stops.append(write_place(place))
        parts.append("/".join(stops) + (f"({number})" if number > 1 else ""))
    return " ".join(parts)


def _step(board: _Counts, start: int, die: int) -> _Counts | None:
    """One die played by the checker on `start`, None where that is illegal in every rule set.

    What rule sets add is left to the set of legal plays, with which every result is compared.
    """
    if board[start] < 1 or (start != BAR and board[BAR] > 0):
        return None
    counts = list(board)
    counts[start] -= 1
    end = start - die
    if end > 0:
        if counts[end] < -1:
            return None
        if counts[end] == -1:
            counts[end] = 0
            counts[OPPONENT_BAR] -= 1
        counts[end] += 1
        return tuple(counts)
    # Bearing off: all at home, and a die larger than the point needs the points above it empty.
    must_be_empty = board[_HOME + 1 :] if end == 0 else board[start + 1 :]
    return None if any(count > 0 for count in must_be_empty) else tuple(counts)


def _hits(before: _Counts, after: _Counts) -> frozenset[int]:
    """The points on which the opponent was hit."""
    return frozenset(point for point in range(1, BAR) if before[point] == -1 and after[point] >= 0)


def _dice_of(dice: tuple[int, int]) -> tuple[int, ...]:
    """The dice that can be played: a double counts four times."""
    return dice * 2 if dice[0] == dice[1] else dice


def _without(dice: tuple[int, ...], die: int) -> tuple[int, ...]:
    where = dice.index(die)
    return dice[:where] + dice[where + 1 :]


def _roll_text(dice: tuple[int, int]) -> str:
    return f"{max(dice)}-{min(dice)}"


def _counts(board: NDArray[np.int8]) -> _Counts:
    return tuple(board.tolist())


def _contains(plays: NDArray[np.int8], board: Board) -> bool:
    return bool((plays == board).all(axis=1).any())
