"""Cube decisions: the right action, what every wrong one loses, and the points at which it changes.

Three equities decide, all in the view of the player who may double, in units of the cube before the double: ND, he
rolls without doubling; DT, he doubles and the opponent takes; DP, the opponent passes. A double is worth what the
opponent's best answer leaves: D = min(DT, DP), with the beaver as a third answer where it is played. The first rule
that holds gives the action, so actions exclude each other:

no cube        the player may not double, or it can't be of any use to him
optional       ND and D are equal within `TOLERANCE`
too good       ND > D and ND > DP: he plays on for more than a pass would give
no double      ND > D otherwise
double         D > ND; take, pass or beaver is the opponent's best answer (of equal ones the first named here)
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from engine.board import Board, flip
from engine.cube import make_question
from engine.cubeful import CubefulEvaluator, CubeValues
from engine.efficiency import CubeEfficiency
from engine.errors import InputError
from engine.kernels.cube import NONE, double_value, static_values_of
from engine.kernels.network import ONE
from engine.match import CubeOwner, MatchState
from engine.met import MatchEquityTable
from engine.outcome import LOSE_BACKGAMMON, LOSE_GAMMON, WIN, WIN_BACKGAMMON, WIN_GAMMON
from engine.position import Offer, Position

TOLERANCE = 0.0005
"""Equities closer than this count as equal: they differ in no digit that is usually shown."""


class CubeAction(enum.Enum):
    """What to do; see the module for the rules."""

    NO_CUBE = "no_cube"
    NO_DOUBLE = "no_double"
    DOUBLE_TAKE = "double_take"
    DOUBLE_PASS = "double_pass"
    DOUBLE_BEAVER = "double_beaver"
    TOO_GOOD = "too_good"
    OPTIONAL = "optional"
    TAKE = "take"
    """Answers to a standing offer, from here on; after a beaver or raccoon: play on at the new value."""
    PASS = "pass"
    BEAVER = "beaver"
    RACCOON = "raccoon"


_DOUBLES = {
    CubeAction.TAKE: CubeAction.DOUBLE_TAKE,
    CubeAction.PASS: CubeAction.DOUBLE_PASS,
    CubeAction.BEAVER: CubeAction.DOUBLE_BEAVER,
}


@dataclass(frozen=True, slots=True)
class CubeEquities:
    """ND, DT and DP in the view of the player who may double."""

    no_double: float
    taken: float | None
    """None, as the next two, where there is no double."""
    passed: float | None
    beavered: float | None = None
    """None also where beavers are not played."""


@dataclass(frozen=True, slots=True)
class CubeLosses:
    """Equity that each action loses against the best one of whoever chooses it, in units of the cube."""

    no_double: float | None = None
    double: float | None = None
    take: float | None = None
    passing: float | None = None
    beaver: float | None = None
    raccoon: float | None = None


@dataclass(frozen=True, slots=True)
class CubeVerdict:
    """The right action of a player who may double, and the opponent's right answer if he does."""

    action: CubeAction
    answer: CubeAction | None
    losses: CubeLosses
    """Those of the opponent's answers are in his view."""


@dataclass(frozen=True, slots=True)
class AnswerVerdict:
    """The right answer to a standing offer; equities in the view of the player who answers, in units of the cube before
    the first double.
    """

    action: CubeAction
    equities: dict[CubeAction, float]
    losses: CubeLosses


@dataclass(frozen=True, slots=True)
class CubePoints:
    """Chances to win of a position with these parts of gammons at which the right action changes, by the model without
    looking ahead. None where there is no such chance.
    """

    take: float | None
    """What the player who is doubled needs to take."""
    cash: float | None
    """From which chance of the doubler on his opponent passes: 1 less the take point."""
    too_good: float | None
    """From which chance on he rather plays on than cashes."""


def equities_of(values: CubeValues) -> CubeEquities:
    """The equities of a position before the roll."""
    question = values.question
    no_double = question.equity(values.no_double)
    if not values.can_double:
        return CubeEquities(no_double, None, None)
    beavered = None
    if question.game.beavered[0, 0] != NONE:
        again = int(values.rolling[question.game.beavered[0, 0]]) * question.game.scale**2
        beavered = question.equity(max(again, int(question.game.drop_value[0, 0])))
    return CubeEquities(no_double, question.equity(values.taken), question.equity(values.passed), beavered)


def judge(equities: CubeEquities) -> CubeVerdict:
    """The right action, by the rules of this module."""
    nd, dt, dp = equities.no_double, equities.taken, equities.passed
    if dt is None or dp is None:
        return CubeVerdict(CubeAction.NO_CUBE, None, CubeLosses())
    answers = {CubeAction.TAKE: dt, CubeAction.PASS: dp}
    if equities.beavered is not None:
        answers[CubeAction.BEAVER] = equities.beavered
    answer = min(answers, key=lambda one: answers[one])
    double = answers[answer]
    if abs(nd - double) <= TOLERANCE:
        action = CubeAction.OPTIONAL
    elif nd > double:
        action = CubeAction.TOO_GOOD if nd > dp else CubeAction.NO_DOUBLE
    else:
        action = _DOUBLES[answer]
    best = max(nd, double)
    beaver = answers.get(CubeAction.BEAVER)
    losses = CubeLosses(
        no_double=best - nd,
        double=best - double,
        take=dt - double,
        passing=dp - double,
        beaver=None if beaver is None else beaver - double,
    )
    return CubeVerdict(action, answer, losses)


class CubeValuer(Protocol):
    """Who values positions before the roll: `CubefulEvaluator`, or somebody who has asked it before."""

    @property
    def met(self) -> MatchEquityTable | None:
        """As of `CubefulEvaluator`; so are the others."""

    @property
    def efficiency(self) -> CubeEfficiency:
        """Of the cube."""

    def before_roll(self, board: Board, match: MatchState, level: int) -> CubeValues:
        """In the view of the mover of `board`."""


def answer_offer(evaluator: CubeValuer, position: Position, level: int) -> AnswerVerdict:
    """The right answer to the offer that stands in a position.

    Raises:
        InputError: no offer stands, or an unknown level.
    """
    match, board, offer = position.match, position.board, position.offer
    if offer is Offer.DOUBLE:
        doubler = evaluator.before_roll(flip(board), match.flip(), level)
        found = equities_of(doubler)
        if found.taken is None or found.passed is None:
            # Of no use to the doubler, so it isn't searched: but it stands, and a take changes nothing for him.
            equities = {CubeAction.TAKE: -_rolling_at(evaluator, position, 2, level), CubeAction.PASS: -1.0}
        else:
            equities = {CubeAction.TAKE: -found.taken, CubeAction.PASS: -found.passed}
        if found.beavered is not None:
            equities[CubeAction.BEAVER] = -found.beavered
    elif offer is Offer.BEAVER:
        equities = {
            CubeAction.TAKE: _rolling_at(evaluator, position, 4, level),
            CubeAction.PASS: -2.0,
        }
        if match.raccoon and match.cube_value * 8 <= match.cube_cap:
            equities[CubeAction.RACCOON] = min(_rolling_at(evaluator, position, 8, level), 4.0)
    elif offer is Offer.RACCOON:
        equities = {CubeAction.TAKE: -_rolling_at(evaluator, position, 8, level), CubeAction.PASS: -4.0}
    else:
        raise InputError("offer", offer.value, "double, beaver or raccoon")
    action = max(equities, key=lambda one: equities[one])
    lost = {one: equities[action] - equity for one, equity in equities.items()}
    losses = CubeLosses(
        take=lost[CubeAction.TAKE],
        passing=lost[CubeAction.PASS],
        beaver=lost.get(CubeAction.BEAVER),
        raccoon=lost.get(CubeAction.RACCOON),
    )
    return AnswerVerdict(action, equities, losses)


def _rolling_at(evaluator: CubeValuer, position: Position, factor: int, level: int) -> float:
    """What the player who doubled first gets for rolling with his opponent's cube at `factor` times its value now, in
    units of the cube now (EMG at this cube).
    """
    doubled_by_mover = position.offer is Offer.BEAVER
    match = position.match if doubled_by_mover else position.match.flip()
    board = position.board if doubled_by_mover else flip(position.board)
    value = match.cube_value * factor
    after = replace(match, cube_value=value, cube_owner=CubeOwner.OPPONENT, cube_cap=max(match.cube_cap, value))
    found = evaluator.before_roll(board, after, level)
    if match.is_money:
        return found.question.equity(found.no_double) * factor
    now = make_question(match, evaluator.met, evaluator.efficiency)
    return now.equity(found.no_double)


def cube_points(evaluator: CubefulEvaluator, board: Board, values: CubeValues) -> CubePoints:
    """The points of a position before the roll, with the parts of gammons among wins and losses that it has."""
    if not values.can_double:
        return CubePoints(None, None, None)
    game = values.question.game
    efficiency = evaluator.efficiency_before_roll(board, values.question.match)
    space = evaluator.scratch()
    outcome = values.outcome
    won, lost = int(outcome[WIN]), ONE - int(outcome[WIN])

    def values_at(win: int) -> None:
        at = np.zeros_like(outcome)
        at[WIN] = win
        for chance in (WIN_GAMMON, WIN_BACKGAMMON):
            at[chance] = win * int(outcome[chance]) // won if won else 0
        for chance in (LOSE_GAMMON, LOSE_BACKGAMMON):
            at[chance] = (ONE - win) * int(outcome[chance]) // lost if lost else 0
        static_values_of(at, efficiency, int(game.counts[1]), game, space)

    def is_passed(win: int) -> bool:
        values_at(win)
        return bool(double_value(space.rolling, game) >= values.passed)

    def is_too_good(win: int) -> bool:
        values_at(win)
        return bool(space.rolling[0] > values.passed)

    cash = _first(is_passed)
    too_good = _first(is_too_good)
    return CubePoints(
        take=None if cash is None else (ONE - cash) / ONE,
        cash=None if cash is None else cash / ONE,
        too_good=None if too_good is None else too_good / ONE,
    )


def _first(holds: Callable[[int], bool]) -> int | None:
    """The least number of 0 .. ONE for which `holds`, which once it does holds for all larger ones."""
    if not holds(ONE):
        return None
    low, high = 0, ONE
    while low < high:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle + 1
    return low
