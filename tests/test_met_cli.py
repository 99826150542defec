"""`gammonfarm met`: what it shows and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from cluster.cli.main import main
from cluster.met_schemas import MetComputedReport, MetScoreReport, MetTableReport
from engine.bearoff import Bearoff
from engine.met import load_met


def test_without_a_score_the_table_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["met", "--length", "5", "--json"]) == 0
    report = MetTableReport.model_validate_json(capsys.readouterr().out)
    met = load_met()
    assert report.pre_crawford[2][4] == met.mwc(3, 5, False)
    assert report.post_crawford == tuple(met.post_crawford[:5].tolist())
    assert (len(report.pre_crawford), report.met.digest) == (5, met.digest)
    assert main(["met", "--met", "woolsey", "--length", "4"]) == 0
    text = capsys.readouterr().out
    assert "Woolsey-Heinrich" in text
    assert "59.00" in text  # 3-away 4-away


def test_a_score_shows_chances_take_points_and_gammon_values_of_both_sides(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["met", "--away", "3", "5", "--json"]) == 0
    report = MetScoreReport.model_validate_json(capsys.readouterr().out)
    met = load_met()
    assert report.own.mwc == met.mwc(3, 5, True)
    assert report.own.mwc + report.opponent.mwc == pytest.approx(1.0)
    assert report.own.after_win == (met.mwc(2, 5, True), met.mwc(1, 5, True), 1.0)
    assert report.opponent.after_loss[0] == pytest.approx(1 - report.own.after_win[0])
    assert report.own.take_point_dead == pytest.approx((0.5715 - 0.5) / (0.84179 - 0.5))
    assert main(["met", "--away", "3", "5"]) == 0
    text = capsys.readouterr().out
    assert "3-away 5-away, cube 1" in text
    assert "20.92" in text


def test_at_one_point_the_crawford_game_and_what_follows_are_different_games(
    capsys: pytest.CaptureFixture[str],
) -> None:
    reports = []
    for flag in ("--crawford", "--post-crawford"):
        assert main(["met", "--away", "1", "4", flag, "--json"]) == 0
        reports.append(MetScoreReport.model_validate_json(capsys.readouterr().out))
    crawford, post = reports
    assert (crawford.crawford, crawford.post_crawford, post.post_crawford) == (True, False, True)
    assert crawford.own.take_point_dead is None
    assert post.own.take_point_dead is not None
    assert crawford.own.mwc > post.own.mwc


def test_a_cubeless_table_knows_no_crawford_game(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.toml"
    game = "[game]\nwin = [0.5, 0.1, 0.0]\nlose = [0.3, 0.1, 0.0]\n"
    path.write_text(f'name = "x"\nsource = "y"\nrules = "tavla"\nlength = 3\n{game}', encoding="utf-8")
    assert main(["met", "--met", str(path), "--away", "1", "3", "--json"]) == 0
    report = MetScoreReport.model_validate_json(capsys.readouterr().out)
    assert report.own.take_point_dead is None
    assert not report.post_crawford
    assert main(["met", "--met", str(path), "--length", "3", "--json"]) == 0
    assert MetTableReport.model_validate_json(capsys.readouterr().out).post_crawford is None
    assert main(["met", "--met", str(path), "--length", "3"]) == 0
    assert "post-Crawford" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--away", "1", "4"], "away: '1 4': expected --crawford or --post-crawford"),
        (["--away", "0", "4"], "away: '0 4': expected two numbers of points"),
        (["--away", "3", "200"], "from 1 to 128"),
        (["--away", "3", "4", "--crawford"], "a side that needs one point"),
        (["--away", "3", "4", "--cube", "3"], "cube value: '3': expected a power of two"),
        (["--away", "1", "4", "--crawford", "--cube", "2"], "1 in the Crawford game"),
        (["--away", "3", "4", "--length", "5"], "length: '5': expected no score"),
        (["--cube", "2"], "cube: '2': expected a score beside it"),
        (["--length", "0"], "length: '0': expected a whole number from 1"),
        (["--met", "none"], "match equity table: 'none': expected one of"),
        (["compute", "table.txt"], "file: 'table.txt': expected a name that ends in .toml"),
        (["compute", "table.toml", "--length", "999"], "length: '999'"),
    ],
)
def test_a_mistake_is_one_line(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["met", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert message in captured.err.splitlines()[-1]


def test_a_computed_table_is_written_with_its_provenance_and_can_be_used(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    session_home: Path,
    databases: Bearoff,
) -> None:
    assert databases is not None  # built, so that they can be lent
    monkeypatch.setenv("GAMMONFARM_HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "bearoff").symlink_to(session_home / "bearoff")
    path = tmp_path / "hyper.toml"
    assert main(["met", "compute", str(path), "--rules", "hypergammon", "--trials", "540", "--json"]) == 0
    report = MetComputedReport.model_validate_json(capsys.readouterr().out)
    met = load_met(str(path))
    assert (report.trials, report.met.digest, met.rules, met.cube) == (540, met.digest, "hypergammon", False)
    # Both sides begin equally often. 2-away 1-away is won by two wins in a row, or by one gammon.
    assert met.mwc(1, 1, False) == pytest.approx(0.5)
    assert 0.25 < met.mwc(2, 1, False) < 0.5
    text = path.read_text(encoding="utf-8")
    assert f'net = "{report.net}"' in text
    assert "seed = 1" in text
