"""The shipped recipes of other rule sets: a few of their generations, made small, end with a net of these rules."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from engine.errors import InputError
from engine.rules import rule_set
from engine.weights import load_net
from training.positions import Shard
from training.production import ThreadProducer
from training.recipe import SelfPlayRecipe, load_recipe
from training.run import RunOptions, TrainingRun
from training.shards import ShardStore
from training.starts import StartKind

ROOT = Path(__file__).resolve().parent.parent
TAVLA_BY_THE_BOOK = "tavla+hit-and-run-ban+forced-bear-off"
SMALL = {"width": 32, "generations": 3, "shards_per_generation": 2, "games_per_shard": 12, "keep_shards": True}


def small(name: str, rules: str) -> SelfPlayRecipe:
    """A shipped recipe with few games; `rules` as one would write them into a copy of the file."""
    recipe = load_recipe(ROOT / "configs" / "train" / f"{name}.toml")
    assert isinstance(recipe, SelfPlayRecipe)
    assert recipe.rules == name
    fit = recipe.fit.model_copy(update={"batch": 64, "quantised_generations": 1})
    return recipe.model_copy(update=SMALL | {"fit": fit, "rules": rules})


def made(recipe: SelfPlayRecipe, folder: Path) -> list[Shard]:
    """Train to the end; the shards."""
    with TrainingRun(recipe, folder, lambda: ThreadProducer(1), RunOptions()) as run:
        outcome = run.run()
    assert outcome.generations == recipe.generations
    assert load_net(outcome.path).description["rules"] == recipe.rules
    store = ShardStore(folder / "shards")
    return [store.load(g, i) for g in range(recipe.generations) for i in range(recipe.shards_per_generation)]


@pytest.mark.parametrize(
    ("name", "rules"),
    [("tavla", "tavla"), ("tavla", TAVLA_BY_THE_BOOK), ("nackgammon", "nackgammon"), ("hypergammon", "hypergammon")],
)
def test_a_recipe_of_other_rules_makes_a_net_of_these_rules(tmp_path: Path, name: str, rules: str) -> None:
    shards = made(small(name, rules), tmp_path)
    boards = np.concatenate([shard.boards for shard in shards]).astype(np.int64)
    labels = np.concatenate([shard.labels for shard in shards])
    assert sum(shard.refused for shard in shards) == 0
    checkers = rule_set(rules).start.checkers
    own, other = np.maximum(boards, 0).sum(axis=1), np.maximum(-boards, 0).sum(axis=1)
    assert own.max() == other.max() == checkers
    # Gammons are learned, and only against sides that have all their checkers.
    assert (labels[other == checkers, 1] > 0).any()
    assert not (labels[other < checkers, 1] > 0).any()
    assert not (labels[own < checkers, 3] > 0).any()


def test_a_recipe_of_few_checkers_starts_where_few_make_sense() -> None:
    parts = small("hypergammon", "hypergammon").starts.parts
    assert parts.keys() == {StartKind.OPENING, StartKind.RANDOM, StartKind.RACE}


def test_options_of_a_rule_set_are_chosen_by_name_in_any_order(tmp_path: Path) -> None:
    text = 'name = "t"\ngenerations = 1\nrules = "{}"\n'
    path = tmp_path / "t.toml"
    path.write_text(text.format("tavla+forced-bear-off+hit-and-run-ban"))
    assert load_recipe(path).rules == TAVLA_BY_THE_BOOK
    path.write_text(text.format("tavla+forced"))
    with pytest.raises(InputError, match="hit-and-run-ban"):
        load_recipe(path)
