"""Dice of rollouts and training games: pure functions, stratified, equal to plain Python."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import dice as oracle

from engine.kernels import dice as kernel
from engine.kernels.selfplay import opening_roll

seeds = st.integers(0, 2**63 - 1)
counters = st.integers(0, 2**31)


def kernel_rolls(seed: int, trials: range, half_move: int) -> list[int]:
    """The rolls of many trials at one half-move."""
    table = kernel.strata(seed)
    return [int(kernel.roll_index(seed, trial, half_move, table)) for trial in trials]


@given(seed=seeds, stream=st.integers(0, 9), first=counters, second=counters)
@settings(max_examples=200, deadline=None)
def test_noise_equals_the_oracle(seed: int, stream: int, first: int, second: int) -> None:
    assert int(kernel.noise(seed, stream, first, second)) == oracle.noise(seed, stream, first, second)


def test_the_mixer_is_splitmix64() -> None:
    # The first outputs of SplitMix64 from seed 1234567, as published with the generator.
    state, outputs = 1234567, []
    for _ in range(3):
        state = (state + 0x9E3779B97F4A7C15) % 2**64
        outputs.append(oracle.mix(state))
    assert outputs == [6457827717110365317, 3203168211198807973, 9817491932198370423]


@given(bits=st.integers(0, 2**64 - 1), bound=st.integers(1, 1000))
@settings(max_examples=100, deadline=None)
def test_scaled_bits_equal_the_oracle_and_stay_below_the_bound(bits: int, bound: int) -> None:
    scaled = int(kernel.below(np.uint64(bits), bound))
    assert scaled == oracle.below(bits, bound)
    assert 0 <= scaled < bound


@given(seed=seeds)
@settings(max_examples=50, deadline=None)
def test_strata_equal_the_oracle(seed: int) -> None:
    assert kernel.strata(seed).tolist() == oracle.strata(seed)


@given(seed=seeds, trial=counters, half_move=st.integers(0, 300))
@settings(max_examples=200, deadline=None)
def test_rolls_equal_the_oracle(seed: int, trial: int, half_move: int) -> None:
    assert kernel_rolls(seed, range(trial, trial + 1), half_move) == [oracle.roll_index(seed, trial, half_move)]


@given(seed=seeds, block=st.integers(0, 10_000))
@settings(max_examples=50, deadline=None)
def test_36_trials_hold_every_first_roll_once(seed: int, block: int) -> None:
    trials = range(36 * block, 36 * block + 36)
    assert sorted(kernel_rolls(seed, trials, 0)) == list(range(36))
    assert sorted(kernel_rolls(seed, trials, 1)) == list(range(36))


@given(seed=seeds, block=st.integers(0, 1000))
@settings(max_examples=10, deadline=None)
def test_1296_trials_hold_every_pair_of_first_rolls_once(seed: int, block: int) -> None:
    trials = range(1296 * block, 1296 * block + 1296)
    pairs = set(zip(kernel_rolls(seed, trials, 0), kernel_rolls(seed, trials, 1), strict=True))
    assert len(pairs) == 1296


@given(seed=seeds, trial=counters, half_move=st.integers(0, 20))
@settings(max_examples=50, deadline=None)
def test_a_trial_has_the_same_dice_alone_as_in_a_range(seed: int, trial: int, half_move: int) -> None:
    whole = kernel_rolls(seed, range(trial, trial + 40), half_move)
    assert [kernel_rolls(seed, range(trial + i, trial + i + 1), half_move)[0] for i in range(40)] == whole


def test_other_seeds_give_other_dice() -> None:
    for half_move in range(4):
        rolls = [tuple(kernel_rolls(seed, range(36), half_move)) for seed in range(50)]
        assert len(set(rolls)) == 50


def test_other_trials_and_half_moves_give_other_dice() -> None:
    columns = [tuple(kernel_rolls(7, range(100), half_move)) for half_move in range(2, 40)]
    assert len(set(columns)) == len(columns)
    rows = set(zip(*columns, strict=True))
    assert len(rows) == 100


# Upper 0.1 % point of chi-square with 35 degrees of freedom; the seeds are fixed, so this passes always or never.
CHI_SQUARE_35 = 66.6


@pytest.mark.parametrize("half_move", [2, 3, 17])
def test_later_rolls_are_even_over_the_36_faces(half_move: int) -> None:
    counts = Counter(kernel_rolls(1, range(7200), half_move))
    assert set(counts) == set(range(36))
    assert sum((n - 200) ** 2 / 200 for n in counts.values()) < CHI_SQUARE_35


def test_a_roll_tells_nothing_about_the_next_one() -> None:
    pairs = zip(kernel_rolls(1, range(7200), 2), kernel_rolls(1, range(7200), 3), strict=True)
    counts = Counter((a - b) % 36 for a, b in pairs)
    assert sum((counts[d] - 200) ** 2 / 200 for d in range(36)) < CHI_SQUARE_35


@pytest.mark.parametrize("trial", [0, 17, 100_000])
def test_rolls_along_one_trial_are_even_too(trial: int) -> None:
    counts = Counter(kernel_rolls(1, range(trial, trial + 1), half_move)[0] for half_move in range(2, 3602))
    assert sum((counts[face] - 100) ** 2 / 100 for face in range(36)) < CHI_SQUARE_35


@pytest.mark.parametrize("reroll", [False, True])
def test_opening_rolls_equal_the_oracle(reroll: bool) -> None:
    found = [opening_roll(5, game, reroll) for game in range(300)]
    assert found == [oracle.self_play_roll(5, game, 0, reroll) for game in range(300)]
    doubles = sum(a == b for a, b in found)
    assert (doubles > 0) is reroll
    assert len(set(found)) == (36 if reroll else 30)
