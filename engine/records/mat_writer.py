"""Writing match texts, in the words of Jellyfish and GNU Backgammon (`MAT`) or of XG (`TXT`).

What a match text can't hold is lost: analyses, set-up positions (refused), and whether a game that was not played out
was resigned, lost on time or forfeited. Comments go into the header, where other programs pass over them.
"""

from __future__ import annotations

import re
from itertools import pairwise, zip_longest

from engine.errors import InputError
from engine.match import DEFAULT_CUBE_CAP
from engine.notation import NO_PLAY
from engine.position import Player
from engine.records.mat import COMMENT_FIELD
from engine.records.record import Action, CubeTurn, GameRecord, MatchRecord, Play, RecordFormat, Turn
from engine.rules import INTERNATIONAL

_LEFT = 34
_PART = re.compile(r"(?P<stops>[^()\s]+)(?:\((?P<times>\d)\))?")
_TURNED = {Action.DOUBLE: "Doubles", Action.BEAVER: "Beavers", Action.RACCOON: "Raccoons"}


def write_mat(record: MatchRecord, style: RecordFormat = RecordFormat.MAT) -> str:
    """The text of a match.

    Args:
        style: MAT or TXT.

    Raises:
        InputError: a game starts from a set-up position.
    """
    if any(game.start is not None for game in record.games):
        raise InputError("record", "a set-up position", "games from the usual start: a match text holds no others")
    # In the line of the score a colon would end a name, and a semicolon at its beginning make it a comment.
    shown = (_one_line(name).replace(":", ".").lstrip("; ") for name in record.players)
    names = tuple(name or f"Player {seat}" for seat, name in enumerate(shown, start=1))
    lines = [*_header(record, names), "", f"{record.match.length} point match", ""]
    for game in record.games:
        lines += [f" Game {game.number}", _columns(f" {names[0]} : {game.score[0]}", f"{names[1]} : {game.score[1]}")]
        lines += [*_rows(record, game, style), ""]
    return "\n".join(lines)


def _header(record: MatchRecord, names: tuple[str, ...]) -> list[str]:
    about, match = record.about, record.match
    known = {name.lower() for name, _ in about.other}
    fields = [
        ("Site", about.place),
        ("Event", about.event),
        ("Round", about.round),
        *((f"Player {seat}", name) for seat, name in enumerate(names, start=1) if f"player {seat}" not in known),
        ("Player 1 Elo", about.ratings[0]),
        ("Player 2 Elo", about.ratings[1]),
        ("EventDate", about.date.replace("-", ".")),
        ("Transcriber", about.annotator),
        ("Variation", "Backgammon" if match.rules == INTERNATIONAL else match.rules.name.capitalize()),
        ("Crawford", _switch(match.crawford_rule)) if match.length else ("Jacoby", _switch(match.jacoby)),
        ("Beaver", "" if match.length else _switch(match.beaver)),
        ("CubeLimit", "" if match.cube_cap == DEFAULT_CUBE_CAP else str(match.cube_cap)),
        *about.other,
        *_comments(record),
    ]
    return [f'; [{name} "{shown}"]' for name, value in fields if (shown := _one_line(value))]


def _comments(record: MatchRecord) -> list[tuple[str, str]]:
    told = [((0, 0), record.comment)]
    for place, game in enumerate(record.games, start=1):
        told.append(((place, 0), game.comment))
        told += [((place, turn), found.comment) for turn, found in enumerate(game.turns, start=1)]
    return [
        (f"{COMMENT_FIELD} {game}.{turn}", words.replace("\\", "\\\\").replace("\n", "\\n"))
        for (game, turn), words in told
        if words
    ]


def _rows(record: MatchRecord, game: GameRecord, style: RecordFormat) -> list[str]:
    """Numbered rows, the first player's turns on the left, the second one's on the right; then the result.

    GNU Backgammon counts a win of the second player twice after a drop unless it stands in the same row.
    """
    sides: tuple[list[str], list[str]] = ([], [])
    value = 1 << game.automatic_doubles
    for turn in game.turns:
        column = 0 if turn.player is Player.X else 1
        if isinstance(turn, CubeTurn) and turn.action in _TURNED:
            value *= 2
        # Where a player moves twice, or the second one first, the other's cell is left empty.
        if column == 0 and len(sides[1]) < len(sides[0]):
            sides[1].append("")
        elif column == 1 and len(sides[0]) == len(sides[1]):
            sides[0].append("")
        sides[column].append(_cell(turn, value, style))
    won = _result(record, game)
    closing = [f"      {won}"] if won else []
    if won and game.result is not None and game.result.winner is Player.O:
        if len(sides[0]) > len(sides[1]):
            sides[1].append(f" {won}")
            closing = []
        else:
            closing = [_columns("", f" {won}")]
    rows = [
        _columns(f"{number:3}) {left or ''}", right or "")
        for number, (left, right) in enumerate(zip_longest(*sides), start=1)
    ]
    return rows + closing


def _cell(turn: Turn, value: int, style: RecordFormat) -> str:
    if isinstance(turn, CubeTurn):
        if turn.action in _TURNED:
            return f" {_TURNED[turn.action]} => {value}"
        return " Takes" if turn.action is Action.TAKE else " Drops"
    dice = "00" if turn.dice is None else f"{turn.dice[0]}{turn.dice[1]}"
    return f"{dice}: {_play(turn, style)}".rstrip()


def _play(turn: Play, style: RecordFormat) -> str:
    if turn.play is None:
        return "????"
    words = turn.play
    if words == NO_PLAY:
        # An empty cell at the end of a game means that the game was given up, so an illegal one needs its words.
        return "" if style is RecordFormat.MAT and turn.legal else "Cannot Move"
    if style is RecordFormat.TXT:
        return words.replace("bar", "Bar").replace("off", "Off")
    parts = []
    for part in _PART.finditer(words.replace("bar", "25").replace("off", "0")):
        stops = part["stops"].split("/")
        steps = [f"{start.rstrip('*')}/{end}" for start, end in pairwise(stops)]
        # The star of a point stands for the first checker that lands there.
        later = [step.rstrip("*") for step in steps]
        parts += steps + later * (int(part["times"] or 1) - 1)
    return " ".join(parts)


def _result(record: MatchRecord, game: GameRecord) -> str:
    result = game.result
    if result is None:
        return ""
    own = game.score[0 if result.winner is Player.X else 1]
    over = bool(record.match.length) and own + result.points >= record.match.length
    return f"Wins {result.points} point{'s' if result.points != 1 else ''}{' and the match' if over else ''}"


def _columns(left: str, right: str) -> str:
    return f"{left:<{_LEFT}} {right}".rstrip() if right else left.rstrip()


def _one_line(text: str) -> str:
    return "".join(letter if letter.isprintable() else " " for letter in text).strip()


def _switch(on: bool) -> str:
    return "On" if on else "Off"
