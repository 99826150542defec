"""The models of matches between players and of the registry of nets: what clients send and what they get."""

from __future__ import annotations

from pydantic import Field

from cluster.schemas import Model
from training.match import Verdict

MAX_GAMES = 2_000_000


class MatchRequest(Model):
    """A match as a client asks for it; which nets play is said beside it."""

    games: int = Field(default=2000, ge=4, le=MAX_GAMES)
    """At most; an even number, because games come in pairs on the same dice, and an error needs two pairs."""
    level_a: int = Field(default=1, ge=1, le=2)
    level_b: int = Field(default=1, ge=1, le=4)
    """Above 2 only against GNU Backgammon."""
    seed: int = Field(default=1, ge=0, le=2**63 - 1)
    rules: str = "international"
    looks: int = 1
    """How often the result is looked at; above 1 the match ends as soon as it is decided."""
    margin: float | None = None
    """Points per game by which a difference must be smaller to count as none."""
    variance_reduction: bool = True
    bearoff: bool = True
    """Whether nets look endings up in the bear-off databases."""


class MatchPlayer(Model):
    """One of the two players."""

    name: str
    """As it was asked for."""
    net: str | None
    """Digest of the nets; null for GNU Backgammon."""
    level: int
    """Plies, counted from 1."""


class MatchEstimate(Model):
    """A's points per game, cubeless."""

    points: float
    se: float
    """Standard error, from pairs of games on the same dice."""
    interval95: tuple[float, float]
    """With several looks, wide enough that those of all looks together hold with 95 %."""


class MatchResults(Model):
    """How the games ended, in A's view. Backgammons are no gammons here."""

    wins: int
    gammons: int
    backgammons: int
    losses: int
    gammons_lost: int
    backgammons_lost: int
    unfinished: int


class MatchResult(Model):
    """Everything in a match's answer that depends on the question alone: the same bytes from any farm."""

    a: MatchPlayer
    b: MatchPlayer
    rules: str
    seed: int
    games: int
    """That count; fewer than asked for where the match was decided early."""
    look: int
    """Of `looks`: the one that ended the match."""
    looks: int
    margin: float | None
    verdict: Verdict
    estimate: MatchEstimate
    """Less the luck of the dice, if luck was computed: the one that the verdict goes by."""
    raw: MatchEstimate
    """As the games were played."""
    luck: float
    """A's mean luck per game, within a few `luck_se` of zero."""
    luck_se: float
    coefficient: float
    """Of the luck in the estimate, fitted to the games; 1 without luck."""
    variance_reduction: bool
    bearoff: bool
    results: MatchResults


class MatchProvenance(Model):
    """Where a match's answer came from."""

    series: str
    """Content key of the pairs of games."""
    executor: str
    workers: int
    games_from_cache: int
    retries: int
    versions: dict[str, str]
    seconds: float
    games_per_second: float
    """Games played in this run by wall time."""


class MatchReport(Model):
    """The JSON document of `gammonfarm match`."""

    result: MatchResult
    provenance: MatchProvenance


class NetScoreRow(Model):
    """Checker play of a net on a file of decisions with known answers."""

    file: str
    level: int
    meq_per_decision: float
    interval95: tuple[float, float]
    decisions: int


class PromotionRow(Model):
    """Why a net once became champion."""

    time: float
    """Unix seconds."""
    replaced: str | None
    """Digest of the champion before; null if there was none."""
    points: float | None
    """Against it, per game."""
    interval95: tuple[float, float] | None
    games: int
    benchmark_difference: float | None
    """mEq per decision, negative = better; null without a benchmark."""
    forced: str | None
    """The reason given where no test allowed it."""


class NetRow(Model):
    """A version of a net in the registry."""

    name: str
    version: int
    aliases: tuple[str, ...]
    digest: str
    recipe: str
    games: str
    """Self-play games of its training, as its header says."""
    rules: str
    registered: float
    """Unix seconds."""
    scores: tuple[NetScoreRow, ...]
    promotions: tuple[PromotionRow, ...]


class NetsReport(Model):
    """The JSON document of `gammonfarm nets list`."""

    nets: tuple[NetRow, ...]


class NetFile(Model):
    """A net file that was written."""

    file: str
    kind: str
    digest: str
    width: int
    header: dict[str, str]


class NetFiles(Model):
    """The JSON document of `gammonfarm nets split` and `gammonfarm nets join`."""

    nets: tuple[NetFile, ...]


class NetDetails(Model):
    """The JSON document of `gammonfarm nets show`."""

    digest: str
    kind: str
    width: int
    header: dict[str, str]
    """What training wrote into the file."""
    shapes: dict[str, tuple[int, ...]]
    quantisation_mean: float
    """Mean difference of equity between the integer twin and the float network over positions of self-play."""
    quantisation_largest: float
    registered: tuple[NetRow, ...]
    """Its places in the registry."""


class PairedBenchmark(Model):
    """Two nets on the same decisions; mEq per decision, negative difference = A is better."""

    file: str
    level: int
    decisions: int
    a_meq: float
    b_meq: float
    difference: float
    se: float
    interval95: tuple[float, float]
    differing: int
    """Decisions on which they choose differently."""


class ComparisonReport(Model):
    """The JSON document of `gammonfarm nets compare`."""

    match: MatchReport | None
    benchmark: PairedBenchmark | None


class PromotionReport(Model):
    """The JSON document of `gammonfarm nets promote`."""

    promoted: bool
    reason: str
    """One line: why, or why not."""
    net: NetRow
    champion: NetRow | None
    """The one before; null if there was none."""
    match: MatchReport | None
    benchmark: PairedBenchmark | None
