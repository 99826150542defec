"""Small random nets for tests."""

from __future__ import annotations

import torch

from engine.network import FilterNetwork, Network
from engine.weights import Net, NetKind, make_net


def random_model(seed: int) -> Network:
    """A small Torch module; every seed gives another one."""
    model = Network(32)
    model.initialise(torch.Generator().manual_seed(seed))
    return model


def random_net(seed: int) -> Net:
    """The same module's weights."""
    return make_net({name: p.detach().numpy() for name, p in random_model(seed).named_parameters()})


def random_filter(seed: int) -> Net:
    """A small filter net; every seed gives another one."""
    model = FilterNetwork(32)
    model.initialise(torch.Generator().manual_seed(seed))
    return make_net({name: p.detach().numpy() for name, p in model.named_parameters()}, kind=NetKind.FILTER)
