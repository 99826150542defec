"""Answers that need no farm: evaluating and converting one position."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cluster.cube_answers import CubeCaseName, cases_of, offer_report, position_report, resignation_report, with_cube
from cluster.evaluation_schemas import BearoffSide, CubeCase, CubeReport, EvaluationReport, PlayValue
from cluster.schemas import ConversionReport, Probabilities, probabilities_of
from engine.bearoff import Bearoff
from engine.board import Board, borne_off, flip
from engine.cube import cube_in_play
from engine.cubeful import CubefulEvaluator
from engine.efficiency import load_efficiency
from engine.errors import InputError
from engine.evaluator import Evaluator, Nets, Valuation, valuation
from engine.gnuid import format_gnu_id
from engine.ids import parse_position
from engine.kernels.network import ONE
from engine.met import load_met, usual_met
from engine.notation import format_play
from engine.position import Offer, Position
from engine.rules import rule_set
from engine.search import MoveFilter, check_level, rank_plays
from engine.xgid import format_xgid


@dataclass(frozen=True, slots=True)
class EvaluationOptions:
    """How a position is evaluated."""

    level: int = 1
    rules: str = "international"
    cubeless: bool = False
    """Leave out the cube and the score."""
    met: str | None = None
    """Match equity table; None: the usual one of the match."""
    efficiency: str | None = None
    """Of the cube; None: the default."""
    cube: CubeCaseName | None = None
    """Which state of the cube instead of the position's."""


def evaluate_position(
    text: str, options: EvaluationOptions, nets: Nets, move_filter: MoveFilter, open_databases: Callable[[], Bearoff]
) -> tuple[Position, EvaluationReport]:
    """Value of a position before the roll or, with dice, of all its plays; the right answer to an offer that stands.

    `open_databases` is called once the question makes sense: it may have to build them.

    Raises:
        InputError: malformed position, unknown level, rule set, table or efficiency, or a standing offer that is to be
            looked at without the cube or in another state of it.
    """
    check_level(options.level)
    position = with_cube(parse_position(text).under(rule_set(options.rules)), options.cube)
    looks_at_cube = not options.cubeless and (not position.match.is_money or cube_in_play(position.match))
    if position.offer is not Offer.NONE and (options.cubeless or options.cube is not None):
        raise InputError("position", text, "a position without a standing cube offer for these options")
    met = None if position.match.is_money or not looks_at_cube else load_met(options.met or usual_met(position.match))
    efficiency = load_efficiency(options.efficiency) if options.efficiency else None
    databases = open_databases()
    evaluator = Evaluator(nets, databases.arrays)
    if looks_at_cube:
        question = _Question(options, move_filter, CubefulEvaluator(evaluator, met, efficiency))
        found = question.answer(position)
    else:
        found = _cubeless(position, evaluator, options.level, move_filter)
    return position, EvaluationReport(
        xgid=format_xgid(position),
        gnu_id=format_gnu_id(position),
        rules=position.match.rules.name,
        net=nets.digest,
        level=options.level,
        cubeful=looks_at_cube,
        met=met.name if met else None,
        **found,
        bearoff=(_bearoff_side(position.board, databases), _bearoff_side(flip(position.board), databases)),
    )
