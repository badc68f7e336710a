"""Transports for tests: one that remembers requests, and one that breaks them in the ways a network and a server do.

They wrap the real transport to a real server, so what is tested is what happens in production, at the worst moment.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import NamedTuple

import msgspec

from shunter.kube.errors import ConnectionProblem, from_answer
from shunter.kube.transport import Response, Transport

WRITES = ("POST", "PUT", "PATCH", "DELETE")


class Request(NamedTuple):
    """A request as it was sent; status is 0 when no answer came, and for streams."""

    method: str
    path: str
    params: Mapping[str, str]
    body: bytes
    status: int


class RecordingTransport:
    """Remembers every request in `requests`."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self.requests: list[Request] = []

    @property
    def writes(self) -> list[Request]:
        return [request for request in self.requests if request.method in WRITES]

    async def request(
        self, method: str, path: str, *, params: Mapping[str, str] = {}, headers: Mapping[str, str] = {}, body: bytes = b""
    ) -> Response:
        status = 0
        try:
            response = await self._inner.request(method, path, params=params, headers=headers, body=body)
            status = response.status
        finally:
            self.requests.append(Request(method, path, params, body, status))
        return response

    async def stream(
        self, method: str, path: str, *, params: Mapping[str, str] = {}, headers: Mapping[str, str] = {}
    ) -> AsyncGenerator[bytes, None]:
        self.requests.append(Request(method, path, params, b"", 0))
        async with aclosing(self._inner.stream(method, path, params=params, headers=headers)) as chunks:
            async for chunk in chunks:
                yield chunk

    async def close(self) -> None:
        await self._inner.close()


class Killed(BaseException):
    """The process is dead. Not an Exception, so that no code of ours survives it."""


class Refuse(NamedTuple):
    """The request does not reach the server; the answer is a Status."""

    code: int
    reason: str = ""
    message: str = "injected"
    retry_after: int | None = None


class Disconnect(NamedTuple):
    """The request does not reach the server; there is no answer."""


class LoseAnswer(NamedTuple):
    """The server carries the request out, but its answer gets lost."""


class CutStream(NamedTuple):
    """The connection breaks after so many chunks."""

    chunks: int = 0


class EndStream(NamedTuple):
    """The stream ends cleanly after so many chunks."""

    chunks: int = 0


class Silence(NamedTuple):
    """Nothing arrives any more after so many chunks, and the connection stays open."""

    chunks: int = 0


Fault = Refuse | Disconnect | LoseAnswer | CutStream | EndStream | Silence


@dataclass(slots=True)
class _Injection:
    fault: Fault
    method: str
    path: str
    times: int

    def matches(self, method: str, path: str) -> bool:
        return self.times > 0 and self.method in ("", method) and self.path in path


class FaultTransport:
    """Works like `inner` until told otherwise."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self._injections: list[_Injection] = []
        self._writes_left: int | None = None
        self._dying = asyncio.Lock()
        self.writes = 0
        """Writes that reached the server."""

    def inject(self, fault: Fault, *, method: str = "", path: str = "", times: int = 1) -> None:
        """Lets `fault` happen to the next `times` requests of this method whose path contains `path`."""
        self._injections.append(_Injection(fault, method, path, times))

    def heal(self) -> None:
        """Takes all faults back."""
        self._injections.clear()
        self._writes_left = None

    def kill_after(self, writes: int) -> None:
        """Once that many more writes were carried out, this process is dead: every request raises Killed."""
        self._writes_left = writes

    async def request(
        self, method: str, path: str, *, params: Mapping[str, str] = {}, headers: Mapping[str, str] = {}, body: bytes = b""
    ) -> Response:
        if self._writes_left is None or method not in WRITES:
            return await self._request(method, path, params=params, headers=headers, body=body)
        # One at a time, so that "after n writes" means the same in every run.
        async with self._dying:
            response = await self._request(method, path, params=params, headers=headers, body=body)
            if self._writes_left == 0:
                raise Killed
            return response

    async def _request(
        self, method: str, path: str, *, params: Mapping[str, str], headers: Mapping[str, str], body: bytes
    ) -> Response:
        if self._writes_left == 0:
            raise Killed
        fault = self._fault(method, path)
        match fault:
            case Refuse():
                return _refusal(fault)
            case Disconnect():
                raise ConnectionProblem(f"{method} {path}: injected: connection refused")
        if method in WRITES:
            self.writes += 1
            if self._writes_left is not None:
                self._writes_left -= 1
        response = await self._inner.request(method, path, params=params, headers=headers, body=body)
        if isinstance(fault, LoseAnswer):
            raise ConnectionProblem(f"{method} {path}: injected: connection reset")
        return response

    async def stream(
        self, method: str, path: str, *, params: Mapping[str, str] = {}, headers: Mapping[str, str] = {}
    ) -> AsyncGenerator[bytes, None]:
        if self._writes_left == 0:
            raise Killed
        fault = self._fault(method, path)
        if isinstance(fault, Refuse):
            refusal = _refusal(fault)
            raise from_answer(method, path, refusal.status, refusal.headers, refusal.body)
        if isinstance(fault, Disconnect | LoseAnswer):
            raise ConnectionProblem(f"{method} {path}: injected: connection refused")
        passed = 0
        async with aclosing(self._inner.stream(method, path, params=params, headers=headers)) as chunks:
            if fault is not None and fault.chunks == 0:
                await _break(fault, path)
                return
            async for chunk in chunks:
                yield chunk
                passed += 1
                if fault is not None and passed == fault.chunks:
                    await _break(fault, path)
                    return

    async def close(self) -> None:
        await self._inner.close()

    def _fault(self, method: str, path: str) -> Fault | None:
        injection = next((one for one in self._injections if one.matches(method, path)), None)
        if injection is None:
            return None
        injection.times -= 1
        return injection.fault


async def _break(fault: CutStream | EndStream | Silence, path: str) -> None:
    match fault:
        case CutStream():
            raise ConnectionProblem(f"{path}: injected: connection reset")
        case Silence():
            await asyncio.Event().wait()


def _refusal(fault: Refuse) -> Response:
    status = {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "code": fault.code,
        "reason": fault.reason,
        "message": fault.message,
    }
    headers = {"Retry-After": str(fault.retry_after)} if fault.retry_after is not None else {}
    return Response(fault.code, headers, msgspec.json.encode(status))
