"""Training recipes: data that says how a net is made, checked before anything starts."""

from __future__ import annotations

import enum
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from engine.board import CHECKERS
from engine.errors import GammonfarmError, InputError
from engine.kernels.selfplay import MAX_HALF_MOVES, MOST_CANDIDATES
from engine.rules import rule_set
from training.starts import FEW_CHECKERS, StartKind

Fraction = Annotated[float, Field(ge=0.0, le=1.0)]
NO_FILTER = "none"
SHIPPED_FILTER = "shipped"


class LabelKind(enum.Enum):
    """What the learner is told about a position."""

    TD = "td"
    """The TD(lambda) return of the game it came from."""
    TWO_PLY = "2ply"
    """The exact mean over the 21 rolls that follow."""
    ROLLOUT = "rollout"
    """The mean of truncated trials with variance reduction."""


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class LabelPart(_Part):
    """`[labels]`: what the samples are labelled with."""

    kind: LabelKind = LabelKind.TD
    td_lambda: Fraction = 0.7
    final_td_lambda: Fraction = 0.0
    td_lambda_until: Fraction = 0.5
    """Part of the training after which `final_td_lambda` is reached (linearly)."""
    half_moves: int = Field(default=7, ge=1, le=MAX_HALF_MOVES)
    """Of a trial, after which the net's value ends it."""
    trials: int = Field(default=36, ge=36, multiple_of=36)
    """Of a position: whole multiples of 36, so that each first roll comes equally often."""
    level: Literal[1, 2] = 1
    """Plies with which trials are played."""
    bearoff: bool = False
    """Take values from the bear-off databases where they hold."""
    filter: str = NO_FILTER
    """Filter net that leaves few plays of a roll to the main net inside 2-ply labels and the luck of trials: `none`,
    `shipped`, or a file relative to the recipe's folder.
    """


class StartPart(_Part):
    """`[starts]`: how often games start from where; the numbers are weights."""

    opening: float = Field(default=1.0, ge=0.0)
    random: float = Field(default=0.0, ge=0.0)
    back_game: float = Field(default=0.0, ge=0.0)
    containment: float = Field(default=0.0, ge=0.0)
    primes: float = Field(default=0.0, ge=0.0)
    bear_in: float = Field(default=0.0, ge=0.0)
    race: float = Field(default=0.0, ge=0.0)
    settle: int = Field(default=2, ge=0, le=MAX_HALF_MOVES)
    """Half-moves after a start other than the opening that leave no samples."""
    half_moves: int = Field(default=30, ge=1, le=MAX_HALF_MOVES)
    """Half-moves after these that do."""

    @property
    def parts(self) -> dict[StartKind, float]:
        """The kinds that occur, as parts of one."""
        weights = {kind: float(getattr(self, kind.value)) for kind in StartKind}
        total = sum(weights.values())
        return {kind: weight / total for kind, weight in weights.items() if weight > 0.0}

    @model_validator(mode="after")
    def _something(self) -> Self:
        if not any(getattr(self, kind.value) > 0.0 for kind in StartKind):
            raise ValueError("at least one kind of start needs a weight above zero")
        return self


class ExplorePart(_Part):
    """`[explore]`: how games leave the greedy path (not with TD labels, which follow the game)."""

    random_play: Fraction = 0.0
    """Chance that a random one of the best plays is made."""
    sibling: Fraction = 0.0
    """Chance that another one of the best plays becomes a sample too."""
    best: int = Field(default=8, ge=2, le=MOST_CANDIDATES)
    """How many plays count as the best."""


class FitPart(_Part):
    """`[fit]`: how the learner goes through the samples."""

    batch: int = Field(default=1024, ge=16, le=65536)
    learning_rate: float = Field(default=1e-3, gt=0.0)
    final_learning_rate: float = Field(default=1e-5, gt=0.0)
    """Reached by a cosine from `learning_rate`."""
    warm_generations: float = Field(default=10.0, ge=0.0)
    """Generations over which the learning rate rises to `learning_rate`."""
    passes: float = Field(default=1.0, gt=0.0, le=100.0)
    """Samples fitted in a generation for each new one; drawn from the whole window without repeating before all of it
    was used.
    """
    average_batches: int = Field(default=0, ge=0)
    """The net is the exponential average of the weights over about so many batches; 0 = the weights as they stand."""
    shared_generations: int = Field(default=0, ge=0)
    """First generations in which all classes of contact share their weights, and part as copies after them."""
    quantised_generations: int = Field(default=0, ge=0)
    """Last generations in which the forward pass uses weights rounded to the integer twin's steps."""


class _Recipe(_Part):
    """What all recipes have."""

    name: str = Field(min_length=1, pattern=r"^[a-z0-9][a-z0-9-]*$")
    """Names the run, its folder and its net."""
    rules: str = "international"
    seed: int = Field(default=1, ge=0, lt=2**62)

    @field_validator("rules")
    @classmethod
    def _known_rules(cls, value: str) -> str:
        try:
            return rule_set(value).name
        except GammonfarmError as error:
            raise ValueError(str(error)) from error


class SelfPlayRecipe(_Recipe):
    """A main net by generations of self-play, labelling and fitting."""

    method: Literal["selfplay"] = "selfplay"
    width: int = Field(default=256, ge=32, le=1024, multiple_of=32)
    """Units of the first layer."""
    generations: int = Field(gt=0)
    shards_per_generation: int = Field(default=2, gt=0, le=10_000)
    """Files of samples in a generation: what workers make at a time."""
    games_per_shard: int = Field(default=500, gt=0, le=20_000)
    window: int = Field(default=1, gt=0)
    """Generations whose samples the learner draws from."""
    keep_shards: bool = False
    """Keep the files of samples that have left the window."""
    checkpoint_every: int = Field(default=25, gt=0)
    """Generations between checkpoints."""
    start_from: Path | None = None
    """Net to start from, relative to the recipe's folder, of the same width or narrower; by default random weights."""
    labels: LabelPart = LabelPart()
    starts: StartPart = StartPart()
    explore: ExplorePart = ExplorePart()
    fit: FitPart = FitPart()

    @property
    def games(self) -> int:
        """Self-play games in all."""
        return self.generations * self.games_per_generation

    @property
    def games_per_generation(self) -> int:
        """Self-play games between two versions of the net that plays them."""
        return self.shards_per_generation * self.games_per_shard

    def with_generations(self, generations: int) -> SelfPlayRecipe:
        """The recipe for another number of generations: as large a part of them shares its weights, and at most all
        are rounded.
        """
        shared = self.fit.shared_generations * generations // self.generations
        rounded = min(self.fit.quantised_generations, generations)
        fit = self.fit.model_copy(update={"shared_generations": shared, "quantised_generations": rounded})
        return self.model_copy(update={"generations": generations, "fit": fit})

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.labels.kind is LabelKind.TD and (self.explore.random_play or self.explore.sibling):
            raise ValueError("explore needs labels of kind 2ply or rollout: td labels follow the game that is played")
        if rule_set(self.rules).start.checkers < CHECKERS:
            odd = sorted(kind.value for kind in self.starts.parts if kind not in FEW_CHECKERS)
            if odd:
                raise ValueError(f"starts: {', '.join(odd)} need fifteen checkers a side")
        for name in ("shared_generations", "quantised_generations"):
            if getattr(self.fit, name) > self.generations:
                raise ValueError(f"fit.{name} is more than generations")
        return self


class DistillRecipe(_Recipe):
    """A filter net that learns the main net's values; short enough to need no checkpoints."""

    method: Literal["distill"]
    width: int = Field(default=64, ge=32, le=256, multiple_of=32)
    """Units of the only hidden layer."""
    games: int = Field(gt=0)
    """Self-play games in all."""
    games_per_round: int = Field(default=1000, gt=0, le=20_000)
    """Games whose samples are shuffled together."""
    batch: int = Field(default=1024, ge=16, le=65536)
    learning_rate: float = Field(default=1e-3, gt=0.0)

    @model_validator(mode="after")
    def _whole_rounds(self) -> Self:
        if self.games % self.games_per_round:
            raise ValueError("games must be a multiple of games_per_round")
        return self

    @property
    def rounds(self) -> int:
        """Rounds of self-play and fitting."""
        return self.games // self.games_per_round


Recipe = SelfPlayRecipe | DistillRecipe
_KINDS: dict[object, type[SelfPlayRecipe | DistillRecipe]] = {"selfplay": SelfPlayRecipe, "distill": DistillRecipe}


def load_recipe(path: Path) -> Recipe:
    """Read a recipe from TOML; its field `method` (selfplay by default) says which kind it is.

    Raises:
        InputError: no such file, not TOML, or a field that doesn't fit; names the field.
    """
    try:
        fields = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError("recipe", path, f"a readable TOML file ({error.strerror})") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError("recipe", path, f"valid TOML ({error})") from error
    method = fields.get("method", "selfplay")
    if not isinstance(method, str) or method not in _KINDS:
        raise InputError(f"recipe {path.name}: method", method, f"one of {', '.join(str(k) for k in _KINDS)}")
    try:
        return _KINDS[method].model_validate(_with_paths(fields, path.parent))
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"]) or "recipe"
        shown = first.get("input") if first["loc"] else path.stem
        raise InputError(f"recipe {path.name}: {field}", shown, first["msg"]) from error


def _with_paths(fields: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Files named in a recipe are relative to its folder."""
    if isinstance(fields.get("start_from"), str):
        fields["start_from"] = folder / fields["start_from"]
    labels = fields.get("labels")
    if isinstance(labels, dict) and labels.get("filter", NO_FILTER) not in (NO_FILTER, SHIPPED_FILTER):
        labels["filter"] = str(folder / str(labels["filter"]))
    return fields
