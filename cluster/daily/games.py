"""Where problems come from: the key of a date, and the games that its dice make.

Which position it is depends on the date, the kind, the rule set, the nets and the versions of rollouts and of the
policy, and on nothing else.
"""

from __future__ import annotations

import calendar
import datetime
import hashlib
import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

import numpy as np

from cluster.daily.schemas import ProblemKind
from engine.board import Board, flip
from engine.errors import InputError
from engine.evaluator import Evaluator
from engine.rollout import RESULT_VERSION
from engine.rules import RuleSet
from engine.search import rank_plays

POLICY = 2
"""Version: raised whenever the same date would get another position."""
FIRST_HALF_MOVE, HALF_MOVES = 3, 30
"""Where in a game problems come from: the openings are for books, the late endings for tables."""


@dataclass(frozen=True, slots=True)
class DailyQuestion:
    """Which problem is asked for."""

    date: datetime.date
    kind: ProblemKind
    rules: RuleSet
    net: str
    """Digest of both nets."""

    @property
    def version(self) -> str:
        """What besides date, kind and rules decides which position comes."""
        return f"{POLICY}.{RESULT_VERSION}.{self.net}"

    @property
    def key(self) -> str:
        """What its dice are drawn from."""
        text = f"{self.date.isoformat()} {self.kind.value} {self.rules.name} {self.version}"
        return hashlib.sha256(text.encode()).hexdigest()


def days(text: str) -> list[datetime.date]:
    """A date `2026-12-24`, or all dates of a month `2026-12`.

    Raises:
        InputError: neither.
    """
    try:
        if len(text) == len("2026-12"):
            first = datetime.date.fromisoformat(f"{text}-01")
            last = calendar.monthrange(first.year, first.month)[1]
            return [first.replace(day=day) for day in range(1, last + 1)]
        return [datetime.date.fromisoformat(text)]
    except ValueError as error:
        raise InputError("date", text, "a date as 2026-12-24, or a month as 2026-12") from error


def positions(key: str, evaluator: Evaluator, rules: RuleSet) -> Iterator[tuple[Board, tuple[int, int]]]:
    """Positions with dice, one of each game that a net plays against itself at 1-ply; without end."""
    for game in count():
        # Seeded by text: the stream of `random()` is then the same in every version of Python.
        chance = random.Random(f"{key}:{game}")
        length = FIRST_HALF_MOVE + int(chance.random() * HALF_MOVES)
        board: Board | None = rules.start.board
        for _ in range(length):
            if board is None:
                break
            board = _played_on(board, _dice(chance), evaluator, rules)
        if board is not None:
            yield board, _dice(chance)


def _dice(chance: random.Random) -> tuple[int, int]:
    first, second = (1 + int(6 * chance.random()) for _ in range(2))
    return max(first, second), min(first, second)


def _played_on(board: Board, dice: tuple[int, int], evaluator: Evaluator, rules: RuleSet) -> Board | None:
    """The opponent's position after the best play at 1-ply; None where it ended the game."""
    after = rank_plays(evaluator, board, dice, rules)[0].after
    return flip(after) if np.maximum(after, 0).any() else None
