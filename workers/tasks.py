"""What is sent to a worker and what comes back."""

from __future__ import annotations

from dataclasses import dataclass

from engine.rollout import Candidate, RolloutSettings, TrialRows
from engine.versus import VersusSettings


@dataclass(frozen=True)
class RolloutTask:
    """Trials `first .. first + count - 1` of some candidates, all on the same dice."""

    settings: RolloutSettings
    candidates: tuple[Candidate, ...]
    series: tuple[str, ...]
    """Content key of each candidate's trials, in the order of `candidates`."""
    first: int
    count: int

    def __repr__(self) -> str:
        last = self.first + self.count - 1
        return f"trials {self.first}-{last} of {len(self.candidates)} candidate(s), series {', '.join(self.series)}"


@dataclass(frozen=True)
class RolloutOutput:
    """Rows of each candidate, in the order of the task."""

    rows: tuple[TrialRows, ...]


@dataclass(frozen=True)
class GnubgOpponent:
    """GNU Backgammon plays B."""

    version: str
    """The one that the question is about."""


@dataclass(frozen=True)
class MatchTask:
    """Pairs `first .. first + count - 1` between A and B; its output is their `engine.versus.PairRows`."""

    settings: VersusSettings
    level_a: int
    level_b: int
    opponent: GnubgOpponent | None
    """None: the second pair of nets."""
    first: int
    count: int

    def __repr__(self) -> str:
        return f"pairs {self.first}-{self.first + self.count - 1} of a match"
