"""What the networks are fed with: rows of the first layer and position classes of after-positions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from engine.board import PLACES
from engine.kernels.facts import ROWS, WIDTH, rows_of
from engine.kernels.filter import FILTER_ROWS
from engine.kernels.network import CONTACT, RACE
from engine.network import FilterNetwork, Network
from engine.weights import NetKind

Module = Network | FilterNetwork


class Inputs(NamedTuple):
    """Inputs of N after-positions, in the view of the player who just moved."""

    rows: NDArray[np.int32]  # [N, W], counted within a class; 0 = none
    classes: NDArray[np.int64]  # [N]

    def part(self, which: slice | NDArray[np.int64]) -> Inputs:
        """Those of some of the positions."""
        return Inputs(self.rows[which], self.classes[which])


def inputs_of(boards: NDArray[np.int8], kind: NetKind = NetKind.MAIN) -> Inputs:
    """Of after-positions int8[N, 26]; a filter net sees the places alone."""
    rows = np.empty((len(boards), WIDTH), dtype=np.int32)
    races = np.empty(len(boards), dtype=np.bool_)
    rows_of(boards, rows, races)
    classes = np.where(races, np.int64(RACE), np.int64(CONTACT))
    return Inputs(rows if kind is NetKind.MAIN else np.ascontiguousarray(rows[:, :PLACES]), classes)


def rows_per_class(kind: NetKind) -> int:
    """Rows of the first layer's table that belong to one class."""
    return ROWS if kind is NetKind.MAIN else FILTER_ROWS


def new_module(kind: NetKind, width: int, seed: int) -> Module:
    """A network with random weights drawn from a seed."""
    module = Network(width) if kind is NetKind.MAIN else FilterNetwork(width)
    module.initialise(torch.Generator().manual_seed(seed))
    return module


def forward_inputs(inputs: Inputs, device: torch.device) -> tuple[Tensor, Tensor]:
    """The arguments of the modules' `forward`."""
    rows = torch.from_numpy(inputs.rows).to(device).long()
    return rows, torch.from_numpy(inputs.classes == RACE).to(device)
