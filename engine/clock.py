"""The optional clock of a match: a reserve per game and side, and a delay before each move in which it doesn't run.

Source: the rules digest of the project, section 1.13. A player whose reserve is used up loses that game as a single
game (`engine.scoring.resign`).
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.match import MatchState

SECONDS_A_POINT = 120
"""Reserve for each point of the match's length."""
SESSION_SECONDS = 900
DELAY_SECONDS = 12
LOW_SECONDS = 30
"""From here on a player should be warned."""


@dataclass(frozen=True, slots=True)
class Clock:
    """One side's clock in one game."""

    reserve: float
    """Seconds left; 0 = out of time."""

    @staticmethod
    def for_game(match: MatchState) -> Clock:
        """At the beginning of each game."""
        return Clock(SESSION_SECONDS if match.is_money else SECONDS_A_POINT * match.length)

    def after_move(self, seconds: float) -> Clock:
        """After a move that took so long."""
        return Clock(max(self.reserve - max(seconds - DELAY_SECONDS, 0.0), 0.0))

    @property
    def is_low(self) -> bool:
        """Half a minute or less is left."""
        return self.reserve <= LOW_SECONDS

    @property
    def out_of_time(self) -> bool:
        """The game is lost."""
        return self.reserve == 0.0
