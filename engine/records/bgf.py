"""Reading BGBlitz matches, .bgf: a line of JSON that says how the rest is packed, then gzip, then Smile or JSON.

"Green" is player -1 and our first player, red is player 1. Every move has two dice; 7 on the green one marks what is no
play: red 1 doubles, 2 takes, 3 drops, 4 ends the game (for the winner), 5 dances with the dice in the first `from` and
`to`. Points are in the mover's numbering, 25 the bar, 0 off. Numbers are text; -999 means that nothing was worked out.

Source: files; there is no public description.
"""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace

from engine.board import flip, make_board
from engine.errors import InputError
from engine.match import DEFAULT_CUBE_CAP, MAX_POINTS, CubeOwner, MatchState
from engine.notation import Spoken
from engine.position import Player, Position
from engine.records.builder import build
from engine.records.encoding import MOST_BYTES, check_size
from engine.records.found import FoundCube, FoundGame, FoundMatch, FoundPlay
from engine.records.header import date_of
from engine.records.record import (
    About,
    Action,
    Candidate,
    Chances,
    CubeAnalysis,
    Ending,
    MatchRecord,
    Note,
    PlayAnalysis,
    Problem,
    RecordFormat,
    Source,
    Unit,
)
from engine.records.smile import MAGIC, JsonValue, read_smile

PROGRAM = "BGBlitz"

_Json = Mapping[str, JsonValue]
_UNKNOWN = -99.0
_DOUBLES, _TAKES, _DROPS, _ENDS, _DANCES = range(1, 6)
_ACTIONS = {_DOUBLES: Action.DOUBLE, _TAKES: Action.TAKE, _DROPS: Action.PASS}
_NO_PLAY_DIE = 7
_MOST_CANDIDATES = 100
_MOST_NUMBER = 1_000_000


def looks_like_bgf(data: bytes) -> bool:
    """Whether the first line says so."""
    return data[:200].lstrip().startswith(b'{"format":"BGF"')


def read_bgf(data: bytes) -> MatchRecord:
    """Read a match or a session.

    Raises:
        InputError: broken, or more than a match could hold.
    """
    check_size(data)
    head, _, body = data.partition(b"\n")
    root = _object(_content(head, body))
    notes: list[Note] = []
    found = FoundMatch(
        Source(RecordFormat.BGF, PROGRAM, _text(_object(_json(head)), "version")),
        (_text(root, "nameGreen"), _text(root, "nameRed")),
        _options(root, notes),
        about=_about(root),
        comment=_text(root, "comment"),
        notes=notes,
    )
    games = root.get("games")
    if not isinstance(games, list):
        raise InputError("BGBlitz match", type(games).__name__, "a list of games")
    found.games = [_game(_object(game), found.match, number) for number, game in enumerate(games, start=1)]
    return build(found)


def _content(head: bytes, body: bytes) -> JsonValue:
    if not body:
        return _json(head)
    if body.startswith(b"\x1f\x8b"):
        unpacker = zlib.decompressobj(zlib.MAX_WBITS | 16)
        try:
            body = unpacker.decompress(body, MOST_BYTES + 1)
        except zlib.error:
            raise InputError("BGBlitz match", f"{len(body)} bytes", "gzip") from None
        check_size(body)
    return read_smile(body) if body.startswith(MAGIC) else _json(body)


def _json(data: bytes) -> JsonValue:
    try:
        value: JsonValue = json.loads(data)
    except (ValueError, RecursionError):
        raise InputError("BGBlitz match", data[:40], "JSON") from None
    return value


def _options(root: _Json, notes: list[Note]) -> MatchState:
    length = _whole(root, "matchlen")
    if not 0 <= length <= MAX_POINTS:
        raise InputError("match length", length, f"0 (money) to {MAX_POINTS}")
    if _whole(root, "gameMode"):
        notes.append(Note(Problem.IGNORED, f"variant {_whole(root, 'gameMode')} of BGBlitz; read as backgammon"))
    cap = _whole(root, "cubeLimit")
    if root.get("useCube") is False:
        cap = 1
    return MatchState(
        length=length,
        cube_cap=cap if 0 < cap <= 1 << 30 and cap & (cap - 1) == 0 else DEFAULT_CUBE_CAP,
        jacoby=not length and root.get("useJacoby") is True,
        beaver=not length and root.get("useBeaver") is True,
        crawford_rule=root.get("useCrawford") is not False,
    )


def _about(root: _Json) -> About:
    ratings = [_text(root, name) for name in ("ratingGreen", "ratingRed")]
    shown = [rating if rating not in ("0", "0.0") else "" for rating in ratings]
    match_id = _text(root, "extMatchID")
    return About(
        event=_text(root, "event"),
        round=_text(root, "round"),
        place=_text(root, "location") or _text(root, "site"),
        date=date_of(_text(root, "date")),
        ratings=(shown[0], shown[1]),
        other=(("Match ID", match_id),) if match_id else (),
    )


def _game(told: _Json, match: MatchState, number: int) -> FoundGame:
    score = (max(_whole(told, "scoreGreen"), 0), max(_whole(told, "scoreRed"), 0))
    game = FoundGame(score, number, told.get("isCrawford") is True)
    game.comments = [text for text in _texts(told.get("comment")) if text]
    moves = told.get("moves")
    steps = [_object(move) for move in moves] if isinstance(moves, list) else []
    first = _player(steps[0]) if steps else Player.X
    game.start = _start(told.get("initial"), match, game, first)
    for step in steps:
        _step(game, step)
    if told.get("lostOnTime") is True:
        game.ending = Ending.TIME
    elif told.get("wasForfeit") is True:
        game.ending = Ending.FORFEIT
    if game.winner is not None and _whole(told, "wonPoints") > 0:
        game.points = _whole(told, "wonPoints")
    return game


def _start(initial: JsonValue, match: MatchState, game: FoundGame, first: Player) -> Position | None:
    """A start that isn't the usual one. `points` holds green's checkers as negative numbers, in green's numbering."""
    if not isinstance(initial, dict):
        return None
    points, cube = initial.get("points"), max(_whole(initial, "cube"), 1)
    if not isinstance(points, list) or len(points) < 24 or not all(isinstance(count, int) for count in points):
        return None
    counts = [0, *(-int(count) for count in points[:24] if isinstance(count, int)), 0]
    usual = [int(count) for count in match.rules.start.board]
    if counts == usual and cube == 1:
        return None
    owner = {-1: Player.X, 1: Player.O}.get(_whole(initial, "cubeOwner"))
    cube_owner = CubeOwner.CENTRED
    if owner is not None and cube > 1:
        cube_owner = CubeOwner.MOVER if owner is first else CubeOwner.OPPONENT
    score = game.score or (0, 0)
    try:
        state = replace(
            match,
            score=score if first is Player.X else (score[1], score[0]),
            cube_value=cube,
            cube_owner=cube_owner,
            crawford=bool(game.crawford) and match.length > 1,
        )
        board = make_board(counts)
        return Position(board if first is Player.X else flip(board), state, None, first)
    except InputError as error:
        game.notes.append(Note(Problem.CUT, f"the position at the start is impossible: {error}"))
        return None


def _step(game: FoundGame, step: _Json) -> None:
    player, red, green = _player(step), _whole(step, "red"), _whole(step, "green")
    starts, ends = _wholes(step.get("from")), _wholes(step.get("to"))
    comment = _text(step, "comment")
    evaluation = step.get("equity")
    cube = _cube_analysis(evaluation, _whole(step, "ply")) if isinstance(evaluation, dict) else None
    if green != _NO_PLAY_DIE:
        analysis, candidates = _play_analysis(step)
        found = FoundPlay(player, _dice(red, green), _spoken(starts, ends), comment=comment, analysis=analysis)
        found.spoken_candidates, found.cube_analysis = candidates, cube
        found.recorded = _words(found.spoken)
        game.turns.append(found)
    elif red == _DANCES and starts and ends:
        game.turns.append(
            FoundPlay(
                player, _dice(starts[0], ends[0]), Spoken(), recorded="no play", comment=comment, cube_analysis=cube
            )
        )
    elif red in _ACTIONS:
        # What stands beside an answer is in the view of the player who answers.
        shown = cube if red == _DOUBLES else None
        game.turns.append(FoundCube(player, _ACTIONS[red], comment=comment, cube_analysis=shown))
    elif red == _ENDS:
        game.winner = player
    else:
        game.notes.append(Note(Problem.IGNORED, f"a move of kind {red}", turn=len(game.turns) + 1))


def _play_analysis(step: _Json) -> tuple[PlayAnalysis | None, list[Spoken]]:
    listed = step.get("moveAnalysis")
    candidates: list[Candidate] = []
    spoken: list[Spoken] = []
    for item in listed[:_MOST_CANDIDATES] if isinstance(listed, list) else ():
        told = _object(item)
        move, evaluation = _object(told.get("move")), _object(told.get("eq"))
        said = _spoken(_wholes(move.get("from")), _wholes(move.get("to")))
        equity = _equity(evaluation)
        if said is not None and equity is not None:
            candidates.append(Candidate("", equity, _chances(evaluation), f"{_whole(told, 'ply')}-ply"))
            spoken.append(said)
    luck = step.get("luck")
    value = _real(luck, "luckWeighted") if isinstance(luck, dict) else None
    if not candidates and value is None:
        return None, []
    return PlayAnalysis(tuple(candidates), value, PROGRAM), spoken


def _equity(evaluation: _Json) -> float | None:
    """Normalised equity in a match; for money the cubeful one."""
    if evaluation.get("hasEMG") is True:
        return _real(evaluation, "emg")
    cube = evaluation.get("cubeDecision")
    cubeful = _real(cube, "eqCubeFul") if isinstance(cube, dict) else None
    return cubeful if cubeful is not None else _real(evaluation, "equity")


def _cube_analysis(evaluation: _Json, plies: int) -> CubeAnalysis | None:
    cube = evaluation.get("cubeDecision")
    if not isinstance(cube, dict):
        return None
    return CubeAnalysis(
        Unit.MWC if evaluation.get("useMatchEquity") is True else Unit.EQUITY,
        _real(cube, "eqNoDouble"),
        _real(cube, "eqDoubleTake"),
        _real(cube, "eqDoublePass"),
        _chances(evaluation),
        f"{plies}-ply",
        PROGRAM,
    )


def _chances(evaluation: _Json) -> Chances | None:
    names = ("myWins", "myGammon", "myBackGammon", "oppGammon", "oppBackGammon")
    values = [_real(evaluation, name) for name in names]
    known = [value for value in values if value is not None]
    return Chances(*known) if len(known) == len(names) else None


def _spoken(starts: Sequence[int], ends: Sequence[int]) -> Spoken | None:
    segments = [(start, max(end, 0)) for start, end in zip(starts, ends, strict=False) if start > 0]
    if any(start > 25 or end >= start for start, end in segments) or len(segments) > 4:
        return None
    return Spoken(tuple(segments))


def _words(spoken: Spoken | None) -> str:
    names = {25: "bar", 0: "off"}
    return " ".join(f"{names.get(a, a)}/{names.get(b, b)}" for a, b in spoken.segments) if spoken else ""


def _dice(first: int, second: int) -> tuple[int, int] | None:
    return (max(first, second), min(first, second)) if 1 <= first <= 6 and 1 <= second <= 6 else None


def _player(step: _Json) -> Player:
    return Player.X if _whole(step, "player") == -1 else Player.O


def _object(value: JsonValue) -> _Json:
    return value if isinstance(value, dict) else {}


def _whole(told: _Json, name: str) -> int:
    value = told.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < _MOST_NUMBER else 0


def _wholes(value: JsonValue) -> list[int]:
    listed = value[:_MOST_CANDIDATES] if isinstance(value, list) else []
    return [item for item in listed if isinstance(item, int) and not isinstance(item, bool)]


def _text(told: _Json, name: str) -> str:
    value = told.get(name)
    return "" if value is None or isinstance(value, list | dict | bool) else str(value).strip()


def _texts(value: JsonValue) -> list[str]:
    if isinstance(value, list):
        return [str(item).strip() for item in value if isinstance(item, str)]
    return [value.strip()] if isinstance(value, str) else []


def _real(told: _Json, name: str) -> float | None:
    """Numbers stand as text; below -99 means that there is none."""
    value = told.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except ValueError:
        return None
    return number if math.isfinite(number) and number > _UNKNOWN else None
