"""How live a cube really is: Janowski's x fitted to rollouts with the cube.

In the model a value is (1 - x) * dead + x * live, where dead and live follow from the five probabilities (see
`engine.kernels.cube`). So with E = the rolled out equity, E - dead = x * (live - dead): a straight line through the
origin whose slope is x, fitted by least squares on equities. In a class whose x may depend on the pips of the player
on roll it is x = constant + per_pip * pips. The states of the cube of one position have errors in common, so intervals
come from drawing whole positions again (bootstrap).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.board import Board, flip
from engine.cube import make_question
from engine.cubeful import make_cube_space
from engine.efficiency import CLASSES, CubeEfficiency
from engine.errors import InputError
from engine.kernels.cube import NONE, efficiency_in, static_values_of
from engine.kernels.network import ONE
from engine.match import MatchState

DRAWS = 2000
_SEED = 1


@dataclass(frozen=True, slots=True)
class CubeSample:
    """A position before the roll in one state of the cube, in the view of the player on roll, equities in units of that
    state's cube.
    """

    position: str
    kind: str
    """One of `CLASSES`."""
    pips: int
    dead: float
    live: float
    rolled: float


@dataclass(frozen=True, slots=True)
class EfficiencyFit:
    """x of one class."""

    kind: str
    constant: float
    per_pip: float
    least: float
    """x at the lowest and, or the other way round, at the highest pips in the samples."""
    most: float
    middle: float
    """x at the mean pips of the samples."""
    interval95: tuple[float, float]
    """Of `middle`."""
    positions: int
    rms: float
    """Root mean square of what is left of the rolled out equities, in equity."""


def class_of(board: Board) -> str:
    """The class of a position before the roll."""
    numbers = np.array([[number / 10.0, 0.0, 0.0, 1.0] for number in range(len(CLASSES))])
    question = make_question(MatchState(), None, CubeEfficiency("number of the class", "", numbers))
    return CLASSES[round(10.0 * float(efficiency_in(flip(board), question.game)))]


def ends_of(outcome: Sequence[float], match: MatchState, *, doubled: bool) -> tuple[float, float]:
    """(dead, live) of rolling in a money position with these five probabilities, the view of the player on roll.

    Args:
        doubled: after a double that was taken, in units of the new cube.

    Raises:
        InputError: the player can't double.
    """
    exact = np.rint(np.clip(np.array(outcome), 0.0, 1.0) * ONE).astype(np.int64)
    question = make_question(match, None, CubeEfficiency("any", "", np.zeros((len(CLASSES), 4))))
    game = question.game
    state = int(game.taken[0, 0]) if doubled else 0
    if state == NONE:
        raise InputError("position", match.cube_owner.name, "a player who may double")
    space = make_cube_space()
    ends = []
    for x in (0.0, 1.0):
        static_values_of(exact, x, int(game.counts[1]), game, space)
        ends.append(question.equity(int(space.rolling[state])))
    return ends[0], ends[1]


def fit(kind: str, samples: Sequence[CubeSample], *, by_pips: bool) -> EfficiencyFit:
    """x of a class by least squares; kept within 0 and 1.

    Args:
        by_pips: fit a straight line in pips, not one number.

    Raises:
        InputError: fewer than two positions.
    """
    positions = {name: number for number, name in enumerate(dict.fromkeys(s.position for s in samples))}
    if len(positions) < 2:
        raise InputError("samples", len(positions), f"at least two positions of class {kind}")
    owner = np.array([positions[s.position] for s in samples])
    run = np.array([s.live - s.dead for s in samples])
    rise = np.array([s.rolled - s.dead for s in samples])
    pips = np.array([float(s.pips) for s in samples])
    design = np.stack([run, run * pips]) if by_pips else run[None]
    # Sums of each position, of which draws are sums again: [positions, k, k] and [positions, k].
    k = len(design)
    squares, products = np.zeros((len(positions), k, k)), np.zeros((len(positions), k))
    np.add.at(squares, owner, np.einsum("in,jn->nij", design, design))
    np.add.at(products, owner, (design * rise).T)
    centre = np.array([1.0, float(pips.mean())])[:k]
    found = _solved(squares.sum(axis=0), products.sum(axis=0))
    random = np.random.default_rng(_SEED)
    middles = []
    for _ in range(DRAWS):
        drawn = random.integers(len(positions), size=len(positions))
        middles.append(float(centre @ _solved(squares[drawn].sum(axis=0), products[drawn].sum(axis=0))))
    low, high = np.quantile(middles, [0.025, 0.975])
    ends = [_within(float(found[0] + (found[1] * at if by_pips else 0.0))) for at in (pips.min(), pips.max())]
    return EfficiencyFit(
        kind=kind,
        constant=float(found[0]),
        per_pip=float(found[1]) if by_pips else 0.0,
        least=min(ends),
        most=max(ends),
        middle=float(centre @ found),
        interval95=(float(low), float(high)),
        positions=len(positions),
        rms=rms_of(rise, found @ design),
    )


def rms_of(rise: NDArray[np.float64], fitted: NDArray[np.float64]) -> float:
    """Root mean square of what a fit leaves."""
    return float(np.sqrt(((rise - fitted) ** 2).mean()))


def _solved(squares: NDArray[np.float64], products: NDArray[np.float64]) -> NDArray[np.float64]:
    """The normal equations; the shortest of many solutions where a draw has too few positions to tell."""
    return np.asarray(np.linalg.lstsq(squares, products, rcond=None)[0], dtype=np.float64)


def _within(x: float) -> float:
    return min(max(x, 0.0), 1.0)
