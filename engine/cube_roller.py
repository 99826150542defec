"""Trials with the cube on one thread: what the kernel needs, made from settings and candidate."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from engine.board import flip
from engine.cube import CubeBranch, CubePlay, CubeQuestion
from engine.cubeful import make_cube_space
from engine.errors import InternalError
from engine.evaluator import Evaluator
from engine.kernels.cube import NONE
from engine.kernels.cube_rollout import COLUMNS, CubeFirstMoves, CubeStart, roll_cube_trials
from engine.kernels.network import ONE
from engine.kernels.rollout import TrialRules

if TYPE_CHECKING:
    from engine.rollout import Candidate, RolloutSettings, TrialRows

WINDOW = 0.25
"""Equity by which a double may look worse than rolling, by the position alone, and still be looked at at 2-ply."""
_REMEMBERED = 64


class CubeRoller:
    """Plays trials with the cube; a part of `engine.rollout.Roller`."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator
        self._questions: dict[str, CubeQuestion] = {}
        self._spaces = (make_cube_space(), make_cube_space())
        self._first_moves: dict[tuple[bytes, object, RolloutSettings], CubeFirstMoves] = {}

    def trials(
        self, candidate: Candidate, settings: RolloutSettings, how: TrialRules, first: int, rows: TrialRows
    ) -> None:
        """Fill rows int32[N, CUBE_ROW] with trials `first ...`; `how`: its margin in 1/2**20 of equity."""
        cube = settings.cube
        assert cube is not None
        question = self._question(cube)
        w, w2, *_ = self._evaluator.workspaces
        engine = self._evaluator.engine(settings.rules, endings=settings.uses_bearoff)
        own, other = (engine._replace(utility=utility) for utility in question.utilities)
        roll_cube_trials(
            flip(candidate.board),
            candidate.mover_rolls,
            first,
            how._replace(margin=round(question.value(how.margin / ONE))),
            start_of(question, candidate),
            question.game,
            own,
            other,
            w,
            w2,
            *self._spaces,
            self._first_moves_of(candidate, settings),
            rows,
        )

    def _question(self, cube: CubePlay) -> CubeQuestion:
        if cube.digest not in self._questions:
            self._questions = {cube.digest: cube.question()}
        return self._questions[cube.digest]

    def _first_moves_of(self, candidate: Candidate, settings: RolloutSettings) -> CubeFirstMoves:
        key = (
            candidate.board.tobytes(),
            (candidate.mover_rolls, candidate.branch),
            replace(settings, seed=0, truncate=None),
        )
        found = self._first_moves.pop(key, None)
        if found is None:
            found = CubeFirstMoves(
                ready=np.zeros(36, dtype=np.bool_),
                luck36=np.zeros((36, COLUMNS), dtype=np.int64),
                plays=np.zeros((36, 26), dtype=np.int8),
                values=np.zeros((36, COLUMNS), dtype=np.int64),
            )
        self._first_moves[key] = found  # the latest goes to the end
        if len(self._first_moves) > _REMEMBERED:
            del self._first_moves[next(iter(self._first_moves))]
        return found


def start_of(question: CubeQuestion, candidate: Candidate) -> CubeStart:
    """The cube where a candidate's trials start.

    Raises:
        InternalError: a double that isn't possible.
    """
    low, high = question.single
    state, scale = 0, 1
    if candidate.branch is CubeBranch.DOUBLE_TAKE:
        state, scale = int(question.game.taken[0, 0]), question.game.scale
        if state == NONE or not candidate.mover_rolls:
            raise InternalError("a double that can't be")
    return CubeStart(
        state=state,
        scale=scale,
        may_double=candidate.branch is CubeBranch.OPEN,
        window=round(question.value(WINDOW)),
        low=low,
        high=high,
    )
