"""Records against files of other programs and what GNU Backgammon makes of them. Needs GAMMONFARM_DATA."""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from test_records_properties import GNU, read_by_gnu

from engine.errors import InputError
from engine.records.formats import WRITTEN, read_record, write_record
from engine.records.record import Action, CubeTurn, Ending, GameRecord, MatchRecord, Play, Player, Problem, RecordFormat
from engine.records.replay import decisions

_FOLDER = os.environ.get("GAMMONFARM_DATA")
DATA = Path(_FOLDER or ".")
pytestmark = pytest.mark.skipif(_FOLDER is None, reason="GAMMONFARM_DATA does not name the folder of reference data")

FOLDERS = ("mat", "mat_edge", "sgf", "xg", "xgp", "bgf", "gnubg_text_export", "position_text")
NOT_MATCHES = ("xgdatatools_example.xg",)
"""Text stands where an archive holds its records (temp.xg of 578 bytes): no match, refused in one line."""

# Where GNU Backgammon goes wrong or says something else (see the folder's README): game -> fields not compared.
WRONG = {
    # After the illegal play its board is another one, and it leaves out what it can't play there.
    "mat/gv_rK7pXm4TqLb9NzWd.mat": {12: {"plays", "cannot_move"}},
    "sgf/made_gv_rK7_illegal.sgf": {12: {"plays", "cannot_move"}},
    # It loses results of games without turns.
    "mat/gv_uwvEbd63UvdX7SDin5o_Iw.mat": {9: {"result"}},
    # An empty cell where a play was possible: an illegal play of ours, nothing there.
    "mat_edge/golden_dance.mat": {1: {"plays", "cannot_move"}},
}


@cache
def read(name: str) -> MatchRecord:
    return read_record((DATA / name).read_bytes())


def every_file() -> list[str]:
    paths = [path for folder in FOLDERS for path in sorted((DATA / folder).glob("*")) if path.name not in NOT_MATCHES]
    return [str(path.relative_to(DATA)) for path in paths]


def facts(game: GameRecord) -> dict[str, Any]:
    """What the expectations hold about a game."""
    plays = [turn for turn in game.turns if isinstance(turn, Play) and turn.play is not None]
    cube = [turn.action for turn in game.turns if isinstance(turn, CubeTurn)]
    result = None
    if game.result is not None:
        letter = "W" if game.result.winner is Player.X else "B"
        result = f"{letter}+{game.result.points}{'R' if game.result.ending is Ending.RESIGNED else ''}"
    return {
        "score_w_b": list(game.score),
        "result": result,
        "crawford": game.crawford,
        "plays": len(plays),
        "cannot_move": sum(turn.play == "no play" for turn in plays),
        "doubles": cube.count(Action.DOUBLE),
        "takes": cube.count(Action.TAKE),
        "drops": cube.count(Action.PASS),
    }


def test_games_scores_and_plays_are_what_gnu_backgammon_finds() -> None:
    expected = json.loads((DATA / "expected/gnubg107_import_facts.json").read_text(encoding="utf-8"))
    assert len(expected) > 50
    for name, told in expected.items():
        record = read(name)
        assert (record.match.length, len(record.games)) == (told["length"], told["n_games"]), name
        for number, (game, wanted) in enumerate(zip(record.games, told["games"], strict=True), start=1):
            left_out = WRONG.get(name, {}).get(number, set())
            found = {field: value for field, value in facts(game).items() if field not in left_out}
            assert found == {field: wanted[field] for field in found}, (name, number)


@pytest.mark.parametrize("step", [4, pytest.param(1, marks=pytest.mark.slow)])
def test_every_file_is_read_followed_and_written_as_a_fixed_point(step: int) -> None:
    files = every_file()
    assert len(files) > 100
    for name in files[::step]:
        record = read(name)
        assert len(list(decisions(record))) >= record.turns, name
        for target in WRITTEN:
            set_up = any(game.start is not None for game in record.games)
            if set_up and target in (RecordFormat.MAT, RecordFormat.TXT):
                continue
            text = write_record(record, target)
            again = read_record(text.encode())
            assert write_record(again, target) == text, (name, target)
            if target is not RecordFormat.XGID:
                assert again.plays_only().games == record.plays_only().games, (name, target)


def test_an_archive_without_records_is_refused_in_one_line() -> None:
    for name in NOT_MATCHES:
        with pytest.raises(InputError, match="of 578 bytes"):
            read(f"xg/{name}")


def test_the_same_match_in_several_formats_is_the_same_record() -> None:
    pairs = [(name, f"mat/{Path(name).stem}.mat") for name in every_file() if name.startswith(("xg/", "bgf/"))]
    twins = [(name, text) for name, text in pairs if (DATA / text).exists()]
    assert len(twins) >= 10
    for name, text in twins:
        assert read(name).plays_only() == read(text).plays_only(), name
    same = {"play65_7pt_2305": "play65_7pt.mat", "made_copenhagen1994_11pt": "copenhagen1994_11pt.txt"}
    for stem, text_name in same.items():
        assert read(f"sgf/{stem}.sgf").plays_only() == read(f"mat/{text_name}").plays_only()
    for stem in ("galaxy_match1486073", "galaxy_test-match01"):
        sgf, export = read(f"sgf/{stem}_analyzed.sgf"), read(f"gnubg_text_export/{stem}_analyzed_game1.txt")
        assert export.plays_only().games[0].turns == sgf.plays_only().games[0].turns
        assert sgf.plays_only() == read(f"mat/{stem}.txt").plays_only()


def test_analyses_that_were_found_agree_between_formats() -> None:
    sgf = read("sgf/galaxy_match1486073_analyzed.sgf").games[0]
    export = read("gnubg_text_export/galaxy_match1486073_analyzed_game1.txt").games[0]
    compared = 0
    for ours, theirs in zip(export.turns, sgf.turns, strict=True):
        if isinstance(ours, Play) and isinstance(theirs, Play) and ours.analysis and theirs.analysis:
            known = {candidate.play: candidate.equity for candidate in theirs.analysis.candidates}
            for candidate in ours.analysis.candidates:
                assert candidate.equity == pytest.approx(known[candidate.play], abs=0.0006)
                compared += 1
    assert compared > 150


def test_only_known_plays_are_illegal() -> None:
    illegal = {Path(name).name: read(name).illegal_plays for name in every_file() if read(name).illegal_plays}
    assert illegal == {
        "golden_dance.mat": 2,
        "gv_rK7pXm4TqLb9NzWd.mat": 1,
        "gv_rK7pXm4TqLb9NzWd.xg": 1,
        "made_gv_rK7_illegal.sgf": illegal["made_gv_rK7_illegal.sgf"],  # the rest of a game on another board
        "aachen_doubles_final_7pt.xg": 1,  # 4-3 played as two threes
    }


def test_comments_of_an_xg_file_stand_at_their_turns() -> None:
    record = read("xg/cafe_9pt_comments.xg")
    comments = [turn.comment for game in record.games for turn in game.turns if turn.comment]
    assert comments == ["coup assez difficile", "les double 66 sont toujpurs difficiles à trouver"]
    assert read("xgp/BothAnalysis.xgp").comment.startswith("redouble ?\n.61  .50  S4")


def test_sgf_that_holds_no_backgammon_is_an_error_and_never_hangs() -> None:
    kinds = {}
    for path in sorted((DATA / "sgf_syntax").glob("*.sgf")):
        try:
            kinds[path.stem] = len(read_record(path.read_bytes()).games)
        except InputError:
            kinds[path.stem] = 0
    assert {name for name, games in kinds.items() if games} == {
        "move-annotation",
        "multi-game-tree",
        "setup-properties",
    }


def test_positions_in_four_languages_give_the_same_analysis() -> None:
    for program in ("xg", "bgblitz"):
        for kind in ("01_checkerPosition", "02_NDT", "03_DT", "04_DP"):
            names = [f"position_text/{program}_{kind}_{language}.txt" for language in ("DE", "EN", "FR", "JP")]
            games = [read(name).games[0] for name in names]
            plays = {tuple((c.play, c.equity) for c in game.open_play.candidates) for game in games if game.open_play}
            values = {
                (cube.no_double, cube.double_take, cube.double_pass) for game in games if (cube := game.open_cube)
            }
            assert (len(plays), len(values)) == ((1, 0) if kind.startswith("01") else (0, 1)), (program, kind)


@pytest.mark.skipif(GNU is None, reason="GNU Backgammon is not installed")
@pytest.mark.parametrize("target", [RecordFormat.SGF, RecordFormat.MAT])
@pytest.mark.parametrize("name", ["mat/xg_11pt_b.txt", "mat/heroes_n_08.txt", "xg/cafe_9pt_comments.xg"])
def test_gnu_backgammon_reads_our_copies_of_real_matches(name: str, target: RecordFormat, tmp_path: Path) -> None:
    record = read(name)
    assert read_by_gnu(record, target, tmp_path).plays_only().games == record.plays_only().games


def test_reasons_are_given_where_something_is_wrong() -> None:
    record = read("mat_edge/golden_abandoned_money.mat")
    assert [note.problem for note in record.notes] == [Problem.SCORE, Problem.UNFINISHED]
    assert record.games[1].turns[-1].comment == "engine faulted"
