"""Teaching a filter net to rank plays as the main net does.

The main net plays games against itself; in every position met, all plays of a random roll are labelled with its own
outcomes. Data is cheap (millions of labels a minute), so each sample is used once.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from engine.evaluator import Evaluator, Nets
from engine.kernels.facts import WIDTH, rows_of
from engine.kernels.filter import FILTER_ROWS
from engine.kernels.labels import label_plays
from engine.kernels.network import CLASSES
from engine.network import FilterNetwork
from engine.rules import rule_set
from engine.weights import Net, NetKind, make_net, sum_bounds
from training.first_layer import SparseFirstLayer
from training.recipe import DistillRecipe
from training.selfplay import play_round
from training.td import LARGEST_SUM


@dataclass(frozen=True, slots=True)
class DistillRound:
    """What one round did."""

    number: int
    samples: int
    loss: float
    """Mean over samples of the five binary cross-entropies above the labels' own entropy, summed."""


class Distillation:
    """A filter net in the making: iterate `rounds()`, then take `net()`."""

    def __init__(self, recipe: DistillRecipe, teacher: Net) -> None:
        self.recipe = recipe
        self.teacher = teacher
        self.rules = rule_set(recipe.rules)
        self.model = FilterNetwork(recipe.width, SparseFirstLayer(FILTER_ROWS))
        self.model.initialise(torch.Generator().manual_seed(recipe.seed))
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
        arrays = {name: p.detach().clone().numpy() for name, p in self.model.named_parameters()}
        return make_net(arrays, description, NetKind.FILTER)

    def rounds(self) -> Iterator[DistillRound]:
        """Fit, one round of self-play games at a time."""
        recipe = self.recipe
        optimizer = torch.optim.Adam(self.model.parameters(), lr=recipe.learning_rate, fused=True)
        for number in range(recipe.rounds):
            progress = number / max(recipe.rounds - 1, 1)
            for group in optimizer.param_groups:
                group["lr"] = recipe.learning_rate * (0.01 + 0.99 * 0.5 * (1.0 + math.cos(math.pi * progress)))
            boards, outcomes = self._labels(number)
            rows32 = np.empty((len(boards), WIDTH), dtype=np.int32)
            races_np = np.empty(len(boards), dtype=np.bool_)
            rows_of(boards, rows32, races_np)
            rows = torch.from_numpy(np.ascontiguousarray(rows32[:, :26]))
            races = torch.from_numpy(races_np)
            targets = torch.from_numpy(outcomes)
            order = torch.randperm(len(boards), generator=torch.Generator().manual_seed(recipe.seed + 1 + number))
            total = 0.0
            for start in range(0, len(order), recipe.batch):
                chosen = order[start : start + recipe.batch]
                target = targets[chosen]
                logits = self.model(rows[chosen].long(), races[chosen])
                losses = nn.functional.binary_cross_entropy_with_logits(logits, target, reduction="none")
                loss = losses.sum(dim=1).mean()
                optimizer.zero_grad(set_to_none=True)
                loss.backward()  # type: ignore[no-untyped-call]
                optimizer.step()
                own = nn.functional.binary_cross_entropy(target, target, reduction="none").sum(dim=1).mean()
                total += float(loss.detach() - own) * len(chosen)
            self._keep_in_range()
            yield DistillRound(number + 1, len(order), total / max(len(order), 1))

    def _labels(self, number: int) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
        recipe = self.recipe
        size = recipe.games_per_round
        positions = play_round(Nets(self.teacher), self.rules, recipe.seed, number * size, size, 0.0).boards
        plays = np.empty((len(positions) * 24, 26), dtype=np.int8)
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

    @torch.no_grad()
    def _keep_in_range(self) -> None:
        tables = self.model.table.view(CLASSES, FILTER_ROWS, self.recipe.width)
        for c in range(CLASSES):
            bounds = torch.from_numpy(sum_bounds(tables[c].numpy(), self.model.bias[c].numpy(), LARGEST_SUM))
            shrink = torch.clamp(LARGEST_SUM / bounds, max=1.0).float()
            tables[c] *= shrink
            self.model.bias[c] *= shrink
            self.model.last[c] /= shrink.unsqueeze(1)
        self.model.keep_empty_rows_zero()
