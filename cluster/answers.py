"""Answers that need no farm: evaluating and converting one position."""

from __future__ import annotations

from collections.abc import Callable

from cluster.schemas import BearoffSide, ConversionReport, EvaluationReport, PlayValue, probabilities_of
from engine.bearoff import Bearoff
from engine.board import Board, borne_off, flip
from engine.errors import InputError
from engine.evaluator import Evaluator, Nets
from engine.gnuid import format_gnu_id
from engine.ids import parse_position
from engine.notation import format_play
from engine.position import Offer, Position
from engine.rules import rule_set
from engine.search import MoveFilter, check_level, rank_plays
from engine.xgid import format_xgid


def evaluate_position(
    text: str, level: int, rules_name: str, nets: Nets, move_filter: MoveFilter, open_databases: Callable[[], Bearoff]
) -> tuple[Position, EvaluationReport]:
    """Value of a position before the roll or, with dice, of all its plays.

    `open_databases` is called once the question makes sense: it may have to build them.

    Raises:
        InputError: malformed position, unknown level or rule set.
    """
    position = parse_position(text)
    if position.offer is not Offer.NONE:
        raise InputError("position", text, "a position without a standing cube offer")
    check_level(level)
    rules = rule_set(rules_name)
    databases = open_databases()
    evaluator = Evaluator(nets, databases.arrays)
    plays: list[PlayValue] = []
    if position.dice is None:
        value = evaluator.before_roll(position.board, rules, level)
    else:
        ranked = rank_plays(evaluator, position.board, position.dice, rules, level, move_filter)
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
        bearoff=(_bearoff_side(position.board, databases), _bearoff_side(flip(position.board), databases)),
    )


def _bearoff_side(board: Board, databases: Bearoff) -> BearoffSide | None:
    """The mover of `board`, if all his checkers are home and no opponent stands in the way."""
    home = [int(count) for count in board[1:7]]
    if (board[7:] > 0).any() or min(home) < 0 or board[0] < 0 or sum(home) == 0:
        return None
    return BearoffSide(mean_rolls=databases.mean_rolls(home), epc=databases.epc(home), wastage=databases.wastage(home))


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
