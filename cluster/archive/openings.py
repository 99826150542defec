"""How a player opens: his first plays by roll, what they lose, and whether a book agrees.

A book is anything that knows the best play of an opening position; without one the analysis itself says what is best.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from cluster.archive.results import DecisionKind, DecisionResult
from engine.analysis.rating import LossTally

_START = "XGID=-b----E-C---eE---c-e----B-:"


class OpeningBook(Protocol):
    """Knows openings."""

    def best_play(self, xgid: str) -> str | None:
        """The best play of a position with dice, in standard notation; None if the book doesn't have it."""


@dataclass(frozen=True, slots=True)
class OpeningPlay:
    """One way in which a player played an opening roll."""

    play: str
    times: int
    loss: float
    """Mean, in points."""
    book: bool | None
    """Whether it is the book's play; None: the book doesn't know the position, or there is none."""


@dataclass(frozen=True, slots=True)
class OpeningRoll:
    """A first roll and all that the player did with it, the most frequent first."""

    dice: tuple[int, int]
    best: str
    plays: tuple[OpeningPlay, ...]


@dataclass(frozen=True, slots=True)
class OpeningFigures:
    """The openings of a player."""

    first_plays: int
    first_plays_pr: float | None
    replies: int
    """Second turns of a game."""
    replies_pr: float | None
    rolls: tuple[OpeningRoll, ...]


@dataclass(slots=True)
class Openings:
    """Collects the openings of one player."""

    _first: dict[tuple[int, int], dict[str, LossTally]] = field(default_factory=dict)
    _best: dict[tuple[int, int], str] = field(default_factory=dict)
    _xgid: dict[tuple[int, int], str] = field(default_factory=dict)
    _replies: LossTally = field(default_factory=LossTally)

    def add(self, decision: DecisionResult) -> None:
        """Take in a decision of the player, whatever it is; only opening plays from the usual start count."""
        loss, done, dice = decision.loss, decision.done, decision.dice
        if decision.kind is not DecisionKind.PLAY or not decision.counts or loss is None or not done or not dice:
            return
        tally = LossTally.of(loss)
        if decision.turn == 1 and decision.xgid.startswith(_START):
            plays = self._first.setdefault(dice, {})
            plays[done] = plays.get(done, LossTally()) + tally
            self._best.setdefault(dice, decision.best)
            self._xgid.setdefault(dice, decision.xgid)
        elif decision.turn == 2:
            self._replies += tally

    def figures(self, book: OpeningBook | None = None) -> OpeningFigures:
        """All that was collected."""
        rolls = tuple(self._roll(dice, book) for dice in sorted(self._first, reverse=True))
        first = sum((one for plays in self._first.values() for one in plays.values()), LossTally())
        return OpeningFigures(
            first_plays=first.decisions,
            first_plays_pr=None if first.rating is None else round(first.rating.pr, 4),
            replies=self._replies.decisions,
            replies_pr=None if self._replies.rating is None else round(self._replies.rating.pr, 4),
            rolls=rolls,
        )

    def _roll(self, dice: tuple[int, int], book: OpeningBook | None) -> OpeningRoll:
        known = None if book is None else book.best_play(self._xgid[dice])
        plays = sorted(self._first[dice].items(), key=lambda item: (-item[1].decisions, item[0]))
        return OpeningRoll(
            dice=dice,
            best=known or self._best[dice],
            plays=tuple(
                OpeningPlay(
                    play=play,
                    times=tally.decisions,
                    loss=round(tally.points / tally.decisions, 6),
                    book=None if known is None else play == known,
                )
                for play, tally in plays
            ),
        )
