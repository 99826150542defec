"""Trials with the cube on one thread: what the kernel needs, made from settings and candidate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.board import flip
from engine.cube import CubeBranch, CubePlay, CubeQuestion
from engine.cubeful import make_cube_space
from engine.errors import InternalError
from engine.evaluator import Evaluator
from engine.kernels.cube import NONE
from engine.kernels.cube_rollout import CubeStart, roll_cube_trials
from engine.kernels.network import ONE
from engine.kernels.rollout import FirstMoves, TrialRules

if TYPE_CHECKING:
    from engine.rollout import Candidate, RolloutSettings, TrialRows

WINDOW = 0.25
"""Equity by which a double may look worse than rolling, by the position alone, and still be looked at at 2-ply."""


class CubeRoller:
    """Plays trials with the cube; a part of `engine.rollout.Roller`."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator
        self._questions: dict[str, CubeQuestion] = {}
        self._spaces = (make_cube_space(), make_cube_space())

    def trials(
        self,
        candidate: Candidate,
        settings: RolloutSettings,
        how: TrialRules,
        first: int,
        moves: FirstMoves,
        rows: TrialRows,
    ) -> None:
        """Fill rows int32[N, CUBE_ROW] with trials `first ...`.

        Args:
            how: its margin in 1/2**20 of equity. moves: this candidate's.
        """
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
            moves,
            rows,
        )

    def _question(self, cube: CubePlay) -> CubeQuestion:
        if cube.digest not in self._questions:
            self._questions = {cube.digest: cube.question()}
        return self._questions[cube.digest]


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
