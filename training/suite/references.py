"""What other programs score on the same files: data in `configs/benchmarks/references.toml`, beside our figures."""

from __future__ import annotations

import tomllib
from importlib import resources

from pydantic import BaseModel, ConfigDict, ValidationError

from engine.errors import InternalError
from training.suite.figures import Figure, Measure, Part


class Reference(BaseModel):
    """One figure of another program, and where it comes from."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    part: Part
    source: str
    measure: Measure
    group: str | None = None
    level: int | None
    n: int
    """Only a figure of as many decisions or positions is set beside it: all of a file, or as many from its start."""
    program: str
    value: float
    """In the unit of our figure."""
    interval95: tuple[float, float] | None = None
    origin: str
    """How it was measured, or who published it."""

    def is_beside(self, figure: Figure) -> bool:
        """Whether it says the same thing about another program."""
        ours = (figure.part, figure.source, figure.measure, figure.group, figure.level, figure.n)
        return ours == (self.part, self.source, self.measure, self.group, self.level, self.n)


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid")

    reference: tuple[Reference, ...]


def load_references() -> tuple[Reference, ...]:
    """The references that come with gammonfarm, in the order of the file.

    Raises:
        InternalError: the file is malformed.
    """
    text = (resources.files("configs") / "benchmarks" / "references.toml").read_text(encoding="utf-8")
    try:
        return _File.model_validate(tomllib.loads(text)).reference
    except (tomllib.TOMLDecodeError, ValidationError) as error:
        raise InternalError(f"references.toml: {error}") from error
