"""Shards on disk: samples in safetensors, beside each a manifest in JSON that says what they are and where from.

Both are written to the side and renamed, the manifest last: a shard without one does not exist. One whose manifest or
content does not fit is made again.
"""

from __future__ import annotations

import hashlib
import json
import logging
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, ValidationError
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from engine.errors import InfrastructureError, InputError
from engine.outcome import OUTCOMES
from engine.whole_file import replacing
from training.positions import Shard, ShardTask
from training.starts import StartKind

FORMAT = "gammonfarm-shard-1"

log = logging.getLogger(__name__)


class Manifest(BaseModel):
    """What is known of a shard without reading it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: str
    generation: int
    shard: int
    net: str
    """Digest of the nets that played and labelled."""
    rules: str
    seed: int
    label: str
    """Kind of the labels."""
    question: str
    """Digest of everything that the samples depend on besides the nets."""
    games: int
    samples: int
    refused: int
    """Samples left out because their label was impossible."""
    starts: dict[str, int]
    """Samples by the kind of start of their game."""
    content: str
    """Digest of the arrays."""


def question_digest(task: ShardTask) -> str:
    """Names everything that a shard depends on besides the nets."""
    parts = {
        "generation": task.generation,
        "index": task.index,
        "rules": task.rules.name,
        "seed": task.seed,
        "games": [task.first_game, task.games],
        "starts": {kind.value: part for kind, part in task.starts.parts.items()},
        "samples": [task.settle, task.half_moves],
        "explore": list(task.explore),
        "labels": [task.labels.kind.value, *_label_numbers(task)],
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


def _label_numbers(task: ShardTask) -> list[float]:
    how = task.labels
    return [how.td_lambda, how.half_moves, how.trials, how.level, how.bearoff]


def content_digest(shard: Shard) -> str:
    """Names the samples: shapes and bits."""
    digest = hashlib.sha256()
    for array, kind in ((shard.boards, "|i1"), (shard.labels, "<f4"), (shard.starts, "|i1")):
        digest.update(str(array.shape).encode())
        digest.update(np.ascontiguousarray(array, dtype=kind).tobytes())
    return digest.hexdigest()[:16]


class ShardStore:
    """The shards of one run in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def save(self, shard: Shard, task: ShardTask, net: str) -> Manifest:
        """Write a shard made by the nets with this digest; an older one is replaced."""
        counts = np.bincount(shard.starts, minlength=len(StartKind)).tolist()
        manifest = Manifest(
            format=FORMAT,
            generation=task.generation,
            shard=task.index,
            net=net,
            rules=task.rules.name,
            seed=task.seed,
            label=task.labels.kind.value,
            question=question_digest(task),
            games=shard.games,
            samples=len(shard.boards),
            refused=shard.refused,
            starts={kind.value: n for kind, n in zip(StartKind, counts, strict=True) if n},
            content=content_digest(shard),
        )
        arrays: dict[str, NDArray[Any]] = {"boards": shard.boards, "labels": shard.labels, "starts": shard.starts}
        data, text = self._files(task.generation, task.index)
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            text.unlink(missing_ok=True)
            with replacing(data) as partial:
                save_file({name: np.ascontiguousarray(a) for name, a in arrays.items()}, partial)
            with replacing(text) as partial:
                partial.write_text(manifest.model_dump_json(indent=1) + "\n", encoding="utf-8")
        except OSError as error:
            raise InfrastructureError(f"shard {data}: can't be written ({error.strerror})") from error
        return manifest

    def manifest(self, generation: int, index: int) -> Manifest | None:
        """What is on disk; None without a readable manifest."""
        _, text = self._files(generation, index)
        try:
            return Manifest.model_validate_json(text.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, ValidationError):
            return None

    def has(self, task: ShardTask, net: str | None) -> bool:
        """Whether the shard of a task is there, undamaged, by the nets with this digest (None: by any)."""
        found = self.manifest(task.generation, task.index)
        if found is None or found.format != FORMAT or found.question != question_digest(task):
            return False
        if net is not None and found.net != net:
            return False
        try:
            self.load(task.generation, task.index)
        except InputError as error:
            log.warning("%s; it is made again", error)
            return False
        return True

    def load(self, generation: int, index: int) -> Shard:
        """Read a shard.

        Raises:
            InputError: not there, or not what its manifest says.
        """
        data, text = self._files(generation, index)
        found = self.manifest(generation, index)
        if found is None:
            raise InputError("shard", text, "a readable manifest")
        try:
            arrays = load_file(data)
            shard = Shard(arrays["boards"], arrays["labels"], arrays["starts"], found.games, found.refused)
        except (OSError, SafetensorError, KeyError, ValueError) as error:
            raise InputError("shard", data, f"a readable file of samples ({str(error).splitlines()[0]})") from error
        n = found.samples
        shapes = (shard.boards.shape, shard.labels.shape, shard.starts.shape)
        if shapes != ((n, 26), (n, OUTCOMES), (n,)) or content_digest(shard) != found.content:
            raise InputError("shard", data, f"undamaged samples (digest {found.content})")
        return shard

    def drop_before(self, generation: int) -> None:
        """Delete the shards of older generations."""
        for path in self._folder.glob("g*-s*.*"):
            number = path.name[1:].split("-")[0]
            if number.isdigit() and int(number) < generation:
                path.unlink(missing_ok=True)

    def _files(self, generation: int, index: int) -> tuple[Path, Path]:
        name = f"g{generation:05d}-s{index:03d}"
        return self._folder / f"{name}.safetensors", self._folder / f"{name}.json"
