"""The exact part of a deep analysis: a function of the question and its trials, made in this one place.

With S the value by the search and R the mean of the simulation, a candidate is worth (S + R) / 2. The margin of a
difference is that of the simulated difference, not half of it: a search has no error bar, but that doesn't make it
sure.
"""

from __future__ import annotations

from dataclasses import dataclass

from cluster.cube_answers import mwc_or_none
from cluster.deep.planner import (
    BLOCK,
    CONFIDENCE,
    HALVES_CONFIDENCE,
    SEARCH_LEVEL,
    DeepCandidateQuestion,
    DeepQuestion,
)
from cluster.deep.schemas import DeepCandidate, DeepCubeDecision, DeepCubeQuestion, DeepResult, HalfResult
from cluster.results import TallyOf, cube_decision, equities_of
from cluster.schemas import Probabilities
from cluster.store import TrialRange
from engine.block_means import BlockMeans, critical_value
from engine.decision import CubeEquities
from engine.kernels.network import ONE
from engine.outcome import OUTCOMES
from engine.tally import Estimate, Tally
from engine.xgid import format_xgid


@dataclass(frozen=True, slots=True)
class _Simulated:
    """A candidate with its blocks; `numbers` are those in the tallies of the two halves."""

    asked: DeepCandidateQuestion
    blocks: BlockMeans
    probabilities: tuple[float, ...]
    equity: float
    """The mean of search and simulation."""


def make_result(question: DeepQuestion, first: TallyOf, second: TallyOf) -> DeepResult:
    """The exact part of the answer, from the complete trials of both halves."""
    simulated = _simulated(question, (first, second))
    decision = question.cube is not None and question.position.dice is None
    if not decision:
        simulated.sort(key=lambda one: -one.equity)  # of equal ones the better by the search stays first
    best = simulated[0]
    freedom = best.blocks.freedom
    noise = critical_value(CONFIDENCE, freedom, max(len(simulated) - 1, 1))
    chance = critical_value(HALVES_CONFIDENCE, freedom, len(simulated))
    candidates = tuple(_candidate(question, one, best, noise, chance) for one in simulated)
    half, settings = question.halves[0], question.halves[0].settings
    cube = question.cube
    return DeepResult(
        xgid=format_xgid(question.position),
        rules=settings.rules.name,
        net=half.net,
        seed=question.request.seed,
        half_seeds=(half.settings.seed, question.halves[1].settings.seed),
        bearoff_checkers=settings.bearoff_checkers if settings.uses_bearoff else None,
        block=BLOCK,
        confidence=CONFIDENCE,
        cubeful=cube is not None,
        met=cube.met.name if cube is not None and cube.met is not None else None,
        candidates=candidates,
        cube=_decision(question, simulated) if decision else None,
        halves_agree=all(abs(c.gap) <= c.gap_allowed for c in candidates),
    )


def _simulated(question: DeepQuestion, tallies: tuple[TallyOf, TallyOf]) -> list[_Simulated]:
    """The candidates in their order, with the block means of both halves."""
    trials = question.halves[0].trials
    numbers = range(len(question.candidates))
    whole = tuple(tally_of(numbers, TrialRange(0, trials)) for tally_of in tallies)
    blocks = tuple([tally_of(numbers, TrialRange(at, BLOCK)) for at in range(0, trials, BLOCK)] for tally_of in tallies)
    found = []
    for asked in question.candidates:
        one, two = (
            tuple(_block_mean(block, number, all_.coefficient(number)) for block in parts)
            for parts, number, all_ in zip(blocks, asked.numbers, whole, strict=True)
        )
        means = BlockMeans((one, two))
        outcomes = [all_.outcome(number) for number, all_ in zip(asked.numbers, whole, strict=True)]
        probabilities = tuple((outcomes[0][o].mean + outcomes[1][o].mean) / 2.0 for o in range(OUTCOMES))
        found.append(_Simulated(asked, means, probabilities, (asked.search_equity + means.mean) / 2.0))
    return found


def _block_mean(block: Tally, number: int, coefficient: float) -> float:
    """Equity in a block, less its luck by the coefficient that its half has, so that the mean of a half's blocks is
    what the rollout with its seed says.
    """
    return float(block.sums[number] - coefficient * block.sums[block.candidates + number]) / (block.trials * ONE)


def _candidate(question: DeepQuestion, one: _Simulated, best: _Simulated, noise: float, chance: float) -> DeepCandidate:
    cube, match = question.cube, question.position.match
    behind = BlockMeans.combination([(1.0, one.blocks), (-1.0, best.blocks)])
    difference, margin = one.equity - best.equity, noise * behind.se
    return DeepCandidate(
        play=one.asked.play,
        branch=one.asked.branch.value if cube is not None and one.asked.play is None else None,
        equity=one.equity,
        difference=difference,
        margin=margin,
        playable=one is best or -difference < margin,
        mwc=mwc_or_none(one.equity, match, cube.met) if cube is not None else None,
        search_equity=one.asked.search_equity,
        search_level=SEARCH_LEVEL,
        simulation_equity=one.blocks.mean,
        simulation_se=one.blocks.se,
        simulation_difference=behind.mean,
        simulation_difference_se=behind.se,
        halves=_halves(one, behind),
        gap=one.blocks.gap,
        gap_allowed=chance * one.blocks.gap_se,
        probabilities=Probabilities.of(one.probabilities),
        trials=one.blocks.blocks * BLOCK,
    )


def _halves(one: _Simulated, behind: BlockMeans) -> tuple[HalfResult, HalfResult]:
    first, second = (
        HalfResult(equity=equity, difference=difference)
        for equity, difference in zip(one.blocks.half_means, behind.half_means, strict=True)
    )
    return first, second


def _decision(question: DeepQuestion, simulated: list[_Simulated]) -> DeepCubeDecision:
    """The verdict of a cube decision by the mean of search and simulation, and what noise may do to it."""
    cube = question.cube
    assert cube is not None
    branches = [Estimate(one.equity, one.blocks.se) for one in simulated]
    plain = cube_decision(question.position, cube, branches).model_dump()
    if len(simulated) == 1:
        return DeepCubeDecision(**plain)
    nd, dt = simulated
    equities = equities_of(cube, nd.equity, dt.equity)
    noise = critical_value(CONFIDENCE, nd.blocks.freedom, 2)  # two questions: to double, and how to answer
    best, second, *_ = _answers(equities)
    return DeepCubeDecision(
        **plain,
        doubling=_asked(best.equity - nd.equity, [(best.of_taken, dt.blocks), (-1.0, nd.blocks)], noise),
        answering=_asked(second.equity - best.equity, [(second.of_taken - best.of_taken, dt.blocks)], noise),
    )


@dataclass(frozen=True, slots=True)
class _Answer:
    equity: float
    of_taken: float
    """How it moves with the value of double/take."""


def _answers(equities: CubeEquities) -> list[_Answer]:
    """The opponent's answers to a double, his best first; of equal ones in the order of the verdict."""
    taken, passed, beavered = equities.taken or 0.0, equities.passed or 0.0, equities.beavered
    found = [_Answer(taken, 1.0), _Answer(passed, 0.0)]
    if beavered is not None:
        # Beavered, the cube is worth twice as much, or the doubler gives up at a fixed price.
        found.append(_Answer(beavered, 2.0 if beavered == 2.0 * taken else 0.0))
    return sorted(found, key=lambda one: one.equity)


def _asked(gap: float, parts: list[tuple[float, BlockMeans]], noise: float) -> DeepCubeQuestion:
    margin = noise * BlockMeans.combination(parts).se
    return DeepCubeQuestion(gap=gap, margin=margin, playable=abs(gap) < margin)


@dataclass(frozen=True, slots=True)
class Standing:
    """How a candidate stands while the simulation is under way."""

    asked: DeepCandidateQuestion
    equity: float
    """The mean of search and simulation; by the search alone before there are trials."""
    difference: Estimate
    """To the best; the error is that of the simulated difference, by the trials."""
    trials: int


def standings(question: DeepQuestion, tallies: tuple[Tally | None, Tally | None]) -> list[Standing]:
    """The candidates best first, by the trials that are there; of each half a tally of all its candidates."""
    parts = [(half, tally) for half, tally in enumerate(tallies) if tally is not None and tally.trials > 0]
    trials = sum(tally.trials for _, tally in parts)

    def simulated(asked: DeepCandidateQuestion) -> float:
        return sum(tally.trials * tally.equity(asked.numbers[half]).mean for half, tally in parts) / trials

    values = {
        asked: (asked.search_equity + simulated(asked)) / 2.0 if trials else asked.search_equity
        for asked in question.candidates
    }
    best = max(values, key=values.__getitem__)

    def error(asked: DeepCandidateQuestion) -> float:
        errors = (
            (tally.trials * tally.difference(asked.numbers[half], best.numbers[half]).se) ** 2 for half, tally in parts
        )
        return sum(errors) ** 0.5 / trials if trials else float("inf")

    found = [
        Standing(asked, value, Estimate(value - values[best], 0.0 if asked is best else error(asked)), trials)
        for asked, value in values.items()
    ]
    return found if question.position.dice is None else sorted(found, key=lambda one: -one.equity)
