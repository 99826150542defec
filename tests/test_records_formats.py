"""Formats other than match texts: SGF, XG, BGBlitz, text exports, lists of IDs, JSON, and how they are told apart."""

from __future__ import annotations

import gzip
import json
import struct

import pytest
from records_made import (
    bgf_file,
    bgf_move,
    played_gammon,
    played_match,
    xg_cube,
    xg_end,
    xg_file,
    xg_game,
    xg_match,
    xg_move,
    xg_stream,
)

from engine.board import START
from engine.errors import InputError
from engine.match import CubeOwner, MatchState
from engine.position import Offer, Player, Position
from engine.records.formats import WRITTEN, read_record, write_record
from engine.records.record import (
    Action,
    Chances,
    CubeTurn,
    Ending,
    GameResult,
    MatchRecord,
    Play,
    Problem,
    RecordFormat,
    Unit,
)
from engine.records.replay import decisions
from engine.records.rtf import plain_text
from engine.records.sgf import read_sgf
from engine.records.sgf_tree import read_trees
from engine.records.sgf_writer import write_sgf
from engine.records.smile import read_smile
from engine.records.xg import read_xg

# The same three turns in every format: 31 8/5 6/5, 64 24/18 13/9 by the second player, then a double that is passed.
MAT = """5 point match

 Game 1
 Fox : 0                           Crow : 0
  1) 31: 8/5 6/5                   64: 24/18 13/9
  2)  Doubles => 2                  Drops
      Wins 1 point
"""
SGF = """(;FF[4]GM[6]CA[UTF-8]AP[GNU Backgammon:1.07]MI[length:5][game:0][ws:0][bs:0]PW[Fox]PB[Crow]RU[Crawford]RE[W+1]
;W[31hefe];B[64aglp];W[double];B[drop])
"""


def small_xg() -> list[bytes]:
    first = Position(START)
    second = read_record(MAT.encode())
    before, cube = (d.position for d in decisions(second) if d.turn in (2, 3) and d.action is not Action.ROLL)
    return [
        xg_match(5),
        xg_game(),
        xg_move(first, (3, 1), (7, 4, 5, 4), after(second, 1)),
        xg_move(before, (6, 4), (23, 17, 12, 8), after(second, 2)),
        xg_cube(cube, 0, (0.5, 0.25, 1.0)),
        xg_end(1, 1, 0),
    ]


def after(record: MatchRecord, turn: int) -> list[int]:
    board = next(d.after for d in decisions(record) if d.turn == turn and d.action is Action.PLAY)
    assert board is not None
    return [int(count) for count in board]


def small_bgf() -> dict[str, object]:
    moves = [
        bgf_move(-1, (3, 1), (8, 5), (6, 5)),
        bgf_move(1, (6, 4), (24, 18), (13, 9)),
        bgf_move(-1, (1, 7)),
        bgf_move(1, (3, 7)),
        bgf_move(-1, (4, 7)),
    ]
    game = {"scoreGreen": 0, "scoreRed": 0, "isCrawford": False, "wonPoints": 1, "moves": moves}
    return {"matchlen": 5, "nameGreen": "Fox", "nameRed": "Crow", "useCrawford": True, "games": [game]}


def test_the_same_match_is_the_same_record_whatever_the_format() -> None:
    expected = read_record(MAT.encode())
    assert len(expected.games[0].turns) == 4
    for data in (SGF.encode(), xg_file(small_xg()), xg_stream(small_xg()), bgf_file(small_bgf())):
        record = read_record(data)
        assert record.players == ("Fox", "Crow")
        assert record.plays_only() == expected.plays_only()
        assert record.notes == ()


# --- SGF -------------------------------------------------------------------------------------------------------------


def test_sgf_keeps_comments_and_analyses_and_writes_them_back() -> None:
    evaluation = "hefe E ver 3 0.52 0.16 0.01 0.13 0.01 0.000000 2C 0 1 0.000000 1"
    rollout = "xgxu R ver 2 Trials 36 Output 0.5 0.1 0.0 0.1 0.0 -0.02 -0.03 StdDev 1 1 1 1 1 1 1"
    cube = "E ver 3 2C 1 0.000000 1 " + "0.5 0.1 0.0 0.1 0.0 -0.01 0.497 " * 2
    text = SGF.replace(
        "W[31hefe]", f"W[31hefe]C[a \\] and a \\\\]A[0][{evaluation}][{rollout}]LU[0.0]DA[{cube.strip()}]"
    )
    record = read_sgf(text.encode())
    turn = record.games[0].turns[0]
    assert isinstance(turn, Play)
    assert turn.comment == "a ] and a \\"
    assert turn.analysis is not None
    best, second = turn.analysis.candidates
    # A zero is a value: neither the equity nor the luck is missing.
    assert (best.play, best.equity, turn.analysis.luck) == ("8/5 6/5", 0.0, 0.0)
    assert best.chances == Chances(0.52, 0.16, 0.01, 0.13, 0.01)
    assert (second.equity, second.level) == (-0.03, "rollout, 36 trials")
    assert turn.cube_analysis is not None
    assert (turn.cube_analysis.unit, turn.cube_analysis.no_double) == (Unit.MWC, 0.497)
    again = read_sgf(write_sgf(record).encode())
    assert again.games == record.games


def test_minus_infinity_means_that_nothing_was_said() -> None:
    record = read_sgf(SGF.replace("W[31hefe]", "W[31hefe]LU[-inf]").encode())
    turn = record.games[0].turns[0]
    assert isinstance(turn, Play)
    assert turn.analysis is None


def test_sgf_starts_from_a_set_up_position() -> None:
    set_up = ";AE[a:x]AW[a][a][y]AB[x][x][f];CV[4];CP[b];PL[B]DI[63]"
    record = read_sgf(f"(;GM[6]MI[length:7][game:0][ws:6][bs:3]PW[Fox]PB[Crow]RU[Crawford]{set_up})".encode())
    (decision,) = decisions(record)
    position = decision.position
    assert (position.on_roll, position.dice) == (Player.O, (6, 3))
    assert (position.match.score, position.match.cube_value) == ((3, 6), 4)
    assert position.match.cube_owner is CubeOwner.MOVER
    # White's ace point is Crow's 24, White's bar is the opponent's bar for him.
    assert {place: int(count) for place, count in enumerate(position.board) if count} == {0: -1, 1: 2, 19: 1, 24: -2}
    assert read_sgf(write_sgf(record).encode()).games == record.games


def test_variations_are_left_out_and_only_the_main_line_is_read() -> None:
    record = read_sgf(SGF.replace(";W[double];B[drop]", "(;W[double];B[drop])(;W[11]C[not this])").encode())
    assert record.plays_only() == read_sgf(SGF.encode()).plays_only()


def test_sgf_syntax_has_escapes_charsets_and_line_ends() -> None:
    trees, encoding = read_trees("(;CA[\\w\\i\\n\\d\\o\\w\\s-1\\251]PB[Белый]C[a\\\nb\nc])".encode("cp1251"))
    assert encoding == "windows-1251"
    assert trees[0][0]["PB"] == ["Белый"]
    assert trees[0][0]["C"] == ["ab\nc"]


@pytest.mark.parametrize(
    "text",
    [
        "(;",
        "(;GM[6]",
        "(;GM[6]C[never closed)",
        "(;GM[1];B[aa])",
        "(" * 20_000,
        "(;" * 20_000,
        "(;GM[6]" + "A" * 100 + "[x])",
        "(;GM[6] 7)",
    ],
)
def test_broken_and_hostile_sgf_is_an_error_or_an_empty_game(text: str) -> None:
    try:
        record = read_sgf(text.encode())
    except InputError:
        return
    assert record.turns == 0


def test_a_beaver_in_sgf_is_a_double_by_the_player_who_was_doubled() -> None:
    text = "(;GM[6]MI[length:0][game:0][ws:0][bs:0]RU[];W[31hefe];B[double];W[double];B[double];W[take])"
    record = read_sgf(text.encode())
    actions = [turn.action for turn in record.games[0].turns]
    assert actions[1:] == [Action.DOUBLE, Action.BEAVER, Action.RACCOON, Action.TAKE]
    assert read_sgf(write_sgf(record).encode()).plays_only() == record.plays_only()


# --- XG --------------------------------------------------------------------------------------------------------------


def test_xg_files_hold_comments_analyses_and_endings() -> None:
    comments = b"{\\rtf1\\ansi{\\fonttbl{\\f0 Arial;}}\x01\x02\\pard well pla\\'e9d\\par\x01\x02}\r\nnobody's\r\n"
    records = small_xg()
    moved = bytearray(records[2])
    struct.pack_into("<i", moved, 2524, 0)
    records[2] = bytes(moved)
    record = read_xg(xg_file(records, comments))
    turn = record.games[0].turns[0]
    assert turn.comment == "well plaéd"
    # A comment that belongs to no record is not lost.
    assert record.comment == "nobody's"
    double = record.games[0].turns[2]
    assert isinstance(double, CubeTurn)
    assert double.cube_analysis is not None
    analysis = double.cube_analysis
    assert (analysis.no_double, analysis.double_take, analysis.double_pass, analysis.level) == (0.5, 0.25, 1.0, "3-ply")
    assert analysis.chances == Chances(0.75, 0.5, 0.0, 0.125, 0.0)


def test_equities_of_zero_in_an_xg_file_are_values() -> None:
    position = Position(START)
    records = [xg_match(5), xg_game(), xg_cube(position, 0, (0.0, 0.0, 1.0)), xg_end(1, 1, 0)]
    double = read_xg(xg_file(records)).games[0].turns[0]
    assert double.cube_analysis is not None
    assert (double.cube_analysis.no_double, double.cube_analysis.double_take) == (0.0, 0.0)
    not_analysed = [xg_match(5), xg_game(), xg_cube(position, 0, None), xg_end(1, 1, 0)]
    assert read_xg(xg_file(not_analysed)).games[0].turns[0].cube_analysis is None


def test_an_xg_position_file_is_a_game_without_turns() -> None:
    board = [0, 7, 3, 2, 1, 0, 0, 0, 0, -1, 0, 2, 0, 0, 0, 0, -1, 0, 0, -2, -2, -2, -3, -2, -2, 0]
    position = Position(board, MatchState(length=5), None, Player.O)  # type: ignore[arg-type]
    cube = bytearray(xg_cube(position, -1, (0.75, 1.0, 1.0)))
    struct.pack_into("<ii", cube, 16, -1, -1)
    struct.pack_into("<i", cube, 32, -1)
    record = read_xg(xg_file([xg_match(5), xg_game((0, 1)), bytes(cube)]))
    (decision,) = decisions(record)
    assert decision.position.on_roll is Player.O
    assert [int(count) for count in decision.position.board] == board
    assert (decision.position.match.score, decision.position.match.cube_value) == ((1, 0), 2)
    assert decision.position.match.cube_owner is CubeOwner.MOVER
    assert decision.cube_analysis is not None
    assert decision.cube_analysis.no_double == 0.75


@pytest.mark.parametrize(
    "data",
    [
        b"RGMH",
        b"RGMH" + bytes(9000),
        xg_file(small_xg())[:8400],
        xg_file([xg_game()]),
    ],
    ids=["short", "zeros", "cut off", "no match"],
)
def test_broken_xg_files_are_errors(data: bytes) -> None:
    with pytest.raises(InputError):
        read_record(data)


def test_an_xg_file_without_its_registry_is_read_from_the_stream_of_records() -> None:
    whole = xg_file(small_xg())
    assert read_record(whole[:-40]) == read_record(whole)


def test_an_xg_file_that_unpacks_to_too_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.records.xg_file.MOST_BYTES", 100_000)
    with pytest.raises(InputError, match="unpacked"):
        read_record(xg_file([bytes(2560)] * 50))


def test_rtf_shows_what_a_reader_sees() -> None:
    assert plain_text("{\\rtf1{\\fonttbl{\\f0 A;}}{\\*\\generator x;}\\b one\\b0\\par two\\u8211 ? {three}\\}}") == (
        "one\ntwo\u2013 three}"
    )
    assert plain_text("no rtf at all") == "no rtf at all"


# --- BGBlitz ---------------------------------------------------------------------------------------------------------


def test_bgblitz_analyses_are_read_and_minus_999_is_no_value() -> None:
    match = small_bgf()
    evaluation = {
        "myWins": "0.5",
        "myGammon": "0.1",
        "myBackGammon": "0.0",
        "oppGammon": "0.1",
        "oppBackGammon": "0.0",
        "equity": "0.25",
        "hasEMG": True,
        "emg": "0.00000000",
        "useMatchEquity": True,
        "cubeDecision": {"eqNoDouble": "0.5", "eqDoubleTake": "-999.0", "eqDoublePass": "0.57"},
    }
    candidate = {"move": {"from": [8, 6, -1, -1], "to": [5, 5, -1, -1]}, "eq": evaluation, "ply": 3}
    moves = match["games"][0]["moves"]  # type: ignore[index]
    moves[0] |= {"equity": evaluation, "moveAnalysis": [candidate], "comment": "good", "luck": {"luckWeighted": "-999"}}
    turn = read_record(bgf_file(match)).games[0].turns[0]
    assert isinstance(turn, Play)
    assert turn.comment == "good"
    assert turn.analysis is not None
    assert (turn.analysis.candidates[0].play, turn.analysis.candidates[0].equity) == ("8/5 6/5", 0.0)
    assert turn.analysis.luck is None
    assert turn.cube_analysis is not None
    assert (turn.cube_analysis.unit, turn.cube_analysis.no_double) == (Unit.MWC, 0.5)
    assert turn.cube_analysis.double_take is None


def test_a_game_lost_on_time_says_so_and_sgf_keeps_it() -> None:
    match = small_bgf()
    game = match["games"][0]  # type: ignore[index]
    game["moves"] = [*game["moves"][:2], bgf_move(1, (4, 7))]
    game["lostOnTime"] = True
    record = read_record(bgf_file(match))
    assert record.games[0].result == GameResult(Player.O, 1, Ending.TIME)
    assert read_sgf(write_sgf(record).encode()).games[0].result == record.games[0].result


def test_smile_documents_share_names_and_texts() -> None:
    head = b":)\n\x03"
    # {"name": ["abc", "abc", 5, true, null], "name2": {"name": -1}}
    body = b"\xfa\x83name\xf8\x42abc\x01\xca\x23\x21\xf9\x84name2\xfa\x40\xc1\xfb\xfb"
    assert read_smile(head + body) == {"name": ["abc", "abc", 5, True, None], "name2": {"name": -1}}
    assert read_smile(head + b"\x24\x01\x80") == 32
    zero = b"\x29" + bytes(10)
    assert read_smile(head + zero) == 0.0


@pytest.mark.parametrize(
    "data",
    [
        b":)\n\x03",
        b":)\n\x03\xf8" * 3,
        b":)\n\x03" + b"\xf8" * 100_000,
        b":)\n\x03\x05",
        b":)\n\x03\xe0abc",
        b":)\n\x03\x44ab",
        b":)\n\x03\xfa\xc1",
    ],
)
def test_broken_and_hostile_smile_is_an_error(data: bytes) -> None:
    with pytest.raises(InputError):
        read_smile(data)


def test_a_bgf_file_that_unpacks_to_too_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = b'{"format":"BGF","compress":true}\n' + gzip.compress(bytes(1_000_000))
    monkeypatch.setattr("engine.records.encoding.MOST_BYTES", 100_000)
    monkeypatch.setattr("engine.records.bgf.MOST_BYTES", 100_000)
    with pytest.raises(InputError, match="at most"):
        read_record(bomb)


# --- text exports ----------------------------------------------------------------------------------------------------

XG_TEXT = """XGID=-b----E-C---eE---c-e----B-:0:0:1:31:0:0:0:5:10

X:Fox   O:Crow
Le score est X:0 O:0 match en 5 pt(s)
 +13-14-15-16-17-18------19-20-21-22-23-24-+
X doit jouer 31

    1. 4-plis      8/5 6/5                      éq:+0,159
      Joueur:   55,50% (G:17,00% B:1,00%)
      Adversaire: 44,50% (G:12,00% B:0,50%)

    2. Rollout     24/23 13/10                  éq:+0,000 (-0,159)
      Joueur:   50,00% (G:0,00% B:0,00%)
      Adversaire: 50,00% (G:0,00% B:0,00%)
As in XGID=-b----E-C---eE---c-e----B-:0:0:1:66:0:0:0:5:10
XGID=-b----E-C---eE---c-e----B-:0:0:1:66:0:0:0:5:10
"""


def test_only_an_xgid_that_heads_a_position_counts() -> None:
    record = read_record(XG_TEXT.encode())
    (game,) = record.games
    assert record.players == ("Fox", "Crow")
    assert game.open_play is not None
    best, second = game.open_play.candidates
    assert (best.play, best.equity, best.level) == ("8/5 6/5", 0.159, "4-plis")
    assert best.chances == Chances(0.555, 0.17, 0.01, 0.12, 0.005)
    assert (second.play, second.equity) == ("24/23 13/10", 0.0)
    (decision,) = decisions(record)
    assert decision.position.dice == (3, 1)


def test_an_xgid_in_a_comment_does_not_make_a_match_a_position() -> None:
    comment = "; XGID=-b----E-C---eE---c-e----B-:0:0:1:66:0:0:0:5:10"
    record = read_record(MAT.replace("  2)  D", f"{comment}\n  2)  D").encode())
    assert record.source is not None
    assert record.source.format is RecordFormat.MAT
    assert record.games[0].turns[1].comment.startswith("XGID=")
    sgf = read_record(SGF.replace("W[31hefe]", f"W[31hefe]C[{comment[2:]}]").encode())
    assert sgf.plays_only() == record.plays_only()


GNU_TEXT = """The score (after 0 games) is: Fox 0, Crow 0 (match to 5 points)

Match Information:
Date: 05/09/2023
Event: Spring cup

Move number 1:  Fox to play 31

 GNU Backgammon  Position ID: 4HPwATDgc/ABMA
* Fox moves 8/5 6/5

Rolled 31 (+0.000):
*    1. Cubeful 2-ply    8/5 6/5                      Eq.: +0.159
       0.555 0.170 0.010 - 0.445 0.120 0.005
     2. Cubeful 2-ply    24/23 13/10                  Eq.: +0.000 (-0.159)
       0.500 0.100 0.000 - 0.500 0.100 0.000

Move number 2:  Crow to play 64

* Crow moves 24/18 13/9

Move number 3:  Fox on roll, cube decision?

* Fox doubles

Cube analysis
2-ply cubeless equity +0.100
  0.520 0.100 0.000 - 0.480 0.100 0.000
Cubeful equities:
1. No double           +0.000
2. Double, pass        +1.000  (+1.000)
3. Double, take        -0.500  (-0.500)

Move number 4:  Crow doubled

* Crow rejects

Fox wins 1 point
"""


def test_a_text_export_of_gnu_backgammon_is_a_match_with_its_analysis() -> None:
    record = read_record(GNU_TEXT.encode())
    assert record.plays_only() == read_record(MAT.encode()).plays_only()
    assert (record.about.event, record.about.date) == ("Spring cup", "2023-09-05")
    first, _, double, _ = record.games[0].turns
    assert isinstance(first, Play)
    assert first.analysis is not None
    assert [(c.play, c.equity) for c in first.analysis.candidates] == [("8/5 6/5", 0.159), ("24/23 13/10", 0.0)]
    assert first.analysis.luck == 0.0
    assert double.cube_analysis is not None
    assert (double.cube_analysis.no_double, double.cube_analysis.double_take) == (0.0, -0.5)
    assert double.cube_analysis.chances == Chances(0.52, 0.1, 0.0, 0.1, 0.0)


# --- lists of IDs ----------------------------------------------------------------------------------------------------

IDS = """# three positions
XGID=-b----E-C---eE---c-e----B-:0:0:1:31:0:0:0:5:10 an opening
4HPwATDgc/ABMA:cAkAAAAAAAAE
XGID=-b----E-C---eE---c-e----B-:9:9:9

XGID=-b----E-C---eE---c-e----B-:0:0:1:D:0:0:0:5:10
"""


def test_a_list_of_ids_is_read_line_by_line_and_a_bad_line_does_not_stop_the_others() -> None:
    record = read_record(IDS.encode())
    found = list(decisions(record))
    assert [decision.position.dice for decision in found] == [(3, 1), None, None]
    assert [decision.position.offer for decision in found] == [Offer.NONE, Offer.NONE, Offer.DOUBLE]
    assert record.games[0].comment == "an opening"
    (note,) = record.notes
    assert note.problem is Problem.IGNORED
    assert note.reason.startswith("line 4: ")


def test_the_positions_of_a_match_can_be_written_as_a_list() -> None:
    text = write_record(read_record(MAT.encode()), RecordFormat.XGID)
    lines = text.splitlines()
    assert len(lines) == len(set(lines)) == 5  # two plays, a roll, a double, an answer
    assert write_record(read_record(text.encode()), RecordFormat.XGID) == text


# --- JSON ------------------------------------------------------------------------------------------------------------


def test_json_keeps_everything() -> None:
    for data in (SGF, XG_TEXT, GNU_TEXT, IDS):
        record = read_record(data.encode())
        assert read_record(write_record(record, RecordFormat.JSON).encode()) == record
    record = played_match(3)
    assert read_record(write_record(record, RecordFormat.JSON).encode()) == record


@pytest.mark.parametrize(
    ("path", "value", "field"),
    [
        (("version",), 99, "version"),
        (("players",), ["one"], "record.players"),
        (("match", "length"), "five", "record.match.length"),
        (("match", "length"), -3, "match length"),
        (("games", 0, "turns", 0, "dice"), [True, 1], "dice"),
        (("games", 0, "turns", 0, "player"), "Z", "player"),
        (("games", 0, "turns", 0, "strange"), 1, "turns"),
        (("games", 0, "start"), "XGID=nothing", "XGID"),
        (("games",), {"a": 1}, "record.games"),
    ],
)
def test_json_that_is_not_as_it_should_be_names_the_field(
    path: tuple[str | int, ...], value: object, field: str
) -> None:
    document = json.loads(write_record(read_record(MAT.encode()), RecordFormat.JSON))
    place = document
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    with pytest.raises(InputError, match=field):
        read_record(json.dumps(document).encode())


# --- what formats can't hold -----------------------------------------------------------------------------------------


def test_a_match_text_refuses_a_set_up_position_and_formats_that_are_only_read_are_named() -> None:
    positions = read_record(IDS.encode())
    with pytest.raises(InputError, match="set-up position"):
        write_record(positions, RecordFormat.MAT)
    with pytest.raises(InputError, match="one of mat, txt, sgf, xgid, json"):
        write_record(positions, RecordFormat.XG)


@pytest.mark.parametrize("target", WRITTEN)
def test_a_whole_game_is_written_in_every_format(target: RecordFormat) -> None:
    record = played_gammon()
    again = read_record(write_record(record, target).encode())
    if target is RecordFormat.XGID:
        positions = [d.position for d in decisions(record) if d.action is not None]
        assert [d.position for d in decisions(again)] == positions
    else:
        assert again.plays_only() == record.plays_only()
