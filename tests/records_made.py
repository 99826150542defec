"""Records for tests: random matches that were really played, and small files of formats that only others write."""

from __future__ import annotations

import json
import random
import struct
import zlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from engine.board import START
from engine.match import MatchState, Side
from engine.moves import legal_plays
from engine.notation import format_play
from engine.position import Player, Position
from engine.records.record import (
    Action,
    CubeTurn,
    Ending,
    GameRecord,
    GameResult,
    MatchRecord,
    Play,
    Turn,
)
from engine.records.table import after_cube, after_play
from engine.rules import INTERNATIONAL
from engine.scoring import GameEnd, may_double


def played_match(seed: int, beaver: bool = False) -> MatchRecord:
    """A match or a session of random legal plays, with doubles, answers, resignations, comments and Crawford games.

    The record is made turn by turn beside the rules of `engine.scoring`, not by any reader.
    """
    chance = random.Random(seed)
    length = chance.choice((0, 1, 3, 5, 7))
    match = MatchState(length=length, beaver=beaver and not length, jacoby=not length and chance.random() < 0.5)
    games: list[GameRecord] = []
    state: MatchState | None = match
    while state is not None and len(games) < 4:
        game, end = _played_game(chance, state, len(games) + 1)
        games.append(game)
        state = None if end is None else end.next_game()
    comment = chance.choice(("", "played in a café", 'two lines\nof text with a ] and a \\ and a "quote"'))
    return MatchRecord(("Fox", "Ümit"), match, tuple(games), comment=comment)


def played_gammon() -> MatchRecord:
    """A money game, without the Jacoby rule, that was won as a gammon with the cube in the middle."""
    for seed in range(100):
        game, _ = _played_game(random.Random(seed), MatchState(), 1, doubles=0.0, stop_after=1000)
        if game.result == GameResult(Player.X, 2, Ending.PLAYED):
            return MatchRecord(("Fox", "Crow"), games=(game,))
    raise AssertionError("no gammon in a hundred games")


def _played_game(
    chance: random.Random, state: MatchState, number: int, doubles: float = 0.06, stop_after: int | None = None
) -> tuple[GameRecord, GameEnd | None]:
    """A game that begins with this match state, in X's view; how it ended in X's view, None if the record stops."""
    first = chance.choice((Player.X, Player.O))
    position = Position(START, state if first is Player.X else state.flip(), None, first)
    turns: list[Turn] = []
    result: GameResult | None = None
    stop_after = stop_after or chance.choice((6, 30, 90, 1000))
    while result is None and len(turns) < stop_after:
        mover = position.on_roll
        comment = "an odd one [really]" if chance.random() < 0.02 else ""
        if turns and may_double(position.match) and chance.random() < doubles:
            position, result = _offered(chance, position, turns, comment)
            continue
        dice = _roll(chance, opening=not turns)
        plays = legal_plays(position.board, dice, INTERNATIONAL)
        after = plays[chance.randrange(len(plays))]
        turns.append(Play(mover, dice, format_play(position.board, after, dice, INTERNATIONAL), comment=comment))
        table = after_play(position, after)
        position, result = table.position, table.result
    if result is None and chance.random() < 0.8:
        winner = chance.choice((Player.X, Player.O))
        result = GameResult(winner, position.match.cube_value * chance.choice((1, 1, 2)), Ending.RESIGNED)
    game = GameRecord(number, state.score, state.crawford, turns=tuple(turns), result=result)
    if result is None:
        return game, None
    return game, GameEnd(state, Side.MOVER if result.winner is Player.X else Side.OPPONENT, result.points)


def _offered(
    chance: random.Random, position: Position, turns: list[Turn], comment: str
) -> tuple[Position, GameResult | None]:
    """A double and everything that is answered to it."""
    table = after_cube(position, Action.DOUBLE)
    turns.append(CubeTurn(position.on_roll, Action.DOUBLE, comment))
    answers = [Action.TAKE, Action.TAKE, Action.PASS]
    if position.match.beaver and 4 * position.match.cube_value <= position.match.cube_cap:
        answers.append(Action.BEAVER)
    answer = chance.choice(answers)
    if answer is Action.BEAVER:
        turns.append(CubeTurn(table.position.on_roll, answer))
        table = after_cube(table.position, answer)
        answer = chance.choice((Action.TAKE, Action.PASS))
    turns.append(CubeTurn(table.position.on_roll, answer))
    table = after_cube(table.position, answer)
    return table.position, table.result


def _roll(chance: random.Random, opening: bool) -> tuple[int, int]:
    first, second = chance.randint(1, 6), chance.randint(1, 6)
    while opening and first == second:
        second = chance.randint(1, 6)
    return max(first, second), min(first, second)


def without_notes(record: MatchRecord) -> MatchRecord:
    """Without what a reader says about the file."""
    return replace(record, notes=(), source=None)


# --- XG --------------------------------------------------------------------------------------------------------------


def xg_file(records: Sequence[bytes], comments: bytes = b"") -> bytes:
    """A container with these records."""
    files = [("temp.xg", b"".join(records)), *([("temp.xgc", comments)] if comments else [])]
    registry, archive = b"", b""
    for name, content in files:
        packed = zlib.compress(content)
        entry = bytes([len(name)]) + name.encode() + bytes(255 - len(name)) + bytes(256)
        registry += entry + struct.pack("<iiiIBBxx", len(content), len(packed), len(archive), zlib.crc32(content), 0, 2)
        archive += packed
    packed_registry = zlib.compress(registry)
    tail = struct.pack("<Iiiiii12x", 0, len(files), 1, len(packed_registry), len(archive), 1)
    return _xg_head() + archive + packed_registry + tail


def xg_stream(records: Sequence[bytes]) -> bytes:
    """The stream of records alone, as some programs write it."""
    return _xg_head() + zlib.compress(b"".join(records))


def _xg_head() -> bytes:
    return struct.pack("<4siiqi", b"RGMH", 1, 8232, 0, 0) + bytes(8232 - 24)


def xg_match(length: int, names: tuple[str, str] = ("Fox", "Crow"), jacoby: bool = False) -> bytes:
    """The record that begins a file, of version 30."""
    record = bytearray(2560)
    for place, name in zip((9, 50), names, strict=True):
        record[place] = len(name)
        record[place + 1 : place + 1 + len(name)] = name.encode("cp1252")
    struct.pack_into("<ii", record, 92, length or 99999, 0)
    record[100], record[101] = 1, int(jacoby)
    struct.pack_into("<dd", record, 104, 1600.0, 1600.0)
    struct.pack_into("<d", record, 128, 45_000.5)
    struct.pack_into("<ii", record, 576, -1, -1)
    struct.pack_into("<ii", record, 552, 30, 0x494C4D44)
    struct.pack_into("<i", record, 612, 10)
    for place, name in ((880, names[0]), (1138, names[1])):
        text = name.encode("utf-16-le")
        record[place : place + len(text)] = text
    return bytes(record)


def xg_game(score: tuple[int, int] = (0, 0), crawford: bool = False) -> bytes:
    """The record that begins a game."""
    record = bytearray(2560)
    record[8] = 1
    struct.pack_into("<ii", record, 12, *score)
    record[20] = int(crawford)
    struct.pack_into("<i", record, 48, 1)
    struct.pack_into("<ii", record, 56, -1, -1)
    return bytes(record)


def xg_move(
    position: Position, dice: tuple[int, int], moves: Sequence[int], after: Sequence[int], comment: int = -1
) -> bytes:
    """A roll: `moves` are pairs of points counted from 0; `after` is in the mover's view."""
    record = bytearray(2560)
    record[8] = 3
    mine = position.on_roll is Player.X
    board = position.board if mine else -position.board[::-1]
    struct.pack_into("<26b", record, 9, *(int(count) for count in board))
    struct.pack_into("<26b", record, 35, *after)
    struct.pack_into("<i", record, 64, 1 if mine else -1)
    struct.pack_into("<8i", record, 68, *moves, *([-1] * (8 - len(moves))))
    struct.pack_into("<ii", record, 100, *dice)
    struct.pack_into("<d", record, 2320, 0.0)
    struct.pack_into("<i", record, 2524, comment)
    return bytes(record)


def xg_cube(position: Position, answer: int, equities: tuple[float, float, float] | None) -> bytes:
    """A double with its answer (0 pass, 1 take, 2 beaver), with an analysis or without one."""
    record = bytearray(2560)
    record[8] = 2
    mine = position.on_roll is Player.X
    board = position.board if mine else -position.board[::-1]
    struct.pack_into("<5i", record, 12, 1 if mine else -1, 1, answer, -1, -1)
    struct.pack_into("<26b", record, 36, *(int(count) for count in board))
    if equities is not None:
        struct.pack_into("<i", record, 64 + 28, 2)
        struct.pack_into("<7f", record, 64 + 60, 0.0, 0.125, 0.25, 0.75, 0.5, 0.0, 0.5)
        struct.pack_into("<3f", record, 64 + 88, *equities)
    struct.pack_into("<i", record, 232, -1 if equities is None else 2)
    struct.pack_into("<i", record, 292, -1)
    return bytes(record)


def xg_end(winner: int, points: int, how: int) -> bytes:
    """The record that ends a game."""
    record = bytearray(2560)
    record[8] = 4
    struct.pack_into("<iii", record, 24, winner, points, how)
    return bytes(record)


# --- BGBlitz ---------------------------------------------------------------------------------------------------------


def bgf_file(match: dict[str, Any]) -> bytes:
    """A match as plain JSON behind the line that says so."""
    head = b'{"format":"BGF","version":"1.0","compress":false,"useSmile":false}\n'
    return head + json.dumps(match).encode()


def bgf_move(player: int, dice: tuple[int, int], *steps: tuple[int, int], **other: Any) -> dict[str, Any]:
    """A move; dice (kind, 7) are what is no play."""
    padded = [*steps, *([(-1, -1)] * (4 - len(steps)))]
    return {
        "type": "amove",
        "red": dice[0],
        "green": dice[1],
        "player": player,
        "from": [start for start, _ in padded],
        "to": [end for _, end in padded],
        **other,
    }
