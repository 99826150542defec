"""An analysis from files to results, in windows of some thousand decisions: memory doesn't grow with the archive.

Within a window every distinct position is valued once; across windows and runs the store has the deeper values.
Neither changes an answer: what is said about a decision depends on it alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from cluster.archive.books import NO_BOOKS, BookLookup
from cluster.archive.cubes import judge_cubes
from cluster.archive.evaluation import Advance, Count, Evaluation
from cluster.archive.figures import player_figures
from cluster.archive.files import FoundFile, Reader, Skipped
from cluster.archive.judging import Judge, Settled
from cluster.archive.matches import Conditions, Matches
from cluster.archive.plays import judge_plays
from cluster.archive.policy import Policy
from cluster.archive.results import (
    ConditionsShown,
    DecisionResult,
    GameFigures,
    MatchAnalysis,
    PlayerFigures,
)
from cluster.archive.rollouts import Rollouts
from cluster.archive.work import MatchWork
from cluster.executor import Executor
from cluster.store import Store
from engine.analysis.language import Language
from engine.analysis.luck import luck_adjusted
from engine.analysis.rating import PlayerTally
from engine.position import Player
from engine.records.record import GameRecord, MatchRecord

WINDOW = 10_000
"""Decisions that are held at a time."""


@dataclass(frozen=True, slots=True)
class AnalysedMatch:
    """A match and what it adds to an archive."""

    analysis: MatchAnalysis
    tallies: tuple[PlayerTally, PlayerTally]
    work: MatchWork


@dataclass(slots=True)
class Counted:
    """What a run has done."""

    decisions: int = 0
    """With a question, in all matches."""
    values: dict[int, Count] = field(default_factory=dict)
    """By level."""


class Analysis(Protocol):
    """Turns files into results, here or elsewhere."""

    @property
    def counted(self) -> Counted:
        """What has been done so far."""

    def run(self, files: Sequence[FoundFile]) -> Iterator[AnalysedMatch | Skipped]:
        """One answer for each file, in their order."""


class ArchiveAnalysis:
    """Analyses files under one set of conditions; see `Analysis`."""

    def __init__(
        self,
        conditions: Conditions,
        policy: Policy,
        language: Language,
        store: Store,
        executor_for: Callable[[], Executor],
        advance: Advance,
        lookup: BookLookup = NO_BOOKS,
    ) -> None:
        self._matches = Matches(conditions)
        self._policy = policy
        self._language = language
        self._evaluation = Evaluation(self._matches, store, executor_for, advance, policy.every_play)
        self._rollouts = Rollouts(self._matches, policy, store, executor_for, advance)
        self._lookup = lookup
        self._shown = conditions_shown(conditions, policy, lookup)
        self.counted = Counted(values=self._evaluation.counts)

    def run(self, files: Sequence[FoundFile]) -> Iterator[AnalysedMatch | Skipped]:
        """One answer for each file, in their order."""
        window: list[MatchWork | Skipped] = []
        size = 0
        for work in Reader(self._matches).read(files):
            window.append(work)
            size += len(work.asked) if isinstance(work, MatchWork) else 0
            if size >= WINDOW:
                yield from self._window(window)
                window, size = [], 0
        yield from self._window(window)

    def _window(self, window: list[MatchWork | Skipped]) -> Iterator[AnalysedMatch | Skipped]:
        works = [work for work in window if isinstance(work, MatchWork)]
        judge = Judge(self._settle(works), self._matches, self._language, self._lookup.books)
        for work in window:
            yield self._match(work, judge) if isinstance(work, MatchWork) else work

    def _settle(self, works: Sequence[MatchWork]) -> Settled:
        asked = [one for work in works for one in work.asked]
        self.counted.decisions += len(asked)
        plays = list(dict.fromkeys(one.play for one in asked if one.play is not None))
        also = [one.if_other_began for one in asked if one.if_other_began is not None]
        judged, rolls = judge_plays(plays, self._evaluation, self._matches, self._policy, also)
        cases = list(dict.fromkeys(one.cube for one in asked if one.cube is not None))
        cubes = judge_cubes(cases, self._evaluation, self._matches, self._policy)
        if self._policy.rollout_close > 0:
            judged.update(self._rollouts.plays(judged))
            cubes.update(self._rollouts.cubes(cubes))
        if self._lookup.books is not None and self._lookup.instead:
            judged.update(self._lookup.books.judged(judged, self._matches))
        return Settled(judged, rolls, cubes)

    def _match(self, work: MatchWork, judge: Judge) -> AnalysedMatch:
        record = work.record
        by_game: dict[int, list[PlayerTally]] = {game.number: [PlayerTally(), PlayerTally()] for game in record.games}
        results: list[DecisionResult] = []
        levels: dict[str, int] = {}
        for one in work.asked:
            judged = judge.decision(one)
            by_game[one.decision.game][0 if one.decision.player is Player.X else 1] += judged.tally
            if judged.result is not None:
                results.append(judged.result)
                if judged.result.counts:
                    levels[judged.result.level] = levels.get(judged.result.level, 0) + 1
        own = sum((tallies[0] for tallies in by_game.values()), PlayerTally())
        other = sum((tallies[1] for tallies in by_game.values()), PlayerTally())
        analysis = MatchAnalysis(
            file=work.shown,
            digest=work.digest,
            format="" if record.source is None else record.source.format.value,
            players=_names(record),
            length=record.match.length,
            rules=record.match.rules.name,
            event=record.about.event,
            date=record.about.date,
            final_score=record.final_score,
            winner=_winner(record),
            luck_adjusted=_adjusted(record, own, other),
            figures=(player_figures(_names(record)[0], own), player_figures(_names(record)[1], other)),
            levels=dict(sorted(levels.items())),
            games=tuple(_game(record, game, by_game[game.number]) for game in record.games),
            decisions=tuple(results),
            illegal_plays=record.illegal_plays,
            notes=tuple(str(note) for note in record.notes),
            conditions=self._shown,
        )
        return AnalysedMatch(analysis, (own, other), work)


def _names(record: MatchRecord) -> tuple[str, str]:
    own, other = record.players
    return own.strip() or "Player 1", other.strip() or "Player 2"


def _winner(record: MatchRecord) -> int | None:
    length, score = record.match.length, record.final_score
    if not length or max(score) < length:
        return None
    return 1 if score[0] >= length else 2


def _adjusted(record: MatchRecord, own: PlayerTally, other: PlayerTally) -> float | None:
    if record.match.is_money:
        if not record.games or any(game.result is None for game in record.games):
            return None
        points = sum(
            (1 if game.result.winner is Player.X else -1) * game.result.points
            for game in record.games
            if game.result is not None
        )
        return round(luck_adjusted(points, own.luck, other.luck), 6)
    winner = _winner(record)
    whole = record.games and record.games[0].score == (0, 0)
    if winner is None or not whole:
        return None
    return round(luck_adjusted(1.0 if winner == 1 else 0.0, own.luck, other.luck), 6)


def _game(record: MatchRecord, game: GameRecord, tallies: Sequence[PlayerTally]) -> GameFigures:
    result = game.result
    names = _names(record)
    players: tuple[PlayerFigures, PlayerFigures] = (
        player_figures(names[0], tallies[0]),
        player_figures(names[1], tallies[1]),
    )
    return GameFigures(
        number=game.number,
        score=game.score,
        crawford=game.crawford,
        winner=None if result is None else 1 if result.winner is Player.X else 2,
        points=None if result is None else result.points,
        ending=None if result is None else result.ending.value,
        players=players,
    )


def conditions_shown(conditions: Conditions, policy: Policy, lookup: BookLookup = NO_BOOKS) -> ConditionsShown:
    """How everything is valued, for reports."""
    return ConditionsShown(
        net=conditions.nets.digest,
        policy=policy.name,
        level=policy.level,
        filter=policy.move_filter.name,
        met=conditions.met or "the usual one",
        efficiency=conditions.efficiency_name,
        rollout_close=policy.rollout_close,
        bearoff_checkers=conditions.bearoff_checkers,
        from_book=lookup.instead,
    )
