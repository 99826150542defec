"""Structured logs of the farm's processes: one JSON object a line, with the ids of job, block and worker.

They go to stderr; those of the coordinator, whose stderr is Ray's, to `logs/coordinator.log` of the data folder.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import time
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any

from engine.errors import InputError

LEVEL_VARIABLE = "GAMMONFARM_LOG_LEVEL"
_LEVELS = ("debug", "info", "warning", "error")
_FIELDS = ("job", "worker", "block")
_FILE_BYTES = 10_000_000


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


def start_logging(file: Path | None = None) -> None:
    """Log what gammonfarm says from GAMMONFARM_LOG_LEVEL on (debug: every block), and warnings of others.

    Args:
        file: instead of stderr; ten megabytes, and as many again of what was before.

    Raises:
        InputError: no such level.
    """
    level = os.environ.get(LEVEL_VARIABLE, "").lower() or "info"
    if level not in _LEVELS:
        raise InputError(LEVEL_VARIABLE, level, f"one of {', '.join(_LEVELS)}")
    handler: logging.Handler = logging.StreamHandler(sys.stderr)
    if file is not None:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handler = RotatingFileHandler(file, maxBytes=_FILE_BYTES, backupCount=1, encoding="utf-8")
    handler.setFormatter(JsonLines())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    for room in ("cluster", "workers", "training", "engine"):
        logging.getLogger(room).setLevel(level.upper())
