"""What an API server is asked to answer, and decoding it: one object, or a page of a collection, as plain JSON or as a typed
view."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, cast

import msgspec

from shunter.api.meta import Json, Struct
from shunter.kube.cache.watch_events import Malformed, ObjectIdentity, decoded_without_nulls, decoder
from shunter.kube.errors import ConnectionProblem

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    T = TypeVar("T", default=Json)
else:
    from typing import TypeVar

    T = TypeVar("T")


class Page(NamedTuple, Generic[T]):
    """A part of a collection, or all of it."""

    items: list[T]
    resource_version: str
    next: str = ""
    """Continue token of the next page; empty on the last."""
    malformed: Sequence[Malformed] = ()
    """Objects that do not fit the view."""


class _ListMeta(Struct, frozen=True):
    resource_version: str = ""
    next: str = msgspec.field(name="continue", default="")


class _List(msgspec.Struct, Generic[T], gc=False):
    items: list[T] | None
    metadata: _ListMeta = _ListMeta()


JSON = "application/json"


def accept(view: type | None, *, of_list: bool = False) -> str:
    """The Accept header of a request whose answer becomes this view. Where the view has nothing but `metadata`, the server leaves
    the rest out, if it can: encoding, sending and reading it costs both sides more than the metadata."""
    if getattr(view, "__struct_fields__", ()) != ("metadata",):
        return JSON
    return f"application/json;as=PartialObjectMetadata{'List' if of_list else ''};g=meta.k8s.io;v=v1,{JSON}"


def decoded(body: bytes, view: type[T] | None) -> T:
    """The object in an answer; ConnectionProblem when it is something else."""
    try:
        try:
            return cast(T, decoder(_type(view)).decode(body))
        except msgspec.ValidationError:
            return cast(T, decoded_without_nulls(body, _type(view)))
    except msgspec.DecodeError as error:
        raise ConnectionProblem(f"The server's answer is not as expected: {error}.") from error


def decoded_page(body: bytes, view: type[T] | None) -> Page[T]:
    """A page, decoded in one go; only when that fails, object by object. ConnectionProblem when it is something else."""
    try:
        listed = cast("_List[T]", decoder(_List[_type(view)]).decode(body))  # type: ignore[misc]
    except msgspec.ValidationError:
        try:
            return _sifted_page(body, view)
        except msgspec.DecodeError as error:
            raise ConnectionProblem(f"The server's list is not as expected: {error}.") from error
    except msgspec.DecodeError as error:
        raise ConnectionProblem(f"The server's list is not JSON: {error}.") from error
    return Page(listed.items or [], listed.metadata.resource_version, listed.metadata.next)


def _sifted_page(body: bytes, view: type[T] | None) -> Page[T]:
    raw = decoded(body, _List[msgspec.Raw])
    items: list[T] = []
    malformed: list[Malformed] = []
    for item in raw.items or ():
        try:
            items.append(decoded_without_nulls(item, _type(view)))
        except msgspec.ValidationError as error:
            metadata = decoder(ObjectIdentity).decode(item).metadata
            malformed.append(Malformed("ADDED", metadata.key, metadata.resource_version, str(error)))
    return Page(items, raw.metadata.resource_version, raw.metadata.next, malformed)


def _type(view: type[Any] | None) -> Any:
    return view or dict
