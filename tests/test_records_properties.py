"""What holds for every record: writing and reading is the identity, and no bytes do harm."""

from __future__ import annotations

import random
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from records_made import bgf_file, played_match, without_notes, xg_file, xg_stream
from test_records_formats import GNU_TEXT, IDS, MAT, SGF, XG_TEXT, small_bgf, small_xg

from engine.errors import InputError
from engine.position import Offer
from engine.records.formats import WRITTEN, read_record, write_record
from engine.records.record import Action, MatchRecord, Play, RecordFormat
from engine.records.replay import decisions
from engine.records.table import after_cube, after_play

SEEDS = st.integers(0, 2**32 - 1)
FEW = settings(max_examples=12, suppress_health_check=[HealthCheck.too_slow])


@FEW
@given(SEEDS, st.sampled_from([target for target in WRITTEN if target is not RecordFormat.XGID]))
def test_a_match_that_was_really_played_comes_back_from_every_format(seed: int, target: RecordFormat) -> None:
    record = played_match(seed, beaver=True)
    text = write_record(record, target)
    again = read_record(text.encode())
    assert without_notes(again) == record
    assert [note for note in again.notes if "over" not in note.reason] == []
    assert write_record(again, target) == text


@FEW
@given(SEEDS)
def test_following_a_record_finds_the_positions_that_were_played(seed: int) -> None:
    record = played_match(seed, beaver=True)
    for game in record.games:
        found = [d for d in decisions(replace(record, games=(game,))) if d.action is not None]
        assert [d.action for d in found if d.action is not Action.ROLL] == [turn.action for turn in game.turns]
        for decision in found:
            assert decision.counts
            assert (decision.position.offer is Offer.NONE) == (
                decision.action in (Action.PLAY, Action.ROLL, Action.DOUBLE)
            )
            if isinstance(decision.told, Play) and decision.action is Action.PLAY:
                assert decision.position.dice == decision.told.dice
        last = found[-1]
        assert last.action is not None
        left = after_cube(last.position, last.action) if last.after is None else after_play(last.position, last.after)
        assert left.result is None or left.result == game.result


SAMPLES = {
    "mat": MAT.encode(),
    "sgf": SGF.encode(),
    "xg": xg_file(small_xg(), b"{\\rtf1 a\\par}\r\n"),
    "xg stream": xg_stream(small_xg()),
    "bgf": bgf_file(small_bgf()),
    "gnu": GNU_TEXT.encode(),
    "xg text": XG_TEXT.encode(),
    "ids": IDS.encode(),
    "json": write_record(read_record(SGF.encode()), RecordFormat.JSON).encode(),
}
PIECES = (
    *(b"(", b")", b"[", b"]", b";", b"\\", b"*", b"\n", b"-1", b"\xff\xfe", b"(4)", b": 12", b"0" * 30),
    *(b"Doubles => 4", b"Takes", b"Wins 3 points", b"64: 24/18", b"Bar/", b"????", b"Game 7"),
    *(b"XGID=", b"AE[a:y]", b"PL[B]DI[66]"),
)


def damaged(data: bytes, chance: random.Random) -> bytes:
    """A few bytes changed, left out, doubled or put in."""
    content = bytearray(data)
    for _ in range(chance.randint(1, 10)):
        place = chance.randrange(len(content) + 1)
        end = place + chance.randint(1, 40)
        match chance.randrange(5):
            case 0:
                content[place : place + 1] = bytes([chance.randrange(256)])
            case 1:
                del content[place:end]
            case 2:
                content[place:place] = content[place:end]
            case 3:
                content[place:place] = chance.choice(PIECES)
            case _:
                content[place : place + 1] = chance.choice(b"0123456789:/()* \n-").to_bytes(1, "big")
    return bytes(content)


def survives(data: bytes) -> None:
    """Reading gives a record that can be followed and written, or an error of ours."""
    try:
        record = read_record(data)
    except InputError:
        return
    list(decisions(record))
    for target in WRITTEN:
        try:
            text = write_record(record, target)
        except InputError:
            continue
        again = read_record(text.encode())
        assert write_record(again, target) == text
        if target is RecordFormat.JSON:
            assert again == record


@pytest.mark.parametrize("name", SAMPLES)
@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(seed=SEEDS)
def test_a_damaged_file_is_an_error_or_a_record(name: str, seed: int) -> None:
    survives(damaged(SAMPLES[name], random.Random(seed)))


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(SEEDS)
def test_damaged_records_inside_an_xg_file_do_no_harm(seed: int) -> None:
    # Damage to the packed bytes is found by their checksum: this is damage before packing.
    chance = random.Random(seed)
    records = [bytearray(record) for record in small_xg()]
    for _ in range(chance.randint(1, 12)):
        records[chance.randrange(len(records))][chance.randrange(8, 320)] = chance.randrange(256)
    survives(xg_file([bytes(record) for record in records]))


@settings(max_examples=100)
@given(st.binary(max_size=300))
def test_any_bytes_are_an_error_or_a_record(data: bytes) -> None:
    survives(data)


GNU = shutil.which("gnubg", path="/usr/games:/usr/bin:/usr/local/bin")


def read_by_gnu(record: MatchRecord, target: RecordFormat, folder: Path) -> MatchRecord:
    """What GNU Backgammon makes of our file, through its own SGF."""
    assert GNU is not None
    file, result = folder / f"ours.{target.value}", folder / "gnu.sgf"
    file.write_text(write_record(record, target), encoding="utf-8")
    read = f'load match "{file}"' if target is RecordFormat.SGF else f'import mat "{file}"'
    commands = f'{read}\nsave match "{result}"\n'
    subprocess.run([GNU, "-t", "-q"], input=commands, capture_output=True, text=True, timeout=60, check=False)
    return read_record(result.read_bytes())


@pytest.mark.skipif(GNU is None, reason="GNU Backgammon is not installed")
@pytest.mark.parametrize("target", [RecordFormat.SGF, RecordFormat.MAT, RecordFormat.TXT])
@pytest.mark.parametrize("seed", [1, 2, 5])
def test_gnu_backgammon_reads_what_we_write(seed: int, target: RecordFormat, tmp_path: Path) -> None:
    record = played_match(seed)
    found = read_by_gnu(record, target, tmp_path)
    assert found.match.length == record.match.length
    assert found.plays_only().games == record.plays_only().games
