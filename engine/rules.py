"""Rule sets as data: what differs between the ways the game is played.

Sources: the rules digest of the project (sections 1.5, 1.7, 1.9-1.14). Where that digest leaves a question open, the
field's docstring says which reading was taken.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from engine.board import CHECKERS, Board, make_board
from engine.errors import InputError

HIT_AND_RUN_BAN = 1
FORCED_BEAR_OFF = 2


class Opening(enum.Enum):
    """How a game starts."""

    KEEP_OPENING_DICE = "keep"
    """Both opening dice are the first move: never a double, 15 openings."""
    WINNER_REROLLS = "reroll"
    """The winner of the opening roll rolls both dice again: 21 openings."""


class Start(enum.Enum):
    """Where the checkers stand before the first move; value: (point, checkers) in each side's own numbering."""

    STANDARD = ((24, 2), (13, 5), (8, 3), (6, 5))
    NACKGAMMON = ((24, 2), (23, 2), (13, 4), (8, 3), (6, 4))
    HYPERGAMMON = ((24, 1), (23, 1), (22, 1))

    @property
    def board(self) -> Board:
        """int8[26], the same from both sides; a new array each time."""
        counts = [0] * 26
        for point, number in self.value:
            counts[point] = number
            counts[25 - point] = -number
        return make_board(counts)

    @property
    def checkers(self) -> int:
        """Of each side."""
        return sum(number for _, number in self.value)


@dataclass(frozen=True, slots=True)
class RuleSet:
    """One way to play. Frozen: a rollout, a net and a match each belong to exactly one rule set."""

    name: str
    start: Start = Start.STANDARD
    opening: Opening = Opening.KEEP_OPENING_DICE
    winner_starts_next: bool = False
    gammon_counts: bool = True
    """A gammon scores 2; otherwise every win scores 1."""
    backgammon_counts: bool = True
    """A backgammon scores 3; otherwise it counts as a gammon, 2 (or 1 where gammons don't count)."""
    cube: bool = True
    hit_and_run_ban: bool = False
    """A home point on which the mover hit this turn keeps at least one own checker until the turn ends. Steps are
    filtered before the dice are counted, so a die may be lost to the ban."""
    forced_bear_off: bool = False
    """While any die not yet played can bear off a checker now, the next step must bear off (reading B: per step, any
    remaining die; steps are filtered before the dice are counted)."""
    closed_out_passes: bool = False
    """A player on the bar against a closed board passes without rolling, and may not double in that turn; otherwise
    he may. No play differs: he can't move either way."""

    @property
    def move_flags(self) -> int:
        """Bit set that the legal-plays kernel takes."""
        return HIT_AND_RUN_BAN * self.hit_and_run_ban | FORCED_BEAR_OFF * self.forced_bear_off

    @property
    def databases_hold(self) -> bool:
        """Whether the bear-off databases hold: for free bear-off, and for gammons of fifteen checkers a side."""
        return not self.forced_bear_off and self.start.checkers == CHECKERS

    @property
    def utility(self) -> NDArray[np.int64]:
        """int64[5]: cubeless money equity is `utility @ outcome - 1`, outcome cumulative from the same view."""
        second = int(self.gammon_counts)
        third = int(self.gammon_counts and self.backgammon_counts)
        return np.array([2, second, third, -second, -third], dtype=np.int64)


INTERNATIONAL = RuleSet("international")
TAVLA = RuleSet(
    "tavla",
    opening=Opening.WINNER_REROLLS,
    winner_starts_next=True,
    backgammon_counts=False,
    cube=False,
)
NACKGAMMON = RuleSet("nackgammon", start=Start.NACKGAMMON)
HYPERGAMMON = RuleSet("hypergammon", start=Start.HYPERGAMMON)
_OPTIONS: dict[str, Callable[[RuleSet], RuleSet]] = {
    "hit-and-run-ban": lambda rules: replace(rules, hit_and_run_ban=True),
    "forced-bear-off": lambda rules: replace(rules, forced_bear_off=True),
    "closed-out-passes": lambda rules: replace(rules, closed_out_passes=True),
}
_NAMED = {rules.name: rules for rules in (INTERNATIONAL, TAVLA, NACKGAMMON, HYPERGAMMON)}


def rule_set(name: str) -> RuleSet:
    """Look up a rule set by its name: `international`, `tavla`, `nackgammon` or `hypergammon`, each also with options
    as in `tavla+hit-and-run-ban+forced-bear-off`.

    Raises:
        InputError: unknown name or option.
    """
    base, *options = name.split("+")
    rules = _NAMED.get(base)
    if rules is None or any(option not in _OPTIONS for option in options):
        known = ", ".join(_NAMED)
        raise InputError("rules", name, f"one of {known}, optionally with +{' +'.join(_OPTIONS)}")
    chosen = sorted(set(options), key=list(_OPTIONS).index)
    for option in chosen:
        rules = _OPTIONS[option](rules)
    return replace(rules, name="+".join([base, *chosen]))
