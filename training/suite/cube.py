"""Cube decisions of recorded games: equity lost by doubling, not doubling, taking and passing.

A record has GNU Backgammon's equities of no double, double/take and double/pass, in units of the cube and in the view
of the player whose decision it is. Of kind "double", that is the player on roll: he loses what the better of rolling
and doubling (the opponent answering best) is worth more than what he chose. Of kind "take", it is the player who was
doubled: a wrong answer loses the difference between the two. The evaluator looks at the score and the cube.
"""

from __future__ import annotations

import enum
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.cubeful import CubefulEvaluator
from engine.decision import CubeAction, answer_offer, equities_of
from engine.efficiency import CubeEfficiency
from engine.evaluator import Evaluator
from engine.ids import parse_position
from engine.met import MatchEquityTable
from engine.position import Offer, Position
from training.benchmark import CheckerDecision, Choice, choice_with_cube
from training.estimate import estimate_mean
from training.suite.contestant import Contestant, named
from training.suite.figures import Advance, Figure, FigureName, Measure, Part, Unit
from training.suite.files import read_objects

CLEAR = 0.1
"""Equity: a verdict that loses more is wrong where the reference is sure."""
_ROUNDING = 1e-9
CHECKER_PLAY = "checker play"


class DecisionKind(enum.Enum):
    """Who decides."""

    DOUBLE = "double"
    TAKE = "take"


@dataclass(frozen=True, slots=True, eq=False)
class CubeDecision:
    """A recorded cube decision, with the reference's equities in the view of the player who decides."""

    kind: DecisionKind
    position: Position
    no_double: float
    taken: float
    passed: float

    def loss(self, acts: bool) -> float:
        """What it costs to double (or not), or to take (or not)."""
        if self.kind is DecisionKind.TAKE:
            right = self.taken > self.passed
            return 0.0 if acts == right else abs(self.taken - self.passed)
        double = min(self.taken, self.passed)
        return max(self.no_double, double) - (double if acts else self.no_double)


def read_cube_decisions(path: Path, limit: int | None = None) -> list[CubeDecision]:
    """The first `limit` cube decisions of a file: JSON lines with `pos` and `match` (GNU IDs) and `cube` (`kind`, `nd`,
    `dt`, `dp`); records without `cube` are passed over.

    Raises:
        InputError: an unreadable file, or a malformed record; names the line.
    """

    def read(record: dict[str, Any]) -> CubeDecision | None:
        cube = record.get("cube")
        if cube is None:
            return None
        kind = DecisionKind(cube["kind"])
        position = parse_position(f"{record['pos']}:{record['match']}")
        if (position.offer is Offer.DOUBLE) is not (kind is DecisionKind.TAKE):
            raise ValueError("a standing double was expected exactly in decisions to take")
        board_only = position if kind is DecisionKind.TAKE else _before_roll(position)
        return CubeDecision(kind, board_only, float(cube["nd"]), float(cube["dt"]), float(cube["dp"]))

    return read_objects(path, "a cube decision", read, limit)


def _before_roll(position: Position) -> Position:
    """Dice that were thrown later are no part of the decision."""
    return Position(position.board, position.match, None, position.on_roll)


def cube_figures(
    source: str,
    decisions: Sequence[CubeDecision],
    contestant: Contestant,
    with_cube: WithCube,
    levels: Sequence[int],
    advance: Advance,
) -> Iterator[Figure]:
    """What the verdicts lose at each level, over all decisions and by kind; how many are right; how many lose more than
    `CLEAR`; and how far the equities of rolling and of a take are from the reference's.
    """
    for level in levels:

        def judge(evaluator: Evaluator, decision: CubeDecision, level: int = level) -> tuple[bool, float, float]:
            return verdict_on(with_cube(evaluator), decision, level)

        found = contestant.over(decisions, judge, named(advance, f"{source}, cube, {level}-ply"))
        name = FigureName(Part.CUBE, source, level)
        losses = [decision.loss(acts) for decision, (acts, _, _) in zip(decisions, found, strict=True)]
        yield name.of(Measure.LOSS, Unit.MEQ, estimate_mean(losses).scaled(1000))
        for kind in DecisionKind:
            of_kind = [loss for decision, loss in zip(decisions, losses, strict=True) if decision.kind is kind]
            if of_kind:
                yield name.of(Measure.LOSS, Unit.MEQ, estimate_mean(of_kind).scaled(1000), kind.value)
        right = [loss <= _ROUNDING for loss in losses]
        clear = [loss > CLEAR for loss in losses]
        yield name.of(Measure.FIRST_CHOICE, Unit.PERCENT, estimate_mean(right).scaled(100))
        yield name.of(Measure.CLEARLY_WRONG, Unit.PERCENT, estimate_mean(clear).scaled(100))
        yield name.complete(Measure.LARGEST, Unit.POINTS, len(losses), max(losses))
        doubles = [one for one in zip(decisions, found, strict=True) if one[0].kind is DecisionKind.DOUBLE]
        if doubles:
            rolling = [abs(nd - decision.no_double) for decision, (_, nd, _) in doubles]
            taken = [abs(dt - decision.taken) for decision, (_, _, dt) in doubles]
            yield name.of(Measure.MEAN_ABSOLUTE, Unit.POINTS, estimate_mean(rolling), "no double")
            yield name.of(Measure.MEAN_ABSOLUTE, Unit.POINTS, estimate_mean(taken), "double/take")


def play_figures(
    source: str,
    decisions: Sequence[CheckerDecision],
    contestant: Contestant,
    with_cube: WithCube,
    levels: Sequence[int],
    advance: Advance,
) -> Iterator[Figure]:
    """What checker plays lose that are chosen with an eye to the score and the cube, at each level."""
    for level in levels:

        def choose(evaluator: Evaluator, decision: CheckerDecision, level: int = level) -> Choice:
            return choice_with_cube(with_cube(evaluator), decision, level, contestant.move_filter)

        choices = contestant.over(decisions, choose, named(advance, f"{source}, plays with the cube, {level}-ply"))
        name = FigureName(Part.CUBE, source, level)
        yield name.of(Measure.LOSS, Unit.MEQ, estimate_mean([c.loss for c in choices]).scaled(1000), CHECKER_PLAY)


class WithCube:
    """The cubeful evaluator that belongs to a thread's evaluator; it has work space that no two threads may share."""

    def __init__(self, met: MatchEquityTable, efficiency: CubeEfficiency) -> None:
        self._met = met
        self._efficiency = efficiency
        self._own = threading.local()

    def __call__(self, evaluator: Evaluator) -> CubefulEvaluator:
        if getattr(self._own, "base", None) is not evaluator:
            self._own.base, self._own.cubeful = evaluator, CubefulEvaluator(evaluator, self._met, self._efficiency)
        found: CubefulEvaluator = self._own.cubeful
        return found


def verdict_on(evaluator: CubefulEvaluator, decision: CubeDecision, level: int) -> tuple[bool, float, float]:
    """Whether the player who decides should double, or take; then his equities of no double and double/take (of a
    take: of the take and the pass).
    """
    position = decision.position
    if decision.kind is DecisionKind.TAKE:
        answer = answer_offer(evaluator, position, level)
        equities = answer.equities
        return answer.action is not CubeAction.PASS, equities[CubeAction.TAKE], equities[CubeAction.PASS]
    found = equities_of(evaluator.before_roll(position.board, position.match, level))
    if found.taken is None or found.passed is None:
        return False, found.no_double, found.no_double
    double = min(found.taken, found.passed, found.passed if found.beavered is None else found.beavered)
    return double > found.no_double, found.no_double, found.taken
