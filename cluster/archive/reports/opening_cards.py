"""Cards about a player's openings: his first plays by roll, and what a book says of them, each under its own name."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from cluster.archive.books import BookUsed
from cluster.archive.openings import REPLY, BookCount, BookFigures, OpeningFigures, OpeningPlay, OpeningRoll
from cluster.archive.reports.page import table
from cluster.archive.reports.words import Words
from cluster.book.schemas import Standing


def first_plays_card(openings: OpeningFigures, words: Words) -> str:
    """First plays by roll: how often, what they lose by the analysis, and by the book where one has the roll."""
    if not openings.first_plays:
        return ""
    total = words(
        "openings_sum",
        first=openings.first_plays,
        first_pr=_number(openings.first_plays_pr, words),
        replies=openings.replies,
        replies_pr=_number(openings.replies_pr, words),
    )
    book = any(roll.book for roll in openings.rolls)
    several = len({roll.rules for roll in openings.rolls}) > 1
    rows = [
        (
            _roll(roll, several) if place == 0 else "",
            escape(play.play),
            words.count(play.times),
            words.number(play.loss, 3) if play.loss else "✓",
            *((_by_book(play, words),) if book else ()),
        )
        for roll in openings.rolls
        for place, play in enumerate(roll.plays)
    ]
    heads = (words("roll"), words("play"), words("times"), words("mean_loss"), *((words("book_loss"),) if book else ()))
    return f"<p>{total}</p>{table(heads, rows, texts=(1,))}"


def book_card(figures: BookFigures, words: Words) -> str:
    """All plays that a book knows, by its own values: first plays, replies, rolls one by one, the worst plays."""
    counts = (("first_plays", figures.first), ("replies", figures.replies), ("later_plays", figures.later))
    rows = [(words(key), *_times(count, words), _pr(count, words)) for key, count in counts if count is not None]
    heads = (
        "",
        words("times"),
        words("book_best"),
        words("book_playable"),
        words("book_open"),
        words("book_unlisted"),
        "PR",
    )
    totals = table(heads, rows)
    note = words("book_values", book=escape(figures.book))
    if figures.other_stakes:
        note += " " + words("book_other_stakes", count=figures.other_stakes)
    rolls = [
        (f"{one.dice[0]}-{one.dice[1]}", *_times(one.count, words), _mean_loss(one.count, words))
        for one in figures.rolls
        if one.turn == REPLY
    ]
    heads = (words("roll"), *heads[1:-1], words("mean_loss"))
    replies = f"<h3>{words('replies_by_roll')}</h3>{table(heads, rolls)}" if rolls else ""
    return f"<p class=soft>{note}</p>{totals}{_slips(figures, words)}{replies}"


def books_html(books: Sequence[BookUsed], words: Words) -> str:
    """Which books stand beside the analysis."""
    if not books:
        return ""
    told = "".join(f"<p class=soft>{escape(one.name)}: {escape(_about(one, words))}.</p>" for one in books)
    return f"<h2>{words('books')}</h2>{told}"


def _slips(figures: BookFigures, words: Words) -> str:
    if not figures.slips:
        return ""
    rows = [
        (
            f'<span class="wrap">{escape(one.line)}</span>',
            escape(one.play),
            escape(one.best),
            words.count(one.times),
            words("book_unlisted") if one.loss is None else words.number(-one.loss, 3),
        )
        for one in figures.slips
    ]
    heads = (words("line"), words("played"), words("book_best"), words("times"), words("loss"))
    return f"<h3>{words('book_slips')}</h3>{table(heads, rows, texts=(1, 2))}"


def _times(count: BookCount, words: Words) -> tuple[str, ...]:
    numbers = (count.plays, count.best, count.playable, count.open, count.unlisted)
    return tuple(words.count(number) for number in numbers)


def _pr(count: BookCount, words: Words) -> str:
    error = "" if count.se is None else f" <small>± {words.number(count.se)}</small>"
    return f"{_number(count.pr, words)}{error}"


def _mean_loss(count: BookCount, words: Words) -> str:
    listed = count.plays - count.unlisted
    return "–" if not listed else words.number(count.loss / listed, 3) if count.loss else "✓"


def _by_book(play: OpeningPlay, words: Words) -> str:
    if not play.book_asked:
        return ""
    if play.book_loss is None:
        return words("book_unlisted")
    if play.book_standing is Standing.BEST:
        return "✓"
    good = " ✓" if play.book_standing is Standing.PLAYABLE else ""
    return f"{words.number(play.book_loss, 3)}{good}"


def _roll(roll: OpeningRoll, several: bool) -> str:
    dice = f"{roll.dice[0]}-{roll.dice[1]}"
    return f"{dice} <small>{escape(roll.rules)}</small>" if several else dice


def _about(one: BookUsed, words: Words) -> str:
    cube = words("with_cube" if one.cube else "no_cube")
    return words(
        "book_about",
        stakes=f"{one.rules}, {one.score}, {cube}",
        entries=words.count(one.entries),
        trials=words.count(one.trials),
        net=one.net,
    )


def _number(value: float | None, words: Words) -> str:
    return "–" if value is None else words.number(value)
