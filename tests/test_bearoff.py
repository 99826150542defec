"""Bear-off databases: exact on small endings, and only asked where both sides just bear off."""

from __future__ import annotations

import itertools
from pathlib import Path

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from oracles import bearoff as oracle
from oracles.bearoff import OFF, Side
from strategies import boards

from engine.bearoff import NO_DATABASES, Bearoff, open_databases
from engine.board import Board, flip
from engine.errors import InputError
from engine.kernels.bearoff import CERTAIN, FIRST_OF_FIFTEEN, OUTCOME_BITS, BearoffArrays, outcomes_of, position_count
from engine.kernels.bearoff_build import all_indices, all_positions, plays_of
from engine.kernels.network import ONE
from engine.moves import ROLLS, legal_plays
from engine.outcome import is_consistent
from engine.rules import INTERNATIONAL


@pytest.fixture(scope="module")
def full(databases: Bearoff) -> Bearoff:
    """Everything a user has."""
    return databases


@pytest.fixture(scope="module")
def one_sided(tmp_path_factory: pytest.TempPathFactory) -> Bearoff:
    """Next to nothing two-sided, so that outcomes come from the distributions."""
    return open_databases(tmp_path_factory.mktemp("one"), two_sided_checkers=1)


def small(home: Path) -> Bearoff:
    """Databases made in a moment."""
    return open_databases(home, checkers=3, two_sided_checkers=2)


def board(own: Side, other: Side) -> Board:
    """Both sides on a board, view of the first."""
    return np.array(oracle.as_position(own, other), dtype=np.int8)


def packed(side: Side) -> int:
    """As the builder holds it."""
    return sum(count << 4 * i for i, count in enumerate(side))


def unpacked(position: int) -> Side:
    """The reverse."""
    return tuple(int(position) >> 4 * i & 15 for i in range(6))


def sides(least: int, most: int) -> list[Side]:
    """All positions of so many checkers."""
    return [side for side in itertools.product(range(most + 1), repeat=6) if least <= sum(side) <= most]


def outcomes(of: list[Board], arrays: BearoffArrays) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """(outcomes of after-positions in 1/2**20, whether they are known)."""
    found = np.full((len(of), 5), -7, dtype=np.int64)
    known = np.zeros(len(of), dtype=np.bool_)
    outcomes_of(np.array(of, dtype=np.int8), arrays, found, known)
    return found, known


@st.composite
def home_sides(draw: st.DrawFn, least: int = 0, most: int = 15) -> Side:
    """A side all of whose checkers are home."""
    places = draw(st.lists(st.integers(0, 5), min_size=least, max_size=most))
    return tuple(places.count(i) for i in range(6))


# Positions and plays


@pytest.mark.parametrize(("checkers", "count"), [(6, 924), (8, 3003), (15, 54264)])
def test_every_position_has_one_index(checkers: int, count: int) -> None:
    assert position_count(checkers) == count
    positions = all_positions(count)
    assert all_indices(positions).tolist() == list(range(count))
    assert max(sum(unpacked(position)) for position in positions) == checkers


def test_positions_are_ordered_by_checkers_and_then_by_what_is_behind() -> None:
    found = [unpacked(position) for position in all_positions(position_count(5))]
    assert found == sorted(sides(0, 5), key=oracle.order)


@settings(deadline=None, max_examples=60)
@given(home_sides(least=1))
def test_plays_are_those_of_the_general_generator(side: Side) -> None:
    for dice in ROLLS:
        expected = {tuple(play[1:7].tolist()) for play in legal_plays(board(side, OFF), dice, INTERNATIONAL)}
        found = [unpacked(position) for position in plays_of(packed(side), *dice)]
        assert len(found) == len(set(found))
        assert set(found) == expected
        assert all_indices(plays_of(packed(side), *dice)).max() < all_indices(np.array([packed(side)]))[0]


# Rolls to bear off


def test_five_and_two_point_are_off_at_once_with_19_throws_of_36(full: Bearoff) -> None:
    chances = full.rolls_distribution((0, 1, 0, 0, 1, 0))
    assert chances[1] == pytest.approx(19 / 36, abs=1e-9)
    assert chances.sum() == 1.0
    # A second roll is needed 17 times, and of these only one checker on the four point, after 2-1, can need a third.
    assert full.mean_rolls((0, 1, 0, 0, 1, 0)) == pytest.approx(1 + 17 / 36 + 2 / 36 * 2 / 36, abs=1e-9)


def test_no_checker_takes_no_roll(full: Bearoff) -> None:
    assert full.rolls_distribution(OFF).tolist() == [1.0]
    assert full.mean_rolls(OFF) == full.epc(OFF) == full.wastage(OFF) == 0.0


def test_small_distributions_equal_the_oracle(full: Bearoff) -> None:
    for side in sides(1, 3):
        exact = oracle.to_bear_off(side)
        found = full.rolls_distribution(side)
        assert full.mean_rolls(side) == pytest.approx(float(exact.mean), abs=1e-11), side
        size = max(len(found), len(exact.chances))
        expected = [float(chance) for chance in exact.chances]
        padded = [np.pad(np.array(p), (0, size - len(p))) for p in (found, expected)]
        assert np.abs(padded[0] - padded[1]).max() < 3e-9, side


def test_distributions_add_up_to_one_exactly(full: Bearoff) -> None:
    arrays = full.arrays
    sums = np.add.reduceat(arrays.chances.astype(np.int64), arrays.starts[:-1])
    assert sums.tolist() == [CERTAIN] * position_count(15)


def test_means_are_those_of_the_distributions(full: Bearoff) -> None:
    arrays = full.arrays
    lengths = np.diff(arrays.starts)
    rolls = np.arange(len(arrays.chances)) - np.repeat(arrays.starts[:-1] - arrays.least, lengths)
    means = np.add.reduceat(rolls * arrays.chances.astype(np.int64), arrays.starts[:-1]) / CERTAIN
    assert np.abs(means - arrays.means / 2**40).max() < 1e-7


def test_effective_pips_are_rolls_of_49_sixths(full: Bearoff) -> None:
    side = (2, 2, 3, 3, 2, 3)
    assert full.epc(side) == pytest.approx(full.mean_rolls(side) * 49 / 6)
    assert full.wastage(side) == pytest.approx(full.epc(side) - (2 + 4 + 9 + 12 + 10 + 18))
    assert full.wastage((2, 0, 0, 0, 0, 0)) == pytest.approx(49 / 6 - 2)  # one roll whatever comes


def test_first_of_fifteen_checkers_equals_the_oracle(full: Bearoff) -> None:
    for side in [(0, 0, 0, 0, 15, 0), (0, 0, 0, 3, 11, 1), (0, 1, 1, 2, 0, 11), (0, 0, 15, 0, 0, 0)]:
        expected = [float(chance) for chance in oracle.to_first_off(side, 15).chances]
        found = full.first_checker_distribution(side)
        assert found.sum() == 1.0
        size = max(len(found), len(expected))
        padded = [np.pad(np.array(p), (0, size - len(p))) for p in (found, expected)]
        assert np.abs(padded[0] - padded[1]).max() < 3e-9, side


def test_a_smaller_database_is_the_beginning_of_a_larger_one(full: Bearoff, tmp_path: Path) -> None:
    part = open_databases(tmp_path, checkers=4, two_sided_checkers=2).arrays
    whole = full.arrays
    count = position_count(4)
    assert part.means.tolist() == whole.means[:count].tolist()
    assert part.starts.tolist() == whole.starts[: count + 1].tolist()
    assert part.chances.tolist() == whole.chances[: part.starts[-1]].tolist()
    both = position_count(2)
    assert part.two_sided.tolist() == whole.two_sided[:both, :both].tolist()


@pytest.mark.slow
def test_eight_checkers_a_side_continue_six(full: Bearoff, tmp_path: Path) -> None:
    larger = open_databases(tmp_path, checkers=1, two_sided_checkers=8)
    assert np.array_equal(larger.arrays.two_sided[:924, :924], full.arrays.two_sided)
    eight = board((0, 2, 2, 2, 1, 1), (1, 1, 1, 1, 2, 2))
    cubeless, owned, centred, opponent_owns = larger.two_sided(eight)
    assert opponent_owns <= cubeless <= owned
    assert centred <= owned


# Equities


def test_equities_of_up_to_three_checkers_equal_the_oracle(full: Bearoff) -> None:
    pairs = [(own, other) for own in sides(1, 2) for other in sides(1, 3)]
    pairs += [(own, other) for own in sides(3, 3) for other in sides(1, 1)]
    worst = 0.0
    for own, other in pairs:
        exact = oracle.rolling(own, other)
        found = full.two_sided(board(own, other))
        worst = max(worst, *(abs(a - b) for a, b in zip(exact, found, strict=True)))
    assert worst < 1e-8


def test_a_last_roll_is_worth_what_it_wins(full: Bearoff) -> None:
    last = board((0, 1, 0, 0, 1, 0), (1, 0, 0, 0, 0, 0))
    # 19 throws of 36 win and the others lose, and no cube is turned any more.
    assert full.two_sided(last) == pytest.approx((2 / 36,) * 4, abs=1e-9)


@pytest.mark.parametrize(
    "unknown",
    [
        board((0, 1, 0, 0, 0, 0), (7, 0, 0, 0, 0, 0)),
        board((0, 1, 0, 0, 0, 0), OFF),
        board(OFF, (0, 1, 0, 0, 0, 0)),
    ],
    ids=["seven checkers", "the opponent is off", "the mover is off"],
)
def test_positions_without_equities_are_refused(full: Bearoff, unknown: Board) -> None:
    with pytest.raises(InputError, match="two-sided"):
        full.two_sided(unknown)


@pytest.mark.parametrize("counts", [(1, 2, 3), (-1, 1, 0, 0, 0, 0), (8, 8, 0, 0, 0, 0)])
def test_impossible_counts_are_refused(full: Bearoff, counts: Side) -> None:
    with pytest.raises(InputError, match="counts"):
        full.mean_rolls(counts)


def test_counts_beyond_the_database_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="than the one-sided database has"):
        small(tmp_path).mean_rolls((4, 0, 0, 0, 0, 0))


def test_fourteen_checkers_have_no_first_one_to_bear_off(full: Bearoff) -> None:
    with pytest.raises(InputError, match="fifteen"):
        full.first_checker_distribution((14, 0, 0, 0, 0, 0))


# Outcomes for the kernels


def test_outcomes_are_in_the_fixed_point_of_the_network() -> None:
    assert 1 << OUTCOME_BITS == ONE


def test_outcomes_of_few_checkers_are_those_of_best_play(full: Bearoff) -> None:
    pairs = [(own, other) for own in sides(1, 2) for other in sides(1, 2)]
    found, known = outcomes([board(own, other) for own, other in pairs], full.arrays)
    assert known.all()
    assert not found[:, 1:].any()
    exact = [(1 - oracle.rolling(other, own).cubeless) / 2 for own, other in pairs]
    assert np.abs(found[:, 0] / ONE - exact).max() <= 0.5 / ONE + 1e-8


def test_outcomes_of_more_checkers_are_those_of_two_separate_races(one_sided: Bearoff) -> None:
    pairs = [(own, other) for own in sides(2, 2) for other in sides(1, 3)]
    pairs += [(own, other) for own in sides(3, 3) for other in sides(2, 2)]
    found, known = outcomes([board(own, other) for own, other in pairs], one_sided.arrays)
    assert known.all()
    assert not found[:, 1:].any()
    exact = [float(1 - oracle.race_win(other, own)) for own, other in pairs]
    assert np.abs(found[:, 0] / ONE - exact).max() <= 0.5 / ONE + 1e-7


@pytest.mark.parametrize("late", [(0, 0, 0, 0, 15, 0), (0, 0, 0, 15, 0, 0), (0, 0, 0, 3, 11, 1)])
@pytest.mark.parametrize("early", [(1, 0, 0, 0, 0, 0), (0, 0, 1, 0, 0, 1), (2, 1, 0, 0, 0, 0)])
def test_gammons_are_lost_by_fifteen_checkers_only(full: Bearoff, early: Side, late: Side) -> None:
    after = [board(early, late), board(late, early), board(early, (0, 0, 0, 0, 2, 12))]
    found, known = outcomes(after, full.arrays)
    assert known.all()
    won = float(oracle.race_gammon(early, late, winner_rolls=False))
    lost = float(oracle.race_gammon(early, late, winner_rolls=True))
    assert found[0, 1:].tolist() == pytest.approx([won * ONE, 0, 0, 0], abs=0.6)
    assert found[1, 1:].tolist() == pytest.approx([0, 0, lost * ONE, 0], abs=0.6)
    assert won > 0
    assert lost > 0
    assert not found[2, 1:].any()


@settings(deadline=None, max_examples=300)
@given(home_sides(), home_sides())
def test_outcomes_of_all_endings_are_consistent(full: Bearoff, own: Side, other: Side) -> None:
    found, known = outcomes([board(own, other)], full.arrays)
    assert known[0] == (any(own) and any(other))
    if known[0]:
        assert is_consistent(found[0] / ONE, tolerance=0.0)
    else:
        assert found.tolist() == [[-7] * 5]


@settings(deadline=None, max_examples=100)
@given(home_sides(1), home_sides(1))
def test_being_further_ahead_never_costs(full: Bearoff, own: Side, other: Side) -> None:
    point = next(i for i in range(6) if own[i])
    better = tuple(count - (i == point) + (i == point - 1) for i, count in enumerate(own))
    found, known = outcomes([board(own, other), board(better, other)], full.arrays)
    if known.all():
        # Separate races are played for the mean, best play knows both sides: up to 0.014 lies between them.
        assert found[1, 0] >= found[0, 0] - ONE // 50


@settings(deadline=None, max_examples=200)
@given(boards())
def test_only_bear_offs_without_contact_are_known(full: Bearoff, position: Board) -> None:
    both = [position, flip(position)]
    home = [all(b[7:26] <= 0) and all(b[0:19] >= 0) for b in both]
    assert outcomes(both, full.arrays)[1].tolist() == home


@pytest.mark.parametrize(
    ("place", "count"),
    [(7, 1), (12, -1), (18, -1), (19, 1), (25, 1), (0, -1), (6, -1), (24, 1)],
)
def test_a_checker_outside_its_home_is_refused(full: Bearoff, place: int, count: int) -> None:
    position = board((1, 0, 2, 0, 0, 0), (0, 2, 1, 0, 0, 0))
    assert outcomes([position], full.arrays)[1][0]
    position[place] = count
    assert not outcomes([position], full.arrays)[1][0]
    assert not outcomes([flip(position)], full.arrays)[1][0]


def test_more_checkers_than_the_databases_have_are_refused(tmp_path: Path) -> None:
    arrays = small(tmp_path).arrays
    four, three, two = ((n, 0, 0, 0, 0, 0) for n in (4, 3, 2))
    pairs = [(four, two), (two, four), (three, two), (two, three), (two, two)]
    assert outcomes([board(own, other) for own, other in pairs], arrays)[1].tolist() == [False, False, True, True, True]


def test_without_databases_nothing_is_known_by_the_same_kernel(full: Bearoff) -> None:
    assert numba.typeof(NO_DATABASES) == numba.typeof(full.arrays)
    assert not outcomes([board((1, 0, 0, 0, 0, 0), (1, 0, 0, 0, 0, 0))], NO_DATABASES)[1][0]


def test_fifteen_checkers_come_last(full: Bearoff) -> None:
    assert len(full.arrays.first_later) == position_count(15) - FIRST_OF_FIFTEEN
