"""Values of positions that others rolled out: the error in cubeless equity, in all and by type of position.

The files hold positions after a play, in the view of the player who made it (his opponent is on roll), with his five
probabilities. Their boards count the opponent's checkers on the bar, place 0, as a positive number; ours as a negative
one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.analysis.position_type import PositionType, types_of
from engine.board import OPPONENT_BAR, PLACES, make_board
from engine.errors import InputError
from engine.outcome import OUTCOMES, cubeless_equity, is_consistent
from engine.rules import INTERNATIONAL
from training.estimate import Estimate, estimate_mean
from training.suite.checker import by_type
from training.suite.contestant import Contestant, named
from training.suite.figures import Advance, Figure, FigureName, Measure, Part, Unit
from training.suite.files import read_lines, read_objects

WHAT = "a rolled-out position"
_ROUNDING = 1e-3
_NOISE = 0.05
"""Variance reduction can leave estimated probabilities a little out of order."""


@dataclass(frozen=True, slots=True, eq=False)
class RolledOut:
    """Positions after a play, both arrays in the view of the player who made it."""

    boards: NDArray[np.int8]  # [N, 26]
    outcomes: NDArray[np.float64]  # [N, 5] cumulative, by rollout

    @property
    def equities(self) -> NDArray[np.float64]:
        """Cubeless money equities float64[N]."""
        return cubeless_equity(self.outcomes, INTERNATIONAL)


def read_rolled_out(path: Path, limit: int | None = None) -> RolledOut:
    """Read JSON lines with `board`, `probs` and `equity`, or text lines of 26 places and 5 probabilities.

    Raises:
        InputError: an unreadable file, no positions, or a malformed line: an impossible board, probabilities out of
            order, or an equity that isn't that of the probabilities. Names the line.
    """
    json_lines = ".jsonl" in path.suffixes
    rows = read_objects(path, WHAT, _from_object, limit) if json_lines else read_lines(path, WHAT, _from_text, limit)
    if not rows:
        raise InputError("benchmark file", path.name, "at least one rolled-out position")
    return RolledOut(np.stack([board for board, _ in rows]), np.stack([outcome for _, outcome in rows]))


_Row = tuple[NDArray[np.int8], NDArray[np.float64]]


def _from_object(record: dict[str, Any]) -> _Row:
    board, outcome = _row(record["board"], record["probs"])
    equity = float(cubeless_equity(outcome, INTERNATIONAL))
    if abs(equity - float(record["equity"])) > _ROUNDING:
        raise ValueError(f"the probabilities give an equity of {equity:.4f}")
    return board, outcome


def _from_text(line: str) -> _Row:
    words = line.split()
    if len(words) != PLACES + OUTCOMES:
        raise ValueError(f"{len(words)} numbers instead of {PLACES + OUTCOMES}")
    return _row([int(word) for word in words[:PLACES]], [float(word) for word in words[PLACES:]])


def _row(counts: Sequence[int], probabilities: Sequence[float]) -> _Row:
    ours = [int(count) for count in counts]
    ours[OPPONENT_BAR] = -ours[OPPONENT_BAR]
    outcome = np.array([float(p) for p in probabilities])
    if outcome.shape != (OUTCOMES,) or not is_consistent(outcome, _NOISE):
        raise ValueError("five cumulative probabilities were expected")
    return make_board(ours), outcome


def value_figures(
    source: str, positions: RolledOut, contestant: Contestant, levels: Sequence[int], advance: Advance
) -> Iterator[Figure]:
    """Errors in equity at each level: mean absolute, root mean square and bias; the first by type of position too."""
    types = types_of(positions.boards)
    for level in levels:
        found = contestant.outcomes(positions.boards, level, named(advance, f"{source}, {level}-ply"))
        errors = (cubeless_equity(found, INTERNATIONAL) - positions.equities).tolist()
        yield from summarise_errors(FigureName(Part.VALUE, source, level), errors, types)


def summarise_errors(name: FigureName, errors: Sequence[float], types: Sequence[PositionType]) -> Iterator[Figure]:
    """Figures of errors in equity (ours less theirs) of positions whose types are `types`."""
    sizes = [abs(error) for error in errors]
    yield name.of(Measure.MEAN_ABSOLUTE, Unit.POINTS, estimate_mean(sizes))
    yield root_mean_square(name, errors)
    yield name.of(Measure.BIAS, Unit.POINTS, estimate_mean(errors))
    for group, chosen in by_type(sizes, types):
        yield name.of(Measure.MEAN_ABSOLUTE, Unit.POINTS, estimate_mean(chosen), group)


def root_mean_square(name: FigureName, errors: Sequence[float], group: str | None = None) -> Figure:
    """The root of the mean square; its error is that of the mean square by first order (se / (2 * root))."""
    square = estimate_mean([error * error for error in errors])
    root = math.sqrt(square.mean)
    se = None if square.se is None else (square.se / (2 * root) if root else 0.0)
    return name.of(Measure.ROOT_MEAN_SQUARE, Unit.POINTS, Estimate(square.n, root, se), group)
