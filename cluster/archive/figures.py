"""Tallies of players as the figures of a report."""

from __future__ import annotations

from cluster.archive.results import GroupFigures, PlayerFigures
from engine.analysis.rating import LossTally, PlayerTally, strength

LEAST_FOR_STRENGTH = 20
"""Decisions below which nobody is called a champion."""


def group_figures(tally: LossTally) -> GroupFigures | None:
    """None without decisions."""
    rating = tally.rating
    if rating is None:
        return None
    return GroupFigures(
        decisions=rating.decisions,
        pr=_rounded(rating.pr),
        se=None if rating.se is None else _rounded(rating.se),
        loss=_rounded(tally.points),
        errors=tally.errors,
        blunders=tally.blunders,
    )


def player_figures(name: str, tally: PlayerTally) -> PlayerFigures:
    """Everything that is counted of a player."""
    all_ = tally.all
    rating = all_.rating
    return PlayerFigures(
        name=name,
        decisions=all_.decisions,
        pr=None if rating is None else _rounded(rating.pr),
        se=None if rating is None or rating.se is None else _rounded(rating.se),
        strength=None if rating is None or rating.decisions < LEAST_FOR_STRENGTH else strength(rating.pr).name.lower(),
        mark=None if all_.mark is None else round(all_.mark, 2),
        errors=all_.errors,
        blunders=all_.blunders,
        loss=_rounded(all_.points),
        checker=group_figures(tally.checker),
        cube=group_figures(tally.cube),
        by_type={kind.value: found for kind, one in tally.by_type.items() if (found := group_figures(one))},
        cube_errors={kind.value: found for kind, one in tally.cube_errors.items() if (found := group_figures(one))},
        rolls=tally.luck.rolls,
        luck=_rounded(tally.luck.points),
        lucky=tally.luck.lucky,
        unlucky=tally.luck.unlucky,
    )


def _rounded(value: float) -> float:
    """Six decimals are more than any value is good for, and keep files small."""
    return round(value, 6)
