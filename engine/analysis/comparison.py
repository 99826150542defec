"""What the best play has that another does not: the two boards compared, fact by fact.

Only differences in favour of the best play are reasons, at most two of them. Which two is decided by importance: a
rough worth in points of each kind of difference, times its size. The worths are rules of thumb; they decide no value
and no order of plays, only which of several true things is said first.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from engine.board import BAR, CHECKERS, OPPONENT_BAR, PLACES, Board, flip
from engine.kernels.facts import ESCAPES
from engine.moves import ROLLS, legal_plays, roll_weight
from engine.outcome import LOSE_GAMMON, WIN_GAMMON
from engine.rules import INTERNATIONAL, RuleSet

MOST_REASONS = 2
_FAR_HOME = range(19, 25)
_POINTS = range(1, 25)
_REACH = 12
_SHORTEST_PRIME = 3

Outcome = tuple[float, float, float, float, float]


class Reason(enum.Enum):
    """The twelve reasons that can be given for a play."""

    HIT = "hit"
    BLOTS = "blots"
    SHOTS = "shots"
    NEW_POINT = "new_point"
    ANCHOR = "anchor"
    PRIME = "prime"
    ESCAPE = "escape"
    CONTAIN = "contain"
    HOME_BOARD = "home_board"
    BEAR_OFF = "bear_off"
    GAMMON_CHANCES = "gammon_chances"
    GAMMON_RISK = "gammon_risk"


class Fact(enum.Enum):
    """What is counted. The value is the reason it belongs to and a name."""

    HITS = (Reason.HIT, "hits")
    """Checkers hit by the play."""
    BLOTS = (Reason.BLOTS, "blots")
    """Single checkers that an opposing one has yet to pass; fewer are better."""
    SHOTS = (Reason.SHOTS, "shots")
    """Of the opponent's 36 rolls, those with which he can hit; fewer are better."""
    POINTS_MADE = (Reason.NEW_POINT, "points_made")
    """Points outside the opponent's home that only this play makes."""
    ANCHOR_MADE = (Reason.ANCHOR, "anchor_made")
    """A point in the opponent's home that only this play makes."""
    ANCHOR_KEPT = (Reason.ANCHOR, "anchor_kept")
    """A point in the opponent's home that the other play gives up."""
    PRIME = (Reason.PRIME, "prime")
    """Most points in a row with an opposing checker behind them."""
    BACK_CHECKERS = (Reason.ESCAPE, "back_checkers")
    """Own checkers on the bar and in the opponent's home; fewer are better."""
    ESCAPING_ROLLS = (Reason.ESCAPE, "escaping_rolls")
    """Of 36 rolls, those that the own rearmost checker can run as a whole."""
    OPPONENT_ESCAPES = (Reason.CONTAIN, "opponent_escapes")
    """The same of the opponent's rearmost checker; fewer are better."""
    HOME_POINTS = (Reason.HOME_BOARD, "home_points")
    """Points made in the own home."""
    BORNE_OFF = (Reason.BEAR_OFF, "borne_off")
    """Checkers that the play bears off."""
    GAMMONS_WON = (Reason.GAMMON_CHANCES, "gammons_won")
    """Chance to win at least a gammon."""
    GAMMONS_LOST = (Reason.GAMMON_RISK, "gammons_lost")
    """Chance to lose at least a gammon; fewer are better."""

    @property
    def reason(self) -> Reason:
        """The reason that the fact gives."""
        return self.value[0]

    @property
    def label(self) -> str:
        """Its name in JSON."""
        return self.value[1]


_FEWER = frozenset({Fact.BLOTS, Fact.BACK_CHECKERS, Fact.OPPONENT_ESCAPES, Fact.GAMMONS_LOST})

WORTH: dict[Fact, float] = {
    Fact.HITS: 0.30,
    Fact.BLOTS: 0.02,
    Fact.PRIME: 0.05,
    Fact.BACK_CHECKERS: 0.08,
    Fact.ESCAPING_ROLLS: 0.006,
    Fact.OPPONENT_ESCAPES: 0.006,
    Fact.HOME_POINTS: 0.05,
    Fact.BORNE_OFF: 0.15,
    Fact.GAMMONS_WON: 0.5,
    Fact.GAMMONS_LOST: 0.5,
}
"""Rough worth in points of one more (or one less, where fewer are better). Gammons stand back at half of what they are
worth: they follow from the board, and what causes them says more."""
POINT_WORTH = (
    0.02,
    0.05,
    0.08,
    0.12,
    0.14,
    0.10,
    0.12,
    0.07,
    0.06,
    0.05,
    0.05,
    0.03,
    0.03,
    0.05,
    0.05,
    0.05,
    0.05,
    0.10,
)
"""The same of making each of the points 1 to 18."""
ANCHOR_WORTH = (0.08, 0.14, 0.13, 0.09, 0.06, 0.05)
"""The same of holding each of the points 19 to 24."""
PIP_WORTH = 0.0006
"""The same of a pip less that the opponent can hit back, counted over his 36 rolls: a shot at a checker on the 5 point
(20 pips) counts 0.012, one at a checker that has hardly left costs next to nothing."""
LEAST: dict[Fact, float] = {
    Fact.SHOTS: 2,
    Fact.ESCAPING_ROLLS: 3,
    Fact.OPPONENT_ESCAPES: 3,
    Fact.GAMMONS_WON: 0.01,
    Fact.GAMMONS_LOST: 0.01,
}
"""Smaller differences are no reason; 1 where nothing is said."""
_SAME_THING: tuple[frozenset[Fact], ...] = (
    frozenset({Fact.BLOTS, Fact.SHOTS}),
    frozenset({Fact.POINTS_MADE, Fact.HOME_POINTS}),
    frozenset({Fact.PRIME, Fact.OPPONENT_ESCAPES}),
    frozenset({Fact.HITS, Fact.OPPONENT_ESCAPES}),
    frozenset({Fact.BACK_CHECKERS, Fact.ESCAPING_ROLLS}),
    frozenset({Fact.ANCHOR_MADE, Fact.ANCHOR_KEPT}),
)
"""Of facts that say nearly the same, only the more important one is given."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A play: its after-position int8[26] and, if known, its five probabilities, both in the mover's view."""

    after: Board
    outcome: Outcome | None = None


@dataclass(frozen=True, slots=True)
class Setting:
    """What else a comparison depends on."""

    rules: RuleSet = INTERNATIONAL
    gammon_worth: tuple[float, float] = (1.0, 1.0)
    """What a gammon is worth to the mover and to the opponent, as parts of its worth in money play; 0 at double match
    point, where gammons are no reason."""


@dataclass(frozen=True, slots=True)
class Advantage:
    """One difference in favour of the best play."""

    fact: Fact
    best: float
    """The count, or chance, after the best play."""
    other: float
    """The same after the other one."""
    points: tuple[int, ...] = ()
    """The points it is about, in the mover's numbering, the most valuable first."""
    importance: float = 0.0
    """Rough worth in points, by which reasons are chosen."""

    @property
    def reason(self) -> Reason:
        """Which of the twelve."""
        return self.fact.reason


def reasons(before: Board, best: Candidate, other: Candidate, setting: Setting = Setting()) -> tuple[Advantage, ...]:
    """Why `best` is better than `other`: at most two differences in its favour, the most important first.

    Args:
        before: int8[26], the mover's view, before either play.
    """
    found = sorted(advantages(before, best, other, setting), key=lambda one: (-one.importance, one.fact.label))
    chosen: list[Advantage] = []
    for one in found:
        if not any({one.fact, earlier.fact} <= same for earlier in chosen for same in _SAME_THING):
            chosen.append(one)
    return tuple(chosen[:MOST_REASONS])


def advantages(before: Board, best: Candidate, other: Candidate, setting: Setting = Setting()) -> list[Advantage]:
    """All differences in favour of `best`, in the order of `Fact`."""
    ours, theirs = _counts(before, best, setting), _counts(before, other, setting)
    left, left_by_other = shots(best.after, setting.rules), shots(other.after, setting.rules)
    found = list(_new_points(before, best.after, other.after))
    if left_by_other.rolls - left.rolls >= LEAST[Fact.SHOTS] and left_by_other.pips > left.pips:
        importance = (left_by_other.pips - left.pips) * PIP_WORTH
        found.append(Advantage(Fact.SHOTS, left.rolls, left_by_other.rolls, importance=importance))
    for fact, worth in WORTH.items():
        if fact not in ours or fact not in theirs:
            continue
        gain = theirs[fact] - ours[fact] if fact in _FEWER else ours[fact] - theirs[fact]
        if fact is Fact.PRIME and ours[fact] < _SHORTEST_PRIME:
            continue
        if fact is Fact.GAMMONS_WON:
            worth *= setting.gammon_worth[0]
        if fact is Fact.GAMMONS_LOST:
            worth *= setting.gammon_worth[1]
        if gain >= LEAST.get(fact, 1) and worth > 0:
            found.append(Advantage(fact, ours[fact], theirs[fact], importance=gain * worth))
    order = list(Fact)
    return sorted(found, key=lambda one: order.index(one.fact))


@dataclass(frozen=True, slots=True)
class Shots:
    """What the opponent can hit at his next roll."""

    rolls: int = 0
    """Of 36, those with which he can hit a checker."""
    pips: int = 0
    """Pips lost to his most costly hit, summed over the 36 rolls."""


def shots(after: Board, rules: RuleSet) -> Shots:
    """What an after-position, int8[26] in the view of who moved, leaves to be hit."""
    if not _blots(after):
        return Shots()
    turned = flip(after)
    distance = np.arange(PLACES) - BAR  # of the mover's checkers, which count as negative, from their bar
    own_pips = int(np.minimum(turned, 0).astype(np.int64) @ distance)
    rolls = pips = 0
    for dice in ROLLS:
        most = int((np.minimum(legal_plays(turned, dice, rules), 0).astype(np.int64) @ distance).max()) - own_pips
        rolls += roll_weight(dice) * (most > 0)
        pips += roll_weight(dice) * most
    return Shots(rolls, pips)


def longest_prime(board: Board) -> int:
    """Most points in a row that the mover has made, with an opposing checker behind them."""
    first = _last_of_opponent(board)
    longest = run = 0
    for point in _POINTS:
        run = run + 1 if point > first and board[point] >= 2 else 0
        longest = max(longest, run)
    return longest


def escaping_rolls(board: Board) -> int:
    """Of 36 rolls, those that the mover's rearmost checker can run as a whole, stopping once on the way.

    By the points that the opponent has made; as if no other checker of the mover stood on the bar.
    """
    rear = max((place for place in range(1, PLACES) if board[place] > 0), default=0)
    mask = sum(1 << (pips - 1) for pips in range(1, _REACH + 1) if rear - pips >= 1 and board[rear - pips] <= -2)
    return int(ESCAPES[mask])


def _counts(before: Board, candidate: Candidate, setting: Setting) -> dict[Fact, float]:
    """Every fact of one play that is a number. What only matters in contact is left out where there is none."""
    after = candidate.after
    counts: dict[Fact, float] = {
        Fact.HITS: int(before[OPPONENT_BAR]) - int(after[OPPONENT_BAR]),
        Fact.BLOTS: len(_blots(after)),
        Fact.BORNE_OFF: _checkers(before) - _checkers(after),
    }
    if candidate.outcome is not None:
        counts[Fact.GAMMONS_WON] = candidate.outcome[WIN_GAMMON]
        counts[Fact.GAMMONS_LOST] = candidate.outcome[LOSE_GAMMON]
    if _in_contact(before):
        counts[Fact.PRIME] = longest_prime(after)
        counts[Fact.BACK_CHECKERS] = int(np.maximum(after[_FAR_HOME.start :], 0).sum())
        counts[Fact.ESCAPING_ROLLS] = escaping_rolls(after)
        counts[Fact.OPPONENT_ESCAPES] = escaping_rolls(flip(after))
        counts[Fact.HOME_POINTS] = int((after[1:7] >= 2).sum())
    return counts


def _new_points(before: Board, best: Board, other: Board) -> Iterator[Advantage]:
    """Points that stand after the best play only, where an opposing checker has yet to pass them.

    They must be worth more than what the other play makes, or holds in the opponent's home, instead.
    """
    mine, its = _standing(best), _standing(other)
    old = {point for point in _POINTS if before[point] >= 2}
    made, made_by_other = (mine - its - old) - set(_FAR_HOME), (its - mine - old) - set(_FAR_HOME)
    gain = _worth_of(made) - _worth_of(made_by_other)
    if made and gain > 0:
        yield _of_points(Fact.POINTS_MADE, made, gain)
    anchors, anchors_of_other = mine & set(_FAR_HOME), its & set(_FAR_HOME)
    gain = _worth_of(anchors) - _worth_of(anchors_of_other)
    only = anchors - anchors_of_other
    if only and gain > 0:
        best_one = {max(only, key=lambda point: (_worth(point), -point))}
        yield _of_points(Fact.ANCHOR_KEPT if best_one <= old else Fact.ANCHOR_MADE, best_one, gain)


def _of_points(fact: Fact, points: set[int], gain: float) -> Advantage:
    return Advantage(fact, len(points), 0, tuple(sorted(points, key=lambda p: (-_worth(p), p))), gain)


def _standing(board: Board) -> set[int]:
    """The mover's points that an opposing checker has yet to pass."""
    first = _last_of_opponent(board)
    return {point for point in _POINTS if point > first and board[point] >= 2}


def _worth_of(points: set[int]) -> float:
    return sum(_worth(point) for point in sorted(points))


def _worth(point: int) -> float:
    return ANCHOR_WORTH[point - _FAR_HOME.start] if point in _FAR_HOME else POINT_WORTH[point - 1]


def _blots(board: Board) -> list[int]:
    """The mover's blots that an opposing checker has yet to pass."""
    first = _last_of_opponent(board)
    return [point for point in _POINTS if board[point] == 1 and point > first]


def _last_of_opponent(board: Board) -> int:
    """Place of the opponent's rearmost checker in the mover's numbering (0: his bar); 26 if he has none."""
    return min((place for place in range(BAR) if board[place] < 0), default=PLACES)


def _in_contact(board: Board) -> bool:
    return max((place for place in range(PLACES) if board[place] > 0), default=0) > _last_of_opponent(board)


def _checkers(board: Board) -> int:
    return min(int(np.maximum(board, 0).sum()), CHECKERS)
