"""A pair of nets as arrays that travel to workers, and back."""

from __future__ import annotations

from engine.evaluator import Nets
from engine.weights import Arrays, NetKind, make_net, packed, unpacked
from workers.spec import Weights


def weights_of(nets: Nets) -> Weights:
    """Arrays named `main.*` and `filter.*`, packed as in files."""
    return {
        f"{net.kind.value}.{k}": a for net in (nets.main, nets.filter) if net for k, a in packed(net.arrays).items()
    }


def nets_of(weights: Weights) -> Nets:
    """What `weights_of` took apart."""
    main = make_net(_part(weights, NetKind.MAIN))
    arrays = _part(weights, NetKind.FILTER)
    return Nets(main, make_net(arrays, kind=NetKind.FILTER) if arrays else None)


def _part(weights: Weights, kind: NetKind) -> Arrays:
    prefix = f"{kind.value}."
    return unpacked({name.removeprefix(prefix): array for name, array in weights.items() if name.startswith(prefix)})
