"""Writing SGF that GNU Backgammon reads: one game tree for each game.

Analyses are written back where they came from an SGF; those of other formats have no words here (JSON keeps them). What
SGF has no property for stands in GFO, a private one that other programs pass over.
"""

from __future__ import annotations

from collections.abc import Iterator

from engine.board import BAR, flip
from engine.errors import InputError
from engine.match import DEFAULT_CUBE_CAP, CubeOwner
from engine.notation import Spoken, single_steps
from engine.position import Offer, Player, Position
from engine.records.plays import read_spoken
from engine.records.record import (
    Action,
    CubeAnalysis,
    CubeTurn,
    Ending,
    GameRecord,
    MatchRecord,
    Play,
    PlayAnalysis,
    Turn,
)
from engine.records.replay import Decision, game_decisions
from engine.records.sgf import KEPT, OPTIONS
from engine.records.sgf_analysis import write_move
from engine.rules import HYPERGAMMON, INTERNATIONAL, NACKGAMMON

_RULES = {INTERNATIONAL: "", NACKGAMMON: "Nackgammon", HYPERGAMMON: "Hypergammon3"}
_LETTER = {Player.X: "W", Player.O: "B"}
_ENDING = {Ending.RESIGNED: "R", Ending.TIME: "T", Ending.FORFEIT: "F"}


def write_sgf(record: MatchRecord) -> str:
    """The collection of game trees of a record.

    Raises:
        InputError: a rule set that SGF has no word for.
    """
    if record.match.rules not in _RULES:
        raise InputError("rules", record.match.rules.name, "international, nackgammon or hypergammon in an SGF")
    if not record.games:
        raise InputError("record", "no games", "at least one game")
    return "".join(f"({_game(record, place, game)})\n" for place, game in enumerate(record.games))


def _game(record: MatchRecord, place: int, game: GameRecord) -> str:
    lines = [_root(record, place, game)]
    if game.start is not None:
        lines += _start(game.start)
    elif game.automatic_doubles:
        lines.append(f";CV[{1 << game.automatic_doubles}]")
    decided = {
        decision.turn: decision
        for decision in game_decisions(record.match, game)
        if decision.action not in (None, Action.ROLL)
    }
    lines += [_turn(turn, decided.get(number)) for number, turn in enumerate(game.turns, start=1)]
    return "\n".join(lines)


def _root(record: MatchRecord, place: int, game: GameRecord) -> str:
    about, match = record.about, record.match
    first = place == 0
    info = {"length": match.length, "game": game.number - 1, "ws": game.score[0], "bs": game.score[1]}
    result = game.result
    fields = [
        ("PW", record.players[0]),
        ("PB", record.players[1]),
        ("WR", about.ratings[0]),
        ("BR", about.ratings[1]),
        ("DT", about.date),
        ("EV", about.event),
        ("RO", about.round),
        ("PC", about.place),
        ("AN", about.annotator),
        *((name, value) for name, value in about.other if name in KEPT),
    ]
    # Only the first game says where and when, as in files of GNU Backgammon; all name the players.
    shown = fields if first else fields[:2]
    text = ";FF[4]GM[6]CA[UTF-8]AP[gammonfarm]MI" + "".join(f"[{name}:{value}]" for name, value in info.items())
    text += "".join(f"{name}[{_escaped(line)}]" for name, value in shown if (line := _line(value)))
    if first and record.comment:
        text += f"GC[{_escaped(record.comment)}]"
    text += _rules(record, game)
    if result is not None:
        text += f"RE[{_LETTER[result.winner]}+{result.points}{_ENDING.get(result.ending, '')}]"
    text += "".join(f"[{name}:{_escaped(value)}]" for name, value in _options(record, game)).join([OPTIONS, ""])
    return text + (f"C[{_escaped(game.comment)}]" if game.comment else "")


def _rules(record: MatchRecord, game: GameRecord) -> str:
    match = record.match
    words = [_RULES[match.rules]]
    if match.length and match.crawford_rule:
        words.append("Crawford")
        words += ["CrawfordGame"] if game.crawford else []
    if match.jacoby:
        words.append("Jacoby")
    if match.cube_cap == 1:
        words.append("NoCube")
    return f"RU[{':'.join(word for word in words if word)}]"


def _options(record: MatchRecord, game: GameRecord) -> Iterator[tuple[str, str]]:
    match = record.match
    yield "program", _program(record)
    if match.cube_cap not in (1, DEFAULT_CUBE_CAP):
        yield "cap", str(match.cube_cap)
    if match.is_money:
        yield "beaver", str(int(match.beaver))
    elif not match.crawford_rule:
        yield "crawford", "0"
    if not match.raccoon:
        yield "raccoon", "0"
    if match.automatic_doubles:
        yield "automatic", str(match.automatic_doubles)
    if game.automatic_doubles:
        yield "doubled", str(game.automatic_doubles)


def _program(record: MatchRecord) -> str:
    """Whose analyses are written."""
    for game in record.games:
        for turn in game.turns:
            if isinstance(turn, Play) and turn.play is None:
                continue  # only its dice are written
            if turn.cube_analysis is not None and _cube_analysis(turn.cube_analysis) and turn.cube_analysis.program:
                return _line(turn.cube_analysis.program)
            if isinstance(turn, Play) and turn.analysis is not None and _play_analysis(turn) and turn.analysis.program:
                return _line(turn.analysis.program)
    return "gammonfarm"


def _start(start: Position) -> list[str]:
    """The set-up of a position; an offer that stands becomes a double."""
    position = start if start.offer is Offer.NONE else start.flip()
    board = position.board if position.on_roll is Player.X else flip(position.board)
    match = position.match
    owner = "c"
    if match.cube_owner is not CubeOwner.CENTRED:
        mine = match.cube_owner is CubeOwner.MOVER
        owner = _LETTER[position.on_roll if mine else position.on_roll.other].lower()
    white = "".join(f"[{_place(index)}]" * int(board[index]) for index in range(1, BAR + 1) if board[index] > 0)
    black = "".join(f"[{_place(index or BAR)}]" * -int(board[index]) for index in range(BAR) if board[index] < 0)
    lines = [f";AE[a:y]AW{white}AB{black}", f";CV[{match.cube_value}]", f";CP[{owner}]"]
    dice = "" if position.dice is None else f"DI[{position.dice[0]}{position.dice[1]}]"
    lines.append(f";PL[{_LETTER[position.on_roll]}]{dice}")
    if start.offer is not Offer.NONE:
        lines.append(f";{_LETTER[position.on_roll]}[double]")
    return lines


def _turn(turn: Turn, decision: Decision | None) -> str:
    letter = _LETTER[turn.player]
    comment = f"C[{_escaped(turn.comment)}]" if turn.comment else ""
    cube = _cube_analysis(turn.cube_analysis)
    if isinstance(turn, CubeTurn):
        word = {Action.TAKE: "take", Action.PASS: "drop"}.get(turn.action, "double")
        return f";{letter}[{word}]{cube}{comment}"
    dice = "00" if turn.dice is None else f"{turn.dice[0]}{turn.dice[1]}"
    if turn.play is None:
        return f";PL[{letter}]DI[{dice}]{comment}"
    return f";{letter}[{dice}{_letters(turn, decision)}]{cube}{_play_analysis(turn)}{comment}"


def _letters(turn: Play, decision: Decision | None) -> str:
    assert turn.play is not None
    if turn.legal and turn.dice is not None and decision is not None and decision.after is not None:
        steps = single_steps(decision.position.board, decision.after, turn.dice)
        return write_move(Spoken(steps), turn.player)
    return write_move(read_spoken(turn.play) or Spoken(), turn.player)


def _cube_analysis(analysis: CubeAnalysis | None) -> str:
    return f"DA[{_escaped(analysis.found)}]" if analysis is not None and analysis.found else ""


def _play_analysis(turn: Play) -> str:
    analysis: PlayAnalysis | None = turn.analysis
    if analysis is None:
        return ""
    found = [candidate for candidate in analysis.candidates if candidate.found]
    text = ""
    if found:
        chosen = next((place for place, candidate in enumerate(found) if candidate.play == turn.play), 0)
        text = f"A[{chosen}]" + "".join(f"[{_escaped(candidate.found)}]" for candidate in found)
    return text + (f"LU[{analysis.luck:.6g}]" if analysis.luck is not None else "")


def _place(index: int) -> str:
    return "abcdefghijklmnopqrstuvwxy"[index - 1]


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("]", "\\]")


def _line(text: str) -> str:
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())
