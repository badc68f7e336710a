"""The log of one container, read once or followed to its end across lost connections."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Any, NamedTuple

from shunter.api.meta import Json
from shunter.kube.client import Client
from shunter.kube.errors import PASSING, BadRequest, NotFound
from shunter.kube.pods.log_lines import text_lines
from shunter.kube.pods.log_times import split_time, time_key

RETRY_SECONDS = 0.3


class LogPart(NamedTuple):
    """Which part of a log is meant: the options of a log request."""

    previous: bool = False
    timestamps: bool = False
    tail_lines: int | None = None
    since_seconds: int | None = None

    def begin(self) -> dict[str, Any]:
        """Where a reader begins that has read nothing yet."""
        return {"tail_lines": self.tail_lines, "since_seconds": self.since_seconds}

    def later(self) -> LogPart:
        """The part for a container that starts after the request: everything it writes is new."""
        return LogPart(timestamps=self.timestamps)


WHOLE = LogPart()


class LogPosition:
    """How far a log with times was read, so that what comes once more after `read_again` is known. The last line is known by its
    time, and among lines of that time, the first of which a tail may have left out, by the texts of those that were read."""

    def __init__(self) -> None:
        self.time = ""
        """The time of the last line, as written; empty if none was read."""
        self._texts: list[str] = []
        """Of the lines of that time."""
        self.read_again()

    def read_again(self) -> None:
        """The log is about to be read from `time` on."""
        self._known, self._read, self._again = time_key(self.time), [*self._texts], list[str]()

    def is_new(self, line: str) -> bool:
        """Takes the next line; whether it was not read before. One without a time always is."""
        time, _, text = line.partition(" ")
        key = time_key(time)
        if key is None:
            return True
        if self._known is not None and key < self._known:
            return False
        if self._known is not None and key == self._known and not self._is_read_again():
            self._again.append(text)
            return False
        if time == self.time:
            self._texts.append(text)  # in place: lines that are written together can have one time by the thousand
        else:
            self._texts = [text]
        self.time = time
        return True

    def _is_read_again(self) -> bool:
        """Whether the lines of that time that were read have come once more."""
        return len(self._again) >= len(self._read) and self._again[-len(self._read) :] == self._read


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
    """Lines until the container has ended, at most `longest` bytes of each; none when it is gone. After a lost connection it
    goes on with the line after the last one."""
    position = LogPosition()
    while True:
        try:
            async with aclosing(_read_on(client, pod, container, part, position, longest, follow=True)) as lines:
                async for line in lines:
                    yield line if part.timestamps else split_time(line)[1]
            return
        except (NotFound, BadRequest):
            return
        except PASSING:
            await asyncio.sleep(RETRY_SECONDS)


def new_lines(
    client: Client, pod: Json, container: str, part: LogPart, position: LogPosition, longest: int | None = None
) -> AsyncGenerator[str]:
    """The lines that are there now and were not at the last call with this position, with their times, at most `longest` bytes of
    each; those of `part` at the first."""
    return _read_on(client, pod, container, part, position, longest, follow=False)


async def _read_on(
    client: Client, pod: Json, container: str, part: LogPart, position: LogPosition, longest: int | None, *, follow: bool
) -> AsyncGenerator[str]:
    """The lines after the position, which moves on with them, with their times."""
    metadata = pod["metadata"]
    begin = {"since_time": position.time} if position.time else part.begin()
    position.read_again()
    chunks = client.logs(metadata["name"], metadata["namespace"], container=container, follow=follow, timestamps=True, **begin)
    async with aclosing(chunks):
        async for line in text_lines(chunks, longest):
            if position.is_new(line):
                yield line
