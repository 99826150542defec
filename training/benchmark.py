"""Scoring an evaluator on recorded decisions with known answers.

The file holds one JSON object a line: `pos` (GNU position ID), `match` (GNU match ID), `dice`, and `moves`,
candidates with their equities `eq`, the first being the reference's choice. The error of a choice is how much worse
its equity is than the first one's; a choice that isn't listed costs as much as the worst that is.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from engine.board import Board
from engine.cubeful import CubefulEvaluator
from engine.errors import InputError
from engine.evaluator import Evaluator
from engine.ids import parse_position
from engine.match import MatchState
from engine.notation import parse_play
from engine.rules import INTERNATIONAL
from engine.search import MoveFilter, rank_plays
from training.estimate import estimate_mean


@dataclass(frozen=True, slots=True)
class CheckerDecision:
    """One recorded checker decision: what each listed after-position loses against the reference's choice."""

    board: tuple[int, ...]
    dice: tuple[int, int]
    losses: dict[bytes, float]
    """After-position (mover's view) -> equity lost."""
    unlisted_loss: float
    match: MatchState = field(default_factory=MatchState)
    """Score and cube of the decision, in the mover's view."""

    def judge(self, after: Board) -> Choice:
        """What choosing the play that leads to `after` (int8[26], the mover's view) costs."""
        choice = after.tobytes()
        loss = self.losses.get(choice)
        if loss is None:
            return Choice(choice, self.unlisted_loss, first=False, listed=False)
        return Choice(choice, loss, first=choice == next(iter(self.losses)), listed=True)


@dataclass(frozen=True, slots=True)
class Choice:
    """An evaluator's choice in a recorded decision."""

    after: bytes
    """The after-position (int8[26], the mover's view)."""
    loss: float
    """Equity lost."""
    first: bool
    """Whether it is the reference's choice."""
    listed: bool
    """Whether it is one of the listed plays."""


@dataclass(frozen=True, slots=True)
class CheckerScore:
    """Mean loss of an evaluator's choices."""

    decisions: int
    meq_per_decision: float
    """Thousandths of a point (of the current cube) lost per decision."""
    interval95: tuple[float, float]
    """95 % interval of the mean, by the normal approximation, in the same unit."""
    first_choice: float
    """Part of decisions in which the reference's choice was found."""
    unlisted: float
    """Part of decisions in which the choice was none of the listed plays."""

    @property
    def error_rate(self) -> float:
        """On the scale of PR: 500 times the mean loss."""
        return self.meq_per_decision / 2


def read_decisions(path: Path, limit: int | None = None) -> Iterator[CheckerDecision]:
    """Checker decisions of a benchmark file (plain or gzip), in file order; records without plays are skipped.

    Raises:
        InputError: unreadable file or a malformed record; names the line.
    """
    found = 0
    try:
        with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                if limit is not None and found >= limit:
                    return
                if not line.strip():
                    continue
                decision = _read_record(path, number, line)
                if decision is not None:
                    found += 1
                    yield decision
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise InputError("benchmark file", path, f"a readable JSON-lines file ({error})") from error


def _read_record(path: Path, number: int, line: str) -> CheckerDecision | None:
    try:
        record: dict[str, Any] = json.loads(line)
        if not record.get("moves"):
            return None
        position = parse_position(f"{record['pos']}:{record['match']}")
        dice = (int(record["dice"][0]), int(record["dice"][1]))
        best = float(record["moves"][0]["eq"])
        losses: dict[bytes, float] = {}
        for move in record["moves"]:
            after = parse_play(str(move["m"]), position.board, dice, INTERNATIONAL).tobytes()
            losses.setdefault(after, max(0.0, best - float(move["eq"])))
        worst = max(0.0, best - min(float(move["eq"]) for move in record["moves"]))
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise InputError(f"{path.name} line {number}", line.strip(), f"a checker decision ({error})") from error
    return CheckerDecision(tuple(int(c) for c in position.board), dice, losses, worst, position.match)


def choice_of(
    evaluator: Evaluator, decision: CheckerDecision, level: int = 1, move_filter: MoveFilter | None = None
) -> Choice:
    """What an evaluator chooses, cubeless money, and what that costs.

    Raises:
        InputError: an unknown level.
    """
    board = np.array(decision.board, dtype=np.int8)
    return decision.judge(rank_plays(evaluator, board, decision.dice, INTERNATIONAL, level, move_filter)[0].after)


def choice_with_cube(
    evaluator: CubefulEvaluator, decision: CheckerDecision, level: int = 1, move_filter: MoveFilter | None = None
) -> Choice:
    """What an evaluator chooses that looks at the cube and the score, and what that costs; raises as `choice_of`."""
    board = np.array(decision.board, dtype=np.int8)
    return decision.judge(evaluator.rank_plays(board, decision.dice, decision.match, level, move_filter)[0].after)


def score_checker(
    evaluator: Evaluator,
    decisions: Iterator[CheckerDecision],
    level: int = 1,
    move_filter: MoveFilter | None = None,
) -> CheckerScore:
    """Let an evaluator choose, cubeless money, and add up what its choices lose.

    Raises:
        InputError: no decisions at all, or an unknown level.
    """
    choices = [choice_of(evaluator, decision, level, move_filter) for decision in decisions]
    n = len(choices)
    if n == 0:
        raise InputError("benchmark file", "no decisions", "at least one record with moves")
    loss = estimate_mean([1000 * choice.loss for choice in choices])
    return CheckerScore(
        decisions=n,
        meq_per_decision=loss.mean,
        interval95=loss.interval95 or (loss.mean, loss.mean),
        first_choice=sum(choice.first for choice in choices) / n,
        unlisted=sum(not choice.listed for choice in choices) / n,
    )
