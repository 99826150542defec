"""The command line: what it prints, what it refuses and how it ends."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cluster.cli.main import main
from cluster.evaluation_schemas import EvaluationReport
from cluster.schemas import (
    BenchmarkReport,
    ConversionReport,
    DoctorReport,
    Model,
    PerftReport,
    RolloutReport,
)
from engine.bearoff import Bearoff
from engine.moves import ROLLS, legal_plays
from engine.rules import NACKGAMMON
from engine.stopping import StopReason

ROOT = Path(__file__).resolve().parent.parent
PROBLEM = "XGID=--ABBBC-B---eB---c-cbb--A-:0:0:1:65:0:0:0:0:10"
BEAR_OFF = "XGID=-BBB" + "-" * 18 + "bbb-:0:0:1:21:0:0:0:0:10"
COMMANDS = (
    "rollout",
    "evaluate",
    "perft",
    "convert",
    "import",
    "export",
    "analyse",
    "similar",
    "benchmark",
    "match",
    "met",
    "bench",
    "train",
    "nets",
    "book",
    "daily",
    "doctor",
)


@dataclass(frozen=True)
class Answer:
    """What a command left: exit code and both streams."""

    code: int
    out: str
    err: str

    def document(self, model: type[Model]) -> Any:
        """Stdout as exactly one JSON document of a model."""
        assert self.code == 0, self.err
        assert self.out.startswith("{")
        return model.model_validate_json(self.out)


class Shell:
    """Runs commands in this process, with a data folder of their own."""

    def __init__(self, home: Path, capture: pytest.CaptureFixture[str], databases: Path) -> None:
        self.home = home
        self._capture = capture
        self._databases = databases

    def lend_databases(self) -> None:
        """So that not every test builds them."""
        self.home.mkdir()
        (self.home / "bearoff").symlink_to(self._databases)

    def __call__(self, *arguments: str) -> Answer:
        self._capture.readouterr()
        code = main(arguments)
        captured = self._capture.readouterr()
        return Answer(code, captured.out, captured.err)


@pytest.fixture
def bare(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    session_home: Path,
    databases: Bearoff,
) -> Shell:
    """With nothing at all in the data folder."""
    monkeypatch.setenv("GAMMONFARM_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("GAMMONFARM_MLFLOW_URI", "off")
    return Shell(tmp_path / "home", capsys, session_home / "bearoff")


@pytest.fixture
def run(bare: Shell) -> Shell:
    bare.lend_databases()
    return bare


def spawn(home: Path, *arguments: str, **variables: str) -> Answer:
    """The same in a process of its own, as a user's shell would do it."""
    done = subprocess.run(
        [sys.executable, "-m", "cluster.cli.main", *arguments],
        cwd=ROOT,
        env={**os.environ, "GAMMONFARM_HOME": str(home), "GAMMONFARM_MLFLOW_URI": "off", **variables},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return Answer(done.returncode, done.stdout, done.stderr)


def board_lines(text: str) -> list[str]:
    """The drawn board in an output."""
    return [line for line in text.splitlines() if line.startswith((" +", " |"))]


# --- help ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(run: Shell, command: str) -> None:
    answer = run(command, "--help")
    assert answer.code == 0
    assert "Usage" in answer.out
    assert command in answer.out
    assert answer.err == ""


def test_the_program_lists_its_commands(run: Shell) -> None:
    answer = run("--help")
    assert answer.code == 0
    assert all(command in answer.out for command in COMMANDS)


def test_no_command_at_all_shows_the_help_and_is_a_mistake(run: Shell) -> None:
    answer = run()
    assert answer.code == 2
    assert all(command in answer.out + answer.err for command in COMMANDS)


# --- perft -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("depth", "plays", "weighted"), [(1, 447, 637), (2, 202_782, 419_783)])
def test_perft_of_the_start_counts_what_is_known(run: Shell, depth: int, plays: int, weighted: int) -> None:
    report = run("perft", "--depth", str(depth), "--json").document(PerftReport)
    assert (report.plays, report.weighted, report.depth) == (plays, weighted, depth)


def test_perft_takes_a_position_and_a_rule_set(run: Shell) -> None:
    # O's blot on X's 4 point: who hits it there may not run on with the same checker where that is banned.
    blot = "XGID=----a-AA" + "-" * 16 + "a-:0:0:1:00:0:0:0:0:10"
    free = run("perft", blot, "--depth", "1", "--rules", "tavla", "--json").document(PerftReport)
    banned = run("perft", blot, "--depth", "1", "--rules", "tavla+hit-and-run-ban", "--json").document(PerftReport)
    assert (free.rules, banned.rules) == ("tavla", "tavla+hit-and-run-ban")
    assert 0 < banned.plays < free.plays
    start = run("perft", "--depth", "2", "--rules", "tavla", "--json").document(PerftReport)
    assert (start.plays, start.weighted) == (202_782, 419_783)


def test_perft_starts_where_the_rules_do(run: Shell) -> None:
    report = run("perft", "--depth", "1", "--rules", "nackgammon", "--json").document(PerftReport)
    assert report.xgid.startswith("XGID=-bb---D-C---dD---c-d---BB-:")
    assert report.plays == sum(len(legal_plays(NACKGAMMON.start.board, roll, NACKGAMMON)) for roll in ROLLS)


def test_perft_for_people_is_one_line_with_both_counts(run: Shell) -> None:
    answer = run("perft", "--depth", "1")
    assert answer.code == 0
    assert "447" in answer.out
    assert "637" in answer.out
    assert len(answer.out.splitlines()) == 1


# --- convert ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "position",
    [
        PROBLEM,
        BEAR_OFF,
        "XGID=-b----E-C---eE---c-e----B-:0:0:1:00:0:0:0:0:10",
        "XGID=--CBCBC------B--b--cabbcb-:1:1:-1:21:2:3:0:7:10",
        "XGID=-A-Bb-DBB---bBa---bcbbaA-A:0:0:-1:00:4:0:0:0:10",
    ],
)
def test_a_position_comes_back_from_every_notation(run: Shell, position: str) -> None:
    first = run("convert", position, "--json").document(ConversionReport)
    assert first.xgid == position
    by_gnu = run("convert", f"{first.gnu_position_id}:{first.gnu_match_id}", "--json").document(ConversionReport)
    assert by_gnu == first


def test_convert_shows_all_notations_pips_and_the_board(run: Shell) -> None:
    report = run("convert", PROBLEM, "--json").document(ConversionReport)
    assert report.pips == (110, 125)
    assert report.borne_off == (0, 0)
    text = run("convert", PROBLEM).out
    assert all(part in text for part in (report.xgid, report.gnu_position_id, report.gnu_match_id, "110", "125"))


def test_a_position_id_names_the_player_not_on_roll_first(run: Shell) -> None:
    first = run("convert", PROBLEM, "--json").document(ConversionReport)
    alone = run("convert", first.gnu_position_id, "--json").document(ConversionReport)
    assert alone.board == first.board
    assert alone.pips == (110, 125)


# --- evaluate --------------------------------------------------------------------------------------------------------


def test_evaluate_ranks_all_plays_best_first(run: Shell) -> None:
    report = run("evaluate", PROBLEM, "--json").document(EvaluationReport)
    differences = [play.difference for play in report.plays]
    assert report.plays[0].play == "24/13"
    assert differences[0] == 0
    assert differences == sorted(differences, reverse=True)
    assert all(p.difference == pytest.approx(p.equity - report.equity, abs=1e-12) for p in report.plays)
    assert len({p.play for p in report.plays}) == len(report.plays)
    assert {p.level for p in report.plays} == {1}
    assert len(board_lines(run("evaluate", PROBLEM).out)) > 10


def test_evaluate_lists_as_many_plays_as_asked_for(run: Shell) -> None:
    everything = len(run("evaluate", PROBLEM, "--json").document(EvaluationReport).plays)
    assert f"{everything - 3} more plays" in run("evaluate", PROBLEM, "--top", "3").out
    assert "more plays" not in run("evaluate", PROBLEM, "--top", "0").out


def test_without_dice_evaluate_gives_one_value(run: Shell) -> None:
    report = run("evaluate", PROBLEM.replace(":65:", ":00:"), "--json").document(EvaluationReport)
    assert report.plays == ()
    p = report.probabilities
    assert report.cubeless_equity == pytest.approx(
        2 * p.win - 1 + p.win_gammon + p.win_backgammon - p.lose_gammon - p.lose_backgammon
    )


@pytest.mark.parametrize("command", [("evaluate",), ("convert",), ("perft", "--depth", "1")])
def test_the_board_is_echoed_for_any_id(run: Shell, command: tuple[str, ...]) -> None:
    ids = run("convert", PROBLEM, "--json").document(ConversionReport)
    texts = [PROBLEM, f'"{PROBLEM}"', f"{ids.gnu_position_id}:{ids.gnu_match_id}", ids.gnu_position_id]
    boards = [board_lines(run(*command, text).out) for text in texts]
    assert len(boards[0]) > 10
    assert all(board == boards[0] for board in boards)


# --- rollout and benchmark -------------------------------------------------------------------------------------------


def rollout(run: Shell, position: str, *more: str) -> RolloutReport:
    answer = run("rollout", position, "--executor", "inline", "--json", *more)
    report: RolloutReport = answer.document(RolloutReport)
    return report


def test_a_rollout_answers_once_and_then_from_the_cache(run: Shell) -> None:
    asked = (BEAR_OFF, "--play", "3/off", "--play", "2/off 1/off", "--trials", "72")
    first, again = rollout(run, *asked), rollout(run, *asked)
    assert [c.play for c in first.result.candidates] == ["2/off 1/off", "3/off"]
    assert (first.provenance.blocks, first.provenance.blocks_from_cache) == (2, 0)
    assert (again.provenance.blocks_from_cache, again.provenance.trials_from_cache) == (2, 144)
    assert again.result == first.result
    text = run("rollout", *asked, "--executor", "inline")
    assert "all 2 blocks from the cache" in text.out
    assert len(board_lines(text.out)) > 10
    assert "2/off 1/off" in text.out


def test_72_trials_after_36_compute_only_the_second_half(run: Shell) -> None:
    rollout(run, BEAR_OFF, "--candidates", "2", "--trials", "36")
    more = rollout(run, BEAR_OFF, "--candidates", "2", "--trials", "72").provenance
    assert (more.blocks, more.blocks_from_cache, more.trials_from_cache) == (2, 1, 2 * 36)


def test_without_dice_a_rollout_takes_the_position_before_the_roll(run: Shell) -> None:
    before = BEAR_OFF.replace(":21:", ":00:")
    report = rollout(run, before, "--cubeless", "--trials", "36", "--no-variance-reduction")
    (only,) = report.result.candidates
    assert only.play is None
    assert not report.result.variance_reduction
    assert only.luck == only.luck_se == 0


def test_without_dice_a_rollout_is_a_cube_decision_with_two_branches(run: Shell) -> None:
    result = rollout(run, BEAR_OFF.replace(":21:", ":00:"), "--trials", "36").result
    assert result.cubeful
    assert [c.branch for c in result.candidates] == ["no_double", "double_take"]
    cube = result.cube
    assert cube is not None
    assert [cube.equity_nd, cube.equity_dt, cube.equity_dp] == [*(c.equity for c in result.candidates), 1.0]
    assert (cube.loss_no_double, cube.loss_double).count(0.0) == 1


def test_progress_of_a_rollout_goes_to_stderr(run: Shell) -> None:
    answer = run("rollout", BEAR_OFF, "--candidates", "1", "--trials", "36", "--executor", "inline", "--json")
    assert "1/1 blocks" in answer.err
    assert json.loads(answer.out)["provenance"]["blocks"] == 1


def test_a_rollout_at_level_2_is_another_than_at_level_1(run: Shell) -> None:
    asked = (PROBLEM, "--play", "24/13", "--play", "13/8 13/7", "--trials", "36", "--truncate", "2")
    first, second = rollout(run, *asked), rollout(run, *asked, "--level", "2")
    assert second.provenance.blocks_from_cache == 0
    assert [{c.level for c in report.result.candidates} for report in (first, second)] == [{1}, {2}]
    assert first.result.candidates[0].play == second.result.candidates[0].play == "24/13"
    assert first.result.candidates[0].equity != second.result.candidates[0].equity
    assert second.result.truncate == 2
    assert second.result.stop is StopReason.TRIALS


def test_a_race_leaves_beaten_candidates_behind(run: Shell) -> None:
    asked = (BEAR_OFF, "--candidates", "4", "--trials", "144", "--checkpoint", "36", "--no-bearoff")
    every = rollout(run, *asked)
    report = rollout(run, *asked, "--race")
    assert report.result.stop is StopReason.CONFIDENCE
    assert report.result.candidates[0].play == every.result.candidates[0].play == "2/off 1/off"
    assert report.provenance.trials < every.provenance.trials == 4 * 144
    assert report.provenance.trials == report.provenance.trials_from_cache
    assert not report.result.bearoff
    text = run("rollout", *asked, "--race", "--executor", "inline").out
    assert "stopped early: the best play is the best with the confidence asked for" in text


def test_a_rollout_stops_at_a_standard_error(run: Shell) -> None:
    asked = (PROBLEM, "--play", "24/13", "--play", "13/8 13/7", "--truncate", "2", "--trials", "360")
    report = rollout(run, *asked, "--checkpoint", "36", "--stop-se", "0.9")
    assert report.result.stop is StopReason.STANDARD_ERROR
    assert [c.trials for c in report.result.candidates] == [36, 36]
    assert all(c.difference_se <= 0.9 for c in report.result.candidates)
    text = run("rollout", *asked, "--checkpoint", "36", "--stop-se", "0.9", "--executor", "inline").out
    assert "stopped early: the differences are known to the error asked for" in text
    alone = (PROBLEM, "--play", "24/13", "--truncate", "2", "--trials", "72", "--checkpoint", "36")
    soon = rollout(run, *alone, "--stop-se", "0.5").result
    assert (soon.stop, soon.candidates[0].trials) == (StopReason.STANDARD_ERROR, 36)
    to_the_end = rollout(run, *alone, "--stop-se", "0.000001").result
    assert (to_the_end.stop, to_the_end.candidates[0].trials) == (StopReason.TRIALS, 72)


def test_a_rollout_stops_when_the_best_is_the_best_with_confidence(run: Shell) -> None:
    asked = (BEAR_OFF, "--play", "2/off 1/off", "--play", "3/1 2/1", "--trials", "360", "--checkpoint", "36")
    report = rollout(run, *asked, "--stop-confidence", "0.95")
    assert report.result.stop is StopReason.CONFIDENCE
    assert [c.trials for c in report.result.candidates] == [36, 36]
    assert [c.play for c in report.result.candidates] == ["2/off 1/off", "3/1 2/1"]
    assert report.result.bearoff


def test_a_benchmark_scores_decisions_with_their_interval(run: Shell, tmp_path: Path) -> None:
    ids = run("convert", PROBLEM, "--json").document(ConversionReport)
    # The only listed play that costs nothing is the one that the net prefers; in the second record it costs 200 mEq.
    right = {"m": "24/13", "eq": 0.5}
    wrong = {"m": "13/8 13/7", "eq": 0.3}
    record = {"pos": ids.gnu_position_id, "match": ids.gnu_match_id, "dice": [6, 5]}
    other = [{"m": "13/8 13/7", "eq": 0.5}, {"m": "24/13", "eq": 0.3}]
    file = tmp_path / "decisions.jsonl"
    file.write_text("".join(json.dumps(record | {"moves": moves}) + "\n" for moves in ([right, wrong], other)))
    checker = run("benchmark", str(file), "--json").document(BenchmarkReport).checker
    assert (checker.decisions, checker.meq_per_decision) == (2, pytest.approx(100))
    assert checker.interval95[0] < 100 < checker.interval95[1]
    first = run("benchmark", str(file), "--limit", "1", "--json").document(BenchmarkReport).checker
    assert (first.decisions, first.meq_per_decision, first.first_choice) == (1, 0, 1)


# --- doctor ----------------------------------------------------------------------------------------------------------


def test_doctor_looks_at_everything_although_one_service_is_away(tmp_path: Path) -> None:
    answer = spawn(tmp_path, "doctor", "--json", GAMMONFARM_RAY_ADDRESS="127.0.0.1:1")
    assert answer.code == 4
    report = DoctorReport.model_validate_json(answer.out)
    state = {service.name: service.ok for service in report.services}
    assert state.pop("ray") is False
    assert len(state) >= 4
    assert all(state.values()), report
    assert not report.ok
    assert "Traceback" not in answer.err


# --- bad input -------------------------------------------------------------------------------------------------------

SIXTEEN = "XGID=--ABBBD-B---eB---c-cbb--A-:0:0:1:56:0:0:0:0:10"
SHORT = "XGID=--ABBBC-B---eB---c-cbb--A:0:0:1:56:0:0:0:0:10"
STRANGE = "XGID=--ABBBC-B---eB---c-cbb--Z-:0:0:1:56:0:0:0:0:10"
INLINE = ("--executor", "inline")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        pytest.param(["evaluate", SIXTEEN], ["XGID position", "--ABBBD-B", "15 checkers"], id="sixteen checkers"),
        pytest.param(["convert", SHORT], ["XGID position", "--ABBBC-B", "26 characters"], id="wrong length"),
        pytest.param(["convert", STRANGE], ["XGID position", "Z", "A-O"], id="letters that stand for nothing"),
        pytest.param(["evaluate", "XGID=-b--"], ["XGID", "-b--", "fields"], id="missing fields"),
        pytest.param(["convert", "hello"], ["position", "hello", "XGID"], id="no position"),
        pytest.param(["rollout", SIXTEEN, *INLINE], ["XGID position", "15 checkers"], id="rollout of no position"),
        pytest.param(["rollout", PROBLEM, "--play", "24/12", *INLINE], ["play", "24/12"], id="illegal play"),
        pytest.param(["rollout", PROBLEM, "--play", "x", *INLINE], ["play", "'x'", "expected"], id="no play"),
        pytest.param(
            ["rollout", PROBLEM, "--play", "13/8 13/7", "--play", "13/7 13/8", *INLINE],
            ["play", "13/7 13/8", "each play once"],
            id="repeated play",
        ),
        pytest.param(["rollout", PROBLEM, "--trials", "-5", *INLINE], ["trials", "-5", "from 1"], id="negative trials"),
        pytest.param(["rollout", PROBLEM, "--trials", "0", *INLINE], ["trials", "0", "from 1"], id="no trials"),
        pytest.param(["rollout", PROBLEM, "--block", "0", *INLINE], ["block", "0", "from 1"], id="no block"),
        pytest.param(["rollout", PROBLEM, "--candidates", "0"], ["candidates", "0", "from 1"], id="no candidates"),
        pytest.param(["rollout", PROBLEM, "--workers", "0"], ["workers", "0", "at least 1"], id="no workers"),
        pytest.param(["rollout", PROBLEM, "--seed", "-1", *INLINE], ["seed", "-1", "from 0"], id="negative seed"),
        pytest.param(["rollout", PROBLEM, "--truncate", "0", *INLINE], ["truncate", "0", "half-moves"], id="truncate"),
        pytest.param(["rollout", PROBLEM, "--level", "3", *INLINE], ["level", "3", "1 or 2"], id="level 3"),
        pytest.param(["rollout", PROBLEM, "--stop-se", "0", *INLINE], ["stop_se", "0", "between 0"], id="stop-se 0"),
        pytest.param(["rollout", PROBLEM, "--stop-se", "1.5", *INLINE], ["stop_se", "1.5", "and 1"], id="stop-se"),
        pytest.param(["rollout", PROBLEM, "--stop-se", "x", *INLINE], ["--stop-se", "x", "number"], id="stop-se x"),
        pytest.param(
            ["rollout", PROBLEM, "--stop-confidence", "0.5", *INLINE],
            ["stop_confidence", "0.5", "between 0.5 and 1"],
            id="confidence of a coin",
        ),
        pytest.param(
            ["rollout", PROBLEM, "--stop-confidence", "95", *INLINE],
            ["stop_confidence", "95", "between 0.5 and 1"],
            id="confidence in percent",
        ),
        pytest.param(
            ["rollout", PROBLEM, "--race", "--checkpoint", "35", *INLINE],
            ["checkpoint", "35", "from 36"],
            id="checkpoint",
        ),
        pytest.param(["rollout", PROBLEM, "--rules", "chess", *INLINE], ["rules", "chess", "tavla"], id="rules"),
        pytest.param(["evaluate", PROBLEM, "--rules", "chess"], ["rules", "chess", "tavla"], id="rules of evaluate"),
        pytest.param(["perft", "--depth", "1", "--rules", "chess"], ["rules", "chess", "tavla"], id="rules of perft"),
        pytest.param(["perft", "--depth", "0"], ["depth", "0", "at least 1"], id="no depth"),
        pytest.param(["evaluate", PROBLEM, "--level", "9"], ["level", "9"], id="unknown level"),
        pytest.param(
            ["evaluate", PROBLEM, "--bearoff-checkers", "9"], ["bearoff_checkers", "9"], id="too many checkers"
        ),
        pytest.param(
            ["rollout", PROBLEM, "--bearoff-checkers", "0", *INLINE], ["bearoff_checkers", "0"], id="no checkers"
        ),
        pytest.param(["rollout", PROBLEM, "--level", "0", *INLINE], ["level", "0"], id="level 0"),
        pytest.param(["evaluate", PROBLEM, "--top", "-1"], ["top", "-1", "number"], id="negative top"),
        pytest.param(["evaluate", PROBLEM, "--net", "nowhere.safetensors"], ["net", "nowhere", "file"], id="net"),
        pytest.param(["train", "nowhere.toml"], ["recipe", "nowhere.toml", "readable"], id="missing recipe"),
        pytest.param(["benchmark", "nowhere.jsonl"], ["benchmark file", "nowhere", "readable"], id="missing file"),
        pytest.param(["rollout", PROBLEM, "--trials", "many"], ["--trials", "many", "integer"], id="no number"),
        pytest.param(["rollout", PROBLEM, "--executor", "cloud"], ["--executor", "cloud", "inline"], id="executor"),
        pytest.param(["rollout", PROBLEM, "--speed", "9"], ["--speed"], id="unknown option"),
        pytest.param(["rollout"], ["POSITION"], id="no argument"),
        pytest.param(["ponder", PROBLEM], ["ponder"], id="unknown command"),
        pytest.param(["analyse", "nowhere"], ["path", "nowhere", "file or folder"], id="no archive"),
    ],
)
def test_bad_input_is_one_line_that_says_what_was_expected_and_leaves_nothing(
    bare: Shell, monkeypatch: pytest.MonkeyPatch, arguments: list[str], named: list[str]
) -> None:
    monkeypatch.delenv("GAMMONFARM_MLFLOW_URI")  # the record of a run would be something left behind
    answer = bare(*arguments)
    assert answer.code == 2
    assert answer.out == ""
    (line,) = answer.err.splitlines()
    assert line.startswith("gammonfarm: ")
    for part in named:
        assert part in line
    assert [path for path in bare.home.rglob("*") if path.is_file()] == []


def test_bad_settings_name_their_variable(run: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GAMMONFARM_REDIS_URL", "http://:secret@somewhere")
    answer = run("rollout", BEAR_OFF, *INLINE)
    assert answer.code == 2
    (line,) = answer.err.splitlines()
    assert "GAMMONFARM_REDIS_URL" in line
    assert "redis://host:port/db" in line
    assert "secret" not in line


@pytest.mark.parametrize("named", [["XGID position", "15 checkers"]])
def test_in_a_process_of_its_own_bad_input_is_one_line_too(tmp_path: Path, named: list[str]) -> None:
    answer = spawn(tmp_path, "rollout", SIXTEEN, "--json")
    assert (answer.code, answer.out) == (2, "")
    (line,) = answer.err.splitlines()
    assert all(part in line for part in named)
    assert list(tmp_path.iterdir()) == []


def test_a_redis_server_that_is_away_is_one_line_and_leaves_nothing(tmp_path: Path) -> None:
    url = "redis://:secret@127.0.0.1:1/0"
    answer = spawn(tmp_path, "rollout", BEAR_OFF, "--json", *INLINE, GAMMONFARM_REDIS_URL=url)
    assert (answer.code, answer.out) == (4, "")
    (line,) = answer.err.splitlines()
    assert "redis at redis://:***@127.0.0.1:1/0" in line
    assert list(tmp_path.iterdir()) == []


def test_an_error_of_ours_is_one_line_and_shows_where_on_request(run: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("first line\nsecond line")

    monkeypatch.setattr("cluster.answers.convert_position", broken)
    answer = run("convert", PROBLEM)
    assert (answer.code, answer.out) == (3, "")
    (line,) = answer.err.splitlines()
    assert "internal error: ZeroDivisionError: first line" in line
    monkeypatch.setenv("GAMMONFARM_DEBUG", "1")
    assert "Traceback" in run("convert", PROBLEM).err


def test_an_interrupted_command_says_that_nothing_is_lost(run: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("cluster.answers.convert_position", interrupted)
    answer = run("convert", PROBLEM)
    assert (answer.code, answer.out) == (130, "")
    assert len(answer.err.splitlines()) == 1


# --- what players reported about other programs ----------------------------------------------------------------------


def test_an_xgid_with_a_doubled_cube_shows_it_with_its_owner(run: Shell) -> None:
    text = run("convert", "XGID=--CBCBC------B--b--cabbcb-:1:1:1:21:0:0:0:0:8").out
    assert "cube 2, owned by X" in text
    assert "X to play 2-1" in text


def test_an_xgid_with_a_score_but_no_match_length_is_money(run: Shell) -> None:
    text = run("evaluate", "XGID=-A-Bb-DBB---bBa---bcbbaA-A:0:0:-1:00:4:0:0:0:8").out
    assert "Money game" in text
    assert "O on roll" in text


@pytest.mark.parametrize("dice", [f"{a}{b}" for a in range(1, 7) for b in range(1, a + 1)])
def test_with_a_checker_on_the_bar_every_play_enters(run: Shell, dice: str) -> None:
    position = f"XGID=-A-Bb-DBB---bBa---bcbbaA-A:0:0:-1:{dice}:4:0:0:0:8"
    report = run("evaluate", position, "--json").document(EvaluationReport)
    # Points 21, 20 and 19 are held: with 4, 5 and 6 alone nobody enters.
    closed = set(dice) <= set("456")
    assert [p.play for p in report.plays] == ["no play"] or not closed
    assert closed or all(p.play.startswith("bar/") for p in report.plays)
    assert report.plays


# X has borne off two checkers, O none: he waits on two anchors, and X may yet be hit.
#     13 14 15 16 17 18    19 20 21 22 23 24
#      .  .  .  .  .  .     O5 O4 O2 .  .  .
#      12 11 10 .  .  .     X2 X3 X3 X3 O2 O2     X: 2 more on his 7 point
TWO_OFF = "-bbCCCBB" + "-" * 11 + "edb" + "-" * 4


def two_off(dice: str) -> str:
    return f"XGID={TWO_OFF}:0:0:1:{dice}:0:0:0:0:10"


def test_a_side_that_has_borne_off_a_checker_never_loses_a_gammon(run: Shell) -> None:
    assert run("convert", two_off("00"), "--json").document(ConversionReport).borne_off == (2, 0)
    before = run("evaluate", two_off("00"), "--json").document(EvaluationReport).probabilities
    assert (before.lose_gammon, before.lose_backgammon) == (0, 0)
    assert before.win < 1
    plays = run("evaluate", two_off("65"), "--json").document(EvaluationReport).plays
    assert all(p.probabilities.lose_gammon == p.probabilities.lose_backgammon == 0 for p in plays)
    assert any(p.probabilities.win_gammon > 0 for p in plays)
    result = rollout(run, two_off("65"), "--candidates", "2", "--trials", "36").result
    for candidate in result.candidates:
        for values in (candidate.probabilities, candidate.probabilities_se):
            assert (values.lose_gammon, values.lose_backgammon) == (0, 0)


def test_nobody_wins_a_gammon_from_a_side_that_has_borne_off_a_checker(run: Shell) -> None:
    # The same board, seen by the side that waits.
    board = TWO_OFF.swapcase()[::-1]
    position = f"XGID={board}:0:0:1:65:0:0:0:0:10"
    plays = run("evaluate", position, "--json").document(EvaluationReport).plays
    assert all(p.probabilities.win_gammon == p.probabilities.win_backgammon == 0 for p in plays)
    assert any(p.probabilities.lose_gammon > 0 for p in plays)
    (best,) = rollout(run, position, "--candidates", "1", "--trials", "36").result.candidates
    assert (best.probabilities.win_gammon, best.probabilities.win_backgammon) == (0, 0)


BEARING_IN = "YEYF4TnO7w4AAA"
"""X has all fifteen checkers in his home board, O holds two anchors there: nobody has borne off yet."""


def test_the_reported_position_is_read_with_all_checkers_on_the_board(run: Shell) -> None:
    report = run("convert", BEARING_IN, "--json").document(ConversionReport)
    assert report.xgid == "XGID=-cCdFCCa----aaa--b-b------:0:0:1:00:0:0:0:0:10"
    assert report.borne_off == (0, 0)


@pytest.mark.parametrize("dice", ["65", "64", "66"])
def test_in_the_reported_position_every_play_that_bears_off_ends_the_danger_of_a_gammon(run: Shell, dice: str) -> None:
    position = f"XGID=-cCdFCCa----aaa--b-b------:0:0:1:{dice}:0:0:0:0:10"
    plays = run("evaluate", position, "--json").document(EvaluationReport).plays
    off = [p for p in plays if "off" in p.play]
    assert off
    assert all(p.probabilities.lose_gammon == p.probabilities.lose_backgammon == 0 for p in off)
    chosen = off[0].play
    (candidate,) = rollout(run, position, "--play", chosen, "--trials", "36", "--truncate", "12").result.candidates
    assert (candidate.probabilities.lose_gammon, candidate.probabilities.lose_backgammon) == (0, 0)
    assert candidate.probabilities.win_gammon > 0


def test_all_shown_probabilities_nest(run: Shell) -> None:
    for play in run("evaluate", PROBLEM, "--json").document(EvaluationReport).plays:
        win, gammon, backgammon, lose_gammon, lose_backgammon = play.probabilities.values()
        assert np.all(np.diff([0, backgammon, gammon, win, 1]) >= 0)
        assert np.all(np.diff([0, lose_backgammon, lose_gammon, 1 - win]) >= 0)
