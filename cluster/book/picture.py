"""The picture of a board in a book's web pages: the one place to change it."""

from __future__ import annotations

from html import escape

from engine.display import board_text
from engine.position import Position

_WIDTH = 47
"""Columns of the board in the text; what stands beside it is said elsewhere on the page."""
_ROWS = 13


def board_picture(position: Position) -> str:
    """HTML of a board, the mover at the bottom, with both pip counts."""
    lines = [line[:_WIDTH].rstrip() for line in board_text(position).splitlines()[:_ROWS]]
    own, other = position.pips
    label = f"Board: player on roll {own} pips, opponent {other} pips"
    text = escape("\n".join(lines))
    return (
        f'<figure class="board"><pre role="img" aria-label="{label}">{text}</pre>'
        f"<figcaption>on roll {own} pips, opponent {other}</figcaption></figure>"
    )
