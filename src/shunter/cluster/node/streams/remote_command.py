"""exec and attach as kubelet serves them, for every protocol: the streams, and the status at the end of a command.

Source: kubelet 1.36 and its k8s.io/cri-streaming (`remotecommand`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from shunter.api.meta import Json


class StreamRefusedError(Exception):
    """A request that leads to no streams. `status` is the HTTP status, the message kubelet's."""

    def __init__(self, status: int, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.headers = headers or {}


class CommandOptions(NamedTuple):
    """Which of a command's streams the client wants."""

    stdin: bool
    stdout: bool
    stderr: bool
    tty: bool

    @property
    def streams(self) -> list[str]:
        """The names of the requested streams: stdin, stdout, stderr, in this order."""
        return [name for name in ("stdin", "stdout", "stderr") if getattr(self, name)]


class Size(NamedTuple):
    """A terminal's size in characters."""

    width: int
    height: int


class CommandClient(Protocol):
    """The client of a command, once it was started."""

    async def start(self) -> None:
        """Returns when the client is ready. Raises TimeoutError or ConnectionError."""

    async def stop(self) -> None:
        """Hangs up."""

    async def read_input(self) -> bytes:
        """What the client typed; empty once it types no more, or is gone."""

    def ignore_input(self) -> None:
        """Drops further input."""

    async def write_output(self, stream: str, data: bytes) -> None:
        """Sends output of `stdout` or `stderr`. Raises ConnectionError when the client is gone."""

    async def next_size(self) -> Size | None:
        """The next size of the client's terminal; None when there will be none."""

    async def wait_disconnected(self) -> None:
        """Returns when the client is gone."""

    async def finish(self, status: Json) -> None:
        """Says how it ended. Raises ConnectionError when the client is gone."""


def command_options(query: Mapping[str, str]) -> CommandOptions:
    """The options of a request to the node. Raises StreamRefusedError (400) when no stream is wanted."""
    tty = query.get("tty") == "1"
    options = CommandOptions(
        stdin=query.get("input") == "1",
        stdout=query.get("output") == "1",
        # A terminal has one output only.
        stderr=query.get("error") == "1" and not tty,
        tty=tty,
    )
    if not options.streams:
        raise StreamRefusedError(400, "you must specify at least 1 of stdin, stdout, stderr")
    return options


SUCCESS: Json = {"metadata": {}, "status": "Success"}


def exit_status(argv: Sequence[str], code: int) -> Json:
    """How a command ended, as clients read it."""
    if code == 0:
        return SUCCESS
    return {
        "metadata": {},
        "status": "Failure",
        "message": f"command terminated with non-zero exit code: error executing command [{' '.join(argv)}], exit code {code}",
        "reason": "NonZeroExitCode",
        "details": {"causes": [{"reason": "ExitCode", "message": str(code)}]},
    }


def internal_error(message: str) -> Json:
    """The status of a command that failed to run to its end."""
    return {
        "metadata": {},
        "status": "Failure",
        "message": f"Internal error occurred: {message}",
        "reason": "InternalError",
        "details": {"causes": [{"message": message}]},
        "code": 500,
    }


class SizeReader:
    """Terminal sizes from a stream of JSON objects. Values that are none are passed over; what makes no sense ends it."""

    _MAX_BYTES = 1024

    def __init__(self) -> None:
        self._text = ""
        self._decoder = json.JSONDecoder()

    def feed(self, data: bytes) -> list[Size]:
        """The sizes that are complete with these bytes, oldest first. Raises ValueError for what is no JSON."""
        text = (self._text + data.decode()).lstrip()
        sizes = []
        while text:
            try:
                value, end = self._decoder.raw_decode(text)
            except json.JSONDecodeError:
                if len(text) > self._MAX_BYTES or text[0] != "{":
                    raise
                break
            except RecursionError as error:
                raise ValueError("JSON that is too deep") from error
            text = text[end:].lstrip()
            if size := _size(value):
                sizes.append(size)
        self._text = text
        return sizes


def _size(value: object) -> Size | None:
    if not isinstance(value, dict):
        return None
    width, height = value.get("Width"), value.get("Height")
    if type(width) is not int or type(height) is not int or not (0 <= width < 65536 and 0 <= height < 65536):
        return None
    return Size(width, height)
