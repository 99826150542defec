"""Recipes: read, checked, and refused with the name of the field that doesn't fit."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.errors import InputError
from training.recipe import FitPart, LabelKind, SelfPlayRecipe, load_recipe
from training.starts import StartKind

ROOT = Path(__file__).resolve().parent.parent


def recipe_file(tmp_path: Path, text: str) -> Path:
    """A recipe on disk."""
    path = tmp_path / "tiny.toml"
    path.write_text(text, encoding="utf-8")
    return path


GOOD = 'name = "tiny"\ngenerations = 4\ngames_per_shard = 20\n'


def test_a_recipe_is_read_with_its_defaults(tmp_path: Path) -> None:
    text = GOOD + 'rules = "tavla+forced-bear-off"\n[labels]\nkind = "2ply"\n[fit]\nbatch = 64\n'
    recipe = load_recipe(recipe_file(tmp_path, text))
    assert isinstance(recipe, SelfPlayRecipe)
    assert (recipe.name, recipe.games, recipe.games_per_generation) == ("tiny", 160, 40)
    assert recipe.rules == "tavla+forced-bear-off"
    assert recipe.labels.kind is LabelKind.TWO_PLY
    assert recipe.starts.parts == {StartKind.OPENING: 1.0}
    assert recipe.fit == FitPart(batch=64)


def test_start_weights_are_made_parts_of_one(tmp_path: Path) -> None:
    recipe = load_recipe(recipe_file(tmp_path, GOOD + "[starts]\nopening = 3\nback_game = 1\n"))
    assert isinstance(recipe, SelfPlayRecipe)
    assert recipe.starts.parts == {StartKind.OPENING: 0.75, StartKind.BACK_GAME: 0.25}


def test_files_named_in_a_recipe_are_relative_to_its_folder(tmp_path: Path) -> None:
    text = GOOD + 'start_from = "old.safetensors"\n[labels]\nfilter = "small.safetensors"\n'
    recipe = load_recipe(recipe_file(tmp_path, text))
    assert isinstance(recipe, SelfPlayRecipe)
    assert recipe.start_from == tmp_path / "old.safetensors"
    assert recipe.labels.filter == str(tmp_path / "small.safetensors")


@pytest.mark.parametrize("path", sorted((ROOT / "configs" / "train").glob("*.toml")), ids=lambda path: path.stem)
def test_the_shipped_recipes_are_named_after_their_files(path: Path) -> None:
    assert load_recipe(path).name == path.stem


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (GOOD + "learning_rat = 0.1\n", "learning_rat"),
        (GOOD + 'rules = "checkers"\n', "rules"),
        (GOOD + 'rules = "tavla+flying"\n', "rules"),
        (GOOD + "width = 33\n", "width"),
        (GOOD + "width = 0\n", "width"),
        (GOOD + "window = 0\n", "window"),
        (GOOD + "seed = -1\n", "seed"),
        (GOOD + "[labels]\ntd_lambda = 1.5\n", "labels.td_lambda"),
        (GOOD + '[labels]\nkind = "3ply"\n', "labels.kind"),
        (GOOD + '[labels]\nkind = "rollout"\ntrials = 40\n', "labels.trials"),
        (GOOD + "[labels]\nlevel = 3\n", "labels.level"),
        (GOOD + "[fit]\nlearning_rate = -1.0\n", "fit.learning_rate"),
        (GOOD + '[fit]\nbatch = "many"\n', "fit.batch"),
        (GOOD + "[fit]\nquantised_generations = 5\n", "quantised_generations is more than generations"),
        (GOOD + "[fit]\nshared_generations = 5\n", "shared_generations is more than generations"),
        (GOOD + "[starts]\nbackgame = 1\n", "starts.backgame"),
        (GOOD + "[starts]\nopening = 0\n", "at least one kind of start"),
        (GOOD + "[explore]\nrandom_play = 0.1\n", "explore needs labels of kind 2ply or rollout"),
        (GOOD + 'rules = "hypergammon"\n[starts]\nprimes = 1\n', "primes need fifteen checkers"),
        ('name = "tiny"\n', "generations"),
        ("generations = 1000\n", "name"),
        ('name = "../up"\ngenerations = 1000\n', "name"),
        (GOOD + 'method = "td"\n', "one of selfplay, distill"),
    ],
)
def test_a_recipe_that_does_not_fit_names_the_field(tmp_path: Path, text: str, named: str) -> None:
    with pytest.raises(InputError) as caught:
        load_recipe(recipe_file(tmp_path, text))
    assert named in str(caught.value)
    assert "tiny.toml" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_files_that_are_no_recipes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="readable TOML"):
        load_recipe(tmp_path / "absent.toml")
    with pytest.raises(InputError, match="valid TOML"):
        load_recipe(recipe_file(tmp_path, "name = = 3"))
    path = tmp_path / "binary.toml"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="valid TOML"):
        load_recipe(path)


def test_a_recipe_for_fewer_generations_shares_as_large_a_part_of_them_and_rounds_at_most_all() -> None:
    whole = SelfPlayRecipe(name="whole", generations=500, fit=FitPart(shared_generations=350, quantised_generations=60))
    short = whole.with_generations(20)
    assert (short.generations, short.fit.shared_generations, short.fit.quantised_generations) == (20, 14, 20)
    assert whole.with_generations(500) == whole
