"""What is sent to a worker and what comes back."""

from __future__ import annotations

from dataclasses import dataclass

from engine.rollout import Candidate, RolloutSettings, TrialRows


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
