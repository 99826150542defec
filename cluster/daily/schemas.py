"""The models of daily problems: the JSON document of `gammonfarm daily`."""

from __future__ import annotations

import datetime
import enum

from cluster.book.schemas import BookPlay
from cluster.schemas import CubeRolloutDecision, Model, Probabilities


class ProblemKind(enum.Enum):
    """What has to be decided."""

    CHECKER = "checker"
    CUBE = "cube"


class DailyProblem(Model):
    """A problem with its answer, in the view of the player on roll. Checker problems have cubeless equities in points,
    cube problems such in units of the cube.
    """

    date: datetime.date
    kind: ProblemKind
    rules: str
    version: str
    """Names the policy, the rollouts and the nets: with another one, another position."""
    xgid: str
    roll: str | None = None
    """Null in a cube problem."""
    plays: tuple[BookPlay, ...] = ()
    """Best first; none in a cube problem."""
    cube: CubeRolloutDecision | None = None
    probabilities: Probabilities
    """After the best play; in a cube problem before the roll, without a double."""
    explanation: str
    trials: int


class DailyReport(Model):
    """The JSON document of `gammonfarm daily`."""

    problems: tuple[DailyProblem, ...]
