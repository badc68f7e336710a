"""Requests to a Kubernetes API server: the verbs, with plain JSON going in and JSON or a typed view of it coming out.

What to know before changing it: nothing here is cached and nothing decides. What is sent again, and how often, stands
in retry.py.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Literal, TypedDict, Unpack, cast

import msgspec

from shunter.api.meta import Json
from shunter.api.resources import PODS, Resource
from shunter.errors import InputError
from shunter.kube.answers import JSON, Page, accept, decoded, decoded_page
from shunter.kube.cache.watch_events import Bookmark, Change, Malformed, Pause, line_decoder, lines
from shunter.kube.errors import ApiError, NotFound, ServerTimeout, Status, from_answer
from shunter.kube.retry import DEFAULT, RetryPolicy, may_retry
from shunter.kube.server_clock import ServerClock
from shunter.kube.transport import CONNECT_TIMEOUT, MAX_REQUESTS, HttpTransport, Transport

if TYPE_CHECKING:
    from datetime import datetime

    from typing_extensions import TypeVar

    from shunter.kube.kubeconfig import Connection

    T = TypeVar("T", default=Json)
else:
    from typing import TypeVar

    T = TypeVar("T")

PAGE_SIZE = 500
LOG_SECONDS = 20.0 + CONNECT_TIMEOUT
"""How long a log that is not followed may send nothing. The connection is made in this time, so that it is more than
CONNECT_TIMEOUT; and a busy node reads whole logs of 50 MB, one after another, before it sends their last lines."""
PATCH_TYPES = {
    "merge": "application/merge-patch+json",
    "json": "application/json-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",
}

PatchType = Literal["merge", "json", "strategic"]
Propagation = Literal["Background", "Foreground", "Orphan"]
FieldValidation = Literal["Ignore", "Strict"]


class WriteOptions(TypedDict, total=False):
    """Options of each verb that writes, but for deletions."""

    dry_run: bool
    """Whether the server only says what would come of it."""
    field_validation: FieldValidation
    """Whether fields that the server does not know are refused. They are dropped by default (with `apply` the server decides):
    `Warn`, a server's own default, takes it a tenth longer for a pod, and its answer is a header that is not read here."""
    field_manager: str
    """Who writes, in managedFields; the client's own unless set."""


class Client:
    """Talks to one API server. `field_manager` names us in managedFields; `namespace` is only a default for the command line."""

    def __init__(
        self,
        transport: Transport,
        *,
        field_manager: str = "shunter",
        namespace: str = "default",
        retry: RetryPolicy = DEFAULT,
    ) -> None:
        self.transport = transport
        self.field_manager = field_manager
        self.namespace = namespace
        self._retry = retry
        self._clock = ServerClock()

    def now(self) -> datetime:
        """The time by the server's clock, as its answers so far show it: that of what it and its controllers write."""
        return self._clock.now()

    def through(self, transport: Transport) -> Client:
        """A client like this one whose requests go another way."""
        return Client(transport, field_manager=self.field_manager, namespace=self.namespace, retry=self._retry)

    async def close(self) -> None:
        """Closes the transport, and with it every client that shares it."""
        await self.transport.close()

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def get(
        self,
        resource: Resource,
        name: str,
        namespace: str = "",
        *,
        view: type[T] | None = None,
        subresource: str = "",
        resource_version: str = "",
    ) -> T:
        """The object, as `view` or as plain JSON. NotFound when there is none, InputError for a text that is no name. Without
        `resource_version` the server gives the newest; for `0` what it has cached."""
        params = {"resourceVersion": resource_version} if resource_version else {}
        path = _object_path(resource, namespace, name, subresource)
        return decoded(await self.raw("GET", path, params=params, headers={"Accept": accept(view)}), view)

    async def find(self, resource: Resource, name: str, namespace: str = "") -> Json | None:
        """Gets an object as JSON; None if it does not exist, or the cluster does not serve its kind."""
        try:
            found: Json = await self.get(resource, name, namespace)
        except NotFound:
            return None
        return found

    async def list(
        self,
        resource: Resource,
        namespace: str = "",
        *,
        view: type[T] | None = None,
        label_selector: str = "",
        field_selector: str = "",
    ) -> Page[T]:
        """The whole collection, read page by page; an empty namespace means all of them."""
        items: list[T] = []
        async for page in self.pages(
            resource, namespace, view=view, label_selector=label_selector, field_selector=field_selector
        ):
            for bad in page.malformed:
                raise InputError(f"{resource.kind} {bad.key} is not as expected: {bad.error}.")
            items += page.items
        return Page(items, page.resource_version)

    async def pages(
        self,
        resource: Resource,
        namespace: str = "",
        *,
        view: type[T] | None = None,
        label_selector: str = "",
        field_selector: str = "",
        limit: int = PAGE_SIZE,
    ) -> AsyncGenerator[Page[T]]:
        """The collection's pages, at least one; 0 as limit means all at once. Gone when reading took too long."""
        params = _selectors(label_selector, field_selector)
        if limit:
            params["limit"] = str(limit)
        while True:
            headers = {"Accept": accept(view, of_list=True)}
            body = await self.raw("GET", resource.path(namespace), params=params, headers=headers)
            page = decoded_page(body, view)
            yield page
            if not page.next:
                return
            params["continue"] = page.next

    async def create(
        self,
        resource: Resource,
        body: Json,
        namespace: str = "",
        *,
        view: type[T] | None = None,
        subresource: str = "",
        name: str = "",
        **options: Unpack[WriteOptions],
    ) -> T:
        """POST into the namespace given, else the one in the body. A subresource (`binding`, `eviction`) needs a name."""
        path = resource.path(namespace or _metadata(body, "namespace"), name, subresource)
        params = self._write_params(options)
        headers = {"Accept": accept(view)}
        return decoded(await self.raw("POST", path, params=params, headers=headers, body=_encoded(body)), view)

    async def update(
        self,
        resource: Resource,
        body: Json,
        *,
        view: type[T] | None = None,
        subresource: str = "",
        **options: Unpack[WriteOptions],
    ) -> T:
        """PUT. A resourceVersion in the body is a precondition (Conflict)."""
        path = _object_path(resource, _metadata(body, "namespace"), _metadata(body, "name"), subresource)
        params = self._write_params(options)
        headers = {"Accept": accept(view)}
        return decoded(await self.raw("PUT", path, params=params, headers=headers, body=_encoded(body)), view)

    async def patch(
        self,
        resource: Resource,
        name: str,
        namespace: str,
        patch: Json | Sequence[Json],
        *,
        type: PatchType = "merge",
        view: type[T] | None = None,
        subresource: str = "",
        **options: Unpack[WriteOptions],
    ) -> T:
        """A resourceVersion or uid inside the patch's metadata is a precondition (Conflict)."""
        path = _object_path(resource, namespace, name, subresource)
        params = self._write_params(options)
        headers = {"Accept": accept(view), "Content-Type": PATCH_TYPES[type]}
        return decoded(await self.raw("PATCH", path, params=params, headers=headers, body=_encoded(patch)), view)

    async def patch_status(self, resource: Resource, name: str, namespace: str, patch: Json) -> Json:
        """JSON merge patch of the status subresource; `patch` is the whole object's, so it starts with `status`."""
        patched: Json = await self.patch(resource, name, namespace, patch, subresource="status")
        return patched

    async def apply(
        self,
        resource: Resource,
        body: Json,
        *,
        view: type[T] | None = None,
        subresource: str = "",
        force: bool = True,
        **options: Unpack[WriteOptions],
    ) -> T:
        """Server-side apply: creates or updates; fields that we applied before and no longer send are given up."""
        path = _object_path(resource, _metadata(body, "namespace"), _metadata(body, "name"), subresource)
        params = self._write_params(options)
        params["force"] = "true" if force else "false"
        headers = {"Accept": accept(view), "Content-Type": PATCH_TYPES["apply"]}
        return decoded(await self.raw("PATCH", path, params=params, headers=headers, body=_encoded(body)), view)

    async def delete(
        self,
        resource: Resource,
        name: str,
        namespace: str = "",
        *,
        uid: str = "",
        resource_version: str = "",
        propagation: Propagation | None = None,
        grace_period_seconds: int | None = None,
        dry_run: bool = False,
    ) -> Json:
        """The object while its deletion is under way, or a Status once it is gone. NotFound when it was gone before; Conflict
        when the name belongs to another uid or resourceVersion."""
        options: Json = {"apiVersion": "v1", "kind": "DeleteOptions"}
        if propagation:
            options["propagationPolicy"] = propagation
        if grace_period_seconds is not None:
            options["gracePeriodSeconds"] = grace_period_seconds
        if dry_run:
            options["dryRun"] = ["All"]
        preconditions = {key: value for key, value in (("uid", uid), ("resourceVersion", resource_version)) if value}
        if preconditions:
            options["preconditions"] = preconditions
        return decoded(await self.raw("DELETE", _object_path(resource, namespace, name), body=_encoded(options)), None)

    async def watch(
        self,
        resource: Resource,
        namespace: str = "",
        *,
        view: type[T] | None = None,
        resource_version: str = "",
        label_selector: str = "",
        field_selector: str = "",
        timeout_seconds: int | None = None,
        send_initial_events: bool = False,
        silence: float | None = None,
        pause: Pause | None = None,
    ) -> AsyncGenerator[Change[T] | Bookmark | Malformed]:
        """Changes after `resource_version`, until the server ends the watch. With `send_initial_events` the present objects come
        first, as ADDED, closed by a bookmark. Raises what an ERROR line carries, e.g. Gone, and ConnectionProblem when nothing
        comes for `silence` seconds. Rests for the `pause` between reads that find little. Never retried here."""
        params = _selectors(label_selector, field_selector)
        params |= {"watch": "true", "allowWatchBookmarks": "true"}
        if resource_version:
            params["resourceVersion"] = resource_version
        if timeout_seconds is not None:
            params["timeoutSeconds"] = str(timeout_seconds)
        if send_initial_events:
            params |= {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
        decode = line_decoder(cast("type[T]", view or dict))
        headers = {"Accept": accept(view)}
        async with aclosing(self.transport.stream("GET", resource.path(namespace), params=params, headers=headers)) as chunks:
            async for batch in lines(chunks, silence=silence, pause=pause):
                for line in batch:
                    yield decode(line)

    def logs(
        self,
        name: str,
        namespace: str,
        *,
        container: str = "",
        follow: bool = False,
        previous: bool = False,
        timestamps: bool = False,
        tail_lines: int | None = None,
        since_seconds: int | None = None,
        since_time: str = "",
        limit_bytes: int | None = None,
    ) -> AsyncGenerator[bytes]:
        """A container's log in chunks of any size; with `follow` until the container ends. Of `since_time` (RFC 3339) Kubernetes
        takes whole seconds only. ServerTimeout if nothing comes for LOG_SECONDS without `follow`: a frozen node leaves the
        connection open."""
        params = {
            "container": container,
            "follow": "true" if follow else "",
            "previous": "true" if previous else "",
            "timestamps": "true" if timestamps else "",
            "tailLines": "" if tail_lines is None else str(tail_lines),
            "sinceSeconds": "" if since_seconds is None else str(since_seconds),
            "sinceTime": since_time,
            "limitBytes": "" if limit_bytes is None else str(limit_bytes),
        }
        path = _object_path(PODS, namespace, name, "log")
        chunks = self.stream(path, params={key: value for key, value in params.items() if value})
        return chunks if follow else _in_time(chunks, name)

    def stream(self, path: str, *, params: Mapping[str, str] = {}) -> AsyncGenerator[bytes]:
        """The chunks of a GET whose answer may never end. Never retried."""
        return self.transport.stream("GET", path, params=params, headers={"Accept": JSON})

    async def raw(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] = {},
        headers: Mapping[str, str] = {},
        body: bytes = b"",
    ) -> bytes:
        """The body of a successful answer; raises the ApiError of any other, once retrying is over."""
        headers = {"Accept": JSON, "Content-Type": JSON, **headers} if body else {"Accept": JSON, **headers}
        for attempt in range(1, self._retry.attempts + 1):
            try:
                sent = time.time()
                answer = await self.transport.request(method, path, params=params, headers=headers, body=body)
                self._clock.note(answer.headers.get("date", ""), sent, time.time())
                if answer.status < 400:
                    return answer.body
                raise from_answer(method, path, answer.status, answer.headers, answer.body)
            except ApiError as error:
                if attempt == self._retry.attempts or not may_retry(method, error):
                    raise
                await asyncio.sleep(self._retry.wait(attempt, error))
        raise AssertionError("a request is attempted at least once")

    def _write_params(self, options: WriteOptions) -> dict[str, str]:
        params = {
            "fieldManager": options.get("field_manager") or self.field_manager,
            "fieldValidation": options.get("field_validation", "Ignore"),
        }
        if options.get("dry_run"):
            params["dryRun"] = "All"
        return params


def connect(connection: Connection, *, component: str = "shunter", max_requests: int = MAX_REQUESTS) -> Client:
    """A client of a real API server, to be closed after use; `component` is both user agent and field manager. No more than
    `max_requests` are made at once: each is a connection, and one of TLS holds 256 KiB."""
    transport = HttpTransport(connection, user_agent=component, max_requests=max_requests)
    return Client(transport, field_manager=component, namespace=connection.namespace)


def _object_path(resource: Resource, namespace: str, name: str, subresource: str = "") -> str:
    for part in (namespace, name):
        if "/" in part or "%" in part or part in (".", ".."):
            raise InputError(f"{part!r} is not the name of a {resource.kind}.")
    if not name:
        raise InputError(f"A {resource.kind} needs a name in metadata.name.")
    return resource.path(namespace, name, subresource)


def _metadata(body: Json, field: str) -> str:
    return str((body.get("metadata") or {}).get(field) or "")


def _selectors(label_selector: str, field_selector: str) -> dict[str, str]:
    selectors = {"labelSelector": label_selector, "fieldSelector": field_selector}
    return {key: value for key, value in selectors.items() if value}


def _encoded(body: Json | Sequence[Json]) -> bytes:
    return msgspec.json.encode(body)


async def _in_time(chunks: AsyncGenerator[bytes], pod: str) -> AsyncGenerator[bytes]:
    """The chunks of the log of this pod. ServerTimeout if one does not come in LOG_SECONDS."""
    async with aclosing(chunks):
        while True:
            try:
                async with asyncio.timeout(LOG_SECONDS):
                    chunk = await anext(chunks, None)
            except TimeoutError as error:
                message = f"the log of pod {pod} has not come in {LOG_SECONDS:g} s: its node does not respond"
                raise ServerTimeout(Status(code=504, reason="Timeout", message=message)) from error
            if chunk is None:
                return
            yield chunk
