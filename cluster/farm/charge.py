"""Being in charge: one coordinator holds the lease, and stays patient while the ledger is away."""

from __future__ import annotations

import logging
import random

from cluster.ledger import Ledger
from cluster.pauses import doubled
from engine.errors import InfrastructureError

log = logging.getLogger(__name__)

DUTY = "coordinator"
LEASE_SECONDS = 15.0
_FIRST_PAUSE, _LONGEST_PAUSE = 0.25, 15.0


class Charge:
    """The lease of one coordinator. Times are those of a clock that never jumps."""

    def __init__(self, ledger: Ledger, owner: str, seconds: float = LEASE_SECONDS) -> None:
        self._ledger, self._owner, self._seconds = ledger, owner, seconds
        self._renewed = -1e9
        self.held = False

    def keep(self, now: float) -> bool:
        """Take or renew the lease where it is time to; returns whether we have it."""
        if not self.held or now - self._renewed >= self._seconds / 4:
            self.held = self._ledger.lease(DUTY, self._owner, self._seconds)
            self._renewed = now
        return self.held

    def give_back(self) -> None:
        """On the way out: so that another need not wait."""
        if self.held:
            self.held = False
            try:
                self._ledger.release(DUTY, self._owner)
            except InfrastructureError as error:
                log.warning("the lease could not be given back: %s", error)


class Patience:
    """Pauses between tries while the ledger is away: growing, and jittered so that not all come back at once."""

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed)
        self._since: float | None = None
        self._pauses = 0
        self._again_at = -1e9
        self.failures = 0
        self.seconds_away = 0.0

    def may_try(self, now: float) -> bool:
        """Whether the pause is over."""
        return now >= self._again_at

    def failed(self, now: float, error: InfrastructureError) -> None:
        """A try failed."""
        if self._since is None:
            self._since = now
            log.warning("the ledger is away: %s", error)
        pause = doubled(_FIRST_PAUSE, self._pauses, _LONGEST_PAUSE)
        self._pauses += 1
        self._again_at = now + pause * (0.5 + 0.5 * self._random.random())
        self.failures += 1

    def succeeded(self, now: float) -> None:
        """A try worked."""
        if self._since is not None:
            log.warning("the ledger is back after %.1f s", now - self._since)
            self.seconds_away += now - self._since
        self._since, self._pauses = None, 0
