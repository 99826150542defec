"""Bear-off databases against those of GNU Backgammon.

Needs the folder of public reference data in GAMMONFARM_DATA. GNU Backgammon keeps chances in 16 bits and printed
numbers of rolls with three decimals and equities with four; what is allowed beyond the printed half is 0.0002.
"""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.bearoff import PIPS_A_ROLL, Bearoff, open_databases
from engine.gnuid import parse_position_id

ALLOWED = 0.0002
PRINTED = 0.0005


def benchmarks() -> Path:
    """The folder of reference data."""
    folder = os.environ.get("GAMMONFARM_DATA")
    if not folder:
        pytest.skip("GAMMONFARM_DATA is not set: no reference data")
    return Path(folder) / "benchmarks"


def records(name: str) -> list[dict[str, Any]]:
    """The rows of a file of reference data."""
    with (benchmarks() / name).open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


@pytest.fixture(scope="module")
def databases(tmp_path_factory: pytest.TempPathFactory) -> Bearoff:
    benchmarks()
    return open_databases(tmp_path_factory.mktemp("home"))


def first_side(position_id: str) -> tuple[int, ...]:
    """Points 1 to 6 of the side that comes first in a GNU position ID (these have no other, so they are no game)."""
    data = base64.b64decode(position_id + "==")
    bits = "".join(format(byte, "08b")[::-1] for byte in data)
    return tuple(len(ones) for ones in bits.split("0")[:6])


def test_rolls_of_one_side(databases: Bearoff) -> None:
    rows = records("bearoff_one_sided.jsonl")
    assert len(rows) > 100
    for row in rows:
        counts = first_side(row["position_id"])
        assert databases.mean_rolls(counts) == pytest.approx(row["mean_rolls"], abs=PRINTED + ALLOWED), row
        assert databases.epc(counts) == pytest.approx(row["epc"], abs=PRINTED + PIPS_A_ROLL * ALLOWED), row
        assert databases.wastage(counts) == pytest.approx(row["wastage"], abs=PRINTED + PIPS_A_ROLL * ALLOWED), row
        expected = np.zeros(50)
        for rolls, percent in row["dist_percent"]:
            expected[rolls] = percent / 100
        found = databases.rolls_distribution(counts)
        assert np.abs(found - expected[: len(found)]).max() < ALLOWED, row
        assert expected[len(found) :].max() < ALLOWED, row


def test_equities_of_two_sides(databases: Bearoff) -> None:
    rows = records("bearoff_two_sided.jsonl")
    assert len(rows) > 100
    for row in rows:
        found = databases.two_sided(parse_position_id(row["position_id"]))
        expected = [row[state] for state in ("cubeless", "owned", "centered", "opp_owns")]
        assert found == pytest.approx(expected, abs=ALLOWED), row
