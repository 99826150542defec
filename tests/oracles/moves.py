"""Legal plays the plain way: every step tried, every rule one visible filter. Slow and obviously right.

Positions are tuples of 26 signed counts from the mover's view, laid out as `engine.board` describes. Shares no code
with `engine`: what it reads of a rule set are the two options that change movement.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, Protocol

Position = tuple[int, ...]

BAR = 25
ROLLS = [(high, low) for high in range(1, 7) for low in range(1, high + 1)]


class MovementRules(Protocol):
    """The options of a rule set that change which plays are legal."""

    @property
    def hit_and_run_ban(self) -> bool: ...

    @property
    def forced_bear_off(self) -> bool: ...


class State(NamedTuple):
    """A turn half played."""

    position: Position
    dice_left: tuple[int, ...]
    home_hits: frozenset[int]
    """Points 1-6 on which the mover has hit in this turn."""


class Step(NamedTuple):
    """One die played with one checker."""

    after: State
    bears_off: bool


def legal_after_positions(board: Iterable[int], dice: tuple[int, int], rules: MovementRules) -> set[Position]:
    """All distinct positions after a legal play of `dice`, mover's view, not turned round; the board itself on a
    pass.
    """
    start = tuple(int(count) for count in board)
    high, low = max(dice), min(dice)
    all_dice = (high,) * 4 if high == low else (high, low)

    finished: set[Position] = set()
    states = {State(start, all_dice, frozenset())}
    while True:
        # `states` are all those reachable with the same number of dice; the last non-empty set uses the most dice.
        following = {step.after for state in states for step in legal_steps(state, rules)}
        if not following:
            break
        finished |= {state.position for state in following if own_checkers(state.position) == 0}
        states = following

    if high != low and all(len(state.dice_left) == 1 for state in states):
        played_high = {state for state in states if state.dice_left == (low,)}
        states = played_high or states
    return finished | {state.position for state in states}


def legal_steps(state: State, rules: MovementRules) -> list[Step]:
    """All steps that may come next, with any of the dice left."""
    if own_checkers(state.position) == 0:
        return []  # the game is over
    steps = []
    for die in sorted(set(state.dice_left)):
        for point in range(1, 26):
            if rules.hit_and_run_ban and point in state.home_hits and state.position[point] < 2:
                continue
            step = step_or_none(state, point, die)
            if step is not None:
                steps.append(step)
    if rules.forced_bear_off and any(step.bears_off for step in steps):
        return [step for step in steps if step.bears_off]
    return steps


def step_or_none(state: State, point: int, die: int) -> Step | None:
    """The step of the checker on `point` with `die` as all rule sets know it; None where it is against the rules."""
    counts = list(state.position)
    if counts[point] < 1:
        return None
    if counts[BAR] > 0 and point != BAR:
        return None
    dice_left = list(state.dice_left)
    dice_left.remove(die)
    counts[point] -= 1
    target = point - die

    if target <= 0:
        all_home = all(state.position[place] <= 0 for place in range(7, 26))
        none_higher = all(state.position[place] <= 0 for place in range(point + 1, 7))
        if not all_home or (target < 0 and not none_higher):
            return None
        return Step(State(tuple(counts), tuple(dice_left), state.home_hits), bears_off=True)

    home_hits = state.home_hits
    if counts[target] <= -2:
        return None
    if counts[target] == -1:
        counts[target] = 0
        counts[0] -= 1
        if target <= 6:
            home_hits |= {target}
    counts[target] += 1
    return Step(State(tuple(counts), tuple(dice_left), home_hits), bears_off=False)


def own_checkers(position: Position) -> int:
    """How many checkers the mover has left."""
    return sum(count for count in position if count > 0)


def turned_round(position: Position) -> Position:
    """The same position seen by the other player."""
    return tuple(-count for count in reversed(position))


def perft(board: Iterable[int], depth: int, rules: MovementRules) -> tuple[int, int]:
    """Plays at `depth` half moves: (over the 21 rolls, over the 36 with a non-double counted twice).

    A pass is one play; a game that is over has none.
    """
    position = tuple(int(count) for count in board)
    if depth == 0:
        return 1, 1
    if own_checkers(position) == 0 or own_checkers(turned_round(position)) == 0:
        return 0, 0
    plays = weighted = 0
    for high, low in ROLLS:
        for after in legal_after_positions(position, (high, low), rules):
            deeper_plays, deeper_weighted = perft(turned_round(after), depth - 1, rules)
            plays += deeper_plays
            weighted += deeper_weighted * (1 if high == low else 2)
    return plays, weighted
