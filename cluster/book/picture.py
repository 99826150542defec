"""The picture of a board in a book's web pages: the one place to change it."""

from __future__ import annotations

from engine.board import Board
from engine.board_drawing import play_arrows
from engine.board_svg import STYLE, board_svg
from engine.position import Position

BOARD_STYLE = STYLE
"""Style sheet that a page with such pictures needs once."""


def board_picture(position: Position, after: Board | None = None) -> str:
    """HTML of a board, the player on roll at the bottom; with the arrows of a play that leads to `after` (his view)."""
    arrows = play_arrows(position, after) if after is not None else ()
    return f'<figure class="board">{board_svg(position, arrows, style=False)}</figure>'
