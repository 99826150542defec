"""Asking people what a book knows."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from cluster.book.artifact import Book
from cluster.book.entry import Entry
from cluster.book.schemas import BookQuizReport, QuizAnswer, Standing, Verdict
from cluster.book.tree import played
from engine.errors import InputError
from engine.gnuid import format_position_id

Ask = Callable[[int, Entry], str | None]
"""(number of the question from 1, entry) -> the answer as the user wrote it; None ends the quiz."""
Tell = Callable[[Entry, QuizAnswer], None]


def pick(book: Book, count: int, seed: int, depth: int | None) -> list[Entry]:
    """Entries with a real choice and an answer that is known, by chance.

    Raises:
        InputError: the book has none.
    """
    known = [e for e in book.entries(depth) if len(e.plays) > 1 and e.verdict is not Verdict.OPEN]
    if not known:
        raise InputError("book", book.path, "entries with two plays or more that are not open")
    return random.Random(seed).sample(known, min(count, len(known)))


def quiz(book: Book, entries: Sequence[Entry], ask: Ask, tell: Tell) -> BookQuizReport:
    """Put the questions one after the other."""
    answers = []
    for number, entry in enumerate(entries, 1):
        given = ask(number, entry)
        if given is None:
            break
        answers.append(mark(book, entry, given))
        tell(entry, answers[-1])
    losses = [answer.loss for answer in answers if answer.loss is not None]
    return BookQuizReport(
        book=book.name,
        questions=tuple(answers),
        right=sum(is_right(answer) for answer in answers),
        longest_streak=longest_streak(answers),
        mean_loss=sum(losses) / len(losses) if losses else None,
    )


def is_right(answer: QuizAnswer) -> bool:
    """Whether the answer is the best play, or one that is surely about as good."""
    return answer.standing in (Standing.BEST, Standing.PLAYABLE)


def longest_streak(answers: Sequence[QuizAnswer]) -> int:
    """Most right answers in a row."""
    longest = running = 0
    for answer in answers:
        running = running + 1 if is_right(answer) else 0
        longest = max(longest, running)
    return longest


def mark(book: Book, entry: Entry, given: str) -> QuizAnswer:
    """What an answer is worth; an empty one is a pass.

    Raises:
        InputError: no legal play.
    """
    spot = entry.spot
    blank = QuizAnswer(id=spot.id, path=spot.path, answer=None, best=entry.plays[0].play, loss=None, standing=None)
    if not given.strip():
        return blank
    after = format_position_id(played(spot.board, spot.dice, given, book.stakes.rules))
    for play in entry.plays:
        if play.after == after:
            return blank.model_copy(update={"answer": play.play, "loss": -play.difference, "standing": play.standing})
    return blank.model_copy(update={"answer": " ".join(given.split())})
