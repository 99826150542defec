"""Answers that need no farm: evaluating and converting one position."""

from __future__ import annotations

from cluster.schemas import ConversionReport, EvaluationReport, PlayValue, probabilities_of
from engine.board import borne_off
from engine.errors import InputError
from engine.evaluator import Evaluator, Nets
from engine.gnuid import format_gnu_id
from engine.notation import format_play
from engine.position import Offer, Position, parse_position
from engine.rules import rule_set
from engine.search import check_level, rank_plays
from engine.xgid import format_xgid


def evaluate_position(text: str, level: int, rules_name: str, nets: Nets) -> tuple[Position, EvaluationReport]:
    """Value of a position before the roll or, with dice, of all its plays.

    Raises:
        InputError: malformed position, unknown level or rule set.
    """
    position = parse_position(text)
    if position.offer is not Offer.NONE:
        raise InputError("position", text, "a position without a standing cube offer")
    check_level(level)
    rules = rule_set(rules_name)
    evaluator = Evaluator(nets)
    plays: list[PlayValue] = []
    if position.dice is None:
        value = evaluator.before_roll(position.board, rules, level)
    else:
        ranked = rank_plays(evaluator, position.board, position.dice, rules, level)
        value = ranked[0].value
        plays = [
            PlayValue(
                play=format_play(position.board, r.after, position.dice, rules),
                equity=r.value.equity,
                difference=r.value.equity - value.equity,
                probabilities=probabilities_of(r.value),
                level=r.level,
            )
            for r in ranked
        ]
    return position, EvaluationReport(
        xgid=format_xgid(position),
        gnu_id=format_gnu_id(position),
        rules=rules.name,
        net=nets.digest,
        level=level,
        equity=value.equity,
        probabilities=probabilities_of(value),
        plays=tuple(plays),
    )


def convert_position(text: str) -> tuple[Position, ConversionReport]:
    """A position in all notations.

    Raises:
        InputError: malformed position.
    """
    position = parse_position(text)
    position_id, match_id = format_gnu_id(position).split(":")
    return position, ConversionReport(
        xgid=format_xgid(position),
        gnu_position_id=position_id,
        gnu_match_id=match_id,
        pips=position.pips,
        borne_off=borne_off(position.board),
        on_roll=position.on_roll.name,
        board=tuple(int(count) for count in position.board),
    )
