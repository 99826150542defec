"""Recipes of opening books: data that says what a book holds, checked before anything starts."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Annotated

from pydantic import Field, ValidationError, field_validator

from cluster.book.schemas import FEWEST_TRIALS, EntryQuestion, Terms
from cluster.schemas import Model
from engine.errors import InputError
from engine.game_chances import opening_rolls
from engine.rules import rule_set

_ROLLS = 21


class SearchPart(Model):
    """`[search]`: the search that picks the plays and gives half of their value."""

    level: int = Field(default=3, ge=1, le=4)
    filter: str = "normal"


class SimulationPart(Model):
    """`[simulation]`: the trials that give the other half."""

    level: int = Field(default=1, ge=1, le=2)
    confidence: float = Field(default=0.95, gt=0.5, lt=1.0)
    """Of verdicts and of the race."""
    playable: float = Field(default=0.01, gt=0.0, lt=1.0)
    """Equity: plays that surely lose no more count as playable."""


class BudgetPart(Model):
    """`[budget]`: where a build stops although more could be done."""

    trials: int | None = Field(default=None, ge=1)
    """Of the whole book, over all plays; the entry that reaches it is the last one."""
    entries: int | None = Field(default=None, ge=1)
    """Of the whole book."""
    minutes: float | None = Field(default=None, gt=0.0)
    """Of one run; entries under way are finished. On a farm the job fails then, and can be asked again."""


class DepthPart(EntryQuestion):
    """`[[depth]]`: the entries of one depth; the first one holds the openings, the next the replies."""

    follow: float = Field(default=0.0, ge=0.0, le=6.0)
    """Plays that lose no more than this get entries of the next depth."""


class BookRecipe(Terms):
    """What a book holds. `configs/book/` has examples."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.+-]*$", max_length=80)]
    seed: int = Field(default=1, ge=0, lt=2**63)
    search: SearchPart = SearchPart()
    simulation: SimulationPart = SimulationPart()
    budget: BudgetPart = BudgetPart()
    depth: tuple[DepthPart, ...] = Field(min_length=1, max_length=6)

    @field_validator("rules")
    @classmethod
    def _check_rules(cls, value: str) -> str:
        return rule_set(value).name

    def with_budget(self, trials: int | None, minutes: float | None) -> BookRecipe:
        """With another budget where one is given; trials alone take the place of the whole budget."""
        if trials is None and minutes is None:
            return self
        asked = BudgetPart(trials=trials, minutes=minutes)
        if trials is None:
            asked = self.budget.model_copy(update={"minutes": minutes})
        return self.model_copy(update={"budget": asked})


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a book can come to at most."""

    trials: int
    entries: int


def bounds_of(recipe: BookRecipe) -> Bounds:
    """What a recipe can come to at most: every play followed, every play to its last trial."""
    spots = len(opening_rolls(rule_set(recipe.rules)))
    trials = entries = 0
    for part in recipe.depth:
        entries += spots
        trials += spots * part.most * part.trials
        spots *= part.most * _ROLLS
    budget, largest = recipe.budget, max(part.most * part.trials for part in recipe.depth)
    if budget.trials is not None:
        trials = min(trials, budget.trials + largest)
        entries = min(entries, budget.trials // FEWEST_TRIALS + 1)
    if budget.entries is not None:
        entries = min(entries, budget.entries)
        trials = min(trials, entries * largest)
    return Bounds(trials, entries)


def known_recipes() -> list[str]:
    """Names of the recipes that come with gammonfarm."""
    folder = resources.files("configs") / "book"
    return sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml"))


def load_recipe(name: str) -> BookRecipe:
    """A shipped recipe by name, or one from a TOML file.

    Raises:
        InputError: unknown name, unreadable file, or a field that doesn't fit.
    """
    if name.endswith(".toml"):
        try:
            text = Path(name).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError("recipe", name, f"a readable TOML file ({error})") from error
    elif name in known_recipes():
        text = (resources.files("configs") / "book" / f"{name}.toml").read_text(encoding="utf-8")
    else:
        raise InputError("recipe", name, f"one of {', '.join(known_recipes())}, or a file NAME.toml")
    return parse_recipe(text, name)


def parse_recipe(text: str, name: str) -> BookRecipe:
    """The recipe of a TOML text; `name` says in messages where it came from.

    Raises:
        InputError: no TOML, or a field that doesn't fit.
    """
    try:
        return BookRecipe.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise InputError("recipe", name, f"valid TOML ({error})") from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise InputError(f"recipe {name}: {where}", first.get("input"), str(first["msg"]).lower()) from None
