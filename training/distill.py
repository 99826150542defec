"""Teaching a filter net to rank plays as the main net does.

The main net plays games against itself; in every position met, all plays of a random roll are labelled with its own
outcomes. Data is cheap (millions of labels a minute), so each sample is used once.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from engine.evaluator import Evaluator, Nets
from engine.kernels.labels import label_plays
from engine.rules import rule_set
from engine.weights import Net, NetKind, make_net, save_net
from training.devices import Device, make_fitter
from training.inputs import inputs_of, new_module
from training.limits import keep_in_range
from training.recipe import DistillRecipe
from training.run import EXPERIMENT, flat, make_folder
from training.selfplay import play_round
from training.tracking import start_run

_MOST_PLAYS = 24
"""Room for plays of a position, on average."""


@dataclass(frozen=True, slots=True)
class DistillRound:
    """What one round did."""

    number: int
    samples: int
    loss: float
    """Mean over samples of the five binary cross-entropies above the labels' own entropy, summed."""


class Distillation:
    """A filter net in the making: iterate `rounds()`, then take `net()`."""

    def __init__(self, recipe: DistillRecipe, teacher: Net, device: Device = Device.CPU, threads: int = 1) -> None:
        self.recipe = recipe
        self.teacher = teacher
        self.rules = rule_set(recipe.rules)
        module = new_module(NetKind.FILTER, recipe.width, recipe.seed)
        self._fitter = make_fitter(module, NetKind.FILTER, device, threads)
        self._teacher = Evaluator(Nets(teacher))

    def net(self) -> Net:
        """The filter net as it stands."""
        recipe = self.recipe
        description = {
            "recipe": recipe.name,
            "rules": recipe.rules,
            "seed": str(recipe.seed),
            "teacher": self.teacher.digest,
        }
        arrays = {name: value.clone().numpy() for name, value in self._fitter.weights().items()}
        return make_net(arrays, description, NetKind.FILTER)

    def rounds(self) -> Iterator[DistillRound]:
        """Fit, one round of self-play games at a time."""
        recipe = self.recipe
        for number in range(recipe.rounds):
            progress = number / max(recipe.rounds - 1, 1)
            rate = recipe.learning_rate * (0.01 + 0.99 * 0.5 * (1.0 + math.cos(math.pi * progress)))
            boards, outcomes = self._labels(number)
            inputs = inputs_of(boards, NetKind.FILTER)
            generator = torch.Generator().manual_seed(recipe.seed + 1 + number)
            order = torch.randperm(len(boards), generator=generator).numpy()
            total = 0.0
            for start in range(0, len(order), recipe.batch):
                chosen = order[start : start + recipe.batch]
                loss = self._fitter.step(inputs.part(chosen), outcomes[chosen], rate)
                total += loss * len(chosen)
            weights = self._fitter.weights()
            keep_in_range(weights)
            self._fitter.changed(weights)
            yield DistillRound(number + 1, len(order), total / max(len(order), 1) - _entropy(outcomes))
        self._fitter.close()

    def _labels(self, number: int) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
        recipe = self.recipe
        size = recipe.games_per_round
        positions = play_round(Nets(self.teacher), self.rules, recipe.seed, number * size, size, 0.0).boards
        plays = np.empty((len(positions) * _MOST_PLAYS, 26), dtype=np.int8)
        outcomes = np.empty((len(plays), 5), dtype=np.float32)
        written = label_plays(
            positions,
            recipe.seed + number,
            self._teacher.engine(self.rules),
            self._teacher.workspaces[0],
            plays,
            outcomes,
        )
        return plays[:written], outcomes[:written]


def _entropy(outcomes: NDArray[np.float32]) -> float:
    """Mean over samples of the entropies of the five chances, summed: the least loss that any net can have."""
    p = outcomes.astype(np.float64)
    # At 0 and 1 the product is 0; the logarithm of something else stands in.
    terms = p * np.log(np.where(p > 0, p, 1.0)) + (1.0 - p) * np.log(np.where(p < 1, 1.0 - p, 1.0))
    return float(-terms.sum() / max(len(p), 1))


def run_distillation(
    recipe: DistillRecipe,
    folder: Path,
    teacher: Net,
    show: Callable[[DistillRound], None] = lambda _: None,
    tracking_uri: str | None = None,
    device: Device = Device.AUTO,
    threads: int = 1,
) -> Path:
    """Make a filter net; returns its file, `NAME.safetensors`."""
    make_folder(folder)
    distillation = Distillation(recipe, teacher, device, threads)
    params = flat(recipe.model_dump(mode="json")) | {"teacher": teacher.digest}
    tracked = start_run(tracking_uri, EXPERIMENT, recipe.name, params)
    last = time.perf_counter()
    try:
        for done in distillation.rounds():
            now = time.perf_counter()
            rate, last = done.samples / (now - last), now
            tracked.metrics({"loss": done.loss, "samples": done.samples, "samples_per_s": rate}, step=done.number)
            show(done)
    except BaseException:
        tracked.finish(ok=False)
        raise
    path = folder / f"{recipe.name}.safetensors"
    net = distillation.net()
    save_net(net, path)
    tracked.tags({"net": net.digest, "file": str(path)})
    tracked.finish()
    return path
