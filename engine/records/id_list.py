"""Lists of positions: XGIDs, GNU `positionID:matchID`, or GNU position IDs, one a line.

What follows an ID on its line is a comment, lines that begin with `#` are passed over, and a line that can't be read
is noted and left out. Each position becomes a game that starts there, without turns.
"""

from __future__ import annotations

import re
from dataclasses import replace

from engine.errors import InputError
from engine.gnuid import MATCH_ID_LENGTH, POSITION_ID_LENGTH
from engine.ids import parse_position
from engine.match import MatchState
from engine.position import Position
from engine.records.builder import MOST_GAMES, build
from engine.records.encoding import lines_of
from engine.records.found import FoundGame, FoundMatch
from engine.records.record import MatchRecord, Note, Problem, RecordFormat, Source
from engine.records.replay import decisions
from engine.xgid import format_xgid

_GNU = rf"[A-Za-z0-9+/]{{{POSITION_ID_LENGTH}}}(?::[A-Za-z0-9+/]{{{MATCH_ID_LENGTH}}})?"
_ID = re.compile(
    rf"\s*[\"'`]?(XGID=[-A-Pa-p]{{26}}:[-0-9A-Za-z:]+|[-A-Pa-p]{{26}}:[-0-9A-Za-z:]+|{_GNU})[\"'`]?(?:\s+(.*)|\s*)"
)
_HEAD = re.compile(rf"\s*[\"'`]?(?:XGID=|[-A-Pa-p]{{26}}:|{_GNU}(?:[\"'`\s]|$))", re.IGNORECASE)


def looks_like_ids(text: str) -> bool:
    """Whether all lines that say anything begin like an ID, or at least the first one and most others."""
    lines = [line for line in lines_of(text) if line.strip() and not line.lstrip().startswith("#")]
    heads = sum(_HEAD.match(line) is not None for line in lines)
    return bool(lines) and _HEAD.match(lines[0]) is not None and heads * 2 > len(lines)


def read_ids(text: str, encoding: str = "") -> MatchRecord:
    """Read a list of IDs.

    Raises:
        InputError: not one position in it, or more than a record holds.
    """
    found = FoundMatch(Source(RecordFormat.XGID, "", encoding))
    for number, line in enumerate(lines_of(text), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        told = _ID.fullmatch(line)
        try:
            if told is None:
                raise InputError("line", line.strip(), "an XGID, a GNU ID or a comment")
            position = parse_position(told[1])
        except InputError as error:
            found.notes.append(Note(Problem.IGNORED, f"line {number}: {error}"))
            continue
        found.games.append(FoundGame(start=position, comments=[told[2].strip()] if told[2] else []))
        if len(found.games) > MOST_GAMES:
            raise InputError("list", f"more than {MOST_GAMES} positions", f"at most {MOST_GAMES}; split the file")
    if not found.games:
        raise InputError("list", text.strip()[:60], "at least one position")
    found.match = shared_match([game.start for game in found.games if game.start is not None])
    return build(found)


def write_ids(record: MatchRecord) -> str:
    """An XGID for every decision of a record, each once in a row; comments of single positions follow them.

    Raises:
        InputError: nobody decides anything in the record.
    """
    comments = {game.number: " ".join(game.comment.split()) for game in record.games if not game.turns}
    lines: list[str] = []
    for decision in decisions(record):
        line = f"{format_xgid(decision.position)} {comments.get(decision.game, '')}".rstrip()
        if not lines or lines[-1] != line:
            lines.append(line)
    if not lines:
        raise InputError("record", "no decisions", "a game with turns, or a position")
    return "".join(f"{line}\n" for line in lines)


def shared_match(positions: list[Position]) -> MatchState:
    """What all positions have in common: length, rules and cap if they agree, else money play."""
    states = [
        replace(position.match, score=(0, 0), cube_value=1, cube_owner=MatchState().cube_owner, crawford=False)
        for position in positions
    ]
    return states[0] if states and all(state == states[0] for state in states) else MatchState()
