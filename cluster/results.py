"""The exact part of a rollout's answer: a function of the question and its trials, made in this one place.

So it has the same bytes whoever computed which trial, and in which order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from cluster.cube_answers import in_words, mwc_or_none
from cluster.planner import RolloutQuestion
from cluster.schemas import CandidateResult, CubeRolloutDecision, Probabilities, RolloutResult
from cluster.store import TrialRange
from engine.cube import CubeBranch, CubePlay
from engine.decision import CubeEquities, judge
from engine.kernels.cube import NONE
from engine.match import CubeOwner
from engine.met.stakes import mwc_of
from engine.position import Position
from engine.stopping import StopReason
from engine.tally import Estimate, Tally
from engine.xgid import format_xgid

TallyOf = Callable[[Sequence[int], TrialRange], Tally]
"""(numbers of candidates, complete range) -> their tally."""


def make_result(question: RolloutQuestion, tally_of: TallyOf, trials: Sequence[int], stop: StopReason) -> RolloutResult:
    """The exact part of the answer: a function of the question and its trials.

    Candidates that got all trials come first, best first; then those that were beaten earlier, later ones first.
    """
    own = [tally_of((i,), TrialRange(0, n)) for i, n in enumerate(trials)]
    equities = [tally.equity(0).mean for tally in own]
    settings = question.settings
    order = sorted(range(len(trials)), key=lambda i: (-trials[i], -equities[i], i))
    decision = settings.cube is not None and question.position.dice is None
    if decision:
        order.sort(key=lambda i: list(CubeBranch).index(question.candidates[i].start.branch))
    best = order[0]
    cube = settings.cube
    return RolloutResult(
        xgid=format_xgid(question.position),
        rules=settings.rules.name,
        net=question.net,
        seed=settings.seed,
        truncate=settings.truncate,
        variance_reduction=settings.variance_reduction,
        bearoff=settings.uses_bearoff,
        bearoff_checkers=settings.bearoff_checkers if settings.uses_bearoff else None,
        stop=stop,
        cubeful=cube is not None,
        met=cube.met.name if cube is not None and cube.met is not None else None,
        candidates=tuple(
            _candidate(question, i, own[i], tally_of((best, i), TrialRange(0, min(trials[i], trials[best]))), i == best)
            for i in order
        ),
        cube=cube_decision(question.position, cube, [own[i].equity(0) for i in order]) if decision and cube else None,
    )


def equities_of(cube: CubePlay, nd: float, dt: float | None) -> CubeEquities:
    """What decides about a double, by the means of its branches; `dt` is None where the player may not double."""
    asked = cube.question()
    passed = beavered = None
    if dt is not None:
        game = asked.game
        passed = asked.equity(int(game.pass_value[0, 0]))
        if game.beavered[0, 0] != NONE and game.unlimited:
            # All cubes are alike: beavered, the opponent owns one that is worth twice as much.
            beavered = max(game.scale * dt, asked.equity(int(game.drop_value[0, 0])))
    return CubeEquities(nd, dt, passed, beavered)


def cube_decision(position: Position, cube: CubePlay, branches: Sequence[Estimate]) -> CubeRolloutDecision:
    """The verdict, from no double and (where the player may double) double/take."""
    match = position.match
    nd, dt = branches[0], branches[1] if len(branches) > 1 else None
    equities = equities_of(cube, nd.mean, dt.mean if dt else None)
    found = judge(equities)
    passed = equities.passed
    redouble = match.cube_owner is CubeOwner.MOVER
    return CubeRolloutDecision(
        action=found.action,
        verdict=in_words(found.action, found.answer, redouble),
        answer=found.answer,
        redouble=redouble,
        equity_nd=nd.mean,
        equity_dt=dt.mean if dt else None,
        equity_dp=passed,
        equity_beaver=equities.beavered,
        se_nd=finite_se(nd.se),
        se_dt=finite_se(dt.se) if dt else None,
        mwc_nd=mwc_or_none(nd.mean, match, cube.met),
        mwc_dt=mwc_or_none(dt.mean if dt else None, match, cube.met),
        mwc_dp=mwc_or_none(passed, match, cube.met),
        loss_no_double=found.losses.no_double,
        loss_double=found.losses.double,
        loss_take=found.losses.take,
        loss_pass=found.losses.passing,
    )


def _candidate(question: RolloutQuestion, i: int, own: Tally, pair: Tally, is_best: bool) -> CandidateResult:
    equity = own.equity(0)
    difference = Estimate(0.0, 0.0) if is_best else pair.difference(1, 0)
    outcome = own.outcome(0)
    luck = own.luck(0)
    cube, match = question.settings.cube, question.position.match
    mwc = slope = None
    if cube is not None and cube.met is not None:
        mwc = mwc_of(equity.mean, match, cube.met)
        slope = (mwc_of(1.0, match, cube.met) - mwc_of(-1.0, match, cube.met)) / 2.0
    planned = question.candidates[i]
    return CandidateResult(
        play=planned.play,
        branch=planned.start.branch.value if cube is not None and planned.play is None else None,
        level=question.settings.level,
        equity=equity.mean,
        se=finite_se(equity.se),
        difference=difference.mean,
        difference_se=finite_se(difference.se),
        mwc=mwc,
        mwc_se=None if slope is None else slope * finite_se(equity.se),
        probabilities=Probabilities.of([p.mean for p in outcome]),
        probabilities_se=Probabilities.of([finite_se(p.se) for p in outcome]),
        trials=own.trials,
        luck=luck.mean,
        luck_se=finite_se(luck.se),
        coefficient=own.coefficient(0),
    )


def finite_se(se: float) -> float:
    """One trial has no standard error; JSON has no infinity, and the largest equity is a bound that says as much."""
    return se if se < 3.0 else 3.0
