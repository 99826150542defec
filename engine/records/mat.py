"""Reading match texts: `.mat` of Jellyfish, GNU Backgammon and XG, and the many `.txt` that look like them.

    ; [Event "..."]
    5 point match

     Game 1
     Fox : 0                           Hedgehog : 0
      1) 31: 8/5 6/5                   52: 13/11 13/8
      2)  Doubles => 2                  Drops
          Wins 1 point

The first column is `Player.X`. Names come from the lines of the score (the header often has others); what the header
says beyond known fields is kept in `About.other`. Lines with `;` inside a game are comments. Our own writer keeps the
comments of turns in the header, because other programs stumble over lines between turns.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from engine.errors import InputError
from engine.match import DEFAULT_CUBE_CAP, MAX_POINTS, MatchState
from engine.position import Player
from engine.records.builder import build
from engine.records.encoding import lines_of
from engine.records.found import FoundCube, FoundGame, FoundMatch, FoundPlay, FoundTurn
from engine.records.header import date_of, rules_of, switched_on
from engine.records.mat_rows import Cell, Row, Word, border, is_numbered, plain, read_row
from engine.records.plays import read_spoken
from engine.records.record import About, Action, MatchRecord, Note, Problem, RecordFormat, Source

COMMENT_FIELD = "Comment"
"""`; [Comment 3.12 "text"]` is about turn 12 of game 3, `3.0` about the game, `0.0` about the match."""

_HEADER = re.compile(r"\s{0,20};\s{0,20}\[\s{0,20}([^\"\]]{0,60}?)\s{0,20}\"(.*)\"\s{0,20}\]\s*")
_LENGTH = re.compile(
    r"\s*(?:(?P<length>\d{1,5})\s*-?\s*(?:points?|pts?\.?)\s+match\b.*"
    r"|match\s+(?:to|length|of)\s{0,9}:?\s{0,9}(?P<to>\d{1,5})(?:\s*-?\s*(?:points?|pts?\.?))?\s*)",
    re.IGNORECASE | re.ASCII,
)
_MONEY = re.compile(r"\s*(?:money|unlimited)\s+(?:session|game|match).*", re.IGNORECASE)
_GAME = re.compile(
    r"\s*(?:game|partie|partida|partita|spiel|juego|jogo|oyun)\s{0,9}(?:#|no\.?|nr\.?|:)?\s{0,9}(\d{1,4})\b.*",
    re.IGNORECASE | re.ASCII,
)
_ABOUT_THE_MATCH = re.compile(r"(?:the\s+)?(?:match|session)\b.*", re.IGNORECASE)
_SCORE = re.compile(r"\s*(.*?)\s*:\s*(\d{1,5})\s+(\S.*?|)\s*:\s*(\d{1,5})\s*", re.ASCII)
_PLACE = re.compile(r"comment (\d{1,4})\.(\d{1,4})", re.IGNORECASE | re.ASCII)
_ESCAPED = re.compile(r"\\(.)")
_ACTIONS = {
    Word.DOUBLE: Action.DOUBLE,
    Word.BEAVER: Action.BEAVER,
    Word.RACCOON: Action.RACCOON,
    Word.TAKE: Action.TAKE,
    Word.DROP: Action.PASS,
}
_MOST_LINE = 400
_OFFERS = (Word.DOUBLE, Word.BEAVER, Word.RACCOON)


@dataclass(slots=True)
class _Text:
    """A game as lines, before columns are told apart."""

    number: int | None = None
    score: tuple[int, int] | None = None
    names: tuple[str, str] | None = None
    second_name: int | None = None
    rows: list[Row | str] = field(default_factory=list)
    """Rows, and comments between them."""
    offered: bool = False
    by_score: bool = False
    """Begun by a line of the score alone: its heading is in words that nobody knows."""


def looks_like_mat(text: str) -> bool:
    """Whether a text holds lines that only match texts have."""
    lines = [plain(line) for line in lines_of(text)]
    if any(_LENGTH.fullmatch(line) for line in lines):
        return True
    rows = [read_row(line, False) for line in lines if is_numbered(line)]
    rolls = sum(any(cell.word is Word.ROLL for cell in row.cells) for row in rows)
    return rolls > 0 and (rolls > 1 or any(_GAME.fullmatch(line) for line in lines))


def read_mat(text: str, encoding: str = "") -> MatchRecord:
    """Read a match text.

    Raises:
        InputError: there is no game in it.
    """
    headers: list[tuple[str, str]] = []
    comments: list[str] = []
    games: list[_Text] = []
    length: int | None = None
    notes: list[Note] = []
    for said in lines_of(text):
        header = _HEADER.fullmatch(said)
        line = said if said.lstrip().startswith(";") else plain(said)
        length_line, game = _LENGTH.fullmatch(line), _GAME.fullmatch(line)
        told = None if length_line is None else int(length_line["length"] or length_line["to"])
        if header is not None and not games:
            headers += [(header[1], header[2])] if header[2].strip() else []
        elif line.lstrip().startswith(";"):
            words = line.lstrip().lstrip(";").strip()
            if words:
                (games[-1].rows if games else comments).append(words)
        elif length_line is not None or _MONEY.fullmatch(line):
            if length is not None and games:
                notes.append(Note(Problem.IGNORED, "a second match begins here; only the first was read"))
                break
            length = told or 0
        elif game is not None:
            _begin_game(int(game[1]), games)
        elif line.strip():
            _add_line(line, games, notes)
    games = [game for game in games if game.rows or not game.by_score]
    if not any(game.rows for game in games) and length is None:
        raise InputError("match text", text.strip()[:60], "games with numbered rows")
    return build(_assemble(headers, comments, games, length, notes, encoding))


def _begin_game(number: int, games: list[_Text]) -> None:
    """A heading of a game: of a new one, of one whose score stood above it, or a remark on the one that ends."""
    if games and games[-1].number is None and not games[-1].rows:
        games[-1].number = number
        games[-1].by_score = False
    elif not (games and games[-1].number == number and games[-1].rows):
        games.append(_Text(number))


def _score(line: str) -> re.Match[str] | None:
    return _SCORE.fullmatch(line) if len(line) <= _MOST_LINE else None


def _add_line(line: str, games: list[_Text], notes: list[Note]) -> None:
    """A line of a game: its score, or a row."""
    if not games and not is_numbered(line) and _score(line) is None:
        notes.append(Note(Problem.IGNORED, f"the line {line.strip()[:60]!r}"))
        return
    if not games:
        games.append(_Text())
    game = games[-1]
    score = None if is_numbered(line) else _score(line.expandtabs(8))
    points = None if score is None else (int(score[2]), int(score[4]))
    if score is not None and game.rows and game.names == (score[1], score[3]) and game.score != points:
        game = _Text(by_score=True)
        games.append(game)
    if score is not None and not game.rows and not game.names:
        game.names, game.second_name = (score[1], score[3]), score.start(3)
        game.score = points
        return
    row = read_row(line, game.offered)
    if row.cells:
        game.offered = row.cells[-1].word in _OFFERS
        game.rows.append(row)
    elif not is_numbered(line):
        notes.append(Note(Problem.IGNORED, f"the line {line.strip()[:60]!r}", game.number))


def _assemble(
    headers: list[tuple[str, str]],
    comments: list[str],
    games: list[_Text],
    length: int | None,
    notes: list[Note],
    encoding: str,
) -> FoundMatch:
    named = {name.lower(): value for name, value in headers}
    found = FoundMatch(Source(RecordFormat.MAT, named.get("site", ""), encoding), notes=notes)
    found.games = [_game(game) for game in games]
    found.players = next((game.names for game in games if game.names), None) or (
        named.get("player 1", ""),
        named.get("player 2", ""),
    )
    if length is None:
        length = _length_told(games, found)
        told = f"a match to {length}" if length else "money play"
        notes.append(Note(Problem.IGNORED, f"the line with the length of the match is missing; read as {told}"))
    if length > MAX_POINTS:
        raise InputError("match length", length, f"0 (money) to {MAX_POINTS}")
    found.match = _options(named, length, notes)
    found.jacoby_known = "jacoby" in named
    found.beaver_known = "beaver" in named
    found.about = _about(headers, found.players)
    found.comment = "\n".join(comments)
    _place_comments(headers, found)
    return found


def _options(named: dict[str, str], length: int, notes: list[Note]) -> MatchState:
    rules = rules_of(named.get("variation", ""))
    if rules is None:
        notes.append(Note(Problem.IGNORED, f"the variation {named['variation']!r} is not known; read as backgammon"))
    cap = named.get("cubelimit", "")
    value = int(cap) if cap.isascii() and cap.isdigit() and len(cap) < 10 else 0
    state = MatchState(
        length=length,
        cube_cap=value if value and value & (value - 1) == 0 else DEFAULT_CUBE_CAP,
        jacoby=not length and switched_on(named.get("jacoby", "off")),
        beaver=not length and switched_on(named.get("beaver", "off")),
        crawford_rule=switched_on(named.get("crawford", "on")),
    )
    return state if rules is None else replace(state, rules=rules)


def _about(headers: list[tuple[str, str]], players: tuple[str, str]) -> About:
    about = About()
    ratings = ["", ""]
    other = []
    known = {"variation", "crawford", "jacoby", "beaver", "cubelimit"}
    for name, value in headers:
        match name.lower():
            case "event":
                about = replace(about, event=value)
            case "round":
                about = replace(about, round=value)
            case "site":
                about = replace(about, place=value)
            case "eventdate" | "date":
                about = replace(about, date=date_of(value))
            case "transcriber" | "annotator":
                about = replace(about, annotator=value)
            case "player 1 elo" | "player 2 elo":
                ratings[name[7] == "2"] = value
            case "player 1" | "player 2":
                if value != players[name[7] == "2"]:
                    other.append((name, value))
            case lower if lower not in known and not _PLACE.fullmatch(lower):
                other.append((name, value))
    return replace(about, ratings=(ratings[0], ratings[1]), other=tuple(other))


def _place_comments(headers: list[tuple[str, str]], found: FoundMatch) -> None:
    """Comments that our writer put into the header go back to their turns."""
    for name, value in headers:
        place = _PLACE.fullmatch(name.lower())
        if place is None:
            continue
        number, turn = int(place[1]), int(place[2])
        words = _ESCAPED.sub(lambda escaped: "\n" if escaped[1] == "n" else escaped[1], value)
        if number == 0:
            found.comment = words
            continue
        game = found.games[number - 1] if number <= len(found.games) else None
        if game is None or turn > len(game.turns):
            found.notes.append(Note(Problem.IGNORED, f"a comment about turn {turn} of game {number}"))
        elif turn == 0:
            game.comments.append(words)
        else:
            game.turns[turn - 1].comment = words


def _game(text: _Text) -> FoundGame:
    game = FoundGame(text.score, text.number)
    edge = border([row for row in text.rows if isinstance(row, Row)], text.second_name)
    for row in text.rows:
        if isinstance(row, str):
            _comment(game, row)
            continue
        if row.rest and not re.fullmatch(r"\W*|.*(?:cannot|can't) move.*", row.rest, re.IGNORECASE):
            game.notes.append(Note(Problem.IGNORED, f"the words {row.rest[:60]!r}", turn=len(game.turns) + 1))
        if row.cells and row.cells[0].word in (Word.WIN, Word.LOSS) and _ABOUT_THE_MATCH.fullmatch(row.rest):
            continue  # it says who won the match, in no column
        for place, cell in enumerate(row.cells):
            if place == 0 and text.names and row.rest and row.rest in text.names:
                player = Player.X if row.rest == text.names[0] else Player.O
            elif len(row.cells) == 1 or cell.column >= edge > row.cells[0].column:
                player = Player.X if cell.column < edge else Player.O
            else:
                player = Player.X if place == 0 else Player.O
            _add_cell(game, player, cell)
    return game


def _comment(game: FoundGame, words: str) -> None:
    if game.turns and game.winner is None:
        turn = game.turns[-1]
        turn.comment = f"{turn.comment}\n{words}" if turn.comment else words
    else:
        game.comments.append(words)


def _add_cell(game: FoundGame, player: Player, cell: Cell) -> None:
    if cell.word in (Word.WIN, Word.LOSS):
        game.winner = player if cell.word is Word.WIN else player.other
        game.points = cell.number if cell.number else game.points
        game.times = cell.times or game.times
        return
    turn: FoundTurn
    if cell.word is Word.ROLL:
        unsaid = set(cell.text) == {"?"} or (cell.dice is None and not cell.text)
        spoken = None if unsaid else read_spoken(cell.text)
        if cell.dice is None and (spoken is None or not spoken.segments):
            return  # `00: ????`: nothing was rolled
        turn = FoundPlay(player, cell.dice, spoken, recorded=cell.text)
        if spoken is None and not unsaid:
            game.notes.append(
                Note(Problem.IGNORED, f"{cell.text[:60]!r} can't be read as a play", turn=len(game.turns) + 1)
            )
    else:
        turn = FoundCube(player, _ACTIONS[cell.word], cell.number)
    game.turns.append(turn)


def _length_told(games: list[_Text], found: FoundMatch) -> int:
    """The length that `wins ... and the match` tells; 0 otherwise."""
    for text, game in zip(reversed(games), reversed(found.games), strict=True):
        ends = any(cell.ends_match for row in text.rows if isinstance(row, Row) for cell in row.cells)
        if ends and text.score is not None and game.winner is not None and game.points is not None:
            return text.score[0 if game.winner is Player.X else 1] + game.points
    return 0
