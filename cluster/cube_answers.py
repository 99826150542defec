"""Answers about the cube: plays, decisions, offers and resignations of one position as parts of a document."""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace

from cluster.evaluation_schemas import CubeCase, CubeReport, MarketLosers, PlayValue, ResignationReport
from cluster.schemas import Probabilities
from engine import outcome as outcomes
from engine.board import flip
from engine.cubeful import CubefulEvaluator, CubeValues
from engine.decision import AnswerVerdict, CubeAction, answer_offer, cube_points, equities_of, judge
from engine.errors import InputError
from engine.kernels.network import ONE
from engine.match import CubeOwner, MatchState
from engine.met import MatchEquityTable
from engine.met.stakes import mwc_of
from engine.moves import ROLLS, roll_weight
from engine.notation import format_play
from engine.position import Offer, Position
from engine.resignation import resignation
from engine.search import MoveFilter


class CubeCaseName(enum.Enum):
    """Which state of the cube a question is about; all but the first instead of the position's own."""

    ALL = "all"
    CENTRED = "centred"
    OWN = "own"
    OPPONENT = "opponent"


_OWNERS = {
    CubeCaseName.CENTRED: CubeOwner.CENTRED,
    CubeCaseName.OWN: CubeOwner.MOVER,
    CubeCaseName.OPPONENT: CubeOwner.OPPONENT,
}
_WORDS = {
    CubeAction.NO_CUBE: "Roll: there is no cube to turn",
    CubeAction.NO_DOUBLE: "No {double}, {answer}",
    CubeAction.DOUBLE_TAKE: "{Double}, take",
    CubeAction.DOUBLE_PASS: "{Double}, pass",
    CubeAction.DOUBLE_BEAVER: "{Double}, beaver",
    CubeAction.TOO_GOOD: "Too good to {double}, {answer}",
    CubeAction.OPTIONAL: "Optional {double}, {answer}",
    CubeAction.TAKE: "Take",
    CubeAction.PASS: "Pass",
    CubeAction.BEAVER: "Beaver",
    CubeAction.RACCOON: "Raccoon",
}


@dataclass(frozen=True, slots=True)
class Answer:
    """The parts of an evaluation that depend on the cube."""

    equity: float
    cubeless_equity: float
    probabilities: Probabilities
    mwc: float | None = None
    plays: tuple[PlayValue, ...] = ()
    cube: CubeReport | None = None
    cases: tuple[CubeCase, ...] = ()
    resignation: ResignationReport | None = None


def cube_case(name: str) -> CubeCaseName:
    """
    Raises:
        InputError: an unknown name.
    """
    try:
        return CubeCaseName(name)
    except ValueError:
        raise InputError("cube", name, f"one of {', '.join(case.value for case in CubeCaseName)}") from None


def with_cube(position: Position, case: CubeCaseName | None) -> Position:
    """The position with another state of the cube; the same for `ALL` and None.

    A cube that comes out of the middle, or goes back there, is at 2, or at 1; else its value stays.

    Raises:
        InputError: the game has no such cube.
    """
    if case is None:
        return position
    match = position.match
    if not match.cube_in_play:
        raise InputError("cube", case.value, "a game that is played with the cube")
    if case is CubeCaseName.ALL:
        return position
    owner = _OWNERS[case]
    value = match.cube_value
    if owner is CubeOwner.CENTRED and match.cube_owner is not CubeOwner.CENTRED:
        value = 1
    elif owner is not CubeOwner.CENTRED:
        value = max(value, 2)
    return replace(position, match=replace(match, cube_value=value, cube_owner=owner))


@dataclass(frozen=True, slots=True)
class CubeAnswers:
    """Answers questions with the cube at one level."""

    evaluator: CubefulEvaluator
    level: int
    move_filter: MoveFilter

    def answer(self, position: Position, every_cube: bool) -> Answer:
        """Everything about a position; `every_cube`: also for the three states of the cube."""
        if position.offer is not Offer.NONE:
            return self._offer(position)
        found = self._plays(position) if position.dice else self._before_roll(position)
        if not every_cube:
            return found
        return replace(found, cases=tuple(self._case(with_cube(position, case)) for case in _OWNERS))

    def _case(self, position: Position) -> CubeCase:
        found = self._plays(position) if position.dice else self._before_roll(position)
        return CubeCase(
            owner=position.match.cube_owner,
            cube=position.match.cube_value,
            equity=found.equity,
            mwc=found.mwc,
            decision=found.cube,
            plays=found.plays,
        )

    def _plays(self, position: Position) -> Answer:
        assert position.dice is not None
        board, match = position.board, position.match
        ranked = self.evaluator.rank_plays(board, position.dice, match, self.level, self.move_filter)
        best = ranked[0]
        plays = tuple(
            PlayValue(
                play=format_play(board, play.after, position.dice, match.rules),
                equity=play.equity,
                cubeless_equity=play.cubeless.equity,
                mwc=play.mwc,
                difference=play.equity - best.equity,
                probabilities=Probabilities.of(play.cubeless.outcome),
                level=play.level,
            )
            for play in ranked
        )
        probabilities = Probabilities.of(best.cubeless.outcome)
        return Answer(best.equity, best.cubeless.equity, probabilities, best.mwc, plays)

    def _before_roll(self, position: Position) -> Answer:
        board, match = position.board, position.match
        values = self.evaluator.before_roll(board, match, self.level)
        levels = resignation(board, values)
        best = values.question.equity(values.best)
        return Answer(
            equity=best,
            cubeless_equity=_cubeless(values),
            probabilities=_probabilities(values),
            mwc=self._mwc(best, match),
            cube=self._decision(position, values),
            resignation=ResignationReport(accept=levels.accept.name.lower(), offer=levels.offer.name.lower()),
        )

    def _decision(self, position: Position, values: CubeValues) -> CubeReport:
        board, match = position.board, position.match
        equities = equities_of(values)
        verdict = judge(equities)
        points = cube_points(self.evaluator, board, values)
        losses = verdict.losses
        redouble = match.cube_owner is CubeOwner.MOVER
        return CubeReport(
            action=verdict.action,
            verdict=in_words(verdict.action, verdict.answer, redouble),
            answer=verdict.answer,
            redouble=redouble,
            equity_nd=equities.no_double,
            equity_dt=equities.taken,
            equity_dp=equities.passed,
            equity_beaver=equities.beavered,
            mwc_nd=self._mwc(equities.no_double, match),
            mwc_dt=self._mwc(equities.taken, match),
            mwc_dp=self._mwc(equities.passed, match),
            loss_no_double=losses.no_double,
            loss_double=losses.double,
            loss_take=losses.take,
            loss_pass=losses.passing,
            loss_beaver=losses.beaver,
            take_point=points.take,
            cash_point=points.cash,
            too_good_point=points.too_good,
            market_losers=self._market_losers(position) if values.can_double else None,
            efficiency=self.evaluator.efficiency_before_roll(board, match),
            exact=self.evaluator.is_exact(board, match),
        )

    def _market_losers(self, position: Position) -> MarketLosers:
        passes = self.evaluator.market_losers(position.board, position.match).tolist()
        by_roll = dict(zip(ROLLS, passes, strict=True))
        sequences = sum(roll_weight(roll) * count for roll, count in by_roll.items())
        lost = {f"{high}{low}": count for (high, low), count in by_roll.items() if count}
        return MarketLosers(sequences=sequences, rolls=lost)

    def _offer(self, position: Position) -> Answer:
        match = position.match
        found = answer_offer(self.evaluator, position, self.level)
        # The player who doubled first is on roll next.
        mover_rolls = position.offer is Offer.BEAVER
        doubler = match if mover_rolls else match.flip()
        values = self.evaluator.before_roll(
            position.board if mover_rolls else flip(position.board), doubler, self.level
        )
        sign = 1.0 if mover_rolls else -1.0
        equity = found.equities[found.action]
        return Answer(
            equity=equity,
            cubeless_equity=sign * _cubeless(values),
            probabilities=_probabilities(values, inverted=not mover_rolls),
            mwc=self._mwc(equity, match),
            cube=self._offer_report(found, match),
        )

    def _offer_report(self, found: AnswerVerdict, match: MatchState) -> CubeReport:
        equities, losses = found.equities, found.losses
        return CubeReport(
            action=found.action,
            verdict=_WORDS[found.action],
            equity_dt=equities[CubeAction.TAKE],
            equity_dp=equities[CubeAction.PASS],
            equity_beaver=equities.get(CubeAction.BEAVER),
            equity_raccoon=equities.get(CubeAction.RACCOON),
            mwc_dt=self._mwc(equities[CubeAction.TAKE], match),
            mwc_dp=self._mwc(equities[CubeAction.PASS], match),
            loss_take=losses.take,
            loss_pass=losses.passing,
            loss_beaver=losses.beaver,
            loss_raccoon=losses.raccoon,
        )

    def _mwc(self, equity: float | None, match: MatchState) -> float | None:
        return mwc_or_none(equity, match, self.evaluator.met)


def mwc_or_none(equity: float | None, match: MatchState, met: MatchEquityTable | None) -> float | None:
    """The chance to win the match at an equity; None in money play, and where there is no equity."""
    return None if equity is None or match.is_money else mwc_of(equity, match, met)


def in_words(action: CubeAction, answer: CubeAction | None, redouble: bool) -> str:
    """A verdict for people."""
    double = "redouble" if redouble else "double"
    reply = answer.value if answer else ""
    return _WORDS[action].format(double=double, Double=double.capitalize(), answer=reply)


def _probabilities(values: CubeValues, inverted: bool = False) -> Probabilities:
    outcome = values.outcome / ONE
    return Probabilities.of((outcomes.invert(outcome) if inverted else outcome).tolist())


def _cubeless(values: CubeValues) -> float:
    return float(outcomes.cubeless_equity(values.outcome / ONE, values.question.match.rules))
