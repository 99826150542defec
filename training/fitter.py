"""Fitting a network to labelled positions on a CPU: batches through the compiled loops, in a fixed order of sums."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from engine.kernels.facts import CLASSES
from engine.network import TABLE_OF
from engine.outcome import OUTCOMES
from engine.weights import NetKind
from training.fused import (
    AdamStep,
    Weights,
    adam_step,
    first_layer,
    fit_array,
    fit_rows,
    head,
    sort_by_row,
    through_clip,
)
from training.inputs import Inputs, Module, rows_per_table
from training.limits import GRIDS, LIMITS

CHUNK = 512
"""Samples of one class that go through the layers together. Where a batch is cut belongs to the arithmetic: it must not
depend on the number of threads.
"""
ROW_PARTS = 16
"""Parts of the table whose gradients are independent tasks."""


class Fitter(Protocol):
    """Something that fits a module in place."""

    def step(self, inputs: Inputs, targets: NDArray[np.float32], rate: float) -> float:
        """One step of Adam on a batch (targets float32[N, 5]) at a learning rate.

        Returns:
            The mean over samples of the five binary cross-entropies, summed, before the step.
        """

    def weights(self) -> Mapping[str, Tensor]:
        """The weights by name, on the CPU. What is changed in them counts after `changed`."""

    def changed(self, weights: Mapping[str, Tensor]) -> None:
        """Take these weights over."""

    def round_to_grid(self, rounded: bool) -> None:
        """Whether the forward pass uses weights rounded as the integer twin's (gradients go straight through)."""

    def state(self) -> dict[str, Tensor]:
        """Adam's state by name: `step`, and of each parameter `NAME.mean` and `NAME.square`."""

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Put back what `state` gave."""

    def close(self) -> None:
        """Stop its threads."""


@dataclass(frozen=True, slots=True)
class _Chunk:
    """A run of samples of one class within a batch."""

    klass: int
    table: int
    first: int
    end: int

    @property
    def part(self) -> slice:
        return slice(self.first, self.end)


class _Buffers:
    """Work space for batches of up to `size` samples."""

    def __init__(self, size: int, width: int, second: int) -> None:
        self.size = size
        self.active = torch.zeros((size, width))
        self.back = torch.zeros((size, width))
        self.units = torch.zeros((size, second))
        self.hidden = torch.zeros((size, second - OUTCOMES))
        self.logits = torch.zeros((size, OUTCOMES))
        self.losses = np.zeros(size)
        self.users = np.zeros(0, dtype=np.int32)


class CpuFitter:
    """See `Fitter`. Works on the module's own parameters; `threads` changes the speed, not the bits."""

    def __init__(self, module: Module, kind: NetKind, threads: int = 1) -> None:
        self._kind = kind
        self._period = rows_per_table(kind)
        self._values = {name: parameter.detach() for name, parameter in module.named_parameters()}
        self._means = {name: torch.zeros_like(value) for name, value in self._values.items()}
        self._squares = {name: torch.zeros_like(value) for name, value in self._values.items()}
        self._used = self._values
        self._count = 0
        self._width = module.width
        self._starts = np.zeros(len(self._values["bias"]) * self._period + 1, dtype=np.int64)
        self._buffers: _Buffers | None = None
        # Torch counts its own threads for each of ours; more than one would change the order of its sums.
        self._threads = (
            ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,)) if threads > 1 else None
        )

    def weights(self) -> Mapping[str, Tensor]:
        """See `Fitter`."""
        return self._values

    def round_to_grid(self, rounded: bool) -> None:
        """See `Fitter`."""
        self._used = {name: value.clone() for name, value in self._values.items()} if rounded else self._values
        self._round()

    def changed(self, weights: Mapping[str, Tensor]) -> None:
        """See `Fitter`."""
        for name, value in self._values.items():
            if weights[name] is not value:
                value.copy_(weights[name])
        self._round()

    def _round(self) -> None:
        if self._used is not self._values:
            for name, used in self._used.items():
                used.copy_((self._values[name] * GRIDS[name]).round_().div_(GRIDS[name]))

    def state(self) -> dict[str, Tensor]:
        """See `Fitter`."""
        state = {"step": torch.tensor(self._count, dtype=torch.int64)}
        for name in self._values:
            state[f"{name}.mean"] = self._means[name].clone()
            state[f"{name}.square"] = self._squares[name].clone()
        return state

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """See `Fitter`."""
        self._count = int(state["step"])
        for name in self._values:
            self._means[name].copy_(state[f"{name}.mean"])
            self._squares[name].copy_(state[f"{name}.square"])

    def close(self) -> None:
        """See `Fitter`."""
        if self._threads is not None:
            self._threads.shutdown()

    def step(self, inputs: Inputs, targets: NDArray[np.float32], rate: float) -> float:
        """See `Fitter`."""
        size = len(targets)
        order = np.argsort(inputs.classes, kind="stable")
        rows, classes, targets = inputs.rows[order], inputs.classes[order], targets[order]
        b = self._buffers_for(size, rows.shape[1])
        chunks = _chunks(classes)
        self._count += 1
        step = adam_step(self._count, size, rate)
        self._run(
            [
                partial(sort_by_row, rows, TABLE_OF[classes], self._period, self._starts, b.users),
                *(partial(self._pass, rows, targets, chunk, b) for chunk in chunks),
            ]
        )
        edges = np.linspace(0, len(self._starts) - 1, ROW_PARTS + 1).astype(np.int64)
        back = b.back[:size].numpy()
        table = self._of("table", flat=False)
        self._run(
            [
                partial(self._fit_upper, chunks, b, step),
                *(
                    partial(fit_rows, first, end, back, self._starts, b.users, table, step)
                    for first, end in pairwise(edges.tolist())
                ),
            ]
        )
        return float(b.losses[:size].sum()) / size

    def _run(self, tasks: Sequence[Callable[[], object]]) -> None:
        if self._threads is None:
            for task in tasks:
                task()
        else:
            for done in [self._threads.submit(task) for task in tasks]:
                done.result()

    def _buffers_for(self, size: int, wide: int) -> _Buffers:
        if self._buffers is None or self._buffers.size < size:
            self._buffers = _Buffers(size, self._width, self._upper[0].shape[2])
            self._buffers.users = np.zeros(size * wide, dtype=np.int32)
        return self._buffers

    @property
    def _upper(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """(second [C, H, S], its bias [C, S], last [C, S - 5, 5], its bias [C, 5]) of the forward pass. A filter net's
        last layer is a second layer without hidden units, and its classes are the tables.
        """
        used = self._used
        if self._kind is NetKind.MAIN:
            return used["second"], used["second_bias"], used["last"], used["last_bias"]
        last, bias = used["last"], used["last_bias"]
        return last, bias, torch.zeros((len(last), 0, OUTCOMES)), torch.zeros((len(last), OUTCOMES))

    def _pass(self, rows: NDArray[np.int32], targets: NDArray[np.float32], chunk: _Chunk, b: _Buffers) -> None:
        """Forward and back to the first layer's sums."""
        c, t, part = chunk.klass, chunk.table, chunk.part
        second, second_bias, last, last_bias = (array[c] for array in self._upper)
        active, back, units = b.active[part], b.back[part], b.units[part]
        first_layer(
            rows[part], t * self._period, self._used["table"].numpy(), self._used["bias"][t].numpy(), active.numpy()
        )
        torch.addmm(second_bias, active, second, out=units)
        head(
            units.numpy(),
            last.numpy(),
            last_bias.numpy(),
            targets[part],
            b.hidden[part].numpy(),
            b.logits[part].numpy(),
            b.losses[part],
        )
        torch.mm(units, second.t(), out=back)
        through_clip(active.numpy(), back.numpy())

    def _fit_upper(self, chunks: list[_Chunk], b: _Buffers, step: AdamStep) -> None:
        """Gradients and Adam of everything but the table."""
        gradients = {name: torch.zeros_like(value) for name, value in self._values.items() if name != "table"}
        names = ("second", "second_bias") if self._kind is NetKind.MAIN else ("last", "last_bias")
        for chunk in chunks:
            c, part = chunk.klass, chunk.part
            gradients["bias"][chunk.table] += b.back[part].sum(dim=0)
            gradients[names[0]][c].addmm_(b.active[part].t(), b.units[part])
            gradients[names[1]][c] += b.units[part].sum(dim=0)
            if self._kind is NetKind.MAIN:
                gradients["last"][c].addmm_(b.hidden[part].t(), b.logits[part])
                gradients["last_bias"][c] += b.logits[part].sum(dim=0)
        for name, gradient in gradients.items():
            fit_array(gradient.view(-1).numpy(), self._of(name, flat=True), step)

    def _of(self, name: str, flat: bool) -> Weights:
        sets = (self._values, self._means, self._squares, self._used)
        value, mean, square, used = ((one[name].view(-1) if flat else one[name]).numpy() for one in sets)
        grid = GRIDS[name] if self._used is not self._values else 0.0
        return Weights(value, mean, square, used, np.float32(LIMITS[name]), np.float32(grid))


def _chunks(classes: NDArray[np.int64]) -> list[_Chunk]:
    """Cuts a batch that is sorted by class."""
    edges = np.searchsorted(classes, np.arange(CLASSES + 1)).tolist()
    tables = TABLE_OF.tolist()
    return [
        _Chunk(c, tables[c], first, min(first + CHUNK, edges[c + 1]))
        for c in range(CLASSES)
        for first in range(edges[c], edges[c + 1], CHUNK)
    ]
