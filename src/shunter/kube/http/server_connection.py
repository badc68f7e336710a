"""One connection of the HTTP server: bytes in, requests to the handler one after another, answers out.

Know before changing it: one request is read at a time, and while it is answered little more than that is read ahead, so what a
connection holds is one body. Bytes are looked at once; bytes that come one by one cost no more than those that come together.
"""

from __future__ import annotations

import asyncio
import logging
import math
import socket
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple

from shunter.kube.http.chunks import ChunkedBody
from shunter.kube.http.head import CHUNKED, HEAD_LIMIT, Head, RefusedRequestError, parsed_head, refuse_if_not_http
from shunter.kube.http.limits import ConnectionUsage, Limits, Timeouts
from shunter.kube.http.request import Request
from shunter.kube.http.response import CONTINUE, Response, whole

log = logging.getLogger(__name__)

_LINE_END = b"\r\n"
_HEAD_END = b"\r\n\r\n"
READ_AHEAD = 64 * 1024
"""Bytes of a connection that may wait for an answer before it is read no further; one read may go beyond."""

Handler = Callable[[Request], Awaitable[Response | None]]
Accepts = Callable[[Request], Awaitable[Response | None]]


class Service(NamedTuple):
    """What is served, and to whom."""

    handler: Handler
    limits: Limits
    timeouts: Timeouts
    accepts: Accepts | None = None
    """Asked about a request, from its head alone, whose body has not come with it: the answer to refuse it with, and the body is
    not taken; or None. The handler decides again: a body that has come with its head is not asked about."""


class Connection(asyncio.Protocol):
    """For asyncio a protocol, for requests their `RequestConnection`, for the server's limits a `LimitedConnection`."""

    def __init__(self, service: Service, usage: ConnectionUsage[Connection]) -> None:
        self._service = service
        self._usage = usage
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._received = bytearray()
        """What has come and belongs to no request yet."""
        self._wanted = 1
        """How many bytes must have come before it is worth looking."""
        self._waiter: asyncio.Future[None] | None = None
        """Set while bytes are waited for."""
        self._drain_waiter: asyncio.Future[None] | None = None
        """Set while the client reads too slowly."""
        self._refusal: RefusedRequestError | None = None
        """Why a request is given up of which not all has come."""
        self._searched = 0
        """How much of `_received` is known to be no whole head."""
        self._is_last = False
        self._is_paused = False
        self._is_over = False
        """Nothing more comes, or is waited for."""
        self._discards_input = False
        """What comes is dropped."""
        self._is_cut_short = False
        """The client may be sending what will not be read."""
        self._is_lingering = False
        """All is answered; only what is still being sent is waited for."""
        self.deadline = math.inf
        """On the loop's clock; then the client has had its time."""
        self.held = 0
        self.waiting_since = self._loop.time()
        self.is_answering = False
        self.task: asyncio.Task[None] | None = None
        self.certificate: Mapping[str, Any] | None = None
        self.is_slow = False

    # What asyncio calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Starts the task that serves it, and the client's time for a request; where there are too many, one connection is
        cut."""
        self._transport = transport  # type: ignore[assignment]  # uvloop's is no asyncio.Transport
        self.certificate = transport.get_extra_info("peercert")
        connected = transport.get_extra_info("socket")
        if connected is not None:
            connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        self.waiting_since = self._loop.time()
        self.deadline = self.waiting_since + self._service.timeouts.head
        self.task = self._loop.create_task(self._serve())
        self._usage.add(self)

    def data_received(self, data: bytes) -> None:
        """Keeps what has come, and wakes the task when that is enough; reads no further while more than `READ_AHEAD` bytes
        wait."""
        if self._discards_input:
            return
        if not self.held:
            self.waiting_since = self._loop.time()
            self.deadline = self.waiting_since + self._service.timeouts.head
        received = self._received
        received += data
        self._usage.hold(self, len(data))
        news = self._waiter
        if news is not None:
            if len(received) >= self._wanted and not news.done():
                news.set_result(None)
        elif len(received) > READ_AHEAD and not self._is_paused and self._transport is not None:
            self._is_paused = True
            self._transport.pause_reading()

    def pause_writing(self) -> None:
        """The client reads too slowly: `drain` waits from now on."""
        self.is_slow = True

    def resume_writing(self) -> None:
        """The client has caught up: `drain` goes on."""
        self.is_slow = False
        _set(self._drain_waiter)

    def connection_lost(self, error: Exception | None) -> None:
        """Ends the task; a handler that is still answering is cancelled."""
        self._unregister()
        self._transport = None
        if self.is_answering and self.task is not None:
            self.task.cancel()
        self._is_last = self._is_over = True
        self._wake()

    # What requests call: a `RequestConnection`.

    def write(self, text: bytes) -> None:
        """Sends without waiting. Raises ConnectionResetError when the client has gone."""
        if self._transport is None:
            raise ConnectionResetError("the client has gone")
        self._transport.write(text)

    async def drain(self) -> None:
        """Waits until the client has read most of what was sent. Raises ConnectionResetError."""
        while self.is_slow and self._transport is not None:
            self._drain_waiter = self._loop.create_future()
            await self._drain_waiter
        if self._transport is None:
            raise ConnectionResetError("the client has gone")

    def close_when_answered(self) -> None:
        """Takes no further requests; ends at once when none is being answered."""
        self._is_last = True
        if not self.is_answering:
            self._is_over = True
            self._wake()

    def detach(self) -> tuple[asyncio.Transport, bytes]:
        """The connection, paused, and what has come after the request; it counts no more among the server's. Raises
        ConnectionResetError when the client has gone."""
        transport, self._transport = self._transport, None
        if transport is None:
            raise ConnectionResetError("the client has gone")
        transport.pause_reading()
        received = bytes(self._received)
        self._unregister()
        return transport, received

    # Called by the server and its `ConnectionUsage`.

    def abort(self) -> None:
        """Cuts the connection at once, and gives up its place and what it holds."""
        # It leaves before asyncio says so: until then no other connection shall be cut in its place.
        self._unregister()
        if self._transport is not None:
            self._transport.abort()

    def reject_request(self) -> None:
        """Drops what has come and is not being answered. A request that is not complete is answered 503; one that is being
        answered still gets its answer, and is the last."""
        self._discards_input = self._is_last = self._is_cut_short = True
        self._usage.release(self, len(self._received) if self.is_answering else self.held)
        self._received.clear()
        self._refusal = RefusedRequestError(503, "the server holds as many requests as it can; send this one again")
        if not self.is_answering:
            self._wake()

    def give_up(self) -> None:
        """The client has had its time: the connection is cut, or closed where that is all that is left to do."""
        if self._is_lingering and self._transport is not None and not self._transport.is_closing():
            self._close()
        else:
            self.abort()

    # The course of a connection.

    async def _serve(self) -> None:
        try:
            while not self._is_last:
                head = self._head()
                if head is not None:
                    await self._answer(head)
                elif not await self._more(len(self._received) + 1):
                    break
        except RefusedRequestError as refusal:
            self._refuse(refusal)
        except ConnectionResetError:
            log.debug("a client went away before its answer was complete")
        except Exception:
            log.exception("a connection is closed because its request could not be answered")
        finally:
            self._end()

    def _head(self) -> Head | None:
        """The head of the next request, once all of it has come. Raises RefusedRequestError."""
        received = self._received
        if not self._searched and received.startswith(_LINE_END):
            # One empty line before a request is what old clients send after a body (RFC 9112, 2.2).
            del received[: len(_LINE_END)]
            self._searched = 1
        end = received.find(_HEAD_END, max(0, self._searched - len(_HEAD_END)))
        if (end if end >= 0 else len(received)) > HEAD_LIMIT:
            raise RefusedRequestError(431, f"request line and headers have more than {HEAD_LIMIT} bytes")
        if end >= 0:
            head = parsed_head(bytes(received[:end]))
            del received[: end + len(_HEAD_END)]
            self._searched = 0
            return head
        if len(received) > self._searched:
            refuse_if_not_http(received, self._searched)
            self._searched = len(received)
        return None

    async def _answer(self, head: Head) -> None:
        service, request = self._service, Request(self, head)
        if head.is_last or head.upgrade:
            self._is_last = True
        response = None
        if head.length and not (0 < head.length <= len(self._received) and self._take(request, head.length, None)):
            response = await self._taken_body(request, head)
        if response is None:
            self.deadline = math.inf
            self.is_answering = True
            response = await service.handler(request)
        if response is not None:
            self._is_last = self._is_last or response.is_last
            self.write(whole(response, request.method, is_end=self._is_last))
        if self.is_slow:
            self.deadline = self._loop.time() + service.timeouts.answer
            await self.drain()
        if head.upgrade:
            self._is_cut_short = True
        self.is_answering = False
        left = len(self._received)
        self._usage.release(self, self.held - left)
        self.waiting_since = self._loop.time()
        self.deadline = self.waiting_since + (service.timeouts.head if left else service.timeouts.idle)
        if left:
            # Whoever sends many requests at once waits for others like everybody else.
            await asyncio.sleep(0)

    async def _taken_body(self, request: Request, head: Head) -> Response | None:
        """Takes the body and returns None; or returns the answer that says why it is not taken. Raises RefusedRequestError,
        ConnectionResetError."""
        service, length = self._service, head.length
        chunks = ChunkedBody(service.limits.body) if length == CHUNKED else None
        if self._take(request, length, chunks):
            return None
        if length > service.limits.body:
            request.is_too_large = self._is_last = self._is_cut_short = True
            return None
        if service.accepts is not None:
            self.deadline = math.inf
            self.is_answering = True
            refusal = await service.accepts(request)
            if refusal is not None:
                self._is_last = self._is_cut_short = True
                return refusal
            self.is_answering = False
        self.deadline = self._loop.time() + service.timeouts.body
        if head.expects_continue and not self._received:
            self.write(CONTINUE)
        while not self._take(request, length, chunks):
            if not await self._more(len(self._received) + 1 if chunks else length):
                raise ConnectionResetError("the connection ends before the request does")
        return None

    def _take(self, request: Request, length: int, chunks: ChunkedBody | None) -> bool:
        """Whether what has come is the whole body, or too much of it; it is in the request then. Raises RefusedRequestError."""
        received = self._received
        if chunks is not None:
            is_complete = chunks.take(received)
            if is_complete:
                request.body = chunks.content
            elif chunks.is_too_large:
                request.is_too_large = self._is_last = self._is_cut_short = True
            return is_complete or chunks.is_too_large
        if len(received) < length:
            return False
        if length <= self._service.limits.body:
            request.body = bytes(received[:length])
        else:
            request.is_too_large = True
        del received[:length]
        return True

    async def _more(self, wanted: int) -> bool:
        """Waits until so many bytes have come; False when they will not. Raises RefusedRequestError."""
        if self._is_paused and self._transport is not None:
            self._is_paused = False
            self._transport.resume_reading()
        if not self._is_over and self._refusal is None:
            self._wanted = wanted
            self._waiter = self._loop.create_future()
            await self._waiter
            self._waiter = None
        if self._refusal is not None:
            raise self._refusal
        return len(self._received) >= wanted

    def _wake(self) -> None:
        _set(self._waiter)

    # Its end.

    def _refuse(self, refusal: RefusedRequestError) -> None:
        """Answers what is no request, or none that can be served."""
        headers = (("Retry-After", "1"),) if refusal.status == 503 else ()
        response = Response(f"{refusal.why}\n".encode(), status=refusal.status, headers=headers)
        self._is_cut_short = True
        if self._transport is not None:
            self._transport.write(whole(response, "", is_end=True))

    def _end(self) -> None:
        is_cut_short = self._is_cut_short or bool(self._received)
        self._discards_input = True
        self.is_answering = False
        self._received.clear()
        self._usage.release(self, self.held)
        transport = self._transport
        if transport is None:
            return
        if not is_cut_short or transport.is_closing():
            self._close()
            return
        # Whoever closes while the client still sends resets the connection, and the client may never see the answer.
        self._is_lingering = True
        self.deadline = self._loop.time() + self._service.timeouts.linger
        if transport.can_write_eof():
            transport.write_eof()
        if self._is_paused:
            self._is_paused = False
            transport.resume_reading()

    def _close(self) -> None:
        if self._transport is not None:
            self.deadline = self._loop.time() + self._service.timeouts.answer
            self._transport.close()

    def _unregister(self) -> None:
        self._usage.remove(self)
        self._discards_input = True
        self._received.clear()


def _set(waiter: asyncio.Future[None] | None) -> None:
    if waiter is not None and not waiter.done():
        waiter.set_result(None)
