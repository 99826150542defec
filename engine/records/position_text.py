"""Reading text exports of positions: XG and BGBlitz write an XGID, a diagram and the analysis, in many languages.

Only an XGID that heads a position counts: alone on its line, with the players or the diagram beside it. Words differ
by language, so the analysis is read by its shape: numbers, `%`, `/` and order. Commas stand for points in some.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from engine.errors import InputError
from engine.notation import Spoken
from engine.position import Position
from engine.records.builder import MOST_GAMES, build
from engine.records.encoding import lines_of
from engine.records.found import FoundGame, FoundMatch
from engine.records.id_list import shared_match
from engine.records.plays import read_spoken
from engine.records.record import (
    Candidate,
    Chances,
    CubeAnalysis,
    MatchRecord,
    Note,
    PlayAnalysis,
    Problem,
    RecordFormat,
    Source,
)
from engine.xgid import parse_xgid

_N = r"[-+]?\d{1,6}[.,]\d{1,6}"
_HEADER = re.compile(r"\s*(XGID=\S{20,80})\s*", re.IGNORECASE)
_PLAYERS = re.compile(r"\s*X:\s?(.*?)\s{2,}O:\s?(.*?)\s*")
_DIAGRAM = re.compile(r"\s*\+1[23]-.*")
_IDS = re.compile(r".*Position-ID:\s*\S{14}.*")
_XG_PLAY = re.compile(rf"\s*\d{{1,3}}\.\s+(\S.*?)\s{{2,}}(\S.*?)\s+\S{{1,6}}[:：]\s*({_N})\b.*", re.ASCII)
_BGBLITZ_PLAY = re.compile(rf"\s*\d{{1,3}}\.\s+(?:{_N}\s+\S+\s*/)?\s*({_N})\s+(?:\(\s*{_N}\)\s+)?(\S.*?)\s*", re.ASCII)
_PERCENT = re.compile(r"(\d{1,3}[.,]\d{1,4})\s*%")
_SIX = re.compile(rf"\s*({_N})\s+({_N})\s+({_N})\s+-\s+({_N})\s+({_N})\s+({_N})\s*")
_XG_CUBE = re.compile(rf"\s+\S.*?[:：]\s+({_N})(?:\s+\(\s*{_N}\))?\s*")
_BGBLITZ_CUBE = re.compile(rf"\s*(\S.*?)\s*[:：]\s*({_N})\s*\(\s*{_N}\)(?:\s+({_N})\s*\(\s*{_N}\))?\s*")
_THREE = re.compile(r"\s*\S.*?\s(\d{1,3}[.,]\d{1,3})\s+(\d{1,3}[.,]\d{1,3})\s+(\d{1,3}[.,]\d{1,3})\s*")
_LEVEL = re.compile(r"(XG ?Roller\+{0,3}|\d{1,2}-ply|Rollout\w*)")

_MOST_LINE = 400


@dataclass(frozen=True, slots=True)
class _Block:
    """One position of a text."""

    xgid: str
    lines: tuple[str, ...]
    """From its header to the next one."""
    bgblitz: bool


def looks_like_positions(text: str) -> bool:
    """Whether a text holds a position as XG or BGBlitz export it."""
    return bool(_blocks(text))


def read_positions(text: str, encoding: str = "") -> MatchRecord:
    """Read the positions of a text; each becomes a game that starts there.

    Raises:
        InputError: not one position in it.
    """
    blocks = _blocks(text)
    program = "BGBlitz" if blocks and blocks[0].bgblitz else "eXtreme Gammon"
    found = FoundMatch(Source(RecordFormat.POSITION_TEXT, program, encoding))
    for block in blocks[:MOST_GAMES]:
        try:
            position = parse_xgid(block.xgid)
        except InputError as error:
            found.notes.append(Note(Problem.IGNORED, str(error)))
            continue
        found.games.append(_game(block, position, program))
    if not found.games:
        raise InputError("text", text.strip()[:60], "a position with its XGID")
    found.match = shared_match([game.start for game in found.games if game.start is not None])
    found.players = next((players for line in lines_of(text) if (players := _players(line))), ("", ""))
    return build(found)


def _players(line: str) -> tuple[str, str] | None:
    told = _PLAYERS.fullmatch(line) if len(line) <= _MOST_LINE else None
    return (told[1], told[2]) if told is not None else None


def _blocks(text: str) -> list[_Block]:
    lines = lines_of(text)
    heads = []
    for place, line in enumerate(lines):
        if len(line) > _MOST_LINE or "XGID=" not in line.upper():
            continue
        header = _HEADER.fullmatch(line)
        if header is None:
            continue
        after = [near for near in lines[place + 1 : place + 6] if near.strip()][:2]
        bgblitz = place > 0 and _IDS.fullmatch(lines[place - 1]) is not None
        if bgblitz or any(_players(near) or _DIAGRAM.fullmatch(near) for near in after):
            heads.append((place, header[1], bgblitz))
    ends = [place for place, _, _ in heads[1:]] + [len(lines)][: len(heads)]
    return [
        _Block(xgid, tuple(line for line in lines[place + 1 : end] if len(line) <= _MOST_LINE), bgblitz)
        for (place, xgid, bgblitz), end in zip(heads, ends, strict=True)
    ]


def _game(block: _Block, position: Position, program: str) -> FoundGame:
    game = FoundGame(start=position)
    if position.dice is not None:
        game.open_play, game.open_candidates = _plays(block, program)
    else:
        game.open_cube = (_bgblitz_cube if block.bgblitz else _xg_cube)(block.lines, program)
    return game


def _plays(block: _Block, program: str) -> tuple[PlayAnalysis | None, list[Spoken]]:
    candidates: list[Candidate] = []
    spoken: list[Spoken] = []
    for place, line in enumerate(block.lines):
        told = (_BGBLITZ_PLAY if block.bgblitz else _XG_PLAY).fullmatch(line)
        if told is None:
            continue
        level, words, equity = ("", told[2], told[1]) if block.bgblitz else (told[1], told[2], told[3])
        said = read_spoken(words)
        if said is not None:
            chances = _chances(block.lines[place + 1 : place + 3])
            candidates.append(Candidate("", _number(equity), chances, level))
            spoken.append(said)
    return (PlayAnalysis(tuple(candidates), None, program), spoken) if candidates else (None, [])


def _chances(lines: Sequence[str]) -> Chances | None:
    """Two lines of percentages (win, gammon, backgammon of both sides), or one of six numbers."""
    six = _SIX.fullmatch(lines[0]) if lines else None
    if six is not None:
        numbers = [_number(number) for number in six.groups()]
        return Chances(numbers[0], numbers[1], numbers[2], numbers[4], numbers[5])
    percents = [[round(_number(number) / 100, 6) for number in _PERCENT.findall(line)] for line in lines[:2]]
    if len(percents) < 2 or any(len(row) < 3 for row in percents):
        return None
    return Chances(*percents[0][:3], *percents[1][1:3])


def _xg_cube(lines: Sequence[str], program: str) -> CubeAnalysis | None:
    """No double, double/take, double/pass, in this order in every language."""
    values = [_number(told[1]) for line in lines if (told := _XG_CUBE.fullmatch(line)) and "=" not in line]
    rows = [place for place, line in enumerate(lines) if len(_PERCENT.findall(line)) >= 3]
    if len(values) < 3:
        return None
    chances = _chances(lines[rows[0] : rows[0] + 2]) if rows else None
    level = next((told[1] for line in lines if (told := _LEVEL.search(line))), "")
    return CubeAnalysis(
        no_double=values[0],
        double_take=values[1],
        double_pass=values[2],
        chances=chances,
        level=level,
        program=program,
    )


def _bgblitz_cube(lines: Sequence[str], program: str) -> CubeAnalysis | None:
    """Best first: `no double` alone has no stroke in its name, and a pass is worth exactly 1."""
    no_double, offers = None, []
    for line in lines:
        told = _BGBLITZ_CUBE.fullmatch(line)
        if told is None:
            continue
        value = _number(told[3] or told[2])
        if "/" in told[1]:
            offers.append(value)
        else:
            no_double = value
    if no_double is None or len(offers) != 2:
        return None
    offers.sort(key=lambda value: abs(value - 1))
    rows = [
        [round(_number(number) / 100, 6) for number in told.groups()]
        for line in lines
        if (told := _THREE.fullmatch(line))
    ]
    # The player on roll stands second.
    chances = Chances(*rows[1], *rows[0][1:]) if len(rows) >= 2 else None
    return CubeAnalysis(
        no_double=no_double, double_take=offers[1], double_pass=offers[0], chances=chances, program=program
    )


def _number(text: str) -> float:
    return float(text.replace(",", "."))
