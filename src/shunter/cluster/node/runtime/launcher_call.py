"""A pending call to the launcher: it returns descriptors at once, and an answer at the end."""

from __future__ import annotations

import asyncio
import json
import os
import socket
from typing import Any

from shunter.errors import EnvironmentProblem

_MAX_DESCRIPTORS = 4


class LauncherError(EnvironmentProblem):
    """The launcher could not fulfil a request; the message is the kernel's."""

    errno = 0
    """The kernel's number of the error, where it has one."""


class LauncherCall:
    """One call. Raises LauncherError, from `receive` or `result`, when it could not."""

    def __init__(self, channel: socket.socket, descriptors: list[int], data: bytes) -> None:
        self._channel = channel
        self._data = data
        self.descriptors = descriptors
        """The code that takes them from this list closes them."""

    @classmethod
    async def receive(cls, channel: socket.socket) -> LauncherCall:
        """Waits for the descriptors; the channel is closed when none come."""
        try:
            data, descriptors = await _receive(channel)
            if not descriptors:
                _reply(data + await _rest(channel))
                raise LauncherError("the launcher sent no descriptors")
        except BaseException:
            channel.close()
            raise
        return cls(channel, descriptors, data)

    async def result(self) -> Any:
        """The answer at the end."""
        return _reply(self._data + await _rest(self._channel))

    def close(self) -> None:
        """Gives up waiting for the answer."""
        self._channel.close()
        for descriptor in self.descriptors:
            os.close(descriptor)
        self.descriptors.clear()


async def _rest(channel: socket.socket) -> bytes:
    data = b""
    while chunk := (await _receive(channel))[0]:
        data += chunk
    return data


async def _receive(channel: socket.socket) -> tuple[bytes, list[int]]:
    loop = asyncio.get_running_loop()
    while True:
        try:
            data, descriptors, _, _ = socket.recv_fds(channel, 65536, _MAX_DESCRIPTORS)
        except BlockingIOError:
            readable = asyncio.Event()
            loop.add_reader(channel, readable.set)
            try:
                await readable.wait()
            finally:
                loop.remove_reader(channel)
            continue
        except ConnectionResetError:
            return b"", []
        for descriptor in descriptors:
            os.set_inheritable(descriptor, False)
        return data, list(descriptors)


def _reply(data: bytes) -> Any:
    if not data.strip():
        raise LauncherError("the launcher was killed in the middle of it")
    reply = json.loads(data)
    if "error" in reply:
        raise LauncherError(reply["error"])
    return reply.get("result")
