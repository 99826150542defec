"""How live a cube is, as data: `configs/cube/NAME.toml`, or a file of the user's.

Janowski's x says where a real cube stands between a dead one (0), which nobody will turn again, and a live one (1),
which is always turned at the perfect moment. It depends on how far a roll throws the chance to win.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.config_files import config_names, read_config
from engine.errors import InputError

DEFAULT_EFFICIENCY = "published"
CLASSES = ("bearoff", "race", "contact", "crunched")
"""In the order of `engine.kernels.cube`, which tells them apart."""
_NUMBERS = ("constant", "per_pip", "least", "most")
_FIELD = "cube efficiency"


@dataclass(frozen=True, slots=True, eq=False)
class CubeEfficiency:
    """x = constant + per_pip * pips of the player on roll, kept between least and most, by class of position."""

    name: str
    source: str
    rows: NDArray[np.float64]
    """[4, 4], read-only: classes in the order of `CLASSES`; constant, per pip, least, most."""


def known_efficiencies() -> list[str]:
    """Names of the files that come with gammonfarm."""
    return config_names("cube")


def load_efficiency(name: str = DEFAULT_EFFICIENCY) -> CubeEfficiency:
    """A shipped file by name, or one of the user's by its path, which ends in `.toml`.

    Raises:
        InputError: unknown name, unreadable file, a class or a number that is missing or unknown, or an efficiency
            outside [0, 1].
    """
    data = read_config("cube", name, _FIELD, known_efficiencies())
    if set(data) != {*CLASSES, "source"}:
        raise InputError(_FIELD, name, f"source and the tables {', '.join(CLASSES)}")
    rows = np.array([_row(name, one, data[one]) for one in CLASSES])
    rows.setflags(write=False)
    return CubeEfficiency(name, str(data["source"]), rows)


def _row(name: str, kind: str, table: object) -> list[float]:
    if not isinstance(table, dict) or set(table) != set(_NUMBERS):
        raise InputError(_FIELD, name, f"{', '.join(_NUMBERS)} in [{kind}]")
    numbers = [table[number] for number in _NUMBERS]
    if not all(isinstance(number, int | float) and not isinstance(number, bool) for number in numbers):
        raise InputError(_FIELD, name, f"numbers in [{kind}]")
    constant, per_pip, least, most = (float(number) for number in numbers)
    if not 0.0 <= least <= most <= 1.0:
        raise InputError(_FIELD, name, f"0 <= least <= most <= 1 in [{kind}]")
    return [constant, per_pip, least, most]
