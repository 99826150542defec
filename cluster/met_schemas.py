"""The JSON documents of `gammonfarm met`."""

from __future__ import annotations

from cluster.schemas import Model


class MetInfo(Model):
    """Which table."""

    name: str
    source: str
    rules: str
    cube: bool
    """Whether it was made for play with the cube."""
    length: int
    """Points up to which it was given; beyond, formulas carry it on."""
    digest: str
    """Names all values."""


class MetTableReport(Model):
    """The JSON document of `gammonfarm met` without a score."""

    met: MetInfo
    pre_crawford: tuple[tuple[float, ...], ...]
    """Row a - 1, column b - 1: chance of the side that needs a points against b; at 1 the Crawford game comes."""
    post_crawford: tuple[float, ...] | None
    """Item a - 1: chance of the side that needs a points against one that needs one, after the Crawford game; null
    without a cube, where no game is special."""


class SideStakes(Model):
    """What the cube and gammons are worth to one side at a score and a cube."""

    points_away: int
    mwc: float
    """Chance to win the match before the game."""
    after_win: tuple[float, float, float]
    """The same after this side has won a single game, a gammon, a backgammon with this cube."""
    after_loss: tuple[float, float, float]
    take_point_dead: float | None
    """Gammonless, for a double from this cube to twice as much, the cube never being turned again except by a taker who
    has nothing left to lose; null: no double is possible."""
    take_point_live: float | None
    """The same with perfect use of the cube."""
    gammon_value: float
    """What a gammon adds to a win, compared with what a win adds to a loss; 0.5 in money play."""
    backgammon_value: float
    """The same for what a backgammon adds to a gammon."""


class MetScoreReport(Model):
    """The JSON document of `gammonfarm met --away A B`."""

    met: MetInfo
    crawford: bool
    post_crawford: bool
    """Never without a cube, where no game is special."""
    cube: int
    own: SideStakes
    """Of the side that was named first."""
    opponent: SideStakes


class MetComputedReport(Model):
    """The JSON document of `gammonfarm met compute`."""

    met: MetInfo
    file: str
    win: tuple[float, float, float]
    """Chances of the side that begins to win exactly a single game, a gammon, a backgammon."""
    lose: tuple[float, float, float]
    se: float
    """The largest standard error of the cumulative chances."""
    trials: int
    net: str
    seconds: float
