"""The benchmark: figures, positions, GNU Backgammon's output and the command. Nothing here looks at how fast it is."""

from __future__ import annotations

import json
import os
import sys
from importlib import resources
from pathlib import Path

import pytest
from nets import random_net

from cluster.bench import gnubg
from cluster.bench.archive import made_match
from cluster.bench.engine import seconds_to_target
from cluster.bench.gnubg import Work, parse_output, run_gnubg
from cluster.bench.measure import Effort, Figure, cpu_seconds, passes_for, pinned, repeat
from cluster.bench.positions import OWN_SET, load_positions, read_positions
from cluster.bench.schemas import BenchPositionsReport, BenchReport
from cluster.bench.suite import Part, report_of
from cluster.cli.bench import _UNITS, BenchPart
from cluster.cli.main import main
from engine.bearoff import Bearoff
from engine.board import START, flip
from engine.errors import InfrastructureError, InputError, InternalError
from engine.evaluator import Evaluator, Nets
from engine.ids import parse_position
from engine.records.mat import read_mat
from engine.records.mat_writer import write_mat
from engine.records.replay import decisions
from workers.gnubg import gnubg_board
from workers.gnubg_program import find_gnubg

XGID = "XGID=-b----E-C---eE---c-e----B-:0:0:1:22:0:0:0:0:10"
OTHER = "XGID=--ABBBC-B---eB---c-cbb--A-:0:0:1:65:0:0:0:0:10"

ROLLED = """
Current Position:
  0.000000 0.000000 0.000000 - 1.000000 0.000000 0.000000 CL +0.000000
 [0.000000 0.000000 0.000000 - 0.000000 0.000000 0.000000 CL  0.000000]
Full cubeless rollout (truncated at one-sided bearoff) with variance reduction
0 games, Mersenne Twister dice gen. with seed 1 and quasi-random dice
Play: 0-ply cubeful prune
Time elapsed 0s Estimated time left 0s

Rollout done. Printing final results.

Current Position:
  0.471013 0.080963 0.003700 - 0.528987 0.095557 0.000754 CL -0.069622
 [0.009974 0.008590 0.001257 - 0.009974 0.008688 0.001191 CL  {error}] 1r
Full cubeless rollout (truncated at one-sided bearoff) with variance reduction
216 games, Mersenne Twister dice gen. with seed 1 and quasi-random dice
Estimated SE for "Current Position" after 216 trials  {error}
@rollout {cpu} 9.1
"""
GREETING = "GNU Backgammon 1.07.001 20230103\r\nCopyright (C) 1999-2004 Gary Wong.\r\n"
CALIBRATED = "".join(
    f"Calibration result: {rate} static evaluations/second.\r\n@calibrate 0.5 1.0\r\n"
    for rate in (50_000, 52_000, 40_000)
)
SEARCHED = "@search 1 0.0006 2\r\n@search 3 0.1 2\r\n"
TWO = (parse_position(XGID), parse_position(OTHER))


# --- figures ---------------------------------------------------------------------------------------------------------


def test_a_figure_is_its_median_with_its_extremes() -> None:
    figure = Figure((3.0, 1.0, 10.0))
    assert (figure.median, figure.low, figure.high) == (3.0, 1.0, 10.0)
    assert Figure((1.0, 3.0)).median == 2.0
    with pytest.raises(InternalError):
        Figure(())


def test_runs_are_repeated_as_often_as_asked() -> None:
    values = iter([5.0, 1.0, 3.0, 9.0])
    assert repeat(lambda: next(values), Effort(3)).runs == (5.0, 1.0, 3.0)


def test_a_run_that_takes_all_the_time_is_not_repeated() -> None:
    values = iter([5.0, 1.0])
    assert repeat(lambda: next(values), Effort(3, seconds=0.0)).runs == (5.0,)


def test_time_is_shared_between_figures() -> None:
    assert Effort(2, 30.0).shared(3) == Effort(2, 10.0)


@pytest.mark.parametrize("repeats", [0, -1, 100])
def test_impossible_numbers_of_repeats_are_refused(repeats: int) -> None:
    with pytest.raises(InputError, match="repeats"):
        Effort(repeats)


def test_passes_fill_the_time_wanted() -> None:
    assert passes_for(0.1, 1.0) == 10
    assert passes_for(5.0, 1.0) == 1


def test_time_never_is_zero() -> None:
    assert cpu_seconds(lambda: None) > 0


def test_the_error_falls_with_the_root_of_the_time() -> None:
    # Two plays together took 10 s, 5 s each, and reached half and twice the error of 0.004.
    assert seconds_to_target([0.002, 0.008], 10.0) == pytest.approx(5.0 * (0.25 + 4.0) / 2)


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system can't pin a process")
def test_pinning_holds_inside_the_block_only() -> None:
    before = os.sched_getaffinity(0)
    core = min(before)
    with pinned(core):
        assert os.sched_getaffinity(0) == {core}
    assert os.sched_getaffinity(0) == before
    with pytest.raises(InputError, match="pin: '999'"), pinned(999):
        pass


# --- positions -------------------------------------------------------------------------------------------------------


def test_the_own_set_is_there_and_used_without_another(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("GAMMONFARM_DATA", raising=False)
    own = load_positions(None)
    assert (own.source, len(own.positions), own.problem) == (OWN_SET, 40, 0)
    assert own.positions[0].dice == (2, 2)
    assert len({position.board.tobytes() for position in own.positions}) == 40
    assert (resources.files("configs") / "bench" / "positions.txt").is_file()
    monkeypatch.setenv("GAMMONFARM_DATA", str(tmp_path))  # a folder without speed positions
    assert load_positions(None) == own


def test_speed_positions_of_the_reference_data_come_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = tmp_path / "benchmarks"
    folder.mkdir()
    records = [{"id": 7, "xgid": OTHER}, {"id": 113, "xgid": XGID}]
    (folder / "speed_positions.jsonl").write_text("".join(json.dumps(r) + "\n" for r in records))
    monkeypatch.setenv("GAMMONFARM_DATA", str(tmp_path))
    found = load_positions(None)
    assert (found.source, len(found.positions), found.problem) == ("speed_positions.jsonl", 2, 1)


def test_plain_ids_are_read_with_comments() -> None:
    found = read_positions("mine.txt", f"# a comment\n\n{OTHER}\n{XGID}\n")
    assert (len(found.positions), found.problem) == (2, 0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "at least one position"),
        (f"{XGID}\nnonsense\n", "mine.txt line 2"),
        (XGID.replace(":22:", ":00:"), "a position with dice"),
        ('{"id": 3}', "mine.txt line 1"),
        ("{3", "mine.txt line 1"),
        # All fifteen behind a six-point prime: nothing to choose.
        ("XGID=-" + "-" * 17 + "bbbbbb" + "O-:0:0:1:65:0:0:0:0:10", "at least two legal plays"),
    ],
)
def test_files_without_usable_positions_are_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_positions("mine.txt", text)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="absent"):
        load_positions(tmp_path / "absent")


# --- GNU Backgammon --------------------------------------------------------------------------------------------------


def test_figures_are_read_from_what_gnubg_prints() -> None:
    text = GREETING + CALIBRATED + SEARCHED
    text += ROLLED.format(error="0.006000", cpu="3.0") + ROLLED.format(error="0.002000", cpu="5.0")
    found = parse_output(text, Work(calibrate=True, search={1: TWO, 3: TWO}, rollout=(START, START)))
    assert found.version == "1.07.001"
    assert found.evaluations_per_s == pytest.approx(100_000)  # it had the core for half of the time
    assert found.ms_per_position == pytest.approx({1: 0.3, 3: 50.0})
    assert found.trials_per_cpu_s == pytest.approx(2 * gnubg.TRIALS / 8)
    assert found.cpu_s_to_se == pytest.approx(4.0 * (2.25 + 0.25) / 2)


def test_what_was_not_asked_for_stays_out() -> None:
    found = parse_output(GREETING + SEARCHED, Work(search={1: TWO, 3: TWO}))
    assert (found.evaluations_per_s, found.trials_per_cpu_s, found.cpu_s_to_se) == (None, None, None)


@pytest.mark.parametrize(
    ("text", "work"),
    [
        (GREETING + "Segmentation fault", Work(calibrate=True)),
        (GREETING + SEARCHED, Work(search={1: TWO, 2: TWO, 3: TWO})),
        (GREETING + ROLLED.format(error="0.006", cpu="3.0"), Work(rollout=(START, START))),
        (GREETING + "@rollout 3.0 4.0\n", Work(rollout=(START,))),
        (SEARCHED, Work(search={1: TWO, 3: TWO})),
        ("", Work()),
    ],
)
def test_an_unfinished_run_of_gnubg_is_said(text: str, work: Work) -> None:
    with pytest.raises(InfrastructureError, match="gnubg did not do all that was asked"):
        parse_output(text, work)


def test_gnubg_gets_both_sides_in_their_own_numbering() -> None:
    start = [0] * 25
    for point, number in ((24, 2), (13, 5), (8, 3), (6, 5)):
        start[point - 1] = number
    assert gnubg_board(START) == (tuple(start), tuple(start))
    board = parse_position("XGID=a" + "-" * 4 + "bC" + "-" * 18 + "A:0:0:1:65:0:0:0:0:10").board
    other, mover = gnubg_board(board)
    assert (mover[5], mover[24], sum(mover)) == (3, 1, 4)
    assert (other[25 - 5 - 1], other[24], sum(other)) == (2, 1, 3)
    assert gnubg_board(flip(board)) == (mover, other)


def test_a_program_that_is_not_installed_is_said_in_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("workers.gnubg_program._USUAL_PLACES", (str(tmp_path),))
    assert main(["bench", "leaf", "--against", "gnubg"]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "GNU Backgammon to be installed" in error


def test_a_program_that_answers_nothing_is_said(tmp_path: Path) -> None:
    program = tmp_path / "gnubg"
    program.write_text(f"#!{sys.executable}\nprint('GNU Backgammon 9.9')\n")
    program.chmod(0o755)
    with pytest.raises(InfrastructureError, match=r"its last line: GNU Backgammon 9\.9"):
        run_gnubg(str(program), Work(calibrate=True))
    with pytest.raises(InfrastructureError, match="can't be started"):
        run_gnubg(str(tmp_path / "absent"), Work())


def test_gnubg_does_the_work_where_it_is_installed() -> None:
    try:
        program = find_gnubg()
    except InputError:
        pytest.skip("GNU Backgammon is not installed")
    found = run_gnubg(program, Work(search={1: TWO, 2: TWO}))
    assert set(found.ms_per_position) == {1, 2}
    assert min(found.ms_per_position.values()) > 0


# --- the report ------------------------------------------------------------------------------------------------------


def test_the_document_has_the_promised_fields() -> None:
    figures = {name: Figure((1.0, 2.0, 4.0)) for name in _UNITS}
    compared = [
        "leaf.evaluations_per_s",
        "search.ms_per_position.3",
        "rollout.trials_per_cpu_s",
        "rollout.cpu_s_to_se_004",
    ]
    report = report_of(
        figures,
        dict.fromkeys(compared, 8.0),
        dict.fromkeys(compared, 4.0),
        net="n",
        positions=BenchPositionsReport(source=OWN_SET, count=40, problem=XGID, plays=("13/9(2)",), trials=1296),
        core=1,
        gnubg_version="1.07.001",
        seconds=3.0,
    )
    document = json.loads(report.model_dump_json())
    assert BenchReport.model_validate(document) == report
    assert document["leaf"] == {"evaluations_per_s": 2.0, "ratio": 4.0}
    assert document["plays"] == {"after_positions_per_s": 2.0}
    assert document["search"] == {"ms_per_position": dict.fromkeys("1234", 2.0), "ratio": {"3": 4.0}}
    assert document["rollout"] == {
        "trials_per_cpu_s": 2.0,
        "ratio": 4.0,
        "cpu_s_to_se_004": 2.0,
        "ratio_to_se_004": 4.0,
    }
    assert document["selfplay"] == {"games_per_s": 2.0}
    assert document["fit"] == {"samples_per_s": 2.0}
    assert document["scaling"] == {"two_workers": 2.0}
    assert document["memory"] == {"worker_mb": 2.0}
    assert document["runs"]["leaf.evaluations_per_s"] == [1.0, 2.0, 4.0]


def test_the_command_knows_every_part() -> None:
    assert {part.value for part in BenchPart} == {part.value for part in Part} | {"all", "farm"}


# --- the command -----------------------------------------------------------------------------------------------------


def test_legal_plays_are_measured_from_end_to_end(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("GAMMONFARM_DATA", raising=False)
    assert main(["bench", "plays", "--repeats", "1", "--json"]) == 0
    captured = capsys.readouterr()
    report = BenchReport.model_validate_json(captured.out)
    assert report.plays is not None
    assert report.plays.after_positions_per_s > 0
    assert list(report.runs) == ["plays.after_positions_per_s"]
    assert (report.leaf, report.search, report.rollout, report.selfplay, report.scaling) == (None,) * 5
    assert report.fit is None
    assert (report.positions.source, report.positions.count) == (OWN_SET, 40)
    assert "measuring plays" in captured.err


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["everything"], "everything"),
        (["plays", "--repeats", "0"], "repeats"),
        (["plays", "--against", "snowie"], "snowie"),
        (["plays", "--positions", "absent.txt"], "absent.txt"),
        (["plays", "--pin", "4711"], "pin"),
    ],
)
def test_mistakes_are_one_line(arguments: list[str], named: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    lines = [line for line in captured.err.splitlines() if not line.startswith("measuring")]
    assert len(lines) == 1
    assert named in lines[0]


def test_matches_for_measuring_archives_are_whole_and_the_same_every_time(databases: Bearoff) -> None:
    evaluator = Evaluator(Nets(random_net(1)), databases.arrays)
    match = made_match(evaluator, 7)
    assert match == made_match(evaluator, 7) != made_match(evaluator, 8)
    assert max(match.final_score) >= match.match.length
    assert read_mat(write_mat(match)).plays_only() == match.plays_only()
    assert all(one.legal for one in decisions(match))
