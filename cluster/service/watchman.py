"""What the farm is doing, as far as the API can know: also while Redis is away."""

from __future__ import annotations

import logging

from pydantic import ValidationError

from cluster.farm.status import FarmStatus
from cluster.ledger import Ledger
from engine.errors import InfrastructureError

log = logging.getLogger(__name__)

SILENCE = "no coordinator has spoken for a minute: it is being started, or away (see logs/coordinator.log of the head)"


class Watchman:
    """Remembers what the coordinator said last."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._last: FarmStatus | None = None

    def look(self) -> FarmStatus | None:
        """The coordinator's word of the last minute; None without one, or when it is of a version with other fields.

        Raises:
            InfrastructureError: Redis is away.
        """
        stored = self._ledger.get_status()
        try:
            found = None if stored is None else FarmStatus.model_validate_json(stored)
        except ValidationError:
            return None
        self._last = found or self._last
        return found

    def say(self) -> FarmStatus | None:
        """The same; while Redis can't be read or written, what was known before it, with the reason.

        Raises:
            InfrastructureError: it is away and nothing is known.
        """
        try:
            found = self.look()
            self._ledger.probe()
        except InfrastructureError as error:
            if self._last is None:
                raise
            return self._last.model_copy(update={"ledger_problem": str(error)})
        return found
