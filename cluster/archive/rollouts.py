"""The third look: rollouts of what is close after the search, each through the farm's own coordinator and cache."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from cluster.archive.cubes import CubeCase, JudgedCube
from cluster.archive.evaluation import Advance, ValuedPlay
from cluster.archive.matches import Matches
from cluster.archive.plays import Case, JudgedPlay, sorted_plays
from cluster.archive.policy import Policy
from cluster.archive.results import ROLLOUT, ROLLOUT_LEVEL
from cluster.coordinator import RolloutRun
from cluster.executor import Executor
from cluster.planner import plan
from cluster.schemas import RolloutRequest, RolloutResult, parse_request
from cluster.store import Store
from engine.analysis.thresholds import steps
from engine.bearoff import open_databases
from engine.board import flip
from engine.cube import CubeQuestion, cube_matters
from engine.decision import AnswerVerdict, CubeAction, CubeEquities, CubeVerdict, judge
from engine.evaluator import Evaluator
from engine.kernels.cube import POINT
from engine.notation import format_play
from engine.position import Offer, Position
from engine.xgid import format_xgid


@dataclass(frozen=True, slots=True)
class Rollouts:
    """Rolls out close cases."""

    matches: Matches
    policy: Policy
    store: Store
    executor_for: Callable[[], Executor]
    advance: Advance

    def plays(self, judged: dict[Case, JudgedPlay]) -> dict[Case, JudgedPlay]:
        """Close cases with the best play and the one played rolled out."""
        close = [case for case, one in judged.items() if self._is_close(case, one)]
        found: dict[Case, JudgedPlay] = {}
        for number, case in enumerate(close, start=1):
            found[case] = self._play(case, judged[case])
            self.advance(ROLLOUT, number, len(close))
        return found

    def cubes(self, judged: dict[CubeCase, JudgedCube]) -> dict[CubeCase, JudgedCube]:
        """Close cases with doubling and rolling both rolled out."""
        close = [case for case, one in judged.items() if self._is_close_cube(case, one)]
        found: dict[CubeCase, JudgedCube] = {}
        for number, case in enumerate(close, start=1):
            found[case] = self._cube(case, judged[case])
            self.advance(ROLLOUT, number, len(close))
        return found

    def _is_close(self, case: Case, one: JudgedPlay) -> bool:
        if one.played is None or one.played == 0:
            return False
        question = self.matches.question(case[0][1])
        loss = question.equity(one.candidates[0].value) - question.equity(one.candidates[one.played].value)
        return 0 < steps(loss) <= steps(self.policy.rollout_close)

    def _is_close_cube(self, case: CubeCase, one: JudgedCube) -> bool:
        offer, match = case[2], self.matches.match(case[1])
        losses = one.verdict.losses
        if match.beaver or offer not in (Offer.NONE, Offer.DOUBLE):
            return False  # rollouts know no beavers
        one_way, other_way = (losses.no_double, losses.double) if offer is Offer.NONE else (losses.take, losses.passing)
        if one_way is None or other_way is None:
            return False
        if isinstance(one.verdict, CubeVerdict) and one.verdict.action is CubeAction.NO_CUBE:
            return False
        return steps(max(one_way, other_way)) <= steps(self.policy.rollout_close)

    def _play(self, case: Case, one: JudgedPlay) -> JudgedPlay:
        (content, number, dice), _ = case
        match, question = self.matches.match(number), self.matches.question(number)
        position = Position(np.frombuffer(content, dtype=np.int8), match, dice)
        assert one.played is not None
        compared = (one.candidates[0], one.candidates[one.played])
        names = tuple(
            format_play(position.board, np.frombuffer(play.after, dtype=np.int8), dice, match.rules)
            for play in compared
        )
        result = self._rolled(position, names, cube=cube_matters(match))
        rows = {row.play: row for row in result.candidates}
        new: dict[bytes, ValuedPlay] = {}
        for play, name in zip(compared, names, strict=True):
            row = rows[name]
            value = _value_of(question, row.equity)
            new[play.after] = replace(play, value=value, level=ROLLOUT_LEVEL, se=round(row.se, 6))
        plays = sorted_plays(new.get(play.after, play) for play in one.candidates)
        played = next(place for place, play in enumerate(plays) if play.after == compared[1].after)
        return JudgedPlay(one.legal_plays, tuple(plays), played)

    def _cube(self, case: CubeCase, one: JudgedCube) -> JudgedCube:
        content, number, offer, _ = case
        board, match = np.frombuffer(content, dtype=np.int8), self.matches.match(number)
        if offer is Offer.DOUBLE:
            board, match = flip(board), match.flip()
        cube = self._rolled(Position(board, match), (), cube=True).cube
        if cube is None or cube.equity_nd is None or cube.equity_dt is None or cube.equity_dp is None:
            return one
        equities = CubeEquities(cube.equity_nd, cube.equity_dt, cube.equity_dp)
        verdict = judge(equities)
        if offer is Offer.NONE:
            return JudgedCube(ROLLOUT_LEVEL, verdict, equities, one.win)
        answers = {CubeAction.TAKE: -cube.equity_dt, CubeAction.PASS: -cube.equity_dp}
        action = max(answers, key=lambda answer: answers[answer])
        losses = replace(verdict.losses, no_double=None, double=None)
        return JudgedCube(ROLLOUT_LEVEL, AnswerVerdict(action, answers, losses))

    def _rolled(self, position: Position, plays: tuple[str, ...], cube: bool) -> RolloutResult:
        conditions = self.matches.conditions
        fields = {
            "position": format_xgid(position),
            "plays": plays,
            "rules": position.match.rules.name,
            "met": conditions.met,
            "efficiency": conditions.efficiency_name,
            "bearoff_checkers": conditions.bearoff_checkers,
            **self.policy.rollout.settings(),
            "cube": cube,
        }
        request = parse_request(RolloutRequest, fields)
        bearoff = open_databases(two_sided_checkers=conditions.bearoff_checkers).arrays
        question = plan(request, Evaluator(conditions.nets, bearoff))
        run = RolloutRun(request, question, conditions.nets, self.store)
        return run.run(self.executor_for, lambda _: None).result


def _value_of(question: CubeQuestion, equity: float) -> int:
    """The kernel value of an equity: the inverse of `CubeQuestion.equity`."""
    low, high = question.single
    return round(((equity + 1.0) / 2.0 * (high - low) + low) * POINT)
