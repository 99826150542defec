"""Evaluating with the cube: positions before the roll and plays, at any level, for money and at match scores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine import outcome as outcomes
from engine.board import Board, flip
from engine.cube import MOST_STATES, MOST_TURNS, CubeQuestion, make_question
from engine.efficiency import CubeEfficiency, load_efficiency
from engine.errors import InternalError
from engine.evaluator import Evaluator, Valuation, valuation
from engine.kernels.cube import NONE, CubeSpace, before_roll_value, double_value, efficiency_in, exact_in
from engine.kernels.cube_search import CubeLevel, CubeMemory, cube_values_after, passed_next_turn, value_roll
from engine.kernels.network import ONE
from engine.kernels.play import MOST_PLAYS, ROLLS, Engine, rank_roll
from engine.match import MatchState
from engine.met import MatchEquityTable
from engine.moves import ROLLS as ROLLS_IN_ORDER
from engine.scoring import may_double
from engine.search import MoveFilter, check_level

MEMORY_SLOTS = 1 << 12


@dataclass(frozen=True, slots=True)
class CubeValues:
    """A position before the roll, in the view of the player on roll."""

    question: CubeQuestion
    outcome: NDArray[np.int64]
    """int64[5] in 1/2**20: the five probabilities, the cube staying where it is."""
    rolling: NDArray[np.int64]
    """int64[S] in 1/2**30: what it is worth to roll now, in the first states of the question."""
    may_double: bool = True
    """Whether the rules let the player on roll double now."""

    @property
    def no_double(self) -> int:
        """Of rolling without a double."""
        return int(self.rolling[0])

    @property
    def can_double(self) -> bool:
        """Whether doubling is possible and of any use."""
        return self.may_double and bool(self.question.game.taken[0, 0] != NONE)

    @property
    def taken(self) -> int:
        """Of doubling and rolling on with the opponent's cube."""
        return int(self.rolling[self.question.game.taken[0, 0]]) * self.question.game.scale

    @property
    def accepted(self) -> int:
        """Of doubling if the opponent takes or, where that is better for him, beavers."""
        return int(double_value(self.rolling, self.question.game))

    @property
    def passed(self) -> int:
        """Of a double that is passed."""
        return int(self.question.game.pass_value[0, 0])

    @property
    def best(self) -> int:
        """With the better of doubling and rolling."""
        return int(before_roll_value(self.rolling, self.question.game)) if self.may_double else self.no_double


@dataclass(frozen=True, slots=True)
class CubefulPlay:
    """One legal play in the mover's view, and the level that valued it."""

    after: Board
    equity: float
    """With the cube, in units of the cube (EMG in a match)."""
    mwc: float | None
    """Chance to win the match; None in money play."""
    cubeless: Valuation
    """The five probabilities, and the money equity without a cube that they make."""
    level: int


@dataclass(frozen=True, slots=True, eq=False)
class RolledPlays:
    """Every legal play of a roll at 1-ply with the cube, in the order of generation, in the mover's view."""

    afters: NDArray[np.int8]
    """[P, 26]."""
    outcomes: NDArray[np.int64]
    """[P, 5] in 1/2**20."""
    values: NDArray[np.int64]
    """[P] in 1/2**30, with the cube."""
    cubeless: NDArray[np.int64]
    """[P]: by what wins and losses are worth to the mover, in any unit; decides between equal values."""


@dataclass(slots=True)
class _Candidate:
    after: NDArray[np.int8]
    order: int
    left: int
    """The mover's checkers that are still on the board."""
    outcome: NDArray[np.int64]
    value: int
    """With the cube."""
    cubeless: int
    """By what wins and losses are worth to the mover; decides between equal values."""
    level: int


class CubefulEvaluator:
    """An evaluator with a match equity table and a cube efficiency; don't share one between threads.

    Answers depend on the question alone, not on what was asked before.
    """

    def __init__(
        self, evaluator: Evaluator, met: MatchEquityTable | None = None, efficiency: CubeEfficiency | None = None
    ) -> None:
        self.evaluator = evaluator
        self.met = met
        self.efficiency = efficiency or load_efficiency()
        self._levels = tuple(CubeLevel(space, make_cube_space()) for space in evaluator.workspaces)
        self._memory = CubeMemory(
            boards=np.zeros((MEMORY_SLOTS, 26), dtype=np.int8),
            outcomes=np.zeros((MEMORY_SLOTS, outcomes.OUTCOMES), dtype=np.int64),
            counts=np.zeros(2, dtype=np.int64),
            rolling=np.zeros((MEMORY_SLOTS, MOST_STATES), dtype=np.int64),
        )
        self._remembered: tuple[MatchState, int] | None = None
        self._questions: dict[MatchState, tuple[CubeQuestion, Engine, Engine]] = {}

    def question(self, match: MatchState) -> CubeQuestion:
        """How the cube may be used from a match state on, in the view of the player who is on roll.

        Raises:
            InputError: a match without a table, or one longer than tables go.
        """
        return self._prepared(match)[0]

    def before_roll(self, board: Board, match: MatchState, level: int = 1) -> CubeValues:
        """A position whose mover may double, or rolls; everything in his view.

        Raises:
            InputError: an unknown level, or as `question`.
        """
        outcome, rolling = self.after_position(flip(board), match, level)
        return values_before_roll(self.question(match), board, outcome, rolling)

    def plays(self, board: Board, dice: tuple[int, int], match: MatchState) -> RolledPlays:
        """All legal plays of a roll at 1-ply; `match` in the view of the mover of `board`.

        Raises:
            InputError: as `question`.
        """
        question, _, engine = self._prepared(match.flip())
        top = self._levels[0]
        n = rank_roll(np.array(board), dice[0], dice[1], engine, top.plays)
        s = top.plays.main
        value_roll(n, question.game, engine.bearoff, s, top)
        return RolledPlays(
            s.plays[:n].copy(), s.outcomes[:n].copy(), top.cube.values[:n, 0].copy(), s.equities[:n].copy()
        )

    def best_of_rolls(self, board: Board, match: MatchState) -> NDArray[np.int64]:
        """What the best play of each roll is worth to the mover, the cube staying where it is: int64[21] in 1/2**30, in
        the order of `engine.moves.ROLLS`, at 1-ply.

        The best of the plays that the filter net likes, as inside a search; `match` in the mover's view.

        Raises:
            InputError: as `question`.
        """
        question, engine, other = self._prepared(match)
        after = flip(board)
        if self.is_exact(board, match):  # a search would end at once and look at no reply
            return np.array([self.plays(board, roll, match).values.max() for roll in ROLLS_IN_ORDER], dtype=np.int64)
        outcome = np.zeros(outcomes.OUTCOMES, dtype=np.int64)
        rolling = np.zeros(MOST_STATES, dtype=np.int64)
        _, l4, l3, l2 = self._levels
        cube_values_after(after, 2, engine, other, l4, l3, l2, question.game, self._memory, outcome, rolling)
        starts = l2.plays.main.starts
        return np.asarray(np.maximum.reduceat(l2.cube.values[: starts[ROLLS], 0], starts[:ROLLS]))

    def rank_plays(
        self,
        board: Board,
        dice: tuple[int, int],
        match: MatchState,
        level: int = 1,
        move_filter: MoveFilter | None = None,
    ) -> list[CubefulPlay]:
        """All legal plays, best first by their value with the cube; `move_filter` is needed above level 1.

        Filters and levels as in `engine.search.rank_plays`. Ties go to the better play without the cube, then to
        bearing off more, then to the order of generation.

        Raises:
            InputError: an unknown level, or as `question`.
        """
        check_level(level)
        if level > 1 and move_filter is None:
            raise InternalError("a search needs a move filter")
        own = self.question(match)
        turned = match.flip()
        question, _, engine = self._prepared(turned)
        rolled = self.plays(board, dice, match)
        left = np.maximum(rolled.afters, 0).sum(axis=1).tolist()
        values, cubeless = rolled.values.tolist(), rolled.cubeless.tolist()
        plays = [
            _Candidate(rolled.afters[i], i, left[i], rolled.outcomes[i], values[i], cubeless[i], 1)
            for i in range(len(values))
        ]
        steps = move_filter.for_level(level) if move_filter else ()
        for number, step in enumerate(steps):
            plays = _sorted(plays)
            limit = plays[0].value - round(own.value(step.margin))
            going_on = [p for p in plays[: step.keep] if p.level == step.level and p.value >= limit]
            target = steps[number + 1].level if number + 1 < len(steps) else level
            for play in going_on:
                play.outcome, rolling = self.after_position(play.after, turned, target)
                play.value = -int(before_roll_value(rolling, question.game))
                play.cubeless = int(play.outcome @ engine.utility) - ONE
                play.level = target
        return [self._shown(own, play) for play in _sorted(plays)]

    def after_position(
        self, after: Board, match: MatchState, level: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """An after-position at a level; `match` has the view of the player who is on roll next.

        Returns:
            (outcome int64[5] in 1/2**20, the view of who just moved; what it is worth to the other player to roll now,
            in each state of the question's search, int64[S] in 1/2**30).

        Raises:
            InputError: an unknown level, or as `question`.
        """
        check_level(level)
        if self._remembered != (match, level):
            self._memory.boards[:] = 0
            self._remembered = (match, level)
        question, own, other = self._prepared(match)
        outcome = np.zeros(outcomes.OUTCOMES, dtype=np.int64)
        rolling = np.zeros(MOST_STATES, dtype=np.int64)
        _, l4, l3, l2 = self._levels
        cube_values_after(np.array(after), level, own, other, l4, l3, l2, question.game, self._memory, outcome, rolling)
        return outcome, rolling[: int(question.game.counts[1])]

    def market_losers(self, board: Board, match: MatchState) -> NDArray[np.int64]:
        """After which rolls the market is lost: int64[21] in the order 1-1, 2-1, 2-2, 3-1, ...: of the 36 replies to
        the mover's best play, those after which his double at his next turn is passed; 36 where he wins at once.

        At 1-ply; the mover must be able to double.
        """
        _, engine, other = self._prepared(match)
        question = self.question(match)
        if question.game.taken[0, 0] == NONE:
            raise InternalError("market losers of a player who can't double")
        passes = np.zeros(ROLLS, dtype=np.int64)
        passed_next_turn(flip(board), engine, other, self._levels[2], self._levels[3], question.game, passes)
        return passes

    def efficiency_before_roll(self, board: Board, match: MatchState) -> float:
        """The efficiency of the cube in a position before the roll."""
        return float(efficiency_in(flip(board), self.question(match).game))

    def is_exact(self, board: Board, match: MatchState) -> bool:
        """Whether the values of a position before the roll come from the two-sided bear-off database."""
        question, engine, _ = self._prepared(match)
        rolling = np.zeros(len(question.game.owner), dtype=np.int64)
        return bool(exact_in(flip(board), question.game, engine.bearoff, rolling))

    def scratch(self) -> CubeSpace:
        """Work space for the kernels that value one outcome."""
        return self._levels[0].cube

    def _prepared(self, match: MatchState) -> tuple[CubeQuestion, Engine, Engine]:
        """The question, and how nodes order their plays where side 0 and where side 1 is on roll."""
        if match not in self._questions:
            question = make_question(match, self.met, self.efficiency)
            engine = self.evaluator.engine(match.rules)
            own, other = (engine._replace(utility=utility) for utility in question.utilities)
            self._questions[match] = (question, own, other)
        return self._questions[match]

    def _shown(self, question: CubeQuestion, play: _Candidate) -> CubefulPlay:
        return CubefulPlay(
            after=play.after,
            equity=question.equity(play.value),
            mwc=question.mwc(play.value),
            cubeless=valuation(play.outcome / ONE, question.match.rules),
            level=play.level,
        )


def values_before_roll(
    question: CubeQuestion, board: Board, outcome: NDArray[np.int64], rolling: NDArray[np.int64]
) -> CubeValues:
    """A position before the roll (`board` int8[26], its mover's view) by the values of the after-position that it is to
    the opponent, see `CubefulEvaluator.after_position`.
    """
    win, gammon, backgammon, lose_gammon, lose_backgammon = outcome.tolist()
    own = np.array([ONE - win, lose_gammon, lose_backgammon, gammon, backgammon], dtype=np.int64)
    return CubeValues(question, own, rolling, may_double(question.match, board))


def make_cube_space() -> CubeSpace:
    """Buffers of one level of a search with the cube."""
    return CubeSpace(
        win=np.zeros(MOST_TURNS),
        loss=np.zeros(MOST_TURNS),
        take_point=np.zeros(MOST_TURNS),
        cash_point=np.zeros(MOST_TURNS),
        outcome=np.zeros(outcomes.OUTCOMES, dtype=np.int64),
        rolling=np.zeros(MOST_STATES, dtype=np.int64),
        best=np.zeros(MOST_STATES, dtype=np.int64),
        sum=np.zeros(MOST_STATES, dtype=np.int64),
        values=np.zeros((MOST_PLAYS, MOST_STATES), dtype=np.int64),
    )


def _sorted(plays: list[_Candidate]) -> list[_Candidate]:
    return sorted(plays, key=lambda p: (-p.level, -p.value, -p.cubeless, p.left, p.order))
