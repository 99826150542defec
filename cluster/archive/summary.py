"""The summary of an archive, collected match by match: what is kept grows with a row a match, not with decisions."""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from dataclasses import dataclass, field

from cluster.archive.analysis import AnalysedMatch
from cluster.archive.evaluation import Count
from cluster.archive.figures import group_figures, player_figures
from cluster.archive.files import Skipped
from cluster.archive.habits import FrequentError, PlannedArea, Played, areas_of, frequent_errors, weekly_plan
from cluster.archive.openings import OpeningBook, OpeningFigures, Openings
from cluster.archive.results import ConditionsShown, DecisionResult, GroupFigures, PlayerFigures, level_name
from engine.analysis.rating import LossTally, PlayerTally
from engine.analysis.thresholds import Grade

WORST_SHOWN = 40


@dataclass(frozen=True, slots=True)
class MatchRow:
    """One match in the list of an archive."""

    file: str
    report: str
    """Its pages, without the ending: `.html` and `.json` below the report's folder."""
    players: tuple[str, str]
    length: int
    rules: str
    date: str
    event: str
    final_score: tuple[int, int]
    winner: int | None
    games: int
    figures: tuple[GroupFigures | None, GroupFigures | None]
    luck: tuple[float, float]
    luck_adjusted: float | None
    illegal_plays: int
    notes: int


@dataclass(frozen=True, slots=True)
class TrendPoint:
    """A match in a player's trend, the oldest first."""

    file: str
    date: str
    opponent: str
    decisions: int
    pr: float
    se: float | None
    luck: float


@dataclass(frozen=True, slots=True)
class ArchivePlayer:
    """A player over all his matches."""

    figures: PlayerFigures
    matches: int
    won: int
    lost: int
    trend: tuple[TrendPoint, ...]
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
class ArchiveSummary:
    """An archive."""

    conditions: ConditionsShown
    decisions: int
    """That count in ratings."""
    levels: dict[str, int]
    """How many of them were judged at which level."""
    all: GroupFigures | None
    """All players together."""
    players: tuple[ArchivePlayer, ...]
    """Those with most decisions first."""
    matches: tuple[MatchRow, ...]
    worst: tuple[WorstDecision, ...]
    skipped: tuple[Skipped, ...]
    """Files that can't be read, and copies."""


@dataclass(slots=True)
class _Player:
    name: str
    tally: PlayerTally = field(default_factory=PlayerTally)
    played: list[tuple[str, int, Played, TrendPoint | None]] = field(default_factory=list)
    openings: Openings = field(default_factory=Openings)
    matches: int = 0
    won: int = 0
    lost: int = 0


class Summary:
    """Collects an archive."""

    def __init__(self, conditions: ConditionsShown) -> None:
        self._conditions = conditions
        self._players: dict[str, _Player] = {}
        self._rows: list[MatchRow] = []
        self._skipped: list[Skipped] = []
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
        self._rows.append(row)
        for level, count in analysis.levels.items():
            self._levels[level] = self._levels.get(level, 0) + count
        players = [self._player(name) for name in analysis.players]
        for seat, player in enumerate(players):
            self._add_player(player, match, seat)
        for place, decision in enumerate(analysis.decisions):
            players[decision.player - 1].openings.add(decision)
            self._add_worst(decision, row, place)
        return row

    @property
    def matches(self) -> int:
        """How many were taken in."""
        return len(self._rows)

    def skip(self, skipped: Skipped) -> None:
        """Take in a file of which nothing is analysed."""
        self._skipped.append(skipped)

    def finish(self, book: OpeningBook | None = None) -> ArchiveSummary:
        """The summary of all that was taken in."""
        players = sorted(self._players.values(), key=lambda one: (-one.tally.all.decisions, one.name.casefold()))
        total = sum((one.tally.all for one in players), LossTally())
        return ArchiveSummary(
            conditions=self._conditions,
            decisions=total.decisions,
            levels=dict(sorted(self._levels.items())),
            all=group_figures(total),
            players=tuple(_finished(one, book) for one in players),
            matches=tuple(self._rows),
            worst=tuple(one for _, _, _, one in sorted(self._worst, key=lambda item: (-item[0], -item[1], -item[2]))),
            skipped=tuple(self._skipped),
        )

    def _player(self, name: str) -> _Player:
        return self._players.setdefault(name.casefold(), _Player(name))

    def _add_player(self, player: _Player, match: AnalysedMatch, seat: int) -> None:
        analysis, tally = match.analysis, match.tallies[seat]
        figures = analysis.figures[seat]
        player.tally += tally
        player.matches += 1
        player.won += analysis.winner == seat + 1
        player.lost += analysis.winner == 2 - seat
        point = None
        if figures.pr is not None:
            point = TrendPoint(
                file=analysis.file,
                date=analysis.date,
                opponent=analysis.players[1 - seat],
                decisions=figures.decisions,
                pr=figures.pr,
                se=figures.se,
                luck=figures.luck,
            )
        played = Played(len(analysis.games), areas_of(tally))
        player.played.append((analysis.date, len(self._rows), played, point))

    def _add_worst(self, decision: DecisionResult, row: MatchRow, place: int) -> None:
        if not decision.counts or decision.loss is None or decision.grade in (None, Grade.RIGHT):
            return
        # Of equal losses the one that came first stays, whatever the heap does.
        rank = (decision.loss, -len(self._rows), -place)
        if len(self._worst) == WORST_SHOWN and rank <= self._worst[0][:3]:
            return
        names = row.players
        player, opponent = names[decision.player - 1], names[2 - decision.player]
        one = WorstDecision(row.file, row.report, row.rules, player, opponent, decision)
        heapq.heappush(self._worst, (*rank, one))
        if len(self._worst) > WORST_SHOWN:
            heapq.heappop(self._worst)


def _finished(player: _Player, book: OpeningBook | None) -> ArchivePlayer:
    # Dates of the form 2024-05-01 sort as text; matches without one come first, in the order of their files.
    in_order = sorted(player.played, key=lambda item: item[:2])
    matches = [played for _, _, played, _ in in_order]
    return ArchivePlayer(
        figures=player_figures(player.name, player.tally),
        matches=player.matches,
        won=player.won,
        lost=player.lost,
        trend=tuple(point for _, _, _, point in in_order if point is not None),
        frequent=frequent_errors(matches),
        plan=weekly_plan(matches),
        openings=player.openings.figures(book),
    )


def values_counts(counts: Mapping[int, Count]) -> tuple[ValuesCount, ...]:
    """What was valued, by level."""
    return tuple(
        ValuesCount(level_name(level), one.asked, one.cached, one.computed) for level, one in sorted(counts.items())
    )
