"""Turn trained nets into the shipped ones: weights on the grid of the integer twins, units in pairs, races apart.

    python -m scripts.ship_nets --main runs/fourth/fourth.safetensors --race runs/race/race.safetensors
    python -m scripts.ship_nets --filter runs/filter/filter.safetensors

Neither step changes what a net says beyond rounding, which is measured and written into the header. Afterwards: train
the filter net anew if the main net is another, `make golden`, the benchmark suite, and the pages that quote it.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from engine.rules import INTERNATIONAL
from engine.weights import SHIPPED_FILES, Net, NetKind, join_parts, load_net, make_net, part_of, save_net
from training.arrange import with_paired_units
from training.limits import on_grid
from training.quantisation import quantisation_loss

NETS = Path(__file__).parent.parent / "engine" / "nets"


def shipped_main(main: Net, race: Net) -> Net:
    """The main net of two trainings, ready to ship."""
    net = join_parts(main, race)
    loss = quantisation_loss(net, INTERNATIONAL)
    net = on_grid(with_paired_units(net, INTERNATIONAL))
    text = f"mean {loss.mean:.5f}, largest {loss.largest:.5f} over {loss.positions} positions"
    return make_net(net.arrays, {**net.description, "quantisation": text})


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--main", type=Path, help="a main net; its contact part is shipped")
    parser.add_argument("--race", type=Path, help="a main net whose race part is shipped (default: that of --main)")
    parser.add_argument("--filter", type=Path, help="a filter net")
    chosen = parser.parse_args()
    if chosen.main:
        trained = load_net(chosen.main)
        net = shipped_main(trained, load_net(chosen.race) if chosen.race else trained)
        print(f"main net {net.digest}: {net.description['quantisation']}")
        for kind in (NetKind.CONTACT, NetKind.RACE):
            _write(part_of(net, kind))
    if chosen.filter:
        _write(load_net(chosen.filter, NetKind.FILTER))


def _write(net: Net) -> None:
    path = NETS / SHIPPED_FILES[net.kind]
    save_net(net, path)
    print(f"{path.name}: {net.kind.value} {net.digest}, {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
