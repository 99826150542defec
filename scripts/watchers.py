"""Hold many event streams of one job open, in a process of its own, and count what comes through them.

    python -m scripts.watchers http://127.0.0.1:8765 JOB 1000

Plain sockets, because a full HTTP client for each stream would cost more than the server that is measured. It writes
"open" when every stream has had an event, and a line of JSON when all have ended.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from urllib.parse import urlsplit

FINAL = {b"done", b"failed", b"cancelled"}


class Streams:
    """Streams of one job."""

    def __init__(self, host: str, port: int, job: str) -> None:
        self._host, self._port, self._job = host, port, job
        self.open = self.ended = self.events = 0

    async def follow(self) -> None:
        """One stream, up to its final event."""
        reader, writer = await asyncio.open_connection(self._host, self._port)
        request = f"GET /v1/jobs/{self._job}/events HTTP/1.1\r\nHost: {self._host}:{self._port}\r\n\r\n"
        writer.write(request.encode())
        seen = 0
        async for line in reader:
            if line.startswith(b"event: "):
                self.open += not seen
                seen += 1
                self.events += 1
                if line[7:].strip() in FINAL:
                    self.ended += 1
                    break
        writer.close()


async def run(url: str, job: str, count: int) -> None:
    """All at once, begun a few at a time."""
    parts = urlsplit(url)
    streams = Streams(parts.hostname or "127.0.0.1", parts.port or 80, job)
    tasks = []
    for _ in range(count):
        tasks.append(asyncio.create_task(streams.follow()))
        await asyncio.sleep(0.002)
    while streams.open < count:
        await asyncio.sleep(0.1)
    print("open", flush=True)
    await asyncio.gather(*tasks)
    print(json.dumps({"streams": count, "ended": streams.ended, "events": streams.events}), flush=True)


def main() -> int:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("url")
    parser.add_argument("job")
    parser.add_argument("count", type=int)
    options = parser.parse_args()
    asyncio.run(run(options.url, options.job, options.count))
    return 0


if __name__ == "__main__":
    sys.exit(main())
