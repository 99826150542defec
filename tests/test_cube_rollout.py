"""Trials with the cube: they equal plain Python, their luck is fair, and what is certain needs no dice."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from nets import random_net
from oracles import cube_rollout as oracle
from oracles.cube import Cube
from oracles.rollout import ONE
from test_cube import (
    LAST_FEW,
    MATCH,
    MET,
    MONEY,
    OWN,
    SESSION,
    SHOTS,
    STATES,
    constant,
    cube_of,
    searcher,
)

from engine.bearoff import Bearoff
from engine.board import Board, flip
from engine.cube import CubeBranch, CubePlay
from engine.cube_roller import WINDOW
from engine.cubeful import CubefulEvaluator
from engine.evaluator import Evaluator, Nets
from engine.kernels.cube import POINT
from engine.match import CubeOwner, MatchState
from engine.rollout import CUBE_ROW, LEVEL_2_MARGIN, LEVEL_2_PLAYS, Candidate, Roller, RolloutSettings
from engine.rules import INTERNATIONAL
from engine.tally import Tally

NETS = Nets(random_net(4))
ROLLER = Roller(NETS)
EFFICIENCY = 0.68


def settings_of(match: MatchState, **changes: object) -> RolloutSettings:
    cube = CubePlay.of(match, MET, constant(EFFICIENCY))
    return RolloutSettings(INTERNATIONAL, **({"seed": 3, "bearoff": False, "cube": cube} | changes))  # type: ignore[arg-type]


def plain_rows(candidate: Candidate, match: MatchState, settings: RolloutSettings, numbers: range) -> list[list[float]]:
    """The oracle's rows."""
    assert settings.cube is not None
    question = settings.cube.question()
    cube, first = cube_of(match), 0 if candidate.mover_rolls else 1
    if candidate.branch is CubeBranch.DOUBLE_TAKE:
        cube = Cube(1 - first, cube.turns + 1)
    start = oracle.Start(
        tuple(int(count) for count in flip(candidate.board)), first, cube, candidate.branch is CubeBranch.OPEN
    )
    how = oracle.How(
        settings.seed,
        settings.truncate,
        settings.level,
        LEVEL_2_PLAYS,
        Fraction(question.value(LEVEL_2_MARGIN) / POINT),
        Fraction(question.value(WINDOW) / POINT),
        question.game.unlimited,
    )
    low, high = (Fraction(end) for end in question.single)
    unit = (high - low) / 2
    rows = []
    for number in numbers:
        found = oracle.trial(start, how, number, searcher(match))
        value = (found.value - low) / unit - 1
        rows.append([float(x) for x in (*found.outcome, value * ONE, *found.luck[:5], found.luck[5] / unit * ONE)])
    return rows


@pytest.mark.parametrize("match", STATES.values(), ids=STATES.keys())
def test_trials_to_the_end_equal_the_oracle(match: MatchState) -> None:
    settings = settings_of(match)
    for candidate in (Candidate.after_play(flip(LAST_FEW)), Candidate.before_roll(LAST_FEW)):
        rows = ROLLER.trials(candidate, settings, 40, 3)
        assert rows.shape == (3, CUBE_ROW)
        assert np.abs(rows - plain_rows(candidate, match, settings, range(40, 43))).max() <= 2


@pytest.mark.parametrize("level", [1, 2])
@pytest.mark.parametrize("match", [SESSION, MATCH], ids=["money", "match"])
def test_truncated_trials_with_shots_equal_the_oracle(match: MatchState, level: int) -> None:
    settings = settings_of(match, truncate=2 if level == 1 else 1, level=level)
    candidate = Candidate.before_roll(SHOTS, CubeBranch.DOUBLE_TAKE)
    rows = ROLLER.trials(candidate, settings, 7, 2)
    plain = np.array(plain_rows(candidate, match, settings, range(7, 9)))
    if level == 2:  # the oracle says the outcomes of one look only
        rows, plain = rows[:, 5:], plain[:, 5:]
    assert np.abs(rows - plain).max() <= 2


@pytest.mark.parametrize("match", [MONEY, SESSION, MATCH], ids=["money", "jacoby and beavers", "match"])
@pytest.mark.parametrize("branch", list(CubeBranch))
def test_the_luck_of_the_first_roll_is_fair(match: MatchState, branch: CubeBranch) -> None:
    settings = settings_of(match, truncate=1)
    rows = ROLLER.trials(Candidate.before_roll(SHOTS, branch), settings, 0, 36)
    # Thirty-six trials have each first roll once, so nothing is left but rounding.
    assert np.abs(rows[:, 6:].sum(axis=0, dtype=np.int64)).max() <= 18


def test_a_trial_depends_on_nothing_but_its_number() -> None:
    settings = settings_of(SESSION, seed=9)
    candidate = Candidate.after_play(SHOTS)
    whole = Roller(NETS).trials(candidate, settings, 0, 12)
    pieces = Roller(NETS)
    for first in (7, 0, 3):
        count = {0: 3, 3: 4, 7: 5}[first]
        assert np.array_equal(pieces.trials(candidate, settings, first, count), whole[first : first + count])


def test_a_pass_at_once_needs_no_dice() -> None:
    # The opponent, who rolls first, has one checker left and wins at once a single game: his double is passed.
    candidate = Candidate.after_play(LAST_FEW)
    board: Board = candidate.board.copy()
    board[:] = 0
    board[1], board[19], board[20] = 1, -13, -1
    settings = settings_of(MONEY)
    rows = ROLLER.trials(Candidate(board, mover_rolls=False), settings, 0, 5)
    assert (rows[:, 5] == -ONE).all()
    assert not rows[:, 6:].any()


@pytest.mark.parametrize(("owner", "value"), [(CubeOwner.CENTRED, 1), (CubeOwner.MOVER, 2), (CubeOwner.OPPONENT, 2)])
def test_short_bear_offs_are_exact_in_every_branch(databases: Bearoff, owner: CubeOwner, value: int) -> None:
    match = MatchState(cube_value=value, cube_owner=owner)
    cube = CubePlay.of(match, None, constant(EFFICIENCY))
    settings = RolloutSettings(INTERNATIONAL, cube=cube)
    exact = CubefulEvaluator(Evaluator(NETS, databases.arrays)).before_roll(LAST_FEW, match)
    roller = Roller(NETS, databases.arrays)
    wanted = {CubeBranch.NO_DOUBLE: exact.no_double, CubeBranch.OPEN: exact.best}
    if exact.can_double:
        wanted[CubeBranch.DOUBLE_TAKE] = exact.taken
    for branch, number in wanted.items():
        tally = Tally.of([roller.trials(Candidate.before_roll(LAST_FEW, branch), settings, 0, 4)], INTERNATIONAL)
        assert tally.equity(0).mean == pytest.approx(number / POINT, abs=1e-6)
        assert tally.equity(0).se == 0


def test_the_cube_of_a_question_is_what_its_trials_can_see() -> None:
    def digest(match: MatchState, x: float = EFFICIENCY) -> str:
        return CubePlay.of(match, MET, constant(x)).digest

    assert digest(MONEY) == digest(MatchState(score=(3, 5))), "a running score means nothing"
    assert digest(OWN) == digest(MatchState(cube_value=4, cube_owner=CubeOwner.MOVER)), "all money cubes are alike"
    different = [digest(match) for match in STATES.values()]
    assert len(set(different)) == len(different)
    assert digest(MONEY) != digest(MONEY, 0.5)
