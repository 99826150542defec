"""How a game and a match go on: pure functions from one match state to the next.

    match = MatchState(beaver=True)
    offer = double(match)             # the opponent must answer
    offer = offer.beaver()            # now the doubler
    match = offer.take()              # or: end = offer.drop(); match = end.next_game()

Sources: the rules digest of the project, sections 1.10 to 1.13. Every state is in the view of one player, the mover of
that state; `MatchState.flip` gives the other's.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace

import numpy as np

from engine.board import CHECKERS, Board, borne_off, is_closed_out
from engine.errors import InputError
from engine.match import CubeOwner, MatchState, Side
from engine.position import Offer
from engine.rules import RuleSet


class Win(enum.IntEnum):
    """How a game was won; the value is what it multiplies the cube by where all kinds count."""

    SINGLE = 1
    GAMMON = 2
    BACKGAMMON = 3


@dataclass(frozen=True, slots=True)
class GameEnd:
    """How a game ended."""

    match: MatchState
    """As it was at the end."""
    winner: Side
    """In the view of `match`."""
    points: int
    """Cube included."""

    def next_game(self) -> MatchState | None:
        """Before the next game, in the same view; None when the match is over.

        The cube is centred at 1 again. The Crawford game is the first one that begins when a side has come to need
        one point, once in a match.
        """
        match = self.match
        own, other = match.score
        score = (own + self.points, other) if self.winner is Side.MOVER else (own, other + self.points)
        if match.length and max(score) >= match.length:
            return None
        needs_one = match.length - 1
        first_time = match.crawford_rule and match.length > 0 and needs_one in score and needs_one not in match.score
        return replace(match, score=score, cube_value=1, cube_owner=CubeOwner.CENTRED, crawford=first_time)


@dataclass(frozen=True, slots=True)
class CubeOffer:
    """An offer that waits for an answer. `double` makes the first one; `beaver` and `raccoon` turn it round."""

    match: MatchState
    """In the view of the player who must answer, with the cube as it was before the first double."""
    offer: Offer = Offer.DOUBLE

    def take(self) -> MatchState:
        """Play goes on, in the view of the player who answered.

        A take doubles the cube. After a beaver it stands at four times, after a raccoon at eight times its old value.
        In all three cases the player who was doubled first owns it.
        """
        first_doubled_answers = self.offer is not Offer.BEAVER
        owner = CubeOwner.MOVER if first_doubled_answers else CubeOwner.OPPONENT
        return replace(self.match, cube_value=self.match.cube_value * self.offer.factor, cube_owner=owner)

    def drop(self) -> GameEnd:
        """The player who had to answer loses the value in force: 1, 2 (beaver) or 4 times (raccoon) the old cube."""
        return GameEnd(self.match, Side.OPPONENT, self.match.cube_value * self.offer.factor // 2)

    def beaver(self) -> CubeOffer:
        """The player who was doubled takes, doubles again at once and keeps the cube; the doubler must answer.

        Raises:
            InputError: beavers are not played, this is no double, or the cube would pass its cap.
        """
        if not self.match.beaver or self.offer is not Offer.DOUBLE:
            raise InputError("answer", "beaver", "an answer to a double where beavers are played")
        return self._turned(Offer.BEAVER)

    def raccoon(self) -> CubeOffer:
        """The doubler doubles the beaver; the cube stays with the player who was doubled, who must answer.

        Raises:
            InputError: raccoons are not played, this is no beaver, or the cube would pass its cap.
        """
        if not self.match.raccoon or self.offer is not Offer.BEAVER:
            raise InputError("answer", "raccoon", "an answer to a beaver where raccoons are played")
        return self._turned(Offer.RACCOON)

    def _turned(self, offer: Offer) -> CubeOffer:
        if self.match.cube_value * offer.factor > self.match.cube_cap:
            raise InputError("answer", offer.value, f"a cube that stays within its cap {self.match.cube_cap}")
        return CubeOffer(self.match.flip(), offer)


def may_double(match: MatchState, board: Board | None = None) -> bool:
    """Whether the mover may double before his roll: also from the bar, unless he is closed out and the rules let such a
    player pass without rolling (asked only with the board).
    """
    if board is not None and match.rules.closed_out_passes and is_closed_out(board):
        return False
    return match.cube_in_play and match.cube_owner is not CubeOwner.OPPONENT and 2 * match.cube_value <= match.cube_cap


def double(match: MatchState, board: Board | None = None) -> CubeOffer:
    """The mover doubles.

    Raises:
        InputError: he may not.
    """
    if not may_double(match, board):
        raise InputError("double", f"cube {match.cube_value} ({match.cube_owner.value})", "a mover who may double")
    return CubeOffer(match.flip())


def automatic_double(match: MatchState) -> MatchState:
    """What equal opening dice do to the cube: turned, but still centred, as often a game as `automatic_doubles` says.

    The same holds where a player refuses his first roll by doubling the cube for another one.
    """
    done = match.cube_value.bit_length() - 1
    may_turn = match.cube_in_play and match.cube_owner is CubeOwner.CENTRED and 2 * match.cube_value <= match.cube_cap
    if not may_turn or done >= match.automatic_doubles:
        return match
    return replace(match, cube_value=2 * match.cube_value)


def win_of(board: Board, rules: RuleSet) -> Win:
    """How the mover of `board`, who has borne off everything, has won.

    Raises:
        InputError: he still has checkers on the board.
    """
    own_off, other_off = borne_off(board)
    if own_off != CHECKERS:
        raise InputError("board", f"{CHECKERS - own_off} checkers of the mover", "a game that the mover has won")
    if other_off > CHECKERS - rules.start.checkers:
        return Win.SINGLE
    behind = board[0] < 0 or bool(np.any(board[1:7] < 0))
    return Win.BACKGAMMON if behind and rules.backgammon_counts else Win.GAMMON


def points_won(match: MatchState, kind: Win) -> int:
    """Points for a game that is played out: the cube times what the kind of win counts (`MatchState.counted`)."""
    return match.cube_value * match.counted(kind)


def win(match: MatchState, kind: Win) -> GameEnd:
    """The mover has won a game that was played out."""
    return GameEnd(match, Side.MOVER, points_won(match, kind))


def resign(match: MatchState, level: Win) -> GameEnd:
    """The mover's resignation at this level has been accepted. A player who runs out of time loses a single game."""
    return GameEnd(match, Side.OPPONENT, points_won(match, level))


def resignation_levels(match: MatchState, board: Board) -> tuple[Win, ...]:
    """Levels at which the mover of `board` can resign, in rising order; the first is always a single game.

    A player who has borne off a checker can lose no gammon. Levels that give the opponent no more than the one below
    are left out: backgammons where the rules don't count them, all but single games under Jacoby with a centred cube,
    and in a match whatever is above the lowest level that wins it for him.
    """
    levels = [Win.SINGLE]
    if borne_off(board)[0] > CHECKERS - match.rules.start.checkers:
        return tuple(levels)
    for level in (Win.GAMMON, Win.BACKGAMMON):
        below = points_won(match, levels[-1])
        wins_match = match.away is not None and below >= match.away[1]
        if points_won(match, level) > below and not wins_match:
            levels.append(level)
    return tuple(levels)
