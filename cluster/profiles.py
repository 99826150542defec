"""Profiles of farms: settings and options of `serve` and `worker` in a file, `configs/cluster/NAME.toml` or one's own.

What the environment and the command line say wins. `{home}` in a value is the data folder. A profile holds no secret:
it names the files that do.
"""

from __future__ import annotations

import os
import re
from collections.abc import MutableMapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from engine.config_files import config_names, read_config
from engine.errors import InputError
from engine.home import data_home

_FOLDER, _FIELD = "cluster", "profile"
_VARIABLE = re.compile(r"GAMMONFARM_[A-Z_]+|RAY_AUTH_MODE|RAY_AUTH_TOKEN_PATH")
_SECRETS = {"GAMMONFARM_TOKEN", "GAMMONFARM_TOKENS"}
_TYPES: dict[str, type] = {"host": str, "port": int, "workers": int, "ray_port": int, "node_address": str}


class ProfilePart(StrEnum):
    """Of which command the options are."""

    SERVE = "serve"
    WORKER = "worker"


_OPTIONS = {ProfilePart.SERVE: set(_TYPES), ProfilePart.WORKER: {"workers", "node_address"}}


@dataclass(frozen=True)
class Profile:
    """A profile as it was read."""

    environment: dict[str, str] = field(default_factory=dict)
    options: dict[ProfilePart, dict[str, Any]] = field(default_factory=dict)

    def apply(self, environment: MutableMapping[str, str] = os.environ) -> None:
        """Set the variables that are not set."""
        for name, value in self.environment.items():
            environment.setdefault(name, value)


def known_profiles() -> list[str]:
    """Names of the profiles that come with gammonfarm."""
    return config_names(_FOLDER)


def load_profile(name: str) -> Profile:
    """A profile by its name, or from one's own file, whose name ends in `.toml`.

    Raises:
        InputError: unknown name, unreadable file, a variable or an option that is none, a secret.
    """
    data = read_config(_FOLDER, name, _FIELD, known_profiles())
    unknown = sorted(set(data) - {"summary", "environment", *ProfilePart})
    if unknown:
        raise InputError(_FIELD, name, f"summary, [environment], [serve] and [worker], not {unknown[0]}")
    environment = {
        variable: _variable(name, variable, value) for variable, value in _table(name, data, "environment").items()
    }
    options = {part: _table(name, data, part) for part in ProfilePart}
    for part, table in options.items():
        for option, value in table.items():
            if option not in _OPTIONS[part] or type(value) is not _TYPES[option]:
                raise InputError(_FIELD, name, f"in [{part}] {', '.join(sorted(_OPTIONS[part]))}, each of its own kind")
    return Profile(environment, options)


def _table(name: str, data: dict[str, Any], table: str) -> dict[str, Any]:
    found = data.get(table, {})
    if not isinstance(found, dict):
        raise InputError(_FIELD, name, f"[{table}] as a table")
    return found


def _variable(name: str, variable: str, value: object) -> str:
    if not _VARIABLE.fullmatch(variable) or not isinstance(value, str):
        raise InputError(_FIELD, name, f"variables of gammonfarm or of Ray's token in [environment], not {variable}")
    if variable in _SECRETS or re.search(r"://[^/@]*:[^/@]*@", value):
        raise InputError(_FIELD, name, f"no secret in {variable}: name the file that holds it")
    return value.replace("{home}", str(data_home()))
