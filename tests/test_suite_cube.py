"""Cube decisions of recorded games: reading them, and what verdicts lose."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from suite_files import HOLDING, NETS, RACE, contestant, cube_decision, decision, ranked, silent, write_lines

from engine.bearoff import Bearoff
from engine.board import START, make_board
from engine.cubeful import CubefulEvaluator
from engine.decision import equities_of
from engine.efficiency import load_efficiency
from engine.errors import InputError
from engine.evaluator import Evaluator
from engine.match import CubeOwner, MatchState
from engine.met import load_met
from engine.position import Offer, Player, Position
from training.benchmark import choice_with_cube, read_decisions
from training.suite.cube import (
    CHECKER_PLAY,
    CubeDecision,
    DecisionKind,
    WithCube,
    cube_figures,
    play_figures,
    read_cube_decisions,
    verdict_on,
)
from training.suite.figures import Measure

WITH_CUBE = WithCube(load_met(), load_efficiency())
SCORE = MatchState(length=7, score=(2, 4), cube_value=2, cube_owner=CubeOwner.MOVER)
FOUR_ACES = make_board([0, 4] + [0] * 22 + [-4, 0])


def test_records_are_read_with_score_cube_and_who_decides(tmp_path: Path) -> None:
    rolling = Position(HOLDING, SCORE, (3, 1), Player.O)
    answering = Position(RACE, replace(SCORE, cube_owner=CubeOwner.OPPONENT), None, Player.X, Offer.DOUBLE)
    records = [
        decision(START, (3, 1), [("8/5 6/5", 0.1)]),
        cube_decision(rolling, 0.25, 0.5),
        cube_decision(answering, -0.5, -0.75),
    ]
    path = write_lines(tmp_path / "cubes.jsonl", records)
    first, second = read_cube_decisions(path)
    assert (first.kind, first.no_double, first.taken, first.passed) == (DecisionKind.DOUBLE, 0.25, 0.5, 1.0)
    assert first.position == Position(HOLDING, SCORE, None, Player.O)  # dice were thrown after the decision
    assert (second.kind, second.position, second.passed) == (DecisionKind.TAKE, answering, -1.0)
    assert len(read_cube_decisions(path, limit=1)) == 1


@pytest.mark.parametrize("spoil", [{"kind": "take"}, {"kind": "roll"}, {"nd": None}])
def test_a_malformed_record_names_its_line(tmp_path: Path, spoil: dict[str, object]) -> None:
    record = cube_decision(Position(START), 0.1, 0.2)
    record["cube"] = {**record["cube"], **spoil}  # type: ignore[dict-item]
    with pytest.raises(InputError, match="line 2"):
        read_cube_decisions(write_lines(tmp_path / "bad.jsonl", [cube_decision(Position(START), 0.1, 0.2), record]))


@pytest.mark.parametrize(
    ("kind", "equities", "acts", "loss"),
    [
        (DecisionKind.DOUBLE, (0.5, 0.7, 1.0), True, 0.0),
        (DecisionKind.DOUBLE, (0.5, 0.7, 1.0), False, 0.2),
        (DecisionKind.DOUBLE, (0.5, 1.7, 1.0), False, 0.5),
        (DecisionKind.DOUBLE, (0.5, 0.1, 1.0), True, 0.4),
        (DecisionKind.DOUBLE, (1.3, 1.7, 1.0), True, 0.3),
        (DecisionKind.TAKE, (-0.5, -0.8, -1.0), True, 0.0),
        (DecisionKind.TAKE, (-0.5, -0.8, -1.0), False, 0.2),
        (DecisionKind.TAKE, (-0.5, -1.4, -1.0), True, 0.4),
    ],
)
def test_a_wrong_verdict_loses_the_difference_to_the_best(
    kind: DecisionKind, equities: tuple[float, float, float], acts: bool, loss: float
) -> None:
    assert CubeDecision(kind, Position(START), *equities).loss(acts) == pytest.approx(loss)


def test_verdicts_are_those_of_the_exact_equities(databases: Bearoff) -> None:
    evaluator = CubefulEvaluator(Evaluator(NETS, databases.arrays), load_met())
    doubling = CubeDecision(DecisionKind.DOUBLE, Position(FOUR_ACES), 0.0, 0.0, 1.0)
    acts, rolling, taken = verdict_on(evaluator, doubling, 1)
    assert (acts, rolling, taken) == (True, pytest.approx(0.7222, abs=1e-4), pytest.approx(1.4444, abs=1e-4))
    turned = make_board([-int(count) for count in FOUR_ACES[::-1]])
    taking = CubeDecision(DecisionKind.TAKE, Position(turned, offer=Offer.DOUBLE), 0.0, 0.0, -1.0)
    assert verdict_on(evaluator, taking, 1)[0] is False
    no_cube = replace(doubling, position=Position(FOUR_ACES, MatchState(cube_value=2, cube_owner=CubeOwner.OPPONENT)))
    assert verdict_on(evaluator, no_cube, 1)[0] is False


def test_figures_add_up_what_the_verdicts_lose(databases: Bearoff) -> None:
    evaluator = CubefulEvaluator(Evaluator(NETS, databases.arrays), load_met())
    found = equities_of(evaluator.before_roll(HOLDING, SCORE, 1))
    assert found.taken is not None
    doubles = min(found.taken, 1.0) > found.no_double
    # In the first record the reference agrees; in the second it is as sure of the opposite.
    sure = 0.3 if doubles else -0.3
    right = CubeDecision(DecisionKind.DOUBLE, Position(HOLDING, SCORE), found.no_double, found.no_double + sure, 9.0)
    wrong = replace(right, taken=found.no_double - sure)
    figures = list(cube_figures("test", [right, wrong], contestant(databases), WITH_CUBE, [1], silent))
    values = {(f.measure, f.group): f.value for f in figures}
    assert values[Measure.LOSS, None] == pytest.approx(150.0)
    assert values[Measure.LOSS, "double"] == pytest.approx(150.0)
    assert (Measure.LOSS, "take") not in values
    assert values[Measure.FIRST_CHOICE, None] == values[Measure.CLEARLY_WRONG, None] == 50.0
    assert values[Measure.LARGEST, None] == pytest.approx(0.3)
    assert values[Measure.MEAN_ABSOLUTE, "no double"] == 0.0


def test_checker_plays_are_chosen_with_an_eye_to_score_and_cube(databases: Bearoff, tmp_path: Path) -> None:
    texts = ranked(START, (3, 1))
    path = write_lines(tmp_path / "plays.jsonl", [decision(START, (3, 1), [(t, -i / 10) for i, t in enumerate(texts)])])
    (one,) = read_decisions(path)
    evaluator = CubefulEvaluator(Evaluator(NETS, databases.arrays), load_met())
    best = evaluator.rank_plays(START, (3, 1), one.match)[0].after
    assert choice_with_cube(evaluator, one).after == best.tobytes()
    (figure,) = play_figures("test", [one], contestant(databases), WITH_CUBE, [1], silent)
    assert (figure.measure, figure.group) == (Measure.LOSS, CHECKER_PLAY)
    assert figure.value == pytest.approx(1000 * choice_with_cube(evaluator, one).loss)
