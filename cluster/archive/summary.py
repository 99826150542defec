"""The summary of an archive, collected match by match. What grows with the archive lies on disk, read row by row."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from cluster.archive.analysis import AnalysedMatch
from cluster.archive.books import BookUsed
from cluster.archive.evaluation import Count
from cluster.archive.figures import group_figures, player_figures
from cluster.archive.files import Skipped
from cluster.archive.habits import FrequentError, Habits, PlannedArea, Played, areas_of
from cluster.archive.openings import OpeningFigures, Openings, opening_decision
from cluster.archive.register import MatchRow, Register, SeatRow
from cluster.archive.results import (
    ConditionsShown,
    DecisionResult,
    GroupFigures,
    MatchAnalysis,
    PlayerFigures,
    level_name,
)
from engine.analysis.luck import LuckTally
from engine.analysis.rating import LossTally, PlayerTally
from engine.analysis.thresholds import Grade

WORST_SHOWN = 40
TREND_POINTS = 60
"""More matches than that share their points: a line of thousands can't be read."""


@dataclass(frozen=True, slots=True)
class TrendPoint:
    """A match in a player's trend, or as many that follow one another as share a point; the oldest first."""

    matches: int
    date: str
    """Of the last one."""
    file: str
    """Of a single match; empty where there are more."""
    opponent: str
    """The same."""
    decisions: int
    pr: float | None
    """None without decisions."""
    se: float | None
    luck: float
    """Sum over all rolls, in points."""
    won: int
    """Matches; money sessions are neither won nor lost."""
    lost: int


@dataclass(frozen=True, slots=True)
class WithoutLuck:
    """Results beside what they would have been without the luck of the dice; only where both are known."""

    matches: int
    won: int
    won_without_luck: float
    sessions: int
    """Of money play."""
    points: int
    points_without_luck: float


@dataclass(frozen=True, slots=True)
class ArchivePlayer:
    """A player over all his matches."""

    figures: PlayerFigures
    matches: int
    won: int
    lost: int
    trend: tuple[TrendPoint, ...]
    without_luck: WithoutLuck
    frequent: tuple[FrequentError, ...]
    plan: tuple[PlannedArea, ...]
    openings: OpeningFigures


@dataclass(frozen=True, slots=True)
class WorstDecision:
    """One of the largest errors of an archive."""

    file: str
    report: str
    rules: str
    player: str
    opponent: str
    decision: DecisionResult


@dataclass(frozen=True, slots=True)
class ValuesCount:
    """Positions valued at one level: distinct ones, by where their values came from."""

    level: str
    asked: int
    from_cache: int
    computed: int


@dataclass(frozen=True, slots=True)
class ArchiveFacts:
    """What is said of an archive as a whole."""

    conditions: ConditionsShown
    books: tuple[BookUsed, ...]
    """Opening books whose values stand beside the analysis."""
    decisions: int
    """That count in ratings."""
    levels: dict[str, int]
    """How many of them were judged at which level."""
    all: GroupFigures | None
    """All players together."""
    worst: tuple[WorstDecision, ...]
    """The largest errors, the largest first."""


class ArchiveSummary:
    """An archive: facts, and its players, matches and left out files, which are read when they are asked for."""

    def __init__(self, facts: ArchiveFacts, register: Register) -> None:
        self.facts = facts
        self.register = register

    def players(self, most: int | None = None) -> Iterator[ArchivePlayer]:
        """Those with most decisions first."""
        for key, matches in islice(self.register.player_keys(), most):
            yield _player(self.register.seats(key), matches)


class Summary:
    """Collects an archive."""

    def __init__(self, conditions: ConditionsShown, register: Register) -> None:
        self._conditions = conditions
        self._register = register
        self._total = LossTally()
        self._games = 0
        self._worst: list[tuple[float, int, int, WorstDecision]] = []
        self._levels: dict[str, int] = {}

    def add(self, match: AnalysedMatch, report: str) -> MatchRow:
        """Take in a match whose pages are called `report`."""
        analysis = match.analysis
        row = MatchRow(
            file=analysis.file,
            report=report,
            players=analysis.players,
            length=analysis.length,
            rules=analysis.rules,
            date=analysis.date,
            event=analysis.event,
            final_score=analysis.final_score,
            winner=analysis.winner,
            games=len(analysis.games),
            figures=(group_figures(match.tallies[0].all), group_figures(match.tallies[1].all)),
            luck=(analysis.figures[0].luck, analysis.figures[1].luck),
            luck_adjusted=analysis.luck_adjusted,
            illegal_plays=analysis.illegal_plays,
            notes=len(analysis.notes),
        )
        self._register.add(row, (_seat(match, 0), _seat(match, 1)))
        for level, count in analysis.levels.items():
            self._levels[level] = self._levels.get(level, 0) + count
        self._total += match.tallies[0].all + match.tallies[1].all
        self._games += row.games
        for place, decision in enumerate(analysis.decisions):
            self._add_worst(decision, row, place)
        return row

    @property
    def matches(self) -> int:
        """How many were taken in."""
        return self._register.matches

    @property
    def games(self) -> int:
        """Of all of them."""
        return self._games

    def skip(self, skipped: Skipped) -> None:
        """Take in a file of which nothing is analysed."""
        self._register.skip(skipped)

    def finish(self, books: tuple[BookUsed, ...] = ()) -> ArchiveSummary:
        """The summary of all that was taken in."""
        facts = ArchiveFacts(
            conditions=self._conditions,
            books=books,
            decisions=self._total.decisions,
            levels=dict(sorted(self._levels.items())),
            all=group_figures(self._total),
            worst=tuple(one for *_, one in sorted(self._worst, key=lambda item: item[:3], reverse=True)),
        )
        return ArchiveSummary(facts, self._register)

    def _add_worst(self, decision: DecisionResult, row: MatchRow, place: int) -> None:
        if not decision.counts or decision.loss is None or decision.grade in (None, Grade.RIGHT):
            return
        # Of equal losses the one that came first stays, whatever the heap does.
        rank = (decision.loss, -self.matches, -place)
        if len(self._worst) == WORST_SHOWN and rank <= self._worst[0][:3]:
            return
        names = row.players
        player, opponent = names[decision.player - 1], names[2 - decision.player]
        one = WorstDecision(row.file, row.report, row.rules, player, opponent, decision)
        heapq.heappush(self._worst, (*rank, one))
        if len(self._worst) > WORST_SHOWN:
            heapq.heappop(self._worst)


def _seat(match: AnalysedMatch, seat: int) -> SeatRow:
    analysis = match.analysis
    openings = (
        opening_decision(decision, analysis.rules) for decision in analysis.decisions if decision.player == seat + 1
    )
    return SeatRow(
        name=analysis.players[seat],
        file=analysis.file,
        date=analysis.date,
        opponent=analysis.players[1 - seat],
        money=not analysis.length,
        games=len(analysis.games),
        won=None if analysis.winner is None else analysis.winner == seat + 1,
        points=_points(analysis, seat),
        adjusted=_own_view(analysis, seat),
        tally=match.tallies[seat],
        openings=tuple(one for one in openings if one is not None),
    )


def _points(analysis: MatchAnalysis, seat: int) -> int:
    known = [(game.winner, game.points) for game in analysis.games]
    return sum((points or 0) * (1 if winner == seat + 1 else -1) for winner, points in known if winner is not None)


def _own_view(analysis: MatchAnalysis, seat: int) -> float | None:
    adjusted = analysis.luck_adjusted
    if adjusted is None or seat == 0:
        return adjusted
    return round(1.0 - adjusted, 6) if analysis.length else -adjusted


def _player(seats: Iterable[SeatRow], matches: int) -> ArchivePlayer:
    """A player from his matches, the oldest first; of them only sums are kept."""
    tally, habits, openings, results = PlayerTally(), Habits(), Openings(), _Results()
    trend = _Trend(-(-matches // TREND_POINTS))
    name = ""
    for seat in seats:
        name = name or seat.name
        tally += seat.tally
        habits.add(Played(seat.games, areas_of(seat.tally)))
        for one in seat.openings:
            openings.add(one)
        trend.add(seat)
        results.add(seat)
    return ArchivePlayer(
        figures=player_figures(name, tally),
        matches=matches,
        won=results.won,
        lost=results.lost,
        trend=trend.points(),
        without_luck=results.without_luck(),
        frequent=habits.frequent_errors(),
        plan=habits.weekly_plan(),
        openings=openings.figures(),
    )


class _Trend:
    """Points of `size` matches each."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._waiting: list[SeatRow] = []
        self._points: list[TrendPoint] = []

    def add(self, seat: SeatRow) -> None:
        self._waiting.append(seat)
        if len(self._waiting) == self._size:
            self._close()

    def points(self) -> tuple[TrendPoint, ...]:
        if self._waiting:
            self._close()
        return tuple(self._points)

    def _close(self) -> None:
        some, self._waiting = self._waiting, []
        losses = sum((one.tally.all for one in some), LossTally())
        luck = sum((one.tally.luck for one in some), LuckTally())
        figures, single = group_figures(losses), len(some) == 1
        self._points.append(
            TrendPoint(
                matches=len(some),
                date=some[-1].date,
                file=some[0].file if single else "",
                opponent=some[0].opponent if single else "",
                decisions=losses.decisions,
                pr=None if figures is None else figures.pr,
                se=None if figures is None else figures.se,
                luck=round(luck.points, 6),
                won=sum(one.won is True for one in some),
                lost=sum(one.won is False for one in some),
            )
        )


class _Results:
    """Counts results, and those without luck beside them."""

    def __init__(self) -> None:
        self.won = self.lost = 0
        self._known = {False: 0, True: 0}
        """Matches and money sessions of which both results are known."""
        self._result = {False: 0, True: 0}
        self._adjusted = {False: 0.0, True: 0.0}

    def add(self, seat: SeatRow) -> None:
        self.won += seat.won is True
        self.lost += seat.won is False
        if seat.adjusted is not None:
            self._known[seat.money] += 1
            self._result[seat.money] += seat.points if seat.money else seat.won is True
            self._adjusted[seat.money] += seat.adjusted

    def without_luck(self) -> WithoutLuck:
        return WithoutLuck(
            matches=self._known[False],
            won=self._result[False],
            won_without_luck=round(self._adjusted[False], 6),
            sessions=self._known[True],
            points=self._result[True],
            points_without_luck=round(self._adjusted[True], 6),
        )


def values_counts(counts: Mapping[int, Count]) -> tuple[ValuesCount, ...]:
    """What was valued, by level."""
    return tuple(
        ValuesCount(level_name(level), one.asked, one.cached, one.computed) for level, one in sorted(counts.items())
    )
