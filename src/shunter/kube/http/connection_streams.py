"""Streams on a connection after an upgrade (`101 Switching Protocols`), at either end of it."""

from __future__ import annotations

import asyncio

BUFFER_BYTES = 128 * 1024
"""Twice this may lie unread on a connection before the peer is held back."""


def connection_streams(transport: asyncio.Transport, received: bytes) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Streams on a paused transport that had another protocol so far. `received` is what came for them already."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=BUFFER_BYTES, loop=loop)
    if received:
        reader.feed_data(received)
    protocol = asyncio.StreamReaderProtocol(reader)
    transport.set_protocol(protocol)
    protocol.connection_made(transport)
    transport.resume_reading()
    return reader, asyncio.StreamWriter(transport, protocol, reader, loop)
