"""Every key that gammonfarm writes to Redis, in one table.

The number after the prefix is the layout version: a change of layout raises it, old keys then expire or stay unread.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

PREFIX = "gammonfarm:1:"
DAY = 24 * 60 * 60
CACHE_TTL = 90 * DAY


class KeyType(StrEnum):
    """Redis data types in use."""

    STRING = "string"
    HASH = "hash"
    SORTED_SET = "zset"


@dataclass(frozen=True)
class KeyFamily:
    """One row of the table. `ttl` is in seconds and starts anew on every use; None means kept for ever."""

    pattern: str
    type: KeyType
    ttl: int | None
    writer: str
    holds: str

    def key(self, name: str = "") -> str:
        """The full key for one name."""
        return self.pattern.replace("{name}", name)


RESULT = KeyFamily(
    PREFIX + "result:{name}",
    KeyType.STRING,
    CACHE_TTL,
    "coordinator",
    "sealed result by the content key of its question",
)
SERIES = KeyFamily(
    PREFIX + "series:{name}",
    KeyType.HASH,
    CACHE_TTL,
    "coordinator",
    "trial blocks of one candidate, or pairs of games of one match: field `first:count`, value sealed rows of int32",
)
VALUES = KeyFamily(
    PREFIX + "values:{name}",
    KeyType.STRING,
    CACHE_TTL,
    "archive",
    "sealed values of one position of an archive by the content key of its question",
)
JOB = KeyFamily(PREFIX + "job:{name}", KeyType.HASH, None, "client, coordinator", "the fields of one JobRecord as text")
JOB_INDEX = KeyFamily(PREFIX + "jobs", KeyType.SORTED_SET, None, "client", "job ids by time of creation")

TABLE = (RESULT, SERIES, VALUES, JOB, JOB_INDEX)
