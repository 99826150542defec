"""Match texts, and following a record from decision to decision."""

from __future__ import annotations

import pytest
from records_made import played_gammon

from engine.board import START, make_board
from engine.errors import InputError
from engine.match import CubeOwner
from engine.position import Offer, Player
from engine.records.formats import read_record
from engine.records.mat import read_mat
from engine.records.mat_writer import write_mat
from engine.records.plays import read_spoken, resolve
from engine.records.record import (
    Action,
    CubeTurn,
    Ending,
    GameResult,
    MatchRecord,
    Note,
    Play,
    Problem,
    RecordFormat,
)
from engine.records.replay import decisions
from engine.rules import INTERNATIONAL

SMALL = """; [Event "Spring cup"]
; [EventDate "2024.05.01"]
; [Player 1 "Fox"]

5 point match

 Game 1
 Fox : 0                             Crow : 0
  1) 31: 8/5 6/5                     52: 13/11 13/8
  2) 64: 24/18 13/9                   Doubles => 2
  3)  Takes                          65: 24/13
  4)  Doubles => 4                    Drops
      Wins 2 points
"""


def game_of(body: str, length: int = 5) -> MatchRecord:
    return read_mat(f"{length} point match\n\n Game 1\n Fox : 0                     Crow : 0\n{body}\n")


def plays_of(record: MatchRecord) -> list[str | None]:
    return [turn.play for game in record.games for turn in game.turns if isinstance(turn, Play)]


def problems_of(record: MatchRecord) -> list[Problem]:
    return [note.problem for note in record.notes]


# --- what a match text says ------------------------------------------------------------------------------------------


def test_a_match_text_gives_players_turns_and_result() -> None:
    record = read_mat(SMALL)
    assert record.players == ("Fox", "Crow")
    assert (record.match.length, record.about.event, record.about.date) == (5, "Spring cup", "2024-05-01")
    (game,) = record.games
    assert game.turns[0] == Play(Player.X, (3, 1), "8/5 6/5")
    assert game.turns[3] == CubeTurn(Player.O, Action.DOUBLE)
    assert game.turns[4] == CubeTurn(Player.X, Action.TAKE)
    assert game.turns[-1] == CubeTurn(Player.O, Action.PASS)
    assert game.result == GameResult(Player.X, 2, Ending.PASSED)
    assert record.notes == ()
    assert record.final_score == (2, 0)


def test_the_owner_of_the_cube_alone_may_redouble() -> None:
    body = "  1) 31: 8/5 6/5                  Doubles => 2\n  2)  Takes                       Doubles => 4"
    record = game_of(body)
    assert problems_of(record)[0] is Problem.CUT
    assert [turn.action for turn in record.games[0].turns] == [Action.PLAY, Action.DOUBLE, Action.TAKE]


@pytest.mark.parametrize(
    "cell",
    ["24/22 6/5", "6/5 24/22", "24/22, 6/5", "24/22* 6/5", " 24/22  6/5 ", "24/22 6/5*"],
)
def test_a_play_may_be_written_in_many_ways(cell: str) -> None:
    assert plays_of(game_of(f"  1) 21: {cell}")) == ["24/22 6/5"]


@pytest.mark.parametrize("words", ["25/24", "bar/24", "Bar/24", "Bar/24 Pass", "Bar/24 Cannot Move", "25/24*"])
def test_the_bar_has_many_names_and_the_rest_of_a_roll_may_be_passed(words: str) -> None:
    # Two checkers on the bar against a closed six: one enters, the other die is lost.
    board = make_board([0, -2, 0, 0, 0, 0, 5, 0, 3, 0, 0, 0, -5, 5, 0, 0, 0, -3, 0, -5, 0, 0, 0, 0, 0, 2])
    spoken = read_spoken(words)
    assert spoken is not None
    found = resolve(board, (6, 1), spoken, INTERNATIONAL)
    assert found is not None
    assert (found.play, found.legal) == ("bar/24", True)


@pytest.mark.parametrize("nothing", ["", "Cannot Move", "Can't move", "No move", "Pass", "-"])
def test_a_dance_is_an_empty_cell_or_words(nothing: str) -> None:
    record = game_of(f"  1) 61: 13/7 24/23                 64: 24/18* 24/20\n  2) 66: {nothing:<27} 21: 13/10")
    assert plays_of(record)[2:] == ["no play", "13/10"]
    assert record.illegal_plays == 0


def test_repeats_count_equal_parts_and_stars_may_be_missing() -> None:
    with_repeats = game_of("  1) 31: 8/5 6/5   33: 8/5(2) 6/3(2)")
    one_by_one = game_of("  1) 31: 8/5 6/5   33: 8/5 6/3 8/5 6/3")
    assert plays_of(with_repeats) == plays_of(one_by_one) == ["8/5 6/5", "8/5(2) 6/3(2)"]
    # Fox leaves blots on 13 and 14; 14 is Crow's 11 point.
    for words in ("13/11 24/23", "13/11* 24/23", "24/23 13/11*"):
        assert plays_of(game_of(f"  1) 64: 24/14   21: {words}")) == ["24/14", "24/23 13/11*"]


def test_the_place_of_a_lonely_cell_says_whose_it_is() -> None:
    record = game_of("  1)                             31: 8/5 6/5\n  2) 42: 8/4 6/4                  21: 13/10")
    assert [turn.player for turn in record.games[0].turns] == [Player.O, Player.X, Player.O]
    won = game_of("  1) 31: 8/5 6/5                  42: 8/4 6/4\n                                  Wins 2 points")
    assert won.games[0].result == GameResult(Player.O, 2, Ending.RESIGNED)
    left = game_of("  1) 31: 8/5 6/5                  42: 8/4 6/4\n      Wins 2 point")
    assert left.games[0].result == GameResult(Player.X, 2, Ending.RESIGNED)


@pytest.mark.parametrize(
    ("cells", "winner", "points"),
    [
        ("                                   Losses 1 point", Player.X, 1),
        ("  2)  Concedes                 ", Player.O, 1),
        ("  2)  Resigns\n                                   Wins 2 points", Player.O, 2),
        ("  2) 42: ????                     Wins 3 points", Player.O, 3),
        ("  2)  Resigned Game", Player.O, 1),
        ("      Wins 1 points and the match", Player.X, 1),
    ],
)
def test_a_game_may_be_given_up_in_many_words(cells: str, winner: Player, points: int) -> None:
    record = game_of(f"  1) 31: 8/5 6/5                  42: 8/4 6/4\n{cells}")
    assert record.games[0].result == GameResult(winner, points, Ending.RESIGNED)


def test_the_next_score_tells_what_a_resignation_was_worth() -> None:
    text = (
        "5 point match\n\n Game 1\n Fox : 0                     Crow : 0\n"
        "  1) 31: 8/5 6/5                  42: 8/4 6/4\n  2)  Concedes\n\n"
        " Game 2\n Fox : 0                     Crow : 2\n  1) 31: 8/5 6/5\n"
    )
    assert read_mat(text).games[0].result == GameResult(Player.O, 2, Ending.RESIGNED)


def test_unknown_plays_end_a_game_and_cut_it_where_it_goes_on() -> None:
    ended = game_of("  1) 31: 8/5 6/5                  42: ????\n      Wins 1 point")
    assert plays_of(ended) == ["8/5 6/5", None]
    assert Problem.CUT not in problems_of(ended)
    cut = game_of("  1) 31: 8/5 6/5                  42: ????\n  2) 21: 13/10")
    assert plays_of(cut) == ["8/5 6/5", None]
    assert problems_of(cut) == [Problem.CUT]
    nothing_rolled = game_of("  1) 31: 8/5 6/5                  00: ????\n      Wins 1 point")
    assert plays_of(nothing_rolled) == ["8/5 6/5"]


def test_an_illegal_play_is_kept_and_reading_goes_on_from_the_board_that_it_reaches() -> None:
    record = game_of("  1) 31: 8/4 6/5                  42: 8/4 6/4\n  2) 21: 6/4 5/4")
    assert plays_of(record) == ["8/4 6/5", "8/4 6/4", "6/4 5/4"]
    first, _, third = (turn for turn in record.games[0].turns if isinstance(turn, Play))
    assert (first.legal, first.recorded, third.legal) == (False, "8/4 6/5", True)
    assert record.notes[0] == Note(Problem.ILLEGAL_PLAY, "'8/4 6/5' is no legal play of 31", 1, 1)
    assert [decision.counts for decision in decisions(record) if decision.action is Action.PLAY] == [False, True, True]


def test_a_play_that_nobody_could_make_cuts_the_game_there_but_not_the_others() -> None:
    first = "  1) 31: 8/5 6/5                  42: 20/16 8/6\n  2) 21: 13/10\n      Wins 1 point\n\n"
    second = " Game 2\n Fox : 1           Crow : 0\n  1) 31: 8/5 6/5"
    record = read_mat(f"5 point match\n\n Game 1\n Fox : 0           Crow : 0\n{first}{second}")
    cut = record.notes[0]
    assert (cut.problem, cut.game, cut.turn) == (Problem.CUT, 1, 2)
    assert "20/16 8/6" in cut.reason
    assert len(record.games[0].turns) == 1
    assert record.games[0].result == GameResult(Player.X, 1, Ending.RESIGNED)
    assert plays_of(record)[-1] == "8/5 6/5"


def test_points_that_only_the_match_needed_are_what_the_game_was_worth() -> None:
    body = "  1) 31: 8/5 6/5                  Doubles => 2\n  2)  Takes\n      Wins 1 point and the match"
    record = read_mat(f"5 point match\n\n Game 1\n Fox : 4           Crow : 4\n{body}\n")
    assert record.games[0].result == GameResult(Player.X, 2, Ending.RESIGNED)


def test_comments_survive() -> None:
    record = read_mat(
        "; before all\n5 point match\n\n Game 1\n Fox : 0           Crow : 0\n; about the game\n"
        "  1) 31: 8/5 6/5                  42: 8/4 6/4\n; a good start\n"
    )
    assert record.comment == "before all"
    assert record.games[0].comment == "about the game"
    assert record.games[0].turns[1].comment == "a good start"
    again = read_mat(write_mat(record))
    assert (again.comment, again.games) == (record.comment, record.games)


def test_a_text_without_any_header_is_money_play_unless_it_ends_a_match() -> None:
    rows = " Game 1\n Fox : 0           Crow : 0\n  1) 31: 8/5 6/5                  42: 8/4 6/4\n      Wins 3 points"
    assert read_mat(rows).match.is_money
    assert read_mat(f"{rows} and the match").match.length == 3


@pytest.mark.parametrize(
    ("encode", "name"), [("utf-8-sig", "utf-8-sig"), ("cp1252", "cp1252"), ("utf-8", "utf-8"), ("utf-16", "utf-16")]
)
def test_encodings_and_line_ends_of_all_systems_are_read(encode: str, name: str) -> None:
    text = SMALL.replace("Fox", "Élan").replace("\n", "\r\n")
    record = read_record(text.encode(encode))
    assert record.players[0] == "Élan"
    assert record.source is not None
    assert record.source.encoding == name


def test_headers_set_the_options() -> None:
    head = '; [Crawford "Off"]\n; [Jacoby "On"]\n; [Beaver "On"]\n; [CubeLimit "64"]\n; [Variation "Nackgammon"]\n'
    money, match = read_mat(head + "0 point match\n"), read_mat(head + "7 point match\n")
    assert (money.match.jacoby, money.match.beaver, money.match.cube_cap) == (True, True, 64)
    assert (match.match.jacoby, match.match.crawford_rule, match.match.rules.name) == (False, False, "nackgammon")
    assert not read_mat('; [CubeLimit "1"]\n7 point match\n').match.cube_in_play
    rated = read_mat('; [Player 1 Elo "9,00/0"]\n; [Player 2 Elo "1600"]\n5 point match\n')
    assert rated.about.ratings == ("9,00/0", "1600")


def test_the_game_after_a_side_has_come_to_need_one_point_is_the_crawford_game_once() -> None:
    scores = [(0, 0), (4, 0), (4, 1), (4, 2)]
    games = [
        f" Game {n}\n Fox : {x}           Crow : {o}\n  1) 31: 8/5 6/5\n"
        + ("      Wins 4 points\n" if n == 1 else "                                 Wins 1 point\n")
        for n, (x, o) in enumerate(scores, start=1)
    ]
    record = read_mat("5 point match\n\n" + "\n".join(games))
    assert [game.crawford for game in record.games] == [False, True, False, False]


def test_jacoby_is_told_by_gammons_that_counted_single_where_no_header_says_so() -> None:
    text = "".join(line for line in write_mat(played_gammon()).splitlines(keepends=True) if "Jacoby" not in line)
    assert "Wins 2 points" in text
    single, double = read_mat(text.replace("Wins 2 points", "Wins 1 point")), read_mat(text)
    assert (single.match.jacoby, double.match.jacoby) == (True, False)
    for record, points in ((single, 1), (double, 2)):
        result = record.games[0].result
        assert result is not None
        assert (result.points, result.ending) == (points, Ending.PLAYED)
        assert record.notes == ()


def test_beavers_are_allowed_where_a_session_has_them() -> None:
    rows = (
        "  1) 31: 8/5 6/5                   Doubles => 2",
        "  2)  Beavers => 4                 Takes",
        "  3)                              42: 8/4 6/4",
    )
    body = "\n".join(rows)
    record = game_of(body, length=0)
    assert [turn.action for turn in record.games[0].turns[1:4]] == [Action.DOUBLE, Action.BEAVER, Action.TAKE]
    assert record.match.beaver
    *_, last = decisions(record)
    position = last.position
    assert last.action is None, "the record stops here"
    assert (position.match.cube_value, position.match.cube_owner) == (4, CubeOwner.MOVER)


def test_the_first_double_betrays_automatic_doubles() -> None:
    record = game_of("  1) 31: 8/5 6/5                   Doubles => 4\n  2)  Drops", length=0)
    assert record.games[0].automatic_doubles == 1
    assert record.games[0].result == GameResult(Player.O, 2, Ending.PASSED)


@pytest.mark.parametrize("text", ["", "hello", '; [Site "x"]\n', "12 3"])
def test_a_text_without_a_game_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="file: "):
        read_record(text.encode())


# --- following -------------------------------------------------------------------------------------------------------


def test_decisions_give_every_position_in_the_view_of_the_player_who_decides() -> None:
    record = game_of("  1) 31: 8/5 6/5                   Doubles => 2\n  2)  Takes                       42: 8/4 6/4")
    found = list(decisions(record))
    # No double was possible before the opening roll; after the take only Fox may double.
    assert [d.action for d in found] == [Action.PLAY, Action.DOUBLE, Action.TAKE, Action.PLAY, None]
    assert [d.turn for d in found] == [1, 2, 3, 4, 5]
    opening, double, take, play, end = found
    assert (opening.position.board == START).all()
    assert opening.position.dice == (3, 1)
    assert (double.position.on_roll, double.position.offer) == (Player.O, Offer.NONE)
    assert (take.position.on_roll, take.position.offer) == (Player.X, Offer.DOUBLE)
    assert (play.position.on_roll, play.position.match.cube_owner) == (Player.O, CubeOwner.OPPONENT)
    assert (end.position.on_roll, end.position.match.cube_value) == (Player.X, 2)
    assert play.after is not None
    assert int(play.after[4]) == 2


def test_rolling_is_a_decision_where_a_double_was_possible() -> None:
    record = game_of("  1) 31: 8/5 6/5                  42: 8/4 6/4\n  2) 21: 13/10")
    assert [d.action for d in decisions(record)] == [
        Action.PLAY,
        Action.ROLL,
        Action.PLAY,
        Action.ROLL,
        Action.PLAY,
        None,
    ]
    one_point = game_of("  1) 31: 8/5 6/5                  42: 8/4 6/4", length=1)
    assert [d.action for d in decisions(one_point)] == [Action.PLAY, Action.PLAY, None]


def test_both_styles_of_match_texts_say_the_same() -> None:
    record = game_of("  1) 31: 8/5 6/5                  64: 24/14\n  2) 66: 13/7(2) 24/18(2)")
    jellyfish, xg = write_mat(record, RecordFormat.MAT), write_mat(record, RecordFormat.TXT)
    assert "13/7 13/7" in jellyfish
    assert "13/7(2)" in xg
    assert read_mat(jellyfish).plays_only() == read_mat(xg).plays_only() == record.plays_only()
