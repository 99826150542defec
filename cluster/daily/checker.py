"""Checker problems: which positions are worth a day, and why the answer is the answer.

The first position of the day's games that passes is the problem:

- a real choice: several plays, another play than the best one looks as good at first sight (1-ply), or nearly so;
- a clear answer: the search and the rollout agree on the best play, and every other one loses enough, beyond the error.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cluster.book.build import compute_entry
from cluster.book.entry import Entry, Spot
from cluster.book.recipe import BookRecipe, DepthPart
from cluster.book.schemas import BookPlay, EntryQuestion, Verdict
from cluster.book.simulation import Simulator
from cluster.daily.games import DailyQuestion, positions
from cluster.daily.schemas import DailyProblem
from engine.analysis.comparison import Candidate, Setting, reasons
from engine.analysis.explanation import play_sentence
from engine.analysis.language import Language
from engine.board import Board, flip
from engine.evaluator import Evaluator
from engine.gnuid import format_position_id, parse_position_id
from engine.position import Position
from engine.search import rank_plays
from engine.xgid import format_xgid

FEWEST_PLAYS = 5
SEEMS_CLOSE = 0.03
"""Equity at 1-ply: another play that is no further behind the best one (or before it) makes the choice a real one."""
LEAST_LOSS, MOST_LOSS = 0.03, 0.15
"""Of the second best play: a clear answer, but no absurd alternative."""
QUESTION = EntryQuestion(margin=0.25, most=5, trials=1296, checkpoint=216)


def recipe_of(rules: str) -> BookRecipe:
    """How problems of a rule set are valued: as plays of a book for money without a cube."""
    part = DepthPart(**QUESTION.model_dump())
    return BookRecipe(name="daily", rules=rules, cube=False, depth=(part,))


def find_checker_problem(question: DailyQuestion, simulator: Simulator, evaluator: Evaluator) -> DailyProblem:
    """The problem of a date.

    Args:
        simulator: made for `recipe_of` the rule set.
    """
    for board, dice in positions(question.key, evaluator, question.rules):
        if not seems_a_choice(board, dice, simulator, evaluator):
            continue
        spot = Spot(format_position_id(board), dice, 1, f"{dice[0]}{dice[1]}", 1.0)
        entry = compute_entry(simulator, spot, QUESTION)
        if has_clear_answer(entry):
            return _problem(question, simulator, entry)
    raise AssertionError("positions never end")


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
    position = entry.spot.under(simulator.stakes)
    return DailyProblem(
        date=question.date,
        kind=question.kind,
        rules=question.rules.name,
        version=question.version,
        xgid=format_xgid(position),
        roll=entry.spot.roll,
        plays=entry.plays,
        probabilities=entry.plays[0].probabilities,
        explanation=explain(position, entry.plays),
        trials=entry.trials,
    )


def explain(position: Position, plays: Sequence[BookPlay]) -> str:
    """What the best play has that the second best has not, and what that is worth in wins and gammons."""
    best, second = plays[:2]
    p, q = best.probabilities, second.probabilities
    one, other = _candidate(best), _candidate(second)
    found = reasons(position.board, one, other, Setting(position.match.rules))
    why = play_sentence(found, Language.ENGLISH, one, other)
    parts = [
        _share("wins", p.win - q.win, "games"),
        _share("wins", p.win_gammon - q.win_gammon, "gammons"),
        _share("loses", p.lose_gammon - q.lose_gammon, "gammons"),
    ]
    said = ", ".join(part for part in parts if part) or "differs in no chance by more than 0.1 %"
    return f"{why} {best.play} is worth {-second.difference:.3f} points more than {second.play}: it {said}."


def _candidate(play: BookPlay) -> Candidate:
    p = play.probabilities
    chances = (p.win, p.win_gammon, p.win_backgammon, p.lose_gammon, p.lose_backgammon)
    return Candidate(flip(parse_position_id(play.after)), chances)


def _share(verb: str, difference: float, what: str) -> str:
    if abs(difference) < 0.001:
        return ""
    return f"{verb} {100 * abs(difference):.1f} % {'more' if difference > 0 else 'fewer'} {what}"
