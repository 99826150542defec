"""Following a record from decision to decision.

    for decision in decisions(record):
        if decision.counts: ...            # legal and known: fit for error rates

A roll is up to two decisions: whether to double (where the player may), and the play. Positions are in the view of the
player who decides.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from engine.board import Board
from engine.errors import InternalError
from engine.match import MatchState
from engine.position import Player, Position
from engine.records.plays import replayed
from engine.records.record import Action, CubeAnalysis, GameRecord, MatchRecord, Play, PlayAnalysis, Turn
from engine.records.table import after_cube, after_play, opening, turned_to
from engine.scoring import may_double


@dataclass(frozen=True, slots=True)
class Decision:
    """A position in which somebody had to decide, and what he did."""

    game: int
    """Number of the game."""
    turn: int
    """Which of the game's turns, from 1; at the open end of a record one more than there are."""
    player: Player
    position: Position
    """Before the decision, in the view of `player`: with dice for a play, with the offer for an answer."""
    action: Action | None
    """PLAY; ROLL or DOUBLE; TAKE, PASS, BEAVER or RACCOON. None: the record stops here."""
    after: Board | None = None
    """int8[26], the view of `player`: the board after his play, which may hold no checker of his. None: no play, or
    the record doesn't say."""
    legal: bool = True
    told: Turn | None = None
    """The turn of the record."""
    analysis: PlayAnalysis | None = None
    """What the record holds about a play."""
    cube_analysis: CubeAnalysis | None = None
    """What the record holds about a cube decision, in the view of the player who could double."""

    @property
    def counts(self) -> bool:
        """Whether it says something about the player's skill: done, known and legal."""
        return self.action is not None and self.legal and (self.action is not Action.PLAY or self.after is not None)


def decisions(record: MatchRecord) -> Iterator[Decision]:
    """All decisions of all games, in order; positions without a turn come as open decisions."""
    for game in record.games:
        yield from game_decisions(record.match, game)


def game_decisions(match: MatchState, game: GameRecord) -> Iterator[Decision]:
    """All decisions of one game.

    Args:
        match: the `match` of the record that the game belongs to.

    Raises:
        InternalError: the record was not made by following a game.
    """
    if game.start is None and not game.turns:
        return  # nobody has decided anything; even its score may be impossible
    first = game.turns[0].player if game.turns else Player.X
    table = opening(match, game, first)
    opened = game.start is not None
    for number, turn in enumerate(game.turns, start=1):
        position = turned_to(table.position, turn.player)
        if not isinstance(turn, Play):
            cube = turn.cube_analysis
            yield Decision(game.number, number, turn.player, position, turn.action, told=turn, cube_analysis=cube)
            table = after_cube(position, turn.action)
            opened = True
            continue
        if may_double(position.match) and opened and position.dice is None:
            cube = turn.cube_analysis
            yield Decision(game.number, number, turn.player, position, Action.ROLL, told=turn, cube_analysis=cube)
        opened = True
        after = None if turn.play is None else _after(position, turn)
        yield Decision(
            game.number,
            number,
            turn.player,
            replace(position, dice=turn.dice or position.dice),
            Action.PLAY,
            after,
            turn.legal,
            turn,
            turn.analysis,
        )
        if after is None:
            return
        table = after_play(position, after)
    if table.result is None and _is_open(game):
        position, number = table.position, len(game.turns) + 1
        yield Decision(
            game.number,
            number,
            position.on_roll,
            position,
            None,
            analysis=game.open_play,
            cube_analysis=game.open_cube,
        )


def _after(position: Position, turn: Play) -> Board:
    assert turn.play is not None
    after = replayed(position.board, turn.dice, turn.play, turn.legal, position.match.rules)
    if after is None:
        raise InternalError(f"the play {turn.play!r} of a record can't be carried out")
    return after


def _is_open(game: GameRecord) -> bool:
    """Whether somebody may be asked about the position at which the record stops."""
    analysed = game.open_play is not None or game.open_cube is not None
    return analysed or (game.result is None and (game.start is not None or bool(game.turns)))
