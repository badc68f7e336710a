"""WebSockets (RFC 6455) on connections that were upgraded, at either end. Frames are made and read by `websockets`."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Mapping
from contextlib import suppress

from websockets.exceptions import InvalidState
from websockets.frames import CloseCode, Frame, Opcode
from websockets.protocol import CLIENT, OPEN, SERVER, Protocol
from websockets.utils import accept_key, generate_key

from shunter.kube.http.client import UpgradedConnection

MAX_MESSAGE_BYTES = 32 * 1024 * 1024
"""What one message may hold, as with kubelet."""
CLOSE_SECONDS = 2.0
"""For the peer to answer our close."""
_VERSION = "13"
_CHUNK = 256 * 1024
_DATA = (Opcode.BINARY, Opcode.TEXT, Opcode.CONT)
_log = logging.getLogger(f"{__name__}.protocol")
# Every end of a connection is logged at level INFO.
_log.setLevel(logging.WARNING)


class WebSocket:
    """One WebSocket. Several tasks may send, one may receive."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, protocol: str, is_client: bool = False
    ) -> None:
        self.protocol = protocol
        self._reader = reader
        self._writer = writer
        side = CLIENT if is_client else SERVER
        self._frames = Protocol(side, state=OPEN, max_size=MAX_MESSAGE_BYTES, logger=_log)
        self._messages: deque[bytes] = deque()
        self._parts: list[bytes] = []
        """Of a message that is not complete."""
        self._is_over = False
        """Nothing more comes."""

    async def receive(self) -> bytes:
        """The next message that is not empty, text as UTF-8; nothing once the peer has closed or is gone."""
        while not self._messages and not self._is_over:
            data = b""
            with suppress(ConnectionError):
                data = await self._reader.read(_CHUNK)
            if data:
                self._take(data)
            else:
                self._is_over = True
        return self._messages.popleft() if self._messages else b""

    async def send(self, data: bytes) -> None:
        """Sends a binary message; returns when the peer keeps up. Raises ConnectionError when it is gone."""
        if self._is_over or self._writer.is_closing():
            raise ConnectionResetError("the WebSocket is closed")
        try:
            self._frames.send_binary(data)
        except InvalidState as error:
            raise ConnectionResetError("the WebSocket is closed") from error
        self._write()
        await self._writer.drain()

    def hang_up(self) -> None:
        """Ends the connection once what was sent is out, without waiting for the peer."""
        self._writer.close()

    async def close(self) -> None:
        """Closes in good order: what was sent still arrives, what comes is dropped. Cuts a peer that does not answer in time."""
        try:
            with suppress(ConnectionError, TimeoutError, InvalidState):
                async with asyncio.timeout(CLOSE_SECONDS):
                    self._frames.send_close(CloseCode.NORMAL_CLOSURE)
                    self._write()
                    await self._writer.drain()
                    while await self.receive():
                        continue
        finally:
            self.hang_up()

    def _take(self, data: bytes) -> None:
        self._frames.receive_data(data)
        self._write()
        for frame in self._frames.events_received():
            if isinstance(frame, Frame) and frame.opcode in _DATA:
                self._parts.append(bytes(frame.data))
                if frame.fin:
                    message = b"".join(self._parts)
                    self._parts.clear()
                    if message:
                        self._messages.append(message)
        self._is_over = self._frames.close_rcvd is not None or self._frames.parser_exc is not None

    def _write(self) -> None:
        if not self._writer.is_closing():
            self._writer.writelines(part for part in self._frames.data_to_send() if part)


def acceptance(headers: Mapping[str, str], protocol: str) -> bytes:
    """A server's answer to a request for a WebSocket. Raises ValueError for one that is none. Header names are in lower case."""
    key = headers.get("sec-websocket-key", "")
    if not key or headers.get("sec-websocket-version") != _VERSION:
        raise ValueError(f"no Sec-WebSocket-Key, or Sec-WebSocket-Version is not {_VERSION}")
    return (
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        f"Sec-WebSocket-Accept: {accept_key(key)}\r\nSec-WebSocket-Protocol: {protocol}\r\n\r\n"
    ).encode()


class WebSocketHandshake:
    """A client's request for a WebSocket with one protocol."""

    def __init__(self, protocol: str) -> None:
        self._protocol = protocol
        self._key = generate_key()

    @property
    def headers(self) -> dict[str, str]:
        """The headers of the request."""
        return {
            "Connection": "Upgrade",
            "Upgrade": "websocket",
            "Sec-WebSocket-Version": _VERSION,
            "Sec-WebSocket-Key": self._key,
            "Sec-WebSocket-Protocol": self._protocol,
        }

    def accepted(self, upgraded: UpgradedConnection) -> WebSocket:
        """The WebSocket, once the server has answered 101. Raises ConnectionError when its answer is not about this request."""
        headers, reader, writer = upgraded
        protocol = headers.get("sec-websocket-protocol", "")
        if headers.get("sec-websocket-accept") != accept_key(self._key) or protocol != self._protocol:
            writer.close()
            raise ConnectionError(f"the server did not agree to a WebSocket with {self._protocol}")
        return WebSocket(reader, writer, protocol=protocol, is_client=True)
