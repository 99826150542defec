"""A position as shapes on a plane, to be written as SVG or painted in another way.

The mover sits at the bottom and bears off to the right; points are numbered for him. Checkers have the colors of the
seats (X light, O dark), so that they stay the same through a game. The unit is a tenth of a checker's diameter, y goes
down.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Iterator
from dataclasses import dataclass

from engine import board as boards
from engine.board import BAR, CHECKERS, OPPONENT_BAR, Board
from engine.match import CubeOwner
from engine.notation import NO_PLAY, format_play
from engine.position import Offer, Player, Position

OFF = 0

CHECKER = 10.0
_RADIUS = CHECKER / 2
_COLUMN = 11.0
_MARGIN = 13.0  # left, for the cube
_FRAME = 7.0  # above and below, for the numbers of points
_BAR_WIDTH = 13.0
_TRAY = 14.0
_HEIGHT = 124.0  # inner, from edge to edge
_POINT_HEIGHT = 52.0
_STACK = 5
_HEAD = 4.5

LEFT = _MARGIN
_HALF = 6 * _COLUMN
BAR_X = LEFT + _HALF
RIGHT_HALF = BAR_X + _BAR_WIDTH
TRAY_X = RIGHT_HALF + _HALF + 1.0
WIDTH = TRAY_X + _TRAY + 1.0
TOP = _FRAME
BOTTOM = TOP + _HEIGHT
HEIGHT = BOTTOM + _FRAME
MIDDLE = (TOP + BOTTOM) / 2


class Paint(enum.Enum):
    """What a shape shows, which decides its color."""

    BOARD = "board"
    FRAME = "frame"
    LIGHT_POINT = "point-a"
    DARK_POINT = "point-b"
    X = "x"
    O = "o"  # noqa: E741 - what the seat is called
    ON_X = "on-x"
    """Writing on a light checker."""
    ON_O = "on-o"
    LABEL = "label"
    CUBE = "cube"
    ON_CUBE = "on-cube"
    ARROW = "arrow"


@dataclass(frozen=True, slots=True)
class Rectangle:
    """`x`, `y`: its top left corner."""

    x: float
    y: float
    width: float
    height: float
    paint: Paint
    rounding: float = 0.0


@dataclass(frozen=True, slots=True)
class Polygon:
    """Corners in order."""

    corners: tuple[tuple[float, float], ...]
    paint: Paint


@dataclass(frozen=True, slots=True)
class Disc:
    """A checker or the spot of a die."""

    x: float
    y: float
    radius: float
    paint: Paint


@dataclass(frozen=True, slots=True)
class Writing:
    """Text centred on a point."""

    x: float
    y: float
    text: str
    size: float
    paint: Paint


@dataclass(frozen=True, slots=True)
class Line:
    """A thick line with round ends."""

    start: tuple[float, float]
    end: tuple[float, float]
    width: float
    paint: Paint


Shape = Rectangle | Polygon | Disc | Writing | Line


@dataclass(frozen=True, slots=True)
class Arrow:
    """One checker's way in a play, from a place to a lower one in the mover's numbering; 25 is the bar, 0 is off."""

    start: int
    end: int


def play_arrows(position: Position, after: Board) -> tuple[Arrow, ...]:
    """The arrows of a play of a position with dice; `after` int8[26] in the mover's view.

    Raises:
        InputError: no dice, or no legal play leads to `after`.
    """
    text = format_play(position.board, after, position.dice or (0, 0), position.match.rules)
    named = {"bar": BAR, "off": OFF}
    found: list[Arrow] = []
    for part in () if text == NO_PLAY else text.replace("*", "").split():
        way, _, times = part.partition("(")
        stops = [named[stop] if stop in named else int(stop) for stop in way.split("/")]
        found += [Arrow(stops[0], stops[-1])] * (int(times[:-1]) if times else 1)
    return tuple(found)


def draw(position: Position, arrows: tuple[Arrow, ...] = ()) -> Iterator[Shape]:
    """All shapes of a position, those behind first."""
    yield from _empty_board()
    mover, opponent = (_Colors.of(player) for player in (position.on_roll, position.on_roll.other))
    for place in range(boards.PLACES):
        count = int(position.board[place])
        if count:
            yield from _stack(place, abs(count), mover if count > 0 else opponent)
    own_off, other_off = boards.borne_off(position.board)
    yield from _tray(own_off, mover, at_bottom=True)
    yield from _tray(other_off, opponent, at_bottom=False)
    own_pips, other_pips = position.pips
    yield Writing(BAR_X + _BAR_WIDTH / 2, BOTTOM + _FRAME / 2, str(own_pips), 5.0, Paint.LABEL)
    yield Writing(BAR_X + _BAR_WIDTH / 2, TOP - _FRAME / 2, str(other_pips), 5.0, Paint.LABEL)
    yield from _cube(position)
    if position.dice is not None:
        for number, die in enumerate(position.dice):
            yield from _die(RIGHT_HALF + _HALF / 2 - 12.0 + 13.0 * number, die, mover)
    yield from _arrows(position, arrows)


@dataclass(frozen=True, slots=True)
class _Colors:
    checker: Paint
    writing: Paint

    @staticmethod
    def of(player: Player) -> _Colors:
        return _Colors(Paint.X, Paint.ON_X) if player is Player.X else _Colors(Paint.O, Paint.ON_O)


def _empty_board() -> Iterator[Shape]:
    yield Rectangle(LEFT - 1.0, 0.0, WIDTH - LEFT + 1.0, HEIGHT, Paint.FRAME, 2.0)
    for x in (LEFT, RIGHT_HALF):
        yield Rectangle(x, TOP, _HALF, _HEIGHT, Paint.BOARD)
    for y in (TOP, BOTTOM - _POINT_HEIGHT):
        yield Rectangle(TRAY_X, y, _TRAY - 1.0, _POINT_HEIGHT, Paint.BOARD, 1.0)
    for point in range(1, 25):
        x, at_bottom = _column(point)
        base, tip = (BOTTOM, BOTTOM - _POINT_HEIGHT) if at_bottom else (TOP, TOP + _POINT_HEIGHT)
        corners = ((x - _COLUMN / 2, base), (x, tip), (x + _COLUMN / 2, base))
        yield Polygon(corners, Paint.LIGHT_POINT if point % 2 else Paint.DARK_POINT)
        label_y = BOTTOM + _FRAME / 2 if at_bottom else TOP - _FRAME / 2
        yield Writing(x, label_y, str(point), 4.4, Paint.LABEL)


def _column(point: int) -> tuple[float, bool]:
    """Middle of a point, and whether it is in the lower half."""
    at_bottom = point <= 12
    from_left = 12 - point if at_bottom else point - 13
    x = LEFT + (from_left + 0.5) * _COLUMN + (_BAR_WIDTH if from_left >= 6 else 0.0)
    return x, at_bottom


def _checker_at(place: int, height: int) -> tuple[float, float]:
    """Middle of the checker that lies at a height (0 = the first) on a place."""
    step = min(height, _STACK - 1) * CHECKER
    if place in (BAR, OPPONENT_BAR):
        # Each side's checkers stand in the half of the board in which they must enter.
        towards = -1 if place == BAR else 1
        return BAR_X + _BAR_WIDTH / 2, MIDDLE + towards * (_RADIUS + 2.0 + step)
    x, at_bottom = _column(place)
    return x, BOTTOM - _RADIUS - step if at_bottom else TOP + _RADIUS + step


def _stack(place: int, count: int, colors: _Colors) -> Iterator[Shape]:
    for height in range(min(count, _STACK)):
        yield Disc(*_checker_at(place, height), _RADIUS - 0.25, colors.checker)
    if count > _STACK:
        yield Writing(*_checker_at(place, _STACK - 1), str(count), 5.6, colors.writing)


def _tray(off: int, colors: _Colors, *, at_bottom: bool) -> Iterator[Shape]:
    thickness = _POINT_HEIGHT / CHECKERS
    for number in range(off):
        y = BOTTOM - (number + 1) * thickness if at_bottom else TOP + number * thickness
        yield Rectangle(TRAY_X + 0.8, y + 0.3, _TRAY - 2.6, thickness - 0.6, colors.checker, 0.6)
    if off:
        y = BOTTOM - _POINT_HEIGHT - 4.0 if at_bottom else TOP + _POINT_HEIGHT + 4.0
        yield Writing(TRAY_X + (_TRAY - 1.0) / 2, y, str(off), 5.0, Paint.LABEL)


def _cube(position: Position) -> Iterator[Shape]:
    match = position.match
    if not match.cube_in_play:
        return
    value, side = match.cube_value, 11.0
    owner = match.cube_owner
    x, y = 0.5, {CubeOwner.CENTRED: MIDDLE, CubeOwner.MOVER: BOTTOM - 7.0, CubeOwner.OPPONENT: TOP + 7.0}[owner]
    if position.offer is not Offer.NONE:
        # An offered cube lies on the board, showing what it would be.
        value *= position.offer.factor
        x, y = LEFT + _HALF / 2 - side / 2, MIDDLE
    elif value == 1:
        value = 64
    text = str(value)
    yield Rectangle(x, y - side / 2, side, side, Paint.CUBE, 1.6)
    yield Writing(x + side / 2, y, text, 6.0 if len(text) < 3 else 10.0 / len(text) + 1.2, Paint.ON_CUBE)


_SPOTS: dict[int, tuple[tuple[int, int], ...]] = {
    1: ((0, 0),),
    2: ((-1, -1), (1, 1)),
    3: ((-1, -1), (0, 0), (1, 1)),
    4: ((-1, -1), (-1, 1), (1, -1), (1, 1)),
    5: ((-1, -1), (-1, 1), (0, 0), (1, -1), (1, 1)),
    6: ((-1, -1), (-1, 0), (-1, 1), (1, -1), (1, 0), (1, 1)),
}


def _die(x: float, number: int, colors: _Colors) -> Iterator[Shape]:
    side = 10.0
    yield Rectangle(x, MIDDLE - side / 2, side, side, colors.checker, 1.8)
    for across, down in _SPOTS[number]:
        yield Disc(x + side / 2 + across * 2.7, MIDDLE + down * 2.7, 1.0, colors.writing)


def _arrows(position: Position, arrows: tuple[Arrow, ...]) -> Iterator[Shape]:
    """Each from the checker that is on top when its turn comes to where it lands."""
    own = [max(int(count), 0) for count in position.board]
    for arrow in arrows:
        start = _checker_at(arrow.start, max(own[arrow.start] - 1, 0))
        if arrow.end == OFF:
            end = (TRAY_X + (_TRAY - 1.0) / 2, BOTTOM - _POINT_HEIGHT / 2)
        else:
            end = _checker_at(arrow.end, own[arrow.end])
            own[arrow.end] += 1
        own[arrow.start] -= 1
        yield from _arrow(start, end)


def _arrow(start: tuple[float, float], end: tuple[float, float]) -> Iterator[Shape]:
    """A line that ends in a head."""
    (x1, y1), (x2, y2) = start, end
    length = math.hypot(x2 - x1, y2 - y1)
    ux, uy = (x2 - x1) / length, (y2 - y1) / length
    neck = (x2 - ux * _HEAD, y2 - uy * _HEAD)
    yield Line(start, neck, 1.6, Paint.ARROW)
    wing = _HEAD * 0.55
    corners = (end, (neck[0] - uy * wing, neck[1] + ux * wing), (neck[0] + uy * wing, neck[1] - ux * wing))
    yield Polygon(corners, Paint.ARROW)
