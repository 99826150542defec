"""Move filters as data: `configs/search/NAME.toml`, or a file of the user's."""

from __future__ import annotations

import tomllib
from importlib import resources
from pathlib import Path

from pydantic import Field, ValidationError

from cluster.schemas import Model
from engine.config_files import config_names
from engine.errors import InputError
from engine.search import FilterStep, MoveFilter

DEFAULT_FILTER = "normal"


class _Step(Model):
    level: int = Field(ge=1, le=3)
    keep: int = Field(ge=1, le=500)
    margin: float = Field(ge=0.0, le=6.0)


class _Filter(Model):
    level2: tuple[_Step, ...] = Field(min_length=1)
    level3: tuple[_Step, ...] = Field(min_length=1)
    level4: tuple[_Step, ...] = Field(min_length=1)


def known_filters() -> list[str]:
    """Names of the filters that come with gammonfarm."""
    return config_names("search")


def load_filter(name: str) -> MoveFilter:
    """A shipped filter by name, or one from a TOML file.

    Raises:
        InputError: unknown name, unreadable file, a field that doesn't fit, or steps that don't begin at level 1 and
            rise below the level they lead to.
    """
    if name.endswith(".toml"):
        path = Path(name)
        try:
            text = path.read_text(encoding="utf-8")
        except OSError as error:
            raise InputError("filter", name, f"a readable TOML file ({error.strerror})") from error
    elif name in known_filters():
        text = (resources.files("configs") / "search" / f"{name}.toml").read_text(encoding="utf-8")
    else:
        raise InputError("filter", name, f"one of {', '.join(known_filters())}, or a file NAME.toml")
    try:
        parsed = _Filter.model_validate(tomllib.loads(text))
    except (tomllib.TOMLDecodeError, ValidationError) as error:
        reason = error.errors()[0]["msg"] if isinstance(error, ValidationError) else str(error)
        raise InputError("filter", name, f"a valid move filter ({reason})") from error
    ways = (parsed.level2, parsed.level3, parsed.level4)
    steps = tuple(tuple(FilterStep(s.level, s.keep, s.margin) for s in way) for way in ways)
    for target, way in enumerate(steps, 2):
        levels = [step.level for step in way]
        if levels[0] != 1 or levels != sorted(set(levels)) or levels[-1] >= target:
            raise InputError("filter", name, f"steps to level {target} that begin at 1 and rise below it, not {levels}")
    return MoveFilter(name, steps)
