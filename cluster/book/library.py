"""Which book is meant: files, books built on this machine, and those that come with gammonfarm."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import resources
from pathlib import Path

from cluster.book.artifact import Book, open_book
from cluster.book.schemas import BookMatch
from cluster.book.stakes import MONEY
from engine.errors import InputError
from engine.gnuid import format_position_id
from engine.home import data_home
from engine.position import Position
from engine.rules import rule_set

SUFFIX = ".book"


def built_path(name: str) -> Path:
    """Where a book of this name is built unless a file is named."""
    return data_home() / "books" / f"{name}{SUFFIX}"


def shipped_files() -> dict[str, Path]:
    """Files of the books that come with gammonfarm, by name."""
    shipped = Path(str(resources.files("configs") / "book"))
    return {path.name.removesuffix(SUFFIX): path for path in sorted(shipped.glob(f"*{SUFFIX}"))}


def book_files() -> dict[str, Path]:
    """Files of all books by name: those built here come before shipped ones of the same name."""
    found = shipped_files()
    built = data_home() / "books"
    found |= {path.name.removesuffix(SUFFIX): path for path in sorted(built.glob(f"*{SUFFIX}"))}
    return {name: found[name] for name in sorted(found) if found[name].stat().st_size > 0}


def find_book(name: str | None, rules: str = "international") -> Book:
    """The book that a user names: a file, or a name; without one the money book of the rule set with the most trials.

    Raises:
        InputError: there is none.
    """
    files = book_files()
    if name is not None:
        path = Path(name)
        if path.suffix == SUFFIX or path.is_file():
            return open_book(path)
        if name not in files:
            known = ", ".join(files) or "none yet"
            raise InputError("book", name, f"a book's file, or one of: {known} (gammonfarm book build makes one)")
        return open_book(files[name])
    return money_book(rules, files.values())


def money_book(rules: str, files: Iterable[Path]) -> Book:
    """The money book of a rule set with the most trials among files.

    Raises:
        InputError: there is none.
    """
    wanted = rule_set(rules).name
    best: tuple[int, Path] | None = None
    for path in files:
        with open_book(path) as book:
            fits = book.identity.rules == wanted and book.identity.score == MONEY
            if fits and (best is None or book.trials > best[0]):
                best = (book.trials, path)
    if best is None:
        raise InputError("rules", wanted, "rules of which there is a book (gammonfarm book build makes one)")
    return open_book(best[1])


def match_position(book: Book, position: Position) -> BookMatch | None:
    """What a book says about the plays of a position with dice; None where it doesn't know it, or is for another score.

    For showing beside an evaluation only: a rollout never looks at a book, because a play that is valued in another way
    than the rest of a trial would no longer go with the luck that is subtracted from it.
    """
    seat = book.stakes.seat_of(position.match)
    if position.dice is None or seat is None:
        return None
    found = book.entry(format_position_id(position.board), position.dice, seat)
    if found is None:
        return None
    return BookMatch(name=book.name, file=str(book.path), verdict=found.verdict, plays=found.plays)
