"""The questions of a match: what every decision of a record asks about plays and about the cube."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cluster.archive.cubes import CubeCase, cube_case
from cluster.archive.evaluation import Rolled
from cluster.archive.matches import Matches
from cluster.archive.plays import Case
from engine.analysis.position_type import PositionType, types_of
from engine.board import PLACES
from engine.match import MatchState
from engine.position import Offer, Position
from engine.records.record import Action, GameRecord, MatchRecord
from engine.records.replay import Decision, decisions
from engine.rules import Opening
from engine.scoring import may_double


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """One decision and the cases that settle it; either `play` or `cube`."""

    decision: Decision
    type: PositionType
    play: Case | None = None
    cube: CubeCase | None = None
    if_other_began: Rolled | None = None
    """Of the first roll of a game whose dice decide who begins: the opponent's rolls, had he begun."""


@dataclass(frozen=True, slots=True, eq=False)
class MatchWork:
    """A match with its questions."""

    path: Path
    shown: str
    """Its path as reports name it."""
    digest: str
    """Of the file's content."""
    record: MatchRecord
    asked: tuple[Asked, ...]


def ask(record: MatchRecord, matches: Matches) -> tuple[Asked, ...]:
    """All decisions of a record about which something can be said.

    Raises:
        InputError: a match longer than tables go.
    """
    found = list(decisions(record))
    boards = np.stack([one.position.board for one in found]) if found else np.zeros((0, PLACES), dtype=np.int8)
    first_of = {game.number: game for game in record.games}
    return tuple(_asked(found, types_of(boards), first_of, matches))


def _asked(
    found: Sequence[Decision], types: Sequence[PositionType], games: dict[int, GameRecord], matches: Matches
) -> Iterator[Asked]:
    for one, kind in zip(found, types, strict=True):
        position = one.position
        if position.dice is not None:
            played = one.after.tobytes() if one.after is not None and one.legal else None
            case = (_rolled(position, position.match, matches), played)
            yield Asked(one, kind, play=case, if_other_began=_if_other_began(one, games[one.game], matches))
        elif position.offer is not Offer.NONE:
            if one.action is not Action.PLAY:
                yield Asked(one, kind, cube=cube_case(position, matches, doubled=False))
        elif one.action is not Action.PLAY and may_double(position.match, position.board):
            yield Asked(one, kind, cube=cube_case(position, matches, one.action is Action.DOUBLE))


def _rolled(position: Position, match: MatchState, matches: Matches) -> Rolled:
    assert position.dice is not None
    return position.board.tobytes(), matches.number(match), position.dice


def _if_other_began(one: Decision, game: GameRecord, matches: Matches) -> Rolled | None:
    """The start has the same board for both sides; only the score differs."""
    first = one.turn == 1 and game.start is None and one.action is Action.PLAY
    if not first or one.position.match.rules.opening is not Opening.KEEP_OPENING_DICE:
        return None
    return _rolled(one.position, one.position.match.flip(), matches)
