"""Judging plays: which candidates a play is compared with, and at which level.

A case is a roll in a position together with what was played. All that is said about it depends on these alone, never
on what else is in the archive.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from cluster.archive.evaluation import Board, Evaluation, Node, NodeAnswer, Rolled, RolledAnswer, ValuedPlay
from cluster.archive.matches import Matches
from cluster.archive.policy import SHALLOW_LEVEL, Policy
from engine.cube import CubeQuestion
from engine.kernels.cube import before_roll_value
from engine.kernels.network import ONE
from engine.search import FilterStep

Case = tuple[Rolled, Board | None]
"""A roll and the board after what was played, which may be an illegal play; None: nothing was, or it isn't known."""


@dataclass(frozen=True, slots=True)
class JudgedPlay:
    """A case that is settled."""

    legal_plays: int
    candidates: tuple[ValuedPlay, ...]
    """The best first: those of a higher level stand before those of a lower one."""
    played: int | None
    """Which of them was played; it always has the level of the first. None: none of them."""


def sorted_plays(plays: Iterable[ValuedPlay]) -> list[ValuedPlay]:
    """Best first, as in `CubefulEvaluator.rank_plays`."""
    return sorted(plays, key=lambda p: (-p.level, -p.value, -p.cubeless, p.left, p.order))


def judge_plays(
    cases: Sequence[Case],
    evaluation: Evaluation,
    matches: Matches,
    policy: Policy,
    also: Iterable[Rolled] = (),
) -> tuple[dict[Case, JudgedPlay], dict[Rolled, RolledAnswer]]:
    """All cases, first at 1-ply, then deeper where the policy says so; `also`: rolls whose luck alone is wanted."""
    wanted: dict[Rolled, list[Board]] = {rolled: [] for rolled in also}
    for rolled, played in cases:
        boards = wanted.setdefault(rolled, [])
        if played is not None and played not in boards:
            boards.append(played)
    answers = evaluation.rolls(wanted, policy.kept)
    found = {case: _candidates(case, answers[case[0]], policy.kept) for case in cases}
    if policy.level > SHALLOW_LEVEL:
        deeper = [case for case in found if _needs_deeper(case, found[case], matches, policy)]
        steps = policy.move_filter.for_level(policy.level)
        for number, step in enumerate(steps):
            target = steps[number + 1].level if number + 1 < len(steps) else policy.level
            _look_deeper(deeper, found, step, target, evaluation, matches)
    judged = {case: _judged(case, plays, answers[case[0]]) for case, plays in found.items()}
    return judged, answers


def _candidates(case: Case, answer: RolledAnswer, keep: int) -> list[ValuedPlay]:
    """Those that belong to this case: what other cases of the same roll wanted is left out."""
    _, played = case
    best = list(answer.plays[: min(keep, answer.legal)])
    if all(play.after != played for play in best):
        best += [play for play in answer.plays[len(best) :] if play.after == played]
    return sorted_plays(best)


def _needs_deeper(case: Case, plays: list[ValuedPlay], matches: Matches, policy: Policy) -> bool:
    (_, number, _), played = case
    if len(plays) < 2:
        return False
    if played is not None and played != plays[0].after:
        return True
    lead = plays[0].value - plays[1].value
    return lead < matches.question(number).value(policy.play_margin)


def _look_deeper(
    cases: list[Case],
    found: dict[Case, list[ValuedPlay]],
    step: FilterStep,
    target: int,
    evaluation: Evaluation,
    matches: Matches,
) -> None:
    """One step of the move filter for all cases; what was played always goes on, so that it can be compared."""
    going_on: dict[Case, list[ValuedPlay]] = {}
    for case in cases:
        (_, number, _), played = case
        plays = found[case]
        limit = plays[0].value - round(matches.question(number).value(step.margin))
        going_on[case] = [
            play
            for place, play in enumerate(plays)
            if play.after == played or (place < step.keep and play.level == step.level and play.value >= limit)
        ]
    turned = {case: matches.turned(case[0][1]) for case in cases}
    nodes: list[Node] = [(play.after, turned[case]) for case in cases for play in going_on[case]]
    answers = evaluation.nodes(nodes, target)
    for case in cases:
        number = turned[case]
        value = _valuer(matches.question(number), target)
        new = {play.after: value(play, answers[play.after, number]) for play in going_on[case]}
        found[case] = sorted_plays(new.get(play.after, play) for play in found[case])


def _valuer(question: CubeQuestion, level: int) -> Callable[[ValuedPlay, NodeAnswer], ValuedPlay]:
    """Puts the answer about the position after a play into the play; `question` in the view of who is on roll next."""

    def valued(play: ValuedPlay, answer: NodeAnswer) -> ValuedPlay:
        return replace(
            play,
            outcome=answer.outcome,
            value=-int(before_roll_value(answer.rolling, question.game)),
            cubeless=int(answer.outcome @ question.utilities[1]) - ONE,
            level=level,
        )

    return valued


def _judged(case: Case, plays: list[ValuedPlay], answer: RolledAnswer) -> JudgedPlay:
    played = next((place for place, play in enumerate(plays) if play.after == case[1]), None)
    return JudgedPlay(answer.legal, tuple(plays), played)
