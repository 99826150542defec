"""From settled cases to the result of a decision and to what it adds to its player's tally."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from cluster.archive.books import Books
from cluster.archive.cubes import CubeCase, JudgedCube
from cluster.archive.evaluation import Rolled, RolledAnswer, ValuedPlay
from cluster.archive.matches import Matches
from cluster.archive.plays import Case, JudgedPlay
from cluster.archive.policy import SHOWN_PLAYS
from cluster.archive.results import (
    CubeNumbers,
    DecisionKind,
    DecisionResult,
    GivenReason,
    PlayCandidate,
    level_name,
)
from cluster.archive.work import Asked
from engine.analysis.comparison import Candidate, Setting, reasons
from engine.analysis.cube_errors import CubeJudgement, cube_sentence, judge_answer, judge_doubling
from engine.analysis.explanation import play_sentence
from engine.analysis.language import Language
from engine.analysis.luck import RollLuck, RollValues, stake_of
from engine.analysis.rating import PlayerTally
from engine.analysis.thresholds import THRESHOLDS, Grade, steps
from engine.cube import CubeQuestion
from engine.decision import AnswerVerdict, CubeAction, CubeVerdict
from engine.kernels.cube import LOSE1, POINT, WIN1
from engine.kernels.network import ONE
from engine.notation import describe_play
from engine.position import Player, Position
from engine.records.record import Action
from engine.xgid import format_xgid

_ANSWERS = {
    Action.TAKE: CubeAction.TAKE,
    Action.PASS: CubeAction.PASS,
    Action.BEAVER: CubeAction.BEAVER,
    Action.RACCOON: CubeAction.RACCOON,
}
_DIGITS = 6
_GAMMON, _LOSE_GAMMON = WIN1 + 1, LOSE1 + 1


@dataclass(frozen=True, slots=True)
class Settled:
    """All cases of some matches."""

    plays: Mapping[Case, JudgedPlay]
    rolls: Mapping[Rolled, RolledAnswer]
    cubes: Mapping[CubeCase, JudgedCube]


@dataclass(frozen=True, slots=True)
class Judged:
    """One decision."""

    result: DecisionResult | None
    """None: nothing worth telling, such as a turn at which nobody thinks of the cube."""
    tally: PlayerTally


class Judge:
    """Turns decisions into results."""

    def __init__(self, settled: Settled, matches: Matches, language: Language, books: Books | None) -> None:
        self._settled = settled
        self._matches = matches
        self._language = language
        self._books = books

    def decision(self, asked: Asked) -> Judged:
        """The verdict on one decision."""
        return self._play(asked, asked.play) if asked.play is not None else self._cube(asked)

    def _play(self, asked: Asked, case: Case) -> Judged:
        one, judged = asked.decision, self._settled.plays[case]
        (_, number, _), _ = case
        question = self._matches.question(number)
        best = judged.candidates[0]
        played = None if judged.played is None else judged.candidates[judged.played]
        loss = None if played is None else max(_equity(question, best) - _equity(question, played), 0.0)
        unforced = judged.legal_plays > 1 and loss is not None and one.counts
        grade = None if loss is None else THRESHOLDS.grade(steps(loss))
        luck = self._luck(asked, case[0]) if one.action is Action.PLAY else None
        told = _notation(one.told) if played is not None else None
        names = _Names(one.position, played, told)
        wrong = grade is not None and grade is not Grade.RIGHT and played is not None
        given, sentence = self._why(one.position, question, best, played) if wrong and played else ((), "")
        tally = PlayerTally() if luck is None else PlayerTally.of_roll(luck)
        if unforced and loss is not None:
            tally += PlayerTally.of_play(loss, asked.type)
        result = DecisionResult(
            game=one.game,
            turn=one.turn,
            player=_seat(one.player),
            kind=DecisionKind.PLAY,
            xgid=format_xgid(one.position),
            type=asked.type,
            dice=one.position.dice,
            done=_notation(one.told),
            legal=one.legal,
            counts=unforced,
            best=names.of(best),
            loss=None if loss is None else round(loss, _DIGITS),
            grade=grade,
            level=level_name(best.level),
            candidates=_shown(question, judged, names),
            sentence=sentence,
            reasons=given,
            luck=None if luck is None else round(luck.points, _DIGITS),
            luck_grade=None if luck is None else THRESHOLDS.luck_grade(luck.luck),
            comment="" if one.told is None else one.told.comment,
            book=None if self._books is None else self._books.opinion(one.turn, one.position, one.after),
        )
        return Judged(result, tally)

    def _luck(self, asked: Asked, rolled: Rolled) -> RollLuck:
        values = self._roll_values(rolled)
        dice = rolled[2]
        if asked.if_other_began is not None:
            other = self._roll_values(asked.if_other_began)
            return values.opening_luck(dice, asked.decision.position.match.rules, other)
        return values.luck(dice)

    def _roll_values(self, rolled: Rolled) -> RollValues:
        question = self._matches.question(rolled[1])
        low, high = question.single
        equities = (self._settled.rolls[rolled].rolls / POINT - low) / (high - low) * 2.0 - 1.0
        return RollValues(tuple(np.rint(equities * ONE).astype(np.int64).tolist()), stake_of(question))

    def _why(
        self, position: Position, question: CubeQuestion, best: ValuedPlay, played: ValuedPlay
    ) -> tuple[tuple[GivenReason, ...], str]:
        worth = question.game.worth[0, 0]
        single = worth[WIN1] - worth[LOSE1]
        gammons = (2.0 * (worth[_GAMMON] - worth[WIN1]) / single, 2.0 * (worth[LOSE1] - worth[_LOSE_GAMMON]) / single)
        ours, theirs = _candidate(best), _candidate(played)
        setting = Setting(position.match.rules, (float(gammons[0]), float(gammons[1])))
        found = reasons(position.board, ours, theirs, setting)
        given = tuple(
            GivenReason(one.reason.value, one.fact.label, float(one.best), float(one.other), one.points)
            for one in found
        )
        return given, play_sentence(found, self._language, ours, theirs)

    def _cube(self, asked: Asked) -> Judged:
        one = asked.decision
        assert asked.cube is not None
        judged = self._settled.cubes[asked.cube]
        judgement = _judgement(judged.verdict, one.action)
        if isinstance(judged.verdict, CubeVerdict) and judged.verdict.losses.double is None:
            return Judged(None, PlayerTally())  # a double would be of no use
        if judgement is not None and not judgement.unforced:
            return Judged(None, PlayerTally())
        loss = None if judgement is None else judgement.loss
        error = None if judgement is None else judgement.error
        result = DecisionResult(
            game=one.game,
            turn=one.turn,
            player=_seat(one.player),
            kind=DecisionKind.DOUBLE if isinstance(judged.verdict, CubeVerdict) else DecisionKind.ANSWER,
            xgid=format_xgid(one.position),
            type=asked.type,
            dice=None,
            done=None if one.action is None else _DONE[one.action],
            legal=True,
            counts=judgement is not None,
            best=_ACTIONS[judged.verdict.action],
            loss=None if loss is None else round(loss, _DIGITS),
            grade=None if loss is None else THRESHOLDS.grade(steps(loss)),
            level=level_name(judged.level),
            error=error,
            cube=_cube_numbers(judged),
            sentence="" if error is None else cube_sentence(error, self._language),
            comment="" if one.told is None or one.action is Action.ROLL else one.told.comment,
        )
        tally = PlayerTally() if judgement is None else PlayerTally.of_cube(judgement, asked.type)
        return Judged(result, tally)


_DONE = {
    Action.ROLL: "no double",
    Action.DOUBLE: "double",
    Action.TAKE: "take",
    Action.PASS: "pass",
    Action.BEAVER: "beaver",
    Action.RACCOON: "raccoon",
}
_ACTIONS = {
    CubeAction.NO_CUBE: "no double",
    CubeAction.NO_DOUBLE: "no double",
    CubeAction.TOO_GOOD: "too good to double",
    CubeAction.DOUBLE_TAKE: "double, take",
    CubeAction.DOUBLE_PASS: "double, pass",
    CubeAction.DOUBLE_BEAVER: "double, beaver",
    CubeAction.OPTIONAL: "optional double",
    CubeAction.TAKE: "take",
    CubeAction.PASS: "pass",
    CubeAction.BEAVER: "beaver",
    CubeAction.RACCOON: "raccoon",
}


class _Names:
    """Notation of plays; what was played has its words in the record already."""

    def __init__(self, position: Position, played: ValuedPlay | None, told: str | None) -> None:
        self._position = position
        self._known = {} if played is None or told is None else {played.after: told}

    def of(self, play: ValuedPlay) -> str:
        """Standard notation."""
        found = self._known.get(play.after)
        if found is None:
            position = self._position
            assert position.dice is not None
            after = np.frombuffer(play.after, dtype=np.int8)
            found = describe_play(position.board, after, position.dice)
            self._known[play.after] = found
        return found


def _shown(question: CubeQuestion, judged: JudgedPlay, names: _Names) -> tuple[PlayCandidate, ...]:
    best = _equity(question, judged.candidates[0])
    shown = list(judged.candidates[:SHOWN_PLAYS])
    if judged.played is not None and judged.played >= SHOWN_PLAYS:
        shown[-1] = judged.candidates[judged.played]
    return tuple(
        PlayCandidate(
            play=names.of(play),
            equity=round(_equity(question, play), _DIGITS),
            loss=round(best - _equity(question, play), _DIGITS),
            level=level_name(play.level),
            probabilities=tuple(round(p / ONE, _DIGITS) for p in play.outcome.tolist()),
            mwc=None if question.match.is_money else round((play.value / POINT + 1.0) / 2.0, _DIGITS),
            se=play.se,
        )
        for play in shown
    )


def _cube_numbers(judged: JudgedCube) -> CubeNumbers:
    if isinstance(judged.verdict, AnswerVerdict):
        equities = judged.verdict.equities
        again = equities.get(CubeAction.BEAVER, equities.get(CubeAction.RACCOON))
        return CubeNumbers(None, _six(equities[CubeAction.TAKE]), _six(equities[CubeAction.PASS]), _six(again))
    found = judged.equities
    assert found is not None
    win = None if judged.win is None else round(judged.win, _DIGITS)
    return CubeNumbers(_six(found.no_double), _six(found.taken), _six(found.passed), _six(found.beavered), win)


def _judgement(verdict: CubeVerdict | AnswerVerdict, action: Action | None) -> CubeJudgement | None:
    """None: nothing was done, or no double was possible."""
    if action is None:
        return None
    if isinstance(verdict, CubeVerdict):
        return judge_doubling(verdict, action is Action.DOUBLE)
    losses = verdict.losses
    given = _ANSWERS[action]
    known = {CubeAction.BEAVER: losses.beaver, CubeAction.RACCOON: losses.raccoon}
    if given in known and known[given] is None:
        return None  # turned back though the rules of the match don't have it
    return judge_answer(verdict, given)


def _candidate(play: ValuedPlay) -> Candidate:
    win, gammon, backgammon, lose_gammon, lose_backgammon = (p / ONE for p in play.outcome.tolist())
    after = np.frombuffer(play.after, dtype=np.int8)
    return Candidate(after, (win, gammon, backgammon, lose_gammon, lose_backgammon))


def _equity(question: CubeQuestion, play: ValuedPlay) -> float:
    return question.equity(play.value)


def _notation(told: object) -> str | None:
    return getattr(told, "play", None)


def _seat(player: Player) -> int:
    return 1 if player is Player.X else 2


def _six(value: float | None) -> float | None:
    return None if value is None else round(value, _DIGITS)
