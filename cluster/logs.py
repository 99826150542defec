"""Structured logs of the farm's processes: one JSON object a line on stderr, with the ids of job and worker."""

from __future__ import annotations

import json
import logging
import sys
import time
from typing import Any

_FIELDS = ("job", "worker", "block")


class JsonLines(logging.Formatter):
    """One object a line. URLs with passwords never get here: messages are made with `without_password`."""

    def format(self, record: logging.LogRecord) -> str:
        """See `logging.Formatter`."""
        found: dict[str, Any] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{record.msecs:03.0f}Z",
            "level": record.levelname.lower(),
            "module": record.name,
            "message": record.getMessage(),
        }
        found |= {name: getattr(record, name) for name in _FIELDS if hasattr(record, name)}
        if record.exc_info:
            found["trace"] = self.formatException(record.exc_info)
        return json.dumps(found)


def start_logging(level: int = logging.INFO) -> None:
    """Log what gammonfarm says from `level` on, and warnings of others."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    for room in ("cluster", "workers", "training", "engine"):
        logging.getLogger(room).setLevel(level)
