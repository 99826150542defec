"""Starting a wide net from a narrower one: more units, the same values."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from engine.errors import InputError
from engine.weights import Net
from training.inputs import Module


@torch.no_grad()
def start_from(module: Module, net: Net) -> None:
    """Give a module the weights of a net that is as wide or narrower.

    Units beyond the net's keep their random first layer but have no outputs yet, so the module values every position
    as the net does; gradients reach the outputs first and the rows through them.

    Raises:
        InputError: a net that is wider.
    """
    if net.width > module.width:
        raise InputError("recipe: width", module.width, f"at least the width of the net to start from ({net.width})")
    own: Mapping[str, Tensor] = dict(module.named_parameters())
    after_first = "second" if "second" in own else "last"
    for name, array in net.arrays.items():
        given = torch.from_numpy(array)
        if name in ("table", "bias"):
            own[name][:, : net.width] = given
        elif name == after_first:
            own[name].zero_()
            own[name][:, : net.width] = given
        else:
            own[name].copy_(given)
    module.keep_empty_rows_zero()
