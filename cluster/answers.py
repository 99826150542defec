"""Answers that need no farm: evaluating and converting one position."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from cluster.cube_answers import Answer, CubeAnswers, CubeCaseName, with_cube
from cluster.evaluation_schemas import BearoffSide, EvaluationReport, PlayValue
from cluster.schemas import ConversionReport, probabilities_of
from engine.bearoff import Bearoff
from engine.board import Board, borne_off, flip
from engine.cube import cube_matters
from engine.cubeful import CubefulEvaluator
from engine.efficiency import DEFAULT_EFFICIENCY, load_efficiency
from engine.errors import InputError
from engine.evaluator import Evaluator, Nets
from engine.gnuid import format_gnu_id
from engine.ids import parse_position
from engine.met import met_for
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
    cube: CubeCaseName | None = None
    """Look at another state of the cube, or at all of them."""
    met: str | None = None
    """Match equity table; None: the usual one for the match."""
    efficiency: str = DEFAULT_EFFICIENCY
    """Of the cube."""


def evaluate_position(
    text: str, options: EvaluationOptions, nets: Nets, move_filter: MoveFilter, open_databases: Callable[[], Bearoff]
) -> tuple[Position, EvaluationReport]:
    """Value of a position before the roll or, with dice, of all its plays; the right answer to an offer that stands.

    `open_databases` is called once the question makes sense: it may have to build them.

    Raises:
        InputError: malformed position, unknown level, rule set, table or efficiency, a match that tables don't reach,
            or a standing offer that is to be looked at without the cube or in another state of it.
    """
    check_level(options.level)
    position = with_cube(parse_position(text).under(rule_set(options.rules)), options.cube)
    match = position.match
    if position.offer is not Offer.NONE and (options.cubeless or options.cube is not None):
        raise InputError("position", text, "a position without a standing cube offer, as the cube is said otherwise")
    if options.cubeless and options.cube is not None:
        raise InputError("cube", options.cube.value, "no state of the cube where it is left out")
    efficiency = load_efficiency(options.efficiency)
    cubeful = not options.cubeless and cube_matters(match)
    met = met_for(match, options.met) if cubeful else None
    databases = open_databases()
    evaluator = Evaluator(nets, databases.arrays)
    if cubeful:
        answers = CubeAnswers(CubefulEvaluator(evaluator, met, efficiency), options.level, move_filter)
        found = answers.answer(position, every_cube=options.cube is CubeCaseName.ALL)
    else:
        found = _cubeless(position, evaluator, options.level, move_filter)
    return position, EvaluationReport(
        xgid=format_xgid(position),
        gnu_id=None if position.offer in (Offer.BEAVER, Offer.RACCOON) else format_gnu_id(position),
        rules=match.rules.name,
        net=nets.digest,
        level=options.level,
        cubeful=cubeful,
        met=met.name if met else None,
        equity=found.equity,
        cubeless_equity=found.cubeless_equity,
        mwc=found.mwc,
        probabilities=found.probabilities,
        plays=found.plays,
        cube=found.cube,
        cases=found.cases,
        resignation=found.resignation,
        bearoff=(_bearoff_side(position.board, databases), _bearoff_side(flip(position.board), databases)),
    )


def _cubeless(position: Position, evaluator: Evaluator, level: int, move_filter: MoveFilter) -> Answer:
    """As in money play without a cube."""
    rules = position.match.rules
    if position.dice is None:
        value = evaluator.before_roll(position.board, rules, level)
        return Answer(value.equity, value.equity, probabilities_of(value))
    ranked = rank_plays(evaluator, position.board, position.dice, rules, level, move_filter)
    value = ranked[0].value
    plays = tuple(
        PlayValue(
            play=format_play(position.board, r.after, position.dice, rules),
            equity=r.value.equity,
            cubeless_equity=r.value.equity,
            difference=r.value.equity - value.equity,
            probabilities=probabilities_of(r.value),
            level=r.level,
        )
        for r in ranked
    )
    return Answer(value.equity, value.equity, probabilities_of(value), plays=plays)


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
