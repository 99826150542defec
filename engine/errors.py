"""What can go wrong, classed by who is at fault; the class decides the exit code and whether a retry makes sense."""

from __future__ import annotations

from pathlib import PurePath

_LONGEST = 80
"""Characters of a value that an error repeats."""


class GammonfarmError(Exception):
    """Base of every error that gammonfarm raises on purpose; `str()` is one line fit to show to a user."""

    exit_code = 3


class InputError(GammonfarmError, ValueError):
    """The user's mistake: names the field, the value that was given and what was expected. Never retried."""

    exit_code = 2

    def __init__(self, field: str, value: object, expected: str) -> None:
        self.field = field
        self.value = value
        self.expected = expected
        super().__init__(f"{field}: {_short(value)!r}: expected {expected}")

    def __reduce__(self) -> tuple[type[InputError], tuple[str, object, str]]:
        return (type(self), (self.field, self.value, self.expected))


class InfrastructureError(GammonfarmError):
    """Something outside the process is away (Redis, Ray, the disk): the same command can work later."""

    exit_code = 4


class InternalError(GammonfarmError):
    """A failure of ours: an invariant did not hold."""

    exit_code = 3


def _short(value: object) -> str:
    shown = str(value)
    if len(shown) <= _LONGEST:
        return shown
    # The end of a path says which file it is.
    kept = _LONGEST - 3
    return "..." + shown[-kept:] if isinstance(value, PurePath) else shown[:kept] + "..."
