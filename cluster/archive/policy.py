"""How deep an analysis looks where, as data: `configs/analysis/NAME.toml`, or a file of the user's.

All decisions are valued at 1-ply. A second, deeper look is taken only where it can change the verdict:

- a play, if more than one is legal, and what was played is not the best at 1-ply or leads by less than `play_margin`;
- a decision before the roll, if the player doubled, or doubling and rolling differ by less than `cube_margin`;
- every answer to an offer.

A third one, a rollout, where the second leaves things close: a play that loses something but at most `rollout_close`, a
cube decision whose two sides differ by no more than that. So each verdict depends on its own decision alone, and a
play is always compared with the best at one and the same level.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from pydantic import Field

from cluster.filters import DEFAULT_FILTER, load_filter
from cluster.presets import RolloutPreset, load_preset
from cluster.schemas import Model, parse_request
from engine.config_files import config_names, read_config
from engine.search import MoveFilter, check_level

DEFAULT_POLICY = "normal"
SHALLOW_LEVEL = 1
SHOWN_PLAYS = 5
"""Candidates in the result of a play."""


class PolicyFile(Model):
    """A file as it stands. Margins are equities."""

    summary: str
    """For people."""
    level: int = Field(ge=1)
    """Of the second look; 1: there is none."""
    filter: str = DEFAULT_FILTER
    """Move filter of the second look."""
    play_margin: float = Field(ge=0.0, le=6.0)
    cube_margin: float = Field(ge=0.0, le=6.0)
    every_play: bool
    """Luck by all plays of all 21 rolls, rather than by those that the filter net likes (a third of the time)."""
    rollout_close: float = Field(ge=0.0, le=1.0)
    """0: no rollouts."""
    rollout_preset: str


@dataclass(frozen=True, slots=True)
class Policy:
    """How deep to look where."""

    name: str
    level: int
    move_filter: MoveFilter
    play_margin: float
    cube_margin: float
    every_play: bool
    rollout_close: float
    rollout: RolloutPreset

    @property
    def kept(self) -> int:
        """Plays of a roll that the second look, or the reader, may want to see."""
        return max(SHOWN_PLAYS, *(step.keep for step in self.move_filter.for_level(self.level)), 0)

    def changed(self, level: int | None, rollout_close: float | None) -> Policy:
        """With other depths, where they are given.

        Raises:
            InputError: an unknown level, or a margin that is none.
        """
        changed = self
        if level is not None:
            check_level(level)
            changed = replace(changed, level=level)
        if rollout_close is not None:
            close = parse_request(_Close, {"rollout_close": rollout_close})
            changed = replace(changed, rollout_close=close.rollout_close)
        return changed


class _Close(Model):
    rollout_close: float = Field(ge=0.0, le=1.0)


def known_policies() -> list[str]:
    """Names of the policies that come with gammonfarm."""
    return config_names("analysis")


def load_policy(name: str = DEFAULT_POLICY) -> Policy:
    """A shipped policy by name, or one of the user's by its path, which ends in `.toml`.

    Raises:
        InputError: unknown name, unreadable file, a field that is missing, unknown or out of range.
    """
    found = parse_request(PolicyFile, read_config("analysis", name, "policy", known_policies()))
    check_level(found.level)
    return Policy(
        name=name,
        level=found.level,
        move_filter=load_filter(found.filter),
        play_margin=found.play_margin,
        cube_margin=found.cube_margin,
        every_play=found.every_play,
        rollout_close=found.rollout_close,
        rollout=load_preset(found.rollout_preset),
    )
