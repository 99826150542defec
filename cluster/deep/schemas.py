"""The models of `gammonfarm deep`."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from cluster.filters import DEFAULT_FILTER
from cluster.schemas import (
    MAX_CANDIDATES,
    CubeRolloutDecision,
    Model,
    Probabilities,
    Timing,
)
from engine.efficiency import DEFAULT_EFFICIENCY

TRIALS = 6912


class DeepRequest(Model):
    """A deep analysis as a client asks for it."""

    position: Annotated[str, Field(min_length=1, max_length=200)]
    """XGID or GNU `positionID:matchID`."""
    plays: tuple[Annotated[str, Field(min_length=1, max_length=100)], ...] = Field(
        default=(), max_length=MAX_CANDIDATES
    )
    """Exactly these candidates; empty: the best ones by the search."""
    candidates: int = Field(default=5, ge=1, le=MAX_CANDIDATES)
    margin: float = Field(default=0.1, ge=0.0, le=6.0)
    """Without named plays: equity by which a candidate may be behind in the search."""
    trials: int = Field(default=TRIALS, ge=720, le=1_000_080, multiple_of=72)
    """Of each candidate, in both halves together: each half is whole blocks of 36."""
    seed: int = 1
    bearoff_checkers: int = 6
    """Checkers a side of the two-sided database, at most 8."""
    block: int = Field(default=108, ge=1, le=10_368)
    """Trials a task; changes nothing in the result."""
    rules: str = "international"
    cube: bool | None = None
    """Whether the cube is in play; null: as in a rollout."""
    met: str | None = None
    """Match equity table, a name; null: the usual one."""
    efficiency: str = DEFAULT_EFFICIENCY
    filter: str = DEFAULT_FILTER
    """Which plays the search looks at at its full depth; without named plays."""


class HalfResult(Model):
    """What the rollout with the seed of one half says."""

    equity: float
    difference: float
    """To the candidate that is best in the end: may be positive."""


class DeepCandidate(Model):
    """One candidate, in the view of the player on roll. Equities as in a rollout: points without the cube, units of the
    cube with it (at a score: EMG).
    """

    play: str | None
    """Standard notation; null for a position before the roll."""
    branch: str | None = None
    """With the cube, before the roll: `no_double` or `double_take`."""
    equity: float
    """The mean of search and simulation."""
    difference: float
    """To the best candidate: zero or negative. In a cube decision: double/take less no double."""
    margin: float
    """What noise may do to `difference`: see `docs/deep.md`."""
    playable: bool
    """Plays: as good as the best one, as far as can be told: it is the best, or closer to it than `margin`."""
    mwc: float | None = None
    """Chance to win the match."""
    search_equity: float
    search_level: int
    simulation_equity: float
    simulation_se: float
    """Standard error of `simulation_equity`, from the dispersion of its blocks."""
    simulation_difference: float
    simulation_difference_se: float
    halves: tuple[HalfResult, HalfResult]
    gap: float
    """Equity in the first half less that in the second."""
    gap_allowed: float
    """What chance allows it to be; in one analysis of a hundred some candidate's gap is larger."""
    probabilities: Probabilities
    """From the simulation."""
    trials: int


class DeepCubeQuestion(Model):
    """One of the two questions of a cube decision."""

    gap: float
    """To double: a double, rightly answered, less no double. To answer: what the second best answer costs."""
    margin: float
    """What noise may do to `gap`."""
    playable: bool
    """Both are right, as far as can be told: they are closer than `margin`."""


class DeepCubeDecision(CubeRolloutDecision):
    """The verdict by the mean of search and simulation; `se_nd` and `se_dt` are those of the simulation."""

    doubling: DeepCubeQuestion | None = None
    """To double or not; null where the player may not."""
    answering: DeepCubeQuestion | None = None
    """How to answer a double."""


class DeepResult(Model):
    """Everything in the answer that depends on the question alone: the same bytes from any farm."""

    xgid: str
    rules: str
    net: str
    """Digest of the net."""
    seed: int
    half_seeds: tuple[int, int]
    """Of the rollouts that the halves are."""
    bearoff_checkers: int | None
    """Checkers a side of the two-sided database; None where no trial could end in it."""
    block: int
    """Trials of the blocks whose dispersion gives the noise."""
    confidence: float
    """Of the margins: noise alone leads to a wrong mark in one analysis of twenty."""
    cubeful: bool = False
    met: str | None = None
    """Match equity table, where a score was looked at."""
    candidates: tuple[DeepCandidate, ...]
    """Best first; in a cube decision no double, then double/take."""
    cube: DeepCubeDecision | None = None
    """Before the roll with the cube in play."""
    halves_agree: bool
    """Whether every candidate's gap is one that chance allows."""


class DeepProvenance(Model):
    """Where an answer came from."""

    key: str
    """Content key of the question."""
    net: str
    result_version: int
    device: str
    executor: str
    workers: int
    trials: int
    """Over all candidates and both halves."""
    trials_from_cache: int
    retries: int
    """Blocks that were run again because their worker died."""
    jobs: tuple[str, ...]
    """Ids of the two rollouts in the store; none where the answer was known."""
    versions: dict[str, str]


class DeepReport(Model):
    """The JSON document of `gammonfarm deep`."""

    result: DeepResult
    provenance: DeepProvenance
    timing: Timing
