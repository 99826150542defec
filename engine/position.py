"""A position: board, match and what has to be decided, all seen by the player whose decision it is.

Why one view: programs differ in whose view their IDs take while a double stands (XG shows the doubler, GNU Backgammon
the player who must answer). Inside gammonfarm the **mover** is always the player to decide, so a number that belongs
to a position never needs a second label.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field, replace

from engine import board as boards
from engine.board import Board
from engine.errors import InputError
from engine.match import CubeOwner, MatchState
from engine.rules import RuleSet


class Player(enum.Enum):
    """The two seats, whoever is on roll. X is XG's first (bottom) player and GNU Backgammon's player 1."""

    X = 1
    O = -1

    @property
    def other(self) -> Player:
        """The opponent."""
        return Player.O if self is Player.X else Player.X


class Offer(enum.Enum):
    """A cube offer that waits for the mover's answer. The cube's value in the match state is the one before it."""

    NONE = "none"
    """No offer: the mover plays his dice, or rolls or doubles."""
    DOUBLE = "double"
    """The opponent has doubled; the mover takes or passes."""
    BEAVER = "beaver"
    """The mover has doubled and the opponent has beavered; the mover answers."""
    RACCOON = "raccoon"
    """The opponent has doubled, the mover beavered, the opponent raccooned; the mover answers."""

    @property
    def factor(self) -> int:
        """What the cube is multiplied by once the offer is accepted; dropping it costs half as much. 1: no offer."""
        return _FACTORS[self]


_FACTORS = {Offer.NONE: 1, Offer.DOUBLE: 2, Offer.BEAVER: 4, Offer.RACCOON: 8}


@dataclass(frozen=True, slots=True, eq=False)
class Position:
    """One decision, in the view of the mover (`on_roll`). Equal and hashable by content.

    Raises:
        InputError: on construction, for a board that breaks the rules, impossible dice, or an offer that cannot be.
    """

    board: Board
    """int8[26], the mover's view; a read-only copy is kept."""
    match: MatchState = field(default_factory=MatchState)
    """In the mover's view."""
    dice: tuple[int, int] | None = None
    """The mover's dice, the higher first (either order is taken); None before the roll."""
    on_roll: Player = Player.X
    """The mover: the player on roll or, while an offer stands, the player who must answer it."""
    offer: Offer = Offer.NONE

    def __post_init__(self) -> None:
        board = boards.make_board([int(count) for count in self.board], self.match.rules.start.checkers)
        board.setflags(write=False)
        object.__setattr__(self, "board", board)
        if self.dice is not None:
            object.__setattr__(self, "dice", _checked_dice(self.dice))
        if self.offer is not Offer.NONE:
            self._check_offer()

    def _check_offer(self) -> None:
        if self.dice is not None:
            raise InputError("offer", self.offer.value, "no dice while an offer stands")
        if self.match.crawford:
            raise InputError("offer", self.offer.value, "no cube in the Crawford game")
        if self.match.cube_value * self.offer.factor > self.match.cube_cap:
            raise InputError("offer", self.offer.value, f"a cube that stays within its cap {self.match.cube_cap}")
        if self.offer is Offer.DOUBLE and self.match.cube_owner is CubeOwner.MOVER:
            raise InputError("offer", self.offer.value, "a cube in the middle or owned by the player who doubled")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Position):
            return NotImplemented
        return self._content() == other._content()

    def __hash__(self) -> int:
        return hash(self._content())

    def _content(self) -> tuple[bytes, MatchState, tuple[int, int] | None, Player, Offer]:
        return self.board.tobytes(), self.match, self.dice, self.on_roll, self.offer

    @property
    def pips(self) -> tuple[int, int]:
        """Pip counts (mover, opponent)."""
        return boards.pips(self.board)

    def under(self, rules: RuleSet) -> Position:
        """The same position in a game that is played by these rules.

        Raises:
            InputError: more checkers than they have.
        """
        return replace(self, match=replace(self.match, rules=rules))

    def flip(self) -> Position:
        """The same table with the other player to decide, before his roll.

        Dice and a standing offer belong to the decision of the player who was on roll: they are dropped.
        """
        return Position(boards.flip(self.board), self.match.flip(), None, self.on_roll.other)


def _checked_dice(dice: tuple[int, int]) -> tuple[int, int]:
    if len(dice) != 2 or not all(1 <= die <= 6 for die in dice):
        raise InputError("dice", "-".join(str(die) for die in dice), "two numbers from 1 to 6")
    return max(dice), min(dice)
