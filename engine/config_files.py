"""Settings as data: TOML files in `configs/FOLDER/` that go by their names, or files of the user's."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from engine.errors import InputError


def config_names(folder: str) -> list[str]:
    """Names of the files that come with gammonfarm."""
    entries = (resources.files("configs") / folder).iterdir()
    return sorted(entry.name.removesuffix(".toml") for entry in entries if entry.name.endswith(".toml"))


def read_config(folder: str, name: str, field: str, known: Sequence[str]) -> dict[str, Any]:
    """What is in a shipped file by name, or in one of the user's by its path, which ends in `.toml`.

    Args:
        field: what errors call it. known: the names that may be asked for.

    Raises:
        InputError: unknown name, or no readable TOML file.
    """
    if name.endswith(".toml"):
        try:
            text = Path(name).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(field, name, f"a readable TOML file ({error})") from error
    elif name in known:
        text = (resources.files("configs") / folder / f"{name}.toml").read_text(encoding="utf-8")
    else:
        raise InputError(field, name, f"one of {', '.join(known)}, or a file NAME.toml")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(field, name, f"a TOML file ({error})") from error
