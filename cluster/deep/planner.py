"""Planning a deep analysis: from a request to a normalised question with two rollouts, the halves of the simulation."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

from cluster import planner
from cluster.deep.schemas import DeepRequest
from cluster.filters import load_filter
from cluster.planner import RolloutQuestion, content_key
from cluster.schemas import RolloutRequest
from engine.board import flip
from engine.cube import CubeBranch, CubePlay
from engine.cubeful import CubefulEvaluator
from engine.decision import CubeEquities, equities_of
from engine.evaluator import Evaluator
from engine.kernels.play import MOST_PLAYS
from engine.notation import format_play
from engine.position import Position
from engine.search import FilterStep, MoveFilter, rank_plays

SEARCH_LEVEL = 3
HALVES = 2
BLOCK = 36
"""Trials of the blocks whose dispersion gives the noise: each holds every first roll once."""
CONFIDENCE = 0.95
"""That noise alone makes no wrong mark among the candidates."""
HALVES_CONFIDENCE = 0.99
"""That chance alone makes no alarm about the halves."""
VERSION = 1
"""Raised whenever the same trials and the same search would give another answer."""

EvaluatorFor = Callable[[int | None], Evaluator]
"""An evaluator with the bear-off databases of so many checkers a side; None: without any."""

_EVERY_PLAY = MoveFilter("every play", ((FilterStep(1, MOST_PLAYS, 1000.0),),) * 3)


@dataclass(frozen=True, slots=True)
class DeepCandidateQuestion:
    """One candidate: what the search says of it, and where it stands in the two rollouts."""

    play: str | None
    """Standard notation, or None for the position before the roll."""
    branch: CubeBranch
    search_equity: float
    numbers: tuple[int, int]
    """Its number in each half's question."""


@dataclass(frozen=True)
class DeepQuestion:
    """What is asked, in one normal form: two requests that mean the same have the same `key`."""

    request: DeepRequest
    requests: tuple[RolloutRequest, RolloutRequest]
    halves: tuple[RolloutQuestion, RolloutQuestion]
    """The simulation: two rollouts that differ in nothing but their seeds."""
    candidates: tuple[DeepCandidateQuestion, ...]
    """Best first by the search; in a cube decision no double, then double/take."""
    search_cube: CubeEquities | None
    """What the search says of a cube decision."""
    key: str

    @property
    def position(self) -> Position:
        """With dice for a checker decision."""
        return self.halves[0].position

    @property
    def cube(self) -> CubePlay | None:
        """The cube as it is played with; None without it."""
        return self.halves[0].settings.cube


@dataclass(frozen=True, slots=True)
class _Searched:
    """Candidates as the search ranks them."""

    equities: dict[tuple[bytes, CubeBranch], float]
    """By where their trials start, best first."""
    plays: tuple[str, ...]
    cube: CubeEquities | None = None


def half_seeds(seed: int) -> tuple[int, int]:
    """The seeds of the two rollouts: the first half shares its trials with an ordinary rollout of the same seed, the
    second has a seed that nobody would choose.
    """
    digest = hashlib.blake2b(f"deep analysis, second half of {seed}".encode(), digest_size=8).digest()
    return seed, int.from_bytes(digest, "little") >> 1


def plan(request: DeepRequest, evaluator_for: EvaluatorFor) -> DeepQuestion:
    """Normalise a request; searches, so it takes a moment.

    Args:
        evaluator_for: called again with a number once the question makes sense and needs databases: the first time
            they must be built.

    Raises:
        InputError: a field that cannot be understood, an illegal or repeated play, plays without dice.
    """
    seeds = half_seeds(request.seed)
    move_filter = _EVERY_PLAY if request.plays else load_filter(request.filter)
    first = planner.plan(_half(request, seeds[0], request.plays, 1), evaluator_for(None))
    evaluator = evaluator_for(request.bearoff_checkers if first.settings.uses_bearoff else None)
    searched = _search(request, first, evaluator, move_filter)
    one, two = (_half(request, seed, searched.plays, 1) for seed in seeds)
    halves = planner.plan(one, evaluator), planner.plan(two, evaluator)
    numbers = [{_start(half, i): i for i in range(len(half.candidates))} for half in halves]
    candidates = tuple(
        DeepCandidateQuestion(
            halves[0].candidates[numbers[0][start]].play,
            start[1],
            equity,
            (numbers[0][start], numbers[1][start]),
        )
        for start, equity in searched.equities.items()
    )
    key = content_key(
        {
            "kind": "deep",
            "version": VERSION,
            "halves": [half.key for half in halves],
            "search": [SEARCH_LEVEL, [[c.play, c.branch.value, c.search_equity] for c in candidates]],
            "confidence": [CONFIDENCE, HALVES_CONFIDENCE, BLOCK],
        }
    )
    return DeepQuestion(request, (one, two), halves, candidates, searched.cube, key)


def _half(request: DeepRequest, seed: int, plays: tuple[str, ...], candidates: int) -> RolloutRequest:
    return RolloutRequest(
        position=request.position,
        plays=plays,
        candidates=candidates,
        trials=request.trials // HALVES,
        seed=seed,
        bearoff_checkers=request.bearoff_checkers,
        block=request.block,
        rules=request.rules,
        cube=request.cube,
        met=request.met,
        efficiency=request.efficiency,
    )


def _start(question: RolloutQuestion, number: int) -> tuple[bytes, CubeBranch]:
    start = question.candidates[number].start
    return start.board.tobytes(), start.branch


def _search(
    request: DeepRequest, question: RolloutQuestion, evaluator: Evaluator, move_filter: MoveFilter
) -> _Searched:
    position, cube = question.position, question.settings.cube
    if position.dice is None:
        return _search_before_roll(position, cube, evaluator)
    board, dice, match = position.board, position.dice, position.match
    if cube is None:
        plain = rank_plays(evaluator, board, dice, match.rules, SEARCH_LEVEL, move_filter)
        ranked = [(play.after, play.value.equity, play.level) for play in plain]
    else:
        cubeful = CubefulEvaluator(evaluator, cube.met, cube.efficiency)
        found = cubeful.rank_plays(board, dice, match, SEARCH_LEVEL, move_filter)
        ranked = [(play.after, play.equity, play.level) for play in found]
    if request.plays:
        wanted = {_start(question, i)[0] for i in range(len(question.candidates))}
        chosen = [play for play in ranked if flip(play[0]).tobytes() in wanted]
    else:
        limit = ranked[0][1] - request.margin
        near = [play for play in ranked if play[2] == SEARCH_LEVEL and play[1] >= limit]
        chosen = near[: request.candidates]
    return _Searched(
        {(flip(after).tobytes(), CubeBranch.OPEN): equity for after, equity, _ in chosen},
        tuple(format_play(board, after, dice, match.rules) for after, _, _ in chosen),
    )


def _search_before_roll(position: Position, cube: CubePlay | None, evaluator: Evaluator) -> _Searched:
    start, match = position.board.tobytes(), position.match
    if cube is None:
        value = evaluator.before_roll(position.board, match.rules, SEARCH_LEVEL)
        return _Searched({(start, CubeBranch.NO_DOUBLE): value.equity}, ())
    cubeful = CubefulEvaluator(evaluator, cube.met, cube.efficiency)
    equities = equities_of(cubeful.before_roll(position.board, match, SEARCH_LEVEL))
    found = {(start, CubeBranch.NO_DOUBLE): equities.no_double}
    if equities.taken is not None:
        found[start, CubeBranch.DOUBLE_TAKE] = equities.taken
    return _Searched(found, (), equities)
