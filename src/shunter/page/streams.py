"""An answer that comes bit by bit, to one reader, who may be slow, or gone."""

from __future__ import annotations

import asyncio
import logging
import zlib
from collections.abc import Iterator
from contextlib import contextmanager

from shunter.kube.http.request import Request
from shunter.kube.http.response import Headers

log = logging.getLogger(__name__)

EVENT_STREAM = "text/event-stream"
STUCK_SECONDS = 60.0
"""A stream whose reader takes nothing for so long is cut."""
_LEVEL, _WINDOW, _MEMORY = 4, 16 + 13, 5
"""Of gzip: 48 KiB a stream instead of 256."""


class EventStream:
    """Begins the answer when it is made. Raises ConnectionResetError, as all of its functions, when the client has gone."""

    def __init__(self, request: Request, headers: Headers, *, content_type: str = EVENT_STREAM, packs: bool = False) -> None:
        """`packs`: gzip where the client takes it; for networks, since on one machine it only costs time."""
        self._packer = None
        if packs and "gzip" in request.headers.get("accept-encoding", ""):
            self._packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, _WINDOW, _MEMORY)
            headers = (*headers, ("Content-Encoding", "gzip"))
        self._stream = request.stream(content_type=content_type, headers=headers)

    async def write(self, piece: bytes) -> None:
        """Returns when the client keeps up; one that takes nothing is cut."""
        if self._packer is not None and piece:
            piece = self._packer.compress(piece) + self._packer.flush(zlib.Z_SYNC_FLUSH)
        try:
            async with asyncio.timeout(STUCK_SECONDS):
                await self._stream.write(piece)
        except TimeoutError:
            self._stream.abort()
            raise ConnectionResetError("the client does not read") from None

    async def end(self) -> None:
        """The answer is complete."""
        if self._packer is not None:
            await self._stream.write(self._packer.flush(zlib.Z_FINISH))
        await self._stream.end()

    @contextmanager
    def cut_on_error(self) -> Iterator[None]:
        """Cuts the connection when what is to be sent cannot be had: the client sees that the answer is not whole."""
        try:
            yield
        except (ConnectionResetError, asyncio.CancelledError):
            raise
        except Exception as error:
            log.warning("a stream of the page ends early: %s", error)
            self._stream.abort()
            raise ConnectionResetError("the answer is cut") from error
