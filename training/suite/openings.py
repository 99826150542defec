"""The first rolls against published opening books: the book's play, or one that is within 0.01 of it.

A book is a list of decisions with the book's own equities, so it is scored as recorded decisions are. A play that the
book doesn't list is never close, and costs as much as the worst that is listed. The evaluator looks at no score and no
cube, whatever those of the book.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from engine.board import START, Board, flip
from engine.errors import InputError
from engine.evaluator import Evaluator
from engine.gnuid import parse_position_id
from engine.notation import format_play, parse_play
from engine.rules import INTERNATIONAL
from engine.search import rank_plays
from training.benchmark import CheckerDecision
from training.estimate import estimate_mean
from training.suite.contestant import Contestant, named
from training.suite.figures import Advance, Figure, FigureName, Measure, OpeningChoice, Part, Unit
from training.suite.files import read_objects, read_table, refusing

CLOSE = 0.01
"""Equity."""
_ROUNDING = 1e-9
MONEY = "money"
MATCH_SCORES = "match scores"
BOOK_LEVEL = "book"
PUBLISHED = "snowie7"
"""The table of published results that is used: the others hold too few games to tell plays 0.01 apart."""

_Dice = tuple[int, int]


@dataclass(frozen=True, slots=True)
class BookEntry:
    """A decision of the book, and whether it was looked at for money."""

    decision: CheckerDecision
    money: bool


def read_table_of_openings(path: Path) -> list[CheckerDecision]:
    """The first roll of the game by roll, in the file's order: columns `roll`, `move`, `equity_norm`, and others.

    Raises:
        InputError: an unreadable file, or a malformed row; names the line.
    """

    def read(row: Mapping[str, str]) -> tuple[_Dice, str, float]:
        dice = _dice(row["roll"])
        parse_play(row["move"], START, dice, INTERNATIONAL)
        return dice, row["move"], float(row["equity_norm"])

    return _by_roll(read_table(path, "an opening play", read))


def read_published(path: Path) -> list[CheckerDecision]:
    """The same from a JSON document of published tables: rows of [play, equity] by roll, a null equity for none.

    Raises:
        InputError: an unreadable file, or a malformed table.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError("benchmark file", path, f"a readable JSON file ({error})") from error
    with refusing("benchmark file", path, f"published opening plays under {PUBLISHED!r}"):
        rows = [
            (_dice(roll), str(play), float(equity))
            for roll, plays in json.loads(text)[PUBLISHED]["rows"].items()
            for play, equity in plays
            if equity is not None
        ]
        return _by_roll(rows)


def read_book(path: Path) -> list[BookEntry]:
    """Decisions of any position whose best play the book itself knows: JSON lines with `pos`, `dice`, `cand`, `length`.

    Each candidate has `after` (GNU position ID with the opponent on roll), `equity`, and `level`, which is "book" for
    those of the book. Candidates of other levels were valued more roughly and count as listed all the same.

    Raises:
        InputError: an unreadable file, or a malformed record; names the line.
    """

    def read(record: dict[str, Any]) -> BookEntry | None:
        board = parse_position_id(record["pos"])
        dice = (int(record["dice"][0]), int(record["dice"][1]))
        candidates = record["cand"]
        losses = _losses((flip(parse_position_id(c["after"])).tobytes(), float(c["equity"])) for c in candidates)
        known = candidates[0]["level"] == BOOK_LEVEL
        decision = CheckerDecision(tuple(board.tolist()), dice, losses, max(losses.values()))
        return BookEntry(decision, int(record["length"]) == 0) if known else None

    return read_objects(path, "a decision of an opening book", read)


def opening_figures(
    source: str, decisions: Sequence[CheckerDecision], contestant: Contestant, levels: Sequence[int], advance: Advance
) -> Iterator[Figure | OpeningChoice]:
    """How many first rolls are played as in the book or close to it, and what is lost on average.

    Without intervals: these are all rolls there are, no sample.
    """
    for level in levels:
        afters = _choices(source, decisions, contestant, level, advance)
        name = FigureName(Part.OPENINGS, source, level)
        judged = [decision.judge(after) for decision, after in zip(decisions, afters, strict=True)]
        close = [choice.listed and choice.loss <= CLOSE + _ROUNDING for choice in judged]
        n = len(decisions)
        yield name.complete(Measure.BEST_OR_CLOSE, Unit.PERCENT, n, 100 * sum(close) / n)
        yield name.complete(Measure.LOSS, Unit.MEQ, n, estimate_mean([c.loss for c in judged]).mean * 1000)
        for decision, after, choice in zip(decisions, afters, judged, strict=True):
            best = np.frombuffer(next(iter(decision.losses)), dtype=np.int8)
            yield OpeningChoice(
                source=source,
                dice=decision.dice,
                level=level,
                book_play=format_play(START, best, decision.dice, INTERNATIONAL),
                play=format_play(START, after, decision.dice, INTERNATIONAL),
                loss=choice.loss if choice.listed else None,
            )


def book_figures(
    source: str, entries: Sequence[BookEntry], contestant: Contestant, levels: Sequence[int], advance: Advance
) -> Iterator[Figure]:
    """The same over records of a book, for money and at match scores apart; a roll may occur at several scores."""
    for level in levels:
        afters = _choices(source, [entry.decision for entry in entries], contestant, level, advance)
        name = FigureName(Part.OPENINGS, source, level)
        for group, money in ((MONEY, True), (MATCH_SCORES, False)):
            judged = [
                entry.decision.judge(after)
                for entry, after in zip(entries, afters, strict=True)
                if entry.money is money
            ]
            if judged:
                close = [choice.listed and choice.loss <= CLOSE + _ROUNDING for choice in judged]
                yield name.of(Measure.BEST_OR_CLOSE, Unit.PERCENT, estimate_mean(close).scaled(100), group)
                loss = estimate_mean([choice.loss for choice in judged])
                yield name.of(Measure.LOSS, Unit.MEQ, loss.scaled(1000), group)


_Question = tuple[tuple[int, ...], _Dice]


def _choices(
    source: str, decisions: Sequence[CheckerDecision], contestant: Contestant, level: int, advance: Advance
) -> list[Board]:
    """The chosen after-position of each decision; the same board and dice are looked at once."""
    questions: list[_Question] = list(dict.fromkeys((decision.board, decision.dice) for decision in decisions))

    def choose(evaluator: Evaluator, question: _Question) -> Board:
        board, dice = question
        ranked = rank_plays(
            evaluator, np.array(board, dtype=np.int8), dice, INTERNATIONAL, level, contestant.move_filter
        )
        return ranked[0].after

    found = contestant.over(questions, choose, named(advance, f"{source}, {level}-ply"))
    chosen = dict(zip(questions, found, strict=True))
    return [chosen[decision.board, decision.dice] for decision in decisions]


def _dice(roll: str) -> _Dice:
    if len(roll) != 2:
        raise ValueError("two dice were expected")
    return int(roll[0]), int(roll[1])


def _by_roll(rows: Iterable[tuple[_Dice, str, float]]) -> list[CheckerDecision]:
    """One decision from the start for each roll, in the order in which the rolls first occur."""
    plays: dict[_Dice, list[tuple[bytes, float]]] = {}
    for dice, text, equity in rows:
        after = parse_play(text, START, dice, INTERNATIONAL)
        plays.setdefault(dice, []).append((after.tobytes(), equity))
    found = []
    for dice, equities in plays.items():
        losses = _losses(equities)
        found.append(CheckerDecision(tuple(START.tolist()), dice, losses, max(losses.values())))
    return found


def _losses(equities: Iterable[tuple[bytes, float]]) -> dict[bytes, float]:
    """After-position -> equity lost against the best, the best first; of one that occurs twice the first counts."""
    first: dict[bytes, float] = {}
    for after, equity in equities:
        first.setdefault(after, equity)
    best = max(first.values())
    return {after: best - equity for after, equity in sorted(first.items(), key=lambda item: -item[1])}
