"""Weights on disk: safetensors with a specification in the header, a digest, and the integer twin made on loading."""

from __future__ import annotations

import enum
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from engine.board import CHECKERS, PLACES
from engine.errors import InputError
from engine.kernels.facts import BOARD_FACTS, CLASSES, OFFSETS, PLACE_ROWS, ROWS, SIDE_FACTS, TABLES
from engine.kernels.filter import FILTER_ROWS, FILTER_TABLES, FilterNet
from engine.kernels.network import ACTIVATION_BITS, CLIP_STEPS, DIRECT, LAST, SECOND, WEIGHT_BITS, IntNet
from engine.kernels.vectors import LANES, SMALL_TILE, TILE
from engine.memory import on_cache_lines
from engine.outcome import OUTCOMES
from engine.whole_file import replacing

FORMAT = "gammonfarm-net-1"
_STEPS = np.float32(1 << ACTIVATION_BITS)
Arrays = Mapping[str, NDArray[np.float32]]


class NetKind(enum.Enum):
    """What a net is for."""

    MAIN = "main"
    """Values positions."""
    CONTACT = "contact"
    """The part of a main net that values positions with contact."""
    RACE = "race"
    """The part of a main net that values races."""
    FILTER = "filter"
    """Picks the plays that the main net looks at."""


def inputs_digest(kind: NetKind = NetKind.MAIN) -> str:
    """Names the inputs of a network: a net only fits the board facts it was trained with."""
    text = json.dumps([PLACE_ROWS, FILTER_TABLES] if kind is NetKind.FILTER else [SIDE_FACTS, BOARD_FACTS, CLASSES])
    return hashlib.blake2b(text.encode(), digest_size=6).hexdigest()


_PARTS = {
    NetKind.MAIN: (slice(0, TABLES), slice(0, CLASSES)),
    NetKind.RACE: (slice(0, 1), slice(0, 1)),
    NetKind.CONTACT: (slice(1, TABLES), slice(1, CLASSES)),
}
"""Which tables of a main net's first layer and which classes of its upper layers a kind holds."""


def _shapes(kind: NetKind, width: int) -> dict[str, tuple[int, ...]]:
    if kind is NetKind.FILTER:
        return {
            "table": (FILTER_TABLES * FILTER_ROWS, width),
            "bias": (FILTER_TABLES, width),
            "last": (FILTER_TABLES, width, OUTCOMES),
            "last_bias": (FILTER_TABLES, OUTCOMES),
        }
    tables, classes = (part.stop - part.start for part in _PARTS[kind])
    return {
        "table": (tables * ROWS, width),
        "bias": (tables, width),
        "second": (classes, width, SECOND),
        "second_bias": (classes, SECOND),
        "last": (classes, SECOND - DIRECT, OUTCOMES),
        "last_bias": (classes, OUTCOMES),
    }


def digest_of(arrays: Arrays) -> str:
    """Hex digest of the weights alone: names, shapes and bits."""
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name], dtype="<f4")
        digest.update(f"{name}{array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Net:
    """A trained network: its float weights, their digest, and the specification it was saved with."""

    kind: NetKind
    arrays: Arrays
    digest: str
    description: Mapping[str, str]

    @property
    def width(self) -> int:
        """Width of the first layer."""
        return int(self.arrays["bias"].shape[1])


def make_net(arrays: Arrays, description: Mapping[str, str] | None = None, kind: NetKind = NetKind.MAIN) -> Net:
    """Check the arrays and name them by their digest.

    Raises:
        InputError: a missing array, a wrong shape or a value that is not finite.
    """
    if "bias" not in arrays or arrays["bias"].ndim != 2:
        raise InputError("weights", "no array 'bias'", "the arrays of a gammonfarm net")
    width = int(arrays["bias"].shape[1])
    if width == 0 or width % LANES:
        raise InputError("weights", f"width {width}", f"a multiple of {LANES}")
    for name, shape in _shapes(kind, width).items():
        if name not in arrays or arrays[name].shape != shape:
            found = arrays[name].shape if name in arrays else "missing"
            raise InputError(f"weights {name}", found, f"shape {shape}")
        if not np.isfinite(arrays[name]).all():
            raise InputError(f"weights {name}", "not finite", "finite numbers")
    return Net(kind, arrays, digest_of(arrays), dict(description or {}))


def save_net(net: Net, path: Path) -> None:
    """Write a net; the file replaces an older one only when it is complete."""
    header = {
        "format": FORMAT,
        "kind": net.kind.value,
        "inputs": inputs_digest(net.kind),
        "digest": net.digest,
        **net.description,
    }
    with replacing(path) as partial:
        save_file(packed(net.arrays), partial, metadata=header)


def packed(arrays: Arrays) -> dict[str, NDArray[np.generic]]:
    """The arrays as they are kept and sent: the table as int16 where nothing is lost by it, which makes it half as
    large.
    """
    kept: dict[str, NDArray[np.generic]] = {name: np.ascontiguousarray(a) for name, a in arrays.items()}
    short = np.clip(np.rint(arrays["table"] * _STEPS), -(2**15), 2**15 - 1).astype(np.int16)
    if (short.astype(np.float32) / _STEPS).tobytes() == kept["table"].astype(np.float32).tobytes():
        kept["table"] = short
    return kept


def unpacked(kept: Mapping[str, NDArray[Any]]) -> Arrays:
    """What `packed` was made from."""
    arrays = dict(kept)
    if "table" in arrays and arrays["table"].dtype == np.int16:
        arrays["table"] = arrays["table"].astype(np.float32) / _STEPS
    return arrays


def file_kind(path: Path) -> NetKind:
    """What kind of net a file says it holds.

    Raises:
        InputError: unreadable, or of a kind that is unknown.
    """
    try:
        with safe_open(path, framework="numpy") as file:
            return NetKind((file.metadata() or {}).get("kind", NetKind.MAIN.value))
    except (OSError, SafetensorError, ValueError) as error:
        raise InputError("net", path, f"a readable net file ({str(error).splitlines()[0]})") from error


def load_net(path: Path, kind: NetKind = NetKind.MAIN) -> Net:
    """Read a net.

    Raises:
        InputError: unreadable, of another format or kind, for other inputs, or damaged.
    """
    try:
        with safe_open(path, framework="numpy") as file:
            header = dict(file.metadata() or {})
            arrays = unpacked({name: file.get_tensor(name) for name in file.keys()})  # noqa: SIM118 - a file, no dict
    except (OSError, SafetensorError, ValueError) as error:
        raise InputError("net", path, f"a readable safetensors file ({str(error).splitlines()[0]})") from error
    if header.get("format") != FORMAT:
        raise InputError("net", path, f"a file of format {FORMAT}")
    found = header.get("kind", NetKind.MAIN.value)
    if found != kind.value:
        halves = kind is NetKind.MAIN and found in (NetKind.CONTACT.value, NetKind.RACE.value)
        raise InputError("net", path, "a whole main net (gammonfarm nets join)" if halves else f"a {kind.value} net")
    if header.get("inputs") != inputs_digest(kind):
        raise InputError("net", path, f"a net for the board facts of this version ({inputs_digest(kind)})")
    own = {"format", "kind", "inputs", "digest"}
    net = make_net(arrays, {key: value for key, value in header.items() if key not in own}, kind)
    if header.get("digest") != net.digest:
        raise InputError("net", path, f"undamaged weights (digest {header.get('digest')})")
    return net


def shipped_net(kind: NetKind = NetKind.MAIN) -> Net:
    """The net of this kind that comes with gammonfarm; the main net is put together of its two files."""
    if kind is NetKind.MAIN:
        return join_parts(shipped_net(NetKind.CONTACT), shipped_net(NetKind.RACE))
    with resources.as_file(resources.files("engine") / "nets" / SHIPPED_FILES[kind]) as path:
        return load_net(path, kind)


SHIPPED_FILES = {
    NetKind.CONTACT: "main.safetensors",
    NetKind.RACE: "race.safetensors",
    NetKind.FILTER: "filter.safetensors",
}
"""What the files in `engine/nets` hold."""

_OF_RACES = "race_"
"""How the entries that describe a race net begin in the description of a main net that it was joined to."""


def part_of(net: Net, kind: NetKind) -> Net:
    """The part of a main net for races or for contact; a net that is that part already is returned as it is.

    Raises:
        InputError: a filter net, or the other part.
    """
    if net.kind is kind:
        return net
    if net.kind is not NetKind.MAIN:
        raise InputError("net", f"a {net.kind.value} net", f"a main net or its part for {kind.value}")
    tables, classes = _PARTS[kind]
    per_table = net.arrays["table"].reshape(TABLES, ROWS, net.width)
    arrays = {name: array[tables if name == "bias" else classes] for name, array in net.arrays.items()}
    arrays["table"] = per_table[tables].reshape(-1, net.width)
    common = {key: value for key, value in net.description.items() if not key.startswith(_OF_RACES)}
    own = {key.removeprefix(_OF_RACES): v for key, v in net.description.items() if key.startswith(_OF_RACES)}
    return make_net(arrays, own if own and kind is NetKind.RACE else common, kind)


def join_parts(contact: Net, race: Net) -> Net:
    """The main net of the contact part of one net and the race part of another; each may be a whole main net.

    Raises:
        InputError: nets without these parts, or of different width.
    """
    of_contact, of_races = part_of(contact, NetKind.CONTACT), part_of(race, NetKind.RACE)
    if of_contact.width != of_races.width:
        raise InputError("race net", f"width {of_races.width}", f"the width of the other part ({of_contact.width})")
    arrays = {name: np.concatenate([of_races.arrays[name], array]) for name, array in of_contact.arrays.items()}
    races = {_OF_RACES + key: value for key, value in of_races.description.items()}
    return make_net(arrays, {**of_contact.description, **races})


def quantise(net: Net) -> IntNet:
    """The integer twin: every weight rounded to the nearest step.

    Raises:
        InputError: weights so large that 16-bit weights or 32-bit sums could overflow.
    """
    a = net.arrays
    steps = 1 << ACTIVATION_BITS
    weight_steps = 1 << WEIGHT_BITS
    second = np.rint(a["second"] * weight_steps)
    second_bias = np.rint(a["second_bias"] * steps * weight_steps)
    last, last_bias = _padded_last(a, weight_steps, steps * weight_steps)
    _check_range("second", np.abs(second), 2**15)
    _check_range("last", np.abs(last), 2**15)
    _check_range("second", np.abs(second).sum(axis=1) * CLIP_STEPS + np.abs(second_bias), 2**31)
    _check_range("last", np.abs(last).sum(axis=1) * CLIP_STEPS + np.abs(last_bias), 2**31)
    return IntNet(
        table=_integer_table(a, TILE),
        bias=_filled(np.rint(a["bias"] * steps), TILE, axis=1).astype(np.int16),
        second=_pairs(_filled(second, TILE, axis=1)),
        second_bias=second_bias.astype(np.int32),
        last=_pairs(last),
        last_bias=last_bias.astype(np.int32),
    )


def quantise_filter(net: Net) -> FilterNet:
    """The integer twin of a filter net.

    Raises:
        InputError: as `quantise`.
    """
    a = net.arrays
    steps = 1 << ACTIVATION_BITS
    weight_steps = 1 << WEIGHT_BITS
    last, last_bias = _padded_last(a, weight_steps, steps * weight_steps)
    _check_range("last", np.abs(last), 2**15)
    _check_range("last", np.abs(last).sum(axis=1) * CLIP_STEPS + np.abs(last_bias), 2**31)
    return FilterNet(
        table=_integer_table(a, SMALL_TILE),
        bias=_filled(np.rint(a["bias"] * steps), SMALL_TILE, axis=1).astype(np.int16),
        last=_pairs(_filled(last, SMALL_TILE, axis=1)),
        last_bias=last_bias.astype(np.int32),
    )


def _padded_last(a: Arrays, weight_steps: int, bias_steps: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The last layer with its outputs padded to LAST and, for the main net, its inputs to SECOND."""
    classes, inputs, _ = a["last"].shape
    last = np.zeros((classes, SECOND if inputs < SECOND else inputs, LAST))
    last[:, :inputs, :OUTCOMES] = np.rint(a["last"] * weight_steps)
    last_bias = np.zeros((classes, LAST))
    last_bias[:, :OUTCOMES] = np.rint(a["last_bias"] * bias_steps)
    return last, last_bias


def _check_range(name: str, sizes: NDArray[np.float64], limit: float) -> None:
    largest = float(sizes.max())
    if largest >= limit:
        raise InputError(f"weights {name}", largest, f"less than {limit} steps, so that integer sums cannot overflow")


def sum_bounds(table: NDArray[np.floating], bias: NDArray[np.floating], limit: float) -> NDArray[np.float64]:
    """Bound [H] of the size of the first layer's sums in one class (`table` [ROWS, H], `bias` [H]) over all boards.

    The facts are taken at their largest, independently of the board. The places first likewise; where that reaches
    `limit`, over all ways to put fifteen checkers a side on the board.
    """
    edges = [*(int(start) for start in OFFSETS), ROWS] if len(table) == ROWS else []  # a filter net has no facts
    places = table[1 : 1 + PLACE_ROWS].reshape(PLACES, -1, table.shape[1])  # [26, 31, H]
    largest = np.zeros(table.shape[1])
    for sign in (1.0, -1.0):
        rest = sign * bias.astype(np.float64)
        for a, b in pairwise(edges):
            rest = rest + np.maximum((sign * table[a:b]).max(axis=0), 0.0)
        bound = rest + np.maximum((sign * places).max(axis=1), 0.0).sum(axis=0)
        doubtful = np.nonzero(bound >= limit)[0]
        if doubtful.size:
            bound[doubtful] = rest[doubtful] + _most_over_boards(sign * places[:, :, doubtful])
        largest = np.maximum(largest, bound)
    return largest


def _most_over_boards(places: NDArray[np.floating]) -> NDArray[np.float64]:
    """Largest sum [U] of one row a place (`places` [26, 31, U], middle row = empty) with at most 15 checkers a side."""
    best = np.zeros((CHECKERS + 1, CHECKERS + 1, places.shape[2]))  # by checkers used of either side
    for rows in places:
        following = best.copy()
        for count in range(1, CHECKERS + 1):
            own = best[: CHECKERS + 1 - count] + rows[CHECKERS + count]
            following[count:] = np.maximum(following[count:], own)
            other = best[:, : CHECKERS + 1 - count] + rows[CHECKERS - count]
            following[:, count:] = np.maximum(following[:, count:], other)
        best = following
    most: NDArray[np.float64] = best.max(axis=(0, 1))
    return most


def _filled(array: NDArray[np.floating], size: int, axis: int) -> NDArray[np.floating]:
    """Units that are always zero added on an axis, up to a multiple of `size`."""
    missing = -array.shape[axis] % size
    return np.pad(array, [(0, missing if i == axis else 0) for i in range(array.ndim)])


def _integer_table(a: Arrays, size: int) -> NDArray[np.int16]:
    """int16[T, H / size, rows, size]: the first layer's tables in the layout of `engine.kernels.vectors`.

    One table at a time and in single precision, which holds these numbers exactly: copies would stay in the memory of
    every worker.
    """
    steps = np.float32(1 << ACTIVATION_BITS)
    parts = []
    for table, bias in zip(np.split(a["table"], len(a["bias"])), a["bias"], strict=True):
        whole = np.rint(table * steps)
        _check_range("table", sum_bounds(whole, np.rint(bias * steps), 2**15), 2**15)
        whole = _filled(whole, size, axis=1)
        parts.append(whole.astype(np.int16).reshape(len(whole), -1, size).swapaxes(0, 1))
    return on_cache_lines(np.stack(parts))


def _pairs(weights: NDArray[np.floating]) -> NDArray[np.int16]:
    """[C, inputs, outputs] -> int16[C, inputs / 2 + 1, outputs, 2], the layout of `engine.kernels.vectors`; the last
    pair is zero.
    """
    classes, inputs, outputs = weights.shape
    paired = np.zeros((classes, inputs // 2 + 1, outputs, 2))
    paired[:, :-1] = weights.reshape(classes, inputs // 2, 2, outputs).swapaxes(2, 3)
    return on_cache_lines(paired.astype(np.int16))
