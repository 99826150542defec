"""Reading GNU Backgammon's text export of a game or a match, with its analysis.

    The score (after 0 games) is: Fox 0, Hedgehog 0 (match to 3 points)
    Move number 1:  Hedgehog to play 53
     GNU Backgammon  Position ID: 4HPwATDgc/ABMA
    * Hedgehog moves 8/3 6/3
    Rolled 53 (+0.064):
    *    1. Cubeful 1-ply    8/3 6/3                      Eq.: +0.086
           0.514 0.162 0.007 - 0.486 0.129 0.007

The first player of the line of the score is `Player.X`. Diagrams are passed over: the game is followed from its start.
"""

from __future__ import annotations

import re
from dataclasses import replace

from engine.errors import InputError
from engine.match import MAX_POINTS, MatchState
from engine.notation import Spoken
from engine.position import Player
from engine.records.builder import build
from engine.records.encoding import lines_of
from engine.records.found import FoundCube, FoundGame, FoundMatch, FoundPlay
from engine.records.header import date_of
from engine.records.plays import read_spoken
from engine.records.record import (
    Action,
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

PROGRAM = "GNU Backgammon"

_N = r"[-+]?\d{1,6}[.,]\d{1,6}"
_SCORE = re.compile(
    r"The score \(after (\d{1,4}) games?\) is: (.*) (\d{1,5}), (.*) (\d{1,5})\s*(?:\((.*)\))?\s*", re.ASCII
)
_LENGTH = re.compile(r"match to (\d{1,5}) points?(.*)", re.ASCII)
_MOVE = re.compile(r"Move number \d{1,5}:.*?(?: to play ([1-6])([1-6]))?\s*", re.ASCII)
_INFORMATION = re.compile(r"(Date|Event|Round|Place|Annotator|Comment|.*? rating)\s*: (.*)")
_PLAY = re.compile(rf"\*?\s+\d{{1,4}}\.\s+(\S+ \S+)\s{{2,}}(.*?)\s+(?:Eq\.|MWC)\s*:\s*({_N}).*", re.ASCII)
_SIX = re.compile(rf"\s+({_N}) ({_N}) ({_N}) - ({_N}) ({_N}) ({_N})\s*", re.ASCII)
_CUBE = re.compile(
    rf"\d\. (No (?:re)?double|(?:Red|D)ouble, (?:take|pass|beaver))\s+({_N})\b.*", re.ASCII | re.IGNORECASE
)
_LUCK = re.compile(rf"Rolled \d\d \(({_N})\).*", re.ASCII)
_LEVEL = re.compile(r"(\d{1,2}-ply|Rollout).*", re.ASCII)
_WINS = re.compile(r"(.*) wins (?:a |an )?(single|gammon|backgammon|.*?(\d{1,5}) points?).*", re.ASCII | re.IGNORECASE)
_MOST_LINE = 400


def looks_like_gnu_text(text: str) -> bool:
    """Whether a text has the words of GNU Backgammon's export."""
    return "Move number " in text and any(len(line) <= _MOST_LINE and _SCORE.fullmatch(line) for line in lines_of(text))


def read_gnu_text(text: str, encoding: str = "") -> MatchRecord:
    """Read the games of a text.

    Raises:
        InputError: there is no game in it.
    """
    found = FoundMatch(Source(RecordFormat.GNU_TEXT, PROGRAM, encoding))
    found.jacoby_known = found.beaver_known = False
    reader: _GameReader | None = None
    for line in lines_of(text):
        if len(line) > _MOST_LINE:
            continue
        score = _SCORE.fullmatch(line)
        if score is not None:
            if not found.games:
                found.players = (score[2], score[4])
                found.match = _match(score[6] or "")
            game = FoundGame((int(score[3]), int(score[5])), int(score[1]) + 1)
            if found.match.crawford_rule and "crawford game" in (score[6] or "").lower():
                game.crawford = "post" not in (score[6] or "").lower()
            found.games.append(game)
            reader = _GameReader(game, found.players)
        elif reader is not None and not reader.line(line):
            _information(found, line)
    if not any(game.turns for game in found.games):
        raise InputError("GNU Backgammon text", text.strip()[:60], "a game with numbered moves")
    return build(found)


def _match(told: str) -> MatchState:
    length = _LENGTH.search(told)
    if length is None or int(length[1]) > MAX_POINTS:
        return MatchState()
    return MatchState(length=int(length[1]))


def _information(found: FoundMatch, line: str) -> None:
    told = _INFORMATION.fullmatch(line)
    if told is None:
        return
    about, words = found.about, told[2].strip()
    match told[1]:
        case "Date":
            found.about = replace(about, date=date_of(words))
        case "Event":
            found.about = replace(about, event=words)
        case "Round":
            found.about = replace(about, round=words)
        case "Place":
            found.about = replace(about, place=words)
        case "Annotator":
            found.about = replace(about, annotator=words)
        case "Comment":
            found.comment = words
        case rating:
            names = [f"{player} rating" for player in found.players]
            if rating in names:
                ratings = list(about.ratings)
                ratings[names.index(rating)] = words
                found.about = replace(about, ratings=(ratings[0], ratings[1]))


class _GameReader:
    """Takes in the lines of one game."""

    def __init__(self, game: FoundGame, players: tuple[str, str]) -> None:
        self._game = game
        self._players = players
        self._dice: tuple[int, int] | None = None
        self._plays: list[tuple[Candidate, Spoken]] = []
        self._cube: dict[str, float] = {}
        self._level = ""
        self._chances: Chances | None = None
        self._wants_chances = False

    def line(self, line: str) -> bool:
        """Take in one line; says whether it belongs to the game."""
        move = _MOVE.fullmatch(line)
        if move is not None:
            self._plays, self._cube, self._level, self._chances = [], {}, "", None
            self._dice = None
            if move[1] is not None:
                first, second = int(move[1]), int(move[2])
                self._dice = max(first, second), min(first, second)
            return True
        words = line[2:] if line.startswith("* ") else line if " wins " in line else ""
        if words and self._done(words):
            return True
        return any(take(line) for take in (self._candidate, self._numbers, self._cube_value, self._luck))

    def _done(self, words: str) -> bool:
        for name, player in zip(self._players, (Player.X, Player.O), strict=True):
            if words.startswith(f"{name} "):
                self._action(player, words[len(name) + 1 :].strip())
                return True
        return False

    def _action(self, player: Player, words: str) -> None:
        verb = words.split(" ", 1)[0].lower()
        game = self._game
        if verb in ("moves", "cannot"):
            said = read_spoken(words.removeprefix("moves ")) if verb == "moves" else Spoken()
            recorded = words if verb == "cannot" else words.removeprefix("moves ")
            game.turns.append(FoundPlay(player, self._dice, said, recorded=recorded))
        elif verb in ("doubles", "redoubles", "beavers", "raccoons"):
            game.turns.append(FoundCube(player, Action.DOUBLE))
        elif verb in ("accepts", "takes"):
            game.turns.append(FoundCube(player, Action.TAKE))
        elif verb in ("rejects", "passes", "drops"):
            game.turns.append(FoundCube(player, Action.PASS))
        elif verb in ("resigns", "offers"):
            game.winner = player.other
        elif (wins := _WINS.fullmatch(f"x {words}")) is not None:
            game.winner = player
            game.points = int(wins[3]) if wins[3] else game.points
        else:
            game.notes.append(Note(Problem.IGNORED, f"the words {words[:60]!r}", turn=len(game.turns)))

    def _turn(self) -> FoundPlay | FoundCube | None:
        return self._game.turns[-1] if self._game.turns else None

    def _candidate(self, line: str) -> bool:
        told = _PLAY.fullmatch(line)
        turn = self._turn()
        if told is None or not isinstance(turn, FoundPlay):
            return False
        said = read_spoken(told[2])
        if said is not None:
            self._plays.append((Candidate("", _number(told[3]), None, told[1]), said))
            self._wants_chances = True
            self._attach(turn)
        return True

    def _numbers(self, line: str) -> bool:
        told = _SIX.fullmatch(line)
        if told is None:
            level = _LEVEL.fullmatch(line)
            self._level = level[1] if level is not None and not self._plays else self._level
            return level is not None
        values = [_number(number) for number in told.groups()]
        chances = Chances(values[0], values[1], values[2], values[4], values[5])
        if self._wants_chances and self._plays:
            candidate, said = self._plays[-1]
            self._plays[-1] = (replace(candidate, chances=chances), said)
            turn = self._turn()
            if isinstance(turn, FoundPlay):
                self._attach(turn)
        else:
            self._chances = chances
        self._wants_chances = False
        return True

    def _cube_value(self, line: str) -> bool:
        told = _CUBE.fullmatch(line)
        turn = self._turn()
        if told is None or turn is None:
            return False
        words = told[1].lower()
        self._cube["no" if words.startswith("no") else words.split(" ")[-1]] = _number(told[2])
        if "no" in self._cube and "pass" in self._cube and ("take" in self._cube or "beaver" in self._cube):
            turn.cube_analysis = CubeAnalysis(
                no_double=self._cube["no"],
                double_take=self._cube.get("take", self._cube.get("beaver")),
                double_pass=self._cube["pass"],
                chances=self._chances,
                level=self._level,
                program=PROGRAM,
            )
        return True

    def _luck(self, line: str) -> bool:
        told = _LUCK.fullmatch(line)
        turn = self._turn()
        if told is None or not isinstance(turn, FoundPlay):
            return False
        turn.analysis = replace(turn.analysis or PlayAnalysis(program=PROGRAM), luck=_number(told[1]))
        return True

    def _attach(self, turn: FoundPlay) -> None:
        """The candidates so far belong to the last play."""
        luck = turn.analysis.luck if turn.analysis is not None else None
        turn.analysis = PlayAnalysis(tuple(candidate for candidate, _ in self._plays), luck, PROGRAM)
        turn.spoken_candidates = [said for _, said in self._plays]


def _number(text: str) -> float:
    return float(text.replace(",", "."))
