"""Checker play on recorded decisions: equity lost, in all and by kind of game."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from engine.evaluator import Evaluator
from engine.game_plan import GamePlan, game_plan
from training.benchmark import CheckerDecision, Choice, choice_of
from training.estimate import estimate_mean
from training.suite.contestant import Contestant, named
from training.suite.figures import Advance, Figure, FigureName, Measure, Part, Unit

CONTACT = "contact"
"""Every kind of game but a race."""


def checker_figures(
    source: str,
    decisions: Sequence[CheckerDecision],
    contestant: Contestant,
    levels: Sequence[int],
    advance: Advance,
) -> Iterator[Figure]:
    """What the choices lose at each level: over all decisions, in contact, and in each kind of game that occurs."""
    plans = [game_plan(np.array(decision.board, dtype=np.int8)) for decision in decisions]

    for level in levels:

        def choose(evaluator: Evaluator, index: int, level: int = level) -> Choice:
            return choice_of(evaluator, decisions[index], level, contestant.move_filter)

        choices = contestant.over(range(len(decisions)), choose, named(advance, f"{source}, {level}-ply"))
        name = FigureName(Part.CHECKER, source, level)
        losses = [choice.loss for choice in choices]
        yield name.of(Measure.LOSS, Unit.MEQ, estimate_mean(losses).scaled(1000))
        for measure, hits in (
            (Measure.FIRST_CHOICE, [choice.first for choice in choices]),
            (Measure.UNLISTED, [not choice.listed for choice in choices]),
        ):
            yield name.of(measure, Unit.PERCENT, estimate_mean(hits).scaled(100))
        for group, chosen in by_plan(losses, plans):
            yield name.of(Measure.LOSS, Unit.MEQ, estimate_mean(chosen).scaled(1000), group)


def by_plan(values: Sequence[float], plans: Sequence[GamePlan]) -> Iterator[tuple[str, list[float]]]:
    """Values by kind of game, as (name, values): each kind that occurs, in their order.

    Before them contact as a whole, where there are races too.
    """
    contact = [value for value, plan in zip(values, plans, strict=True) if plan is not GamePlan.RACE]
    if 0 < len(contact) < len(values):
        yield CONTACT, contact
    for wanted in GamePlan:
        chosen = [value for value, plan in zip(values, plans, strict=True) if plan is wanted]
        if chosen:
            yield wanted.value, chosen
