"""Pictures of decisions: the board before it, with the best play as arrows."""

from __future__ import annotations

from functools import cache

from cluster.archive.results import DecisionKind, DecisionResult
from engine.board_drawing import Arrow, play_arrows
from engine.board_svg import board_svg
from engine.errors import InputError
from engine.notation import parse_play
from engine.position import Position
from engine.rules import RuleSet, rule_set
from engine.xgid import parse_xgid

_rules = cache(rule_set)


def decision_board(decision: DecisionResult, rules: str, with_best: bool = True, style: bool = False) -> str:
    """The position of a decision as one `<svg>`; `rules`: the name of the rule set."""
    position = parse_xgid(decision.xgid).under(_rules(rules))
    return board_svg(position, _arrows(decision, position, position.match.rules) if with_best else (), style=style)


def _arrows(decision: DecisionResult, position: Position, rules: RuleSet) -> tuple[Arrow, ...]:
    if decision.kind is not DecisionKind.PLAY or position.dice is None:
        return ()
    try:
        after = parse_play(decision.best, position.board, position.dice, rules)
        return play_arrows(position, after)
    except InputError:
        return ()  # notation that XGIDs can't carry, such as a rule that the position doesn't say
