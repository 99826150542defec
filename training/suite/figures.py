"""What the suite says: figures with intervals, the table of openings, and reliability bins.

Nothing here needs a net, so that the command line can name the parts without loading one.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass

from training.estimate import Estimate


class Part(enum.Enum):
    """The parts of the suite."""

    CHECKER = "checker"
    VALUE = "value"
    OPENINGS = "openings"
    BEAROFF = "bearoff"
    CALIBRATION = "calibration"
    CUBE = "cube"


class Unit(enum.Enum):
    """What a figure is measured in."""

    MEQ = "mEq"
    """Thousandths of a point (of the current cube)."""
    POINTS = "points"
    PERCENT = "%"
    ROLLS = "rolls"


class Measure(enum.Enum):
    """What a figure says about an evaluator; docs/benchmarks.md explains each."""

    LOSS = "loss per decision"
    FIRST_CHOICE = "reference's choice"
    UNLISTED = "choice not listed"
    MEAN_ABSOLUTE = "mean absolute error"
    ROOT_MEAN_SQUARE = "root mean square error"
    BIAS = "bias"
    LARGEST = "largest error"
    CALIBRATION_ERROR = "calibration error"
    BEST_OR_CLOSE = "best or within 0.01"
    CLEARLY_WRONG = "loses more than 0.1"


@dataclass(frozen=True, slots=True)
class Figure:
    """One number. Part, source, measure, group and level name it; no two figures of a run share all five."""

    part: Part
    source: str
    """The file it is measured on, without its endings."""
    measure: Measure
    group: str | None
    """Of what: a position class, a probability, a cube state; None for everything in the file."""
    level: int | None
    """Plies counted from 1; None where no net is asked."""
    n: int
    """Decisions, positions or numbers that were looked at."""
    value: float
    unit: Unit
    interval95: tuple[float, float] | None = None
    """None where nothing was sampled: a complete set, a largest value, or a single decision."""


@dataclass(frozen=True, slots=True)
class FigureName:
    """Everything that figures of one table have in common."""

    part: Part
    source: str
    level: int | None

    def of(self, measure: Measure, unit: Unit, estimate: Estimate, group: str | None = None) -> Figure:
        """A figure that is a mean over a sample."""
        return Figure(
            self.part, self.source, measure, group, self.level, estimate.n, estimate.mean, unit, estimate.interval95
        )

    def complete(self, measure: Measure, unit: Unit, n: int, value: float, group: str | None = None) -> Figure:
        """A figure without an interval, because nothing was sampled."""
        return Figure(self.part, self.source, measure, group, self.level, n, value, unit)


@dataclass(frozen=True, slots=True)
class OpeningChoice:
    """A first roll: the book's play, and what the evaluator makes of it at one level."""

    source: str
    dice: tuple[int, int]
    level: int
    book_play: str
    play: str
    loss: float | None
    """Equity that the play loses by the book's own equities; None for a play that the book doesn't list."""


@dataclass(frozen=True, slots=True)
class ReliabilityBin:
    """Positions to which the evaluator gave similar probabilities, and what came out."""

    source: str
    probability: str
    level: int | None
    low: float
    high: float
    """Values from `low` up to but not including `high`; the last bin includes 1."""
    n: int
    predicted: float
    """Mean probability that the evaluator gave."""
    rolled_out: float
    """Mean probability in the rollouts."""


@dataclass(frozen=True, slots=True)
class Missing:
    """A file that a part would have used."""

    part: Part
    file: str


@dataclass(frozen=True, slots=True)
class SuiteResult:
    """Everything a run found, in an order that depends on what was asked alone."""

    figures: tuple[Figure, ...]
    openings: tuple[OpeningChoice, ...]
    reliability: tuple[ReliabilityBin, ...]
    missing: tuple[Missing, ...]


Advance = Callable[[str, int, int], None]
"""Told what is being looked at, how many items of it are done, and how many there are."""
