"""The first part of a run, in which all classes of contact share their weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from test_generations import TINY, Runner, bits

from engine.kernels.facts import CLASSES, LATE, RACE, TABLES
from engine.network import TABLE_OF
from training.checkpoint import load_checkpoint, save_checkpoint
from training.generations import Training
from training.inputs import inputs_of
from training.positions import Shard
from training.sharing import as_one_contact

CONTACT = RACE + 1
SHARING = TINY.model_copy(update={"fit": TINY.fit.model_copy(update={"shared_generations": 2})})


@pytest.fixture(scope="module")
def states() -> list[dict[str, torch.Tensor]]:
    """Everything that a sharing run holds after each generation."""
    runner = Runner(Training(SHARING))
    found = []
    for _ in range(SHARING.generations):
        runner.step()
        found.append(dict(runner.training.checkpoint().tensors))
    return found


def parts(name: str, state: dict[str, torch.Tensor]) -> torch.Tensor:
    """The parts of an array: of a table each, or of a class."""
    array = state[name]
    return array.view(TABLES, -1, array.shape[1]) if name.endswith((".table", ".bias")) else array


ARRAYS = ["table", "bias", "second", "second_bias", "last", "last_bias"]


@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize("role", ["model", "average"])
def test_while_they_share_every_class_of_contact_has_the_same_weights_and_races_their_own(
    states: list[dict[str, torch.Tensor]], role: str, name: str
) -> None:
    for state in states[: SHARING.fit.shared_generations]:
        array = parts(f"{role}.{name}", state)
        for part in array[CONTACT + 1 :]:
            assert torch.equal(part, array[CONTACT])
        assert not torch.equal(array[RACE], array[CONTACT])


@pytest.mark.parametrize("name", ARRAYS)
def test_after_that_they_part(states: list[dict[str, torch.Tensor]], name: str) -> None:
    array = parts(f"model.{name}", states[-1])
    assert not torch.equal(array[CONTACT], array[int(TABLE_OF[LATE]) if len(array) == TABLES else LATE])


def test_copies_begin_with_the_moments_of_what_was_learnt_together(states: list[dict[str, torch.Tensor]]) -> None:
    parting = states[SHARING.fit.shared_generations - 1]
    for moment in ("mean", "square"):
        second = parting[f"adam.second.{moment}"]
        assert second[CONTACT].abs().max() > 0.0
        assert all(torch.equal(part, second[CONTACT]) for part in second[CONTACT + 1 :])
        table = parting[f"adam.table.{moment}"].view(TABLES, -1, SHARING.width)
        assert torch.equal(table[1], table[2])


def test_a_run_interrupted_while_they_share_ends_with_the_same_bits(
    tmp_path: Path, states: list[dict[str, torch.Tensor]]
) -> None:
    first = Runner(Training(SHARING))
    first.step()
    save_checkpoint(first.training.checkpoint(), tmp_path / "checkpoint")
    resumed = Training(SHARING, load_checkpoint(tmp_path / "checkpoint"))
    second = Runner(resumed, dict(first.made))
    for _ in range(SHARING.generations - 1):
        second.step()
    assert bits(resumed.checkpoint()) == {name: t.numpy().tobytes() for name, t in states[-1].items()}


def test_as_one_contact_only_changes_which_weights_are_used() -> None:
    runner = Runner(Training(TINY))
    runner.step()
    shard: Shard = runner.made[0, 0]
    inputs = inputs_of(shard.boards)
    shared = as_one_contact(inputs)
    assert shared.rows is inputs.rows
    assert set(inputs.classes.tolist()) > {RACE, CONTACT}
    assert inputs.classes.max() < CLASSES
    assert np.array_equal(shared.classes, np.where(inputs.classes == RACE, RACE, CONTACT))
