"""A build of a book that is killed by force, as a user has it: the command, the file, the embedded server."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cluster.book.artifact import open_book
from cluster.book.schemas import BookBuildReport
from engine.bearoff import Bearoff

ROOT = Path(__file__).resolve().parent.parent.parent
RECIPE = """
name = "tiny"
rules = "hypergammon"
cube = false

[search]
level = 1

[[depth]]
margin = 0.02
most = 2
trials = 108
checkpoint = 36
"""


def build(home: Path, recipe: Path) -> subprocess.Popen[str]:
    environment = os.environ | {"GAMMONFARM_HOME": str(home), "GAMMONFARM_MLFLOW_URI": "off"}
    command = [sys.executable, "-m", "cluster.cli.main", "book", "build", str(recipe), "--executor", "inline", "--json"]
    return subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def entries(path: Path) -> int:
    try:
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as book:
            return int(book.execute("SELECT COUNT(*) FROM entry").fetchone()[0])
    except sqlite3.Error:
        return 0


@pytest.mark.slow
def test_a_build_killed_by_force_goes_on_to_the_same_book(
    tmp_path: Path, session_home: Path, databases: Bearoff
) -> None:
    recipe = tmp_path / "tiny.toml"
    recipe.write_text(RECIPE)
    for name in ("whole", "killed"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "bearoff").symlink_to(session_home / "bearoff")
    whole, killed = (tmp_path / name / "books" / "tiny.book" for name in ("whole", "killed"))

    uninterrupted = build(tmp_path / "whole", recipe)
    assert uninterrupted.wait(timeout=600) == 0

    command = build(tmp_path / "killed", recipe)
    while entries(killed) < 4:
        assert command.poll() is None, command.communicate()[1]
        time.sleep(0.02)
    command.kill()
    command.communicate()
    assert command.returncode == -signal.SIGKILL
    there = entries(killed)
    assert 4 <= there < 15

    again = build(tmp_path / "killed", recipe)
    out, err = again.communicate(timeout=600)
    assert again.returncode == 0, err
    report = BookBuildReport.model_validate_json(out)
    assert report.finished
    assert report.computed == 15 - there
    with open_book(whole) as one, open_book(killed) as other:
        assert one.digest() == other.digest()
