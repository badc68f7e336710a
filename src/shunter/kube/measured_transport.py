"""Transports around a transport: one that keeps to a rate, and one that counts.

client-go limits itself to 5 requests a second by default, as API servers once had no fairness of their own. They have now (429
with Retry-After, which is honoured), so nothing is limited here by default.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing

from shunter.api.resources import LEASES
from shunter.kube.errors import ApiError
from shunter.kube.transport import InnerTransport, Response, Transport

Count = Callable[[str, str], None]
"""Counts one request by method and code; the code of one that got no answer is `<error>`, as in client-go."""


class Rate:
    """`qps` requests a second, after a pause up to `burst` at once."""

    def __init__(self, *, qps: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._interval = 1.0 / qps
        self._allowance = max(burst, 1) * self._interval
        self._clock = clock
        self._next_at = clock()
        """When the next request may go if none had been saved up."""

    def reserve(self) -> float:
        """Seconds until the request may go for which this asks."""
        now = self._clock()
        self._next_at = max(self._next_at, now - self._allowance) + self._interval
        return max(self._next_at - now, 0.0)


class LimitedTransport(InnerTransport):
    """Keeps requests to a rate, together with other transports of the same; watches count as one. Waits, never refuses.

    Leases go at once: a leader that had to queue behind its own writes would lose its lease.
    """

    def __init__(
        self, inner: Transport, rate: Rate, *, waited: Callable[[str, float], None] = lambda method, seconds: None
    ) -> None:
        """`waited` hears of every request how long, in seconds, it had to wait."""
        super().__init__(inner)
        self._rate = rate
        self._waited = waited

    async def request(
        self, method: str, path: str, *, params: Mapping[str, str] = {}, headers: Mapping[str, str] = {}, body: bytes = b""
    ) -> Response:
        """Passed on when its turn has come; for a lease at once."""
        if LEASES.plural not in path.split("/"):
            await self._turn(method)
        return await self._inner.request(method, path, params=params, headers=headers, body=body)

    async def stream(
        self, method: str, path: str, *, params: Mapping[str, str] = {}, headers: Mapping[str, str] = {}
    ) -> AsyncGenerator[bytes]:
        """Passed on when its turn has come, however many chunks follow."""
        await self._turn(method)
        async with aclosing(self._inner.stream(method, path, params=params, headers=headers)) as chunks:
            async for chunk in chunks:
                yield chunk

    async def _turn(self, method: str) -> None:
        seconds = self._rate.reserve()
        self._waited(method, seconds)
        if seconds:
            await asyncio.sleep(seconds)


class CountingTransport(InnerTransport):
    """Tells `count` how every request ended, streams when their answer begins."""

    def __init__(self, inner: Transport, count: Count) -> None:
        super().__init__(inner)
        self._count = count

    async def request(
        self, method: str, path: str, *, params: Mapping[str, str] = {}, headers: Mapping[str, str] = {}, body: bytes = b""
    ) -> Response:
        """Passed on; counted by the status of its answer, or by the code of the ApiError."""
        try:
            response = await self._inner.request(method, path, params=params, headers=headers, body=body)
        except ApiError as error:
            self._count(method, _code(error))
            raise
        self._count(method, str(response.status))
        return response

    async def stream(
        self, method: str, path: str, *, params: Mapping[str, str] = {}, headers: Mapping[str, str] = {}
    ) -> AsyncGenerator[bytes]:
        """Passed on; counted once, as 200 with its first chunk, or by the ApiError that comes before. Without either it is not
        counted."""
        has_begun = False
        try:
            async with aclosing(self._inner.stream(method, path, params=params, headers=headers)) as chunks:
                async for chunk in chunks:
                    if not has_begun:
                        has_begun = True
                        self._count(method, "200")
                    yield chunk
        except ApiError as error:
            if not has_begun:
                self._count(method, _code(error))
            raise


def _code(error: ApiError) -> str:
    return str(error.code) if error.code else "<error>"
