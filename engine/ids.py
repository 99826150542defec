"""Reading a position from any of its IDs."""

from __future__ import annotations

from engine.errors import InputError
from engine.gnuid import POSITION_ID_LENGTH, parse_gnu_id, parse_position_id
from engine.position import Position
from engine.xgid import XGID_PREFIX, parse_xgid


def parse_position(text: str) -> Position:
    """Read an XGID, a GNU `positionID:matchID`, or a GNU position ID alone; the content decides which.

    White space and quotation marks around the text are ignored. A position ID alone is a money game with a centred
    cube at 1, before the roll, without Jacoby or beavers, X on roll.

    Raises:
        InputError: nothing of the three, or the ID is malformed.
    """
    stripped = text.strip().strip("'\"`\u2018\u2019\u201c\u201d").strip()
    if stripped.upper().startswith(XGID_PREFIX) or stripped.count(":") > 1:
        return parse_xgid(stripped)
    if ":" in stripped:
        return parse_gnu_id(stripped)
    if len(stripped) == POSITION_ID_LENGTH:
        return Position(parse_position_id(stripped))
    raise InputError("position", stripped, "an XGID, a GNU positionID:matchID, or a GNU position ID (14 characters)")
