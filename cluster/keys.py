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
    STREAM = "stream"
    LIST = "list"
    SET = "set"


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
    "archive, book, coordinator",
    "sealed values of one position of an archive, or entry of a book, by the content key of its question",
)
JOB = KeyFamily(PREFIX + "job:{name}", KeyType.HASH, None, "client, coordinator", "the fields of one JobRecord as text")
JOB_INDEX = KeyFamily(PREFIX + "jobs", KeyType.SORTED_SET, None, "client", "job ids by time of creation")

QUESTION = KeyFamily(
    PREFIX + "question:{name}", KeyType.HASH, CACHE_TTL, "API", "by content key: id of its latest job, number of jobs"
)
OPEN = KeyFamily(PREFIX + "open", KeyType.SORTED_SET, None, "API, coordinator", "ids of jobs not yet final, by order")
ORDER = KeyFamily(PREFIX + "order", KeyType.STRING, None, "API", "number of the last submission")
EVENTS = KeyFamily(
    PREFIX + "events:{name}", KeyType.STREAM, CACHE_TTL, "API, coordinator", "events of one job, by their number"
)
FEED = KeyFamily(PREFIX + "feed", KeyType.STREAM, None, "API, coordinator", "the latest events of all jobs")
LEASE = KeyFamily(PREFIX + "lease:{name}", KeyType.STRING, 15, "coordinator", "who does a duty that only one may do")
STATUS = KeyFamily(PREFIX + "status", KeyType.STRING, 60, "coordinator", "what the farm does now, as JSON")
ASKERS = KeyFamily(PREFIX + "askers:{name}", KeyType.SET, CACHE_TTL, "API", "clients that want the answer of one job")
PROBE = KeyFamily(PREFIX + "probe", KeyType.STRING, 60, "API", "nothing: written to see whether writing is possible")
BATCH = KeyFamily(PREFIX + "batch:{name}", KeyType.LIST, CACHE_TTL, "API", "job ids of one batch, in its order")

TABLE = (
    RESULT,
    SERIES,
    VALUES,
    JOB,
    JOB_INDEX,
    QUESTION,
    OPEN,
    ORDER,
    EVENTS,
    FEED,
    LEASE,
    STATUS,
    ASKERS,
    PROBE,
    BATCH,
)
