"""The admission webhook server: functions from an object that is written to a verdict, behind HTTPS.

An answer is always an AdmissionReview, also when a function of ours fails: the writer then sees which webhook failed and why, and
the traceback is in our log.
"""

from __future__ import annotations

import base64
import inspect
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from logging import getLogger
from pathlib import Path
from typing import Literal, Protocol

import msgspec

from shunter.api.meta import Json, Struct
from shunter.errors import EnvironmentProblem
from shunter.kube.http.limits import Limits, Timeouts
from shunter.kube.http.request import Request
from shunter.kube.http.response import Response
from shunter.kube.http.server import HttpServer
from shunter.kube.json_patch import difference
from shunter.kube.tls.certificates import KeyPair
from shunter.kube.tls.serving_tls import ServingTls

log = getLogger(__name__)

MAX_BODY = 8 * 2**20
"""Bytes of one review: an update carries two objects of up to 1.5 MiB and is JSON inside JSON."""

STOP_SECONDS = 10.0
"""For requests in progress when the server stops."""

LIMITS = Limits(body=MAX_BODY)

TIMEOUTS = Timeouts(body=30.0, idle=120.0)
"""Clients that hold connections would leave none for API servers, which wait at most 30 seconds for a webhook, and give up an
idle connection after 90 themselves."""

_REASONS = {403: "Forbidden", 409: "Conflict", 422: "Invalid", 500: "InternalError"}


class GroupVersionKind(Struct, frozen=True):
    """The kind of `object` as sent to the webhook, which the API server may have converted; the core group is empty."""

    group: str = ""
    version: str = ""
    kind: str = ""


class GroupVersionResource(Struct, frozen=True):
    """The resource of the request, in the version that the webhook is registered for; the core group is empty."""

    group: str = ""
    version: str = ""
    resource: str = ""


class UserInfo(Struct, frozen=True):
    """Who writes, as the API server knows them; `extra` is not read."""

    username: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()


class AdmissionRequest(Struct, frozen=True):
    """What is to be decided. `object` is None for DELETE, `old_object` for CREATE."""

    uid: str
    kind: GroupVersionKind = GroupVersionKind()
    resource: GroupVersionResource = GroupVersionResource()
    sub_resource: str = ""
    name: str = ""
    namespace: str = ""
    operation: Literal["CREATE", "UPDATE", "DELETE", "CONNECT"] = "CREATE"
    user_info: UserInfo = UserInfo()
    object: Json | None = None
    old_object: Json | None = None
    dry_run: bool | None = None


class AdmissionReview(Struct, frozen=True):
    """What an API server posts. The answer has the same `api_version`."""

    request: AdmissionRequest
    api_version: str = "admission.k8s.io/v1"


class AdmissionResponse(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict. `code` and `message` matter when it is no; `patch` is a JSON Patch of the object."""

    allowed: bool
    message: str = ""
    code: int = 403
    warnings: Sequence[str] = ()
    patch: Sequence[Json] = ()


def changes_nothing_judged(request: AdmissionRequest) -> bool:
    """Whether this is an update that must pass whatever the object is like: it is being deleted, and has to lose its finalizers,
    or its spec stays as it was."""
    new, old = request.object, request.old_object
    if new is None or old is None:
        return False
    is_deleted = any(
        isinstance(metadata := one.get("metadata"), dict) and metadata.get("deletionTimestamp") for one in (new, old)
    )
    return is_deleted or new.get("spec") == old.get("spec")


def allowed(*, warnings: Sequence[str] = ()) -> AdmissionResponse:
    """The verdict yes, with the object as it is; the writer sees the warnings."""
    return AdmissionResponse(allowed=True, warnings=warnings)


def denied(message: str, *, code: int = 403, warnings: Sequence[str] = ()) -> AdmissionResponse:
    """The writer reads `admission webhook "NAME" denied the request: MESSAGE`."""
    return AdmissionResponse(allowed=False, message=message, code=code, warnings=warnings)


def mutated(before: Json, after: Json) -> AdmissionResponse:
    """Allowed, with `before` changed to `after`."""
    return AdmissionResponse(allowed=True, patch=difference(before, after))


Handler = Callable[[AdmissionRequest], AdmissionResponse | Awaitable[AdmissionResponse]]


class WebhookMetrics(Protocol):
    """Metrics of requests, by path; times are seconds."""

    def began(self, path: str) -> None:
        """Called for each request to a path that is served, before its body is looked at."""

    def answered(self, path: str, code: int, seconds: float) -> None:
        """Called once for each `began`. `code` is that of HTTP: a denial is a 200."""

    def decided(self, path: str, *, is_allowed: bool) -> None:
        """Called with a verdict, before its `answered`; not for what is no AdmissionReview."""


class WebhookServer:
    """Serves `routes` (path to function). `tls` holds the certificate, and may be shared with other servers."""

    def __init__(
        self,
        host: str,
        port: int,
        certificate: KeyPair | Path,
        routes: Mapping[str, Handler],
        *,
        tls: ServingTls | None = None,
        metrics: WebhookMetrics | None = None,
    ) -> None:
        self.host = host
        self.port = port
        self._certificate = certificate
        self._routes = routes
        self._tls = tls or ServingTls()
        self._metrics = metrics
        self._server: HttpServer | None = None

    async def start(self) -> None:
        """Listens; `port` then is the real one. EnvironmentProblem when that, or reading the certificate, fails."""
        self._tls.use(self._certificate)
        server = HttpServer(self.answer, LIMITS, timeouts=TIMEOUTS, accepts=self._accepts)
        try:
            self.port = await server.start(self.host, self.port, self._tls.context)
        except OSError as error:
            raise EnvironmentProblem(
                f"The webhook server cannot listen on {self.host}:{self.port}: {error.strerror or error}.",
                "Choose another --webhook-port.",
            ) from error
        self._server = server

    async def stop(self) -> None:
        """Answers the requests in progress and closes."""
        if self._server is not None:
            server, self._server = self._server, None
            await server.stop(STOP_SECONDS)

    async def run(self) -> None:
        """Serves until cancelled, reloading the certificate; for `Manager.background`. Starts the server unless it is."""
        if self._server is None:
            await self.start()
        try:
            await self._tls.follow()
        finally:
            await self.stop()

    def use(self, pair: KeyPair) -> None:
        """Serves with another certificate from now on; connections that are open keep theirs. EnvironmentProblem when the pair
        cannot be loaded; the one before is then served on."""
        self._tls.use(pair)

    @property
    def certificate(self) -> bytes:
        """The certificate that is served, PEM; empty before the start."""
        return self._tls.certificate

    def why_not_ready(self) -> str:
        """For /readyz."""
        return "" if self._server is not None else "the webhook server does not listen"

    async def _accepts(self, request: Request) -> Response | None:
        return None if request.path in self._routes else _no_such_webhook()

    async def answer(self, request: Request) -> Response:
        """What a request gets, whichever way it came."""
        handler = self._routes.get(request.path)
        if handler is None:
            return _no_such_webhook()
        if self._metrics is None:
            return await self._answered(request, handler)
        self._metrics.began(request.path)
        started, code = time.monotonic(), 500
        try:
            response = await self._answered(request, handler)
            code = response.status
        finally:
            self._metrics.answered(request.path, code, time.monotonic() - started)
        return response

    async def _answered(self, request: Request, handler: Handler) -> Response:
        if request.is_too_large:
            return Response(f"a review may have {MAX_BODY} bytes\n".encode(), status=413)
        try:
            review = _decoder.decode(request.body)
        except (msgspec.DecodeError, RecursionError) as error:
            return Response(f"not an AdmissionReview: {error}\n".encode(), status=400)
        response = await _verdict(request.path, handler, review.request)
        if self._metrics:
            self._metrics.decided(request.path, is_allowed=response.allowed)
        return Response(_encoded(review, response), content_type="application/json")


def _no_such_webhook() -> Response:
    # A newer replica of ours may know it: API servers keep to one connection, and so to one replica, for as long as it lasts. A
    # rollout that brings a kind waits until its first replica has been asked.
    return Response(b"no such webhook\n", status=404, is_last=True)


_decoder = msgspec.json.Decoder(AdmissionReview)


async def _verdict(path: str, handler: Handler, request: AdmissionRequest) -> AdmissionResponse:
    try:
        response = handler(request)
        return await response if inspect.isawaitable(response) else response
    except RecursionError:
        return denied("the object is nested too deeply", code=400)
    except Exception as error:
        log.exception(
            "webhook %s failed for %s %s/%s", path, request.kind.kind, request.namespace, request.name or "(generated name)"
        )
        return denied(f"{type(error).__name__}: {error}", code=500)


def _encoded(review: AdmissionReview, response: AdmissionResponse) -> bytes:
    answer: Json = {"uid": review.request.uid, "allowed": response.allowed}
    if not response.allowed:
        answer["status"] = {
            "status": "Failure",
            "code": response.code,
            "reason": _REASONS.get(response.code, ""),
            "message": response.message,
        }
    if response.warnings:
        answer["warnings"] = list(response.warnings)
    if response.allowed and response.patch:
        answer["patchType"] = "JSONPatch"
        answer["patch"] = base64.b64encode(msgspec.json.encode(response.patch)).decode()
    return msgspec.json.encode({"apiVersion": review.api_version, "kind": "AdmissionReview", "response": answer})
