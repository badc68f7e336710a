"""Transports for tests: one that remembers requests, and one that breaks them in the ways a network and a server do.

They wrap the real transport to a real server, so what is tested is what happens in production, at the worst moment.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import NamedTuple

import msgspec

from shunter.kube.cache.watch_events import lines as split
from shunter.kube.errors import ConnectionProblem, from_answer
from shunter.kube.transport import InnerTransport, Response, Transport

WRITES = ("POST", "PUT", "PATCH", "DELETE")


class Request(NamedTuple):
    """A request as it was sent; status is 0 when no answer came, and for streams."""

    method: str
    path: str
    params: Mapping[str, str]
    body: bytes
    status: int


class RecordingTransport(InnerTransport):
    """Remembers every request in `requests`."""

    def __init__(self, inner: Transport) -> None:
        super().__init__(inner)
        self.requests: list[Request] = []

    @property
    def writes(self) -> list[Request]:
        """The POST, PUT, PATCH and DELETE among `requests`, in that order."""
        return [request for request in self.requests if request.method in WRITES]

    async def request(
        self, method: str, path: str, *, params: Mapping[str, str] = {}, headers: Mapping[str, str] = {}, body: bytes = b""
    ) -> Response:
        """Passed on; remembered when its answer is there, or with status 0 when there is none."""
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
        """Passed on; remembered when it is begun, with status 0."""
        self.requests.append(Request(method, path, params, b"", 0))
        async with aclosing(self._inner.stream(method, path, params=params, headers=headers)) as chunks:
            async for chunk in chunks:
                yield chunk


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


class Delay(NamedTuple):
    """The request waits so many seconds before it is sent; of a stream every chunk comes so much later."""

    seconds: float


class CutStream(NamedTuple):
    """The connection breaks after so many chunks."""

    chunks: int = 0


class Truncate(NamedTuple):
    """After so many chunks half of the next arrives, and the connection breaks."""

    chunks: int = 0


class EndStream(NamedTuple):
    """The stream ends cleanly after so many chunks."""

    chunks: int = 0


class Silence(NamedTuple):
    """Nothing arrives any more after so many chunks, and the connection stays open."""

    chunks: int = 0


class Mangle(NamedTuple):
    """The lines of a stream arrive as `change` makes them of those that the server sent in one chunk."""

    change: Callable[[list[bytes]], list[bytes]]


class Expire(NamedTuple):
    """The server has forgotten the version that a stream is to begin after (410). One that begins with a list has none."""


Fault = Refuse | Disconnect | LoseAnswer | Delay | CutStream | Truncate | EndStream | Silence | Mangle | Expire
_OF_STREAMS = (CutStream, Truncate, EndStream, Silence, Mangle, Expire)
"""What cannot happen to a request of one answer, so that such a request leaves it to the next stream."""


@dataclass(slots=True)
class _Injection:
    fault: Fault
    method: str
    path: str
    times: int
    every: int
    after: int
    met: int = 0

    def strikes(self, method: str, path: str, *, is_stream: bool, resumes: bool) -> bool:
        """Whether this request is one that the fault happens to; counts it."""
        if self.times == 0 or not method.startswith(self.method) or self.path not in path:
            return False
        if (isinstance(self.fault, _OF_STREAMS) and not is_stream) or (isinstance(self.fault, Expire) and not resumes):
            return False
        self.met += 1
        if self.met <= self.after or (self.met - self.after) % self.every:
            return False
        self.times -= 1
        return True


class FaultTransport(InnerTransport):
    """Works like `inner` until told otherwise."""

    def __init__(self, inner: Transport) -> None:
        super().__init__(inner)
        self._injections: list[_Injection] = []
        self._writes_left: int | None = None
        self._before: dict[int, Callable[[], Awaitable[object]]] = {}
        self._dying = asyncio.Lock()
        self.writes = 0
        """Writes that reached the server."""

    def inject(self, fault: Fault, *, method: str = "", path: str = "", times: int = 1, every: int = 1, after: int = 0) -> None:
        """Lets `fault` happen to `times` requests whose method starts so and whose path contains `path`: to each that comes, or
        to every n-th only, once `after` of them have passed."""
        self._injections.append(_Injection(fault, method, path, times, every, after))

    def heal(self) -> None:
        """Takes all faults back."""
        self._injections.clear()
        self._writes_left = None

    def kill_after(self, writes: int) -> None:
        """Once that many more writes were carried out, this process is dead: every request raises Killed. Events do not count:
        they are sent whenever there is time, and nothing depends on them."""
        self._writes_left = writes

    def before_write(self, number: int, act: Callable[[], Awaitable[object]]) -> None:
        """Has `act` done just before the write of that number, the first being 1, is sent; events do not count."""
        self._before[number] = act

    @property
    def is_dead(self) -> bool:
        """Whether the writes that `kill_after` allows are used up: every request raises Killed then."""
        return self._writes_left == 0

    async def request(
        self, method: str, path: str, *, params: Mapping[str, str] = {}, headers: Mapping[str, str] = {}, body: bytes = b""
    ) -> Response:
        """The answer of `inner`, unless a fault strikes. After `kill_after` or `before_write`, writes go one at a time, and the
        last one that is left raises Killed in place of its answer."""
        if (self._writes_left is None and not self._before) or not _counts(method, path):
            return await self._request(method, path, params=params, headers=headers, body=body)
        # One at a time, so that "after n writes" means the same in every run.
        async with self._dying:
            if act := self._before.pop(self.writes + 1, None):
                await act()
            response = await self._request(method, path, params=params, headers=headers, body=body)
            if self.is_dead:
                raise Killed
            return response

    async def _request(
        self, method: str, path: str, *, params: Mapping[str, str], headers: Mapping[str, str], body: bytes
    ) -> Response:
        if self.is_dead:
            raise Killed
        fault = self._fault(method, path, is_stream=False)
        match fault:
            case Refuse():
                return _refusal(fault)
            case Disconnect():
                raise ConnectionProblem(f"{method} {path}: injected: connection refused")
            case Delay(seconds=seconds):
                await asyncio.sleep(seconds)
        if _counts(method, path):
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
        """The chunks of `inner`, until a fault strikes. Killed where the process is dead at its beginning; one under way goes
        on."""
        if self.is_dead:
            raise Killed
        fault = self._fault(method, path, is_stream=True, resumes=bool(params.get("resourceVersion")))
        if isinstance(fault, Expire):
            fault = Refuse(410, "Expired")
        if isinstance(fault, Refuse):
            refusal = _refusal(fault)
            raise from_answer(method, path, refusal.status, refusal.headers, refusal.body)
        if isinstance(fault, Disconnect | LoseAnswer):
            raise ConnectionProblem(f"{method} {path}: injected: connection refused")
        passed = 0
        async with aclosing(self._inner.stream(method, path, params=params, headers=headers)) as chunks:
            match fault:
                case Delay(seconds=seconds):
                    chunks = _late(chunks, seconds)
                case Mangle(change=change):
                    chunks = _mangled(chunks, change)
            breaks_after = fault.chunks if isinstance(fault, CutStream | Truncate | EndStream | Silence) else None
            while passed != breaks_after and (chunk := await anext(chunks, None)) is not None:
                yield chunk
                passed += 1
            if isinstance(fault, Truncate) and (chunk := await anext(chunks, None)) is not None:
                yield chunk[: len(chunk) // 2]
            if passed == breaks_after:
                await _break(fault, path)

    def _fault(self, method: str, path: str, *, is_stream: bool, resumes: bool = False) -> Fault | None:
        striking = (one.fault for one in self._injections if one.strikes(method, path, is_stream=is_stream, resumes=resumes))
        return next(striking, None)


def _counts(method: str, path: str) -> bool:
    return method in WRITES and "/events" not in path


async def _late(chunks: AsyncGenerator[bytes, None], seconds: float) -> AsyncGenerator[bytes, None]:
    """The chunks `seconds` after they came, in their order; they go on being read meanwhile."""
    waiting: asyncio.Queue[tuple[float, bytes | None]] = asyncio.Queue()
    clock = asyncio.get_running_loop().time

    async def read() -> None:
        try:
            async for chunk in chunks:
                waiting.put_nowait((clock() + seconds, chunk))
        finally:
            waiting.put_nowait((clock(), None))

    reading = asyncio.create_task(read())
    try:
        while True:
            due, chunk = await waiting.get()
            await asyncio.sleep(max(0.0, due - clock()))
            if chunk is None:
                break
            yield chunk
        await reading
    finally:
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)


async def _mangled(
    chunks: AsyncGenerator[bytes, None], change: Callable[[list[bytes]], list[bytes]]
) -> AsyncGenerator[bytes, None]:
    async for lines in split(chunks):
        if changed := change(lines):
            yield b"".join(line + b"\n" for line in changed)


async def _break(fault: Fault | None, path: str) -> None:
    match fault:
        case CutStream() | Truncate():
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
    headers = {"retry-after": str(fault.retry_after)} if fault.retry_after is not None else {}
    return Response(fault.code, headers, msgspec.json.encode(status))
