"""The models at the edge: what clients send and what they get. Unknown fields are refused."""

from __future__ import annotations

import re
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from engine.decision import CubeAction
from engine.efficiency import DEFAULT_EFFICIENCY
from engine.errors import InputError
from engine.evaluator import Valuation
from engine.outcome import NAMES
from engine.stopping import StopReason

MAX_TRIALS = 1_000_000
MAX_CANDIDATES = 20


class Model(BaseModel):
    """Frozen, and strict about names."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class RolloutRequest(Model):
    """A rollout as a client asks for it."""

    position: Annotated[str, Field(min_length=1, max_length=200)]
    """XGID or GNU `positionID:matchID`."""
    plays: tuple[Annotated[str, Field(min_length=1, max_length=100)], ...] = Field(
        default=(), max_length=MAX_CANDIDATES
    )
    """Exactly these candidates; empty: the best ones by 1-ply."""
    candidates: int = Field(default=5, ge=1, le=MAX_CANDIDATES)
    trials: int = Field(default=1296, ge=1, le=MAX_TRIALS)
    checkpoint: int = Field(default=324, ge=36, le=MAX_TRIALS)
    """Trials between two looks of the stop rules and the race."""
    stop_se: float | None = Field(default=None, gt=0.0, lt=1.0)
    """Stop at this standard error of the difference of all candidates in contention to the best."""
    stop_confidence: float | None = Field(default=None, gt=0.5, lt=1.0)
    """Stop when the best is the best with this probability."""
    race: bool = False
    """Give no more trials to candidates that are beaten."""
    level: int = 1
    truncate: int | None = None
    seed: int = 1
    variance_reduction: bool = True
    bearoff: bool = True
    """Whether trials end, exactly, in the bear-off databases."""
    bearoff_checkers: int = 6
    """Checkers a side of the two-sided database, at most 8."""
    block: int = Field(default=36, ge=1, le=10_368)
    """Trials a task; changes nothing in the result."""
    rules: str = "international"
    cube: bool | None = None
    """Whether the cube is in play; null: in cube decisions and at a score, but not for plays in money games."""
    met: str | None = None
    """Match equity table, a name; null: the usual one."""
    efficiency: str = DEFAULT_EFFICIENCY
    """How live the cube is where a position is valued without looking ahead, a name."""


class Probabilities(Model):
    """Cumulative probabilities in the view of the player on roll in the question."""

    win: float
    win_gammon: float
    win_backgammon: float
    lose_gammon: float
    lose_backgammon: float

    @staticmethod
    def of(values: list[float] | tuple[float, ...]) -> Probabilities:
        """From the five numbers in their fixed order."""
        return Probabilities(**dict(zip(NAMES, values, strict=True)))

    def values(self) -> tuple[float, ...]:
        """The five numbers in their fixed order."""
        return tuple(getattr(self, name) for name in NAMES)


class CandidateResult(Model):
    """One candidate of a rollout, in the view of the player on roll. Equities without the cube are in points, with it
    in units of the cube before the decision (at a score: EMG).
    """

    play: str | None
    """Standard notation; null for a position before the roll."""
    branch: str | None = None
    """With the cube, before the roll: `no_double` or `double_take`."""
    level: int
    """Plies (counted from 1) with which both sides played."""
    equity: float
    se: float
    """Standard error of `equity`."""
    difference: float
    """To the best candidate over the trials that both have, on the same dice: zero or (nearly always) negative. In a
    cube decision: double/take less no double."""
    difference_se: float
    mwc: float | None = None
    """Chance to win the match."""
    mwc_se: float | None = None
    probabilities: Probabilities
    probabilities_se: Probabilities
    trials: int
    luck: float
    """Mean luck over the trials; within a few `luck_se` of zero."""
    luck_se: float
    coefficient: float
    """Of the luck in the variance reduction, fitted to the trials; 1 without luck."""


class CubeDecision(Model):
    """The right action in a cube decision and what decides it, in the view of the player who decides. Equities are in
    units of the cube before the double (EMG in a match).
    """

    action: CubeAction
    """The right one: `docs/cube.md` has the rules. No two of them hold at once."""
    verdict: str
    """The same in words, with the opponent's right answer."""
    answer: CubeAction | None = None
    """The opponent's right answer to a double: take, pass or beaver."""
    redouble: bool = False
    """Whether the mover owns the cube."""
    equity_nd: float | None = None
    """Of rolling without a double; null for an answer to an offer."""
    equity_dt: float | None = None
    """Of double and take; null, as the others, where there is none."""
    equity_dp: float | None = None
    """Of double and pass: exact."""
    equity_beaver: float | None = None
    """Of double and beaver."""


class CubeRolloutDecision(CubeDecision):
    """What a rolled out cube decision comes to, in the view of the player who may double."""

    se_nd: float
    se_dt: float | None
    mwc_nd: float | None = None
    mwc_dt: float | None = None
    mwc_dp: float | None = None
    loss_no_double: float | None = None
    loss_double: float | None = None
    loss_take: float | None = None
    loss_pass: float | None = None


class RolloutResult(Model):
    """Everything in a rollout's answer that depends on the question alone: the same bytes from any farm."""

    xgid: str
    rules: str
    net: str
    """Digest of the net."""
    seed: int
    truncate: int | None
    variance_reduction: bool
    bearoff: bool
    bearoff_checkers: int | None
    """Checkers a side of the two-sided database; None where no trial could end in it."""
    stop: StopReason
    """Why it ended."""
    cubeful: bool = False
    met: str | None = None
    """Match equity table, where a score was looked at."""
    candidates: tuple[CandidateResult, ...]
    """Best first; in a cube decision no double, then double/take."""
    cube: CubeRolloutDecision | None = None
    """Before the roll with the cube in play."""


class Provenance(Model):
    """Where an answer came from."""

    key: str
    """Content key of the question."""
    net: str
    seed: int
    result_version: int
    device: str
    executor: str
    workers: int
    blocks: int
    blocks_from_cache: int
    trials: int
    """Over all candidates."""
    trials_from_cache: int
    retries: int
    """Blocks that were run again because their worker died."""
    job: str
    """Id of the job in the store; the MLflow run carries it as a tag."""
    versions: dict[str, str]


class Timing(Model):
    """How long an answer took."""

    seconds: float
    trials_per_second: float
    """Trials computed in this run (all candidates) by wall time; 0 when all came from the cache."""

    @classmethod
    def of(cls, seconds: float, computed: int) -> Timing:
        """Of an answer for which so many trials were computed."""
        return cls(seconds=seconds, trials_per_second=computed / seconds if computed and seconds else 0.0)


class RolloutReport(Model):
    """The JSON document of `gammonfarm rollout`."""

    result: RolloutResult
    provenance: Provenance
    timing: Timing


class PerftReport(Model):
    """The JSON document of `gammonfarm perft`."""

    xgid: str
    rules: str
    depth: int
    plays: int
    weighted: int
    seconds: float


class ConversionReport(Model):
    """The JSON document of `gammonfarm convert`."""

    xgid: str
    gnu_position_id: str
    gnu_match_id: str
    pips: tuple[int, int]
    """Player on roll, opponent."""
    borne_off: tuple[int, int]
    on_roll: str
    board: tuple[int, ...]
    """26 places in the view of the player on roll: 0 = opponent's bar, 25 = own bar."""


class CheckerBenchmark(Model):
    """Checker play on a file of decisions with known answers."""

    meq_per_decision: float
    interval95: tuple[float, float]
    decisions: int
    error_rate: float
    """500 times the mean loss (the scale of PR)."""
    first_choice: float
    unlisted: float


class BenchmarkReport(Model):
    """The JSON document of `gammonfarm benchmark`."""

    file: str
    net: str
    level: int
    checker: CheckerBenchmark
    seconds: float


class Service(Model):
    """One thing that `gammonfarm doctor` looked at."""

    name: str
    ok: bool
    configured: str
    """Where it is looked for, and by which setting."""
    detail: str


class DoctorReport(Model):
    """The JSON document of `gammonfarm doctor`."""

    ok: bool
    services: tuple[Service, ...]
    versions: dict[str, str]


M = TypeVar("M", bound=Model)


def parse_request(model: type[M], fields: dict[str, Any]) -> M:
    """Build a request.

    Raises:
        InputError: names the first field that doesn't fit, its value and what was expected.
    """
    try:
        return model.model_validate(fields)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        name = ".".join(str(part) for part in first["loc"]) or model.__name__
        expected = _expectation(model, str((first["loc"] or ("",))[0]), first["msg"])
        raise InputError(name, shown(first.get("input")), expected) from None


def _expectation(model: type[Model], field: str, message: str) -> str:
    info = model.model_fields.get(field)
    bounds = {type(m).__name__: m for m in info.metadata} if info else {}
    if "MultipleOf" in bounds and "Ge" in bounds and "Le" in bounds:
        return f"a multiple of {bounds['MultipleOf'].multiple_of} from {bounds['Ge'].ge} to {bounds['Le'].le}"
    if "Ge" in bounds and "Le" in bounds:
        return f"a whole number from {bounds['Ge'].ge} to {bounds['Le'].le}"
    if "Gt" in bounds and "Lt" in bounds:
        return f"a number between {bounds['Gt'].gt} and {bounds['Lt'].lt}"
    return in_plain_words(message)


def in_plain_words(message: str) -> str:
    """What pydantic expected, as an `InputError` goes on after "expected"."""
    found = re.sub(r"^Value error, ", "", message)
    found = re.sub(r"^(Input|String|List|Tuple|Dictionary) should (be|have|match) ", "", found)
    found = re.sub(r", unable to (parse|interpret).*| after validation, not .*| to extract fields from$", "", found)
    found = re.sub(r"^(a valid )", "a ", found)
    found = re.sub(r"^(greater|less) than", r"a number \1 than", found)
    return found[:1].lower() + found[1:]


def shown(value: object) -> object:
    """A value as errors repeat it: of a large one only what it is."""
    if isinstance(value, dict):
        return "an object"
    return "a list" if isinstance(value, list | tuple) else value


def probabilities_of(value: Valuation) -> Probabilities:
    """The probabilities of a valuation."""
    return Probabilities.of(value.outcome)
