"""Tiny files in the formats of the benchmark suite, whose right answers are known because a test wrote them."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from nets import random_net
from numpy.typing import NDArray

from engine.bearoff import Bearoff
from engine.board import START, Board, flip, make_board
from engine.evaluator import Evaluator, Nets
from engine.gnuid import format_gnu_id, format_match_id, format_position_id
from engine.kernels.network import ONE
from engine.notation import format_play
from engine.outcome import cubeless_equity
from engine.position import Offer, Position
from engine.rules import INTERNATIONAL
from engine.search import FilterStep, MoveFilter, rank_plays
from training.suite.contestant import Contestant

NETS = Nets(random_net(6))
EVALUATOR = Evaluator(NETS)
STEP = (FilterStep(1, 4, 1.0),)
FILTER = MoveFilter("test", (STEP, STEP, STEP))

HOLDING = make_board([0, 0, 0, 2, 0, 2, 4, 0, 3, 0, 0, 0, -4, 2, 0, 0, 0, -3, 0, -5, -3, 0, 0, 0, 2, 0])
ON_THE_BAR = make_board([-1, 2, 0, 2, -1, 2, 4, 0, 3, 0, 0, 0, -4, 2, 0, 0, 0, -3, 0, -4, -2, 0, 0, 0, 0, 0])
RACE = make_board([0, 2, 3, 3, 3, 2, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -3, -3, -3, -2, -2, -2, 0])
AFTERS = (START, HOLDING, ON_THE_BAR, RACE)


def contestant(databases: Bearoff, threads: int = 1) -> Contestant:
    """A small random net, which is the same in every test."""
    return Contestant(NETS, databases, FILTER, threads)


def silent(what: str, done: int, total: int) -> None:
    """Progress that nobody looks at."""


def values_of(boards: Sequence[Board], databases: Bearoff) -> NDArray[np.float64]:
    """What the net says of after-positions at 1-ply: float64[N, 5]."""
    evaluator = Evaluator(NETS, databases.arrays)
    return np.stack([evaluator.after_position(board, INTERNATIONAL, 1) for board in boards]) / ONE


def ranked(board: Board, dice: tuple[int, int]) -> list[str]:
    """All plays in the net's order, as text."""
    return [
        format_play(board, play.after, dice, INTERNATIONAL)
        for play in rank_plays(EVALUATOR, board, dice, INTERNATIONAL)
    ]


def decision(board: Board, dice: tuple[int, int], moves: Sequence[tuple[str, float]]) -> dict[str, object]:
    """A recorded decision."""
    return {
        "pos": format_position_id(board),
        "match": format_match_id(Position(board, dice=(max(dice), min(dice)))),
        "dice": list(dice),
        "moves": [{"m": text, "eq": equity} for text, equity in moves],
    }


def cube_decision(position: Position, nd: float, dt: float) -> dict[str, object]:
    """A recorded cube decision, in the view of the player who decides."""
    position_id, match_id = format_gnu_id(position).split(":")
    taking = position.offer is Offer.DOUBLE
    cube = {"kind": "take" if taking else "double", "nd": nd, "dt": dt, "dp": -1.0 if taking else 1.0}
    return {"pos": position_id, "match": match_id, "cube": cube}


def write_lines(path: Path, records: Sequence[object]) -> Path:
    """One JSON document a line; packed where the name says so."""
    path.parent.mkdir(parents=True, exist_ok=True)
    data = "".join((one if isinstance(one, str) else json.dumps(one)) + "\n" for one in records).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def rollout(board: Board, outcome: Sequence[float]) -> dict[str, object]:
    """A rolled-out position as JSON: its board counts the opponent's checkers on the bar as a positive number."""
    counts = [int(count) for count in board]
    counts[0] = -counts[0]
    equity = float(cubeless_equity(np.array(outcome), INTERNATIONAL))
    return {"board": counts, "probs": list(outcome), "equity": equity, "se": 0.001}


def rollout_line(board: Board, outcome: Sequence[float]) -> str:
    """The same as a line of text."""
    record = rollout(board, outcome)
    numbers = [*record["board"], *record["probs"]]  # type: ignore[misc]
    return " ".join(str(number) for number in numbers)


def one_side_id(counts: Sequence[int]) -> str:
    """A position ID whose first side has checkers on its points 1 to 6, and whose second side has none."""
    bits = "".join("1" * count + "0" for count in counts).ljust(80, "0")
    data = bytes(int(bits[i : i + 8][::-1], 2) for i in range(0, 80, 8))
    return base64.b64encode(data).decode().rstrip("=")


def book_record(length: int, dice: tuple[int, int], plays: Sequence[tuple[Board, float, str]]) -> dict[str, object]:
    """A decision of an opening book from the start: after-positions (mover's view) with equities and levels."""
    return {
        "pos": format_position_id(START),
        "dice": list(dice),
        "length": length,
        "cand": [
            {"after": format_position_id(flip(after)), "equity": equity, "level": level}
            for after, equity, level in plays
        ],
    }


def write_all(data: Path, databases: Bearoff) -> Path:
    """A folder of reference data with a few records in every file that the suite knows."""
    folder = data / "benchmarks"
    start = ranked(START, (3, 1))
    decisions = [decision(START, (3, 1), [(start[0], 0.1), (start[1], 0.0)])]
    decisions.append(
        decision(ON_THE_BAR, (6, 3), [(text, -0.1 * i) for i, text in enumerate(ranked(ON_THE_BAR, (6, 3))[1:4])])
    )
    cubes = [cube_decision(Position(board), 0.1, -0.2) for board in (START, HOLDING)]
    cubes.append(cube_decision(Position(RACE, offer=Offer.DOUBLE), 0.3, -0.4))
    decisions = [*decisions, *cubes]
    write_lines(folder / "gnubg4ply_small.jsonl", decisions)
    write_lines(folder / "gnubg4ply_half.jsonl.gz", decisions * 3)
    outcomes = values_of(AFTERS, databases).tolist()
    write_lines(
        folder / "bgsage_benchmark_cubeful_pr_rollouts_half.jsonl.gz",
        [rollout(board, outcome) for board, outcome in zip(AFTERS, outcomes, strict=True)],
    )
    lines = [rollout_line(board, outcome) for board, outcome in zip(AFTERS, outcomes, strict=True)]
    for side in ("player", "opponent"):
        write_lines(folder / f"bgsage_{side}-backgame-benchmark-rollout_half.txt.gz", lines)
    (folder / "opening_table_xg_book.tsv").write_text(
        "roll\tmove\tequity_norm\n31\t8/5 6/5\t0.2\n31\t24/23 13/10\t0.0\n61\t13/7 8/7\t0.1\n"
    )
    published = {"snowie7": {"rows": {"61": [["13/7 8/7", 0.0], ["24/18 24/23", None]]}}}
    (folder / "opening_published.json").write_text(json.dumps(published))
    plays = rank_plays(EVALUATOR, START, (3, 1), INTERNATIONAL)
    write_lines(folder / "xg_book_half.jsonl", [book_record(0, (3, 1), [(plays[0].after, 0.1, "book")])])
    counts = (1, 1, 0, 0, 0, 0)
    rolls = databases.rolls_distribution(counts)
    write_lines(
        folder / "bearoff_one_sided.jsonl",
        [
            {
                "position_id": one_side_id(counts),
                "mean_rolls": databases.mean_rolls(counts),
                "dist_percent": [[number, 100 * chance] for number, chance in enumerate(rolls.tolist())],
            }
        ],
    )
    short = make_board([0, 1, 2, *[0] * 20, -1, -1, 0])
    names = ("cubeless", "owned", "centered", "opp_owns")
    two = {"position_id": format_position_id(short), **dict(zip(names, databases.two_sided(short), strict=True))}
    write_lines(folder / "bearoff_two_sided.jsonl", [two])
    ids = [format_position_id(board) for board in (START, RACE, short)]
    write_lines(folder / "wildbg_race_positions_half.txt", ids)
    return data
