"""Bear-offs: our databases against exact ones of others, and the net alone against exact values."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.bearoff import Bearoff
from engine.board import BAR, OPPONENT_BAR, Board
from engine.evaluator import Evaluator
from engine.gnuid import parse_position_id
from engine.rules import INTERNATIONAL
from training.estimate import estimate_mean
from training.suite.contestant import Contestant, named
from training.suite.figures import Advance, Figure, FigureName, Measure, Part, Unit
from training.suite.files import read_lines, read_objects
from training.suite.values import root_mean_square

HOME_POINTS = 6
CUBE_STATES = ("cubeless", "owned", "centered", "opp_owns")
"""Fields of a two-sided record, in the order of `Bearoff.two_sided`."""
MEAN_ROLLS = "mean rolls"
CHANCES = "chances of rolls"
NET_ALONE = "net alone"


@dataclass(frozen=True, slots=True)
class OneSidedRecord:
    """A side that bears off: its checkers on points 1 to 6, and exact figures of its rolls."""

    counts: tuple[int, ...]
    mean_rolls: float
    chances: tuple[tuple[int, float], ...]
    """Numbers of rolls with their chance; the others have none."""


@dataclass(frozen=True, slots=True, eq=False)
class TwoSidedRecord:
    """A position before the roll with exact money equities of the player on roll."""

    board: Board
    equities: tuple[float, ...]
    """Cubeless, he owns the cube, centred, the opponent owns it."""


def read_one_sided(path: Path, limit: int | None = None) -> list[OneSidedRecord]:
    """JSON lines with `position_id` (its first side has the checkers), `mean_rolls`, `dist_percent`.

    Raises:
        InputError: an unreadable file, or a malformed record; names the line.
    """

    def read(record: dict[str, Any]) -> OneSidedRecord:
        chances = tuple((int(rolls), float(percent) / 100) for rolls, percent in record["dist_percent"])
        return OneSidedRecord(_first_side(record["position_id"]), float(record["mean_rolls"]), chances)

    return read_objects(path, "a one-sided bear-off", read, limit)


def read_two_sided(path: Path, limit: int | None = None) -> list[TwoSidedRecord]:
    """JSON lines with `position_id` and the four equities; raises as `read_one_sided`."""

    def read(record: dict[str, Any]) -> TwoSidedRecord:
        equities = tuple(float(record[state]) for state in CUBE_STATES)
        return TwoSidedRecord(parse_position_id(record["position_id"]), equities)

    return read_objects(path, "a two-sided bear-off", read, limit)


def read_known_endings(path: Path, limit: int | None = None) -> list[Board]:
    """Positions in which both sides only bear off, the first `limit`, of a file of GNU position IDs, one a line.

    Raises:
        InputError: an unreadable file, or a malformed ID; names the line.
    """
    boards = read_lines(path, "a position ID", lambda line: parse_position_id(line.strip()))
    return [board for board in boards if _only_bear_off(board)][:limit]


def _only_bear_off(board: Board) -> bool:
    """Whether every checker of both sides is in its home and has none of the other side in front of it."""
    own, others = board[1 : HOME_POINTS + 1], board[-HOME_POINTS - 1 : -1]
    outside = board[HOME_POINTS + 1 : -HOME_POINTS - 1].any() or board[OPPONENT_BAR] or board[BAR]
    return not outside and bool((own >= 0).all() and (others <= 0).all())


def _first_side(position_id: str) -> tuple[int, ...]:
    """Points 1 to 6 of the first side of a position ID whose other side has no checkers, so that it is no game."""
    data = base64.b64decode(position_id + "=" * (-len(position_id) % 4), validate=True)
    bits = "".join(format(byte, "08b")[::-1] for byte in data)
    counts = tuple(len(ones) for ones in bits.split("0")[:HOME_POINTS])
    if sum(counts) != bits.count("1") or not any(counts):
        raise ValueError("checkers of one side in its home were expected")
    return counts


def one_sided_figures(source: str, records: Sequence[OneSidedRecord], databases: Bearoff) -> Iterator[Figure]:
    """Largest differences of the mean number of rolls and of the chances of each number."""
    name = FigureName(Part.BEAROFF, source, None)
    means = [abs(databases.mean_rolls(record.counts) - record.mean_rolls) for record in records]
    yield name.complete(Measure.LARGEST, Unit.ROLLS, len(means), max(means), MEAN_ROLLS)
    differences: list[float] = []
    for record in records:
        ours = dict(enumerate(databases.rolls_distribution(record.counts).tolist()))
        theirs = dict(record.chances)
        differences += [abs(ours.get(rolls, 0.0) - theirs.get(rolls, 0.0)) for rolls in ours.keys() | theirs.keys()]
    yield name.complete(Measure.LARGEST, Unit.PERCENT, len(differences), 100 * max(differences), CHANCES)


def two_sided_figures(
    source: str,
    records: Sequence[TwoSidedRecord],
    contestant: Contestant,
    levels: Sequence[int],
    advance: Advance,
) -> Iterator[Figure]:
    """Largest differences of our databases in the four cube states, then the cubeless error of the net alone."""
    name = FigureName(Part.BEAROFF, source, None)
    ours = [contestant.bearoff.two_sided(record.board) for record in records]
    for number, state in enumerate(CUBE_STATES):
        largest = max(abs(o[number] - r.equities[number]) for o, r in zip(ours, records, strict=True))
        yield name.complete(Measure.LARGEST, Unit.POINTS, len(records), largest, state.replace("opp_", "opponent "))
    boards = [record.board for record in records]
    yield from _net_alone(source, boards, [record.equities[0] for record in records], contestant, levels, advance)


def known_ending_figures(
    source: str, boards: Sequence[Board], contestant: Contestant, levels: Sequence[int], advance: Advance
) -> Iterator[Figure]:
    """The cubeless error of the net alone against our databases, before the roll."""
    exact = contestant.over(boards, _equity(1), named(advance, f"{source}, databases"))
    yield from _net_alone(source, boards, exact, contestant, levels, advance)


def _net_alone(
    source: str,
    boards: Sequence[Board],
    exact: Sequence[float],
    contestant: Contestant,
    levels: Sequence[int],
    advance: Advance,
) -> Iterator[Figure]:
    for level in levels:
        found = contestant.over(
            boards, _equity(level), named(advance, f"{source}, {level}-ply"), contestant.without_databases()
        )
        errors = [ours - theirs for ours, theirs in zip(found, exact, strict=True)]
        name = FigureName(Part.BEAROFF, source, level)
        yield name.of(Measure.MEAN_ABSOLUTE, Unit.POINTS, estimate_mean([abs(e) for e in errors]), NET_ALONE)
        yield root_mean_square(name, errors, NET_ALONE)
        yield name.of(Measure.BIAS, Unit.POINTS, estimate_mean(errors), NET_ALONE)


def _equity(level: int) -> Callable[[Evaluator, Board], float]:
    """Cubeless equity before the roll, in the view of the player on roll."""
    return lambda evaluator, board: evaluator.before_roll(board, INTERNATIONAL, level).equity
