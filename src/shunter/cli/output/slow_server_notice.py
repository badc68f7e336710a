"""Prints a notice, once, if a cluster responds slowly: otherwise a lost connection would look like work."""

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
    """A transport that prints a notice if a response takes longer than SECONDS. Not for streams, as a watch may be silent."""

    def __init__(self, inner: Transport, server: str) -> None:
        super().__init__(inner)
        self._server = server
        self._is_shown = False

    async def request(
        self, method: str, path: str, *, params: Mapping[str, str] = {}, headers: Mapping[str, str] = {}, body: bytes = b""
    ) -> Response:
        """The response of the inner transport, however long it takes."""
        timer = asyncio.get_running_loop().call_later(SECONDS, self._show)
        try:
            return await self._inner.request(method, path, params=params, headers=headers, body=body)
        finally:
            timer.cancel()

    def _show(self) -> None:
        if not self._is_shown:
            self._is_shown = True
            say(f"no answer yet from {self._server}; waiting")
