"""The books that come with gammonfarm."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cluster.book.compare import compare_openings
from cluster.book.library import find_book
from cluster.book.published import named_in_the_manual, read_published_tables
from cluster.book.recipe import load_recipe
from cluster.book.verify import verify
from engine.game_chances import opening_rolls

_DATA = os.environ.get("GAMMONFARM_DATA")


@pytest.mark.parametrize(("name", "rolls"), [("international", 15), ("tavla", 21)])
def test_a_shipped_book_has_all_openings_and_replies_and_its_numbers_follow(name: str, rolls: int) -> None:
    with find_book(name) as book:
        openings = {entry.spot.dice for entry in book.entries(1)}
        assert openings == {roll for roll, _ in opening_rolls(book.stakes.rules)}
        assert len(openings) == rolls
        report = verify(book, [], None, lambda done, of: None)
        assert report.ok, report.wrong
        # Whoever goes on with the recipe that comes along goes on with this book.
        recipe = load_recipe(name)
        assert (book.identity.rules, book.identity.score) == (recipe.rules, recipe.score)
        assert (book.identity.seed, book.identity.search_level) == (recipe.seed, recipe.search.level)


@pytest.mark.parametrize("name", ["international", "tavla"])
def test_a_shipped_book_makes_the_five_point_with_31(name: str) -> None:
    with find_book(name) as book:
        (entry,) = [entry for entry in book.entries(1) if entry.spot.roll == "31"]
    assert entry.plays[0].play == "8/5 6/5"
    assert entry.plays[0].equity > 0.1


@pytest.mark.skipif(_DATA is None, reason="GAMMONFARM_DATA does not name the folder of reference data")
def test_every_best_opening_is_the_published_one_or_within_a_hundredth() -> None:
    assert _DATA is not None
    (xg, *_) = read_published_tables(Path(_DATA))
    with find_book("international") as book:
        comparison = compare_openings(book, [xg], named_in_the_manual())
    assert len(comparison.tables[0].rolls) == 15
    for roll in comparison.tables[0].rolls:
        assert roll.good_there, (roll.roll, roll.play)
        # Where the plays differ, theirs loses little in the book as well, whatever its error bars say of the sign.
        assert roll.loss is not None
        assert roll.loss_se is not None
        assert roll.loss - 2.0 * roll.loss_se <= 0.01, (roll.roll, roll.play, roll.loss, roll.loss_se)
