"""TD(lambda) learning from self-play.

One round: the net of the round before plays `games_per_round` games while the learner fits the games of the last
round, once, in shuffled order. Both halves are functions of (recipe, round, weights) alone, so a run that was
interrupted and resumed ends with the same bits as one that was not.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from engine.bearoff import NO_DATABASES, open_databases
from engine.errors import InputError
from engine.evaluator import Nets
from engine.kernels.facts import ROWS
from engine.kernels.network import CLASSES
from engine.network import Network
from engine.rules import rule_set
from engine.weights import Net, NetKind, load_net, make_net, shipped_net, sum_bounds
from training.checkpoint import Checkpoint, adam_tensors, restore_adam
from training.first_layer import SparseFirstLayer
from training.recipe import TdRecipe
from training.selfplay import Samples, look_ahead, play_round

LARGEST_SUM = 31.0
"""First-layer sums are kept below this, so that they fit 16 bits in steps of 1/1,024 with a margin for rounding."""


@dataclass(frozen=True, slots=True)
class Round:
    """What one round did."""

    number: int
    """Counts from 1."""
    games: int
    samples: int
    loss: float
    """Mean over samples of the five binary cross-entropies, summed."""
    learning_rate: float
    td_lambda: float


class TdTraining:
    """A training run in memory: iterate `rounds()`; `checkpoint()` between rounds holds all of it."""

    def __init__(self, recipe: TdRecipe, checkpoint: Checkpoint | None = None) -> None:
        self.recipe = recipe
        self.rules = rule_set(recipe.rules)
        self.model = Network(recipe.width, SparseFirstLayer(ROWS))
        self.model.initialise(torch.Generator().manual_seed(recipe.seed))
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=recipe.learning_rate, fused=True)
        self._start: Net | None = load_net(recipe.start_from) if recipe.start_from is not None else None
        if self._start is not None:
            self._start_from(self._start)
        # Looking ahead asks for many plays a position: the filter net saves most of them.
        self._filter = shipped_net(NetKind.FILTER) if recipe.lookahead else None
        self._bearoff = open_databases().arrays if recipe.bearoff else NO_DATABASES
        self.done = 0
        self._player = self._weights()
        if checkpoint is not None:
            self._restore(checkpoint)

    def _start_from(self, net: Net) -> None:
        if net.width != self.recipe.width:
            raise InputError("recipe: width", self.recipe.width, f"the width of the net to start from ({net.width})")
        self.model.load_state_dict({name: torch.from_numpy(array) for name, array in net.arrays.items()})

    def _restore(self, checkpoint: Checkpoint) -> None:
        saved = TdRecipe.model_validate(checkpoint.recipe)
        # How often to save, and where the first weights lay, don't matter any more.
        same = {"checkpoint_every": self.recipe.checkpoint_every, "start_from": self.recipe.start_from}
        if saved.model_copy(update=same) != self.recipe:
            raise InputError("recipe", self.recipe.name, "the recipe that the checkpoint was made with")
        own = {name.removeprefix("model."): t for name, t in checkpoint.tensors.items() if name.startswith("model.")}
        self.model.load_state_dict(own)
        restore_adam(self.optimizer, self._names(), checkpoint.tensors)
        self._player = {
            name.removeprefix("player."): t for name, t in checkpoint.tensors.items() if name.startswith("player.")
        }
        self.done = checkpoint.rounds

    def checkpoint(self) -> Checkpoint:
        """Everything that the rounds still to come depend on."""
        tensors = {f"model.{name}": t for name, t in self._weights().items()}
        tensors |= {f"player.{name}": t for name, t in self._player.items()}
        tensors |= adam_tensors(self.optimizer, self._names())
        return Checkpoint(self.done, self.recipe.model_dump(mode="json"), tensors)

    def net(self) -> Net:
        """The net as it stands."""
        description = {"recipe": self.recipe.name, "rules": self.rules.name, "seed": str(self.recipe.seed)}
        description["games"] = str(self.done * self.recipe.games_per_round)
        if self._start is not None:
            description["start"] = self._start.digest
        return self._as_net(self._weights(), description)

    def rounds(self) -> Iterator[Round]:
        """Train, one round at a time, to the end of the recipe."""
        if self.done >= self.recipe.rounds:
            return
        with ThreadPoolExecutor(max_workers=1) as thread:
            waiting = thread.submit(self._play, self.done, self._player)
            while self.done < self.recipe.rounds:
                samples = waiting.result()
                self._player = self._weights()
                following: Future[Samples] | None = None
                if self.done + 1 < self.recipe.rounds:
                    following = thread.submit(self._play, self.done + 1, self._player)
                done = self._fit(samples, self.done)
                self.done += 1
                yield done
                if following is None:
                    return
                waiting = following

    def _play(self, number: int, weights: dict[str, Tensor]) -> Samples:
        size = self.recipe.games_per_round
        nets = Nets(self._as_net(weights, {}), self._filter)
        samples = play_round(
            nets, self.rules, self.recipe.seed, number * size, size, self.td_lambda(number), self._bearoff
        )
        return look_ahead(samples, nets, self.rules, self._bearoff) if self.recipe.lookahead else samples

    def _fit(self, samples: Samples, number: int) -> Round:
        rate = self.learning_rate(number)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        rows32, races_np = samples.inputs()
        order = torch.randperm(len(races_np), generator=torch.Generator().manual_seed(self.recipe.seed + 1 + number))
        rows = torch.from_numpy(rows32)
        races = torch.from_numpy(races_np)
        targets = torch.from_numpy(samples.targets)
        total = 0.0
        size = self.recipe.batch
        for start in range(0, len(order), size):
            chosen = order[start : start + size]
            logits = self.model(rows[chosen].long(), races[chosen])
            losses = nn.functional.binary_cross_entropy_with_logits(logits, targets[chosen], reduction="none")
            loss = losses.sum(dim=1).mean()
            self.optimizer.zero_grad(set_to_none=True)
            loss.backward()  # type: ignore[no-untyped-call]
            self.optimizer.step()
            total += float(loss.detach()) * len(chosen)
        self._keep_in_range()
        return Round(number + 1, samples.games, len(order), total / max(len(order), 1), rate, self.td_lambda(number))

    @torch.no_grad()
    def _keep_in_range(self) -> None:
        """Hold the weights within what the integer twin can represent."""
        self.model.table.clamp_(-3.9, 3.9)
        self.model.bias.clamp_(-15.0, 15.0)
        self.model.second.clamp_(-7.9, 7.9)
        self.model.last.clamp_(-7.9, 7.9)
        self.model.keep_empty_rows_zero()
        tables = self.model.table.view(CLASSES, ROWS, self.recipe.width)
        for c in range(CLASSES):
            bounds = torch.from_numpy(sum_bounds(tables[c].numpy(), self.model.bias[c].numpy(), LARGEST_SUM))
            # A unit whose sums could overflow is made smaller and its outputs larger, which changes nothing below the
            # clip of its activation.
            shrink = torch.clamp(LARGEST_SUM / bounds, max=1.0).float()
            if bool((shrink < 1.0).any()):
                tables[c] *= shrink
                self.model.bias[c] *= shrink
                self.model.second[c] /= shrink.unsqueeze(1)

    def learning_rate(self, number: int) -> float:
        """Of round `number` (from 0): a short rise, then a cosine."""
        recipe = self.recipe
        progress = number / max(recipe.rounds - 1, 1)
        cosine = 0.5 * (1.0 + math.cos(math.pi * progress))
        rate = recipe.final_learning_rate + (recipe.learning_rate - recipe.final_learning_rate) * cosine
        return rate * min(1.0, (number + 1) / recipe.warm_rounds) if recipe.warm_rounds else rate

    def td_lambda(self, number: int) -> float:
        """Of round `number` (from 0)."""
        recipe = self.recipe
        until = recipe.td_lambda_until * recipe.rounds
        part = min(1.0, number / until) if until > 0 else 1.0
        return recipe.td_lambda + (recipe.final_td_lambda - recipe.td_lambda) * part

    def _names(self) -> list[str]:
        return [name for name, _ in self.model.named_parameters()]

    def _weights(self) -> dict[str, Tensor]:
        return {name: parameter.detach().clone() for name, parameter in self.model.named_parameters()}

    @staticmethod
    def _as_net(weights: dict[str, Tensor], description: dict[str, str]) -> Net:
        return make_net({name: tensor.numpy() for name, tensor in weights.items()}, description)
