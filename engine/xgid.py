"""XGID: eXtreme Gammon's one-line position.

    XGID=-b----E-C---eE---c-e----B-:0:0:1:52:0:0:0:0:10
         board                      | | | |  | | | | cube cap, log2
                                    | | | |  | | | match length, 0 = money
                                    | | | |  | | Crawford (match) or 1 = Jacoby + 2 = beaver (money)
                                    | | | |  score of X, score of O
                                    | | | dice: 00 before the roll, 52, or D, B, R = doubled, beavered, raccooned
                                    | | turn: 1 = X, -1 = O (with D: the player who doubled)
                                    cube value, log2; cube owner: 1 = X, -1 = O, 0 = centred

Why these readings (sources: published decode fixtures with a turn of each sign, text exports of XG and BGBlitz):

- The board is seen by the player of the turn field: upper case is his, character 25 his bar, character 0 the
  opponent's. Cube owner and scores are absolute. GNU Backgammon's reader takes upper case as X whatever the turn is;
  the two agree whenever it is X's turn, which is what nearly every published XGID has.
- A score beside match length 0 is a running money score: kept, without meaning.
- While an offer stands the cube is still at its old value.
- The last field is missing in older IDs: the cap is then 1024.
"""

from __future__ import annotations

import re

from engine import board as boards
from engine.board import Board
from engine.errors import InputError
from engine.match import DEFAULT_CUBE_CAP, CubeOwner, MatchState
from engine.position import Offer, Player, Position

XGID_PREFIX = "XGID="
FIELDS = 10
MAX_CUBE_EXPONENT = 15
MAX_CAP_EXPONENT = 30

_JACOBY = 1
_BEAVER = 2
_INTEGER = re.compile(r"-?[0-9]{1,6}", re.ASCII)
_DICE = re.compile(r"[1-6]{2}", re.ASCII)
_OFFERS = {"D": Offer.DOUBLE, "B": Offer.BEAVER, "R": Offer.RACCOON}
_OFFER_LETTERS = {offer: letter for letter, offer in _OFFERS.items()}
_ANSWERED_BY_OPPONENT = frozenset({Offer.DOUBLE, Offer.RACCOON})
"""Offers made by the player of the turn field: the other one must answer them."""


def parse_xgid(text: str) -> Position:
    """Read an XGID, with or without `XGID=`. The result is in the view of the player to decide.

    Raises:
        InputError: naming the field that is malformed, what it held and what was expected.
    """
    body = text.strip()
    if body.upper().startswith(XGID_PREFIX):
        body = body[len(XGID_PREFIX) :]
    parts = [part.strip() for part in body.split(":")]
    if len(parts) not in (FIELDS - 1, FIELDS):
        raise InputError("XGID", body, f"{FIELDS} fields separated by colons, not {len(parts)}")

    board = _parse_board(parts[0])
    turn = Player(_choice("turn", parts[3], (1, -1), "1 (X) or -1 (O)"))
    dice, offer = _parse_dice(parts[4])
    match = _parse_match(parts, turn)
    if offer in _ANSWERED_BY_OPPONENT:
        return Position(boards.flip(board), match.flip(), None, turn.other, offer)
    return Position(board, match, dice, turn, offer)


def format_xgid(position: Position) -> str:
    """Write an XGID with its prefix and all ten fields; `parse_xgid` of it gives the position back."""
    board, match, turn = position.board, position.match, position.on_roll
    if position.offer in _ANSWERED_BY_OPPONENT:
        board, match, turn = boards.flip(board), match.flip(), turn.other
    owner = {CubeOwner.CENTRED: 0, CubeOwner.MOVER: turn.value, CubeOwner.OPPONENT: -turn.value}[match.cube_owner]
    if match.is_money:
        flag = _JACOBY * match.jacoby + _BEAVER * match.beaver
    else:
        flag = int(match.crawford)
    score = match.score if turn is Player.X else (match.score[1], match.score[0])
    fields = (
        "".join(_letter(int(count)) for count in board),
        match.cube_value.bit_length() - 1,
        owner,
        turn.value,
        _format_dice(position),
        *score,
        flag,
        match.length,
        match.cube_cap.bit_length() - 1,
    )
    return XGID_PREFIX + ":".join(str(field) for field in fields)


def _parse_board(text: str) -> Board:
    if len(text) != boards.PLACES:
        raise InputError("XGID position", text, f"{boards.PLACES} characters, not {len(text)}")
    try:
        return boards.make_board([_count(letter) for letter in text])
    except InputError as error:
        raise InputError("XGID position", text, error.expected) from None


def _count(letter: str) -> int:
    """Signed checkers of one character. P (16) is a letter of the format but never a legal count: see make_board."""
    if letter == "-":
        return 0
    if "A" <= letter <= "P":
        return ord(letter) - ord("A") + 1
    if "a" <= letter <= "p":
        return ord("a") - ord(letter) - 1
    raise InputError("XGID position", letter, f"only -, A-O and a-o, not {letter!r}")


def _letter(count: int) -> str:
    if count == 0:
        return "-"
    return chr(ord("A") + count - 1) if count > 0 else chr(ord("a") - count - 1)


def _parse_dice(text: str) -> tuple[tuple[int, int] | None, Offer]:
    if text == "00":
        return None, Offer.NONE
    offer = _OFFERS.get(text.upper())
    if offer is not None:
        return None, offer
    if not _DICE.fullmatch(text):
        raise InputError("XGID dice", text, "00, two digits from 1 to 6, D, B or R")
    first, second = int(text[0]), int(text[1])
    return (max(first, second), min(first, second)), Offer.NONE


def _format_dice(position: Position) -> str:
    if position.offer is not Offer.NONE:
        return _OFFER_LETTERS[position.offer]
    if position.dice is None:
        return "00"
    return f"{position.dice[0]}{position.dice[1]}"


def _parse_match(parts: list[str], turn: Player) -> MatchState:
    """The match in the view of the player of the turn field."""
    exponent = _integer("cube value", parts[1], 0, MAX_CUBE_EXPONENT, "log2 of the cube, ")
    owner_field = _choice("cube owner", parts[2], (0, 1, -1), "0 (centred), 1 (X) or -1 (O)")
    score_x = _integer("score of X", parts[5], 0, 32767)
    score_o = _integer("score of O", parts[6], 0, 32767)
    length = _integer("match length", parts[8], 0, 32767, "0 (money) or a length, ")
    if length:
        flag = _choice("Crawford flag", parts[7], (0, 1), "0 or 1 (Crawford)")
    else:
        flag = _choice("money flag", parts[7], (0, 1, 2, 3), "1 (Jacoby) + 2 (beaver), so 0 to 3")
    cap = DEFAULT_CUBE_CAP
    if len(parts) == FIELDS:
        cap = 1 << _integer("cube cap", parts[9], 0, MAX_CAP_EXPONENT, "log2 of the largest cube, ")
    owner = CubeOwner.CENTRED
    if owner_field:
        owner = CubeOwner.MOVER if owner_field == turn.value else CubeOwner.OPPONENT
    return MatchState(
        length=length,
        score=(score_x, score_o) if turn is Player.X else (score_o, score_x),
        cube_value=1 << exponent,
        cube_owner=owner,
        cube_cap=cap,
        crawford=bool(length and flag),
        jacoby=not length and bool(flag & _JACOBY),
        beaver=not length and bool(flag & _BEAVER),
    )


def _integer(field: str, text: str, low: int, high: int, meaning: str = "") -> int:
    if not _INTEGER.fullmatch(text) or not low <= int(text) <= high:
        raise InputError(f"XGID {field}", text, f"{meaning}a whole number from {low} to {high}")
    return int(text)


def _choice(field: str, text: str, allowed: tuple[int, ...], expected: str) -> int:
    if not _INTEGER.fullmatch(text) or int(text) not in allowed:
        raise InputError(f"XGID {field}", text, expected)
    return int(text)
