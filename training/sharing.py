"""Weights that all classes of contact share while a net is young.

A short run has too few samples for 18 sets of upper layers and two tables of contact. So for its first part they are
one: samples of every class of contact go through the first set and the first table, whose weights and moments the
others are copies of. When they part, each begins as what was learnt together.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from engine.kernels.facts import RACE, TABLES
from engine.network import TABLE_OF
from training.inputs import Inputs

_CONTACT = RACE + 1
"""The class whose weights stand for all of contact."""
_FIRST = int(TABLE_OF[_CONTACT])
"""Its table."""
_OF_TABLES = ("table", "bias")
"""Arrays that have a part for each table; the others have one for each class."""


def as_one_contact(inputs: Inputs) -> Inputs:
    """The same positions, all of contact in one class."""
    return Inputs(inputs.rows, np.minimum(inputs.classes, _CONTACT))


@torch.no_grad()
def share_contact(arrays: Mapping[str, Tensor]) -> None:
    """Copy what stands for all of contact to every class and table of contact, in place.

    Args:
        arrays: of a main net (`engine.network.Network`), or moments of its weights (`NAME.mean`, `NAME.square`).
    """
    for name, array in arrays.items():
        if name.partition(".")[0] in _OF_TABLES:
            tables = array.view(TABLES, -1, array.shape[1])
            tables[_FIRST + 1 :] = tables[_FIRST]
        elif array.dim():
            array[_CONTACT + 1 :] = array[_CONTACT].clone()
