"""Match states of an archive by number: each distinct one once, with all that values in it depend on."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from engine.bearoff import TWO_SIDED_CHECKERS
from engine.bearoff import VERSION as BEAROFF_VERSION
from engine.cube import CubeQuestion, make_question
from engine.efficiency import DEFAULT_EFFICIENCY, CubeEfficiency, load_efficiency
from engine.evaluator import Nets
from engine.match import MatchState
from engine.met import load_met, met_for
from workers.tasks import Table

VALUES_VERSION = 1
"""Raised when the stored form of values changes. What changes values themselves raises `RESULT_VERSION`."""

_MOST_REMEMBERED = 10_000


@dataclass(frozen=True)
class Conditions:
    """What the values of an analysis depend on besides position and level."""

    nets: Nets
    met: str | None = None
    """Match equity table, a name or a file; None: the usual one of each match."""
    efficiency_name: str = DEFAULT_EFFICIENCY
    bearoff_checkers: int = TWO_SIDED_CHECKERS

    @cached_property
    def efficiency(self) -> CubeEfficiency:
        """
        Raises:
            InputError: an unknown name.
        """
        return load_efficiency(self.efficiency_name)

    def check(self) -> None:
        """
        Raises:
            InputError: an unknown efficiency or table: said before anything is read.
        """
        _ = self.efficiency
        if self.met is not None:
            load_met(self.met)


@dataclass(frozen=True, eq=False)
class _Known:
    match: MatchState
    question: CubeQuestion
    table: Table
    key: Any
    """A started hash of everything that values depend on except level and board."""


class Matches:
    """The match states that have been met. Those that make no difference to any value share a number."""

    def __init__(self, conditions: Conditions) -> None:
        self.conditions = conditions
        self._numbers: dict[MatchState, int] = {}
        self._met_before: dict[MatchState, int] = {}
        self._known: list[_Known] = []
        self._tables: dict[str, Table] = {}

    def number(self, match: MatchState) -> int:
        """The number of a match state.

        Raises:
            InputError: a match longer than tables go.
        """
        found = self._met_before.get(match)
        if found is None:
            canonical = bare(match)
            found = self._numbers.get(canonical)
            if found is None:
                self._known.append(self._prepare(canonical))
                found = self._numbers[canonical] = len(self._known) - 1
            if len(self._met_before) >= _MOST_REMEMBERED:  # running scores of sessions never end
                self._met_before.clear()
            self._met_before[match] = found
        return found

    def turned(self, number: int) -> int:
        """The same state in the other player's view."""
        return self.number(self._known[number].match.flip())

    def match(self, number: int) -> MatchState:
        """The state, without what makes no difference."""
        return self._known[number].match

    def question(self, number: int) -> CubeQuestion:
        """How the cube may be used from it on."""
        return self._known[number].question

    def table(self, number: int) -> Table:
        """What its values depend on; the same object for all states of a table."""
        return self._known[number].table

    def key(self, number: int, level: int, board: bytes) -> str:
        """Content key of the value of an after-position."""
        found = self._known[number].key.copy()
        found.update(bytes([level]) + board)
        return str(found.hexdigest())

    def _prepare(self, match: MatchState) -> _Known:
        conditions = self.conditions
        met = met_for(match, conditions.met)
        name = "" if met is None else met.digest
        if name not in self._tables:
            self._tables[name] = Table(met, conditions.efficiency, conditions.bearoff_checkers)
        question = make_question(match, met, conditions.efficiency)
        key = hashlib.blake2b(digest_size=16)
        parts = (
            VALUES_VERSION,
            BEAROFF_VERSION,
            conditions.bearoff_checkers,
            conditions.nets.digest,
            name,
            text_of(match),
        )
        key.update(repr(parts).encode() + conditions.efficiency.rows.tobytes())
        return _Known(match, question, self._tables[name], key)


def bare(match: MatchState) -> MatchState:
    """Without what makes no difference to any value: running scores, and how long a match was at the start."""
    if match.away is None:
        return replace(match, score=(0, 0), automatic_doubles=0)
    own, other = match.away
    length = max(own, other)
    return replace(match, length=length, score=(length - own, length - other))


def text_of(match: MatchState) -> str:
    """A text that is the same for equal states only."""
    options = (match.crawford, match.jacoby, match.beaver, match.raccoon, match.crawford_rule)
    cube = (match.cube_value, match.cube_owner.value, match.cube_cap)
    return repr((match.length, match.score, cube, tuple(map(int, options)), match.rules.name))
