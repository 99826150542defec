"""Match records: dialects are read alike, what is written is read back, and broken bytes are refused, never more."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import InputError
from engine.records.formats import read_record, write_record
from engine.records.record import Action, MatchRecord, RecordFormat
from engine.records.replay import decisions

MATCH = """ 3 point match

 Game 1
 Fox : 0                              Hedgehog : 0
  1) 31: 8/5 6/5                       64: 24/14
  2)  Doubles => 2                      Drops
      Wins 1 point

 Game 2
 Fox : 1                              Hedgehog : 0
  1)                                   52: 13/11 13/8
  2) 21: 13/11 6/5                     Doubles => 2
  3)  Takes                            66: 24/18(2) 13/7(2)
  4) 65: 24/18 13/8
      Wins 2 points and the match
"""
WHOLE = (RecordFormat.MAT, RecordFormat.TXT, RecordFormat.SGF, RecordFormat.JSON)


def read(text: str) -> MatchRecord:
    return read_record(text.encode())


def test_a_match_text_becomes_games_turns_and_scores() -> None:
    record = read(MATCH)
    assert (record.players, record.match.length, len(record.games)) == (("Fox", "Hedgehog"), 3, 2)
    assert [game.score for game in record.games] == [(0, 0), (1, 0)]
    assert [game.result.points for game in record.games if game.result] == [1, 2]
    made = [one.action for one in decisions(record)]
    assert [made.count(action) for action in (Action.DOUBLE, Action.TAKE, Action.PASS)] == [2, 1, 1]
    assert record.illegal_plays == 0


@pytest.mark.parametrize(
    "dialect",
    [
        MATCH.replace("\n", "\r\n"),
        "\ufeff" + MATCH,
        MATCH.replace("24/18(2) 13/7(2)", "24/18 24/18 13/7 13/7"),
        MATCH.replace(" and the match", ""),
        MATCH.replace("Wins 2 points", "Wins 2 point"),
    ],
    ids=["CRLF", "byte order mark", "plays one by one", "end not said", "no plural"],
)
def test_dialects_give_the_same_record(dialect: str) -> None:
    assert read(dialect).plays_only() == read(MATCH).plays_only()


@pytest.mark.parametrize("target", WHOLE, ids=lambda target: target.value)
def test_what_is_written_is_read_back_and_written_the_same(target: RecordFormat) -> None:
    written = write_record(read(MATCH), target)
    again = read(written)
    assert again.plays_only() == read(MATCH).plays_only()
    assert write_record(again, target) == written


def test_an_illegal_play_is_kept_flagged_and_followed() -> None:
    record = read(MATCH.replace("13/11 13/8 ", "13/11 13/9 ").replace("52: 13/11 13/8", "52: 13/11 13/9"))
    assert record.illegal_plays == 1
    (wrong,) = [one for one in decisions(record) if not one.legal]
    assert not wrong.counts
    assert len(list(decisions(record))) == len(list(decisions(read(MATCH)))), "reading went on"


@given(st.data())
@settings(max_examples=60)
def test_damaged_files_are_read_or_refused_in_one_line(data: st.DataObject) -> None:
    target = data.draw(st.sampled_from(WHOLE))
    content = bytearray(write_record(read(MATCH), target).encode())
    for _ in range(data.draw(st.integers(1, 6))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    try:
        read_record(bytes(content[: data.draw(st.integers(1, len(content)))]))
    except InputError as error:
        assert "\n" not in str(error)


# Conformance


REFUSED = {"xgdatatools_example.xg": "an archive with the records of a match"}
"""Files whose container isn't understood: refused in one line."""
DATA = os.environ.get("GAMMONFARM_DATA")
needs_data = pytest.mark.skipif(DATA is None, reason="GAMMONFARM_DATA isn't set: no public match files here")


@needs_data
def test_public_match_texts_have_the_games_that_are_known() -> None:
    assert DATA is not None
    known = json.loads((Path(DATA) / "expected" / "gnubg107_import_facts.json").read_text())
    checked = 0
    for name, facts in known.items():
        path = Path(DATA) / name
        if not isinstance(facts, dict) or "n_games" not in facts or not path.exists():
            continue
        record = read_record(path.read_bytes())
        if facts["gnubg_messages"] == 0:  # else that program itself says that it lost something
            assert (len(record.games), record.match.length) == (facts["n_games"], facts["length"]), name
            checked += 1
    assert checked > 20


@needs_data
@pytest.mark.parametrize("folder", ["mat", "mat_edge", "xg", "xgp", "bgf", "sgf", "position_text", "gnubg_text_export"])
def test_every_public_file_is_read_and_its_record_survives_json(folder: str) -> None:
    assert DATA is not None
    for path in sorted(p for p in (Path(DATA) / folder).iterdir() if p.is_file() and p.suffix not in (".md", ".html")):
        if path.name in REFUSED:
            with pytest.raises(InputError, match=REFUSED[path.name]):
                read_record(path.read_bytes())
            continue
        record = read_record(path.read_bytes())
        assert record.games, path.name
        assert read(write_record(record, RecordFormat.JSON)).plays_only() == record.plays_only(), path.name
