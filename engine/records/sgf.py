"""Reading SGF: GNU Backgammon's and Gibbon's files, one game tree for each game of a match.

White is the first-named player, `Player.X`. The point `a` is White's ace point. Only the main line is read; names of
moves are `double`, `take` and `drop`, and a double by the player who has to answer is a beaver. Properties that are
read: players, ratings, MI (length, number, score), RU, RE, DT, EV, RO, PC, AN, GC, C, A, DA, LU, and the set-up (AE,
AW, AB, PL, DI, CV, CP). GFO is ours: options that SGF has no words for.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from engine.board import BAR
from engine.errors import InputError
from engine.match import MAX_POINTS, MatchState
from engine.notation import NO_PLAY, Spoken
from engine.position import Player, Position
from engine.records.builder import build
from engine.records.found import FoundCube, FoundGame, FoundMatch, FoundPlay, SetUp
from engine.records.plays import words_of
from engine.records.record import About, Action, Ending, MatchRecord, Note, Problem, RecordFormat, Source
from engine.records.sgf_analysis import cube_analysis, luck_of, play_analysis, read_move
from engine.records.sgf_tree import Node, read_trees
from engine.rules import HYPERGAMMON, NACKGAMMON

OPTIONS = "GFO"
KEPT = ("US", "SO", "ON")
"""Properties that go through `About.other`: who entered the game, the source, the opening."""
_BACKGAMMON = "6"
_RESULT = re.compile(r"([WB])\+(\d{1,6})?([RTF]?).*", re.ASCII | re.DOTALL)
_MOVE = re.compile(r"([0-6])([0-6])([a-z]*)", re.ASCII)
_ENDINGS = {"R": Ending.RESIGNED, "T": Ending.TIME, "F": Ending.FORFEIT}
_ACTIONS = {"double": Action.DOUBLE, "redouble": Action.DOUBLE, "take": Action.TAKE, "drop": Action.PASS}
_PLAYERS = {"w": Player.X, "b": Player.O}
_SET_UP = ("AE", "AW", "AB")
_SETTINGS = (*_SET_UP, "PL", "DI", "CV", "CP", "CO")


@dataclass(frozen=True, slots=True)
class _Reading:
    """What holds for all games of a match."""

    match: MatchState
    program: str


def looks_like_sgf(data: bytes) -> bool:
    """Whether bytes begin with a game tree, perhaps after a few words of a mail."""
    return re.search(rb"^\s*(?:\xef\xbb\xbf)?\(\s*;", data[:10_000], re.MULTILINE) is not None


def read_sgf(data: bytes) -> MatchRecord:
    """Read a collection of game trees.

    Raises:
        InputError: broken syntax, or no game of backgammon in it.
    """
    trees, encoding = read_trees(data)
    games = [tree for tree in trees if tree and _is_backgammon(tree)]
    if not games:
        raise InputError("SGF", f"{len(trees)} game trees", "a game of backgammon, GM[6]")
    root = games[0][0]
    notes: list[Note] = []
    match, jacoby_known = _options(root, notes)
    program = _pairs(root, OPTIONS).get("program") or _value(root, "AP").split(":")[0]
    found = FoundMatch(Source(RecordFormat.SGF, program, encoding), notes=notes, match=match)
    found.players = (_line(root, "PW"), _line(root, "PB"))
    found.jacoby_known, found.beaver_known = jacoby_known, bool(root.get(OPTIONS))
    found.about = _about(root)
    found.comment = _value(root, "GC")
    for place, tree in enumerate(games, start=1):
        if place > 1 and (_line(tree[0], "PW"), _line(tree[0], "PB"), _length(tree[0])) != (
            *found.players,
            _length(root),
        ):
            notes.append(Note(Problem.IGNORED, f"game tree {place} belongs to another match"))
            continue
        found.games.append(_game(tree, _Reading(match, program)))
    return build(found)


def _is_backgammon(tree: Sequence[Node]) -> bool:
    kind = _value(tree[0], "GM")
    return kind.strip() == _BACKGAMMON if kind else bool(tree[0].get("MI"))


def _value(node: Node, name: str) -> str:
    values = node.get(name)
    return values[0] if values else ""


def _line(node: Node, name: str) -> str:
    return " ".join(_value(node, name).split())


def _pairs(node: Node, name: str) -> dict[str, str]:
    """Values such as `MI[length:5][game:0]`."""
    return {key.strip().lower(): value.strip() for key, _, value in (v.partition(":") for v in node.get(name, ()))}


def _whole(text: str, most: int = MAX_POINTS) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 and int(text) <= most else None


def _length(root: Node) -> int:
    return _whole(_pairs(root, "MI").get("length", "")) or 0


def _options(root: Node, notes: list[Note]) -> tuple[MatchState, bool]:
    """Length, rules and options, and whether the file says if the Jacoby rule holds."""
    length = _length(root)
    rules = {word.strip().lower() for value in root.get("RU", ()) for word in value.split(":")} - {""}
    known = {"crawford", "crawfordgame", "jacoby", "nocube", "nackgammon", "backgammon"}
    for word in sorted(rules - known):
        if not word.startswith("hypergammon"):
            notes.append(Note(Problem.IGNORED, f"the rule {word[:40]!r}"))
    own = _pairs(root, OPTIONS)
    state = MatchState(
        length=length,
        crawford_rule=not length or "crawford" in rules or (not rules and own.get("crawford") != "0"),
        jacoby=not length and "jacoby" in rules,
        beaver=not length and own.get("beaver") == "1",
        raccoon=own.get("raccoon") != "0",
        automatic_doubles=0 if length else _whole(own.get("automatic", ""), 30) or 0,
    )
    cap = 1 if "nocube" in rules else _whole(own.get("cap", ""), 1 << 30)
    if cap and cap & (cap - 1) == 0:
        state = replace(state, cube_cap=cap)
    if "nackgammon" in rules:
        state = replace(state, rules=NACKGAMMON)
    elif any(word.startswith("hypergammon") for word in rules):
        state = replace(state, rules=HYPERGAMMON)
    return state, bool(rules) or bool(length)


def _about(root: Node) -> About:
    return About(
        event=_line(root, "EV"),
        round=_line(root, "RO"),
        place=_line(root, "PC"),
        date=_line(root, "DT"),
        annotator=_line(root, "AN"),
        ratings=(_line(root, "WR"), _line(root, "BR")),
        other=tuple((name, _line(root, name)) for name in KEPT if _line(root, name)),
    )


def _game(tree: Sequence[Node], reading: _Reading) -> FoundGame:
    root = tree[0]
    info = _pairs(root, "MI")
    game = FoundGame()
    score = (_whole(info.get("ws", "")), _whole(info.get("bs", "")))
    if score[0] is not None and score[1] is not None:
        game.score = (score[0], score[1])
    number = _whole(info.get("game", ""))
    game.number = None if number is None else number + 1
    rules = " ".join(root.get("RU", ())).lower()
    game.crawford = "crawfordgame" in rules if "crawford" in rules else None
    game.automatic_doubles = _whole(_pairs(root, OPTIONS).get("doubled", ""), 20) or 0
    _result(root, game)
    if comment := _value(root, "C"):
        game.comments.append(comment)
    setting: Node = {}
    sets_up = _sets_up(tree, game)
    for place, node in enumerate(tree):
        if any(name in node for name in _SETTINGS):
            # The comment of the root has been read.
            told = node if place else {name: values for name, values in node.items() if name != "C"}
            _set(game, setting, told, sets_up)
        for name, player in (("W", Player.X), ("B", Player.O)):
            for move in node.get(name, ())[:1]:
                _begin(game, setting, reading.match)
                _add(game, player, move, node, reading)
    _begin(game, setting, reading.match)
    for turn in game.turns[:-1]:
        if isinstance(turn, FoundPlay) and turn.spoken is None:
            turn.spoken, turn.recorded = Spoken(), NO_PLAY  # a roll between turns: nothing was played
    return game


def _result(root: Node, game: FoundGame) -> None:
    result = _RESULT.fullmatch(_value(root, "RE").strip())
    if result is None:
        return
    game.winner = _PLAYERS[result[1].lower()]
    game.points = int(result[2]) if result[2] and int(result[2]) else None
    game.ending = _ENDINGS.get(result[3])


def _sets_up(tree: Sequence[Node], game: FoundGame) -> bool:
    """Whether anything but dice is set up before the first turn."""
    # Our files turn the cube first where equal opening dice did that.
    names = _SET_UP if game.automatic_doubles else (*_SET_UP, "CV", "CP", "CO")
    for node in tree:
        if "W" in node or "B" in node:
            return False
        if any(name in node for name in names):
            return True
    return False


def _set(game: FoundGame, setting: Node, node: Node, sets_up: bool) -> None:
    """A set-up before the first turn belongs to the start; dice alone are a roll that was not played."""
    dice = _dice(_value(node, "DI"))
    player = _PLAYERS.get(_value(node, "PL")[:1].lower())
    if dice is not None and player is not None and (game.turns or not sets_up):
        game.turns.append(FoundPlay(player, dice, comment=_value(node, "C")))
        return
    if node.get("C"):
        game.comments.append(_value(node, "C"))
    if not game.turns:
        for name in _SETTINGS:
            if name in node:
                setting[name] = setting.get(name, []) + node[name] if name in _SET_UP else node[name]
    elif any(name in node for name in _SET_UP):
        game.notes.append(Note(Problem.IGNORED, "the board is set up in the middle of a game", turn=len(game.turns)))


def _begin(game: FoundGame, setting: Node, match: MatchState) -> None:
    """Make the start of what was set up so far, once."""
    if game.turns:
        return
    if game.automatic_doubles and not any(name in setting for name in _SET_UP):
        setting.clear()  # our own way to say that equal opening dice turned the cube
    if not setting:
        return
    try:
        game.start = _start(setting, match, game)
    except InputError as error:
        game.notes.append(Note(Problem.CUT, f"the set-up position is impossible: {error}"))
    setting.clear()


def _start(setting: Node, match: MatchState, game: FoundGame) -> Position:
    counts = [int(count) for count in match.rules.start.board]
    for value in setting.get("AE", ()):
        for index in _points(value):
            counts[0 if index == BAR else index] = 0
            if index == BAR:
                counts[BAR] = 0
    for name, sign in (("AW", 1), ("AB", -1)):
        for value in setting.get(name, ()):
            for index in _points(value):
                counts[(BAR if sign > 0 else 0) if index == BAR else index] += sign
    owner = _PLAYERS.get((_value(setting, "CP") or _value(setting, "CO"))[:1].lower())
    player = _PLAYERS.get(_value(setting, "PL")[:1].lower(), Player.X)
    cube = _whole(_value(setting, "CV"), 1 << 30) or 1
    set_up = SetUp(counts, player, cube, owner, _dice(_value(setting, "DI")))
    return set_up.position(match, game.score or (0, 0), bool(game.crawford))


def _points(value: str) -> list[int]:
    """`c`, or a range `c:f`; 25 is the bar."""
    first, colon, last = value.strip().lower().partition(":")
    ends = (first, last if colon else first)
    if not all(len(end) == 1 and "a" <= end <= "y" for end in ends):
        raise InputError("point", value, "a letter from a to y")
    return list(range(ord(ends[0]) - ord("a") + 1, ord(ends[1]) - ord("a") + 2))


def _dice(text: str) -> tuple[int, int] | None:
    words = text.strip()
    if re.fullmatch(r"[1-6]{2}", words, re.ASCII) is None:
        return None
    first, second = int(words[0]), int(words[1])
    return max(first, second), min(first, second)


def _add(game: FoundGame, player: Player, move: str, node: Node, reading: _Reading) -> None:
    words = move.strip().lower()
    comment = _value(node, "C")
    cube = cube_analysis(_value(node, "DA"), reading.program, reading.match.is_money) if node.get("DA") else None
    if words in _ACTIONS:
        game.turns.append(FoundCube(player, _ACTIONS[words], comment=comment, cube_analysis=cube))
        return
    found = _MOVE.fullmatch(words)
    spoken = read_move(found[3], player) if found is not None else None
    if found is None or spoken is None:
        game.notes.append(Note(Problem.IGNORED, f"the move {move[:40]!r}", turn=len(game.turns) + 1))
        return
    dice = _dice(found[1] + found[2])
    analysis, candidates = play_analysis(node.get("A", ()), luck_of(node.get("LU", ())), reading.program, player)
    game.turns.append(
        FoundPlay(
            player,
            dice,
            spoken,
            recorded=words_of(spoken) or NO_PLAY,
            comment=comment,
            analysis=analysis,
            spoken_candidates=candidates,
            cube_analysis=cube,
        )
    )
