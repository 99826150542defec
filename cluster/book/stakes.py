"""What the games of a book are played for: rules, score and cube as a rollout needs them.

Trials are cubeless: each result has one worth, the same for both sides. That is exact for money without a cube and at
DMP, where only winning counts. It can't say a score at which a gammon is worth more to one side than to the other, nor
a cube that may be turned; such books are refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from engine.errors import InputError
from engine.match import MatchState
from engine.rules import RuleSet, rule_set

MONEY = "money"
DMP = "dmp"
GAMMON_GO = "gammon-go"
GAMMON_SAVE = "gammon-save"
_AWAY = re.compile(r"(\d{1,3})-away/(\d{1,3})-away")
_EXPECTED = f"{MONEY}, {DMP}, {GAMMON_GO}, {GAMMON_SAVE}, or points needed as in 3-away/5-away"
_NEEDS_CUBE = f"{MONEY} or {DMP}: trials are cubeless and can't value other scores yet"


@dataclass(frozen=True, slots=True)
class Stakes:
    """Rules with the worth of results, and the match that positions are shown in."""

    rules: RuleSet
    """As named, but with what counts at the score."""
    named_rules: str
    """Name of the rule set."""
    score: str
    """In one normal form."""
    cube: bool
    match: MatchState
    """Before the first roll."""


def stakes_of(rules: str, score: str, cube: bool) -> Stakes:
    """The stakes of a book.

    Raises:
        InputError: unknown rules or score, or stakes that cubeless trials can't value.
    """
    named = rule_set(rules)
    normal = _normal(score)
    if cube:
        raise InputError("cube", "true", "false: trials are cubeless, and can't value a cube in play yet")
    if normal == MONEY:
        return Stakes(named, named.name, normal, cube, MatchState(cube_cap=1, rules=named))
    if normal == DMP:
        only_wins = replace(named, name=f"{named.name} at DMP", gammon_counts=False, backgammon_counts=False)
        return Stakes(only_wins, named.name, normal, cube, MatchState(length=1, rules=named))
    raise InputError("score", score, _NEEDS_CUBE)


def _normal(score: str) -> str:
    text = score.strip().lower()
    if text in (MONEY, DMP, GAMMON_GO, GAMMON_SAVE):
        return text
    away = _AWAY.fullmatch(text)
    if away is None or min(int(points) for points in away.groups()) < 1:
        raise InputError("score", score, _EXPECTED)
    own, other = (int(points) for points in away.groups())
    return DMP if own == other == 1 else f"{own}-away/{other}-away"
