"""Looking things up in a book: a position by the plays that lead to it, and the rolls that the book knows there."""

from __future__ import annotations

from collections.abc import Sequence

from cluster.book.artifact import Book
from cluster.book.schemas import BookShowReport
from cluster.book.tree import parse_line, parse_roll, played
from engine.errors import InputError
from engine.gnuid import format_position_id
from engine.position import Position
from engine.xgid import format_xgid


def show(book: Book, roll: str | None, after: Sequence[str]) -> tuple[Position, BookShowReport]:
    """The plays of a roll, or of all rolls that the book knows, after some plays from the start of the game.

    Args:
        after: lines such as `8/5 6/5` or `31 8/5 6/5 64 24/14`, one after the other; a roll may be left out where its
            play can mean one position only.

    Raises:
        InputError: malformed, an illegal play, or nothing in the book.
    """
    stakes = book.stakes
    board, seat = stakes.rules.start.board, stakes.first
    made: list[str] = []
    for text in after:
        for named, play in parse_line(text):
            if play is None:
                raise InputError("after", text, "plays only; the roll to be played stands before the options")
            board = played(board, named, play, stakes.rules, first=not made)
            seat = seat.other
            made.append(play)
    dice = parse_roll(roll) if roll is not None else None
    entries = book.entries_at(format_position_id(board), seat)
    if dice is not None:
        entries = [entry for entry in entries if entry.spot.dice == dice]
    if not entries:
        line = " ".join([*made, roll or ""]).strip() or "the start"
        raise InputError("position", line, f"one that {book.path.name} knows")
    position = Position(board, stakes.match(seat), dice)
    return position, BookShowReport(
        book=book.info(),
        after=tuple(made),
        xgid=format_xgid(position),
        plays=entries[0].plays if dice is not None else (),
        entries=tuple(entry.shown(stakes) for entry in entries),
    )
