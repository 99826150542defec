"""What the games of a book are played for: rules, score and cube as searches and trials need them."""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass

from cluster.book.schemas import Terms
from engine.cube import CubePlay, cube_matters
from engine.efficiency import DEFAULT_EFFICIENCY, load_efficiency
from engine.errors import InputError
from engine.match import DEFAULT_CUBE_CAP, MatchState
from engine.met import known_mets, met_for, usual_met
from engine.rules import RuleSet, rule_set

MONEY = "money"
DMP = "dmp"
GAMMON_GO = "gammon-go"
GAMMON_SAVE = "gammon-save"
_POST_CRAWFORD = "post-crawford"
_NAMED = {DMP: (1, 1), GAMMON_GO: (2, 1), GAMMON_SAVE: (1, 2)}
"""Points that the opener and his opponent need. The last two in the Crawford game, as a cube would end them."""
_AWAY = re.compile(rf"(\d{{1,3}})-away/(\d{{1,3}})-away( {_POST_CRAWFORD})?")
_EXPECTED = (
    f"{MONEY}, {', '.join(_NAMED)}, or points that the opener and his opponent need as in 3-away/5-away "
    f"(2-away/1-away {_POST_CRAWFORD} after the Crawford game)"
)


class Seat(enum.IntEnum):
    """Whose decision it is, where that matters."""

    EITHER = 0
    """Equal stakes: a position is worth the same to both."""
    OPENER = 1
    OPPONENT = 2

    @property
    def other(self) -> Seat:
        """Who plays next."""
        return _OTHER[self]


_OTHER = {Seat.EITHER: Seat.EITHER, Seat.OPENER: Seat.OPPONENT, Seat.OPPONENT: Seat.OPENER}


@dataclass(frozen=True, slots=True)
class Stakes:
    """Terms, with what follows from them."""

    terms: Terms
    """In one normal form: what is left open there is filled in, what doesn't matter is left out."""
    rules: RuleSet
    opener: MatchState
    """Before the first roll, in the view of the player who opens."""
    cube: CubePlay | None
    """In the opener's view; None: values are cubeless points."""

    @property
    def first(self) -> Seat:
        """Who opens."""
        away = self.opener.away
        return Seat.EITHER if away is None or away[0] == away[1] else Seat.OPENER

    def match(self, seat: Seat) -> MatchState:
        """In the view of the player to decide."""
        return self.opener.flip() if seat is Seat.OPPONENT else self.opener

    def seat_of(self, match: MatchState) -> Seat | None:
        """The seat whose score this is; None where it is no score of such a game."""
        if match.away == self.opener.away:
            return self.first
        return Seat.OPPONENT if match.away == self.opener.flip().away else None


def stakes_of(terms: Terms) -> Stakes:
    """The stakes of a book.

    Raises:
        InputError: unknown rules, score, table or efficiency; a cube, Jacoby rule or beavers where there are none.
    """
    rules = rule_set(terms.rules)
    score, away, crawford = _score(terms.score)
    with_cube = _with_cube(terms, rules, score)
    cap = DEFAULT_CUBE_CAP if with_cube or score in _NAMED else 1
    if away is None:
        _check_money_options(terms, with_cube)
        match = MatchState(cube_cap=cap, jacoby=terms.jacoby, beaver=terms.beaver, rules=rules)
    else:
        if terms.jacoby or terms.beaver:
            raise InputError("jacoby" if terms.jacoby else "beaver", "true", "false: only in money play")
        length = max(away)
        points = (length - away[0], length - away[1])
        match = MatchState(length, points, cube_cap=cap, crawford=crawford and rules.cube, rules=rules)
    cube = _cube_of(terms, match)
    normal = Terms(
        rules=rules.name,
        score=score,
        cube=with_cube,
        met=None if match.is_money else terms.met or usual_met(match),
        efficiency=(terms.efficiency or DEFAULT_EFFICIENCY) if cube is not None else None,
        jacoby=terms.jacoby,
        beaver=terms.beaver,
    )
    return Stakes(normal, rules, match, cube)


def _score(text: str) -> tuple[str, tuple[int, int] | None, bool]:
    """The score in one normal form, the points needed (None: money), and whether it is the Crawford game."""
    given = text.strip().lower()
    if given == MONEY:
        return MONEY, None, False
    if given in _NAMED:
        return given, _NAMED[given], given != DMP
    found = _AWAY.fullmatch(given)
    away = (int(found[1]), int(found[2])) if found else (0, 0)
    if found is None or min(away) < 1 or (found[3] and 1 not in away):
        raise InputError("score", text, _EXPECTED)
    if away == (1, 1):
        return DMP, away, False
    crawford = 1 in away and not found[3]
    for name, points in _NAMED.items():
        if crawford and away == points:
            return name, away, True
    return given, away, crawford


def _with_cube(terms: Terms, rules: RuleSet, score: str) -> bool:
    """Whether the game, or the match around it, is played with a cube that matters."""
    possible = rules.cube and score not in _NAMED
    if terms.cube and not possible:
        raise InputError("cube", "true", f"false: no cube is turned in {rules.name} at {score}")
    return possible if terms.cube is None else terms.cube


def _check_money_options(terms: Terms, with_cube: bool) -> None:
    for name in ("jacoby", "beaver"):
        if getattr(terms, name) and not with_cube:
            raise InputError(name, "true", "false: only where the cube is in play")


def _cube_of(terms: Terms, match: MatchState) -> CubePlay | None:
    if not cube_matters(match):
        if terms.met or terms.efficiency:
            raise InputError("met" if terms.met else "efficiency", terms.met or terms.efficiency, "none without a cube")
        return None
    if match.is_money and terms.met:
        raise InputError("met", terms.met, "none in money play")
    if terms.met and terms.met not in known_mets():
        raise InputError("met", terms.met, f"one of {', '.join(known_mets())}")
    efficiency = load_efficiency(terms.efficiency or DEFAULT_EFFICIENCY)
    return CubePlay.of(match, met_for(match, terms.met), efficiency)
