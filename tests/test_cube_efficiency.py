"""Fitting how live a cube is: what goes in comes out, and the ends of the line are those of the books."""

from __future__ import annotations

import numpy as np
import pytest

from engine.board import START, make_board
from engine.errors import InputError
from engine.match import CubeOwner, MatchState
from training.cube_efficiency import CubeSample, class_of, ends_of, fit

CENTRED = MatchState()
OWN = MatchState(cube_value=2, cube_owner=CubeOwner.MOVER)
THEIRS = MatchState(cube_value=2, cube_owner=CubeOwner.OPPONENT)


def samples(x: float, per_pip: float = 0.0, noise: float = 0.0, positions: int = 40) -> list[CubeSample]:
    """Two states of each position whose rolled out equities lie on the line, or off it by noise of the position."""
    random = np.random.default_rng(3)
    found = []
    for number in range(positions):
        pips, off = 40 + 2 * number, float(random.normal(0.0, noise)) if noise else 0.0
        for dead, live in ((0.1 + number / 200, 0.4 + number / 100), (-0.3, -0.5 - number / 300)):
            rolled = dead + (x + per_pip * pips) * (live - dead) + off
            found.append(CubeSample(f"position {number}", "race", pips, dead, live, rolled))
    return found


def test_the_efficiency_that_made_the_equities_is_found() -> None:
    found = fit("race", samples(0.62), by_pips=False)
    assert found.constant == pytest.approx(0.62)
    assert found.interval95 == pytest.approx((0.62, 0.62))
    assert found.rms == pytest.approx(0.0, abs=1e-12)
    assert (found.positions, found.per_pip) == (40, 0.0)
    assert (found.least, found.most) == (found.constant, found.constant)


def test_an_efficiency_that_rises_with_the_pips_is_found() -> None:
    found = fit("race", samples(0.5, per_pip=0.001), by_pips=True)
    assert (found.constant, found.per_pip) == (pytest.approx(0.5), pytest.approx(0.001))
    assert (found.least, found.most) == (pytest.approx(0.54), pytest.approx(0.618))
    assert found.middle == pytest.approx(0.5 + 0.001 * 79)


def test_the_interval_is_one_of_positions_not_of_their_states() -> None:
    few = fit("race", samples(0.6, noise=0.02), by_pips=False)
    many = fit("race", samples(0.6, noise=0.02, positions=160), by_pips=False)
    assert few.interval95[0] < 0.6 < few.interval95[1]
    assert few.interval95[1] - few.interval95[0] > many.interval95[1] - many.interval95[0]
    assert fit("race", samples(0.6, noise=0.02), by_pips=False) == few, "the same draws every time"
    with pytest.raises(InputError, match="at least two positions"):
        fit("race", samples(0.6, positions=1), by_pips=False)


@pytest.mark.parametrize(
    ("match", "win", "live"),
    [
        # Without gammons a live cube is passed below 20 % and cashed from 80 %; straight lines between.
        (CENTRED, 0.5, 0.0),
        (CENTRED, 0.65, 0.5),
        (OWN, 0.4, 0.0),
        (OWN, 0.6, 0.5),
        (THEIRS, 0.6, 0.0),
        (THEIRS, 0.2, -1.0),
    ],
)
def test_the_ends_are_the_dead_and_the_live_cube_of_the_model(match: MatchState, win: float, live: float) -> None:
    found = ends_of([win, 0.0, 0.0, 0.0, 0.0], match, doubled=False)
    assert found == (pytest.approx(2 * win - 1, abs=1e-5), pytest.approx(live, abs=1e-5))


def test_a_double_that_was_taken_leaves_the_opponent_with_the_cube() -> None:
    outcome = [0.6, 0.15, 0.01, 0.1, 0.005]
    assert ends_of(outcome, CENTRED, doubled=True) == ends_of(outcome, THEIRS, doubled=False)
    with pytest.raises(InputError, match="may double"):
        ends_of(outcome, THEIRS, doubled=True)


def test_positions_are_told_apart_by_the_classes_of_the_model() -> None:
    race = [0, 2, 2, 2, 2, 2, 2, 3] + [0] * 10 + [-5, -2, -2, -2, -2, -2, 0, 0]
    home = [0, 2, 2, 2, 2, 2, 2] + [0] * 12 + [-2, -2, -2, -2, -2, -2, 0]
    crunched = [0, 6, 5] + [0] * 8 + [0, 0, 0, 0, -13] + [0] * 2 + [0, 0, -1, 0, 0, -1, 2, 0]
    for cells, kind in ((race, "race"), (home, "bearoff"), (crunched, "crunched")):
        assert class_of(make_board(cells)) == kind
    assert class_of(START) == "contact"
