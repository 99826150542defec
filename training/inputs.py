"""What the networks are fed with: rows of the first layer and position classes of after-positions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from engine.board import PLACES
from engine.kernels.facts import RACE, ROWS, WIDTH, rows_of
from engine.kernels.filter import FILTER_ROWS
from engine.memory import writable
from engine.network import FilterNetwork, Network
from engine.weights import NetKind

Module = Network | FilterNetwork


class Inputs(NamedTuple):
    """Inputs of N after-positions, in the view of the player who just moved."""

    rows: NDArray[np.int32]  # [N, W], counted within a table; 0 = none
    classes: NDArray[np.int64]  # [N]: which upper layers are theirs; a filter net has one set a table

    def part(self, which: slice | NDArray[np.int64]) -> Inputs:
        """Those of some of the positions."""
        return Inputs(self.rows[which], self.classes[which])


def inputs_of(boards: NDArray[np.int8], kind: NetKind = NetKind.MAIN) -> Inputs:
    """Of after-positions int8[N, 26]; a filter net sees the places alone."""
    rows = np.empty((len(boards), WIDTH), dtype=np.int32)
    classes = np.empty(len(boards), dtype=np.int64)
    rows_of(writable(boards), rows, classes)
    if kind is NetKind.MAIN:
        return Inputs(rows, classes)
    return Inputs(np.ascontiguousarray(rows[:, :PLACES]), (classes > RACE).astype(np.int64))


def rows_per_table(kind: NetKind) -> int:
    """Rows of one table of the first layer."""
    return ROWS if kind is NetKind.MAIN else FILTER_ROWS


def new_module(kind: NetKind, width: int, seed: int) -> Module:
    """A network with random weights drawn from a seed."""
    module = Network(width) if kind is NetKind.MAIN else FilterNetwork(width)
    module.initialise(torch.Generator().manual_seed(seed))
    return module


def forward_inputs(inputs: Inputs, device: torch.device) -> tuple[Tensor, Tensor]:
    """The arguments of the modules' `forward`."""
    rows = torch.from_numpy(inputs.rows).to(device).long()
    return rows, torch.from_numpy(inputs.classes).to(device)
