"""A position as PNG, for where SVG can't go. The same shapes, painted with matplotlib."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from engine.board_drawing import (
    HEIGHT,
    WIDTH,
    Arrow,
    Disc,
    Line,
    Paint,
    Polygon,
    Rectangle,
    Shape,
    Writing,
    draw,
)
from engine.board_svg import DARK, EDGE, LIGHT
from engine.errors import InputError
from engine.position import Position

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_DOTS_PER_INCH = 100
_POINTS_PER_INCH = 72
_EDGED = (Paint.X, Paint.O, Paint.CUBE)
_NARROWEST, _WIDEST = 100, 10_000


def board_png(position: Position, arrows: tuple[Arrow, ...] = (), width: int = 900, dark: bool = False) -> bytes:
    """The picture that `engine.board_svg.board_svg` writes.

    Args:
        width: in pixels, 100 to 10,000.

    Raises:
        InputError: a width outside these limits.
    """
    from matplotlib.figure import Figure

    if not _NARROWEST <= width <= _WIDEST:
        raise InputError("width", width, f"{_NARROWEST} to {_WIDEST} pixels")
    inches = width / _DOTS_PER_INCH
    figure = Figure(figsize=(inches, inches * HEIGHT / WIDTH), dpi=_DOTS_PER_INCH)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set_axis_off()
    axes.set(xlim=(0.0, WIDTH), ylim=(HEIGHT, 0.0))
    points = inches * _POINTS_PER_INCH / WIDTH
    for order, shape in enumerate(draw(position, arrows)):
        _paint(axes, shape, DARK if dark else LIGHT, points, order)
    file = io.BytesIO()
    figure.savefig(file, format="png", transparent=True, metadata={"Software": None})
    return file.getvalue()


def _paint(axes: Axes, shape: Shape, colors: dict[Paint, str], points: float, order: int) -> None:
    """`points`: typographic points in a unit of the drawing."""
    from matplotlib import patches

    color = colors[shape.paint]
    edge = {"edgecolor": EDGE, "linewidth": 0.5 * points} if shape.paint in _EDGED else {"linewidth": 0.0}
    match shape:
        case Rectangle():
            style = patches.BoxStyle.Round(pad=0.0, rounding_size=max(shape.rounding, 0.01))
            corner = (shape.x, shape.y)
            box = patches.FancyBboxPatch(
                corner, shape.width, shape.height, boxstyle=style, facecolor=color, zorder=order, **edge
            )
            axes.add_patch(box)
        case Polygon():
            axes.add_patch(patches.Polygon(shape.corners, facecolor=color, zorder=order, linewidth=0.0))
        case Disc():
            axes.add_patch(patches.Circle((shape.x, shape.y), shape.radius, facecolor=color, zorder=order, **edge))
        case Writing():
            axes.text(
                shape.x,
                shape.y,
                shape.text,
                color=color,
                fontsize=shape.size * points * 0.9,
                fontweight="bold",
                ha="center",
                va="center_baseline",
                zorder=order,
            )
        case Line():
            (x1, y1), (x2, y2) = shape.start, shape.end
            axes.plot(
                (x1, x2), (y1, y2), color=color, linewidth=shape.width * points, solid_capstyle="round", zorder=order
            )
