"""From what a reader found to a record: every game is followed from its start, and what doesn't fit is noted.

Readers fill a `FoundMatch`; `build` resolves plays, flags what is illegal, cuts
games that can't be followed, works out Crawford games and results where the source doesn't say them, and makes the
record. So all formats share one reading of the rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from engine.board import Board
from engine.errors import InputError
from engine.match import MAX_POINTS, MatchState
from engine.notation import NO_PLAY, Spoken
from engine.position import Offer, Player, Position
from engine.records.found import FoundCube, FoundGame, FoundMatch, FoundPlay, FoundTurn
from engine.records.plays import Resolved, resolve, resolve_board
from engine.records.record import (
    Action,
    CubeTurn,
    Ending,
    GameRecord,
    GameResult,
    MatchRecord,
    Note,
    Play,
    PlayAnalysis,
    Problem,
    Turn,
)
from engine.records.table import Table, after_cube, after_play, opening, turned_to

MOST_GAMES = 100_000
MOST_CANDIDATES = 300_000
"""Plays in all analyses of a record; a long analysed match has some twenty thousand."""
MOST_TURNS_IN_ALL = 100_000
MOST_TURNS = 5000
"""Of one game; the longest game known has a few hundred."""


def build(found: FoundMatch) -> MatchRecord:
    """Follow all games and make the record.

    Raises:
        InputError: more games or turns than a match has.
    """
    if len(found.games) > MOST_GAMES or any(len(game.turns) > MOST_TURNS for game in found.games):
        raise InputError("record", len(found.games), f"at most {MOST_GAMES} games of {MOST_TURNS} turns")
    turns = [turn for game in found.games for turn in game.turns]
    if len(turns) > MOST_TURNS_IN_ALL:
        raise InputError("record", f"{len(turns)} turns", f"at most {MOST_TURNS_IN_ALL}; split the file")
    candidates = sum(len(turn.spoken_candidates) for turn in turns if isinstance(turn, FoundPlay))
    if candidates > MOST_CANDIDATES:
        raise InputError("record", f"{candidates} analysed plays", f"at most {MOST_CANDIDATES}; split the file")
    match = found.match
    if match.is_money and not found.beaver_known and any(map(_has_beaver, found.games)):
        match = replace(match, beaver=True)
    games, notes = _build_games(found, match)
    if match.is_money and not found.jacoby_known and _tells_jacoby(found.games, games):
        match = replace(match, jacoby=True)
        games, notes = _build_games(found, match)
    return MatchRecord(
        found.players,
        match,
        tuple(games),
        found.about,
        found.comment,
        (*found.notes, *notes),
        found.source,
    )


def _build_games(found: FoundMatch, match: MatchState) -> tuple[list[GameRecord], list[Note]]:
    games: list[GameRecord] = []
    notes: list[Note] = []
    crawford_over = False
    score = (0, 0)
    for index, told in enumerate(found.games):
        number = told.number if told.number is not None else index + 1
        if told.score is not None and all(0 <= points <= MAX_POINTS for points in told.score):
            score = told.score
        following = None
        if told.start is None and index + 1 < len(found.games) and found.games[index + 1].start is None:
            following = found.games[index + 1].score
        maker = _GameMaker(match, told, number, score, following, crawford_over)
        game = maker.make()
        games.append(game)
        notes += [replace(note, game=number) for note in told.notes] + maker.notes
        crawford_over |= bool(match.length) and match.length - 1 in score
        if game.result is not None:
            won = game.result.points
            score = (score[0] + won, score[1]) if game.result.winner is Player.X else (score[0], score[1] + won)
            if following is not None and following != score:
                reason = f"the next game starts at {following[0]}-{following[1]}, not {score[0]}-{score[1]}"
                notes.append(Note(Problem.SCORE, reason, number))
    return games, notes


_TURNED = {
    Offer.NONE: Action.DOUBLE,
    Offer.DOUBLE: Action.BEAVER,
    Offer.BEAVER: Action.RACCOON,
    Offer.RACCOON: Action.RACCOON,
}


class _GameMaker:
    """Follows one game."""

    def __init__(
        self,
        match: MatchState,
        told: FoundGame,
        number: int,
        score: tuple[int, int],
        following: tuple[int, int] | None,
        crawford_over: bool,
    ) -> None:
        self.match = match
        self.told = told
        self.notes: list[Note] = []
        self._following = following
        if told.start is not None:
            score = told.start.match.score if told.start.on_roll is Player.X else told.start.match.flip().score
        self._game = GameRecord(
            number,
            score,
            self._is_crawford(score, crawford_over),
            self._automatic_doubles(),
            told.start,
            comment="\n".join(told.comments),
        )
        self._turns: list[Turn] = []

    def make(self) -> GameRecord:
        """The record of the game."""
        told = self.told
        first = told.turns[0].player if told.turns else Player.X
        try:
            table = opening(self.match, self._game, first)
        except InputError as error:
            self._note(Problem.CUT, str(error))
            return replace(self._game, crawford=False, start=None, result=self._told_result())
        table, cut = self._follow(table)
        position = table.position
        return replace(
            self._game,
            turns=tuple(self._turns),
            result=self._result(table, cut),
            open_play=None if cut else _named(position, position.dice, told.open_play, told.open_candidates),
            open_cube=None if cut else told.open_cube,
        )

    def _follow(self, table: Table) -> tuple[Table, bool]:
        """Up to the end or to where the game must be cut; says if it was."""
        for found in self.told.turns:
            if table.result is not None:
                self._note(Problem.IGNORED, "the game is over before this turn")
                return table, False
            if isinstance(found, FoundPlay) and _says_nothing(found):
                self._note(Problem.IGNORED, "a turn without dice and without a play", turn_after=1)
                continue
            position = self._to_decide(table.position, found)
            try:
                if isinstance(found, FoundCube):
                    table = self._cube(position, found)
                    continue
                after = self._play(position, found)
            except InputError as error:
                self._note(Problem.CUT, str(error))
                return table, True
            if after is None:
                return table, self._rest_is_lost(found)
            table = after_play(turned_to(position, found.player), after)
        return table, False

    def _to_decide(self, position: Position, found: FoundTurn) -> Position:
        """With the player of this turn to decide; an offer that he overlooked is taken to have been accepted."""
        if position.offer is not Offer.NONE and isinstance(found, FoundPlay):
            self._note(Problem.ILLEGAL_CUBE, "the offer has no answer; it counts as taken")
            self._turns.append(CubeTurn(position.on_roll, Action.TAKE))
            position = after_cube(position, Action.TAKE).position
        if position.on_roll is not found.player and position.offer is Offer.NONE and self._turns:
            # Closed-out players are often left out; anything else is odd, but the board says how to go on.
            position = turned_to(position, found.player)
        return turned_to(position, found.player)

    def _cube(self, position: Position, found: FoundCube) -> Table:
        action = found.action
        if action not in (Action.TAKE, Action.PASS):
            # Programs call all three doubles, or both answers beavers: the offer that stands says which is meant.
            action = _TURNED[position.offer]
        table = after_cube(position, action)
        offered = position.match.cube_value * table.position.offer.factor
        if found.value is not None and table.position.offer is not Offer.NONE and found.value != offered:
            self._note(
                Problem.SCORE, f"the record turns the cube to {found.value}, the play to {offered}", turn_after=1
            )
        self._turns.append(CubeTurn(found.player, action, found.comment, found.cube_analysis))
        return table

    def _play(self, position: Position, found: FoundPlay) -> Board | None:
        """The board after the play; None if the record doesn't say what was played, or nobody could have."""
        resolved = _resolved(position, found)
        unsaid = found.spoken is None and found.after is None
        stays = resolved is not None and not resolved.legal and resolved.play == NO_PLAY
        if stays and not found.recorded and found is self.told.turns[-1]:
            # A roll without a play at the end of a game that was given up then: nothing was played.
            resolved, unsaid = None, True
        if resolved is not None and found.dice is None and resolved.play == NO_PLAY:
            self._note(Problem.IGNORED, "a turn without dice and without a play", turn_after=1)
            return resolved.after
        if resolved is None and not unsaid:
            self._note(Problem.CUT, f"{found.recorded or 'this play'!r} can't be carried out", turn_after=1)
            return None
        legal = resolved.legal if resolved is not None else True
        self._turns.append(
            Play(
                found.player,
                found.dice,
                None if resolved is None else resolved.play,
                legal,
                "" if legal else found.recorded,
                found.comment,
                _named(position, found.dice, found.analysis, found.spoken_candidates),
                found.cube_analysis,
            )
        )
        if resolved is None:
            return None
        if not legal:
            shown = found.recorded or resolved.play
            roll = "".join(map(str, found.dice)) if found.dice else "unknown dice"
            self._note(Problem.ILLEGAL_PLAY, f"{shown!r} is no legal play of {roll}")
        return resolved.after

    def _rest_is_lost(self, found: FoundPlay) -> bool:
        """After a play that isn't known, or that nobody could make: is anything left that can't be followed?"""
        if not (self._turns and isinstance(self._turns[-1], Play) and self._turns[-1].play is None):
            return True
        if self.told.turns[-1] is found:
            return False
        self._note(Problem.CUT, "the record doesn't say what was played")
        return True

    def _result(self, table: Table, cut: bool) -> GameResult | None:
        played, told = table.result, self._told_result()
        if played is None:
            if told is None and not cut and (self._turns or self.told.start is None):
                self._note(Problem.UNFINISHED, "the record stops before the game is over")
            return told
        if told is None or (told.winner is played.winner and told.points == played.points):
            return played
        if told.winner is played.winner and told.points < played.points and self._just_wins(told):
            return played
        reason = f"the record gives {_words(told)}, the play {_words(played)}"
        self._note(Problem.SCORE, reason)
        # The points are what the match went on with; who won can be seen on the board.
        return replace(played, points=told.points) if told.winner is played.winner else played

    def _told_result(self) -> GameResult | None:
        """What the source says, or what the score of the next game tells."""
        told = self.told
        winner, points = told.winner, told.points or None
        if self._following is not None and (winner is None or points is None):
            gained = tuple(after - before for before, after in zip(self._game.score, self._following, strict=True))
            if winner is None and sum(gain > 0 for gain in gained) == 1 and min(gained) == 0:
                winner = Player.X if gained[0] > 0 else Player.O
            if winner is not None and points is None and gained[0 if winner is Player.X else 1] > 0:
                points = gained[0 if winner is Player.X else 1]
        if winner is None:
            return None
        if points is None and told.times is not None:
            points = told.times * self._cube_now()
        if points is None:
            points = self._cube_now()
            self._note(
                Problem.SCORE, f"the record doesn't say how much was won; the cube's value, {points}, is assumed"
            )
        return GameResult(winner, self._plausible(points, winner), told.ending or Ending.RESIGNED)

    def _plausible(self, points: int, winner: Player) -> int:
        """Points of a game that was not played out. Some programs write no more than the match still needed."""
        cube = self._cube_now()
        if points > 3 * cube:
            self._note(Problem.SCORE, f"nobody wins {points} points with a cube at {cube}; read as {3 * cube}")
            return 3 * cube
        if points % cube and self._just_wins(GameResult(winner, points, Ending.RESIGNED)):
            return -(-points // cube) * cube
        return points

    def _just_wins(self, result: GameResult) -> bool:
        """Whether the points are exactly those that the winner of the match still needed."""
        own = self._game.score[0 if result.winner is Player.X else 1]
        return bool(self.match.length) and own + result.points == self.match.length

    def _cube_now(self) -> int:
        value = 1 << self._game.automatic_doubles
        if self._game.start is not None:
            value = self._game.start.match.cube_value
        for turn in self._turns:
            if isinstance(turn, CubeTurn) and turn.action in (Action.TAKE, Action.BEAVER, Action.RACCOON):
                value *= 2
        return value

    def _is_crawford(self, score: tuple[int, int], crawford_over: bool) -> bool:
        if self.told.start is not None:
            return self.told.start.match.crawford
        match = self.match
        possible = match.crawford_rule and match.length > 1 and match.length - 1 == max(score)
        if not possible or self.told.crawford is not None:
            return possible and bool(self.told.crawford)
        doubled = any(isinstance(turn, FoundCube) for turn in self.told.turns)
        return not crawford_over and not doubled and min(score) < match.length - 1

    def _automatic_doubles(self) -> int:
        """As the source says, or as its first double of a money game betrays."""
        told = self.told
        first = next((turn for turn in told.turns if isinstance(turn, FoundCube)), None)
        if told.start is not None or told.automatic_doubles or first is None or not self.match.is_money:
            return told.automatic_doubles
        before = (first.value or 2) // 2
        return before.bit_length() - 1 if before & (before - 1) == 0 and 1 < before <= self.match.cube_cap else 0

    def _note(self, problem: Problem, reason: str, turn_after: int = 0) -> None:
        turn = len(self._turns) + turn_after
        self.notes.append(Note(problem, reason, self._game.number, turn or None))


def _resolved(position: Position, found: FoundPlay) -> Resolved | None:
    rules = position.match.rules
    spoken = None
    if found.spoken is not None:
        spoken = resolve(position.board, found.dice, found.spoken, rules)
    if found.after is None or (spoken is not None and bool((spoken.after == found.after).all())):
        return spoken
    return resolve_board(position.board, found.dice, found.after, rules) or spoken


def _says_nothing(found: FoundPlay) -> bool:
    played = found.after is not None or bool(found.spoken and found.spoken.segments)
    return found.dice is None and not played


def _named(
    position: Position, dice: tuple[int, int] | None, analysis: PlayAnalysis | None, spoken: Sequence[Spoken]
) -> PlayAnalysis | None:
    """The analysis with the notation of its plays; those that nobody can make are left out."""
    if analysis is None or not spoken:
        return analysis
    candidates = []
    for candidate, said in zip(analysis.candidates, spoken, strict=True):
        resolved = resolve(position.board, dice, said, position.match.rules)
        if resolved is not None:
            candidates.append(replace(candidate, play=resolved.play))
    return replace(analysis, candidates=tuple(candidates))


def _has_beaver(game: FoundGame) -> bool:
    """Two doubles in a row, or a word for it."""
    actions = [turn.action if isinstance(turn, FoundCube) else None for turn in game.turns]
    return Action.BEAVER in actions or any(first is second is Action.DOUBLE for first, second in pairwise(actions))


def _tells_jacoby(found: Sequence[FoundGame], games: Sequence[GameRecord]) -> bool:
    """Whether gammons with a centred cube were scored as single games, and never otherwise."""
    single = double = False
    for told, game in zip(found, games, strict=True):
        centred = not any(isinstance(turn, CubeTurn) for turn in game.turns) and game.start is None
        if game.result is None or game.result.ending is not Ending.PLAYED or not centred or told.points is None:
            continue
        cube = 1 << game.automatic_doubles
        single |= told.points == cube and _was_gammon(game)
        double |= told.points > cube
    return single and not double


def _was_gammon(game: GameRecord) -> bool:
    """The loser never bore a checker off."""
    assert game.result is not None
    loser = game.result.winner.other
    return not any(
        isinstance(turn, Play) and turn.player is loser and turn.play is not None and "off" in turn.play
        for turn in game.turns
    )


def _words(result: GameResult) -> str:
    return f"{result.points} to {'the first' if result.winner is Player.X else 'the second'} player"
