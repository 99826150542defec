"""What a finished net is like on games that it was not trained on: calibration, and error by kind of game."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.board import CHECKERS
from engine.evaluator import Evaluator, Nets
from engine.kernels.network import ONE
from engine.kernels.selfplay import Exploration
from engine.outcome import NAMES, cubeless_equity
from engine.rules import RuleSet
from training.positions import Labelling, ShardMaker, ShardTask
from training.recipe import LabelKind
from training.selfplay import play_round
from training.starts import FEW_CHECKERS, StartKind, StartMix

BINS = 20
_FIRST_GAME = 1 << 40
"""No training run has so many games: these are never trained on."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """Of one probability, over positions sorted into bins by what the net says."""

    said: NDArray[np.float64]  # [BINS]: mean of what the net says (NaN: no positions)
    happened: NDArray[np.float64]  # [BINS]: how often it came true
    counts: NDArray[np.int64]  # [BINS]

    @property
    def error(self) -> float:
        """Expected calibration error: the mean distance of the two, weighted by positions."""
        used = self.counts > 0
        gaps = np.abs(self.said[used] - self.happened[used]) * self.counts[used]
        return float(gaps.sum() / max(int(self.counts.sum()), 1))


@dataclass(frozen=True, slots=True)
class HeldOut:
    """The report."""

    games: int
    positions: int
    calibration: Mapping[str, Calibration]
    """By the name of the probability."""
    errors: Mapping[StartKind, float]
    """Mean absolute difference in equity of 1-ply and 2-ply, by the kind of start of the game."""


def hold_out(nets: Nets, rules: RuleSet, seed: int, games: int, labelled_games: int) -> HeldOut:
    """Play games that no training of this seed has played, and look at the net's values in them.

    Args:
        games: from the opening to their end, for the calibration. labelled_games: from each kind of start, for the
            error.
    """
    played = play_round(nets, rules, seed, _FIRST_GAME, games, td_lambda=1.0)
    evaluator = Evaluator(nets)
    said = evaluator.after_positions(played.boards, rules.start.checkers) / ONE
    calibration = {
        name: _calibrate(said[:, o], played.targets[:, o].astype(np.float64)) for o, name in enumerate(NAMES)
    }
    return HeldOut(
        games=played.games,
        positions=len(played.boards),
        calibration=calibration,
        errors=_errors(nets, evaluator, rules, seed, labelled_games),
    )


def _calibrate(said: NDArray[np.float64], happened: NDArray[np.float64]) -> Calibration:
    which = np.minimum((said * BINS).astype(np.int64), BINS - 1)
    counts = np.bincount(which, minlength=BINS)
    with np.errstate(invalid="ignore"):
        return Calibration(
            np.bincount(which, weights=said, minlength=BINS) / counts,
            np.bincount(which, weights=happened, minlength=BINS) / counts,
            counts,
        )


def _errors(nets: Nets, evaluator: Evaluator, rules: RuleSet, seed: int, games: int) -> dict[StartKind, float]:
    maker = ShardMaker(nets)
    found = {}
    full = rules.start.checkers == CHECKERS
    for number, kind in enumerate(kind for kind in StartKind if full or kind in FEW_CHECKERS):
        task = ShardTask(
            generation=0,
            index=0,
            rules=rules,
            seed=seed,
            first_game=_FIRST_GAME + number * games,
            games=games,
            starts=StartMix({kind: 1.0}),
            settle=2,
            half_moves=20,
            explore=Exploration(0, 0, 2),
            labels=Labelling(LabelKind.TWO_PLY),
        )
        shard = maker.make(task)
        if len(shard.boards):
            said = cubeless_equity(evaluator.after_positions(shard.boards, rules.start.checkers) / ONE, rules)
            deeper = cubeless_equity(shard.labels.astype(np.float64), rules)
            found[kind] = float(np.abs(said - deeper).mean())
    return found
