"""The HTTP front: authenticates, routes, and turns outcomes and refusals into answers. It decides nothing else."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping
from typing import Any

import msgspec
from aiohttp import web

from shunter.cluster.apiserver import authz, deletion, patches, pod_logs, reads, reviews, subresources, watch, writes
from shunter.cluster.apiserver.authn import Authenticator
from shunter.cluster.apiserver.backend import Backend
from shunter.cluster.apiserver.discovery import AGGREGATED, Discovery, Document
from shunter.cluster.apiserver.metrics import Metrics
from shunter.cluster.apiserver.negotiation import Form, content_type, encoded, form
from shunter.cluster.apiserver.openapi import OpenApi
from shunter.cluster.apiserver.registry import Served
from shunter.cluster.apiserver.requests import Call, flag, target, verb
from shunter.cluster.apiserver.service_account_tokens import TokenIssuer
from shunter.cluster.apiserver.status import (
    StatusError,
    internal,
    method_not_allowed,
    no_such_path,
    too_large,
    unauthorized,
)
from shunter.cluster.apiserver.version import version
from shunter.cluster.apiserver.writes import Outcome

log = logging.getLogger(__name__)

BODY_LIMIT = 3 * 2**20
"""Bytes; kube-apiserver's limit for requests that write."""
_KEEP_ALIVE = 3600.0
"""Seconds an idle connection stays open; clients close theirs long before."""
_OPEN_PATHS = frozenset(("/healthz", "/readyz", "/livez", "/version"))
_JSON = "application/json"
_TEXT = "text/plain; charset=utf-8"


class ApiServer:
    """Answers requests; `handle` is the handler of an aiohttp `web.Server`."""

    def __init__(self, backend: Backend, authenticator: Authenticator, issuer: TokenIssuer, nodes: pod_logs.NodeClient) -> None:
        self._backend = backend
        self._authenticator = authenticator
        self._issuer = issuer
        self._nodes = nodes
        self._reviews = reviews.Reviews(authenticator)
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

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """One request."""
        path = request.path
        if path in _OPEN_PATHS:
            return _open(path)
        certificate = request.transport.get_extra_info("peercert") if request.transport else None
        user = self._authenticator.user(request.headers, certificate)
        if user is None:
            return _refused(unauthorized())
        found = target(path)
        if found is None or not found.plural:
            return self._document(request, path)
        query = request.query
        call = Call(
            method=request.method,
            path=path,
            target=found,
            verb=verb(request.method, found, watch=flag(query, "watch")),
            query=query,
            user=user,
            user_agent=request.headers.get("User-Agent", ""),
            content_type=request.headers.get("Content-Type", ""),
            accept=request.headers.get("Accept", ""),
        )
        started = time.perf_counter()
        try:
            refusal = authz.refusal(call)
            if refusal:
                raise refusal
            call.body = await _body(request)
            response = await self._resource(request, call)
        except StatusError as error:
            response = _refused(error)
        except asyncio.CancelledError:
            raise
        except Exception as error:
            log.exception("%s %s", request.method, path)
            response = _refused(internal(f"{type(error).__name__}: {error}"))
        if call.warnings and not response.prepared:
            for warning in call.warnings:
                response.headers.add("Warning", _warning(warning))
        seconds = time.perf_counter() - started
        self._metrics.observe(call.verb, found.group, found.plural, response.status, seconds)
        return response

    async def _resource(self, request: web.BaseRequest, call: Call) -> web.StreamResponse:
        if reviews.serves(call.target):
            return _answer(msgspec.json.encode(self._reviews.answer(call)), 201)
        served = self._served(call)
        wanted = form(call.accept)
        subresource = call.target.subresource
        if subresource and subresource != "status":
            return await self._subresource(request, call, served, wanted)
        if subresource == "status" and not served.kind.has_status:
            raise no_such_path()
        backend = self._backend
        match call.verb:
            case "watch":
                return await self._watch(request, call, served, wanted)
            case "get" if flag(call.query, "watch") and not subresource:
                return await self._watch(request, call, served, wanted)
            case "get":
                return _answer(reads.get(backend, call, served, wanted), 200, wanted)
            case "list":
                return _answer(reads.list_(backend, call, served, wanted), 200, wanted)
            case "create" if not call.target.name:
                return self._outcome(call, served, wanted, await writes.create(backend, call, served))
            case "update" if call.target.name:
                return self._outcome(call, served, wanted, await writes.update(backend, call, served))
            case "patch" if call.target.name:
                return self._outcome(call, served, wanted, await patches.patch(backend, call, served))
            case "delete" if not subresource:
                return self._outcome(call, served, wanted, await deletion.delete(backend, call, served))
            case "deletecollection":
                selected = reads.selector(call, served)
                entries = await deletion.delete_many(backend, call, served, selected)
                metadata = {"resourceVersion": str(backend.store.revision)}
                return _answer(reads.rendered_list(served, entries, metadata))
            case _:
                raise method_not_allowed()

    def _served(self, call: Call) -> Served:
        found = call.target
        served = self._backend.registry.find(found.group, found.version, found.plural)
        if served is None:
            if self._discovery.resources(found.group, found.version) is None:
                raise _NoPage
            raise no_such_path()
        if found.namespace and not served.resource.namespaced:
            raise no_such_path()
        if not found.namespace and found.name and served.resource.namespaced:
            raise no_such_path()
        if call.verb == "create" and served.resource.namespaced and not found.namespace:
            raise method_not_allowed()
        return served

    async def _subresource(self, request: web.BaseRequest, call: Call, served: Served, wanted: Form) -> web.StreamResponse:
        backend = self._backend
        match served.key, call.target.subresource, call.method:
            case ("", "pods"), "log", "GET":
                return await self._log(request, call, served)
            case ("", "pods"), "binding", "POST":
                outcome = await subresources.bind(backend, call, served)
            case ("", "pods"), "eviction", "POST":
                outcome = await subresources.evict(backend, call, served)
            case ("", "serviceaccounts"), "token", "POST":
                outcome = subresources.token(backend, call, served, self._issuer)
            case ("", "namespaces"), "finalize", "PUT":
                outcome = await subresources.finalize(backend, call, served)
                return self._outcome(call, served, wanted, outcome)
            case _, "scale", "GET" | "PUT" | "PATCH" if served.kind.scale is not None:
                outcome = await subresources.scale(backend, call, served)
            case _:
                raise no_such_path()
        return _answer(encoded(outcome.document or {}, wanted), outcome.code, wanted)

    def _outcome(self, call: Call, served: Served, wanted: Form, outcome: Outcome) -> web.Response:
        if outcome.entry is not None:
            return _answer(reads.shown(self._backend, call, served, outcome.entry, wanted), outcome.code, wanted)
        document = outcome.document or {}
        if document.get("kind") == "Status":
            return _answer(encoded(document, wanted), outcome.code, wanted)
        return _answer(reads.shown_document(self._backend, call, served, document, wanted), outcome.code, wanted)

    async def _watch(self, request: web.BaseRequest, call: Call, served: Served, wanted: Form) -> web.StreamResponse:
        asked = watch.parse(call, served)
        response = web.StreamResponse(headers={"Content-Type": _JSON, "Cache-Control": "no-cache, private"})
        await response.prepare(request)
        transport = request.transport
        cut = transport.abort if isinstance(transport, asyncio.Transport) else (lambda: None)
        await self._streamed(request, response, watch.frames(self._backend, call, served, wanted, asked, self._stopping, cut))
        return response

    async def _streamed(self, request: web.BaseRequest, response: web.StreamResponse, chunks: Any) -> None:
        task = asyncio.current_task()
        assert task is not None, "handlers run in tasks"
        self._watchers.add(task)
        self._metrics.watches += 1
        try:
            async for chunk in chunks:
                await response.write(chunk)
            await response.write_eof()
        except ConnectionError:
            log.debug("the client of %s went away", request.path)
        except asyncio.CancelledError:
            if not self._stopping.is_set():
                raise
            task.uncancel()
            await response.write_eof()
        finally:
            self._watchers.discard(task)
            self._metrics.watches -= 1

    async def _log(self, request: web.BaseRequest, call: Call, served: Served) -> web.StreamResponse:
        source = pod_logs.log_source(self._backend, call, served)
        if not source.url:
            return web.Response(status=204)
        answer = await self._nodes.get(source)
        try:
            if answer.status != 200:
                text = (await answer.text()).strip()
                raise StatusError(answer.status, _LOG_REASONS.get(answer.status, "InternalError"), text)
            response = web.StreamResponse(headers={"Content-Type": _TEXT})
            await response.prepare(request)
            await self._streamed(request, response, answer.content.iter_any())
            return response
        finally:
            answer.close()

    def _document(self, request: web.BaseRequest, path: str) -> web.Response:
        """Discovery, OpenAPI and metrics."""
        if request.method not in ("GET", "HEAD"):
            return _refused(method_not_allowed())
        path = path.rstrip("/")
        accept = request.headers.get("Accept", "")
        if path in ("/api", "/apis"):
            if _wants_aggregated(accept):
                return _cached(request, self._discovery.aggregated(core=path == "/api"), AGGREGATED)
            if path == "/apis":
                return _cached(request, self._discovery.group_list())
            addresses = [{"clientCIDR": "0.0.0.0/0", "serverAddress": request.headers.get("Host", "")}]
            return _answer(
                msgspec.json.encode({"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": addresses})
            )
        document = self._found(path)
        if document is None and path == "/openapi/v3":
            return _answer(self._openapi.index())
        if document is None and path == "/metrics":
            return web.Response(body=self._metrics.exposition(self._backend.store), headers={"Content-Type": _TEXT})
        if document is None and path == "":
            return _answer(msgspec.json.encode({"paths": ["/api", "/apis", "/healthz", "/openapi/v3", "/version"]}))
        return _cached(request, document) if document is not None else _no_page()

    def _found(self, path: str) -> Document | None:
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


def http_server(api: ApiServer) -> web.Server:
    """The protocol factory that serves an API server's requests."""
    loop = asyncio.get_running_loop()

    def request(message: Any, payload: Any, protocol: Any, writer: Any, task: Any) -> web.BaseRequest:
        return web.BaseRequest(message, payload, protocol, writer, task, loop, client_max_size=BODY_LIMIT + 1)

    return web.Server(
        api.handle, request_factory=request, handler_cancellation=True, keepalive_timeout=_KEEP_ALIVE, access_log=None
    )


class _NoPageError(StatusError):
    """A path of a group that is not served at all: not a Status but a plain page."""


_NoPage = _NoPageError(404, "NotFound", "404 page not found")


async def _body(request: web.BaseRequest) -> bytes:
    if not request.can_read_body:
        return b""
    length = request.content_length
    if length is not None and length > BODY_LIMIT:
        raise too_large(BODY_LIMIT)
    body = await request.read()
    if len(body) > BODY_LIMIT:
        raise too_large(BODY_LIMIT)
    return body


def _open(path: str) -> web.Response:
    if path == "/version":
        return _answer(msgspec.json.encode(version()))
    return web.Response(body=b"ok", headers={"Content-Type": _TEXT})


def _answer(body: bytes, code: int = 200, wanted: Form | None = None) -> web.Response:
    headers = {"Content-Type": content_type(wanted) if wanted else _JSON, "Cache-Control": "no-cache, private"}
    return web.Response(body=body, status=code, headers=headers)


def _cached(request: web.BaseRequest, document: Document, media: str = _JSON) -> web.Response:
    headers = {"ETag": document.etag, "Vary": "Accept", "Cache-Control": "public", "Content-Type": media}
    if request.headers.get("If-None-Match") == document.etag:
        return web.Response(status=304, headers=headers)
    return web.Response(body=document.body, headers=headers)


def _refused(error: StatusError) -> web.Response:
    if isinstance(error, _NoPageError):
        return _no_page()
    response = _answer(msgspec.json.encode(error.status()), error.code)
    if error.retry_after is not None:
        response.headers["Retry-After"] = str(error.retry_after)
    return response


def _no_page() -> web.Response:
    return web.Response(body=b"404 page not found\n", status=404, headers={"Content-Type": _TEXT})


def _warning(text: str) -> str:
    """A warning as RFC 7234 wants it: code, agent, quoted text."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
    return f'299 - "{escaped}"'
