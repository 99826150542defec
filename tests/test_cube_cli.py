"""`gammonfarm evaluate` with the cube: decisions, three states at once, offers, scores, what is refused."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from nets import random_net

from cluster.cli import benchmark, data, deep, rollout
from cluster.cli.main import main
from engine.bearoff import Bearoff
from engine.efficiency import DEFAULT_EFFICIENCY
from engine.weights import save_net

START = "XGID=-b----E-C---eE---c-e----B-:0:0:1:00:0:0:0:0:10"
LAST_ROLL = "XGID=--A--A------------------a-:0:0:1:00:0:0:0:0:10"
FOUR_ACES = "XGID=-D----------------------d-:0:0:1:00:0:0:3:0:10"
RACE = "XGID=--CBCBC------B--b--cabbcb-:1:1:1:21:0:0:0:0:8"


class Shell:
    """Evaluates positions with a small random net."""

    def __init__(self, net: Path, capture: pytest.CaptureFixture[str]) -> None:
        self._net = net
        self._capture = capture

    def __call__(self, position: str, *options: str) -> tuple[int, str, str]:
        self._capture.readouterr()
        code = main(("evaluate", position, "--net", str(self._net), *options))
        captured = self._capture.readouterr()
        return code, captured.out, captured.err

    def document(self, position: str, *options: str) -> dict[str, Any]:
        code, out, err = self(position, *options, "--json")
        assert code == 0, err
        found: dict[str, Any] = json.loads(out)
        return found


@pytest.fixture
def evaluate(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    session_home: Path,
    databases: Bearoff,
) -> Shell:
    home = tmp_path / "home"
    home.mkdir()
    (home / "bearoff").symlink_to(session_home / "bearoff")
    monkeypatch.setenv("GAMMONFARM_HOME", str(home))
    net = tmp_path / "small.safetensors"
    save_net(random_net(4), net)
    return Shell(net, capsys)


def test_a_position_before_the_roll_comes_with_its_cube_decision(evaluate: Shell) -> None:
    report = evaluate.document(LAST_ROLL)
    cube = report["cube"]
    assert (cube["action"], cube["answer"], cube["redouble"], cube["exact"]) == ("double_take", "take", False, True)
    assert cube["equity_nd"] == pytest.approx(2 / 36, abs=1e-6)
    assert cube["equity_dt"] == report["equity"] == pytest.approx(4 / 36, abs=1e-6)
    assert cube["equity_dp"] == 1.0
    assert cube["loss_no_double"] == pytest.approx(2 / 36, abs=1e-6)
    assert (cube["loss_double"], cube["loss_take"]) == (0.0, 0.0)
    assert cube["market_losers"]["sequences"] == 19 * 36
    assert cube["market_losers"]["rolls"]["65"] == 36
    assert report["resignation"] == {"accept": "single", "offer": "single"}
    assert report["cubeless_equity"] == pytest.approx(2 / 36, abs=1e-6)
    assert (report["cubeful"], report["met"], report["mwc"]) == (True, None, None)


def test_people_see_equities_losses_the_verdict_and_the_points(evaluate: Shell) -> None:
    _, out, _ = evaluate(FOUR_ACES)
    assert "right: Double, pass (exact)" in out
    assert all(text in out for text in ("+0.7222", "+1.4444", "+1.0000", "0.4444", "take point", "market losers"))
    owned = FOUR_ACES.replace(":0:0:1:", ":1:1:1:")
    assert "Redouble, pass" in evaluate(owned)[1]
    assert "no cube to turn" in evaluate(FOUR_ACES.replace(":0:0:1:", ":1:-1:1:"))[1]


def test_three_states_of_the_cube_are_answered_at_once_and_as_if_asked_alone(evaluate: Shell) -> None:
    for position in (START, START.replace(":00:", ":31:"), RACE):
        cases = evaluate.document(position, "--cube", "all")["cases"]
        assert [case["owner"] for case in cases] == ["centred", "mover", "opponent"]
        assert [case["cube"] for case in cases] == [1, 2, 2]
        assert len({case["equity"] for case in cases}) == 3 or position == RACE
        for case, name in zip(cases, ("centred", "own", "opponent"), strict=True):
            alone = evaluate.document(position, "--cube", name)
            assert (alone["equity"], alone["plays"]) == (case["equity"], case["plays"])
            assert (alone["cube"] or {}).get("action") == (case["decision"] or {}).get("action")
    _, out, _ = evaluate(START, "--cube", "all")
    assert all(text in out for text in ("centred cube at 1", "own cube at 2", "opponent's cube at 2"))


def test_the_state_of_the_cube_changes_the_ranking(evaluate: Shell) -> None:
    # Behind in a race, with the cube or without it: a player who owns the cube can't be cashed out.
    own = evaluate.document(RACE)
    theirs = evaluate.document(RACE, "--cube", "opponent")
    assert own["plays"][0]["equity"] != theirs["plays"][0]["equity"]
    cubeless = evaluate.document(RACE, "--cubeless")
    assert [play["play"] for play in own["plays"]] != [play["play"] for play in theirs["plays"]] or [
        play["play"] for play in own["plays"]
    ] != [play["play"] for play in cubeless["plays"]]


def test_a_cube_cap_of_1_means_cubeless(evaluate: Shell) -> None:
    capped = evaluate.document(START.removesuffix(":10") + ":0")
    cubeless = evaluate.document(START, "--cubeless")
    assert (capped["cubeful"], capped["cube"], capped["resignation"]) == (False, None, None)
    assert capped["equity"] == capped["cubeless_equity"] == cubeless["equity"] == cubeless["cubeless_equity"]
    assert not evaluate.document(START, "--rules", "tavla")["cubeful"]


def test_at_a_score_equities_are_emg_beside_chances_to_win_the_match(evaluate: Shell) -> None:
    position = START.replace(":0:0:0:0:10", ":2:3:0:7:10")
    report = evaluate.document(position)
    assert report["met"] == "Kazaross-XG2"
    assert 0.0 < report["cube"]["mwc_dt"] < report["cube"]["mwc_nd"] == report["mwc"] < 1.0
    assert report["cube"]["equity_dp"] == pytest.approx(1.0)
    other = evaluate.document(position, "--met", "woolsey")
    assert other["met"] != report["met"]
    assert other["mwc"] != report["mwc"]
    with_dice = evaluate.document(position.replace(":00:", ":31:"), "--level", "2")
    assert [play["mwc"] for play in with_dice["plays"] if play["level"] == 2] == sorted(
        (play["mwc"] for play in with_dice["plays"] if play["level"] == 2), reverse=True
    )
    assert "mwc %" in evaluate(position)[1]
    assert "mwc %" in evaluate(position.replace(":00:", ":31:"))[1]


def test_the_crawford_game_has_no_cube(evaluate: Shell) -> None:
    position = START.replace(":0:0:0:0:10", ":4:2:1:5:10")
    assert evaluate.document(position)["cube"]["action"] == "no_cube"
    code, _, err = evaluate(position, "--cube", "all")
    assert code == 2
    assert "cube" in err


def test_a_standing_offer_gets_its_answer(evaluate: Shell) -> None:
    # X has doubled; O, whose checkers are seen as small letters here, must answer.
    doubled = evaluate.document(FOUR_ACES.replace(":00:", ":D:"))
    assert doubled["cube"]["action"] == "pass"
    assert doubled["equity"] == doubled["cube"]["equity_dp"] == -1.0
    assert doubled["cube"]["equity_dt"] == pytest.approx(-1.4444, abs=1e-4)
    assert doubled["cube"]["loss_take"] == pytest.approx(0.4444, abs=1e-4)
    assert doubled["probabilities"]["win"] == pytest.approx(5 / 36, abs=1e-4)
    assert "right: Pass" in evaluate(FOUR_ACES.replace(":00:", ":D:"))[1]
    raccooned = evaluate.document(FOUR_ACES.replace(":00:", ":R:"))
    assert raccooned["gnu_id"] is None
    assert raccooned["cube"]["equity_dp"] == -4.0


def test_a_cube_efficiency_of_ones_own_is_used(evaluate: Shell, tmp_path: Path) -> None:
    rows = "\n".join(
        f"[{name}]\nconstant = 0.0\nper_pip = 0.0\nleast = 0.0\nmost = 0.0\n"
        for name in ("bearoff", "race", "contact", "crunched")
    )
    path = tmp_path / "dead.toml"
    path.write_text(f'source = "a dead cube"\n{rows}', encoding="utf-8")
    cube = evaluate.document(START.replace(":00:0:0:0", ":00:0:0:0"), "--efficiency", str(path))["cube"]
    assert cube["efficiency"] == 0.0
    assert cube["take_point"] != evaluate.document(START)["cube"]["take_point"]


@pytest.mark.parametrize("command", [data.evaluate, rollout.rollout, deep.deep, benchmark.benchmark_suite])
def test_every_command_has_the_same_efficiency_where_none_is_named(command: Callable[..., None]) -> None:
    assert inspect.signature(command).parameters["efficiency"].default == DEFAULT_EFFICIENCY


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--cube", "left"), ["cube", "left", "centred"]),
        (("--cube", "all", "--cubeless"), ["cube", "all"]),
        (("--efficiency", "perfect"), ["efficiency", "perfect", "published"]),
    ],
)
def test_a_mistake_about_the_cube_is_one_line(evaluate: Shell, options: tuple[str, ...], words: list[str]) -> None:
    code, out, err = evaluate(START, *options)
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert all(word in err for word in words)


def test_an_unknown_table_is_named(evaluate: Shell) -> None:
    code, _, err = evaluate(START.replace(":0:0:0:0:10", ":2:3:0:7:10"), "--met", "nothing")
    assert code == 2
    assert "nothing" in err


def test_an_offer_is_not_looked_at_without_the_cube(evaluate: Shell) -> None:
    code, _, err = evaluate(FOUR_ACES.replace(":00:", ":D:"), "--cubeless")
    assert code == 2
    assert "standing cube offer" in err
