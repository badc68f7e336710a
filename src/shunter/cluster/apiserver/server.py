"""The HTTP front: authenticates, routes, and turns outcomes and refusals into answers. It decides nothing else."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import time
from collections.abc import AsyncIterable, Mapping
from dataclasses import replace
from typing import Any

import msgspec

from shunter.cluster.apiserver import deletion, reads, resource_metrics, watch, writes
from shunter.cluster.apiserver.auth import impersonation, reviews
from shunter.cluster.apiserver.auth.authn import Authenticator
from shunter.cluster.apiserver.auth.service_account_tokens import TokenIssuer
from shunter.cluster.apiserver.backend import Backend
from shunter.cluster.apiserver.discovery import AGGREGATED, Discovery, Document
from shunter.cluster.apiserver.discovery import subresources as subresources_of
from shunter.cluster.apiserver.metrics import Metrics
from shunter.cluster.apiserver.negotiation import Form, content_type, encoded, form
from shunter.cluster.apiserver.openapi import OpenApi
from shunter.cluster.apiserver.patch.requests import patch
from shunter.cluster.apiserver.protobuf import swagger
from shunter.cluster.apiserver.registry import ServedKind
from shunter.cluster.apiserver.requests import Call, target, verb
from shunter.cluster.apiserver.status import (
    StatusError,
    bad_request,
    internal,
    method_not_allowed,
    no_such_path,
    too_large,
    unauthorized,
)
from shunter.cluster.apiserver.storage.disk_room import not_stored
from shunter.cluster.apiserver.subresources import actions, pod_logs, pod_streams
from shunter.cluster.apiserver.version import version
from shunter.cluster.apiserver.writes import Outcome
from shunter.kube.http.request import Request, Stream, flag
from shunter.kube.http.response import Response

log = logging.getLogger(__name__)

BODY_LIMIT = 3 * 2**20
"""Bytes; kube-apiserver's limit for requests that write."""
_CHECKS = frozenset(f"/{end}/{check}" for end in ("healthz", "livez", "readyz") for check in ("etcd", "ping"))
"""What the three health endpoints consist of."""
_VERSION = frozenset(("/version", "/version/"))
_OPEN_PATHS = frozenset(("/healthz", "/readyz", "/livez")) | _CHECKS | _VERSION
_BINDINGS = ("", "v1", "bindings")
"""The older way to bind a pod, which names it in the body."""
_JSON = "application/json"
_TEXT = "text/plain; charset=utf-8"
_UNCACHED = (("Cache-Control", "no-cache, private"),)
_READS = ("GET", "HEAD")
_ABOUT_OTHERS = (404, 409)
"""What a write is answered with because of another write."""


class ApiServer:
    """Answers requests; `handle` is the handler of an `HttpServer`."""

    def __init__(self, backend: Backend, authenticator: Authenticator, issuer: TokenIssuer, nodes: pod_logs.NodeClient) -> None:
        self._backend = backend
        self._authenticator = authenticator
        self._issuer = issuer
        self._nodes = nodes
        self._authorizer = backend.authorizer
        self._reviews = reviews.Reviews(authenticator, self._authorizer)
        self._discovery = Discovery(backend.registry)
        self._openapi = OpenApi(backend.registry)
        self._metrics = Metrics()
        self._stopping = asyncio.Event()
        self._watchers: set[asyncio.Task[Any]] = set()

    def stop_watches(self) -> None:
        """Ends every watch and followed log, so that the server can stop."""
        self._stopping.set()
        for task in tuple(self._watchers):
            task.cancel()

    async def accepts(self, request: Request) -> Response | None:
        """The answer to a request whose body is not worth taking, from its head: nobody's, or one that needs none."""
        if request.path in _OPEN_PATHS:
            return await self.handle(request)
        user = self._authenticator.user(request.headers.get("authorization", ""), request.certificate)
        return _refused(unauthorized()) if user is None else None

    async def handle(self, request: Request) -> Response | None:
        """One request; None when its answer was streamed."""
        path, headers, query = request.path, request.headers, request.query
        if path in _OPEN_PATHS:
            return _open(path, verbose="verbose" in query)
        user = self._authenticator.user(headers.get("authorization", ""), request.certificate)
        if user is None:
            return _refused(unauthorized())
        found = target(path)
        try:
            if impersonation.is_requested(headers):
                user = impersonation.impersonated(user, headers, self._authorizer)
            if found is None or not found.plural:
                refusal = self._authorizer.refusal_of_path(user, path, request.method)
                return _refused(refusal) if refusal else self._document(request, path)
        except StatusError as error:
            return _refused(error)
        call = Call(
            method=request.method,
            path=path,
            target=found,
            verb=verb(request.method, found, watch=flag(query, "watch")),
            query=query,
            user=user,
            user_agent=headers.get("user-agent", ""),
            content_type=headers.get("content-type", ""),
            accept=headers.get("accept", ""),
            body=request.body,
        )
        started = time.perf_counter()
        try:
            refusal = self._authorizer.refusal(call)
            if refusal:
                raise refusal
            if request.is_too_large:
                raise too_large(BODY_LIMIT)
            response = await self._resource(request, call)
        except StatusError as error:
            if error.code in _ABOUT_OTHERS and request.method not in _READS:
                # Whoever wrote first may still wait for the disk; then nobody can see yet what this tells of.
                await self._backend.store.settled()
            response = _refused(error)
        except ConnectionResetError:
            raise
        except sqlite3.Error as error:
            log.warning("%s %s: %s", request.method, path, error)
            response = _refused(not_stored(error, self._backend.room.directory) or internal(f"the store failed: {error}"))
        except Exception as error:
            log.exception("%s %s", request.method, path)
            response = _refused(internal(f"{type(error).__name__}: {error}"))
        if call.warnings and response is not None:
            response.headers += _warning_headers(call)
        seconds = time.perf_counter() - started
        self._metrics.observe(call.verb, found.group, found.plural, response.status if response else 200, seconds)
        return response

    async def _resource(self, request: Request, call: Call) -> Response | None:
        if call.target.is_watch:
            return await self._watch_path(request, call)
        if reviews.serves(call.target):
            return _answer(msgspec.json.encode(self._reviews.answer(call)), 201)
        if call.target[:3] == _BINDINGS and call.method == "POST":
            call.target = actions.binding_target(call)
        if resource_metrics.serves(call.target):
            return _answer(msgspec.json.encode(await resource_metrics.answer(self._backend, call, self._nodes)))
        served = self._served(call)
        if served.kind.deprecation:
            call.warn(served.kind.deprecation)
        answer_form = form(call.accept)
        subresource = call.target.subresource
        if subresource and subresource != "status":
            return await self._subresource(request, call, served, answer_form)
        if subresource == "status" and not served.kind.has_status:
            raise no_such_path()
        backend = self._backend
        match call.verb:
            case "watch":
                return await self._watch(request, call, served, answer_form)
            case "get":
                return _answer(reads.get(backend, call, served, answer_form), 200, answer_form)
            case "list":
                return _answer(reads.list_(backend, call, served, answer_form), 200, answer_form)
            case "create" if not call.target.name:
                return await self._outcome(call, served, answer_form, await writes.create(backend, call, served))
            case "update" if call.target.name:
                return await self._outcome(call, served, answer_form, await writes.update(backend, call, served))
            case "patch" if call.target.name:
                return await self._outcome(call, served, answer_form, await patch(backend, call, served))
            case "delete" if not subresource:
                return await self._outcome(call, served, answer_form, await deletion.delete(backend, call, served))
            case "deletecollection" if call.target.namespace or not served.resource.namespaced:
                return _answer(await deletion.delete_many(backend, call, served))
            case _:
                raise _refused_subresource(served, call) if subresource else method_not_allowed()

    async def _watch_path(self, request: Request, call: Call) -> Response | None:
        """An answer to `/api/v1/watch/...`. Custom kinds take any method there, as the original does."""
        served = self._served(call)
        if call.target.subresource:
            raise _refused_subresource(served, call) if served.custom else no_such_path()
        if call.method not in _READS and not served.custom:
            raise method_not_allowed()
        if served.kind.deprecation:
            call.warn(served.kind.deprecation)
        return await self._watch(request, call, served, form(call.accept))

    def _served(self, call: Call) -> ServedKind:
        found = call.target
        if "%" in found.name:
            raise bad_request(f"Name parameter invalid: \"{found.name}\": may not contain '%'")
        served = self._backend.registry.find(found.group, found.version, found.plural)
        if served is None:
            raise no_such_path() if self._discovery.is_builtin(found.group) else _NoPage
        if found.namespace and not served.resource.namespaced:
            raise _NoPage if served.custom else no_such_path()
        if not found.namespace and found.name and served.resource.namespaced and not (found.is_watch and served.custom):
            raise no_such_path()
        if call.verb == "create" and served.resource.namespaced and not found.namespace:
            raise _NoPage if served.custom else method_not_allowed()
        return served

    async def _subresource(self, request: Request, call: Call, served: ServedKind, answer_form: Form) -> Response | None:
        backend = self._backend
        match served.key, call.target.subresource, call.method:
            case ("", "pods"), "log", "GET":
                return await self._log(request, call, served)
            case ("", "pods"), "exec" | "attach" | "portforward", _:
                return await self._streams(request, call, served)
            case _ if (part := actions.part(served, call.target.subresource)) and call.method == "GET":
                return _answer(reads.get(backend, call, served, answer_form), 200, answer_form)
            case _ if part and call.method in ("PUT", "PATCH"):
                write = writes.update if call.method == "PUT" else patch
                return await self._outcome(call, served, answer_form, await write(backend, call, part))
            case ("", "pods"), "binding", "POST":
                outcome = await actions.bind(backend, call, served)
            case ("", "pods"), "eviction", "POST":
                outcome = await actions.evict(backend, call, served)
            case ("", "serviceaccounts"), "token", "POST":
                outcome = actions.token(backend, call, served, self._issuer)
            case ("", "namespaces"), "finalize", "PUT":
                outcome = await actions.finalize(backend, call, served)
                return await self._outcome(call, served, answer_form, outcome)
            case _, "scale", "GET" | "PUT" | "PATCH" if served.kind.scale is not None:
                outcome = await actions.scale(backend, call, served)
            case _:
                raise _refused_subresource(served, call)
        return _answer(encoded(outcome.document or {}, answer_form), outcome.code, answer_form)

    async def _outcome(self, call: Call, served: ServedKind, answer_form: Form, outcome: Outcome) -> Response:
        if outcome.entry is not None:
            if outcome.entry.revision > self._backend.store.revision:
                # It was a write without a change, after one that waits for the disk.
                await self._backend.store.settled()
            return _answer(reads.shown(self._backend, call, served, outcome.entry, answer_form), outcome.code, answer_form)
        document = outcome.document or {}
        if document.get("kind") == "Status":
            return _answer(encoded(document, answer_form), outcome.code, answer_form)
        return _answer(reads.shown_document(self._backend, call, served, document, answer_form), outcome.code, answer_form)

    async def _watch(self, request: Request, call: Call, served: ServedKind, answer_form: Form) -> Response | None:
        asked = watch.parse(call, served)
        stream = request.stream(content_type=_JSON, headers=(*_UNCACHED, *_warning_headers(call)))
        await self._streamed(stream, watch.frames(self._backend, call, served, answer_form, asked, self._stopping, stream.abort))
        return None

    async def _streamed(self, stream: Stream, chunks: AsyncIterable[bytes]) -> None:
        task = asyncio.current_task()
        assert task is not None, "handlers run in tasks"
        self._watchers.add(task)
        self._metrics.watches += 1
        try:
            async for chunk in chunks:
                await stream.write(chunk)
            await stream.end()
        except asyncio.CancelledError:
            if not self._stopping.is_set():
                raise
            task.uncancel()
            await stream.end()
        except ConnectionResetError:
            raise
        except Exception:
            # The answer has begun, so nothing can be said to the client but that there is no more.
            stream.abort()
            raise
        finally:
            self._watchers.discard(task)
            self._metrics.watches -= 1

    async def _log(self, request: Request, call: Call, served: ServedKind) -> Response | None:
        source = pod_logs.log_source(self._backend, call, served)
        if not source.url:
            return Response(status=204)
        answer = await self._nodes.get(source)
        try:
            if answer.status != 200:
                text = (await answer.read()).decode(errors="replace").strip()
                raise StatusError(answer.status, _LOG_REASONS.get(answer.status, "InternalError"), text)
            await self._streamed(request.stream(content_type=_TEXT), answer.chunks())
            return None
        finally:
            answer.close()

    async def _streams(self, request: Request, call: Call, served: ServedKind) -> Response | None:
        refusal = self._authorizer.refusal(replace(call, verb="create"))
        if refusal:
            raise refusal  # A WebSocket begins with a GET, but whoever may only read pods runs nothing in them.
        location = pod_streams.stream_location(self._backend, call, served, request.query_string)
        call.verb = "connect"  # what metrics call it: it may last for hours
        task = asyncio.current_task()
        assert task is not None, "handlers run in tasks"
        self._watchers.add(task)
        try:
            return await pod_streams.proxy(request, location, self._nodes)
        finally:
            self._watchers.discard(task)

    def _document(self, request: Request, path: str) -> Response:
        """Discovery, OpenAPI and metrics."""
        if request.method not in ("GET", "HEAD"):
            return _refused(method_not_allowed())
        if path.startswith("/api") or path == "/":
            path = path.rstrip("/")
        accept = request.headers.get("accept", "")
        if path in ("/api", "/apis"):
            if _wants_aggregated(accept):
                return _cached(request, self._discovery.aggregated(core=path == "/api"), AGGREGATED)
            if path == "/apis":
                return _cached(request, self._discovery.group_list())
            addresses = [{"clientCIDR": "0.0.0.0/0", "serverAddress": request.headers.get("host", "")}]
            return _answer(
                msgspec.json.encode({"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": addresses})
            )
        if path == "/openapi/v2" and swagger.is_requested(accept):
            return _cached(request, self._openapi.v2_protobuf(), swagger.MEDIA_TYPE)
        document = self._document_at(path)
        found = target(path)
        if document is None and found is not None and found.version and self._discovery.is_builtin(found.group):
            return _refused(no_such_path())
        if document is None and path == "/openapi/v3":
            return _answer(self._openapi.index())
        if document is None and path == "/metrics":
            return Response(self._metrics.exposition(self._backend.store), content_type=_TEXT)
        if document is None and path == "":
            return _answer(msgspec.json.encode({"paths": ["/api", "/apis", "/healthz", "/openapi/v3", "/version"]}))
        if document is None and path.startswith("/openapi/v3/"):
            return Response(status=404, content_type="")
        return _cached(request, document) if document is not None else _no_page()

    def _document_at(self, path: str) -> Document | None:
        parts = path.split("/")[1:]
        match parts:
            case ["openapi", "v2"]:
                return self._openapi.v2()
            case ["openapi", "v3", *rest] if rest:
                return self._openapi.v3("/".join(rest))
            case ["api", version]:
                return self._discovery.resources("", version)
            case ["apis", group]:
                return self._discovery.group(group)
            case ["apis", group, version]:
                return self._discovery.resources(group, version)
            case _:
                return None


def _wants_aggregated(accept: str) -> bool:
    """Whether the client understands the aggregated documents, in the version that we speak."""
    clauses = (set(clause.replace(" ", "").split(";")) for clause in accept.split(","))
    return any({"as=APIGroupDiscoveryList", "v=v2"} <= clause for clause in clauses)


_LOG_REASONS: Mapping[int, str] = {400: "BadRequest", 404: "NotFound", 403: "Forbidden"}


def _refused_subresource(served: ServedKind, call: Call) -> StatusError:
    """405 for a method that a subresource does not have, 404 for one that is none of the kind's."""
    if all(one.name != call.target.subresource for one in subresources_of(served)):
        return no_such_path()
    if not served.custom:
        return method_not_allowed()
    resource = served.resource
    message = f'{call.verb} is not supported on resources of kind "{resource.plural}.{resource.group}"'
    return StatusError(405, "MethodNotAllowed", message, {"group": resource.group, "kind": resource.plural})


class _NoPageError(StatusError):
    """A path of a group that is not served at all: not a Status but a plain page."""


_NoPage = _NoPageError(404, "NotFound", "404 page not found")


def _open(path: str, *, verbose: bool) -> Response:
    if path in _VERSION:
        return _answer(msgspec.json.encode(version()))
    if verbose and path not in _CHECKS:
        name = path.split("/")[1]
        text = f"[+]ping ok\n[+]etcd ok\n{name} check passed\n"
        return Response(text.encode(), content_type=_TEXT)
    return Response(b"ok", content_type=_TEXT)


def _answer(body: bytes, code: int = 200, answer_form: Form | None = None) -> Response:
    return Response(body, status=code, content_type=content_type(answer_form) if answer_form else _JSON, headers=_UNCACHED)


def _cached(request: Request, document: Document, media: str = _JSON) -> Response:
    headers = (("ETag", document.etag), ("Vary", "Accept"), ("Cache-Control", "public"))
    if request.headers.get("if-none-match") == document.etag:
        return Response(status=304, headers=headers)
    return Response(document.body, content_type=media, headers=headers)


def _refused(error: StatusError) -> Response:
    if isinstance(error, _NoPageError):
        return _no_page()
    response = _answer(msgspec.json.encode(error.status()), error.code)
    if error.retry_after is not None:
        response.headers += (("Retry-After", str(error.retry_after)),)
    return response


def _no_page() -> Response:
    return Response(b"404 page not found\n", status=404, content_type=_TEXT)


def _warning_headers(call: Call) -> tuple[tuple[str, str], ...]:
    return tuple(("Warning", _warning(text)) for text in call.warnings)


def _warning(text: str) -> str:
    """A warning as RFC 7234 wants it: code, agent, quoted text."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ").replace("\r", " ")
    return f'299 - "{escaped}"'
