"""Training recipes: data that says how a net is made, checked before anything starts."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from engine.errors import GammonfarmError, InputError
from engine.rules import rule_set

Fraction = Annotated[float, Field(ge=0.0, le=1.0)]


class _Recipe(BaseModel):
    """What all recipes have."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(min_length=1, pattern=r"^[a-z0-9][a-z0-9-]*$")
    """Names the run, its folder and its net."""
    rules: str = "international"
    seed: int = Field(default=1, ge=0, lt=2**63)
    games: int = Field(gt=0)
    """Self-play games in all."""
    games_per_round: int = Field(default=1000, gt=0, le=20_000)
    """Games between two versions of the net that plays them."""
    batch: int = Field(default=1024, ge=16, le=65536)
    learning_rate: float = Field(default=1e-3, gt=0.0)

    @field_validator("rules")
    @classmethod
    def _known_rules(cls, value: str) -> str:
        try:
            return rule_set(value).name
        except GammonfarmError as error:
            raise ValueError(str(error)) from error

    @model_validator(mode="after")
    def _whole_rounds(self) -> Self:
        if self.games % self.games_per_round:
            raise ValueError("games must be a multiple of games_per_round")
        return self

    @property
    def rounds(self) -> int:
        """Rounds of self-play and fitting."""
        return self.games // self.games_per_round


class TdRecipe(_Recipe):
    """TD(lambda) self-play, from random weights to a playing net."""

    method: Literal["td"] = "td"
    width: int = Field(default=256, ge=32, le=1024, multiple_of=32)
    """Units of the first layer."""
    final_learning_rate: float = Field(default=1e-5, gt=0.0)
    """Reached by a cosine from `learning_rate`."""
    warm_rounds: int = Field(default=10, ge=0)
    """Rounds over which the learning rate rises to `learning_rate`."""
    td_lambda: Fraction = 0.7
    final_td_lambda: Fraction = 0.0
    td_lambda_until: Fraction = 0.5
    """Part of the training after which `final_td_lambda` is reached (linearly)."""
    lookahead: bool = False
    """Label with the exact mean over the 21 rolls that follow (2-ply) instead of the TD(lambda) return."""
    bearoff: bool = False
    """Take values from the bear-off databases where they hold."""
    start_from: Path | None = None
    """Net to start from, relative to the recipe's folder; by default random weights."""
    checkpoint_every: int = Field(default=25, gt=0)
    """Rounds between checkpoints."""


class DistillRecipe(_Recipe):
    """A filter net that learns the main net's values; short enough to need no checkpoints."""

    method: Literal["distill"]
    width: int = Field(default=64, ge=32, le=256, multiple_of=32)
    """Units of the only hidden layer."""


def load_recipe(path: Path) -> TdRecipe | DistillRecipe:
    """Read a recipe from TOML; its field `method` (td by default) says which kind it is.

    Raises:
        InputError: no such file, not TOML, or a field that doesn't fit; names the field.
    """
    try:
        fields = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError("recipe", path, f"a readable TOML file ({error.strerror})") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError("recipe", path, f"valid TOML ({error})") from error
    kinds: dict[object, type[TdRecipe | DistillRecipe]] = {
        "td": TdRecipe,
        "distill": DistillRecipe,
    }
    method = fields.get("method", "td")
    if method not in kinds:
        raise InputError(f"recipe {path.name}: method", method, f"one of {', '.join(str(k) for k in kinds)}")
    if isinstance(fields.get("start_from"), str):
        fields["start_from"] = path.parent / fields["start_from"]
    try:
        return kinds[method].model_validate(fields)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"]) or "recipe"
        raise InputError(f"recipe {path.name}: {field}", first.get("input"), first["msg"]) from error
