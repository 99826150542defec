"""Our own format: the whole record as JSON.

    {"format": "gammonfarm record", "version": 1, "players": ["Fox", "Crow"], "match": {"length": 5}, "games": [...]}

Every field of the dataclasses in `record` under its name; fields with their usual value are left out. Enums are their
values, players `X` and `O`, positions XGIDs, rule sets their names.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import json
import math
import types
import typing
from dataclasses import replace
from typing import Any

from engine.errors import GammonfarmError, InputError
from engine.match import MatchState
from engine.position import Player, Position
from engine.records.encoding import decode
from engine.records.record import Action, CubeTurn, GameRecord, MatchRecord, Play
from engine.records.replay import game_decisions
from engine.records.table import with_options
from engine.rules import INTERNATIONAL, RuleSet, rule_set
from engine.xgid import format_xgid, parse_xgid

FORMAT = "gammonfarm record"
VERSION = 1


def write_json(record: MatchRecord) -> str:
    """The document, with a line's end."""
    document = {"format": FORMAT, "version": VERSION, **_object(record)}
    return json.dumps(document, ensure_ascii=False, indent=1) + "\n"


def looks_like_json(text: str) -> bool:
    """Whether a text begins like one of our documents."""
    return text.lstrip().startswith("{") and f'"{FORMAT}"' in text[:500]


def read_json(data: bytes) -> MatchRecord:
    """Read a document.

    Raises:
        InputError: no JSON, another version, or a field that is not as it should be.
    """
    try:
        document = json.loads(decode(data)[0], parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise InputError("record", f"{len(data)} bytes", "JSON") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise InputError("format", str(document)[:60], repr(FORMAT))
    if document.get("version") != VERSION:
        raise InputError("version", document.get("version"), str(VERSION))
    fields = {name: value for name, value in document.items() if name not in ("format", "version")}
    record = _dataclass(MatchRecord, fields, "record")
    assert isinstance(record, MatchRecord)
    games = tuple(_with_options(game, record.match) for game in record.games)
    for place, game in enumerate(games):
        _follow(record.match, game, f"record.games[{place}]")
    return replace(record, games=games)


def _refuse(constant: str) -> float:
    raise ValueError(constant)


def _with_options(game: GameRecord, match: MatchState) -> GameRecord:
    return game if game.start is None else replace(game, start=with_options(game.start, match))


def _follow(match: MatchState, game: GameRecord, where: str) -> None:
    """Records promise that they can be followed."""
    if game.result is not None and game.result.points < 1:
        raise InputError(f"{where}.result.points", game.result.points, "at least 1")
    if min(game.number, *game.score) < 0:
        raise InputError(where, f"number {game.number}, score {game.score}", "no negative number")
    try:
        for _ in game_decisions(match, game):
            pass
    except GammonfarmError as error:
        raise InputError(where, str(error), "a game that can be followed") from None


def _object(value: Any) -> dict[str, Any]:
    told: dict[str, Any] = {"action": value.action.value} if isinstance(value, Play) else {}
    for field in dataclasses.fields(value):
        content = getattr(value, field.name)
        if content != _default(field):
            told[field.name] = _plain(content)
    return told


def _plain(value: Any) -> Any:
    if isinstance(value, Position):
        return format_xgid(value)
    if isinstance(value, RuleSet):
        return value.name
    if isinstance(value, Player):
        return value.name
    if isinstance(value, enum.Enum):
        return value.value
    if dataclasses.is_dataclass(value):
        return _object(value)
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value


def _default(field: dataclasses.Field[Any]) -> Any:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return field.default


@functools.cache
def _hints(kind: type) -> dict[str, Any]:
    """Types of a dataclass's fields."""
    return typing.get_type_hints(kind)


def _dataclass(kind: type, told: Any, where: str) -> Any:
    if not isinstance(told, dict):
        raise InputError(where, str(told)[:60], "an object")
    hints = _hints(kind)
    unknown = set(told) - set(hints) - ({"action"} if kind is Play else set())
    if unknown:
        raise InputError(where, min(unknown), "only fields of this version")
    fields = {name: _value(hints[name], item, f"{where}.{name}") for name, item in told.items() if name in hints}
    try:
        return kind(**fields)
    except TypeError:
        raise InputError(where, ", ".join(sorted(told)), f"all fields of a {kind.__name__}") from None


def _value(kind: Any, told: Any, where: str) -> Any:
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        if told is None and type(None) in arguments:
            return None
        if Play in arguments:
            is_play = isinstance(told, dict) and told.get("action") == Action.PLAY.value
            return _dataclass(Play if is_play else CubeTurn, told, where)
        return _value(next(argument for argument in arguments if argument is not type(None)), told, where)
    if origin is tuple:
        return _tuple(arguments, told, where)
    if kind is Position:
        return parse_xgid(_checked(told, str, where))
    if kind is RuleSet:
        return rule_set(_checked(told, str, where)) if told != INTERNATIONAL.name else INTERNATIONAL
    if kind is Player:
        return _member({player.name: player for player in Player}, told, where)
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return _member({member.value: member for member in kind}, told, where)
    if dataclasses.is_dataclass(kind):
        return _dataclass(typing.cast(type, kind), told, where)
    if kind is float:
        if isinstance(told, bool) or not isinstance(told, int | float) or not math.isfinite(told):
            raise InputError(where, str(told)[:60], "a number")
        return float(told)
    return _checked(told, kind, where)


def _tuple(arguments: tuple[Any, ...], told: Any, where: str) -> tuple[Any, ...]:
    if not isinstance(told, list):
        raise InputError(where, str(told)[:60], "a list")
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        return tuple(_value(arguments[0], item, f"{where}[{place}]") for place, item in enumerate(told))
    if len(told) != len(arguments):
        raise InputError(where, f"{len(told)} items", f"{len(arguments)} items")
    return tuple(_value(kind, item, where) for kind, item in zip(arguments, told, strict=True))


def _member(members: dict[Any, Any], told: Any, where: str) -> Any:
    if not isinstance(told, str) or told not in members:
        raise InputError(where, str(told)[:60], f"one of {', '.join(map(str, members))}")
    return members[told]


def _checked(told: Any, kind: type, where: str) -> Any:
    if not isinstance(told, kind) or (kind is int and isinstance(told, bool)):
        raise InputError(where, str(told)[:60], {str: "text", int: "a whole number", bool: "true or false"}[kind])
    return told
