"""Learning in generations: which shards a generation has, which net makes them, and how the learner fits them.

The net that plays generation g is the one after generation g - 2 was fitted, so the data of a generation can be made
while the one before is fitted. Data is a function of (recipe, generation, that net), and fitting one of (weights, data,
generation): a run that was interrupted and resumed ends with the same bits as one that was not, whoever made the
shards in whatever order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from engine.errors import InputError, InternalError
from engine.evaluator import Nets
from engine.kernels.selfplay import Exploration
from engine.rules import rule_set
from engine.weights import Net, NetKind, load_net, make_net, shipped_net
from training.checkpoint import Checkpoint
from training.devices import Device, make_fitter
from training.inputs import inputs_of, new_module
from training.limits import keep_in_range
from training.positions import Labelling, Shard, ShardTask
from training.recipe import NO_FILTER, SHIPPED_FILTER, SelfPlayRecipe
from training.sharing import as_one_contact, share_contact
from training.starts import StartMix
from training.widen import start_from

_CHANCE_ONE = (1 << 32) - 1
_BLOCK = 16
"""Batches whose inputs are computed at a time."""
_AVERAGE_EVERY = 16
"""Batches between two looks of the average: it holds as many numbers as the net."""


@dataclass(frozen=True, slots=True)
class Generation:
    """What fitting one generation came to."""

    number: int
    """Counts from 1."""
    games: int
    samples: int
    """New ones."""
    fitted: int
    """Samples that went through the learner."""
    refused: int
    """New samples left out because their label was impossible."""
    loss: float
    """Mean over fitted samples of the five binary cross-entropies, summed."""
    learning_rate: float
    """At the end of the generation."""
    td_lambda: float


class Training:
    """A run in memory: for each generation ask for `tasks` and `player`, then `fit`; `checkpoint()` in between holds
    all of it.

    Args:
        device: see `training.devices.make_fitter`. threads: of the learner on a CPU.
    """

    def __init__(
        self,
        recipe: SelfPlayRecipe,
        checkpoint: Checkpoint | None = None,
        device: Device = Device.CPU,
        threads: int = 1,
    ) -> None:
        self.recipe = recipe
        self.rules = rule_set(recipe.rules)
        self._filter = _filter_net(recipe.labels.filter)
        module = new_module(NetKind.MAIN, recipe.width, recipe.seed)
        self._start: str | None = None
        if recipe.start_from is not None and checkpoint is None:
            net = load_net(recipe.start_from)
            start_from(module, net)
            self._start = net.digest
        self._fitter = make_fitter(module, NetKind.MAIN, device, threads)
        self._average = self._copy() if recipe.fit.average_batches else None
        self._averaged = 0
        self.done = 0
        """Generations that are fitted."""
        self.games = 0
        """Games in them."""
        self._player = self._export()
        if checkpoint is not None:
            self._restore(checkpoint)

    def close(self) -> None:
        """Stop the learner's threads."""
        self._fitter.close()

    # What a generation consists of

    def tasks(self, generation: int) -> list[ShardTask]:
        """The shards of a generation (from 0)."""
        recipe = self.recipe
        labels = recipe.labels
        explore = recipe.explore
        first = generation * recipe.shards_per_generation
        return [
            ShardTask(
                generation=generation,
                index=i,
                rules=self.rules,
                seed=recipe.seed,
                first_game=(first + i) * recipe.games_per_shard,
                games=recipe.games_per_shard,
                starts=StartMix(recipe.starts.parts),
                settle=recipe.starts.settle,
                half_moves=recipe.starts.half_moves,
                explore=Exploration(
                    round(explore.random_play * _CHANCE_ONE), round(explore.sibling * _CHANCE_ONE), explore.best
                ),
                labels=Labelling(
                    labels.kind,
                    td_lambda=self.td_lambda(generation),
                    half_moves=labels.half_moves,
                    trials=labels.trials,
                    level=labels.level,
                    bearoff=labels.bearoff,
                ),
            )
            for i in range(recipe.shards_per_generation)
        ]

    def player(self, generation: int) -> Nets:
        """The nets that make the data of a generation: known for the next one and the one after it."""
        if generation not in (self.done, self.done + 1):
            raise InternalError(f"the player of generation {generation} is not known after {self.done}")
        weights = self._player if generation == self.done else self._export()
        return Nets(_as_net(weights, {}), self._filter)

    def window(self) -> range:
        """The generations whose samples the next fit draws from."""
        return range(max(0, self.done + 1 - self.recipe.window), self.done + 1)

    # Fitting

    def fit(
        self, shards: Sequence[Shard], new: int, show: Callable[[int, int, float], None] = lambda *_: None
    ) -> Generation:
        """Fit the next generation.

        Args:
            shards: those of the window, oldest first, each generation in the order of its shards. new: how many at the
                end are new. show: told how many samples are fitted, of how many, and the mean loss so far.
        """
        recipe, number = self.recipe, self.done
        boards = np.concatenate([shard.boards for shard in shards])
        labels = np.concatenate([shard.labels for shard in shards])
        fresh = shards[len(shards) - new :]
        samples = sum(len(shard.boards) for shard in fresh)
        following = self._export()
        shared = number < recipe.fit.shared_generations
        self._fitter.round_to_grid(number >= recipe.generations - recipe.fit.quantised_generations)
        order = self._order(len(boards), round(samples * recipe.fit.passes), number)
        size = recipe.fit.batch
        total = 0.0
        for first in range(0, len(order), size * _BLOCK):
            block = order[first : first + size * _BLOCK]
            inputs = inputs_of(boards[block])
            if shared:
                inputs = as_one_contact(inputs)
            targets = labels[block]
            for start in range(0, len(block), size):
                part = slice(start, start + size)
                rate = self.learning_rate(number + (first + start) / len(order))
                loss = self._fitter.step(inputs.part(part), targets[part], rate)
                total += loss * len(targets[part])
                self._averaged += 1
                if self._averaged % _AVERAGE_EVERY == 0:
                    self._update_average()
            fitted = first + len(block)
            show(fitted, len(order), total / fitted)
        self._keep_in_range()
        self._player = following
        self.done += 1
        if shared:
            self._share_contact()
        games = sum(shard.games for shard in fresh)
        self.games += games
        return Generation(
            number=self.done,
            games=games,
            samples=samples,
            fitted=len(order),
            refused=sum(shard.refused for shard in fresh),
            loss=total / max(len(order), 1),
            learning_rate=self.learning_rate(self.done),
            td_lambda=self.td_lambda(number),
        )

    def _order(self, samples: int, wanted: int, number: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """int64[wanted]: which samples are fitted in which order; all of them before any comes again."""
        generator = torch.Generator().manual_seed(self.recipe.seed + 1 + number)
        rounds = math.ceil(wanted / samples) if samples else 0
        parts = [torch.randperm(samples, generator=generator).numpy() for _ in range(rounds)]
        return np.concatenate(parts)[:wanted] if parts else np.zeros(0, dtype=np.int64)

    @torch.no_grad()
    def _update_average(self) -> None:
        if self._average is None:
            return
        # Young averages forget faster, or the random start would stay in them for long.
        looks = self._averaged // _AVERAGE_EVERY
        keep = min(math.exp(-_AVERAGE_EVERY / self.recipe.fit.average_batches), (1 + looks) / (10 + looks))
        for name, value in self._fitter.weights().items():
            self._average[name].lerp_(value, 1.0 - keep)

    def _keep_in_range(self) -> None:
        weights = self._fitter.weights()
        keep_in_range(weights, self._average)
        if self._average is not None:
            keep_in_range(self._average)
        self._fitter.changed(weights)

    def _share_contact(self) -> None:
        weights = self._fitter.weights()
        share_contact(weights)
        self._fitter.changed(weights)
        if self._average is not None:
            share_contact(self._average)
        if self.done == self.recipe.fit.shared_generations:
            # They part here: the moments of the copies have not been anybody's until now.
            moments = self._fitter.state()
            share_contact(moments)
            self._fitter.restore(moments)

    # Schedules

    def learning_rate(self, at: float) -> float:
        """After `at` generations: a short rise, then a cosine."""
        fit = self.recipe.fit
        cosine = 0.5 * (1.0 + math.cos(math.pi * min(at / self.recipe.generations, 1.0)))
        rate = fit.final_learning_rate + (fit.learning_rate - fit.final_learning_rate) * cosine
        # Not from zero: the first batches would be wasted.
        return rate * min(1.0, (at + 0.1) / fit.warm_generations) if fit.warm_generations else rate

    def td_lambda(self, generation: int) -> float:
        """Of a generation (from 0)."""
        labels = self.recipe.labels
        until = labels.td_lambda_until * self.recipe.generations
        part = min(1.0, generation / until) if until > 0 else 1.0
        return labels.td_lambda + (labels.final_td_lambda - labels.td_lambda) * part

    # State

    def net(self) -> Net:
        """The net as it stands."""
        description = {"recipe": self.recipe.name, "rules": self.rules.name, "seed": str(self.recipe.seed)}
        description["games"] = str(self.games)
        if self._start is not None:
            description["start"] = self._start
        return _as_net(self._export(), description)

    def checkpoint(self) -> Checkpoint:
        """Everything that the generations still to come depend on."""
        tensors = {f"model.{name}": t.clone() for name, t in self._fitter.weights().items()}
        tensors |= {f"player.{name}": t for name, t in self._player.items()}
        tensors |= {f"adam.{name}": t for name, t in self._fitter.state().items()}
        if self._average is not None:
            tensors |= {f"average.{name}": t.clone() for name, t in self._average.items()}
        tensors["count.averaged"] = torch.tensor(self._averaged, dtype=torch.int64)
        recipe = self.recipe.model_dump(mode="json") | {"start": self._start}
        return Checkpoint(self.done, self.games, recipe, tensors)

    def _restore(self, checkpoint: Checkpoint) -> None:
        fields = dict(checkpoint.recipe)
        start = fields.pop("start", None)
        saved = SelfPlayRecipe.model_validate(fields)
        # How often to save, what to keep, and where the first weights lay, don't matter any more.
        free = ("checkpoint_every", "keep_shards", "start_from")
        if saved.model_copy(update={name: getattr(self.recipe, name) for name in free}) != self.recipe:
            raise InputError("recipe", self.recipe.name, "the recipe that the checkpoint was made with")
        self._start = str(start) if start is not None else None
        self._fitter.changed(checkpoint.part("model"))
        self._fitter.restore(checkpoint.part("adam"))
        self._average = checkpoint.part("average") or None
        self._averaged = int(checkpoint.tensors["count.averaged"])
        self._player = checkpoint.part("player")
        self.done, self.games = checkpoint.done, checkpoint.games

    def _export(self) -> dict[str, Tensor]:
        """A copy of the weights that play: averaged ones where the recipe asks for them."""
        return self._copy(self._average)

    def _copy(self, source: Mapping[str, Tensor] | None = None) -> dict[str, Tensor]:
        return {name: value.clone() for name, value in (source or self._fitter.weights()).items()}


def _filter_net(name: str) -> Net | None:
    if name == NO_FILTER:
        return None
    if name == SHIPPED_FILTER:
        return shipped_net(NetKind.FILTER)
    return load_net(Path(name), NetKind.FILTER)


def _as_net(weights: dict[str, Tensor], description: dict[str, str]) -> Net:
    return make_net({name: tensor.numpy() for name, tensor in weights.items()}, description)
