"""Cube problems: money games with a centred cube or one of the player's own.

The date decides which action is looked for, so that doubling isn't nearly always wrong. The first position of the day's
games that passes is the problem:

- a real choice: at 2-ply the action is the one looked for, and both the double and the answer to it lose something, but
  not much, when they are wrong;
- a clear answer: 3-ply and a rollout of both branches give the same action, each gap beyond two standard errors.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from cluster import planner
from cluster.book.simulation import Farm
from cluster.coordinator import OnProgress, RolloutRun
from cluster.daily.games import DailyQuestion, positions
from cluster.daily.schemas import DailyProblem
from cluster.schemas import CubeRolloutDecision, Probabilities, RolloutRequest, RolloutResult
from engine.analysis.language import Language
from engine.analysis.plans import plan_sentence, type_name
from engine.analysis.position_type import typed_position
from engine.cubeful import CubefulEvaluator
from engine.decision import CubeAction, CubeEquities, equities_of, judge
from engine.errors import InputError
from engine.evaluator import Evaluator, Nets
from engine.match import CubeOwner, MatchState
from engine.position import Position
from engine.xgid import format_xgid

ACTIONS = (
    *(CubeAction.NO_DOUBLE,) * 3,
    *(CubeAction.DOUBLE_TAKE,) * 4,
    *(CubeAction.DOUBLE_PASS,) * 2,
    CubeAction.TOO_GOOD,
)
"""What a date looks for is drawn from these."""
LEAST_LOSS = 0.04
"""Equity: of a wrong double or of rolling wrongly, and of a wrong answer."""
MOST_LOSS = 0.15
"""Of the player on roll."""
MOST_ANSWER_LOSS = {CubeAction.NO_DOUBLE: 0.6, CubeAction.DOUBLE_TAKE: 0.35, CubeAction.DOUBLE_PASS: 0.35}
"""Of the opponent's answer; where the player is too good, that is no question."""
OWNED = 0.3
"""Share of redoubles."""
_ERRORS = 2.0
TRIALS, CHECKPOINT = 1296, 1296


@dataclass(frozen=True, slots=True)
class CubeBench:
    """What a cube problem is valued with."""

    nets: Nets
    evaluator: Evaluator
    farm: Farm


def find_cube_problem(question: DailyQuestion, bench: CubeBench, show: OnProgress) -> DailyProblem:
    """The problem of a date.

    Raises:
        InputError: rules without a cube.
    """
    rules = question.rules
    if not rules.cube:
        raise InputError("kind", question.kind.value, f"checker: {rules.name} is played without a cube")
    chance = random.Random(f"{question.key}:action")
    wanted = ACTIONS[int(len(ACTIONS) * chance.random())]
    owned = chance.random() < OWNED
    owner, value = (CubeOwner.MOVER, 2) if owned else (CubeOwner.CENTRED, 1)
    match = MatchState(cube_value=value, cube_owner=owner, rules=rules)
    cubeful = CubefulEvaluator(bench.evaluator)
    for board, _ in positions(question.key, bench.evaluator, rules):
        position = Position(board, match)
        if not all(is_clear(_equities(cubeful, position, level), wanted) for level in (2, 3)):
            continue
        result = _rolled_out(position, bench, show)
        if result.cube is not None and has_clear_answer(result, wanted):
            return _problem(question, position, result, result.cube)
    raise AssertionError("positions never end")


def _equities(cubeful: CubefulEvaluator, position: Position, level: int) -> CubeEquities:
    return equities_of(cubeful.before_roll(position.board, position.match, level))


def is_clear(equities: CubeEquities, wanted: CubeAction) -> bool:
    """Whether these equities give the action, and wrong ones lose something, but not too much."""
    found = judge(equities)
    dt, dp = equities.taken, equities.passed
    if found.action is not wanted or dt is None or dp is None:
        return False
    gap = abs(equities.no_double - min(dt, dp))
    return LEAST_LOSS <= gap <= MOST_LOSS and LEAST_LOSS <= abs(dt - dp) <= MOST_ANSWER_LOSS.get(wanted, abs(dt - dp))


def has_clear_answer(result: RolloutResult, wanted: CubeAction) -> bool:
    """Whether the rollout gives the action as well, beyond its errors."""
    cube = result.cube
    if cube is None or cube.action is not wanted:
        return False
    if cube.equity_nd is None or cube.equity_dt is None or cube.equity_dp is None:
        return False
    passes = cube.equity_dp < cube.equity_dt
    double = min(cube.equity_dt, cube.equity_dp)
    # A pass is exact, so only rolling on has an error there; else both branches met the same dice.
    gap_se = cube.se_nd if passes else result.candidates[-1].difference_se
    answer_se = cube.se_dt or 0.0
    return (
        abs(cube.equity_nd - double) > _ERRORS * gap_se and abs(cube.equity_dt - cube.equity_dp) > _ERRORS * answer_se
    )


def _rolled_out(position: Position, bench: CubeBench, show: OnProgress) -> RolloutResult:
    request = RolloutRequest(
        position=format_xgid(position), trials=TRIALS, checkpoint=CHECKPOINT, cube=True, rules=position.match.rules.name
    )
    rollout = planner.plan(request, bench.evaluator)
    run = RolloutRun(request, rollout, bench.nets, bench.farm.store)
    return run.run(bench.farm.executor_for, show).result


def _problem(
    question: DailyQuestion, position: Position, result: RolloutResult, cube: CubeRolloutDecision
) -> DailyProblem:
    rolling = result.candidates[0].probabilities
    return DailyProblem(
        date=question.date,
        kind=question.kind,
        rules=question.rules.name,
        version=question.version,
        xgid=format_xgid(position),
        cube=cube,
        probabilities=rolling,
        explanation=explain(position, cube, rolling),
        trials=sum(candidate.trials for candidate in result.candidates),
    )


def explain(position: Position, cube: CubeRolloutDecision, p: Probabilities) -> str:
    """The action, what the wrong ones lose, the chances, and the kind of game."""
    typed = typed_position(position.board)
    lost = _loss_of(cube)
    chances = (
        f"The player on roll wins {100 * p.win:.1f} % ({100 * p.win_gammon:.1f} % gammons) and loses "
        f"{100 * p.lose_gammon:.1f} % gammons."
    )
    return (
        f"{cube.verdict}. {lost} {chances} {type_name(typed.type, Language.ENGLISH).capitalize()}: "
        f"{plan_sentence(typed, Language.ENGLISH)}"
    )


def _loss_of(cube: CubeRolloutDecision) -> str:
    double = "redoubling" if cube.redouble else "doubling"
    own = (
        f"Rolling on loses {cube.loss_no_double:.3f}"
        if cube.loss_no_double
        else f"{double.capitalize()} loses {cube.loss_double:.3f}"
    )
    wrong, loss = ("passing", cube.loss_pass) if not cube.loss_take else ("taking", cube.loss_take)
    return f"{own}; {wrong} a double loses {loss:.3f}."
