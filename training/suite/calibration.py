"""Calibration: where the evaluator says 30 %, does 30 % come out? For each of the five probabilities.

Positions are put into ten bins by the probability that the evaluator gives; in each bin its mean is compared with the
mean of the rollouts. The calibration error is the mean size of these differences, weighted by positions (the expected
calibration error). Errors that cancel inside a bin don't show here: they are in the value error.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from engine.outcome import NAMES
from training.estimate import estimate_mean
from training.suite.contestant import Contestant, named
from training.suite.figures import Advance, Figure, FigureName, Measure, Part, ReliabilityBin, Unit
from training.suite.values import RolledOut

BINS = 10


def calibration_figures(
    source: str, positions: RolledOut, contestant: Contestant, levels: Sequence[int], advance: Advance
) -> Iterator[Figure | ReliabilityBin]:
    """Calibration at each level; see `compare_probabilities`."""
    for level in levels:
        found = contestant.outcomes(positions.boards, level, named(advance, f"{source}, calibration, {level}-ply"))
        yield from compare_probabilities(FigureName(Part.CALIBRATION, source, level), found, positions.outcomes)


def compare_probabilities(
    name: FigureName, predicted: NDArray[np.float64], rolled_out: NDArray[np.float64]
) -> Iterator[Figure | ReliabilityBin]:
    """For each probability its bias, its calibration error, and the bins that have positions (both float64[N, 5])."""
    for number, probability in enumerate(NAMES):
        given, came_out = predicted[:, number], rolled_out[:, number]
        errors = given - came_out
        bins = bin_numbers(given)
        signed = _signed_by_bin(errors, bins)
        yield name.of(Measure.BIAS, Unit.PERCENT, estimate_mean(errors.tolist()).scaled(100), probability)
        yield name.of(Measure.CALIBRATION_ERROR, Unit.PERCENT, estimate_mean(signed.tolist()).scaled(100), probability)
        for one in np.unique(bins).tolist():
            inside = bins == one
            yield ReliabilityBin(
                source=name.source,
                probability=probability,
                level=name.level,
                low=one / BINS,
                high=(one + 1) / BINS,
                n=int(inside.sum()),
                predicted=float(given[inside].mean()),
                rolled_out=float(came_out[inside].mean()),
            )


def bin_numbers(probabilities: NDArray[np.float64]) -> NDArray[np.int64]:
    """int64[N]: the bin of each probability; 1 belongs to the last."""
    return np.minimum((probabilities * BINS).astype(np.int64), BINS - 1)


def _signed_by_bin(errors: NDArray[np.float64], bins: NDArray[np.int64]) -> NDArray[np.float64]:
    """Errors with the sign that makes the mean of their bin positive, so that their mean is the calibration error.

    The interval of that mean takes the signs as known. Where a bin's error is within its noise this is too narrow, and
    the calibration error itself is a little too large: it can't be negative.
    """
    sums = np.bincount(bins, weights=errors, minlength=BINS)
    return errors * np.where(sums < 0, -1.0, 1.0)[bins]
