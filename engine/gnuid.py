"""GNU Backgammon's position ID (14 characters) and match ID (12 characters).

Both are base64 without padding over bytes whose bits count from the lowest.

Position ID, 80 bits: first the player **not** on roll, then the player on roll; of each the points 1..24 in his own
numbering, then his bar; for each place n ones and a zero. Unused bits are zero.

Match ID, 67 bits: cube log2 4, cube owner 2 (0 or 1 = that player, 3 = centred), player on roll 1, Crawford 1, game
state 3, player to decide 1, double offered 1, resignation 2, dice 3 + 3, match length 15, score of player 0 15, score
of player 1 15, Jacoby off 1. Unused bits are zero.

Readings (sources: the GNU Backgammon manual; pairs of GNU and XG IDs in published text exports; 64,791 IDs that GNU
Backgammon printed):

- Player 1 is X, player 0 is O.
- While a double stands, "on roll" is the doubler and "to decide" the player who must answer. The position ID does not
  change with the double: it still names the doubler second. In a `Position` the mover is the one who answers.
- The Jacoby bit is inverted and came later: an ID without it (0) means Jacoby in money play. In a match it says
  nothing; GNU Backgammon writes 1 there.
- A match ID has no beaver rule and no cube cap.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass

from engine import board as boards
from engine.board import Board
from engine.errors import InputError
from engine.match import DEFAULT_CUBE_CAP, CubeOwner, MatchState
from engine.position import Offer, Player, Position

POSITION_ID_LENGTH = 14
MATCH_ID_LENGTH = 12
_POSITION_BYTES = 10
_MATCH_BYTES = 9
_PLACES_A_SIDE = 25  # 24 points and the bar
_CENTRED = 3
_NO_GAME, _PLAYING = 0, 1
_MAX_CUBE_EXPONENT = 15

_FIELDS = (
    ("cube", 4),
    ("owner", 2),
    ("roller", 1),
    ("crawford", 1),
    ("state", 3),
    ("decider", 1),
    ("doubled", 1),
    ("resigned", 2),
    ("first_die", 3),
    ("second_die", 3),
    ("length", 15),
    ("score_o", 15),
    ("score_x", 15),
    ("jacoby_off", 1),
    ("padding", 5),
)
_PLAYER_BITS = (Player.O, Player.X)


@dataclass(frozen=True, slots=True)
class MatchFacts:
    """What a match ID says, in the view of the player to decide."""

    match: MatchState
    dice: tuple[int, int] | None
    on_roll: Player
    offer: Offer


def parse_gnu_id(text: str) -> Position:
    """Read `positionID:matchID`.

    Raises:
        InputError: naming the part that is malformed.
    """
    parts = text.strip().split(":")
    if len(parts) != 2:
        raise InputError("GNU ID", text.strip(), "positionID:matchID")
    board = parse_position_id(parts[0].strip())
    facts = parse_match_id(parts[1].strip())
    if facts.offer is Offer.DOUBLE:
        board = boards.flip(board)
    return Position(board, facts.match, facts.dice, facts.on_roll, facts.offer)


def format_gnu_id(position: Position) -> str:
    """Write `positionID:matchID`. The beaver rule and the cube cap are lost: the match ID has no room for them.

    Raises:
        InputError: see `format_match_id`.
    """
    board = boards.flip(position.board) if position.offer is Offer.DOUBLE else position.board
    return f"{format_position_id(board)}:{format_match_id(position)}"


def parse_position_id(text: str) -> Board:
    """The board of a position ID, int8[26] in the view of its second side (the player on roll, or who has doubled).

    Raises:
        InputError: length, characters, stray bits, more than fifteen checkers a side, both sides on one point, or a
            side without checkers.
    """
    bits = _decode("position ID", text, POSITION_ID_LENGTH, _POSITION_BYTES)
    counts = [0] * (2 * _PLACES_A_SIDE)
    place = 0
    for index in range(_POSITION_BYTES * 8):
        one = bits >> index & 1
        if place == len(counts):
            if one:
                raise InputError("position ID", text, "no more than 25 places a side")
        elif one:
            counts[place] += 1
        else:
            place += 1
    if place != len(counts):
        # 80 bits hold 50 places only with at most 30 checkers.
        raise InputError("position ID", text, "at most 15 checkers a side")
    return _merge(text, counts[:_PLACES_A_SIDE], counts[_PLACES_A_SIDE:])


def format_position_id(board: Board) -> str:
    """The position ID of a board in the view of the player on roll (or who has doubled): 14 characters."""
    bits = 0
    index = 0
    for side in (-board[::-1][1:], board[1:]):  # each in his own numbering: points 1..24, then the bar
        for count in side:
            ones = max(int(count), 0)
            bits |= ((1 << ones) - 1) << index
            index += ones + 1
    return _encode(bits, _POSITION_BYTES)


def parse_match_id(text: str) -> MatchFacts:
    """Read a match ID.

    Raises:
        InputError: length, characters, stray bits, impossible dice, score or cube, a game that is over, a resignation
            that waits for an answer, or a turn that fits neither a play nor a double.
    """
    values = _match_fields(text)
    decider = _PLAYER_BITS[values["decider"]]
    roller = _PLAYER_BITS[values["roller"]]
    offer = Offer.DOUBLE if values["doubled"] else Offer.NONE
    if (decider is roller) == (offer is Offer.DOUBLE):
        expected = "the player who must answer the double" if values["doubled"] else "the player on roll"
        raise InputError("match ID turn", text, f"{expected} to decide")
    match = _match_state(values, decider)
    return MatchFacts(match, _match_dice(values), decider, offer)


def format_match_id(position: Position) -> str:
    """The match ID of a position: 12 characters.

    Raises:
        InputError: a beaver or raccoon stands, or the cube is above 32768: a match ID cannot say that.
    """
    match = position.match
    if position.offer in (Offer.BEAVER, Offer.RACCOON):
        raise InputError("offer", position.offer.value, "none or a double: a match ID holds no other")
    exponent = match.cube_value.bit_length() - 1
    if exponent > _MAX_CUBE_EXPONENT:
        raise InputError("cube value", match.cube_value, f"at most {1 << _MAX_CUBE_EXPONENT} in a match ID")
    decider = _PLAYER_BITS.index(position.on_roll)
    roller = 1 - decider if position.offer is Offer.DOUBLE else decider
    owner = {CubeOwner.CENTRED: _CENTRED, CubeOwner.MOVER: decider, CubeOwner.OPPONENT: 1 - decider}[match.cube_owner]
    high, low = position.dice or (0, 0)
    score_x, score_o = match.score if position.on_roll is Player.X else match.flip().score
    values = {
        "cube": exponent,
        "owner": owner,
        "roller": roller,
        "crawford": int(match.crawford),
        "state": _PLAYING,
        "decider": decider,
        "doubled": int(position.offer is Offer.DOUBLE),
        "first_die": high,
        "second_die": low,
        "length": match.length,
        "score_o": score_o,
        "score_x": score_x,
        "jacoby_off": int(not match.jacoby),
    }
    bits = 0
    index = 0
    for name, width in _FIELDS:
        bits |= values.get(name, 0) << index
        index += width
    return _encode(bits, _MATCH_BYTES)


def _decode(field: str, text: str, characters: int, size: int) -> int:
    """The bits of an ID as one integer, lowest first; refuses every spelling but the canonical one."""
    if len(text) != characters:
        raise InputError(field, text, f"{characters} characters, not {len(text)}")
    try:
        data = base64.b64decode(text + "=" * (-characters % 4), validate=True)
    except (binascii.Error, ValueError):
        raise InputError(field, text, "only letters, digits, + and /") from None
    bits = int.from_bytes(data, "little")
    if len(data) != size or _encode(bits, size) != text:
        raise InputError(field, text, "zero bits after the last place")
    return bits


def _encode(bits: int, size: int) -> str:
    return base64.b64encode(bits.to_bytes(size, "little")).decode("ascii").rstrip("=")


def _merge(text: str, opponent: list[int], mover: list[int]) -> Board:
    """One signed board of two sides, each in its own numbering: points 1..24, then the bar."""
    counts = [0, *mover]
    for place, number in enumerate(opponent, start=1):
        if not number:
            continue
        mirrored = boards.BAR - place
        if counts[mirrored]:
            raise InputError("position ID", text, f"only one side on the {mirrored} point")
        counts[mirrored] = -number
    try:
        return boards.make_board(counts)
    except InputError as error:
        raise InputError("position ID", text, error.expected) from None


def _match_fields(text: str) -> dict[str, int]:
    bits = _decode("match ID", text, MATCH_ID_LENGTH, _MATCH_BYTES)
    values: dict[str, int] = {}
    for name, width in _FIELDS:
        values[name] = bits & ((1 << width) - 1)
        bits >>= width
    if values["padding"]:
        raise InputError("match ID", text, "zero bits after the Jacoby bit")
    if values["state"] not in (_NO_GAME, _PLAYING):
        # GNU Backgammon prints state 0 before the opening move has been played, so 0 is in play too.
        raise InputError("match ID game state", values["state"], "a game in play (0 or 1)")
    if values["resigned"]:
        raise InputError("match ID resignation", values["resigned"], "no resignation that waits for an answer (0)")
    return values


def _match_dice(values: dict[str, int]) -> tuple[int, int] | None:
    first, second = values["first_die"], values["second_die"]
    if first == second == 0:
        return None
    if not (1 <= first <= 6 and 1 <= second <= 6):
        raise InputError("match ID dice", f"{first}{second}", "two dice from 1 to 6, or 00")
    return max(first, second), min(first, second)


def _match_state(values: dict[str, int], decider: Player) -> MatchState:
    """The match in the view of `decider`."""
    owners = {0: Player.O, 1: Player.X, _CENTRED: None}
    if values["owner"] not in owners:
        raise InputError("match ID cube owner", values["owner"], "0, 1 or 3 (centred)")
    owning = owners[values["owner"]]
    owner = CubeOwner.CENTRED
    if owning is not None:
        owner = CubeOwner.MOVER if owning is decider else CubeOwner.OPPONENT
    score_x, score_o = values["score_x"], values["score_o"]
    cube_value = 1 << values["cube"]
    return MatchState(
        length=values["length"],
        score=(score_x, score_o) if decider is Player.X else (score_o, score_x),
        cube_value=cube_value,
        cube_owner=owner,
        # A match ID holds no cap; a cube near the usual one must still be able to be doubled once.
        cube_cap=max(DEFAULT_CUBE_CAP, cube_value * 2),
        crawford=bool(values["crawford"]),
        jacoby=not values["length"] and not values["jacoby_off"],
    )
