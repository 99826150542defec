"""Shards on disk: what was written is read, and nothing else."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from engine.errors import InputError
from engine.kernels.selfplay import Exploration
from engine.rules import INTERNATIONAL, TAVLA
from training.positions import Labelling, Shard, ShardTask
from training.recipe import LabelKind
from training.shards import ShardStore
from training.starts import StartKind, StartMix

TASK = ShardTask(
    generation=3,
    index=1,
    rules=INTERNATIONAL,
    seed=5,
    first_game=100,
    games=20,
    starts=StartMix({StartKind.OPENING: 0.5, StartKind.RACE: 0.5}),
    settle=2,
    half_moves=20,
    explore=Exploration(10, 20, 8),
    labels=Labelling(LabelKind.TWO_PLY),
)
SHARD = Shard(
    boards=np.arange(7 * 26, dtype=np.int8).reshape(7, 26),
    labels=np.linspace(0, 1, 35, dtype=np.float32).reshape(7, 5),
    starts=np.array([0, 0, 6, 6, 6, 0, 0], dtype=np.int8),
    games=20,
    refused=2,
)


@pytest.fixture
def store(tmp_path: Path) -> ShardStore:
    """With one shard in it."""
    made = ShardStore(tmp_path / "shards")
    made.save(SHARD, TASK, "net-1")
    return made


def files(tmp_path: Path) -> tuple[Path, Path]:
    """Data and manifest."""
    data, text = sorted((tmp_path / "shards").iterdir(), key=lambda path: path.suffix, reverse=True)
    return data, text


def test_a_shard_is_read_as_it_was_written(store: ShardStore, tmp_path: Path) -> None:
    found = store.load(3, 1)
    assert found.boards.tobytes() == SHARD.boards.tobytes()
    assert found.labels.tobytes() == SHARD.labels.tobytes()
    assert found.starts.tobytes() == SHARD.starts.tobytes()
    assert (found.games, found.refused) == (20, 2)
    assert store.has(TASK, "net-1")
    assert [path.name for path in files(tmp_path)] == ["g00003-s001.safetensors", "g00003-s001.json"]


def test_the_manifest_says_what_the_shard_is(store: ShardStore, tmp_path: Path) -> None:
    manifest = json.loads(files(tmp_path)[1].read_text())
    named = {k: manifest[k] for k in ("generation", "shard", "net", "rules", "seed", "label", "games", "refused")}
    assert named == {
        "generation": 3,
        "shard": 1,
        "net": "net-1",
        "rules": "international",
        "seed": 5,
        "label": "2ply",
        "games": 20,
        "refused": 2,
    }
    assert manifest["samples"] == 7
    assert manifest["starts"] == {"opening": 4, "race": 3}


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 6},
        {"rules": TAVLA},
        {"games": 21},
        {"first_game": 101},
        {"starts": StartMix({StartKind.OPENING: 1.0})},
        {"explore": Exploration(10, 21, 8)},
        {"labels": Labelling(LabelKind.TD, td_lambda=0.5)},
        {"half_moves": 21},
    ],
)
def test_a_shard_that_answers_another_question_is_not_taken(store: ShardStore, change: dict[str, object]) -> None:
    assert not store.has(replace(TASK, **change), "net-1")  # type: ignore[arg-type]


def test_a_shard_by_other_nets_is_not_taken(store: ShardStore) -> None:
    assert not store.has(TASK, "net-2")


def test_damaged_samples_are_refused(store: ShardStore, tmp_path: Path) -> None:
    data, _ = files(tmp_path)
    content = data.read_bytes()
    flipped = bytearray(content)
    flipped[-9] ^= 1
    for damaged in (b"", content[:50], content[:-1], bytes(flipped), b"\xff" * 64):
        data.write_bytes(damaged)
        with pytest.raises(InputError, match="shard"):
            store.load(3, 1)
        assert not store.has(TASK, "net-1")
    data.unlink()
    assert not store.has(TASK, "net-1")


def test_a_manifest_that_does_not_fit_is_refused(store: ShardStore, tmp_path: Path) -> None:
    _, text = files(tmp_path)
    good = json.loads(text.read_text())
    for damaged in ("", "{}", "[]", json.dumps(good | {"samples": 6}), json.dumps(good | {"content": "0" * 16})):
        text.write_text(damaged)
        with pytest.raises(InputError, match="shard"):
            store.load(3, 1)
        assert not store.has(TASK, "net-1")
    text.write_text(json.dumps(good | {"format": "gammonfarm-shard-0"}))
    assert not store.has(TASK, "net-1")
    text.unlink()
    with pytest.raises(InputError, match="a readable manifest"):
        store.load(3, 1)


def test_old_generations_are_dropped(store: ShardStore, tmp_path: Path) -> None:
    for generation in (4, 5):
        store.save(SHARD, replace(TASK, generation=generation), "net-1")
    store.drop_before(5)
    assert {path.name.split("-")[0] for path in (tmp_path / "shards").iterdir()} == {"g00005"}
