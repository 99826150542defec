"""Judging cube actions: doubling or rolling, and answers to offers, at 1-ply and deeper where the policy says so."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from cluster.archive.evaluation import Evaluation, Node, NodeAnswer
from cluster.archive.matches import Matches
from cluster.archive.policy import SHALLOW_LEVEL, Policy
from engine.board import Board, flip
from engine.cubeful import CubeValues, values_before_roll
from engine.decision import (
    AnswerVerdict,
    CubeEquities,
    CubeVerdict,
    answer_offer,
    equities_of,
    judge,
)
from engine.efficiency import CubeEfficiency
from engine.kernels.network import ONE
from engine.match import MatchState
from engine.met import MatchEquityTable
from engine.outcome import OUTCOMES, WIN
from engine.position import Offer, Position

CubeCase = tuple[bytes, int, Offer, bool]
"""Board in the view of the player to decide, match state in his view, the offer that stands, and whether the second
look is taken whatever the first says (because he doubled)."""


@dataclass(frozen=True, slots=True)
class JudgedCube:
    """A case that is settled."""

    level: int
    verdict: CubeVerdict | AnswerVerdict
    """On doubling, in the view of the player who may double; on an offer, in the view of who answers."""
    equities: CubeEquities | None = None
    """Of a decision before the roll."""
    win: float | None = None
    """Chance of the player to decide to win, before the roll, the cube staying where it is."""


def cube_case(position: Position, matches: Matches, doubled: bool) -> CubeCase:
    """The case of a decision about the cube.

    Raises:
        InputError: a match longer than tables go.
    """
    return position.board.tobytes(), matches.number(position.match), position.offer, doubled


def judge_cubes(
    cases: Sequence[CubeCase], evaluation: Evaluation, matches: Matches, policy: Policy
) -> dict[CubeCase, JudgedCube]:
    """All cases."""
    judged = _judge_at(SHALLOW_LEVEL, cases, evaluation, matches)
    if policy.level > SHALLOW_LEVEL:
        deeper = [case for case in judged if _needs_deeper(case, judged[case], policy)]
        judged.update(_judge_at(policy.level, deeper, evaluation, matches))
    return judged


def _needs_deeper(case: CubeCase, judged: JudgedCube, policy: Policy) -> bool:
    _, _, offer, doubled = case
    losses = judged.verdict.losses
    if offer is not Offer.NONE or doubled:
        return True
    if losses.no_double is None or losses.double is None:
        return False  # nobody can double
    return max(losses.no_double, losses.double) < policy.cube_margin


def _judge_at(
    level: int, cases: Sequence[CubeCase], evaluation: Evaluation, matches: Matches
) -> dict[CubeCase, JudgedCube]:
    """First with blanks, to find out which nodes are asked for, then with their answers."""
    asked: list[Node] = []

    def blank(node: Node) -> NodeAnswer:
        asked.append(node)
        states = int(matches.question(node[1]).game.counts[1])
        return NodeAnswer(np.zeros(OUTCOMES, dtype=np.int64), np.zeros(states, dtype=np.int64))

    for case in cases:
        _judge(case, level, matches, blank)
    answers = evaluation.nodes(asked, level)
    return {case: _judge(case, level, matches, answers.__getitem__) for case in cases}


def _judge(case: CubeCase, level: int, matches: Matches, look: Callable[[Node], NodeAnswer]) -> JudgedCube:
    content, number, offer, _ = case
    board, match = np.frombuffer(content, dtype=np.int8), matches.match(number)
    valuer = _Valuer(matches, matches.table(number).met, look)
    if offer is not Offer.NONE:
        return JudgedCube(level, answer_offer(valuer, Position(board, match, offer=offer), level))
    values = valuer.before_roll(board, match, level)
    equities = equities_of(values)
    return JudgedCube(level, judge(equities), equities, float(values.outcome[WIN]) / ONE)


@dataclass(frozen=True, slots=True)
class _Valuer:
    """A `CubeValuer` that looks its values up."""

    matches: Matches
    met: MatchEquityTable | None
    look: Callable[[Node], NodeAnswer]

    @property
    def efficiency(self) -> CubeEfficiency:
        """See `CubeValuer`."""
        return self.matches.conditions.efficiency

    def before_roll(self, board: Board, match: MatchState, level: int) -> CubeValues:
        """See `CubeValuer`; the level is that of all answers."""
        number = self.matches.number(match)
        answer = self.look((flip(board).tobytes(), number))
        return values_before_roll(self.matches.question(number), board, answer.outcome, answer.rolling)
