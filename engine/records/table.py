"""Where a game stands, and what every turn makes of it: the one place that follows a game.

Pure functions over `Position`, which is always in the view of the player to decide.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from engine.board import CHECKERS, Board, borne_off, flip
from engine.errors import InputError
from engine.match import CubeOwner, MatchState
from engine.position import Offer, Player, Position
from engine.records.record import Action, Ending, GameRecord, GameResult
from engine.scoring import CubeOffer, double, win, win_of


@dataclass(frozen=True, slots=True)
class Table:
    """A game between two turns."""

    position: Position
    """Before the next decision, in the view of the player who is expected to take it. At the end: the last one."""
    result: GameResult | None = None
    """Once the game is over."""


def opening(match: MatchState, game: GameRecord, first: Player) -> Table:
    """Before the first turn, with `first` to decide unless the game starts from a set-up position.

    Args:
        match: the record's `match`.

    Raises:
        InputError: a score, a Crawford game or a cube that cannot be.
    """
    if game.start is not None:
        return Table(with_options(game.start, match))
    state = replace(
        match,
        score=game.score if first is Player.X else (game.score[1], game.score[0]),
        crawford=game.crawford,
        cube_value=1 << game.automatic_doubles,
        cube_owner=CubeOwner.CENTRED,
    )
    return Table(Position(match.rules.start.board, state, None, first))


def with_options(position: Position, match: MatchState) -> Position:
    """With the rule set and the options of a record, which no ID holds."""
    state = replace(
        position.match,
        raccoon=match.raccoon,
        automatic_doubles=match.automatic_doubles if position.match.is_money else 0,
        crawford_rule=match.crawford_rule or position.match.crawford,
        rules=match.rules,
    )
    return replace(position, match=state)


def turned_to(position: Position, player: Player) -> Position:
    """The same table with this player to decide; dice and offers of the other one are dropped."""
    return position if position.on_roll is player else position.flip()


def after_play(position: Position, after: Board) -> Table:
    """Once the mover has played to `after` (int8[26], his view)."""
    match = position.match
    if borne_off(after)[0] == CHECKERS:
        end = win(match, win_of(_with_fifteen(after, match), match.rules))
        return Table(position, GameResult(position.on_roll, end.points, Ending.PLAYED))
    return Table(Position(flip(after), match.flip(), None, position.on_roll.other))


def after_cube(position: Position, action: Action) -> Table:
    """Once the mover has doubled or answered.

    Raises:
        InputError: he may not do that here.
    """
    mover = position.on_roll
    if action is Action.DOUBLE:
        if position.offer is not Offer.NONE:
            raise InputError("double", position.offer.value, "an answer to the offer that stands")
        return Table(_offered(position, double(position.match)))
    if position.offer is Offer.NONE:
        raise InputError("answer", action.value, "an offer to answer")
    offer = CubeOffer(position.match, position.offer)
    if action is Action.BEAVER:
        return Table(_offered(position, offer.beaver()))
    if action is Action.RACCOON:
        return Table(_offered(position, offer.raccoon()))
    if action is Action.PASS:
        return Table(position, GameResult(mover.other, offer.drop().points, Ending.PASSED))
    if action is not Action.TAKE:
        raise InputError("answer", action.value, "take, pass, beaver or raccoon")
    match = offer.take()
    if position.offer is Offer.BEAVER:  # the player who doubled first has answered, and rolls
        return Table(Position(position.board, match, None, mover))
    return Table(Position(flip(position.board), match.flip(), None, mover.other))


def _offered(position: Position, offer: CubeOffer) -> Position:
    return Position(flip(position.board), offer.match, None, position.on_roll.other, offer.offer)


def _with_fifteen(after: Board, match: MatchState) -> Board:
    """The board of a variant with fewer checkers as if the opponent's missing ones were none that he bore off."""
    missing = CHECKERS - match.rules.start.checkers
    if not missing:
        return after
    board = after.copy()
    board[24] -= missing  # his own ace point: neither on the bar nor in the winner's home
    return board
