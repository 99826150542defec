"""The luck of rolls: its definition, that it sums to nothing, and results without it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.analysis.luck import LuckTally, RollLuck, RollValues, luck_adjusted, stake_of
from engine.analysis.thresholds import LUCK_STEP
from engine.cube import make_question
from engine.efficiency import load_efficiency
from engine.kernels.network import ONE
from engine.match import CubeOwner, MatchState
from engine.met import load_met
from engine.moves import ROLLS, roll_weight
from engine.rules import INTERNATIONAL, TAVLA

VALUES = st.lists(st.integers(-3 * ONE, 3 * ONE), min_size=21, max_size=21).map(lambda v: RollValues(tuple(v)))


@given(VALUES)
def test_the_luck_of_the_36_throws_sums_to_nothing(values: RollValues) -> None:
    assert sum(roll_weight(roll) * values.luck(roll).luck for roll in ROLLS) == 0


@given(VALUES, VALUES)
def test_the_luck_of_all_ways_to_start_sums_to_nothing(own: RollValues, other: RollValues) -> None:
    singles = [roll for roll in ROLLS if roll[0] != roll[1]]
    assert sum(own.opening_luck(roll, INTERNATIONAL).luck for roll in singles) == 0
    assert sum(own.opening_luck(roll, TAVLA).luck * roll_weight(roll) for roll in ROLLS) == 0
    # Either side may begin; what is lucky for the other is unlucky in the view of the first.
    both = [own.opening_luck(roll, INTERNATIONAL, other).luck for roll in singles]
    both += [-other.opening_luck(roll, INTERNATIONAL, own).luck for roll in singles]
    assert sum(both) == 0


def test_luck_is_the_value_less_the_mean() -> None:
    values = RollValues(tuple(ONE if roll == (6, 6) else 0 for roll in ROLLS))
    assert values.luck((6, 6)).points == pytest.approx(35 / 36)
    assert values.luck((2, 1)).points == pytest.approx(-1 / 36)
    assert values.luck((1, 2)) == values.luck((2, 1))


def test_a_game_that_starts_with_both_opening_dice_knows_no_doubles() -> None:
    values = RollValues(tuple(ONE if roll in ((6, 6), (3, 1)) else 0 for roll in ROLLS))
    assert values.opening_luck((3, 1), INTERNATIONAL).points == pytest.approx(14 / 15)
    assert values.opening_luck((3, 1), INTERNATIONAL, values).points == pytest.approx(1.0)
    assert values.opening_luck((3, 1), TAVLA).points == pytest.approx(1 - 3 / 36)


def test_with_the_cube_a_point_of_luck_is_worth_the_cube_or_its_part_of_the_match() -> None:
    efficiency, met = load_efficiency(), load_met("kazaross-xg2")
    money = MatchState(cube_value=4, cube_owner=CubeOwner.MOVER)
    match = MatchState(length=5, score=(4, 4), crawford=False)
    assert stake_of(make_question(money, None, efficiency)) == 4.0
    # Double match point: winning and losing the game are 1 and 0, so a point of EMG is half the match.
    assert stake_of(make_question(match, met, efficiency)) == pytest.approx(0.5, abs=1e-6)


def test_tallies_of_luck_count_both_ways_and_keep_the_extremes() -> None:
    lucks = [0.7, 0.3, 0.1, -0.31, -0.9]
    tally = sum((LuckTally.of(RollLuck(round(luck * LUCK_STEP), 2.0)) for luck in lucks), LuckTally())
    assert (tally.rolls, tally.lucky, tally.unlucky) == (5, 2, 2)
    assert tally.points == pytest.approx(sum(lucks))
    assert tally.worth == pytest.approx(2 * tally.luck, abs=5)
    assert (tally.luckiest, tally.unluckiest) == (round(0.7 * LUCK_STEP), round(-0.9 * LUCK_STEP))
    assert LuckTally().luckiest is None


def test_a_result_without_luck_is_the_start_and_the_errors_where_values_are_perfect() -> None:
    """A toy game with exact values: each side rolls a number once and may throw a part of it away."""
    rng = np.random.default_rng(5)
    rolled = rng.integers(0, 21, size=(50, 2))
    thrown = rng.integers(0, ONE // 10, size=(50, 2)).tolist()
    worth = RollValues(tuple(int(v) for v in rng.integers(-ONE, ONE, size=21)))
    mean = sum(roll_weight(roll) * value for roll, value in zip(ROLLS, worth.values, strict=True)) / 36
    for (mine, his), (my_error, his_error) in zip(rolled.tolist(), thrown, strict=True):
        result = worth.values[mine] - my_error - (worth.values[his] - his_error)
        own, other = (LuckTally.of(worth.luck(ROLLS[number])) for number in (mine, his))
        expected = (mean - mean) + his_error - my_error
        assert luck_adjusted(result / ONE, own, other) == pytest.approx(expected / ONE, abs=1e-9)
