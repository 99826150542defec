"""Checkpoints of a training run: everything that the next generation depends on, in one safetensors file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from engine.errors import InputError
from engine.weights import digest_of, inputs_digest
from engine.whole_file import replacing

_FORMAT = "gammonfarm-checkpoint-2"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """State after `done` generations; tensors carry their role: `model.*`, `average.*`, `player.*`, `adam.*`."""

    done: int
    games: int
    """Games whose samples were fitted."""
    recipe: Mapping[str, object]
    tensors: Mapping[str, Tensor]

    def part(self, role: str) -> dict[str, Tensor]:
        """The tensors of one role, without its name."""
        prefix = f"{role}."
        return {name.removeprefix(prefix): t for name, t in self.tensors.items() if name.startswith(prefix)}


def save_checkpoint(checkpoint: Checkpoint, path: Path) -> None:
    """Write a checkpoint; an older one is replaced only by a complete file."""
    header = {
        "format": _FORMAT,
        "inputs": inputs_digest(),
        "digest": _digest(checkpoint.tensors),
        "done": str(checkpoint.done),
        "games": str(checkpoint.games),
        "recipe": json.dumps(checkpoint.recipe, sort_keys=True),
    }
    with replacing(path) as partial:
        save_file({name: t.contiguous() for name, t in checkpoint.tensors.items()}, partial, metadata=header)


def load_checkpoint(path: Path) -> Checkpoint:
    """Read a checkpoint.

    Raises:
        InputError: missing, damaged, or made for other inputs.
    """
    try:
        with safe_open(path, framework="pt") as file:
            header = dict(file.metadata() or {})
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - a file, no dict
    except (OSError, SafetensorError) as error:
        raise InputError("checkpoint", path, f"a readable checkpoint ({str(error).splitlines()[0]})") from error
    if header.get("format") != _FORMAT or header.get("inputs") != inputs_digest():
        raise InputError("checkpoint", path, "a checkpoint of this version")
    if header.get("digest") != _digest(tensors):
        raise InputError("checkpoint", path, "an undamaged checkpoint")
    try:
        return Checkpoint(int(header["done"]), int(header["games"]), json.loads(header["recipe"]), tensors)
    except (KeyError, ValueError) as error:
        raise InputError("checkpoint", path, f"an undamaged checkpoint (header: {error})") from error


def _digest(tensors: Mapping[str, Tensor]) -> str:
    return digest_of({name: tensor.numpy() for name, tensor in tensors.items()})
