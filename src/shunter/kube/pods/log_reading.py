"""The log of one container, read once or followed to its end across lost connections."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import NamedTuple

from shunter.api.meta import Json
from shunter.kube.client import Client
from shunter.kube.errors import BadRequest, ConnectionProblem, NotFound, ServerProblem
from shunter.kube.pods.log_lines import text_lines
from shunter.kube.pods.log_times import time_key

RETRY_SECONDS = 0.3


class LogPart(NamedTuple):
    """Which part of a log is meant: the options of a log request."""

    previous: bool = False
    timestamps: bool = False
    tail_lines: int | None = None
    since_seconds: int | None = None

    def later(self) -> LogPart:
        """The part for a container that starts after the request: everything it writes is new."""
        return LogPart(timestamps=self.timestamps)


WHOLE = LogPart()


async def log_lines(client: Client, pod: Json, container: str, part: LogPart, longest: int | None = None) -> AsyncIterator[str]:
    """The lines that are there now, at most `longest` bytes of each."""
    metadata = pod["metadata"]
    chunks = client.logs(metadata["name"], metadata["namespace"], container=container, **part._asdict())
    async with aclosing(chunks):
        async for line in text_lines(chunks, longest):
            yield line


async def followed_lines(
    client: Client, pod: Json, container: str, part: LogPart, longest: int | None = None
) -> AsyncIterator[str]:
    """Lines, at most `longest` bytes of each, until the container has ended; none when it is gone. After a lost connection it
    goes on with the line after the last one. That one is known by its time, and among lines of that time, the first of which a
    tail may have left out, by the texts of those that were read."""
    metadata = pod["metadata"]
    last = ""
    of_that_time: list[str] = []
    while True:
        begin = {"since_time": last} if last else {"tail_lines": part.tail_lines, "since_seconds": part.since_seconds}
        known, read, again = time_key(last), of_that_time, list[str]()
        try:
            chunks = client.logs(
                metadata["name"],
                metadata["namespace"],
                container=container,
                follow=True,
                timestamps=True,
                **begin,
            )
            async with aclosing(chunks):
                async for line in text_lines(chunks, longest):
                    time, _, text = line.partition(" ")
                    key = time_key(time)
                    if key is None:
                        yield line
                        continue
                    if known is not None and key < known:
                        continue
                    if known is not None and key == known and again[-len(read) :] != read:
                        again.append(text)
                        continue
                    of_that_time = [*of_that_time, text] if time == last else [text]
                    last = time
                    yield line if part.timestamps else text
            return
        except (NotFound, BadRequest):
            return
        except (ConnectionProblem, ServerProblem):
            await asyncio.sleep(RETRY_SECONDS)
