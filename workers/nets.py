"""A pair of nets as arrays that travel to workers, and back."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock

from engine.evaluator import Nets
from engine.weights import Arrays, NetKind, make_net, packed, unpacked
from workers.spec import Weights

_KEPT = 4
_latest: OrderedDict[str, Weights] = OrderedDict()
_lock = Lock()


def weights_of(nets: Nets) -> Weights:
    """Arrays named `main.*` and `filter.*`, packed as in files; not to be changed.

    Packing takes longer than a short job, so the latest nets, by their digest, are packed once.
    """
    with _lock:
        if nets.digest not in _latest:
            _latest[nets.digest] = {
                f"{net.kind.value}.{name}": array
                for net in (nets.main, nets.filter)
                if net
                for name, array in packed(net.arrays).items()
            }
            if len(_latest) > _KEPT:
                _latest.popitem(last=False)
        _latest.move_to_end(nets.digest)
        return _latest[nets.digest]


def nets_of(weights: Weights) -> Nets:
    """What `weights_of` took apart."""
    main = make_net(_part(weights, NetKind.MAIN))
    arrays = _part(weights, NetKind.FILTER)
    return Nets(main, make_net(arrays, kind=NetKind.FILTER) if arrays else None)


def _part(weights: Weights, kind: NetKind) -> Arrays:
    prefix = f"{kind.value}."
    return unpacked({name.removeprefix(prefix): array for name, array in weights.items() if name.startswith(prefix)})
