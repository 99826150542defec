"""GNU Backgammon as a player: the wiring, checked by a route that shares nothing with it where it is installed."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from nets import random_net
from numpy.typing import NDArray

from engine.board import START, Board, flip, make_board
from engine.errors import InfrastructureError, InputError
from engine.evaluator import Evaluator, Nets
from engine.gnuid import format_match_id, format_position_id
from engine.match import MatchState
from engine.notation import parse_play
from engine.position import Position
from engine.rules import INTERNATIONAL
from engine.versus import NetPlayer, VersusSettings, play_pairs
from training.selfplay import play_round
from workers.gnubg import GnubgPlayer, after_steps
from workers.gnubg_program import find_gnubg, gnubg_version

NET = random_net(8)


def program() -> str:
    """The program, or a reason to skip."""
    try:
        return find_gnubg()
    except InputError:
        pytest.skip("GNU Backgammon is not installed")


# --- without the program ---------------------------------------------------------------------------------------------


def test_steps_are_made_one_after_the_other() -> None:
    board = make_board([0, 0, 0, 0, -1, 0, 4, -1, 2, *[0] * 15, 0, 1])
    # From the bar, on over a blot on the seven point that is hit, and a blot on the four point hit on the way.
    after = after_steps(board, bytes([25, 20, 8, 7, 7, 4, 0, 0]))
    expected = board.copy()
    expected[[25, 20, 8, 7, 4, 0]] = (0, 1, 1, 0, 1, -2)
    assert after.tolist() == expected.tolist()
    assert board[25] == 1, "the board itself stays as it is"


def test_steps_to_zero_bear_off_and_steps_from_zero_are_none() -> None:
    board = make_board([0, 2, 0, 0, 1, *[0] * 20, 0][:20] + [-2] + [0] * 5)
    assert after_steps(board, bytes([4, 0, 1, 0, 0, 0, 0, 0]))[[1, 4]].tolist() == [1, 0]
    assert after_steps(board, bytes(8)).tolist() == board.tolist()


def fake(folder: Path, script: str) -> str:
    """A program that behaves badly."""
    path = folder / "gnubg"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def one_question() -> tuple[NDArray[np.int8], NDArray[np.int64]]:
    return np.array(START)[None], np.array([[3, 1]])


def test_a_program_that_ends_is_reported(tmp_path: Path) -> None:
    with GnubgPlayer(fake(tmp_path, "exit 0"), 1) as player, pytest.raises(InfrastructureError, match="ended"):
        player.choose(*one_question())


def test_a_program_that_cannot_be_started_is_reported(tmp_path: Path) -> None:
    with GnubgPlayer(str(tmp_path / "absent"), 1) as player, pytest.raises(InfrastructureError, match="started"):
        player.choose(*one_question())


_LIAR = """#!{python}
import os, re, sys, time
(pipe,) = re.findall(r"answers = os.fdopen\\((\\d+)", open(sys.argv[-1]).read())
os.write(int(pipe), b"R" + bytes([8, 2, 0, 0, 0, 0, 0, 0]))
time.sleep(5)
"""


def test_illegal_answers_are_not_believed(tmp_path: Path) -> None:
    liar = Path(fake(tmp_path, ""))
    liar.write_text(_LIAR.format(python=sys.executable))  # plays 8/2 and nothing else, whatever is asked
    with GnubgPlayer(str(liar), 1) as player, pytest.raises(InfrastructureError, match=r"8/2 with 3-1.*illegal"):
        player.choose(*one_question())


def test_a_forced_play_needs_no_program(tmp_path: Path) -> None:
    dance = make_board([0] * 6 + [5] + [0] * 12 + [-2] * 6 + [1])
    with GnubgPlayer(str(tmp_path / "absent"), 1) as player:
        assert player.choose(dance[None], np.array([[6, 5]])).tolist() == [dance.tolist()]


@pytest.mark.parametrize("level", [0, 5])
def test_unknown_levels_are_refused(level: int) -> None:
    with pytest.raises(InputError, match="gnubg-level"):
        GnubgPlayer("gnubg", level)


def test_another_version_than_that_of_the_question_is_refused(tmp_path: Path) -> None:
    other = fake(tmp_path, "echo 'GNU Backgammon 1.08.003 20240101'")
    assert gnubg_version(other) == "1.08.003"
    with pytest.raises(InfrastructureError, match=r"1\.08\.003 here, where 1\.07\.001"):
        GnubgPlayer(other, 1, "1.07.001")
    with pytest.raises(InfrastructureError, match="version"):
        gnubg_version(fake(tmp_path, "echo something else"))


# --- with the program ------------------------------------------------------------------------------------------------


def positions(count: int) -> tuple[NDArray[np.int8], NDArray[np.int64]]:
    """Positions of a weak net's games with dice, in either order."""
    boards = play_round(Nets(NET), INTERNATIONAL, 5, 0, 8, 0.0).boards
    random = np.random.default_rng(3)
    chosen = random.choice(len(boards), count, replace=False)
    return np.stack([flip(boards[i]) for i in chosen]), random.integers(1, 7, size=(count, 2))


_HINTS = """
import json, os, gnubg
for line in ("set threads 1", "set automatic game off", "set automatic roll off", "set automatic move off",
             "set automatic bearoff off", "set display off", "set player 0 human", "set player 1 human",
             "set evaluation chequerplay evaluation plies PLIES", "set evaluation chequerplay evaluation cubeful off",
             "set jacoby off", "new session"):
    gnubg.command(line)
for gnubgid in json.loads(IDS):
    gnubg.command("set gnubgid " + gnubgid)
    found = gnubg.hint(1)["hint"]
    print("@" + (found[0]["move"] if found else ""), flush=True)
os._exit(0)
"""


def hints(path: str, boards: NDArray[np.int8], dice: NDArray[np.int64], level: int, folder: Path) -> list[Board]:
    """The same choices by another route: IDs in, the program's own hints as text out."""
    ids = []
    for board, roll in zip(boards, dice, strict=True):
        position = Position(board, MatchState(), (int(roll[0]), int(roll[1])))
        ids.append(f"{format_position_id(board)}:{format_match_id(position)}")
    script = folder / "hints.py"
    script.write_text(_HINTS.replace("PLIES", str(level - 1)).replace("IDS", repr(json.dumps(ids))))
    done = subprocess.run(
        [path, "-t", "-q", "-p", str(script)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env={"PATH": os.environ["PATH"], "HOME": str(folder), "TERM": "dumb", "LC_ALL": "C.UTF-8"},
        timeout=60,
        check=False,
    )
    texts = [line[1:] for line in done.stdout.splitlines() if line.startswith("@")]
    assert len(texts) == len(ids), done.stdout[-500:]
    return [
        parse_play(text, board, (int(roll[0]), int(roll[1])), INTERNATIONAL) if text else board
        for text, board, roll in zip(texts, boards, dice, strict=True)
    ]


@pytest.mark.parametrize(("level", "count"), [(1, 60), (2, 20)])
def test_choices_are_those_of_its_own_hints(level: int, count: int, tmp_path: Path) -> None:
    path = program()
    boards, dice = positions(count)
    assert (boards[:, 25] > 0).any(), "no checker on a bar would test no bar"
    with GnubgPlayer(path, level) as player:
        found = player.choose(boards, dice)
    expected = hints(path, boards, dice, level, tmp_path)
    assert found.tolist() == [after.tolist() for after in expected]


def test_games_against_it_are_the_same_however_many_are_played_at_once() -> None:
    path = program()
    evaluator = Evaluator(Nets(NET))
    settings = VersusSettings(INTERNATIONAL, seed=3)
    with GnubgPlayer(path, 1, gnubg_version(path)) as player:
        a = NetPlayer(evaluator, INTERNATIONAL, 1)
        whole = play_pairs(a, player, evaluator, settings, 0, 3)
        last = play_pairs(a, player, evaluator, settings, 2, 1)
    assert whole[2:].tolist() == last.tolist()
    assert whole[:, :2].sum() < 0, "a random net does not beat it"
