"""Noise from the dispersion of blocks: against sums done by hand and printed tables of Student's t."""

from __future__ import annotations

import math

import pytest

from engine.block_means import BlockMeans, critical_value

MEANS = BlockMeans(((1.0, 3.0), (2.0, 6.0)))


def test_the_error_comes_from_the_dispersion_inside_each_half() -> None:
    assert MEANS.half_means == (2.0, 4.0)
    assert MEANS.mean == 3.0
    # Squares (1 - 2)^2 + (3 - 2)^2 + (2 - 4)^2 + (6 - 4)^2 = 10; two degrees of freedom; four blocks.
    assert MEANS.freedom == 2
    assert MEANS.se == pytest.approx(math.sqrt(10 / 2 / 4))


def test_the_gap_between_the_halves_has_the_error_of_two_means_of_half_the_blocks() -> None:
    assert MEANS.gap == -2.0
    variance = 10 / 2  # of a block
    assert MEANS.gap_se == pytest.approx(math.sqrt(variance / 2 + variance / 2))


def test_a_difference_is_taken_block_by_block_so_what_is_common_is_no_noise() -> None:
    shifted = BlockMeans(((1.5, 3.5), (2.5, 6.5)))
    difference = BlockMeans.combination([(1.0, shifted), (-1.0, MEANS)])
    assert (difference.mean, difference.se) == (0.5, 0.0)
    weighted = BlockMeans.combination([(2.0, MEANS), (-1.0, shifted)])
    assert weighted.halves == ((0.5, 2.5), (1.5, 5.5))


@pytest.mark.parametrize(
    ("confidence", "freedom", "looks", "printed"),
    [
        (0.95, 18, 1, 2.101),
        (0.95, 30, 1, 2.042),
        (0.99, 30, 1, 2.750),
        (0.999, 40, 1, 3.551),
        (0.95, 120, 1, 1.980),
        (0.95, 18, 5, 2.878),  # one look of five at 99 %
        (0.95, 10**6, 1, 1.960),
    ],
)
def test_the_factor_is_the_quantile_in_printed_tables_of_students_t(
    confidence: float, freedom: int, looks: int, printed: float
) -> None:
    assert critical_value(confidence, freedom, looks) == pytest.approx(printed, abs=6e-4)
