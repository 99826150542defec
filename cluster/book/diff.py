"""Two books beside each other; the second one may also be a table of openings that somebody published."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cluster.book.artifact import Book
from cluster.book.entry import Entry
from cluster.book.library import SUFFIX, find_book
from cluster.book.schemas import BookDiffReport, EntryDifference, Side
from engine.board import make_board
from engine.errors import InputError
from engine.gnuid import format_position_id
from engine.notation import format_play
from engine.rules import RuleSet
from training.suite.openings import read_book, read_published, read_table_of_openings

CLOSE = 0.01
"""Equity."""
_ERRORS = 2.0
"""Standard errors beyond which a difference counts."""

PUBLISHED = (".tsv", ".json", ".jsonl")
"""Endings of published tables of openings (the first two) and of books with positions."""

Losses = Mapping[str, tuple[float, float | None]]
"""Play -> what it loses, and the standard error of that where it is known; the first one is the best play."""


@dataclass(frozen=True, slots=True)
class Opinion:
    """What one side says about an entry."""

    losses: Losses
    equity: float | None = None
    """Of the best play, where it is known."""

    @property
    def best(self) -> str:
        """The play that it likes best."""
        return next(iter(self.losses))


def _opinion(entry: Entry) -> Opinion:
    losses = {play.play: (-play.difference, play.simulation_difference_se) for play in entry.plays}
    return Opinion(losses, entry.plays[0].equity)


def compare(a: Book, b: str, everything: bool) -> BookDiffReport:
    """How two books agree about the entries that both have.

    Args:
        b: a book as `find_book` takes it, or a published table or book (`PUBLISHED`).
        everything: list the entries too about which both agree.

    Raises:
        InputError: no such book or table, books of other rules, or nothing in common.
    """
    if Path(b).suffix in PUBLISHED:
        opinions = _published(Path(b), a.stakes.rules)
        name = Path(b).name
    else:
        with find_book(b, a.identity.rules) as other:
            if other.identity.rules != a.identity.rules:
                raise InputError("book", b, f"a book of {a.identity.rules}, not {other.identity.rules}")
            opinions = {entry.spot.id: _opinion(entry) for entry in other.entries()}
            name = other.path.name if Path(b).suffix == SUFFIX else other.name
    found = [_difference(entry, opinions[entry.spot.id]) for entry in a.entries() if entry.spot.id in opinions]
    if not found:
        raise InputError("book", b, f"entries that {a.path.name} has too")
    counts = Counter(difference.side for difference in found)
    return BookDiffReport(
        a=a.name,
        b=name,
        compared=len(found),
        sides={side.value: counts[side] for side in Side},
        entries=tuple(d for d in found if everything or d.side is not Side.SAME),
    )


def _difference(entry: Entry, other: Opinion) -> EntryDifference:
    own = _opinion(entry)
    a_loss, a_se = own.losses.get(other.best, (None, None))
    b_loss, _ = other.losses.get(own.best, (None, None))
    return EntryDifference(
        path=entry.spot.path,
        side=side_of(own.best == other.best, a_loss, a_se),
        a_play=own.best,
        b_play=other.best,
        a_loss=a_loss,
        a_loss_se=a_se,
        b_loss=b_loss,
        equity_difference=None if own.equity is None or other.equity is None else own.equity - other.equity,
    )


def side_of(same: bool, loss: float | None, se: float | None) -> Side:
    """Where a book stands about another one's best play, which loses so much in it (None: it doesn't list it).

    Args:
        se: of the simulated difference.
    """
    if same:
        return Side.SAME
    if loss is None or se is None:
        return Side.UNLISTED
    if loss <= CLOSE:
        return Side.CLOSE
    return Side.DIFFERENT if loss > _ERRORS * se else Side.UNDECIDED


def _published(path: Path, rules: RuleSet) -> dict[str, Opinion]:
    """A published table or book, by id of the entry."""
    if path.suffix == ".jsonl":
        decisions = [record.decision for record in read_book(path) if record.money]
    elif path.suffix == ".json":
        decisions = read_published(path)
    else:
        decisions = read_table_of_openings(path)
    opinions = {}
    for decision in decisions:
        board = make_board(decision.board)
        dice = max(decision.dice), min(decision.dice)
        plays = {
            format_play(board, np.frombuffer(after, dtype=np.int8), dice, rules): (loss, None)
            for after, loss in decision.losses.items()
        }
        opinions[f"{format_position_id(board)}:{dice[0]}{dice[1]}"] = Opinion(plays)
    return opinions
