"""Rollout presets: settings under a name, as data in `configs/rollout/`, or in a file of the user's."""

from __future__ import annotations

from typing import Any

from cluster.schemas import Model, RolloutRequest, parse_request
from engine.config_files import config_names, read_config

_FIELD = "preset"


class RolloutPreset(Model):
    """Settings of a rollout; what is left out stays as it is. Each is checked with the request that it goes into."""

    summary: str
    """For people."""
    level: int | None = None
    trials: int | None = None
    checkpoint: int | None = None
    truncate: int | None = None
    race: bool | None = None
    stop_se: float | None = None
    stop_confidence: float | None = None
    candidates: int | None = None
    variance_reduction: bool | None = None
    bearoff: bool | None = None
    cube: bool | None = None

    def settings(self) -> dict[str, Any]:
        """Fields of a `RolloutRequest`."""
        return self.model_dump(exclude_none=True, exclude={"summary"})


def known_presets() -> list[str]:
    """Names of the presets that come with gammonfarm."""
    return sorted(
        config_names("rollout"),
        key=lambda name: [int(part) if part.isdigit() else 0 for part in name.split("-")] + [name],
    )


def load_preset(name: str) -> RolloutPreset:
    """A shipped preset by name, or one of the user's by its path, which ends in `.toml`.

    Raises:
        InputError: unknown name, unreadable file, or a field that no preset has or no rollout can take.
    """
    data = read_config("rollout", name, _FIELD, known_presets())
    preset = parse_request(RolloutPreset, data)
    parse_request(RolloutRequest, {"position": "of the question", **preset.settings()})
    return preset
