"""Match equity tables against the files of other programs. Needs GAMMONFARM_DATA, the folder that holds them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

from engine.errors import InputError
from engine.met import load_met

_FOLDER = os.environ.get("GAMMONFARM_DATA")
DATA = Path(_FOLDER or ".") / "met"
pytestmark = pytest.mark.skipif(_FOLDER is None, reason="GAMMONFARM_DATA does not name the folder of reference data")


def test_the_default_table_says_what_gnu_backgammon_shows_for_it() -> None:
    reference = json.loads((DATA / "gammonnet_met_reference.json").read_text(encoding="utf-8"))
    met = load_met()
    assert len(reference["pre"]) == 25 * 25
    for row in reference["pre"]:
        assert met.mwc(row["away_a"], row["away_b"], True) == pytest.approx(row["mwc"], abs=1e-6)
    for row in reference["post"]:
        assert met.mwc(row["away"], 1, False) == pytest.approx(row["mwc"], abs=1e-6)


@pytest.mark.parametrize(
    ("name", "files"),
    [
        ("kazaross-xg2", ("Kazaross-XG2.xml", "xg_Kazaross-XG2.met")),
        ("rockwell-kazaross", ("Rockwell-Kazaross.xml", "xg_Rockwell-Kazaross.met")),
        ("woolsey", ("woolsey.xml", "xg_Woolsey.met")),
        ("jacobs", ("jacobs.xml",)),
    ],
)
def test_the_shipped_tables_are_those_of_the_other_programs(name: str, files: tuple[str, ...]) -> None:
    for file in files:
        assert load_met(str(DATA / file)).digest == load_met(name).digest


@pytest.mark.parametrize(
    ("file", "length"), [("g11.xml", 25), ("mec26.xml", 25), ("ortega.xml", 15), ("snowie.xml", 15)]
)
def test_other_tables_of_gnu_backgammon_can_be_read(file: str, length: int) -> None:
    met = load_met(str(DATA / file))
    assert met.length == length
    near = np.abs(met.pre_crawford[:11, :11] - load_met().pre_crawford[:11, :11])
    assert near.max() < 0.035  # experts and formulas agree that far


@pytest.mark.parametrize("file", ["jac050.xml", "jac100.xml", "zadeh.xml", "mec.xml"])
def test_tables_of_unequal_players_and_bare_parameters_are_refused(file: str) -> None:
    with pytest.raises(InputError, match=r"post-Crawford table for both|not parameters"):
        load_met(str(DATA / file))
