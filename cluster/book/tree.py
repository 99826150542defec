"""The tree of a book: which rolls in which positions it looks at, and in which order.

A spot's **reach** says how likely it is among players who play well: the chances of the rolls on the way, times
exp(-loss / 0.02) for each play that loses something. Within a depth the greatest reach comes first, so what is most
likely and closest is there before a budget ends. A position that several lines lead to is one spot; their reaches add
up.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import replace

from cluster.book.entry import Entry, Spot
from cluster.book.stakes import Stakes
from engine.board import Board, flip
from engine.errors import InputError
from engine.game_chances import opening_rolls
from engine.gnuid import format_position_id
from engine.notation import NO_PLAY, parse_play
from engine.rules import RuleSet

TEMPERATURE = 0.02
"""Equity: a play that loses so much counts as 1/e of one that loses nothing."""

ROLLS: tuple[tuple[int, int], ...] = tuple((high, low) for high in range(1, 7) for low in range(1, high + 1))
"""All 21, the higher die first."""

_ROLL = re.compile(r"([1-6])-?([1-6])")


def openings(stakes: Stakes) -> list[Spot]:
    """The rolls that a game can begin with."""
    start = format_position_id(stakes.rules.start.board)
    return [
        Spot(start, roll, 1, f"{roll[0]}{roll[1]}", chance, stakes.first)
        for roll, chance in opening_rolls(stakes.rules)
    ]


def replies(entries: Iterable[Entry], follow: float) -> list[Spot]:
    """All rolls after the plays that lose at most `follow` in these entries; greatest reach first."""
    found: dict[str, Spot] = {}
    for entry in entries:
        for play in entry.plays:
            if -play.difference > follow:
                continue
            reach = entry.spot.reach * math.exp(play.difference / TEMPERATURE)
            for dice in ROLLS:
                chance = (1 if dice[0] == dice[1] else 2) / 36
                path = f"{entry.spot.path} {play.play} {dice[0]}{dice[1]}"
                spot = Spot(play.after, dice, entry.spot.depth + 1, path, reach * chance, entry.spot.seat.other)
                other = found.get(spot.id)
                if other is not None:
                    likelier = max(spot, other, key=lambda one: (one.reach, one.path))
                    spot = replace(likelier, reach=spot.reach + other.reach)
                found[spot.id] = spot
    return in_order(found.values())


def in_order(spots: Iterable[Spot]) -> list[Spot]:
    """Greatest reach first; ties in the order of their paths."""
    return sorted(spots, key=lambda spot: (-spot.reach, spot.path))


def parse_roll(text: str) -> tuple[int, int]:
    """A roll as people write it, `31`, `13` or `3-1`; the higher die first.

    Raises:
        InputError: it is none.
    """
    match = _ROLL.fullmatch(text.strip())
    if match is None:
        raise InputError("roll", text, "two dice as in 31")
    first, second = int(match[1]), int(match[2])
    return max(first, second), min(first, second)


def parse_line(text: str) -> list[tuple[tuple[int, int] | None, str | None]]:
    """A line as `31 8/5 6/5 64`: pairs of a roll (None where it is left out) and a play (None after the last roll).

    Raises:
        InputError: a roll that follows a roll.
    """
    steps: list[tuple[tuple[int, int] | None, str | None]] = []
    roll: tuple[int, int] | None = None
    play: list[str] = []
    for word in text.replace(NO_PLAY, NO_PLAY.replace(" ", "_")).split():
        if _ROLL.fullmatch(word) is None:
            play.append(word.replace("_", " "))
            continue
        if play:
            steps.append((roll, " ".join(play)))
        elif roll is not None:
            raise InputError("line", text, "a play between two rolls, as in 31 8/5 6/5 64")
        roll, play = parse_roll(word), []
    if play or roll is not None:
        steps.append((roll, " ".join(play) or None))
    return steps


def played(board: Board, roll: tuple[int, int] | None, play: str, rules: RuleSet, first: bool = False) -> Board:
    """The opponent's position (int8[26], his view) after a play; without a roll, any one by which it can be made.

    Args:
        first: whether this is the first play of a game, whose rolls the rules name.

    Raises:
        InputError: no such play, or several positions that it could lead to.
    """
    if roll is not None:
        return flip(parse_play(play, board, roll, rules))
    reached: dict[bytes, Board] = {}
    for dice in [roll for roll, _ in opening_rolls(rules)] if first else ROLLS:
        try:
            after = parse_play(play, board, dice, rules)
        except InputError:
            continue
        reached[after.tobytes()] = after
    if len(reached) != 1:
        problem = "a play that some roll allows" if not reached else "its roll before it, as in 31 8/5 6/5"
        raise InputError("play", play, problem)
    return flip(next(iter(reached.values())))
