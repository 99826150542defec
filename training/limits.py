"""Keeping float weights within what the integer twins can represent."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from engine.kernels.network import ACTIVATION_BITS, WEIGHT_BITS
from engine.network import TABLE_OF
from engine.weights import Net, make_net, sum_bounds

LARGEST_SUM = 31.0
"""First-layer sums are kept below this, so that they fit 16 bits in steps of 1/1,024 with a margin for rounding."""

_STEPS = float(1 << ACTIVATION_BITS)
_WEIGHT_STEPS = float(1 << WEIGHT_BITS)

LIMITS = {
    "table": 3.9,
    "bias": 15.0,
    "second": 7.9,
    "second_bias": 100.0,
    "last": 7.9,
    "last_bias": 100.0,
}
"""Largest size of a weight: what 16 bits hold, or (100) what no sensible net comes near."""

GRIDS = {
    "table": _STEPS,
    "bias": _STEPS,
    "second": _WEIGHT_STEPS,
    "second_bias": _STEPS * _WEIGHT_STEPS,
    "last": _WEIGHT_STEPS,
    "last_bias": _STEPS * _WEIGHT_STEPS,
}
"""Steps per unit in which the integer twins hold each array (see `engine.weights.quantise`)."""


@torch.no_grad()
def keep_in_range(weights: Mapping[str, Tensor], companions: Mapping[str, Tensor] | None = None) -> None:
    """Hold a net's arrays, in place, within the limits; empty rows become zero again.

    A unit whose first-layer sums could overflow is made smaller and its outputs larger, which changes nothing below the
    clip of its activation. `companions` (averaged weights) are scaled by the same factors.
    """
    for name, limit in LIMITS.items():
        if name in weights:
            weights[name].clamp_(-limit, limit)
    sets = (weights, companions) if companions else (weights,)
    following = "second" if "second" in weights else "last"
    count, width = weights["bias"].shape
    for arrays in sets:
        arrays["table"].view(count, -1, width)[:, 0].zero_()
    tables = weights["table"].view(count, -1, width)
    for t in range(count):
        bounds = torch.from_numpy(sum_bounds(tables[t].numpy(), weights["bias"][t].numpy(), LARGEST_SUM))
        shrink = torch.clamp(LARGEST_SUM / bounds, max=1.0).float()
        if bool((shrink < 1.0).any()):
            for arrays in sets:
                arrays["table"].view(count, -1, width)[t].mul_(shrink)
                arrays["bias"][t].mul_(shrink)
                for c in np.flatnonzero(t == TABLE_OF[: len(weights[following])]):
                    arrays[following][c].div_(shrink.unsqueeze(1))


def on_grid(net: Net) -> Net:
    """The net with every weight rounded as its integer twin holds it: the twin stays the same, and the file of such a
    net is half as large (see `engine.weights.save_net`).
    """
    arrays = {}
    for name, array in net.arrays.items():
        grid = np.float32(GRIDS[name])
        arrays[name] = np.rint(array * grid) / grid + np.float32(0.0)  # no zero has a sign
    return make_net(arrays, net.description, net.kind)
