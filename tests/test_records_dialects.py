"""Match texts as different programs, servers and transcribers write them: one match, the same record each time."""

from __future__ import annotations

import pytest

from engine.position import Player
from engine.records.formats import read_record
from engine.records.record import Action, GameRecord

TEXT = """ 5 point match

 Game 1
 Fox : 0                              Crow : 0
  1) 31: 8/5 6/5                      64: 24/14
  2) 52: 13/8 13/11*                  43: bar/21 13/10
  3) 63: 24/18 11/8                   Doubles => 2
  4)  Drops
                                      Wins 1 point

 Game 2
 Fox : 0                              Crow : 1
  1)                                  21: 13/11 6/5
  2) 66: 24/18(2) 13/7(2)             55: 8/3(2) 6/1(2)
      Wins 2 points
"""
HEADINGS = {
    "number sign": (("Game ", "Game #"),),
    "colon": (("Game ", "Game: "),),
    "No.": (("Game ", "Game No. "),),
    "no space": (("Game ", "Game"),),
    "French": (("Game ", "Partie "),),
    "in words": (("Game 1", "First game"), ("Game 2", "Second game")),
    "pt": (("5 point match", "5 pt match"),),
    "match to": (("5 point match", "Match to 5 points"),),
    "match length": (("5 point match", "Match length: 5"),),
    "said twice": (("5 point match", "5 point match\n Match length: 5"),),
    "score first": (
        (" Game 1\n Fox : 0                              Crow : 0\n", " Fox : 0       Crow : 0\n Game 1\n"),
        (" Game 2\n Fox : 0                              Crow : 1\n", " Fox : 0       Crow : 1\n Game 2\n"),
    ),
    "no headings": ((" Game 1\n", ""), (" Game 2\n", "")),
    "the same score again": (("  2) 66", " Fox : 0                              Crow : 1\n  2) 66"),),
    "the last score": (("Wins 2 points\n", "Wins 2 points\n\n Fox : 2                              Crow : 1\n"),),
    "remark on a game": (("Wins 1 point\n", "Wins 1 point\n Game 1 won by Crow\n"),),
    "end of a DOS file": (("Wins 2 points\n", "Wins 2 points\n\x1a"),),
    "who won the match": (("Wins 2 points\n", "Wins 2 points\nMatch won by Crow\n"),),
}
CELLS = {
    "numbers with a dot": ((" 1) ", " 1. "), (" 2) ", " 2. "), (" 3) ", " 3. "), (" 4) ", " 4. ")),
    "dice with a comma": (("31:", "3,1:"), ("64:", "6,4:")),
    "dice with a space": (("31:", "3 1:"), ("64:", "6 4:")),
    "dice in brackets": (("1) 31:", "1) (3 1)"), ("64:", "[64]")),
    "dice without a colon": tuple((f"{dice}:", dice) for dice in ("31", "64", "52", "43", "63", "21", "66", "55")),
    "hyphens": (("/", "-"),),
    "typographic": (("8/5 6/5", "8\N{FRACTION SLASH}5 6\N{FRACTION SLASH}5"), ("24/14", "24\N{EN DASH}14")),
    "spaces that do not break": ((" ", "\N{NO-BREAK SPACE}"),),
    "marks of errors": (("24/14", "24/14??"), ("24/18 11/8 ", "24/18 11/8 ?!")),
    "losses and times": (("24/14", "24/14 (-0.061)"), ("24/18 11/8 ", "24/18 11/8 [12s]")),
    "x for a hit": (("13/11*", "13/11x"),),
    "x for a count": (("24/18(2)", "24/18x2"), ("13/7(2)", "13/7 x2")),
    "b for the bar": (("bar/21", "B/21"),),
    "doubled": (("Doubles => 2", "Doubled to 2"),),
    "offered": (("Doubles => 2", "Offers a double"),),
    "refused": (("Drops", "Refuses"),),
    "declined": (("Drops", "Declined"),),
    "folded": (("Drops", "Folds"),),
    "passed": (("Drops", "Passed"),),
    "a gammon": (("Wins 2 points", "Wins a gammon"),),
    "given up": (("      Wins 2 points", "                                      Resigns a gammon"),),
    "winner by name": (("      Wins 2 points", "                                      Fox wins 2 points"),),
}


def changed(replacements: tuple[tuple[str, str], ...]) -> str:
    text = TEXT
    for old, new in replacements:
        assert old in text
        text = text.replace(old, new)
    return text


def games_of(text: str, encoding: str = "utf-8") -> list[GameRecord]:
    record = read_record(text.encode(encoding))
    assert (record.match.length, record.players) == (5, ("Fox", "Crow"))
    return list(record.games)


@pytest.mark.parametrize("name", HEADINGS)
def test_headings_differ_and_the_match_is_the_same(name: str) -> None:
    assert games_of(changed(HEADINGS[name])) == games_of(TEXT)


@pytest.mark.parametrize("name", CELLS)
def test_cells_differ_and_the_match_is_the_same(name: str) -> None:
    assert games_of(changed(CELLS[name])) == games_of(TEXT)


def test_utf_16_needs_no_mark() -> None:
    assert games_of(TEXT, "utf-16-le") == games_of(TEXT, "utf-16") == games_of(TEXT)


def test_the_text_they_are_compared_with_is_read_in_full() -> None:
    first, second = games_of(TEXT)
    assert [turn.action for turn in first.turns][-2:] == [Action.DOUBLE, Action.PASS]
    assert [len(game.turns) for game in (first, second)] == [7, 3]
    assert second.result is not None
    assert (second.result.winner, second.result.points) == (Player.X, 2)
    assert all(getattr(turn, "legal", True) for game in (first, second) for turn in game.turns)


@pytest.mark.parametrize(
    "nothing",
    [
        "Cannot Move",
        "no move possible",
        "(dances)",
        "Fans",
        "No legal move",
        "can\N{RIGHT SINGLE QUOTATION MARK}t move",
        "xx",
        "--",
    ],
)
def test_a_dance_has_many_words_and_does_not_end_the_game(nothing: str) -> None:
    first = games_of(changed((("43: bar/21 13/10", f"66: {nothing}"),)))[0]
    assert len(first.turns) == 7
    assert (getattr(first.turns[3], "play", None), getattr(first.turns[3], "legal", None)) == ("no play", True)


def test_an_illegal_play_named_so_is_kept_and_flagged() -> None:
    text = changed((("24/18 11/8 ", "Illegal play (24/18 11/9)"),))
    first = games_of(text)[0]
    wrong = first.turns[4]
    assert (getattr(wrong, "legal", None), len(first.turns)) == (False, 7)
