"""Distillation: a tiny filter net is made from a teacher, the same every time, and learns."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from nets import random_net

from engine.board import START
from engine.errors import InputError
from engine.evaluator import Evaluator, Nets
from engine.kernels.filter import FILTER_ROWS
from engine.rules import INTERNATIONAL
from engine.weights import NetKind, load_net, quantise_filter, save_net
from training.distill import Distillation, DistillRound, run_distillation
from training.recipe import DistillRecipe, SelfPlayRecipe, load_recipe

TEACHER = random_net(5)
TINY = DistillRecipe(
    name="tiny-filter", method="distill", width=32, games=40, games_per_round=20, batch=256, learning_rate=3e-3, seed=3
)


@pytest.fixture(autouse=True, scope="module")
def _one_thread() -> Iterator[None]:
    """Sums in Torch in one order."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[DistillRound]]:
    """The net's file, and what was shown while it was made."""
    shown: list[DistillRound] = []
    path = run_distillation(TINY, tmp_path_factory.mktemp("distil"), TEACHER, shown.append)
    return path, shown


def test_a_recipe_leaves_a_filter_net_that_names_its_teacher(made: tuple[Path, list[DistillRound]]) -> None:
    path, _ = made
    net = load_net(path, NetKind.FILTER)
    assert [file.name for file in path.parent.iterdir()] == ["tiny-filter.safetensors"]
    assert (net.kind, net.width) == (NetKind.FILTER, 32)
    assert net.description["teacher"] == TEACHER.digest
    assert net.description["recipe"] == "tiny-filter"
    assert np.isfinite(quantise_filter(net).table).all()
    assert len(Evaluator(Nets(TEACHER, net)).plays(START, (3, 1), INTERNATIONAL)[0]) == 16


def test_loss_falls(made: tuple[Path, list[DistillRound]]) -> None:
    losses = [done.loss for done in made[1]]
    assert [done.number for done in made[1]] == [1, 2]
    assert all(done.samples > 1000 for done in made[1])
    assert 0 < losses[1] < losses[0]


def test_the_same_recipe_and_teacher_make_the_same_net(made: tuple[Path, list[DistillRound]], tmp_path: Path) -> None:
    digest = load_net(made[0], NetKind.FILTER).digest
    again = run_distillation(TINY, tmp_path, TEACHER, threads=2)
    assert load_net(again, NetKind.FILTER).digest == digest


def test_another_seed_or_teacher_makes_another_net() -> None:
    digests = set()
    for recipe, teacher in ((TINY, TEACHER), (TINY.model_copy(update={"seed": 4}), TEACHER), (TINY, random_net(6))):
        distillation = Distillation(recipe, teacher)
        next(distillation.rounds())
        digests.add(distillation.net().digest)
    assert len(digests) == 3


def test_rows_of_empty_places_stay_zero(made: tuple[Path, list[DistillRound]]) -> None:
    table = load_net(made[0], NetKind.FILTER).arrays["table"].reshape(2, FILTER_ROWS, 32)
    assert not table[:, 0].any()
    assert table[:, 1:].any(axis=(1, 2)).all()


def test_a_net_of_one_kind_is_refused_as_the_other(made: tuple[Path, list[DistillRound]], tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a main net"):
        load_net(made[0])
    path = tmp_path / "main.safetensors"
    save_net(TEACHER, path)
    assert load_net(path).digest == TEACHER.digest
    with pytest.raises(InputError, match="a filter net"):
        load_net(path, NetKind.FILTER)


@pytest.mark.parametrize("option", [["--resume"], ["--benchmark", "file"], ["--stage", "fit"]])
def test_a_distillation_takes_no_options_of_self_play(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], option: list[str]
) -> None:
    from cluster.cli.main import main

    text = 'name = "some"\nmethod = "distill"\ngames = 40\ngames_per_round = 20\n'
    recipe = recipe_file(tmp_path, text)
    assert main(["train", str(recipe), "--folder", str(tmp_path / "out"), *option]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert option[0].removeprefix("--") in line
    assert not (tmp_path / "out").exists()


def recipe_file(folder: Path, text: str) -> Path:
    """A recipe on disk."""
    path = folder / "some.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_method_says_which_kind_of_recipe_it_is(tmp_path: Path) -> None:
    sizes = 'name = "some"\n'
    self_play = sizes + "generations = 4\n"
    assert isinstance(load_recipe(recipe_file(tmp_path, self_play)), SelfPlayRecipe)
    assert isinstance(load_recipe(recipe_file(tmp_path, self_play + 'method = "selfplay"\n')), SelfPlayRecipe)
    text = sizes + 'games = 40\ngames_per_round = 20\nmethod = "distill"\nwidth = 32\n'
    distil = load_recipe(recipe_file(tmp_path, text))
    assert distil == DistillRecipe(name="some", method="distill", games=40, games_per_round=20, width=32)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("td_lambda = 0.5\n", "td_lambda"),
        ("width = 33\n", "width"),
        ("width = 512\n", "width"),
        ("games_per_round = 30\n", "multiple of games_per_round"),
    ],
)
def test_a_distillation_that_does_not_fit_names_the_field(tmp_path: Path, text: str, named: str) -> None:
    sizes = 'name = "some"\nmethod = "distill"\ngames = 40\n'
    with pytest.raises(InputError, match=r"some\.toml") as caught:
        load_recipe(recipe_file(tmp_path, sizes + text))
    assert named in str(caught.value)


def test_the_command_makes_a_filter_net_and_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from cluster.cli.main import main
    from cluster.schemas_training import DistillReport

    text = 'name = "some"\nmethod = "distill"\ngames = 8\ngames_per_round = 4\nwidth = 32\n'
    save_net(TEACHER, tmp_path / "main.safetensors")
    arguments = [str(recipe_file(tmp_path, text)), "--teacher", str(tmp_path / "main.safetensors"), "--json"]
    assert main(["train", *arguments, "--folder", str(tmp_path / "out")]) == 0
    report = DistillReport.model_validate_json(capsys.readouterr().out)
    assert (report.teacher, report.rounds) == (TEACHER.digest, 2)
    assert load_net(Path(report.file), NetKind.FILTER).digest == report.net
