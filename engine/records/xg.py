"""Reading XG's binary files, .xg and .xgp: one record of 2,560 bytes for each step of a match.

Byte 8 of a record is its kind; fields stand at fixed places, integers in 4 bytes, names as Pascal strings in
Windows-1252 and, since version 24, also in UTF-16. Points are counted from 0 in moves, from 1 in positions. Positions
before a decision are in player 1's view, those after a play and those of candidates in the mover's. Player 1 is
`Player.X`. Six probabilities stand as lose backgammon, lose gammon, lose, win, win gammon, win backgammon.

Sources: the public description of the format by its author, and files.
"""

from __future__ import annotations

import datetime
import math
import struct
from dataclasses import replace

import numpy as np

from engine.board import CHECKERS, Board
from engine.errors import InputError
from engine.match import DEFAULT_CUBE_CAP, MAX_POINTS, MatchState
from engine.notation import Spoken
from engine.position import Player
from engine.records.builder import build
from engine.records.found import FoundCube, FoundGame, FoundMatch, FoundPlay, SetUp
from engine.records.plays import words_of
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
)
from engine.records.rtf import plain_text
from engine.records.xg_file import RECORD_BYTES, read_container
from engine.rules import HYPERGAMMON, INTERNATIONAL, NACKGAMMON

PROGRAM = "eXtreme Gammon"

_MATCH, _GAME, _CUBE, _MOVE, _GAME_END, _MATCH_END = range(6)
_MONEY = 99999
_NOT_DONE = -1000.0
_MOST_CANDIDATES = 32
_RULES = {0: INTERNATIONAL, 1: NACKGAMMON, 2: HYPERGAMMON}
_LEVELS = {12: "3-ply red", 100: "rollout", 998: "opening book 2", 999: "opening book 1"} | {
    1000: "XG Roller",
    1001: "XG Roller+",
    1002: "XG Roller++",
}
_BEST = 124
"""Where the analysis of a play begins; its boards, moves, levels and values follow a head of 68 bytes."""
_BOARDS, _MOVES = _BEST + 68, _BEST + 68 + 26 * _MOST_CANDIDATES
_EVAL_LEVELS = _MOVES + 8 * _MOST_CANDIDATES
_EVALS = _EVAL_LEVELS + 4 * _MOST_CANDIDATES
_DOUBLE = 64
"""Where the analysis of a cube decision begins."""
_EPOCH = datetime.date(1899, 12, 30)


class _Record:
    """Fields of one record by their places."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.kind = data[8]

    def whole(self, place: int) -> int:
        """int32."""
        return int(struct.unpack_from("<i", self._data, place)[0])

    def short(self, place: int) -> int:
        """int16."""
        return int(struct.unpack_from("<h", self._data, place)[0])

    def flag(self, place: int) -> bool:
        """One byte."""
        return self._data[place] != 0

    def real(self, place: int) -> float | None:
        """Double; None where XG says that it was not worked out."""
        value = float(struct.unpack_from("<d", self._data, place)[0])
        return value if math.isfinite(value) and value > _NOT_DONE else None

    def singles(self, place: int, count: int) -> list[float] | None:
        """float32[count]; None if one of them is no number."""
        values = [float(value) for value in struct.unpack_from(f"<{count}f", self._data, place)]
        return [round(value, 6) for value in values] if all(map(math.isfinite, values)) else None

    def places(self, place: int) -> list[int]:
        """int8[26]."""
        return list(struct.unpack_from("<26b", self._data, place))

    def bytes8(self, place: int) -> tuple[int, ...]:
        """int8[8]."""
        return struct.unpack_from("<8b", self._data, place)

    def pascal(self, place: int) -> str:
        """A string with its length in front, in Windows-1252."""
        length = self._data[place]
        return self._data[place + 1 : place + 1 + length].decode("cp1252", "replace").strip()

    def wide(self, place: int, count: int = 129) -> str:
        """UTF-16 up to the first zero."""
        text = self._data[place : place + 2 * count].decode("utf-16-le", "replace")
        return text.split("\0", 1)[0].strip()

    def player(self, place: int) -> Player:
        """1 or -1."""
        return Player.O if self.whole(place) == -1 else Player.X


def read_xg(data: bytes) -> MatchRecord:
    """Read a match, a session or a position.

    Raises:
        InputError: broken, or no records of a match in it.
    """
    inside = read_container(data)
    pages = [
        _Record(inside.records[begin : begin + RECORD_BYTES])
        for begin in range(0, len(inside.records) - RECORD_BYTES + 1, RECORD_BYTES)
    ]
    if pages[0].kind != _MATCH:
        raise InputError("XG file", f"a record of kind {pages[0].kind}", "the header of a match first")
    return build(_Reader(pages[0], _comments(inside.comments)).read(pages[1:]))


def _comments(data: bytes) -> list[str]:
    """One comment a line, in which bytes 1 and 2 stand for a line's end."""
    lines = data.split(b"\r\n")
    texts = []
    for line in lines[:-1] if lines[-1] == b"" else lines:
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError:
            text = line.decode("cp1252", "replace")
        texts.append(plain_text(text.replace("\x01\x02", "\n")))
    return texts


class _Reader:
    """Turns records into games."""

    def __init__(self, head: _Record, comments: list[str]) -> None:
        self._comments = dict(enumerate(comments))
        self._version = head.whole(552)
        self._found = FoundMatch(Source(RecordFormat.XG, PROGRAM, f"version {self._version}"))
        self._found.match = self._options(head)
        self._names(head)
        self._head_comments = [self._comment(head.whole(576)), self._comment(head.whole(580))]
        self._pending: CubeAnalysis | None = None
        self._pending_comment = ""

    def read(self, pages: list[_Record]) -> FoundMatch:
        """All games of the records after the header."""
        game: FoundGame | None = None
        for page in pages:
            if page.kind == _GAME:
                game = self._game(page)
                self._found.games.append(game)
            elif game is None:
                continue
            elif page.kind == _CUBE:
                self._cube(game, page)
            elif page.kind == _MOVE:
                self._move(game, page)
            elif page.kind == _GAME_END:
                self._end(game, page)
        if game is not None and self._pending is not None:
            game.open_cube = self._pending
        left = [text for text in self._comments.values() if text]
        self._found.comment = "\n".join(text for text in [*self._head_comments, *left] if text)
        return self._found

    def _options(self, head: _Record) -> MatchState:
        length = head.whole(92)
        length = 0 if length == _MONEY else length
        if not 0 <= length <= MAX_POINTS:
            raise InputError("match length", length, f"0 (money) to {MAX_POINTS}")
        rules = _RULES.get(head.whole(96))
        if rules is None:
            self._found.notes.append(Note(Problem.IGNORED, f"variant {head.whole(96)} of XG; read as backgammon"))
        cap = head.whole(612) if self._version >= 8 else 0
        state = MatchState(
            length=length,
            cube_cap=1 << cap if 0 < cap <= 30 else DEFAULT_CUBE_CAP,
            crawford_rule=head.flag(100),
            jacoby=not length and head.flag(101),
            beaver=not length and head.flag(102),
            automatic_doubles=0 if length or not head.flag(103) else min(max(head.whole(616), 1), 30),
        )
        return state if rules is None else replace(state, rules=rules)

    def _names(self, head: _Record) -> None:
        wide = self._version >= 24
        names = [head.wide(622 + 258 * place) if wide else "" for place in range(5)]
        old = (136, 9, 50, 283, 417)
        event, first, second, location, round_name = (
            name or head.pascal(place) for name, place in zip(names, old, strict=True)
        )
        self._found.players = (first, second)
        elo = [head.real(place) for place in (104, 112)]
        ratings = [
            "" if rating is None or not 0 < rating < 10_000 else f"{rating:.2f}/{head.whole(place)}"
            for rating, place in zip(elo, (120, 124), strict=True)
        ]
        self._found.about = About(
            event=event,
            round=round_name,
            place=location,
            date=_date(head.real(128)),
            annotator=head.wide(2008) if self._version >= 30 else "",
            ratings=(ratings[0], ratings[1]),
        )

    def _comment(self, number: int) -> str:
        return self._comments.pop(number, "") if number >= 0 else ""

    def _game(self, page: _Record) -> FoundGame:
        score = (max(page.whole(12), 0), max(page.whole(16), 0))
        game = FoundGame(score, page.whole(48) if 0 < page.whole(48) < 10_000 else None, page.flag(20))
        game.comments += [text for text in (self._comment(page.whole(56)), self._comment(page.whole(60))) if text]
        if self._version >= 26 and 0 < page.whole(64) <= 20 and self._found.match.is_money:
            game.automatic_doubles = page.whole(64)
        self._pending, self._pending_comment = None, ""
        return game

    def _cube(self, game: FoundGame, page: _Record) -> None:
        player, doubled = page.player(12), page.whole(16)
        self._begin(game, page.places(36), player, page.whole(32))
        analysis = _cube_analysis(page) if doubled != -2 else None
        comment = self._comment(page.whole(292))
        if doubled != 1:
            self._pending, self._pending_comment = analysis, comment
            return
        game.turns.append(FoundCube(player, Action.DOUBLE, comment=comment, cube_analysis=analysis))
        # Each answer is a number: refused, accepted, or turned once more.
        for place, answering in ((20, player.other), (24, player), (28, player.other)):
            answer = page.whole(place)
            if answer == 0:
                game.turns.append(FoundCube(answering, Action.PASS))
            elif answer == 1:
                game.turns.append(FoundCube(answering, Action.TAKE))
            elif answer == 2:
                game.turns.append(FoundCube(answering, Action.BEAVER))
            if answer != 2:
                return

    def _move(self, game: FoundGame, page: _Record) -> None:
        player = page.player(64)
        self._begin(game, page.places(9), player, page.whole(108))
        first, second = page.whole(100), page.whole(104)
        dice = (max(first, second), min(first, second)) if 1 <= first <= 6 and 1 <= second <= 6 else None
        analysis, candidates = _play_analysis(page)
        comment = "\n".join(text for text in (self._pending_comment, self._comment(page.whole(2524))) if text)
        spoken = _spoken(tuple(page.whole(68 + 4 * place) for place in range(8)))
        game.turns.append(
            FoundPlay(
                player,
                dice,
                spoken,
                _after(page.places(35)),
                recorded=words_of(spoken),
                comment=comment,
                analysis=analysis,
                spoken_candidates=candidates,
                cube_analysis=self._pending,
            )
        )
        self._pending, self._pending_comment = None, ""

    def _begin(self, game: FoundGame, places: list[int], player: Player, cube: int) -> None:
        """The first decision of a game says where it starts."""
        if game.turns or game.start is not None:
            return
        match = self._found.match
        usual = [int(count) for count in match.rules.start.board]
        if places == usual and (cube == 0 or game.automatic_doubles):
            return
        owner = None if cube == 0 else Player.X if cube > 0 else Player.O
        try:
            set_up = SetUp(places, player, 1 << min(abs(cube), 15), owner)
            game.start = set_up.position(match, game.score or (0, 0), bool(game.crawford))
        except InputError as error:
            game.notes.append(Note(Problem.CUT, f"the position at the start is impossible: {error}"))

    def _end(self, game: FoundGame, page: _Record) -> None:
        if self._pending is not None:
            game.open_cube, self._pending = self._pending, None
        winner, points, how = page.whole(24), page.whole(28), page.whole(32)
        if winner not in (1, -1) or points <= 0:
            return
        game.winner = Player.X if winner == 1 else Player.O
        game.points = points
        game.ending = Ending.RESIGNED if how >= 100 else None


def _spoken(moves: tuple[int, ...]) -> Spoken:
    """Pairs of points counted from 0, up to the first -1 where a checker would start."""
    segments = []
    for start, end in zip(moves[::2], moves[1::2], strict=True):
        if not 0 <= start < 25 or end >= start:
            break
        segments.append((start + 1, max(end + 1, 0)))
    return Spoken(tuple(segments))


def _after(places: list[int]) -> Board | None:
    """A board that checkers can stand on; None for an empty one."""
    own, other = sum(max(count, 0) for count in places), sum(max(-count, 0) for count in places)
    if not (own or other) or own > CHECKERS or other > CHECKERS:
        return None
    return np.array(places, dtype=np.int8)


def _play_analysis(page: _Record) -> tuple[PlayAnalysis | None, list[Spoken]]:
    luck = page.real(2320)
    count = page.whole(_BEST + 64)
    candidates: list[Candidate] = []
    spoken: list[Spoken] = []
    for place in range(min(max(count, 0), _MOST_CANDIDATES)):
        values = page.singles(_EVALS + 28 * place, 7)
        said = _spoken(page.bytes8(_MOVES + 8 * place))
        if values is None:
            continue
        if count == 1 and not any(page.bytes8(_MOVES)):
            said = Spoken()  # the only play is none
        candidates.append(Candidate("", values[6], _chances(values), _level(page.short(_EVAL_LEVELS + 4 * place))))
        spoken.append(said)
    if not candidates:
        return None, []
    return PlayAnalysis(tuple(candidates), luck, PROGRAM), spoken


def _cube_analysis(page: _Record) -> CubeAnalysis | None:
    values, equities = page.singles(_DOUBLE + 60, 7), page.singles(_DOUBLE + 88, 3)
    if values is None or equities is None or (page.whole(232) < 0 and not any(values[:6])):
        return None  # never looked at: six probabilities can't all be zero
    no_double, double_take, double_pass = equities
    return CubeAnalysis(
        no_double=no_double,
        double_take=double_take,
        double_pass=double_pass,
        chances=_chances(values),
        level=_level(page.whole(_DOUBLE + 28)),
        program=PROGRAM,
    )


def _chances(values: list[float]) -> Chances:
    return Chances(values[3], values[4], values[5], values[1], values[0])


def _level(number: int) -> str:
    if 0 <= number <= 9:
        return f"{number + 1}-ply"
    return _LEVELS.get(number, f"level {number}")


def _date(days: float | None) -> str:
    if days is None or not 1 <= days < 100_000:
        return ""
    return (_EPOCH + datetime.timedelta(days=int(days))).isoformat()
