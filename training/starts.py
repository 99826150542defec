"""Where training games start: kinds of positions that games from the opening rarely reach, each drawn from a seed.

A generator places checkers at random within the pattern that gives the kind its name, so no two games start alike. The
patterns are crude on purpose: `settle` half-moves of self-play come before the first sample, and turn what was placed
into something that could have been played.

All boards are int8[26] in the view of the player who is to roll; which side of the pattern he has is drawn too.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from engine.board import BAR, CHECKERS, Board, flip, make_board, pips
from engine.errors import InternalError
from engine.rules import RuleSet

_STREAM = 6
_TRIES = 1000


class StartKind(enum.Enum):
    """What a game starts from; the value is its name in recipes. The order numbers them in shards."""

    OPENING = "opening"
    RANDOM = "random"
    BACK_GAME = "back_game"
    CONTAINMENT = "containment"
    PRIMES = "primes"
    BEAR_IN = "bear_in"
    RACE = "race"


FEW_CHECKERS = frozenset({StartKind.OPENING, StartKind.RANDOM, StartKind.RACE})
"""The kinds that make sense with fewer than fifteen checkers a side."""


@dataclass(frozen=True, slots=True)
class Start:
    """Where one game starts."""

    kind: StartKind
    board: Board
    """View of the player who rolls first."""


class _Placing:
    """A board being filled; both sides count points in their own numbering, 25 is the bar."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.counts = [0] * 26

    def put(self, side: int, point: int, number: int = 1) -> None:
        """Checkers of a side (1: the player, -1: his opponent) on a point that is free or his."""
        self.counts[point if side > 0 else 25 - point] += side * number

    def free(self, side: int, point: int) -> bool:
        """Whether a side may stand there."""
        return side * self.counts[point if side > 0 else 25 - point] >= 0

    def scatter(self, side: int, number: int, points: Iterable[int]) -> None:
        """Spread checkers over points that are not the other side's: half of them join a point of their own."""
        allowed = [point for point in points if self.free(side, point)]
        mine: list[int] = []
        for _ in range(number):
            if mine and self.rng.random() < 0.5:
                point = mine[self.rng.integers(len(mine))]
            else:
                point = allowed[self.rng.integers(len(allowed))]
            mine.append(point)
            self.put(side, point)

    def board(self) -> Board:
        """Checked."""
        return make_board(self.counts)


def random_position(rng: np.random.Generator, checkers: int = CHECKERS) -> Board:
    """Any legal position: both sides spread over all points, now and then some on the bar or borne off."""
    placing = _Placing(rng)
    for side in (1, -1):
        number = checkers if rng.random() < 0.7 else int(rng.integers(1, checkers + 1))
        on_bar = min(int(rng.integers(1, 3)), number) if rng.random() < 0.15 else 0
        if on_bar:
            placing.put(side, BAR, on_bar)
        placing.scatter(side, number - on_bar, range(1, 25))
    return placing.board()


def back_game(rng: np.random.Generator) -> Board:
    """The player holds two or three anchors in the opponent's home and is far behind in the race; his other checkers
    wait in his home and outer board, the opponent brings his home round them.
    """
    placing = _Placing(rng)
    anchors = rng.choice(np.arange(19, 25), size=3 if rng.random() < 0.2 else 2, replace=False)
    left = CHECKERS
    for anchor in anchors.tolist():
        number = 3 if rng.random() < 0.3 else 2
        placing.put(1, anchor, number)
        left -= number
    placing.scatter(1, left, range(3, 13))
    placing.scatter(-1, CHECKERS, range(2, 13))
    return placing.board()


def containment(rng: np.random.Generator) -> Board:
    """The opponent has borne off several checkers, but one or two of those left are on the bar or in the player's home
    and must get past the player's points; the player has three to six points in his home and the others around it.
    """
    placing = _Placing(rng)
    off = int(rng.integers(3, 13))
    caught = 2 if off < 12 and rng.random() < 0.3 else 1
    home = rng.choice(np.arange(1, 7), size=int(rng.integers(3, 7)), replace=False).tolist()
    for point in home:
        placing.put(1, point, 2)
    for _ in range(caught):
        open_points = [25 - point for point in range(1, 7) if placing.free(-1, 25 - point)]
        placing.put(-1, BAR if not open_points or rng.random() < 0.5 else open_points[rng.integers(len(open_points))])
    placing.scatter(-1, CHECKERS - off - caught, range(1, 7))
    placing.scatter(1, CHECKERS - 2 * len(home), range(4, 19))
    return placing.board()


def primes(rng: np.random.Generator) -> Board:
    """Both sides hold a prime of four or five points with one to three opposing checkers behind it."""
    placing = _Placing(rng)
    left = {1: CHECKERS, -1: CHECKERS}
    behind: dict[int, int] = {}
    for side in (1, -1):
        length = int(rng.integers(4, 6))
        first = int(rng.integers(2, 13 - length))
        for point in range(first, first + length):
            placing.put(side, point, 2)
        left[side] -= 2 * length
        behind[-side] = first - 1  # in the numbering of the prime's owner: points 1 .. first - 1, and the bar
    for side in (1, -1):
        trapped = int(rng.integers(1, 4))
        left[side] -= trapped
        for _ in range(trapped):
            place = int(rng.integers(0, behind[side] + 1))
            placing.put(side, 25 - place)
    for side in (1, -1):
        placing.scatter(side, left[side], range(1, 15))
    return placing.board()


def bear_in(rng: np.random.Generator) -> Board:
    """The player brings his last checkers home or bears off while two to four opposing checkers hold a point of his
    home, or wait on the bar.
    """
    placing = _Placing(rng)
    anchor = int(rng.integers(1, 7))
    held = int(rng.integers(2, 5))
    if rng.random() < 0.2:
        placing.put(-1, BAR, int(rng.integers(1, 3)))
        held = 2
    placing.put(-1, 25 - anchor, held)
    waiting = sum(-count for count in placing.counts if count < 0)
    off = int(rng.integers(0, 9)) if rng.random() < 0.5 else 0
    outside = int(rng.integers(0, 5)) if off == 0 else 0
    placing.scatter(1, outside, range(7, 13))
    placing.scatter(1, CHECKERS - off - outside, range(1, 7))
    placing.scatter(-1, CHECKERS - waiting, range(1, 13))
    return placing.board()


def race(rng: np.random.Generator, checkers: int = CHECKERS) -> Board:
    """No contact: both sides have their checkers on points 1 to 12, or all at home with some borne off."""
    placing = _Placing(rng)
    for side in (1, -1):
        if rng.random() < 0.5:
            placing.scatter(side, checkers, range(1, 13))
        else:
            placing.scatter(side, int(rng.integers(1, checkers + 1)), range(1, 7))
    return placing.board()


_PATTERNS: dict[StartKind, Callable[[np.random.Generator], Board]] = {
    StartKind.BACK_GAME: back_game,
    StartKind.CONTAINMENT: containment,
    StartKind.PRIMES: primes,
    StartKind.BEAR_IN: bear_in,
}


def _draw(kind: StartKind, rng: np.random.Generator, checkers: int) -> Board:
    if kind is StartKind.RANDOM:
        return random_position(rng, checkers)
    if kind is StartKind.RACE:
        return race(rng, checkers)
    return _PATTERNS[kind](rng)


def _playable(kind: StartKind, board: Board) -> bool:
    """Whether the pattern came out as meant: a back game is behind, and somebody can move some day."""
    if kind is StartKind.BACK_GAME:
        own, other = pips(board)
        return own >= other + 30
    locked = board[BAR] > 0 and (board[19:25] < -1).all()
    return not (locked and board[0] < 0 and (board[1:7] > 1).all())


def make_start(kind: StartKind, rng: np.random.Generator, checkers: int = CHECKERS) -> Board:
    """A position of a kind (not the opening), the player to roll having either side of it."""
    for _ in range(_TRIES):
        board = _draw(kind, rng, checkers)
        if _playable(kind, board):
            return flip(board) if rng.random() < 0.5 else board
    raise InternalError(f"no start of kind {kind.value} was found")


@dataclass(frozen=True)
class StartMix:
    """How often games start from each kind: parts of one."""

    parts: Mapping[StartKind, float]

    def start(self, rules: RuleSet, seed: int, game: int) -> Start:
        """The start of a game, a function of the seed and its number."""
        if self.parts.get(StartKind.OPENING) == 1.0:
            return Start(StartKind.OPENING, rules.start.board)
        rng = np.random.Generator(np.random.PCG64([seed, _STREAM, game]))
        kinds = list(self.parts)
        at = np.searchsorted(np.cumsum([self.parts[kind] for kind in kinds]), rng.random(), side="right")
        kind = kinds[min(int(at), len(kinds) - 1)]
        if kind is StartKind.OPENING:
            return Start(kind, rules.start.board)
        return Start(kind, make_start(kind, rng, rules.start.checkers))
