"""Openings beside a book: whose position it is, what the book says, and that its values are never taken for others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from archive_made import analysis_with, matches_of, small_policy

from cluster.archive.books import LEAST_AWAY, BookLookup, Books
from cluster.archive.files import find_files
from cluster.archive.openings import OpeningDecision, Openings
from cluster.archive.reports.opening_cards import book_card, books_html, first_plays_card
from cluster.archive.reports.words import Words
from cluster.archive.results import BOOK, BookOpinion, DecisionResult
from cluster.book.schemas import Standing
from engine.analysis.language import Language
from engine.board import START
from engine.errors import InputError
from engine.match import CubeOwner, MatchState
from engine.notation import parse_play
from engine.position import Position
from engine.rules import INTERNATIONAL, NACKGAMMON, TAVLA

pytestmark = pytest.mark.usefixtures("databases")

BEST_31, LISTED_43, UNLISTED_43 = "8/5 6/5", "24/21 13/9", "6/2 6/3"


@pytest.fixture(scope="module")
def books() -> Iterator[Books]:
    with Books() as opened:
        yield opened


def opinion(books: Books, dice: tuple[int, int], play: str, match: MatchState | None = None) -> BookOpinion | None:
    """What a book says about a first play."""
    match = MatchState() if match is None else match
    return books.opinion(1, Position(START, match, dice), parse_play(play, START, dice, match.rules))


def test_the_shipped_book_calls_its_best_play_best_and_leaves_others_unlisted(books: Books) -> None:
    best = opinion(books, (3, 1), BEST_31)
    assert best == BookOpinion("international", "31", BEST_31, Standing.BEST, 0.0, same_stakes=True)
    listed = opinion(books, (4, 3), LISTED_43)
    assert listed is not None
    assert listed.loss is not None
    assert 0.0 <= listed.loss < 0.03
    unlisted = opinion(books, (4, 3), UNLISTED_43)
    assert unlisted is not None
    assert (unlisted.best, unlisted.standing, unlisted.loss) == (listed.best, None, None)


def test_a_reply_is_found_by_its_position(books: Books) -> None:
    after = parse_play(BEST_31, START, (3, 1), INTERNATIONAL)
    reply = Position((-after[::-1]).astype(np.int8), MatchState(), (6, 4))
    found = books.opinion(2, reply, None)
    assert found is not None
    assert found.line == "31 8/5 6/5 64"
    assert books.opinion(9, reply, None) is None, "no book goes so far"


@pytest.mark.parametrize(
    ("match", "asked"),
    [
        (MatchState(7), True),
        (MatchState(7, (7 - LEAST_AWAY, 0)), True),
        (MatchState(7, (5, 0)), False),
        (MatchState(7, (6, 2), crawford=True), False),
        (MatchState(1), False),
    ],
)
def test_a_book_for_money_speaks_for_matches_only_while_both_need_three_points(
    books: Books, match: MatchState, asked: bool
) -> None:
    found = opinion(books, (3, 1), BEST_31, match)
    assert (found is not None) == asked
    assert found is None or not found.same_stakes, "and says that it is a book for money"


def test_a_turned_cube_or_other_rules_are_another_question(books: Books) -> None:
    assert opinion(books, (3, 1), BEST_31, MatchState(cube_value=2, cube_owner=CubeOwner.MOVER)) is None
    tavla = opinion(books, (3, 1), BEST_31, MatchState(rules=TAVLA))
    assert tavla is not None
    assert tavla.book == "tavla"
    assert opinion(books, (3, 1), "8/5 6/5", MatchState(rules=NACKGAMMON)) is None
    with Books("tavla") as named:
        assert opinion(named, (3, 1), BEST_31) is None
        assert named.used == ()
    with pytest.raises(InputError, match="book"):
        Books("nothing")


MATCH = """0 point match

 Game 1
 Fox : 0                              Crow : 0
  1) 31: 8/5 6/5                       64: 24/14
  2) 43: 13/9 13/10                    52: 13/11 13/8

 Game 2
 Fox : 0                              Crow : 1
  1) 43: 6/2 6/3                       66: 24/18(2) 13/7(2)
"""


def decisions(folder: Path, lookup: BookLookup) -> list[DecisionResult]:
    """Of a short money session."""
    (folder / "a.mat").write_text(MATCH, encoding="utf-8")
    (found,) = matches_of(list(analysis_with(small_policy(level=1), lookup=lookup).run(find_files([folder]))))
    return [one for one in found.analysis.decisions if one.done is not None and one.dice is not None]


def test_the_analysis_stays_the_same_beside_a_book(tmp_path: Path, books: Books) -> None:
    beside = decisions(tmp_path, BookLookup(books))
    alone = decisions(tmp_path, BookLookup(None))
    assert [replace(one, book=None) for one in beside] == alone
    assert [one.book is not None for one in beside[:2]] == [True, True]


def test_plays_are_judged_by_the_book_only_where_asked_and_where_it_lists_them(tmp_path: Path, books: Books) -> None:
    found = decisions(tmp_path, BookLookup(books, instead=True))
    by_book = [one for one in found if one.level == BOOK]
    assert [one.done for one in by_book if one.turn == 1] == [BEST_31], "6/2 6/3 is not listed: the analysis judges it"
    for one in by_book:
        assert one.book is not None
        assert one.loss == pytest.approx(one.book.loss, abs=2e-6)
        assert {candidate.level for candidate in one.candidates} == {BOOK}
        assert one.best == one.book.best
    assert all(one.level == "1-ply" for one in found if one.book is None)


# --- figures ---------------------------------------------------------------------------------------------------------


def said(play: str, standing: Standing | None, loss: float | None, same_stakes: bool = True) -> OpeningDecision:
    """A reply with 6-4 and what the book says about it."""
    told = BookOpinion("mine", "31 8/5 6/5 64", "24/14", standing, loss, same_stakes)
    return OpeningDecision("international", 2, False, (6, 4), play, "24/14", 0.2, told)


def collected() -> Openings:
    openings = Openings()
    for one in (
        said("24/14", Standing.BEST, 0.0),
        said("24/18 13/9", Standing.PLAYABLE, 0.004),
        said("24/15", Standing.OPEN, 0.01),
        said("24/20 13/7", Standing.BEATEN, 0.05, same_stakes=False),
        said("24/20 13/7", Standing.BEATEN, 0.05),
        said("8/2* 6/2", None, None),
        OpeningDecision("international", 1, True, (3, 1), "8/5 6/5", "8/5 6/5", 0.0, None),
    ):
        openings.add(one)
    return openings


def test_the_book_counts_its_best_what_is_as_good_and_what_it_does_not_list() -> None:
    (found,) = collected().figures().books
    assert found.first is None, "a first play of which no book says anything"
    assert found.replies is not None
    count = found.replies
    assert (count.plays, count.best, count.playable, count.open, count.unlisted) == (6, 1, 1, 1, 1)
    assert count.loss == pytest.approx(0.114, abs=1e-5)
    assert count.pr == pytest.approx(500 * 0.114 / 5, abs=1e-2), "of those that it lists"
    assert [(one.turn, one.dice, one.count) for one in found.rolls] == [(2, (6, 4), count)]
    assert [(one.play, one.times, one.loss) for one in found.slips] == [
        ("24/20 13/7", 2, 0.05),
        ("8/2* 6/2", 1, None),
    ]
    assert found.other_stakes == 1


@pytest.mark.parametrize("language", Language)
def test_pages_name_the_book_beside_its_values(language: Language, books: Books) -> None:
    words = Words(language)
    figures = collected().figures()
    card = book_card(figures.books[0], words)
    assert words("book_values", book="mine") in card
    assert words("book_other_stakes", count=1) in card
    assert words.number(-0.05, 3) in card
    assert words("book_unlisted") in card
    assert words("book_loss") not in first_plays_card(figures, words), "no book has a say in these first plays"
    opinion(books, (3, 1), BEST_31)
    assert "international, money" in books_html(books.used, words)
    assert books_html((), words) == ""
