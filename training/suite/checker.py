"""Checker play on recorded decisions: equity lost, in all and by type of position."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from engine.analysis.position_type import PositionType, types_of
from engine.board import PLACES
from engine.evaluator import Evaluator
from training.benchmark import CheckerDecision, Choice, choice_of
from training.estimate import estimate_mean
from training.suite.contestant import Contestant, named
from training.suite.figures import Advance, Figure, FigureName, Measure, Part, Unit

CONTACT = "contact"
"""Every type of position but races and bear-offs."""


def checker_figures(
    source: str,
    decisions: Sequence[CheckerDecision],
    contestant: Contestant,
    levels: Sequence[int],
    advance: Advance,
) -> Iterator[Figure]:
    """What the choices lose at each level: over all decisions, in contact, and in each type of position that occurs."""
    types = types_of(np.array([decision.board for decision in decisions], dtype=np.int8).reshape(-1, PLACES))

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
        for group, chosen in by_type(losses, types):
            yield name.of(Measure.LOSS, Unit.MEQ, estimate_mean(chosen).scaled(1000), group)


def by_type(values: Sequence[float], types: Sequence[PositionType]) -> Iterator[tuple[str, list[float]]]:
    """Values by type of position, as (name, values): each type that occurs, in their order.

    Before them contact as a whole, where there are races too.
    """
    contact = [value for value, one in zip(values, types, strict=True) if one.has_contact]
    if 0 < len(contact) < len(values):
        yield CONTACT, contact
    for wanted in PositionType:
        chosen = [value for value, one in zip(values, types, strict=True) if one is wanted]
        if chosen:
            yield wanted.value, chosen
