"""What a player should work on: his most frequent errors and a plan for a week, from tallies of his matches.

An area is a type of position (all decisions in it) or the cube as a whole. Sources of the limits: the rules digest of
the project, C22.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from engine.analysis.rating import LossTally, PlayerTally

CUBE_AREA = "cube"
MOST_FREQUENT = 3
LEAST_DECISIONS = 20
PLANNED_AREAS = 2
LEAST_FOR_THE_PLAN = 40
RECENT_GAMES = 10
_STEADY = 0.1
"""A change of the mean loss by less than this part of it is none."""


class Trend(StrEnum):
    """The last ten games against those before."""

    IMPROVING = "improving"
    WORSENING = "worsening"
    STEADY = "steady"


@dataclass(frozen=True, slots=True)
class FrequentError:
    """An area in which errors are frequent."""

    area: str
    decisions: int
    errors: int
    pr: float
    trend: Trend | None
    """None: too few decisions on one side."""


@dataclass(frozen=True, slots=True)
class PlannedArea:
    """An area to work on this week."""

    area: str
    decisions: int
    pr: float
    loss: float
    """All that was lost there, in points."""


@dataclass(frozen=True, slots=True)
class Played:
    """One match of one player."""

    games: int
    areas: Mapping[str, LossTally]


def areas_of(tally: PlayerTally) -> dict[str, LossTally]:
    """The areas of a tally in which something was decided."""
    found = {kind.value: one for kind, one in tally.by_type.items() if one.decisions}
    return found | ({CUBE_AREA: tally.cube} if tally.cube.decisions else {})


class Habits:
    """Collects the matches of one player, the oldest first. The newest that together hold ten games are compared with
    those before.
    """

    def __init__(self) -> None:
        self._recent: deque[Played] = deque()
        self._games = 0
        """Of the recent matches."""
        self._earlier: dict[str, LossTally] = {}

    def add(self, match: Played) -> None:
        """Take in the next match."""
        self._recent.append(match)
        self._games += match.games
        while self._games - self._recent[0].games >= RECENT_GAMES:
            first = self._recent.popleft()
            self._games -= first.games
            self._earlier = _sum([self._earlier, first.areas])

    def frequent_errors(self) -> tuple[FrequentError, ...]:
        """At most three areas with the most errors, of those with twenty decisions or more."""
        earlier, recent = self._earlier, _sum([match.areas for match in self._recent])
        total = _sum([earlier, recent])
        known = [area for area, one in total.items() if one.decisions >= LEAST_DECISIONS and one.errors]
        known.sort(key=lambda area: (-total[area].errors, -total[area].loss, area))
        return tuple(
            FrequentError(
                area=area,
                decisions=total[area].decisions,
                errors=total[area].errors,
                pr=_pr(total[area]),
                trend=_trend(earlier.get(area, LossTally()), recent.get(area, LossTally())),
            )
            for area in known[:MOST_FREQUENT]
        )

    def weekly_plan(self) -> tuple[PlannedArea, ...]:
        """The two areas with the highest PR, of those with forty decisions or more."""
        total = _sum([self._earlier, *(match.areas for match in self._recent)])
        known = [area for area, one in total.items() if one.decisions >= LEAST_FOR_THE_PLAN and one.loss]
        known.sort(key=lambda area: (-_pr(total[area]), area))
        return tuple(
            PlannedArea(area, total[area].decisions, _pr(total[area]), round(total[area].points, 4))
            for area in known[:PLANNED_AREAS]
        )


def _sum(parts: Sequence[Mapping[str, LossTally]]) -> dict[str, LossTally]:
    total: dict[str, LossTally] = {}
    for part in parts:
        for area, tally in part.items():
            total[area] = total.get(area, LossTally()) + tally
    return total


def _trend(earlier: LossTally, recent: LossTally) -> Trend | None:
    if min(earlier.decisions, recent.decisions) < LEAST_DECISIONS:
        return None
    before, now = _pr(earlier), _pr(recent)
    if abs(now - before) <= _STEADY * max(before, now):
        return Trend.STEADY
    return Trend.IMPROVING if now < before else Trend.WORSENING


def _pr(tally: LossTally) -> float:
    rating = tally.rating
    return 0.0 if rating is None else round(rating.pr, 4)
