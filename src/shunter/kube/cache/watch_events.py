"""What a watch says, decoded: changes of objects, bookmarks, and objects that do not fit our view of them.

The server sends one JSON object per line. Lines are split over a growing buffer with no limit of length: a single object may be
larger than any reader's line limit.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from functools import lru_cache
from typing import Any, Generic, Literal, NamedTuple, TypeVar, cast

import msgspec

from shunter.api.meta import Struct, without_nulls
from shunter.kube.controllers.plan import Key
from shunter.kube.errors import ConnectionProblem, Status, from_status

T = TypeVar("T")

INITIAL_EVENTS_END = "k8s.io/initial-events-end"
"""Annotation of the bookmark that ends the initial list of a watch with sendInitialEvents."""


class Pause:
    """A pause of some seconds between two reads of a watch, which can be ended early; none while `is_due` is False, as during the
    initial objects."""

    def __init__(self, seconds: float) -> None:
        self.is_due = False
        self._seconds = seconds
        self._ended = asyncio.Event()
        self._awake_until = 0.0

    async def wait(self) -> None:
        """Returns when the pause is over."""
        if self.is_due and time.monotonic() >= self._awake_until:
            self._ended.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(self._seconds):
                    await self._ended.wait()

    def end(self) -> None:
        """Ends a pause that has begun, and any that would begin shortly: what is expected may not be here yet."""
        self._awake_until = time.monotonic() + AWAKE_SECONDS
        self._ended.set()


class Change(msgspec.Struct, Generic[T], frozen=True, gc=False):
    """One object came, changed or went; `object` is its state after that."""

    type: Literal["ADDED", "MODIFIED", "DELETED"]
    object: T


class Bookmark(NamedTuple):
    """Everything up to `resource_version` has been sent."""

    resource_version: str
    ends_initial_events: bool = False


class Malformed(NamedTuple):
    """An object that does not fit the view, e.g. one written before its schema was tightened."""

    type: str
    key: Key
    resource_version: str
    error: str


class _Frame(msgspec.Struct, Generic[T], gc=False):
    type: str
    object: T


class Meta(Struct, frozen=True):
    """The little metadata that every answer has, whatever else is in it."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    deletion_timestamp: str | None = None
    finalizers: tuple[str, ...] | None = None
    annotations: dict[str, str] | None = None

    @property
    def is_released(self) -> bool:
        """Whether nothing holds back the deletion that is under way; pods may have their grace period still."""
        return self.deletion_timestamp is not None and not self.finalizers

    @property
    def key(self) -> Key:
        """Namespace and name; the namespace is empty for an object of the whole cluster."""
        return Key(self.namespace, self.name)


class ObjectIdentity(Struct, frozen=True):
    """An object of any kind, of which only the identity matters."""

    metadata: Meta = Meta()


LARGE_CHUNK = 16 * 1024
"""Bytes. As much at once is there only when several changes have come meanwhile: there may be more."""

AWAKE_SECONDS = 0.2

Decode = Callable[[bytes], Change[T] | Bookmark | Malformed]


@lru_cache(maxsize=256)
def decoder(view: Any) -> msgspec.json.Decoder[Any]:
    """The JSON decoder of a type; making one costs more than using it."""
    return msgspec.json.Decoder(view)


def decoded_without_nulls(raw: bytes | msgspec.Raw, view: Any) -> Any:
    """The object as its view has it, where it does not fit as it stands: null means in Go what absent means, also for lists and
    maps, and an API server may serve it so. Raises msgspec.ValidationError when that is not what is wrong."""
    return decoder(view).decode(msgspec.json.encode(without_nulls(msgspec.json.decode(raw))))


def line_decoder(view: type[T]) -> Decode[T]:
    """A function from one line of a watch to its meaning; it raises the ApiError that an ERROR line carries (Gone, ...)."""
    decode_change = decoder(Change[view]).decode  # type: ignore[valid-type]

    def decode(line: bytes) -> Change[T] | Bookmark | Malformed:
        try:
            return cast(Change[T], decode_change(line))
        except msgspec.ValidationError as error:
            return _other(line, str(error), view)
        except msgspec.DecodeError as error:
            raise ConnectionProblem(f"The watch sent a line that is not JSON: {error}.") from error

    return decode


def _other(line: bytes, error: str, view: type[T]) -> Change[T] | Bookmark | Malformed:
    """A line that is no change of an object that fits the view as it stands."""
    try:
        frame = decoder(_Frame[msgspec.Raw]).decode(line)
    except msgspec.ValidationError as problem:
        raise ConnectionProblem(f"The watch sent a line that is no event: {problem}.") from problem
    if frame.type == "ERROR":
        raise from_status(decoder(Status).decode(frame.object))
    metadata = decoder(ObjectIdentity).decode(frame.object).metadata
    if frame.type == "BOOKMARK":
        ends = (metadata.annotations or {}).get(INITIAL_EVENTS_END) == "true"
        return Bookmark(metadata.resource_version, ends)
    with suppress(msgspec.ValidationError):
        return Change(frame.type, decoded_without_nulls(frame.object, view))
    return Malformed(frame.type, metadata.key, metadata.resource_version, error)


async def lines(
    chunks: AsyncGenerator[bytes, None], *, silence: float | None = None, pause: Pause | None = None
) -> AsyncGenerator[list[bytes], None]:
    """The complete lines of each chunk, without their ends; an unfinished last line is dropped, since it never was sent.

    ConnectionProblem when nothing comes for `silence` seconds. Rests for the `pause` after each chunk, unless that was so large
    that more is waiting.
    """
    buffer = bytearray()
    while (chunk := await _next(chunks, silence)) is not None:
        end = chunk.rfind(b"\n")
        if end < 0:
            buffer += chunk
            continue
        buffer += chunk[:end]
        yield [line for line in bytes(buffer).split(b"\n") if line]
        buffer = bytearray(chunk[end + 1 :])
        if pause is not None and len(chunk) < LARGE_CHUNK:
            await pause.wait()


async def _next(chunks: AsyncGenerator[bytes, None], silence: float | None) -> bytes | None:
    """The next chunk, or None after the last."""
    try:
        async with asyncio.timeout(silence):
            return await anext(chunks, None)
    except TimeoutError:
        raise ConnectionProblem(f"The watch said nothing for {silence:g} seconds.") from None
