"""What a game is worth and how a match goes on: pure functions from one match state to the next.

Sources: the rules digest of the project, sections 1.10 to 1.12. Every state is in the view of one player, named in each
function; `MatchState.flip` gives the other's.
"""

from __future__ import annotations

import enum
from dataclasses import replace

import numpy as np

from engine.board import Board, borne_off
from engine.errors import InputError
from engine.match import CubeOwner, MatchState
from engine.position import Offer
from engine.rules import RuleSet


class Win(enum.IntEnum):
    """How a game was won; the value is what it multiplies the cube by."""

    SINGLE = 1
    GAMMON = 2
    BACKGAMMON = 3


_FACTORS = {Offer.DOUBLE: 1, Offer.BEAVER: 2, Offer.RACCOON: 4}
"""Value of the cube when an offer is dropped, in units of its value before the first double."""


def win_of(board: Board, rules: RuleSet) -> Win:
    """How the mover of `board`, who has borne off everything, has won.

    Raises:
        InputError: he still has checkers on the board.
    """
    own_off, other_off = borne_off(board)
    if own_off != 15:
        raise InputError("board", f"{15 - own_off} checkers of the mover", "a game that the mover has won")
    if other_off > 0:
        return Win.SINGLE
    behind = board[0] < 0 or bool(np.any(board[1:7] < 0))
    return Win.BACKGAMMON if behind and rules.backgammon_counts else Win.GAMMON


def points_won(match: MatchState, win: Win) -> int:
    """Points for a game that is played out: the cube times the kind of win.

    With the Jacoby rule gammons count single while the cube is centred, also where automatic doubles have turned it.
    """
    kind = Win.SINGLE if match.jacoby and match.cube_owner is CubeOwner.CENTRED else win
    return match.cube_value * kind


def points_for_drop(match: MatchState, offer: Offer) -> int:
    """Points for the player whose offer is dropped: the value in force before it.

    Args:
        match: with the cube as it was before the first double of this turn.

    Raises:
        InputError: there is no offer.
    """
    if offer is Offer.NONE:
        raise InputError("offer", offer.value, "double, beaver or raccoon")
    return match.cube_value * _FACTORS[offer]


def may_double(match: MatchState, rules: RuleSet) -> bool:
    """Whether the mover may double before his roll (whatever stands on the bar)."""
    return (
        rules.cube
        and not match.crawford
        and match.cube_owner is not CubeOwner.OPPONENT
        and match.cube_value * 2 <= match.cube_cap
    )


def accepted(match: MatchState, offer: Offer) -> MatchState:
    """The state, in the view of the player who doubled first, once an offer has been accepted and play goes on.

    A take doubles the cube. After a beaver it stands at four times, after a raccoon at eight times its old value; in
    all three cases the player who was doubled keeps it.

    Raises:
        InputError: there is no offer, beavers without the rule, or a value beyond the cap.
    """
    if offer is Offer.NONE:
        raise InputError("offer", offer.value, "double, beaver or raccoon")
    if offer is not Offer.DOUBLE and not match.beaver:
        raise InputError("offer", offer.value, "a double, since beavers are not played")
    value = match.cube_value * _FACTORS[offer] * 2
    return replace(match, cube_value=value, cube_owner=CubeOwner.OPPONENT)


def next_game(match: MatchState, points: int) -> MatchState | None:
    """The state before the next game after the mover has won `points`; None when that wins him the match.

    The Crawford game is the first one that begins when a side has come to need one point, once in a match.
    """
    own = match.score[0] + points
    if match.length and own >= match.length:
        return None
    needs_one = match.length - 1
    first_time = match.length > 0 and own == needs_one and needs_one not in match.score
    return replace(
        match,
        score=(own, match.score[1]),
        cube_value=1,
        cube_owner=CubeOwner.CENTRED,
        crawford=first_time,
    )
