"""Charts as SVG: bars, and lines over time. 360 units wide, so that they read well on a phone and larger elsewhere.

Colors are the page's CSS variables; every value also stands as text or as a tooltip, and the whole as a description.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

WIDTH = 360.0
_ROW = 22.0
_LETTER = 5.6
"""Width of a letter of a label, about."""
_LABEL = 80.0, 160.0
"""Least and most room for labels."""
_VALUE = 92.0
_PLOT_HEIGHT = 150.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 34.0, 10.0, 10.0, 22.0
_TICKS = 4
_MOST_DOTS = 60
_STEPS = (1.0, 2.0, 5.0, 10.0)


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar: a label, a value of at least zero, and what stands behind it."""

    label: str
    value: float
    text: str
    style: str = "a"
    """Class of its color: `a` or `b`."""


@dataclass(frozen=True, slots=True)
class Point:
    """One point of a line."""

    value: float
    error: float | None = None
    """Standard error, drawn as a whisker."""
    title: str = ""
    """Tooltip."""
    hollow: bool = False
    """Drawn as a ring rather than a dot."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a chart."""

    name: str
    points: Sequence[Point]
    style: str = "a"


def bar_chart(bars: Sequence[Bar], title: str) -> str:
    """Bars from the left, one below the other."""
    highest = max((bar.value for bar in bars), default=0.0) or 1.0
    least, most = _LABEL
    left = min(max(least, 8.0 + _LETTER * max((len(bar.label) for bar in bars), default=0)), most)
    room = WIDTH - left - _VALUE
    rows = []
    for number, bar in enumerate(bars):
        y = number * _ROW
        width = max(room * bar.value / highest, 1.0)
        rows.append(
            f'<text class="label" x="{left - 6:g}" y="{y + 14:g}" text-anchor="end">{escape(bar.label)}</text>'
            f'<rect class="{bar.style}" x="{left:g}" y="{y + 4:g}" width="{width:.1f}" height="14" rx="2"/>'
            f'<text class="value" x="{left + width + 5:.1f}" y="{y + 14:g}">{escape(bar.text)}</text>'
        )
    told = "; ".join(f"{bar.label}: {bar.text}" for bar in bars)
    return _svg(len(bars) * _ROW + 2, title, told, "".join(rows))


def line_chart(
    lines: Sequence[Line], title: str, marks: Sequence[int] = (), from_zero: bool = True, told: str = ""
) -> str:
    """Lines over the numbers 1, 2, ... of their points.

    Args:
        marks: places before which a thin line stands, such as the first roll of each game.
        told: the chart in words, for those who can't see it; without it the tooltips are.
    """
    every = [point for line in lines for point in line.points]
    if not every:
        return ""
    low = min(point.value - (point.error or 0.0) for point in every)
    high = max(point.value + (point.error or 0.0) for point in every)
    low, high, step = _scale(0.0 if from_zero else min(low, 0.0), max(high, 0.0))
    count = max(len(line.points) for line in lines)
    plot_width = WIDTH - _LEFT - _RIGHT

    def x_of(place: float) -> float:
        return _LEFT + plot_width * ((place + 0.5) / count)

    def y_of(value: float) -> float:
        return _TOP + _PLOT_HEIGHT * (high - min(max(value, low), high)) / (high - low)

    parts = []
    ticks = round((high - low) / step)
    for number in range(ticks + 1):
        value = low + number * step
        y = y_of(value)
        parts.append(
            f'<line class="{"axis" if abs(value) < step / 1000 else "rule"}" x1="{_LEFT:g}" x2="{WIDTH - _RIGHT:g}" '
            f'y1="{y:.1f}" y2="{y:.1f}"/>'
            f'<text class="value" x="{_LEFT - 5:g}" y="{y + 3.5:.1f}" text-anchor="end">{_short(value, step)}</text>'
        )
    for mark in marks:
        x = _LEFT + plot_width * mark / count
        parts.append(f'<line class="rule" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP:g}" y2="{_TOP + _PLOT_HEIGHT:g}"/>')
    for line in lines:
        places = [(x_of(i), y_of(point.value)) for i, point in enumerate(line.points)]
        if len(places) > 1:
            way = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
            parts.append(f'<polyline class="{line.style}" points="{way}"/>')
        if len(places) <= _MOST_DOTS:
            parts += [_dot(line.style, at, point, y_of) for at, point in zip(places, line.points, strict=True)]
    parts += [
        f'<text class="value" x="{x_of(place):.1f}" y="{_TOP + _PLOT_HEIGHT + 14:g}" text-anchor="middle">'
        f"{place + 1}</text>"
        for place in sorted({0, count // 2, count - 1})
    ]
    told = told or "; ".join(point.title for point in every if point.title)
    return _svg(_TOP + _PLOT_HEIGHT + _BOTTOM, title, told, "".join(parts)) + _legend(lines)


def _dot(style: str, at: tuple[float, float], point: Point, y_of: Callable[[float], float]) -> str:
    x, y = at
    whisker = ""
    if point.error:
        top, bottom = y_of(point.value + point.error), y_of(point.value - point.error)
        whisker = f'<line class="{style} whisker" x1="{x:.1f}" x2="{x:.1f}" y1="{top:.1f}" y2="{bottom:.1f}"/>'
    title = f"<title>{escape(point.title)}</title>"
    kind = f"{style} hollow" if point.hollow else style
    return f'{whisker}<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="3">{title}</circle>'


def _legend(lines: Sequence[Line]) -> str:
    if len(lines) < 2:
        return ""
    entries = "".join(f'<span class="key {line.style}">{escape(line.name)}</span>' for line in lines)
    return f'<p class="legend">{entries}</p>'


def _scale(low: float, high: float) -> tuple[float, float, float]:
    """Round limits around the values, and the step between the lines of the grid."""
    span = (high - low) or 1.0
    size = 10.0 ** math.floor(math.log10(span / _TICKS))
    step = next(one * size for one in _STEPS if one * size >= span / _TICKS * 0.999)
    return math.floor(low / step) * step, math.ceil(high / step - 1e-9) * step or step, step


def _short(value: float, step: float) -> str:
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    return f"{value + 0.0:.{decimals}f}".replace("-0.0", "0.0") if decimals else f"{value:.0f}"


def _svg(height: float, title: str, told: str, body: str) -> str:
    label = escape(title)
    described = f"<desc>{escape(told)}</desc>" if told else ""
    return (
        f'<svg class="chart" viewBox="0 0 {WIDTH:g} {height:g}" role="img" aria-label="{label}">'
        f"<title>{label}</title>{described}{body}</svg>"
    )
