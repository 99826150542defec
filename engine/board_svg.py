"""A position as SVG: stands alone, or in a page beside others.

Colors are CSS variables (`--gf-...`) on the class `gammonfarm-board`, dark on screens whose reader prefers dark; a page
may set its own. No script, no font, nothing from elsewhere.
"""

from __future__ import annotations

from html import escape

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
from engine.display import decision_text, match_text
from engine.position import Position

LIGHT: dict[Paint, str] = {
    Paint.BOARD: "#f3ead9",
    Paint.FRAME: "#d9c7a8",
    Paint.LIGHT_POINT: "#cdb48a",
    Paint.DARK_POINT: "#a0703f",
    Paint.X: "#ffffff",
    Paint.O: "#33302d",
    Paint.ON_X: "#1d1b19",
    Paint.ON_O: "#ffffff",
    Paint.LABEL: "#3c3226",
    Paint.CUBE: "#ffffff",
    Paint.ON_CUBE: "#1d1b19",
    Paint.ARROW: "#1769c4",
}
DARK: dict[Paint, str] = {
    Paint.BOARD: "#2b2825",
    Paint.FRAME: "#1a1816",
    Paint.LIGHT_POINT: "#6f5a3d",
    Paint.DARK_POINT: "#4a4139",
    Paint.X: "#f1ece2",
    Paint.O: "#0d0c0b",
    Paint.ON_X: "#1d1b19",
    Paint.ON_O: "#f1ece2",
    Paint.LABEL: "#d8cfc0",
    Paint.CUBE: "#f1ece2",
    Paint.ON_CUBE: "#1d1b19",
    Paint.ARROW: "#63b3ff",
}
EDGE = "#7d7366"
"""Around checkers, dice and cube: tells them from any ground in both themes."""


def board_svg(position: Position, arrows: tuple[Arrow, ...] = (), title: str | None = None, style: bool = True) -> str:
    """The picture, one `<svg>` element.

    Args:
        arrows: of a play, see `engine.board_drawing.play_arrows`.
        title: what a screen reader says; else the match and the decision, in English.
        style: with its own colors. A page with many boards sets `STYLE` once instead.
    """
    label = escape(title if title is not None else f"{decision_text(position)}. {match_text(position)}.")
    shapes = "".join(_written(shape) for shape in draw(position, arrows))
    sheet = f"<style>{STYLE}</style>" if style else ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="gammonfarm-board" viewBox="0 0 {_n(WIDTH)} {_n(HEIGHT)}" '
        f'role="img" aria-label="{label}"><title>{label}</title>{sheet}{shapes}</svg>'
    )


def _style() -> str:
    def variables(colors: dict[Paint, str]) -> str:
        return "".join(f"--gf-{paint.value}:{color};" for paint, color in colors.items())

    rules = "".join(f".gf-{paint.value}{{fill:var(--gf-{paint.value})}}" for paint in Paint)
    pieces = ",".join(f".gammonfarm-board .{name}" for name in ("gf-x", "gf-o", "gf-cube"))
    return (
        f":where(.gammonfarm-board){{{variables(LIGHT)}--gf-edge:{EDGE};}}"
        f"@media screen and (prefers-color-scheme:dark){{:where(.gammonfarm-board){{{variables(DARK)}}}}}"
        ".gammonfarm-board{display:block;width:100%;max-width:44rem;height:auto}"
        f"{rules}{pieces}{{stroke:var(--gf-edge);stroke-width:.5}}"
        ".gammonfarm-board text{font:600 5px system-ui,sans-serif;text-anchor:middle;"
        "dominant-baseline:central;stroke:none}"
        ".gammonfarm-board line{stroke:var(--gf-arrow);stroke-linecap:round;opacity:.85}"
    )


STYLE = _style()
"""The style sheet of all boards of a page."""


def _written(shape: Shape) -> str:
    kind = f'class="gf-{shape.paint.value}"'
    match shape:
        case Rectangle():
            rounding = f' rx="{_n(shape.rounding)}"' if shape.rounding else ""
            size = f'width="{_n(shape.width)}" height="{_n(shape.height)}"'
            return f'<rect x="{_n(shape.x)}" y="{_n(shape.y)}" {size}{rounding} {kind}/>'
        case Polygon():
            points = " ".join(f"{_n(x)},{_n(y)}" for x, y in shape.corners)
            return f'<polygon points="{points}" {kind}/>'
        case Disc():
            return f'<circle cx="{_n(shape.x)}" cy="{_n(shape.y)}" r="{_n(shape.radius)}" {kind}/>'
        case Writing():
            place = f'x="{_n(shape.x)}" y="{_n(shape.y)}" style="font-size:{_n(shape.size)}px"'
            return f"<text {place} {kind}>{escape(shape.text)}</text>"
        case Line():
            (x1, y1), (x2, y2) = shape.start, shape.end
            ends = f'x1="{_n(x1)}" y1="{_n(y1)}" x2="{_n(x2)}" y2="{_n(y2)}"'
            return f'<line {ends} stroke-width="{_n(shape.width)}" {kind}/>'


def _n(number: float) -> str:
    """At most two decimals, none that say nothing."""
    return f"{number:.2f}".rstrip("0").rstrip(".")
