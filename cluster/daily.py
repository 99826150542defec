"""The problem of the day: the same position for everybody, with the truth from a rollout.

Which position it is depends on the date, the rule set, the nets and the versions of rollouts and of this policy, and
on nothing else. Games that the net plays against itself, on dice drawn from these, give positions; the first one that
passes the policy is the problem:

- a real choice: several plays, another play than the best one looks as good at first sight (1-ply), or nearly so;
- a clear answer: the search and the rollout agree on the best play, and every other one loses enough, beyond the error.
"""

from __future__ import annotations

import calendar
import datetime
import enum
import hashlib
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count

import numpy as np

from cluster.book.build import compute_entry
from cluster.book.entry import Entry, Spot
from cluster.book.recipe import BookRecipe, DepthPart
from cluster.book.schemas import BookPlay, EntryQuestion, Verdict
from cluster.book.simulation import Simulator
from cluster.coordinator import Progress
from cluster.schemas import Model
from engine.board import Board, flip
from engine.display import board_text
from engine.errors import InputError
from engine.evaluator import Evaluator
from engine.gnuid import format_position_id
from engine.ids import parse_position
from engine.position import Position
from engine.rules import RuleSet
from engine.search import rank_plays
from engine.xgid import format_xgid

VERSION = 1
"""Of the policy: raised whenever the same date would get another position."""

FIRST_HALF_MOVE, HALF_MOVES = 3, 30
"""Where in a game problems come from: the openings are for books, the late endings for tables."""
FEWEST_PLAYS = 5
SEEMS_CLOSE = 0.03
"""Equity at 1-ply: another play that is no further behind the best one (or before it) makes the choice a real one."""
LEAST_LOSS, MOST_LOSS = 0.03, 0.15
"""Of the second best play: a clear answer, but no absurd alternative."""
QUESTION = EntryQuestion(margin=0.25, most=5, trials=1296, checkpoint=216)


class ProblemKind(enum.Enum):
    """What has to be decided."""

    CHECKER = "checker"
    CUBE = "cube"


class DailyProblem(Model):
    """A problem with its answer; equities are cubeless, in points, in the view of the player on roll."""

    date: datetime.date
    kind: ProblemKind
    rules: str
    version: str
    """Names the policy, the rollouts and the nets: with another one, another position."""
    xgid: str
    roll: str
    plays: tuple[BookPlay, ...]
    """Best first."""
    explanation: str
    trials: int


class DailyReport(Model):
    """The JSON document of `gammonfarm daily`."""

    problems: tuple[DailyProblem, ...]


@dataclass(frozen=True, slots=True)
class DailyQuestion:
    """Which problem is asked for."""

    date: datetime.date
    kind: ProblemKind

    def key(self, simulator: Simulator) -> str:
        """What its dice are drawn from."""
        text = f"{self.date.isoformat()} {self.kind.value} {simulator.stakes.rules.name} {version_of(simulator)}"
        return hashlib.sha256(text.encode()).hexdigest()


def recipe_of(rules: str) -> BookRecipe:
    """How problems of a rule set are valued: as plays of a book for money."""
    part = DepthPart(**QUESTION.model_dump())
    return BookRecipe(name="daily", rules=rules, depth=(part,))


def version_of(simulator: Simulator) -> str:
    """What besides date and rule set decides which position comes."""
    return f"{VERSION}.{simulator.identity.result_version}.{simulator.identity.net}"


def days(text: str) -> list[datetime.date]:
    """A date `2026-12-24`, or all dates of a month `2026-12`.

    Raises:
        InputError: neither.
    """
    try:
        if len(text) == len("2026-12"):
            first = datetime.date.fromisoformat(f"{text}-01")
            last = calendar.monthrange(first.year, first.month)[1]
            return [first.replace(day=day) for day in range(1, last + 1)]
        return [datetime.date.fromisoformat(text)]
    except ValueError as error:
        raise InputError("date", text, "a date as 2026-12-24, or a month as 2026-12") from error


def find_problem(
    question: DailyQuestion, simulator: Simulator, evaluator: Evaluator, show: Callable[[Progress], None]
) -> DailyProblem:
    """The problem of a date.

    Args:
        simulator: made for `recipe_of` the rule set.

    Raises:
        InputError: a cube problem, whose truth needs rollouts with the cube.
    """
    if question.kind is ProblemKind.CUBE:
        raise InputError("kind", question.kind.value, "checker: rollouts don't know the cube yet")
    rules = simulator.stakes.rules
    for board, dice in positions(question.key(simulator), evaluator, rules):
        if not seems_a_choice(board, dice, simulator, evaluator):
            continue
        spot = Spot(format_position_id(board), dice, 1, f"{dice[0]}{dice[1]}", 1.0)
        entry = compute_entry(simulator, spot, QUESTION, show)
        if has_clear_answer(entry):
            return _problem(question, simulator, entry)
    raise AssertionError("positions never end")


def positions(key: str, evaluator: Evaluator, rules: RuleSet) -> Iterator[tuple[Board, tuple[int, int]]]:
    """Positions with dice, one of each game that a net plays against itself at 1-ply; without end."""
    for game in count():
        # Seeded by text: the stream of `random()` is then the same in every version of Python.
        chance = random.Random(f"{key}:{game}")
        length = FIRST_HALF_MOVE + int(chance.random() * HALF_MOVES)
        board: Board | None = rules.start.board
        for _ in range(length):
            if board is None:
                break
            board = _played_on(board, _dice(chance), evaluator, rules)
        if board is not None:
            yield board, _dice(chance)


def _dice(chance: random.Random) -> tuple[int, int]:
    first, second = (1 + int(6 * chance.random()) for _ in range(2))
    return max(first, second), min(first, second)


def _played_on(board: Board, dice: tuple[int, int], evaluator: Evaluator, rules: RuleSet) -> Board | None:
    """The opponent's position after the best play at 1-ply; None where it ended the game."""
    after = rank_plays(evaluator, board, dice, rules)[0].after
    return flip(after) if np.maximum(after, 0).any() else None


def seems_a_choice(board: Board, dice: tuple[int, int], simulator: Simulator, evaluator: Evaluator) -> bool:
    """Whether there is contact, several plays, and at first sight another one than the search's choice is as good."""
    if not _has_contact(board):
        return False
    at_once = rank_plays(evaluator, board, dice, simulator.stakes.rules)
    if len(at_once) < FEWEST_PLAYS or at_once[0].value.equity - at_once[1].value.equity > SEEMS_CLOSE:
        return False
    searched = simulator.search(Position(board, simulator.stakes.opener, dice), QUESTION)
    if len(searched) < 2:
        return False
    return LEAST_LOSS <= searched[0].equity - searched[1].equity <= MOST_LOSS


def _has_contact(board: Board) -> bool:
    """Whether some checker of each side has still to pass one of the other."""
    own, other = np.flatnonzero(board > 0), np.flatnonzero(board < 0)
    return bool(own.max() > other.min())


def has_clear_answer(entry: Entry) -> bool:
    """Whether search and trials agree on the best play, and every other one surely loses enough."""
    if entry.verdict is not Verdict.SETTLED or len(entry.plays) < 2:
        return False
    best, *others = entry.plays
    return (
        all(
            best.search_equity > play.search_equity
            and play.simulation_difference < 0.0
            and -play.difference >= LEAST_LOSS
            for play in others
        )
        and -others[0].difference <= MOST_LOSS
    )


def _problem(question: DailyQuestion, simulator: Simulator, entry: Entry) -> DailyProblem:
    return DailyProblem(
        date=question.date,
        kind=question.kind,
        rules=simulator.stakes.terms.rules,
        version=version_of(simulator),
        xgid=format_xgid(entry.spot.under(simulator.stakes)),
        roll=entry.spot.roll,
        plays=entry.plays,
        explanation=explain(entry.plays),
        trials=entry.trials,
    )


def explain(plays: Sequence[BookPlay]) -> str:
    """Where the equity comes from: the chances of the best play against those of the second best."""
    best, second = plays[:2]
    p, q = best.probabilities, second.probabilities
    parts = [
        _share("wins", p.win - q.win, "games"),
        _share("wins", p.win_gammon - q.win_gammon, "gammons"),
        _share("loses", p.lose_gammon - q.lose_gammon, "gammons"),
    ]
    said = ", ".join(part for part in parts if part) or "differs in no chance by more than 0.1 %"
    return f"{best.play} is worth {-second.difference:.3f} points more than {second.play}: it {said}."


def _share(verb: str, difference: float, what: str) -> str:
    if abs(difference) < 0.001:
        return ""
    return f"{verb} {100 * abs(difference):.1f} % {'more' if difference > 0 else 'fewer'} {what}"


def as_text(problem: DailyProblem, answer: bool) -> str:
    """The problem for people; with the `answer`, or without."""
    lines = [
        f"Problem of {problem.date.isoformat()} ({problem.rules}, money, no cube): how to play {problem.roll}?",
        board_text(parse_position(problem.xgid)),
        problem.xgid,
    ]
    if answer:
        lines += ["", problem.explanation]
        for play in problem.plays:
            error = f" ± {1.96 * play.difference_se:.4f}" if play.difference else ""
            lines.append(f"  {play.play:<26} {play.equity:+.4f}  {play.difference:+.4f}{error}")
    return "\n".join(lines)
