"""IDs against facts that other programs published. Needs GAMMONFARM_DATA, the folder that holds them."""

from __future__ import annotations

import csv
import json
import os
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from engine.board import START, borne_off, pips
from engine.board import flip as flip_board
from engine.gnuid import format_gnu_id, format_position_id, parse_gnu_id, parse_position_id
from engine.ids import parse_position
from engine.match import CubeOwner, MatchState
from engine.position import Offer, Player, Position
from engine.xgid import format_xgid, parse_xgid

_FOLDER = os.environ.get("GAMMONFARM_DATA")
DATA = Path(_FOLDER or ".")
pytestmark = pytest.mark.skipif(_FOLDER is None, reason="GAMMONFARM_DATA does not name the folder of reference data")

_PLAYERS = {"white": Player.X, "black": Player.O}


def _rows(name: str) -> list[dict[str, str]]:
    with (DATA / "ids" / name).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def _lines(name: str) -> list[dict[str, Any]]:
    with (DATA / "benchmarks" / name).open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def test_every_published_xgid_fact_holds() -> None:
    rows = _rows("xgid-factual-fixtures.csv")
    assert len(rows) == 24
    for row in rows:
        position = parse_xgid(row["xgid"])
        # White is X. The facts name the player of the turn field; with a double standing he is the doubler.
        turn = position.on_roll.other if position.offer is Offer.DOUBLE else position.on_roll
        assert turn is _PLAYERS[row["on_roll"]], row["fixture_id"]
        white = position if position.on_roll is Player.X else None
        board = position.board if white else flip_board(position.board)
        match = position.match if white else position.match.flip()
        assert [int(count) for count in board[1:25]] == [int(count) for count in row["points"].split(";")]
        assert (board[25], -board[0]) == (int(row["bar_white"]), int(row["bar_black"]))
        assert borne_off(board) == (int(row["off_white"]), int(row["off_black"]))
        assert position.dice == (tuple(int(die) for die in row["dice"].split(";")) if row["dice"] else None)
        assert (row["action_marker"] == "D") == (position.offer is Offer.DOUBLE)
        owner = {"center": CubeOwner.CENTRED, "white": CubeOwner.MOVER, "black": CubeOwner.OPPONENT}
        facts = MatchState(
            length=int(row["match_length"] or 0),
            score=(int(row["score_white"]), int(row["score_black"])),
            cube_value=int(row["cube_value"]),
            cube_owner=owner[row["cube_owner"]],
            cube_cap=int(row["xgid_max_cube"]),
            crawford=row["is_crawford"] == "true",
            jacoby=row["fixture_id"] == "unlimited_nonzero_score",  # its flag is 3; the table has no such column
            beaver=row["fixture_id"] == "unlimited_nonzero_score",
        )
        assert match == facts, row["fixture_id"]
        assert format_xgid(position) == row["xgid"]


def test_every_published_cube_state_can_be_held_and_says_whose_cube_it_is() -> None:
    for row in _rows("cube-state-fixtures.csv"):
        mover = _PLAYERS[row["on_roll"]]
        crawford = row["is_crawford"] == "true"
        owner = CubeOwner.CENTRED
        if row["cube_owner"] != "center":
            owner = CubeOwner.MOVER if _PLAYERS[row["cube_owner"]] is mover else CubeOwner.OPPONENT
        match = MatchState(
            length=7 if row["play_context"] == "match" else 0,
            score=(6, 0) if crawford else (0, 0),
            cube_value=int(row["cube_value"]),
            cube_owner=owner,
            crawford=crawford,
        )
        text = format_xgid(Position(START, match, on_roll=mover))
        assert text.split(":")[2] == {"center": "0", "white": "1", "black": "-1"}[row["cube_owner"]]
        assert parse_xgid(text).match == match


def test_position_ids_have_the_published_pip_counts_and_round_trip() -> None:
    records = _lines("positionid_pips_half.jsonl")
    assert len(records) == 1025  # the half of 2,050 that is not kept back
    for record in records:
        board = parse_position_id(record["position_id"])
        own, other = pips(board)
        by_player = [other, own] if record["turn"] == 1 else [own, other]
        assert by_player == record["pips"], record["id"]
        assert format_position_id(board) == record["position_id"]


def test_ids_printed_by_gnu_backgammon_are_read_with_dice_and_kind_of_decision() -> None:
    for record in _lines("gnubg4ply_small.jsonl"):
        text = f"{record['pos']}:{record['match']}"
        position = parse_gnu_id(text)
        if "moves" in record:
            assert position.dice == (max(record["dice"]), min(record["dice"]))
        taking = record.get("cube", {}).get("kind") == "take"
        assert (position.offer is Offer.DOUBLE) == taking
        assert format_gnu_id(position).split(":")[0] == record["pos"]
        assert parse_gnu_id(format_gnu_id(position)) == position
        assert parse_position(format_xgid(position)) == position
        assert position.match.away is not None


def test_speed_positions_are_all_x_to_play_with_the_cube_in_the_middle() -> None:
    for record in _lines("speed_positions.jsonl"):
        position = parse_xgid(record["xgid"])
        assert (position.on_roll, position.match.cube_owner) == (Player.X, CubeOwner.CENTRED)


def test_published_ids_of_one_position_in_both_notations_agree() -> None:
    checked = 0
    for path in sorted((DATA / "position_text").glob("bgblitz_*.txt")):
        words = path.read_text(encoding="utf-8", errors="replace").split()
        xgid = next((word for word in words if word.startswith("XGID=")), None)
        ids = [word for before, word in pairwise(words) if before.endswith("-ID:")]
        if xgid is None or len(ids) != 2:
            continue
        assert parse_gnu_id(":".join(ids)) == parse_xgid(xgid), path.name
        checked += 1
    assert checked
