"""A book's openings beside published ones: where they agree, where not, and what our error bars say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from math import fsum

from cluster.book.artifact import Book
from cluster.book.diff import CLOSE, side_of
from cluster.book.entry import Entry
from cluster.book.published import PublishedPlay, PublishedTable
from cluster.book.schemas import BookComparison, BookPlay, NamedPlay, RollComparison, Side, TableComparison
from cluster.book.stakes import MONEY
from engine.rules import INTERNATIONAL

_BARS = 1.96
_ROUNDING = 1e-9


def compare_openings(book: Book, tables: Iterable[PublishedTable], named: PublishedTable) -> BookComparison:
    """The openings of a book beside tables, which are all of money games, and the plays that somebody names without a
    number.
    """
    entries = {entry.spot.roll: entry for entry in sorted(book.entries(1), key=lambda entry: entry.spot.roll)}
    fits = book.identity.rules == INTERNATIONAL.name and book.identity.score == MONEY
    return BookComparison(
        book=book.info(),
        openings=tuple(entry.shown(book.stakes) for entry in entries.values()),
        tables=tuple(_table(entries.values(), table) for table in tables) if fits else (),
        named=tuple(
            _named(entries[roll], play) for roll, plays in named.rolls.items() if roll in entries for play in plays
        ),
    )


def _table(entries: Iterable[Entry], table: PublishedTable) -> TableComparison:
    common = [(entry, table.rolls[entry.spot.roll]) for entry in entries if entry.spot.roll in table.rolls]
    rolls = [_roll(entry, plays, table.has_values) for entry, plays in common]
    gaps = [gap for entry, plays in common for gap in _gaps(entry, plays)]
    sides = Counter(roll.side for roll in rolls)
    return TableComparison(
        name=table.name,
        source=table.source,
        units=table.units,
        rolls=tuple(rolls),
        sides={side.value: sides[side] for side in Side},
        plays=len(gaps),
        within_bars=sum(inside for _, inside in gaps),
        mean_gap=fsum(gap for gap, _ in gaps) / len(gaps) if gaps else None,
    )


def _roll(entry: Entry, plays: Sequence[PublishedPlay], has_values: bool) -> RollComparison:
    best, theirs = entry.plays[0], plays[0]
    here = _found(entry, theirs.after)
    there = next((play for play in plays if play.after == best.after), None)
    loss = None if here is None else 0.0 - here.difference
    loss_se = None if here is None else here.simulation_difference_se
    loss_there = None
    if there is not None and there.equity is not None and theirs.equity is not None:
        loss_there = theirs.equity - there.equity
    return RollComparison(
        roll=entry.spot.roll,
        play=best.play,
        equity=best.equity,
        se=best.se,
        verdict=entry.verdict,
        published_play=theirs.play,
        published_equity=theirs.equity if has_values else None,
        published_score=theirs.score,
        loss=loss,
        loss_se=loss_se,
        published_loss=loss_there,
        side=side_of(theirs.after == best.after, loss, loss_se),
        good=_is_small(loss),
        good_there=_is_small(loss_there),
    )


def _is_small(loss: float | None) -> bool:
    return loss is not None and loss <= CLOSE + _ROUNDING


def _gaps(entry: Entry, plays: Sequence[PublishedPlay]) -> Iterable[tuple[float, bool]]:
    """Of each play that both list, our best one left out: our loss less theirs for money, both against the play that
    we put first, and whether theirs lies within our bars.
    """
    first = next((play for play in plays if play.after == entry.plays[0].after), None)
    if first is None or first.equity is None or first.score is not None:
        return
    for play in plays:
        own = _found(entry, play.after)
        if own is None or own is entry.plays[0] or play.equity is None:
            continue
        gap = -own.difference - (first.equity - play.equity)
        yield gap, abs(gap) <= _BARS * own.simulation_difference_se


def _named(entry: Entry, play: PublishedPlay) -> NamedPlay:
    own = _found(entry, play.after)
    return NamedPlay(
        roll=entry.spot.roll,
        play=play.play,
        rank=None if own is None else entry.plays.index(own) + 1,
        loss=None if own is None else 0.0 - own.difference,
        loss_se=None if own is None else own.simulation_difference_se,
        standing=None if own is None else own.standing,
    )


def _found(entry: Entry, after: str) -> BookPlay | None:
    return next((play for play in entry.plays if play.after == after), None)
