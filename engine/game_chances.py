"""How a game from the start ends, estimated by rollouts: what cubeless match equity tables are computed from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from engine.errors import InputError
from engine.evaluator import Evaluator, Nets
from engine.kernels.bearoff import BearoffArrays
from engine.met.cubeless import GameChances
from engine.moves import ROLLS, roll_weight
from engine.rollout import Candidate, Roller, RolloutSettings
from engine.rules import Opening, RuleSet
from engine.tally import Tally
from engine.versus import NetPlayer

_DECIMALS = 6
_STRATUM = 36
"""Trials of which each first roll of the opponent comes once."""


@dataclass(frozen=True, slots=True)
class EstimatedChances:
    """Chances of a game in the view of the side that begins, with what is known about them."""

    chances: GameChances
    """Rounded to six decimals."""
    se: float
    """The largest standard error of the cumulative chances that count (win, gammon or better, ..., for both sides)."""
    trials: int
    """In all."""


def opening_rolls(rules: RuleSet) -> list[tuple[tuple[int, int], float]]:
    """The rolls that a game can begin with, the higher die first, each with its chance; they add up to 1."""
    if rules.opening is Opening.KEEP_OPENING_DICE:
        return [(roll, 1 / 15) for roll in ROLLS if roll[0] != roll[1]]
    return [(roll, roll_weight(roll) / 36) for roll in ROLLS]


def estimate_chances(
    nets: Nets,
    bearoff: BearoffArrays,
    settings: RolloutSettings,
    trials: int,
    progress: Callable[[float], None] | None = None,
) -> EstimatedChances:
    """Roll out the best play of every opening roll, on dice of its own, and weigh the results by the rolls' chances.

    Args:
        bearoff: the databases, or `NO_DATABASES` where `settings` leaves them out.
        trials: in all; the same multiple of 36 for every roll, so at least so many are played.
        progress: called with the part that is done, 0 to 1.

    Raises:
        InputError: no trials.
    """
    if trials < 1:
        raise InputError("trials", trials, "a whole number of at least 1")
    rules = settings.rules
    rolls = opening_rolls(rules)
    each = -(-trials // (len(rolls) * _STRATUM)) * _STRATUM
    player = NetPlayer(Evaluator(nets, bearoff), rules, settings.level)
    dice = np.array([roll for roll, _ in rolls], dtype=np.int64)
    afters = player.choose(np.tile(rules.start.board, (len(rolls), 1)), dice)
    roller = Roller(nets, bearoff)
    means, errors = np.zeros(5), np.zeros(5)
    for number, (after, (_, weight)) in enumerate(zip(afters, rolls, strict=True)):
        rows = roller.trials(Candidate.after_play(after), settings, number * each, each)
        outcome = Tally.of([rows], rules).outcome(0)
        means += weight * np.array([estimate.mean for estimate in outcome])
        errors = np.hypot(errors, weight * np.array([estimate.se for estimate in outcome]))
        if progress is not None:
            progress((number + 1) / len(rolls))
    return EstimatedChances(
        _exact_kinds(means.tolist(), rules), float(errors[rules.utility != 0].max()), each * len(rolls)
    )


def _exact_kinds(cumulative: list[float], rules: RuleSet) -> GameChances:
    """From estimates of the five cumulative chances, which can lie a little outside their range.

    Kinds that the rules don't count are taken as the lower kind: nobody plays for them.
    """
    win, win_gammon, win_backgammon, lose_gammon, lose_backgammon = (min(max(p, 0.0), 1.0) for p in cumulative)

    def kinds(all_wins: float, gammons: float, backgammons: float) -> tuple[float, float, float]:
        third = round(min(backgammons, gammons), _DECIMALS) if rules.backgammon_counts else 0.0
        second = round(gammons - third, _DECIMALS) if rules.gammon_counts else 0.0
        return round(all_wins - second - third, _DECIMALS), second, third

    win = round(win, _DECIMALS)
    return GameChances(kinds(win, win_gammon, win_backgammon), kinds(1.0 - win, lose_gammon, lose_backgammon))
