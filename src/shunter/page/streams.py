"""A streamed response to one client, which may be slow, or disconnect."""

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
"""A stream whose client reads nothing for so long is aborted."""
_LEVEL, _WINDOW, _MEMORY = 4, 16 + 13, 5
"""Settings of gzip that use 48 KiB per stream instead of 256."""


class EventStream:
    """Starts the response when it is created. All methods raise ConnectionResetError if the client has disconnected."""

    def __init__(self, request: Request, headers: Headers, *, content_type: str = EVENT_STREAM, packs: bool = False) -> None:
        """`packs`: use gzip if the client accepts it. It saves time on networks, and costs time on one machine."""
        self._packer = None
        if packs and "gzip" in request.headers.get("accept-encoding", ""):
            self._packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, _WINDOW, _MEMORY)
            headers = (*headers, ("Content-Encoding", "gzip"))
        self._stream = request.stream(content_type=content_type, headers=headers)

    async def write(self, piece: bytes) -> None:
        """Returns once the client can take more; aborts the stream after `STUCK_SECONDS`."""
        if self._packer is not None and piece:
            piece = self._packer.compress(piece) + self._packer.flush(zlib.Z_SYNC_FLUSH)
        try:
            async with asyncio.timeout(STUCK_SECONDS):
                await self._stream.write(piece)
        except TimeoutError:
            self._stream.abort()
            raise ConnectionResetError("the client does not read") from None

    async def end(self) -> None:
        """Completes the response."""
        if self._packer is not None:
            await self._stream.write(self._packer.flush(zlib.Z_FINISH))
        await self._stream.end()

    @contextmanager
    def cut_on_error(self) -> Iterator[None]:
        """Aborts the connection if the block raises, so that the client notices that the response is incomplete."""
        try:
            yield
        except (ConnectionResetError, asyncio.CancelledError):
            raise
        except Exception as error:
            log.warning("a stream of the page ends early: %s", error)
            self._stream.abort()
            raise ConnectionResetError("the response is incomplete") from error
