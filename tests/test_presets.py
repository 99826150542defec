"""Rollout presets: names people know, settings that a rollout can take, options that win."""

from __future__ import annotations

from pathlib import Path

import pytest

from cluster.presets import known_presets, load_preset
from cluster.schemas import RolloutRequest
from engine.errors import InputError


@pytest.mark.parametrize("name", known_presets())
def test_every_shipped_preset_fits_a_rollout_and_says_what_it_is(name: str) -> None:
    preset = load_preset(name)
    request = RolloutRequest(position="any", **preset.settings())
    assert request.trials % 36 == 0, "whole sets of first rolls"
    assert preset.summary


@pytest.mark.parametrize(("level", "counts"), [(1, (648, 1296, 2592, 5184, 10368)), (2, (648, 1296, 2592))])
def test_a_preset_by_levels_and_trials_is_what_its_name_says(level: int, counts: tuple[int, ...]) -> None:
    for count in counts:
        settings = load_preset(f"{level}-level-{count}").settings()
        assert settings == {"level": level, "trials": count}


def test_a_file_of_the_user_is_a_preset_too(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('summary = "mine"\ntrials = 72\nrace = true\n')
    assert load_preset(str(path)).settings() == {"trials": 72, "race": True}


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("trials = 36", "summary"),
        ('summary = "x"\ntrails = 36', "trails"),
        ('summary = "x"\ntrials = 0', "trials"),
        ('summary = "x"\nstop_confidence = 2.0', "stop_confidence"),
        ("summary = ", "TOML"),
    ],
)
def test_a_preset_that_no_rollout_can_take_is_refused_by_name(tmp_path: Path, text: str, named: str) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=named):
        load_preset(str(path))
    with pytest.raises(InputError, match="quick"):
        load_preset("unknown")
