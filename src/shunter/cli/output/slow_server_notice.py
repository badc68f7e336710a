"""Says once when a cluster lets a command wait for an answer: a lost connection looks like work otherwise."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING

from shunter.cli.output.console import say
from shunter.kube.transport import InnerTransport

if TYPE_CHECKING:
    from shunter.kube.transport import Response, Transport

SECONDS = 3.0


class SlowServerNotice(InnerTransport):
    """A transport that says so when an answer takes longer than SECONDS; not of streams, as a watch may be silent for long."""

    def __init__(self, inner: Transport, server: str) -> None:
        super().__init__(inner)
        self._server = server
        self._told = False

    async def request(
        self, method: str, path: str, *, params: Mapping[str, str] = {}, headers: Mapping[str, str] = {}, body: bytes = b""
    ) -> Response:
        """The answer of the transport inside, whenever it comes: the notice does not end the wait."""
        timer = asyncio.get_running_loop().call_later(SECONDS, self._tell)
        try:
            return await self._inner.request(method, path, params=params, headers=headers, body=body)
        finally:
            timer.cancel()

    def _tell(self) -> None:
        if not self._told:
            self._told = True
            say(f"no answer yet from {self._server}; waiting")
