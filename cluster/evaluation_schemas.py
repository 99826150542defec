"""The JSON document of `gammonfarm evaluate`."""

from __future__ import annotations

from cluster.book.schemas import BookMatch
from cluster.schemas import CubeDecision, Model, Probabilities
from engine.match import CubeOwner


class PlayValue(Model):
    """A ranked play."""

    play: str
    equity: float
    """See `EvaluationReport.cubeful`."""
    cubeless_equity: float
    mwc: float | None = None
    """Chance to win the match; null in money play."""
    difference: float
    """To the best play: zero or negative."""
    probabilities: Probabilities
    level: int


class BearoffSide(Model):
    """A side that only bears off, from the exact database."""

    mean_rolls: float
    epc: float
    """Effective pip count: 49/6 times the mean number of rolls."""
    wastage: float
    """EPC minus pips."""


class MarketLosers(Model):
    """Pairs of a roll now and a reply after which a double at the next turn is passed; the plays are those of 1-ply."""

    sequences: int
    """Of 1,296."""
    rolls: dict[str, int]
    """By roll now ("65"): of 36 replies, those that lose the market; 36 where the roll wins at once."""


class CubeReport(CubeDecision):
    """A cube decision, before the roll or about a standing offer."""

    equity_raccoon: float | None = None
    mwc_nd: float | None = None
    """The same as chances to win the match; null in money play."""
    mwc_dt: float | None = None
    mwc_dp: float | None = None
    loss_no_double: float | None = None
    """What each action loses against the best one of whoever chooses it; 0 for the best."""
    loss_double: float | None = None
    loss_take: float | None = None
    loss_pass: float | None = None
    loss_beaver: float | None = None
    loss_raccoon: float | None = None
    take_point: float | None = None
    """Chance to win that the player who is doubled needs to take, with the gammons of this position."""
    cash_point: float | None = None
    """Chance of the doubler from which his opponent passes."""
    too_good_point: float | None = None
    """Chance of the doubler from which he rather plays on than cashes."""
    market_losers: MarketLosers | None = None
    efficiency: float | None = None
    """How live the cube is here, from 0 (dead) to 1."""
    exact: bool = False
    """Whether the equities come from the two-sided bear-off database."""


class ResignationReport(Model):
    """Resigning before the roll."""

    accept: str
    """The lowest level ("single", "gammon", "backgammon") of the opponent's that is safe to accept."""
    offer: str
    """The lowest level that the opponent could not refuse."""


class CubeCase(Model):
    """The answer for one state of the cube."""

    owner: CubeOwner
    """In the view of the player on roll."""
    cube: int
    """Its value."""
    equity: float
    mwc: float | None = None
    decision: CubeReport | None = None
    """Before the roll."""
    plays: tuple[PlayValue, ...] = ()
    """With dice."""


class EvaluationReport(Model):
    """The JSON document of `gammonfarm evaluate`: the position before the roll and, with dice, the plays, best
    first.
    """

    xgid: str
    gnu_id: str | None
    """Null where such an ID can't say it: for a beaver or raccoon that stands."""
    rules: str
    net: str
    level: int
    cubeful: bool
    """Whether `equity` looks at the cube and the score: then it is in units of the cube (EMG in a match). Else it is
    the cubeless money equity."""
    met: str | None = None
    """Name of the match equity table; null in money play."""
    equity: float
    """Before the roll with the better of doubling and rolling; with dice the value of the best play; of an offer that
    stands, of the best answer."""
    cubeless_equity: float
    """Cubeless money equity."""
    mwc: float | None = None
    """Chance to win the match that `equity` stands for; null in money play."""
    probabilities: Probabilities
    plays: tuple[PlayValue, ...] = ()
    cube: CubeReport | None = None
    """Without dice."""
    cases: tuple[CubeCase, ...] = ()
    """With `--cube all`: the answers for a centred cube, the player's own and his opponent's."""
    resignation: ResignationReport | None = None
    """Before the roll."""
    book: BookMatch | None = None
    """With `--book`: what that book says about the plays; null where it doesn't know the position. It changes no other
    field.
    """
    bearoff: tuple[BearoffSide | None, BearoffSide | None] = (None, None)
    """Player on roll, opponent; null for a side that has a checker outside its home."""
