"""How a player opens: his first plays and replies, what they lose by the analysis, and what a book says of them.

The analysis and the book never share a number: a book's values are its own, and stand under its name.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from cluster.archive.results import BookOpinion, DecisionKind, DecisionResult
from cluster.book.schemas import Standing
from engine.analysis.rating import LossTally

_START = "XGID=-b----E-C---eE---c-e----B-:"
SLIPS_SHOWN = 5
REPLY = 2
"""The turn of the reply to a first play."""

Dice = tuple[int, int]


@dataclass(frozen=True, slots=True)
class OpeningDecision:
    """One of a player's first plays of a game, as an archive keeps it."""

    rules: str
    turn: int
    """1: the first roll of the game, 2: the reply to it, ..."""
    usual: bool
    """Whether it is a first roll from the usual start."""
    dice: Dice
    done: str
    best: str
    loss: float
    book: BookOpinion | None


@dataclass(frozen=True, slots=True)
class OpeningPlay:
    """One way in which a player played an opening roll."""

    play: str
    times: int
    loss: float
    """Mean, in points, by the analysis."""
    book_asked: bool = False
    """Whether a book for such a score has the roll."""
    book_standing: Standing | None = None
    """What it calls the play; None: it doesn't list it."""
    book_loss: float | None = None
    """What it loses by the book."""


@dataclass(frozen=True, slots=True)
class OpeningRoll:
    """A first roll and all that the player did with it, the most frequent first."""

    rules: str
    dice: Dice
    best: str
    """By the analysis of the first such decision; another score may have another best play."""
    plays: tuple[OpeningPlay, ...]
    book: str | None = None
    """Which book has the roll."""
    book_best: str | None = None


@dataclass(frozen=True, slots=True)
class BookCount:
    """Plays in positions that a book knows."""

    plays: int
    best: int
    """The book's best play."""
    playable: int
    """Others that surely lose next to nothing, says the book."""
    open: int
    """Others of which its trials can't say that they are worse."""
    unlisted: int
    """Plays that the book doesn't list: its search put them too far behind. Their loss is not counted below."""
    loss: float
    """Of those that it lists, in points."""
    pr: float | None
    """Of those that it lists."""
    se: float | None


@dataclass(frozen=True, slots=True)
class BookRoll:
    """The same for one roll."""

    turn: int
    dice: Dice
    count: BookCount


@dataclass(frozen=True, slots=True)
class BookSlip:
    """A play that the book thinks little of."""

    line: str
    """How the game got there, with the roll."""
    play: str
    best: str
    times: int
    loss: float | None
    """Of one such play; None: the book doesn't list it."""


@dataclass(frozen=True, slots=True)
class BookFigures:
    """A player's openings by a book's values."""

    book: str
    other_stakes: int
    """Plays of a match that were measured by a book for money."""
    first: BookCount | None
    replies: BookCount | None
    later: BookCount | None
    """Third rolls and on, where the book goes so far."""
    rolls: tuple[BookRoll, ...]
    slips: tuple[BookSlip, ...]
    """Those that lost most together, then what isn't listed."""


@dataclass(frozen=True, slots=True)
class OpeningFigures:
    """The openings of a player."""

    first_plays: int
    first_plays_pr: float | None
    replies: int
    """Second turns of a game."""
    replies_pr: float | None
    rolls: tuple[OpeningRoll, ...]
    books: tuple[BookFigures, ...] = ()


def opening_decision(decision: DecisionResult, rules: str) -> OpeningDecision | None:
    """What is kept of a decision; None: it is no play of an opening that counts."""
    loss, done, dice = decision.loss, decision.done, decision.dice
    if decision.kind is not DecisionKind.PLAY or not decision.counts or loss is None or not done or not dice:
        return None
    usual = decision.turn == 1 and decision.xgid.startswith(_START)
    if not usual and decision.turn != REPLY and decision.book is None:
        return None
    return OpeningDecision(rules, decision.turn, usual, dice, done, decision.best, loss, decision.book)


@dataclass(slots=True)
class _Tally:
    plays: int = 0
    best: int = 0
    playable: int = 0
    open: int = 0
    listed: LossTally = field(default_factory=LossTally)

    def add(self, opinion: BookOpinion) -> None:
        self.plays += 1
        self.best += opinion.standing is Standing.BEST
        self.playable += opinion.standing is Standing.PLAYABLE
        self.open += opinion.standing is Standing.OPEN
        if opinion.loss is not None:
            self.listed += LossTally.of(opinion.loss)

    def count(self) -> BookCount:
        rating = self.listed.rating
        return BookCount(
            plays=self.plays,
            best=self.best,
            playable=self.playable,
            open=self.open,
            unlisted=self.plays - self.listed.decisions,
            loss=round(self.listed.points, 6),
            pr=None if rating is None else round(rating.pr, 4),
            se=None if rating is None or rating.se is None else round(rating.se, 4),
        )


@dataclass(slots=True)
class _ByBook:
    """What is collected for one book."""

    rolls: dict[tuple[int, Dice], _Tally] = field(default_factory=dict)
    slips: dict[tuple[str, str], tuple[int, BookOpinion]] = field(default_factory=dict)
    """By line and play."""
    other_stakes: int = 0

    def add(self, one: OpeningDecision, opinion: BookOpinion) -> None:
        self.rolls.setdefault((one.turn, one.dice), _Tally()).add(opinion)
        self.other_stakes += not opinion.same_stakes
        if opinion.standing in (Standing.BEATEN, None):
            times, _ = self.slips.get((opinion.line, one.done), (0, opinion))
            self.slips[opinion.line, one.done] = (times + 1, opinion)

    def figures(self, book: str) -> BookFigures:
        def together(turns: Iterable[int]) -> BookCount | None:
            some = [tally for (turn, _), tally in self.rolls.items() if turn in turns]
            if not some:
                return None
            listed = sum((tally.listed for tally in some), LossTally())
            counts = [(tally.plays, tally.best, tally.playable, tally.open) for tally in some]
            plays, best, playable, undecided = (sum(column) for column in zip(*counts, strict=True))
            return _Tally(plays, best, playable, undecided, listed).count()

        later = {turn for turn, _ in self.rolls if turn > REPLY}
        slips = sorted(self.slips.items(), key=lambda item: (-item[1][0] * (item[1][1].loss or 0.0), item[0]))
        return BookFigures(
            book=book,
            other_stakes=self.other_stakes,
            first=together({1}),
            replies=together({REPLY}),
            later=together(later),
            rolls=tuple(BookRoll(*key, tally.count()) for key, tally in sorted(self.rolls.items(), key=_by_roll)),
            slips=tuple(
                BookSlip(line, play, opinion.best, times, opinion.loss)
                for (line, play), (times, opinion) in slips[:SLIPS_SHOWN]
            ),
        )


def _by_roll(item: tuple[tuple[int, Dice], _Tally]) -> tuple[int, int, int]:
    """First plays before replies, high rolls first."""
    (turn, (high, low)), _ = item
    return turn, -high, -low


@dataclass(slots=True)
class _Roll:
    best: str
    plays: dict[str, LossTally] = field(default_factory=dict)
    opinions: dict[str, BookOpinion] = field(default_factory=dict)
    """By play."""


@dataclass(slots=True)
class Openings:
    """Collects the openings of one player."""

    _first: dict[tuple[str, Dice], _Roll] = field(default_factory=dict)
    _replies: LossTally = field(default_factory=LossTally)
    _books: dict[str, _ByBook] = field(default_factory=dict)

    def add(self, one: OpeningDecision) -> None:
        """Take in a decision of the player."""
        tally = LossTally.of(one.loss)
        if one.usual:
            roll = self._first.setdefault((one.rules, one.dice), _Roll(one.best))
            roll.plays[one.done] = roll.plays.get(one.done, LossTally()) + tally
            if one.book is not None:
                roll.opinions.setdefault(one.done, one.book)
        elif one.turn == REPLY:
            self._replies += tally
        if one.book is not None:
            self._books.setdefault(one.book.book, _ByBook()).add(one, one.book)

    def figures(self) -> OpeningFigures:
        """All that was collected."""
        first = sum((one for roll in self._first.values() for one in roll.plays.values()), LossTally())
        return OpeningFigures(
            first_plays=first.decisions,
            first_plays_pr=_pr(first),
            replies=self._replies.decisions,
            replies_pr=_pr(self._replies),
            rolls=tuple(_opening_roll(*key, roll) for key, roll in sorted(self._first.items(), key=_high_first)),
            books=tuple(self._books[name].figures(name) for name in sorted(self._books)),
        )


def _high_first(item: tuple[tuple[str, Dice], _Roll]) -> tuple[str, int, int]:
    (rules, (high, low)), _ = item
    return rules, -high, -low


def _opening_roll(rules: str, dice: Dice, roll: _Roll) -> OpeningRoll:
    known = next(iter(roll.opinions.values()), None)
    plays = []
    for play, tally in sorted(roll.plays.items(), key=lambda item: (-item[1].decisions, item[0])):
        opinion = roll.opinions.get(play)
        standing, loss = (None, None) if opinion is None else (opinion.standing, opinion.loss)
        plays.append(
            OpeningPlay(
                play, tally.decisions, round(tally.points / tally.decisions, 6), opinion is not None, standing, loss
            )
        )
    book, best = (None, None) if known is None else (known.book, known.best)
    return OpeningRoll(rules, dice, roll.best, tuple(plays), book, best)


def _pr(tally: LossTally) -> float | None:
    return None if tally.rating is None else round(tally.rating.pr, 4)
