"""Scoring on recorded decisions: hand-made files with known losses."""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Sequence
from pathlib import Path

import pytest
from nets import random_net

from engine.board import START, Board, make_board
from engine.errors import InputError
from engine.evaluator import Evaluator, Nets
from engine.gnuid import format_match_id, format_position_id
from engine.notation import format_play
from engine.position import Position
from engine.rules import INTERNATIONAL
from engine.search import rank_plays
from training.benchmark import read_decisions, score_checker

EVALUATOR = Evaluator(Nets(random_net(6)))
OTHER = make_board([-1, 2, 0, 2, -1, 2, 4, 0, 3, 0, 0, 0, -4, 2, 0, 0, 0, -3, 0, -4, -2, 0, 0, 0, 0, 0])
DICE = (6, 3)


def ranked(board: Board, dice: tuple[int, int] = DICE) -> list[str]:
    """All plays in the evaluator's order, as text."""
    plays = rank_plays(EVALUATOR, board, dice, INTERNATIONAL)
    return [format_play(board, play.after, dice, INTERNATIONAL) for play in plays]


def record(board: Board, moves: Sequence[tuple[str, float]], dice: tuple[int, int] = DICE) -> dict[str, object]:
    """One decision as the files hold it."""
    return {
        "pos": format_position_id(board),
        "match": format_match_id(Position(board, dice=dice)),
        "dice": list(dice),
        "moves": [{"m": text, "eq": equity, "ply": 4} for text, equity in moves],
    }


def write(path: Path, records: Sequence[dict[str, object]]) -> Path:
    """One record a line."""
    path.write_text("".join(json.dumps(one) + "\n" for one in records), encoding="utf-8")
    return path


@pytest.fixture
def three(tmp_path: Path) -> Path:
    """The evaluator's choice is the best, the second (0.04 lost), and not listed (0.25, the worst listed, lost)."""
    start, other = ranked(START), ranked(OTHER)
    return write(
        tmp_path / "three.jsonl",
        [
            record(START, [(start[0], 0.1), (start[1], -0.3)]),
            record(OTHER, [(other[3], 0.2), (other[0], 0.16), (other[1], -0.5)]),
            record(START, [(start[2], -0.05), (start[1], -0.3), (start[4], -0.1)]),
        ],
    )


def test_a_score_is_the_mean_of_what_the_choices_lose(three: Path) -> None:
    score = score_checker(EVALUATOR, read_decisions(three))
    losses = [0.0, 0.04, 0.25]
    mean = sum(losses) / 3
    spread = math.sqrt(sum((x - mean) ** 2 for x in losses) / 2)
    half = 1.96 * spread / math.sqrt(3)
    assert score.decisions == 3
    assert score.meq_per_decision == pytest.approx(1000 * mean)
    assert score.interval95 == pytest.approx((1000 * (mean - half), 1000 * (mean + half)))
    assert score.error_rate == pytest.approx(500 * mean)
    assert score.first_choice == pytest.approx(1 / 3)
    assert score.unlisted == pytest.approx(1 / 3)


@pytest.mark.parametrize(("limit", "mean"), [(1, 0.0), (2, 0.02), (3, 0.29 / 3), (99, 0.29 / 3)])
def test_a_limit_takes_the_first_decisions(three: Path, limit: int, mean: float) -> None:
    score = score_checker(EVALUATOR, read_decisions(three, limit))
    assert score.decisions == min(limit, 3)
    assert score.meq_per_decision == pytest.approx(1000 * mean)


def test_records_without_plays_and_empty_lines_do_not_count(tmp_path: Path, three: Path) -> None:
    cube_only = {"pos": format_position_id(START), "match": format_match_id(Position(START)), "cube": {"nd": 0.1}}
    lines = three.read_text(encoding="utf-8").splitlines()
    mixed = tmp_path / "mixed.jsonl"
    mixed.write_text("\n".join([json.dumps(cube_only), lines[0], "", json.dumps(cube_only), *lines[1:], ""]))
    assert list(read_decisions(mixed)) == list(read_decisions(three))
    assert len(list(read_decisions(mixed, 2))) == 2


def test_packed_files_are_read_as_plain_ones(tmp_path: Path, three: Path) -> None:
    packed = tmp_path / "three.jsonl.gz"
    packed.write_bytes(gzip.compress(three.read_bytes()))
    assert list(read_decisions(packed)) == list(read_decisions(three))


def test_a_choice_is_compared_by_position_and_not_by_text(tmp_path: Path) -> None:
    # 24/15 with 6-3 is one position whether by 18 or by 21; the record writes it in pieces.
    texts = ["24/18/15", "24/21 21/15", "24/15"]
    path = write(tmp_path / "same.jsonl", [record(START, [(text, 0.0), ("13/4", -0.1)]) for text in texts])
    losses = [decision.losses for decision in read_decisions(path)]
    assert losses[0] == losses[1] == losses[2]
    assert sorted(losses[0].values()) == [0.0, 0.1]


def test_the_reference_is_the_first_line_even_where_a_lower_one_shows_more(tmp_path: Path) -> None:
    start = ranked(START)
    path = write(tmp_path / "odd.jsonl", [record(START, [(start[1], 0.1), (start[0], 0.12), (start[2], 0.0)])])
    score = score_checker(EVALUATOR, read_decisions(path))
    assert score.meq_per_decision == 0.0
    assert score.first_choice == 0.0
    assert score.unlisted == 0.0


def test_no_decisions_have_no_score(tmp_path: Path) -> None:
    for content in ("", "\n\n"):
        path = tmp_path / "empty.jsonl"
        path.write_text(content)
        with pytest.raises(InputError, match="no decisions"):
            score_checker(EVALUATOR, read_decisions(path))


def good() -> dict[str, object]:
    """A record that is read without complaint."""
    return record(START, [("24/15", 0.0), ("13/4", -0.1)])


def bad(**changes: object) -> str:
    """A record with some fields changed."""
    return json.dumps(good() | changes)


@pytest.mark.parametrize(
    "line",
    [
        "{not json",
        json.dumps({key: value for key, value in good().items() if key != "pos"}),
        bad(pos="abc"),
        bad(match="!"),
        bad(dice=[6]),
        bad(dice=[6, "x"]),
        bad(moves=[{"m": "24/15"}]),
        bad(moves=[{"m": "24/1", "eq": 0.0}]),
        bad(moves=[{"m": "24/15", "eq": "much"}]),
        bad(moves=[{"m": "24/15", "eq": None}]),
        bad(moves="24/15"),
    ],
)
def test_a_malformed_line_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text(json.dumps(good()) + "\n\n" + line + "\n")
    decisions = read_decisions(path)
    assert next(decisions).dice == (6, 3)
    with pytest.raises(InputError, match=r"bad\.jsonl line 3"):
        next(decisions)


@pytest.mark.parametrize("line", ["[1, 2]", "7", "null", bad(dice=[7, 1]), bad(dice=[0, 3])])
def test_a_line_that_is_json_but_no_decision_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text(line + "\n")
    with pytest.raises(InputError, match=r"bad\.jsonl line 1"):
        list(read_decisions(path))


def test_unreadable_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="benchmark file"):
        list(read_decisions(tmp_path / "absent.jsonl"))
    (tmp_path / "not.jsonl.gz").write_bytes(b"plain text")
    (tmp_path / "cut.jsonl.gz").write_bytes(gzip.compress(json.dumps(good()).encode() * 50)[:-20])
    (tmp_path / "binary.jsonl").write_bytes(b"\xff\xfe\x00")
    for name in ("not.jsonl.gz", "cut.jsonl.gz", "binary.jsonl"):
        with pytest.raises(InputError):
            list(read_decisions(tmp_path / name))


def test_levels_that_do_not_exist_are_refused(three: Path) -> None:
    with pytest.raises(InputError, match="level"):
        score_checker(EVALUATOR, read_decisions(three), level=5)
