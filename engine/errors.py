"""What can go wrong, classed by who is at fault; the class decides the exit code and whether a retry makes sense."""

from __future__ import annotations


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
        shown = str(value)
        if len(shown) > 80:
            shown = shown[:77] + "..."
        super().__init__(f"{field}: {shown!r}: expected {expected}")

    def __reduce__(self) -> tuple[type[InputError], tuple[str, object, str]]:
        return (type(self), (self.field, self.value, self.expected))


class InfrastructureError(GammonfarmError):
    """Something outside the process is away (Redis, Ray, the disk): the same command can work later."""

    exit_code = 4


class InternalError(GammonfarmError):
    """A failure of ours: an invariant did not hold."""

    exit_code = 3
