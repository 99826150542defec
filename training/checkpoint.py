"""Checkpoints of a training run: everything that the next round depends on, in one safetensors file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from engine.errors import InputError
from engine.weights import digest_of, inputs_digest

_FORMAT = "gammonfarm-checkpoint-1"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """State after `rounds` rounds. Names of tensors carry their role: `model.*`, `player.*`, `adam.*`."""

    rounds: int
    recipe: Mapping[str, object]
    tensors: Mapping[str, Tensor]


def save_checkpoint(checkpoint: Checkpoint, path: Path) -> None:
    """Write a checkpoint; an older one is replaced only by a complete file."""
    partial = path.with_name(path.name + ".partial")
    header = {
        "format": _FORMAT,
        "inputs": inputs_digest(),
        "digest": _digest(checkpoint.tensors),
        "rounds": str(checkpoint.rounds),
        "recipe": json.dumps(checkpoint.recipe, sort_keys=True),
    }
    save_file({name: t.contiguous() for name, t in checkpoint.tensors.items()}, partial, metadata=header)
    partial.replace(path)


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
        return Checkpoint(int(header["rounds"]), json.loads(header["recipe"]), tensors)
    except (KeyError, ValueError) as error:
        raise InputError("checkpoint", path, f"an undamaged checkpoint (header: {error})") from error


def _digest(tensors: Mapping[str, Tensor]) -> str:
    return digest_of({name: tensor.numpy() for name, tensor in tensors.items()})


def adam_tensors(optimizer: torch.optim.Adam, names: list[str]) -> dict[str, Tensor]:
    """Adam's state under readable names, in the order of the parameters."""
    state = optimizer.state_dict()["state"]
    return {f"adam.{names[i]}.{key}": value for i, entry in state.items() for key, value in entry.items()}


def restore_adam(optimizer: torch.optim.Adam, names: list[str], tensors: Mapping[str, Tensor]) -> None:
    """Put back what `adam_tensors` saved."""
    full = optimizer.state_dict()
    full["state"] = {
        i: {key: tensors[f"adam.{name}.{key}"] for key in ("step", "exp_avg", "exp_avg_sq")}
        for i, name in enumerate(names)
        if f"adam.{name}.step" in tensors
    }
    optimizer.load_state_dict(full)
