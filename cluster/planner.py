"""Planning a rollout: pure functions from a request to a normalised question, its content keys, and the missing
tasks.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cluster.schemas import RolloutRequest
from cluster.store import TrialRange
from engine.bearoff import VERSION as BEAROFF_VERSION
from engine.board import CHECKERS
from engine.cube import CubeBranch, CubePlay, cube_matters
from engine.cubeful import CubefulEvaluator
from engine.efficiency import load_efficiency
from engine.errors import InputError
from engine.evaluator import Evaluator
from engine.ids import parse_position
from engine.kernels.cube import NONE
from engine.met import met_for
from engine.notation import format_play, parse_play
from engine.position import Offer, Position
from engine.rollout import RESULT_VERSION, Candidate, RolloutSettings
from engine.rules import RuleSet, rule_set
from engine.scoring import may_double
from engine.search import rank_plays
from engine.stopping import StopRules
from engine.xgid import format_xgid
from workers.tasks import RolloutTask


@dataclass(frozen=True)
class PlannedCandidate:
    """A candidate with its name: standard notation, or None for the position before the roll."""

    play: str | None
    start: Candidate
    series: str
    """Content key of its trials."""


@dataclass(frozen=True)
class RolloutQuestion:
    """What is asked, in one normal form: two requests that mean the same have the same `key`."""

    position: Position
    settings: RolloutSettings
    candidates: tuple[PlannedCandidate, ...]
    stop: StopRules
    block: int
    net: str
    key: str

    @property
    def rules(self) -> RuleSet:
        """The rule set."""
        return self.settings.rules

    @property
    def trials(self) -> int:
        """Most trials a candidate gets."""
        return self.stop.trials


def plan(request: RolloutRequest, evaluator: Evaluator) -> RolloutQuestion:
    """Normalise a request; `evaluator` (with the net that will play) picks the candidates where none are named.

    Raises:
        InputError: a field that cannot be understood, an illegal or repeated play, plays without dice.
    """
    rules = rule_set(request.rules)
    position = parse_position(request.position).under(rules)
    if position.offer is not Offer.NONE:
        raise InputError("position", request.position, "a position without a standing cube offer")
    cube = cube_play(request, position)
    settings = RolloutSettings(
        rules=rules,
        seed=request.seed,
        level=request.level,
        truncate=request.truncate,
        variance_reduction=request.variance_reduction,
        bearoff=request.bearoff,
        bearoff_checkers=request.bearoff_checkers,
        cube=cube,
    )
    net = evaluator.nets.digest
    candidates = tuple(
        PlannedCandidate(play, start, series_key(net, settings, start))
        for play, start in _candidates(request, position, cube, evaluator)
    )
    # One order for one set of candidates, whatever order they were named in.
    candidates = tuple(sorted(candidates, key=lambda c: c.series))
    race = request.race and position.dice is not None  # of a cube decision both branches are wanted
    stop = StopRules(request.trials, request.checkpoint, request.stop_se, request.stop_confidence, race)
    key = content_key(
        {
            "kind": "rollout",
            # Match and cube change no trial, but the answer repeats them.
            "xgid": format_xgid(position),
            "rules": rules.name,
            "stop": _stop_facts(stop),
            "candidates": [[c.play, c.series] for c in candidates],
            **({"met": cube.met.name if cube.met else None} if cube else {}),
        }
    )
    return RolloutQuestion(position, settings, candidates, stop, request.block, net, key)


def _stop_facts(stop: StopRules) -> dict[str, object]:
    """What of the stop rules can change an answer."""
    facts = {name: value for name, value in dataclasses.asdict(stop).items() if value is not None}
    if len(stop.checkpoints) == 1:
        # One look, after all trials: it can still say why the rollout ended, but leaves nobody behind.
        del facts["checkpoint"], facts["race"]
    return facts


def cube_play(request: RolloutRequest, position: Position) -> CubePlay | None:
    """The cube as the trials play with it; None: they are cubeless.

    Raises:
        InputError: unknown table or efficiency, a cube where none is played with, a match longer than tables go.
    """
    match = position.match
    in_play = cube_matters(match)
    wanted = in_play and (position.dice is None or not match.is_money) if request.cube is None else request.cube
    if not wanted:
        return None
    if not in_play:
        raise InputError("cube", True, "a game in which the cube can still be turned")
    return CubePlay.of(match, met_for(match, request.met), load_efficiency(request.efficiency))


def _candidates(
    request: RolloutRequest, position: Position, cube: CubePlay | None, evaluator: Evaluator
) -> list[tuple[str | None, Candidate]]:
    board, dice, match = position.board, position.dice, position.match
    rules = match.rules
    if dice is None:
        if request.plays:
            raise InputError("play", request.plays[0], "no plays, because the position has no dice")
        branches = [CubeBranch.NO_DOUBLE]
        if cube is not None and may_double(match, board) and cube.question().game.taken[0, 0] != NONE:
            branches.append(CubeBranch.DOUBLE_TAKE)
        return [(None, Candidate.before_roll(board, branch)) for branch in branches]
    if request.plays:
        afters = [parse_play(text, board, dice, rules) for text in request.plays]
        seen: dict[bytes, str] = {}
        for text, after in zip(request.plays, afters, strict=True):
            if after.tobytes() in seen:
                raise InputError("play", text, f"each play once ({seen[after.tobytes()]} leads to the same position)")
            seen[after.tobytes()] = text
    elif cube is None:
        afters = [ranked.after for ranked in rank_plays(evaluator, board, dice, rules)[: request.candidates]]
    else:
        cubeful = CubefulEvaluator(evaluator, cube.met, cube.efficiency)
        afters = [ranked.after for ranked in cubeful.rank_plays(board, dice, match)[: request.candidates]]
    return [(format_play(board, after, dice, rules), Candidate.after_play(after)) for after in afters]


def series_key(net: str, settings: RolloutSettings, candidate: Candidate) -> str:
    """Content key of a candidate's trials: everything that any bit of them depends on, and nothing else."""
    return content_key(
        {
            "version": RESULT_VERSION,
            "net": net,
            # Of the rules only what a trial can see: legal plays, and what the results are worth.
            "moves": settings.rules.move_flags,
            "utility": [int(points) for points in settings.rules.utility],
            # Which loser has all his checkers left; said only where that isn't fifteen.
            **({} if settings.rules.start.checkers == CHECKERS else {"checkers": settings.rules.start.checkers}),
            "seed": settings.seed,
            "level": settings.level,
            "truncate": settings.truncate,
            "variance_reduction": settings.variance_reduction,
            "bearoff": [BEAROFF_VERSION, settings.bearoff_checkers] if settings.uses_bearoff else None,
            "board": [int(count) for count in candidate.board],
            "mover_rolls": candidate.mover_rolls,
            **({"cube": [settings.cube.digest, candidate.branch.value]} if settings.cube else {}),
        }
    )


def content_key(content: Mapping[str, object]) -> str:
    """The hash under which an answer or its parts are kept."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def missing_ranges(known: Sequence[TrialRange], within: TrialRange) -> list[TrialRange]:
    """The parts of `within` that no known range covers, in rising order."""
    gaps: list[TrialRange] = []
    at = within.first
    for trials in sorted(known):
        if trials.stop <= at:
            continue
        if trials.first >= within.stop:
            break
        if trials.first > at:
            gaps.append(TrialRange(at, trials.first - at))
        at = trials.stop
    if at < within.stop:
        gaps.append(TrialRange(at, within.stop - at))
    return gaps


def joined(ranges: Sequence[TrialRange]) -> list[TrialRange]:
    """The same trials as rising ranges that neither overlap nor touch."""
    whole: list[TrialRange] = []
    for trials in sorted(ranges):
        if whole and trials.first <= whole[-1].stop:
            first = whole[-1].first
            whole[-1] = TrialRange(first, max(whole[-1].stop, trials.stop) - first)
        else:
            whole.append(trials)
    return whole


def blocks_of(question: RolloutQuestion, within: TrialRange | None = None) -> list[TrialRange]:
    """The question's trials, or those `within` a range, cut at multiples of its block size."""
    return cut(within or TrialRange(0, question.trials), question.block)


def cut(trials: TrialRange, block: int) -> list[TrialRange]:
    """A range cut at multiples of a block size."""
    blocks: list[TrialRange] = []
    first = trials.first
    while first < trials.stop:
        edge = min((first // block + 1) * block, trials.stop)
        blocks.append(TrialRange(first, edge - first))
        first = edge
    return blocks


def missing_tasks(
    question: RolloutQuestion,
    known: Mapping[str, Sequence[TrialRange]],
    block: TrialRange,
    active: Sequence[int] | None = None,
) -> list[RolloutTask]:
    """The tasks that complete a block; candidates with the same gap share a task.

    Args:
        known: ranges already computed, by series.
        active: numbers of the candidates that are wanted; all of them by default.
    """
    wanting: dict[TrialRange, list[PlannedCandidate]] = {}
    for i in range(len(question.candidates)) if active is None else active:
        candidate = question.candidates[i]
        for gap in missing_ranges(known.get(candidate.series, ()), block):
            wanting.setdefault(gap, []).append(candidate)
    return [
        RolloutTask(
            question.settings,
            tuple(c.start for c in candidates),
            tuple(c.series for c in candidates),
            gap.first,
            gap.count,
        )
        for gap, candidates in wanting.items()
    ]
