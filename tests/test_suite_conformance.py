"""The suite on the real files: each is read as its makers meant it. Needs GAMMONFARM_DATA, the folder of them."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from cluster.filters import load_filter
from engine import outcome as outcomes
from engine.bearoff import Bearoff
from engine.board import flip
from engine.evaluator import Evaluator, Nets
from engine.kernels.network import ONE
from engine.outcome import cubeless_equity
from engine.rules import INTERNATIONAL
from engine.weights import NetKind, shipped_net
from training.suite.contestant import Contestant
from training.suite.endings import read_known_endings
from training.suite.figures import Figure, Measure, Part, SuiteResult
from training.suite.openings import read_book, read_published, read_table_of_openings
from training.suite.run import DataFile, SuiteOptions, available_files, run_suite
from training.suite.values import read_rolled_out

_FOLDER = os.environ.get("GAMMONFARM_DATA")
BENCHMARKS = Path(_FOLDER or ".") / "benchmarks"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(_FOLDER is None, reason="GAMMONFARM_DATA does not name the folder of reference data"),
]
ROLLED_OUT = (DataFile.ROLLOUTS, DataFile.PLAYER_BACK_GAMES, DataFile.OPPONENT_BACK_GAMES)


@pytest.fixture(scope="module")
def nets() -> Nets:
    return Nets(shipped_net(), shipped_net(NetKind.FILTER))


@pytest.fixture(scope="module")
def result(nets: Nets, databases: Bearoff) -> SuiteResult:
    contestant = Contestant(nets, databases, load_filter("normal"), 2)
    options = SuiteOptions(limit=2000)
    return run_suite(contestant, available_files(BENCHMARKS.parent, options), options, lambda *_: None)


def figure(result: SuiteResult, source: str, measure: Measure, level: int | None, group: str | None = None) -> Figure:
    (found,) = [
        f
        for f in result.figures
        if (f.source, f.measure, f.level, f.group) == (source, measure, level, group) and f.part is not Part.CALIBRATION
    ]
    return found


@pytest.mark.parametrize("file", ROLLED_OUT, ids=lambda file: file.name)
def test_rollouts_belong_to_the_player_who_moved(nets: Nets, file: DataFile) -> None:
    # Read so, a net's errors are small; with the same player on roll they are much larger.
    positions = read_rolled_out(BENCHMARKS / file.value)
    assert len(positions.boards) > 4000
    evaluator = Evaluator(nets)

    def error(boards: np.ndarray, turned: bool) -> float:
        found = evaluator.after_positions(boards) / ONE
        found = outcomes.invert(found) if turned else found
        return float(np.abs(cubeless_equity(found, INTERNATIONAL) - positions.equities).mean())

    as_read = error(positions.boards, turned=False)
    on_roll = error(np.stack([flip(board) for board in positions.boards]), turned=True)
    assert as_read < 0.12
    assert on_roll > 1.3 * as_read


def test_every_file_is_used(result: SuiteResult) -> None:
    assert result.missing == ()
    assert {f.part for f in result.figures} == set(Part)


def test_files_hold_as_much_as_they_are_known_to_hold() -> None:
    assert len(read_table_of_openings(BENCHMARKS / DataFile.OPENING_TABLE.value)) == 15
    assert len(read_published(BENCHMARKS / DataFile.OPENINGS_PUBLISHED.value)) == 10
    assert len(read_book(BENCHMARKS / DataFile.OPENING_BOOK.value)) == 64
    assert len(read_known_endings(BENCHMARKS / DataFile.RACES.value)) == 198


def test_the_databases_agree_with_those_of_others(result: SuiteResult) -> None:
    largest = [f for f in result.figures if f.measure is Measure.LARGEST]
    assert len(largest) == 6
    for one in largest:
        # Three or four printed decimals, and chances kept in 16 bits by the other program.
        assert one.value < (0.02 if one.unit.value == "%" else 0.0008), one


def test_the_shipped_net_is_as_strong_as_its_page_says(result: SuiteResult) -> None:
    assert figure(result, "gnubg4ply_small", Measure.LOSS, 1).value < 7.5
    assert figure(result, "gnubg4ply_small", Measure.LOSS, 2).value < 5.0
    name = "bgsage_benchmark_cubeful_pr_rollouts_half"
    assert figure(result, name, Measure.MEAN_ABSOLUTE, 1).value < 0.045
    assert abs(figure(result, name, Measure.BIAS, 1).value) < 0.015
    assert figure(result, "opening_table_xg_book", Measure.BEST_OR_CLOSE, 3).value > 90
