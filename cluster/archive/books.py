"""What opening books say about the plays of an archive: their own values beside the analysis, or, where that was asked
for, instead of it. Neither is done unnamed.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from types import TracebackType

import numpy as np

from cluster.archive.evaluation import ValuedPlay
from cluster.archive.matches import Matches
from cluster.archive.plays import Case, JudgedPlay
from cluster.archive.results import BOOK_LEVEL, BookOpinion
from cluster.book.artifact import Book
from cluster.book.entry import Entry
from cluster.book.library import book_files, find_book, money_book, shipped_files
from cluster.book.schemas import BookPlay
from cluster.book.stakes import MONEY, Seat
from engine.board import Board, flip
from engine.cube import CubeQuestion
from engine.errors import InputError
from engine.gnuid import format_position_id, parse_position_id
from engine.kernels.cube import POINT
from engine.kernels.network import ONE
from engine.match import CubeOwner, MatchState
from engine.position import Position

LEAST_AWAY = 3
"""A book for money also has its say in games of a match in which both players need so many points."""
_REMEMBERED = 4096


@dataclass(frozen=True, slots=True)
class BookUsed:
    """A book that was looked into."""

    name: str
    rules: str
    score: str
    cube: bool
    net: str
    """Digest of the nets that made it."""
    entries: int
    trials: int


@dataclass(frozen=True, slots=True)
class _Found:
    entry: Entry
    book: str
    same_stakes: bool


class Books:
    """The book of every rule set that is met, or the one that was named. A context."""

    def __init__(self, name: str | None = None, shipped: bool = False) -> None:
        """
        Args:
            shipped: without a name, only the books that come with gammonfarm: the same ones on every machine.

        Raises:
            InputError: there is no book of this name.
        """
        self.shipped = shipped and name is None
        self._named = None if name is None else find_book(name)
        self._by_rules: dict[str, Book | None] = {}
        self._depth: dict[str, int] = {}
        self._entry = lru_cache(_REMEMBERED)(self._looked_up)

    def __enter__(self) -> Books:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for book in self._opened():
            book.close()

    @property
    def used(self) -> tuple[BookUsed, ...]:
        """Those of the rule sets that were met."""
        found = []
        for book in dict.fromkeys(book for book in self._by_rules.values() if book is not None):
            terms = book.stakes.terms
            told = (book.name, terms.rules, terms.score, bool(terms.cube), book.identity.net)
            found.append(BookUsed(*told, sum(book.info().entries), book.trials))
        return tuple(found)

    def meet(self, rules: str) -> None:
        """Open the book of a rule set whose plays were looked up elsewhere."""
        self._book(rules)

    def opinion(self, turn: int, position: Position, after: Board | None) -> BookOpinion | None:
        """What is known about a play; None where no book knows the position, or is for such a score.

        Args:
            turn: which of the game's turns, from 1: what no book reaches is not looked for.
            position: before the play, with dice.
            after: int8[26] in the mover's view; None where it isn't known.
        """
        match = position.match
        if position.dice is None or self._book(match.rules.name) is None or turn > self._depth[match.rules.name]:
            return None
        found = self._find(position.board, match, position.dice)
        if found is None:
            return None
        reached = None if after is None else format_position_id(flip(after))
        play = next((one for one in found.entry.plays if one.after == reached), None)
        return BookOpinion(
            book=found.book,
            line=found.entry.spot.path,
            best=found.entry.plays[0].play,
            standing=None if play is None else play.standing,
            loss=None if play is None else round(max(-play.difference, 0.0), 6),
            same_stakes=found.same_stakes,
        )

    def judged(self, plays: Mapping[Case, JudgedPlay], matches: Matches) -> dict[Case, JudgedPlay]:
        """The cases that a book for exactly their score settles: it lists what was played, if that is known."""
        settled = {}
        for case, judged in plays.items():
            (content, number, dice), played = case
            found = self._find(np.frombuffer(content, dtype=np.int8), matches.match(number), dice)
            if found is None or not found.same_stakes:
                continue
            question = matches.question(number)
            candidates = tuple(_valued(play, order, question) for order, play in enumerate(found.entry.plays))
            place = next((place for place, one in enumerate(candidates) if one.after == played), None)
            if place is not None or played is None:
                settled[case] = JudgedPlay(judged.legal_plays, candidates, place)
        return settled

    def _find(self, board: Board, match: MatchState, dice: tuple[int, int]) -> _Found | None:
        if match.cube_owner is not CubeOwner.CENTRED:
            return None
        book = self._book(match.rules.name)
        if book is None:
            return None
        seat, same = book.stakes.seat_of(match), True
        if seat is None:
            away = match.away
            if book.identity.score != MONEY or away is None or min(away) < LEAST_AWAY:
                return None
            seat, same = Seat.EITHER, False
        entry = self._entry(match.rules.name, format_position_id(board), dice, seat)
        return None if entry is None else _Found(entry, book.name, same)

    def _book(self, rules: str) -> Book | None:
        if rules not in self._by_rules:
            book = self._named
            if book is None:
                with suppress(InputError):  # nobody may have made one for these rules
                    book = money_book(rules, (shipped_files() if self.shipped else book_files()).values())
            elif book.identity.rules != rules:
                book = None
            self._by_rules[rules] = book
            self._depth[rules] = 0 if book is None else len(book.info().entries)
        return self._by_rules[rules]

    def _looked_up(self, rules: str, position: str, dice: tuple[int, int], seat: Seat) -> Entry | None:
        book = self._by_rules[rules]
        return None if book is None else book.entry(position, dice, seat)

    def _opened(self) -> list[Book]:
        return [book for book in dict.fromkeys([self._named, *self._by_rules.values()]) if book is not None]


@dataclass(frozen=True, slots=True)
class BookLookup:
    """Which books are looked into, and what for."""

    books: Books | None
    instead: bool = False
    """Plays that a book for their score lists are judged by its values, rather than by those of the analysis."""


NO_BOOKS = BookLookup(None)


def _valued(play: BookPlay, order: int, question: CubeQuestion) -> ValuedPlay:
    after = flip(parse_position_id(play.after))
    low, _ = question.single
    value = round(question.value(play.equity + 1.0) + low * POINT)
    return ValuedPlay(
        after=after.tobytes(),
        outcome=np.rint(np.array(play.probabilities.values()) * ONE).astype(np.int64),
        value=value,
        cubeless=value,
        left=int(np.maximum(after, 0).sum()),
        order=order,
        level=BOOK_LEVEL,
        se=round(play.se, 6),
    )
