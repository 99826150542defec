"""Plays that other programs and players wrote down: all must be legal here and read as text.

Needs the folder of public reference data in GAMMONFARM_DATA.
"""

from __future__ import annotations

import itertools
import json
import os
from pathlib import Path
from typing import Any

import pytest

from engine.gnuid import parse_position_id
from engine.ids import parse_position
from engine.notation import format_play, parse_play
from engine.rules import INTERNATIONAL

RECORDS = 300


@pytest.fixture(scope="module")
def analysed_positions() -> list[dict[str, Any]]:
    """The first records of GNU Backgammon's analysed positions."""
    folder = os.environ.get("GAMMONFARM_DATA")
    if not folder:
        pytest.skip("GAMMONFARM_DATA is not set: no reference data")
    with (Path(folder) / "benchmarks" / "gnubg4ply_small.jsonl").open(encoding="utf-8") as lines:
        return [json.loads(line) for line in itertools.islice(lines, RECORDS)]


def test_all_candidates_of_gnu_backgammon_are_legal_and_written_alike(analysed_positions: list[dict[str, Any]]) -> None:
    candidates = 0
    for record in analysed_positions:
        board = parse_position_id(record["pos"])
        for move in record.get("moves", []):
            dice = (record["dice"][0], record["dice"][1])
            after = parse_play(move["m"], board, dice, INTERNATIONAL)
            assert format_play(board, after, dice, INTERNATIONAL) == move["m"], record["pos"]
            candidates += 1
    assert candidates > 1000


@pytest.mark.parametrize(("text", "standard"), [("24/13", "24/13"), ("13/8 13/7", "13/8 13/7"), ("13/7 13/8", None)])
def test_plays_of_a_position_posted_by_a_player(text: str, standard: str | None) -> None:
    position = parse_position("XGID=--ABBBC-B---eB---c-cbb--A-:0:0:1:56:0:0:0:0:10")
    after = parse_play(text, position.board, (5, 6), INTERNATIONAL)
    assert format_play(position.board, after, (5, 6), INTERNATIONAL) == (standard or "13/8 13/7")
