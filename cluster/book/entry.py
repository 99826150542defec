"""Entries: what is made from the trials of the plays of a roll, and how the verdict is given.

Everything that an entry says follows from its exact sums and the search's values by `values_of`, in one place, so it
can be made again from a book's file alone.

The value of a play is the mean of the search and the simulation. Verdicts look at the differences of these values but
take the whole error of the simulated difference, not half of it: a search has no error bar, but that doesn't make it
sure.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cluster.book.schemas import BookEntry, BookIdentity, BookPlay, EntryQuestion, Standing, Verdict
from cluster.book.simulation import SimulatedPlay, critical_value
from cluster.book.stakes import Seat, Stakes
from cluster.schemas import Probabilities
from engine.board import Board, flip
from engine.errors import InternalError
from engine.gnuid import format_position_id, parse_position_id
from engine.outcome import OUTCOMES
from engine.position import Position
from engine.rules import RuleSet
from engine.tally import Estimate, Tally
from engine.xgid import format_xgid

_UNKNOWN_SE = 3.0
"""The largest equity: stands for the error of too few trials, as in a rollout's answer."""


@dataclass(frozen=True, slots=True)
class Spot:
    """A roll in a position, and how the game gets there."""

    position: str
    """GNU position ID, the mover's view."""
    dice: tuple[int, int]
    """The higher first."""
    depth: int
    path: str
    """The likeliest line: rolls and plays in turn, ending with the roll."""
    reach: float
    """How likely, by `cluster.book.tree`."""
    seat: Seat = Seat.EITHER

    @property
    def board(self) -> Board:
        """int8[26], the mover's view."""
        return parse_position_id(self.position)

    @property
    def roll(self) -> str:
        """As text, such as `31`."""
        return f"{self.dice[0]}{self.dice[1]}"

    @property
    def id(self) -> str:
        """Names the entry in every book of these stakes."""
        return f"{self.position}:{self.roll}" + (f":{self.seat.value}" if self.seat else "")

    def under(self, stakes: Stakes) -> Position:
        """The decision, with the score as the player sees it."""
        return Position(self.board, stakes.match(self.seat), self.dice)


@dataclass(frozen=True, slots=True, eq=False)
class PlayFacts:
    """What a book keeps of a play: all its numbers follow from this."""

    play: str
    after: str
    """GNU position ID of the opponent's position after it."""
    search_equity: float
    search_level: int
    tally: Tally
    """K = 1: of its trials."""
    pair: Tally | None
    """K = 2: the best play and this one over the trials that both have; None for the best."""
    rows: str
    """Digest of its trials."""


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """A roll in a position with its plays, best first."""

    spot: Spot
    question: EntryQuestion
    verdict: Verdict
    facts: tuple[PlayFacts, ...]
    plays: tuple[BookPlay, ...]

    @property
    def trials(self) -> int:
        """Over all plays."""
        return sum(play.trials for play in self.plays)

    def content(self) -> str:
        """Everything that its question decides, as one line of JSON: the same from any farm."""
        return json.dumps(
            {
                "id": self.spot.id,
                "question": self.question.model_dump(mode="json"),
                "verdict": self.verdict.value,
                "plays": [play.model_dump(mode="json") for play in self.plays],
                "sums": [packed(facts) for facts in self.facts],
                "rows": [facts.rows for facts in self.facts],
            },
            sort_keys=True,
            separators=(",", ":"),
        )

    def shown(self, stakes: Stakes) -> BookEntry:
        """As JSON documents show it."""
        spot = self.spot
        return BookEntry(
            id=spot.id,
            path=spot.path,
            xgid=format_xgid(spot.under(stakes)),
            roll=spot.roll,
            depth=spot.depth,
            verdict=self.verdict,
            trials=self.trials,
            plays=self.plays,
        )


def entry_of(spot: Spot, question: EntryQuestion, content: bytes) -> Entry | None:
    """The entry with such a `content`; None where a version with other fields wrote it."""
    try:
        fields = json.loads(content)
        plays = tuple(BookPlay.model_validate(play) for play in fields["plays"])
        verdict = Verdict(fields["verdict"])
        facts = []
        for play, sums, rows in zip(plays, fields["sums"], fields["rows"], strict=True):
            tally, pair = unpacked(sums)
            value, level = play.search_equity, play.search_level
            facts.append(PlayFacts(play.play, play.after, value, level, tally, pair, str(rows)))
    except (ValueError, KeyError, TypeError, InternalError):
        return None
    return Entry(spot, question, verdict, tuple(facts), plays)


def make_entry(
    spot: Spot, question: EntryQuestion, identity: BookIdentity, rules: RuleSet, simulated: Sequence[SimulatedPlay]
) -> Entry:
    """The entry of a roll; a function of its arguments alone."""
    tallies = [Tally.of([play.rows], rules) for play in simulated]

    def key(number: int) -> tuple[float, str]:
        value = (simulated[number].searched.equity + tallies[number].equity(0).mean) / 2.0
        return -value, simulated[number].searched.play

    order = sorted(range(len(simulated)), key=key)
    best = simulated[order[0]].rows
    facts = []
    for number in order:
        searched, rows = simulated[number].searched, simulated[number].rows
        common = min(len(rows), len(best))
        facts.append(
            PlayFacts(
                play=searched.play,
                after=format_position_id(flip(searched.after)),
                search_equity=searched.equity,
                search_level=searched.level,
                tally=tallies[number],
                pair=None if number == order[0] else Tally.of([best[:common], rows[:common]], rules),
                rows=hashlib.sha256(np.ascontiguousarray(rows, dtype="<i4").tobytes()).hexdigest()[:16],
            )
        )
    plays, verdict = values_of(facts, identity)
    return Entry(spot, question, verdict, tuple(facts), plays)


def values_of(facts: Sequence[PlayFacts], identity: BookIdentity) -> tuple[tuple[BookPlay, ...], Verdict]:
    """The numbers of an entry from its exact sums, and its verdict. `facts` come best first."""
    critical = critical_value(identity.confidence, len(facts))
    top = _value(facts[0])
    plays = []
    for fact in facts:
        simulated = fact.tally.equity(0)
        behind = fact.pair.difference(1, 0) if fact.pair is not None else Estimate(0.0, 0.0)
        difference = _value(fact) - top
        outcome = fact.tally.outcome(0)
        plays.append(
            BookPlay(
                play=fact.play,
                after=fact.after,
                standing=_standing(difference, behind.se, critical, identity.playable)
                if fact.pair is not None
                else Standing.BEST,
                equity=_value(fact),
                se=_finite(simulated.se) / 2.0,
                difference=difference,
                difference_se=_finite(behind.se) / 2.0,
                search_equity=fact.search_equity,
                search_level=fact.search_level,
                simulation_equity=simulated.mean,
                simulation_se=_finite(simulated.se),
                simulation_difference=behind.mean,
                simulation_difference_se=_finite(behind.se),
                probabilities=Probabilities.of([p.mean for p in outcome]),
                probabilities_se=Probabilities.of([_finite(p.se) for p in outcome]),
                trials=fact.tally.trials,
            )
        )
    return tuple(plays), _verdict({play.standing for play in plays})


def _value(fact: PlayFacts) -> float:
    return (fact.search_equity + fact.tally.equity(0).mean) / 2.0


def _standing(difference: float, se: float, critical: float, playable: float) -> Standing:
    if -difference > critical * se:
        return Standing.BEATEN
    if -difference + critical * se <= playable:
        return Standing.PLAYABLE
    return Standing.OPEN


def _verdict(standings: set[Standing]) -> Verdict:
    if Standing.OPEN in standings:
        return Verdict.OPEN
    return Verdict.BOTH_PLAYABLE if Standing.PLAYABLE in standings else Verdict.SETTLED


def _finite(se: float) -> float:
    return min(se, _UNKNOWN_SE)


def packed(facts: PlayFacts) -> str:
    """The exact sums of a play as JSON: of its trials n, sums [2], products [3], outcome sums [10] and products [15];
    of the pair n, sums [4] and products [10] (upper triangles, row by row).
    """
    own = facts.tally
    parts: list[list[int]] = [[own.trials, *_sums(own), *own.outcome_sums.ravel(), *own.outcome_products.ravel()]]
    if facts.pair is not None:
        parts.append([facts.pair.trials, *_sums(facts.pair)])
    return json.dumps([[int(number) for number in part] for part in parts], separators=(",", ":"))


def unpacked(text: str) -> tuple[Tally, Tally | None]:
    """The sums that `packed` wrote: of the play, and of the pair (without its outcomes).

    Raises:
        InternalError: it is no such text.
    """
    try:
        own, *pairs = json.loads(text)
        tally = _tally(1, own[:6], own[6:])
        return tally, _tally(2, pairs[0], None) if pairs else None
    except (ValueError, TypeError, IndexError) as error:
        raise InternalError(f"the sums of a play can't be read ({error})") from error


def _sums(tally: Tally) -> list[int]:
    z = len(tally.sums)
    return [*tally.sums, *(tally.products[i, j] for i in range(z) for j in range(i, z))]


def _tally(candidates: int, numbers: list[int], outcomes: list[int] | None) -> Tally:
    z = 2 * candidates
    products = np.zeros((z, z), dtype=object)
    triangle = numbers[1 + z :]
    at = [(i, j) for i in range(z) for j in range(i, z)]
    for (i, j), value in zip(at, triangle, strict=True):
        products[i, j] = products[j, i] = int(value)
    empty = Tally.empty(candidates)
    sums, squares = empty.outcome_sums, empty.outcome_products
    if outcomes is not None:
        exact = np.array([int(value) for value in outcomes], dtype=object)
        sums = exact[: 2 * OUTCOMES].reshape(1, 2, OUTCOMES)
        squares = exact[2 * OUTCOMES :].reshape(1, 3, OUTCOMES)
    return Tally(int(numbers[0]), np.array([int(s) for s in numbers[1 : 1 + z]], dtype=object), products, sums, squares)
