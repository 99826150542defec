"""How games from the start end: every opening roll by its chance, the same numbers every time."""

from __future__ import annotations

import numpy as np
import pytest
from nets import random_net

from engine.bearoff import NO_DATABASES
from engine.errors import InputError
from engine.evaluator import Evaluator, Nets
from engine.game_chances import estimate_chances, opening_rolls
from engine.rollout import Candidate, Roller, RolloutSettings
from engine.rules import HYPERGAMMON, INTERNATIONAL, TAVLA
from engine.versus import NetPlayer

NETS = Nets(random_net(3))
SETTINGS = RolloutSettings(HYPERGAMMON, seed=5, variance_reduction=False, bearoff=False)  # short games
TRIALS = 15 * 36


def test_a_game_opens_with_fifteen_rolls_or_where_the_winner_rolls_again_with_twenty_one() -> None:
    kept, rolled_again = opening_rolls(INTERNATIONAL), opening_rolls(TAVLA)
    assert len(kept) == 15
    assert all(high > low for (high, low), _ in kept)
    assert len(rolled_again) == 21
    assert dict(rolled_again)[6, 6] == 1 / 36
    for rolls in (kept, rolled_again):
        assert sum(chance for _, chance in rolls) == pytest.approx(1.0)


def test_chances_are_the_mean_over_the_best_plays_of_all_openings_on_dice_of_their_own() -> None:
    found = estimate_chances(NETS, NO_DATABASES, SETTINGS, TRIALS)
    player, roller = NetPlayer(Evaluator(NETS), HYPERGAMMON, 1), Roller(NETS)
    start = HYPERGAMMON.start.board[np.newaxis]
    wins = []
    for number, (roll, _) in enumerate(opening_rolls(HYPERGAMMON)):
        after = player.choose(start, np.array([roll]))[0]
        rows = roller.trials(Candidate.after_play(after), SETTINGS, number * 36, 36)
        wins.append(rows[:, 0].mean() / 2**20)
    assert found.trials == TRIALS
    assert sum(found.chances.win) == pytest.approx(np.mean(wins), abs=2e-6)
    assert sum(found.chances.win) + sum(found.chances.lose) == pytest.approx(1.0, abs=1e-9)
    assert 0.0 < found.se < 0.05


def test_trials_are_rounded_up_to_the_same_multiple_of_36_for_every_opening() -> None:
    done: list[float] = []
    found = estimate_chances(NETS, NO_DATABASES, SETTINGS, 1, done.append)
    assert found == estimate_chances(NETS, NO_DATABASES, SETTINGS, TRIALS)
    assert done[-1] == 1.0
    assert done == sorted(done)
    with pytest.raises(InputError, match="trials"):
        estimate_chances(NETS, NO_DATABASES, SETTINGS, 0)
