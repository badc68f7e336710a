"""The HTTPS server for progress reports: one path, the answers of upstream's (Trainer v2.3 `pkg/statusserver`).

Checked in this order: Content-Length, path and method, token, body. Every refusal is a Status without kind.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Callable
from logging import getLogger
from typing import NamedTuple, Protocol

import msgspec

from shunter.api.meta import Json
from shunter.errors import EnvironmentProblem
from shunter.kube.controllers.plan import Key
from shunter.kube.errors import ApiError, BadRequest, Invalid, NotFound
from shunter.kube.http.limits import Limits, Timeouts
from shunter.kube.http.request import Request, bearer_token
from shunter.kube.http.response import Headers, Response
from shunter.kube.http.server import HttpServer
from shunter.operator.trainer.statusserver.place import job_of
from shunter.operator.trainer.statusserver.report import BadReport, parsed
from shunter.operator.trainer.statusserver.tokens import TokenReviewer
from shunter.operator.trainer.statusserver.writes import StatusWriter, TooManyReportsError

log = getLogger(__name__)

BODY_LIMIT = 65536
LIMITS = Limits(body=BODY_LIMIT, held=16 * 2**20)
TIMEOUTS = Timeouts(body=10.0, idle=120.0)
ANSWER_SECONDS = 10.0
"""How long a report may wait for the API server."""
STOP_SECONDS = 5.0
JOB_RATE = 500.0
"""Reports a second of one job, on average; after a pause twice as many at once."""


class Refusal(NamedTuple):
    """The answer to a report that is refused."""

    code: int
    reason: str
    message: str
    headers: Headers = ()


class RefusedError(Exception):
    """Raised while a report is handled: `refusal` becomes its answer."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal


NOT_FOUND = Refusal(404, "NotFound", "Not found")
FORBIDDEN = Refusal(403, "Forbidden", "Forbidden")
TOO_LARGE = Refusal(413, "RequestEntityTooLarge", "Payload too large")
INVALID = Refusal(422, "Invalid", "Invalid payload")
NO_SUCH_JOB = Refusal(404, "NotFound", "Train job not found")
INTERNAL = Refusal(500, "InternalError", "Internal error")
BUG = Refusal(500, "InternalError", "Internal Server Error")
TOO_MANY = Refusal(429, "TooManyRequests", "Too many reports of this job", (("Retry-After", "1"),))


class StatusMetrics(Protocol):
    """Metrics of answers."""

    def answered(self, code: int, seconds: float) -> None:
        """An answer with this HTTP code after so many seconds. Refusals before the body is read are not counted."""


class StatusServer:
    """Serves on one address, with the current certificate of `tls`."""

    def __init__(
        self,
        host: str,
        port: int,
        tls: ssl.SSLContext,
        tokens: TokenReviewer,
        writer: StatusWriter,
        *,
        metrics: StatusMetrics | None = None,
    ) -> None:
        self.host = host
        self.port = port
        self._tls = tls
        self._tokens = tokens
        self._writer = writer
        self._metrics = metrics
        self._rates = Rates(JOB_RATE)
        self._server: HttpServer | None = None

    async def start(self) -> None:
        """Listens; `port` then is the real one. EnvironmentProblem when the port is taken."""
        server = HttpServer(self._serve, LIMITS, timeouts=TIMEOUTS, accepts=self._accepts)
        try:
            self.port = await server.start(self.host, self.port, self._tls)
        except OSError as error:
            raise EnvironmentProblem(
                f"The status server cannot listen on {self.host}:{self.port}: {error.strerror or error}.",
                "Choose another statusServer.port in the configuration file.",
            ) from error
        self._server = server

    async def run(self) -> None:
        """Serves until cancelled; for `Manager.background`. Acknowledged reports are written before it returns."""
        if self._server is None:
            await self.start()
        try:
            await asyncio.Event().wait()
        finally:
            await self.stop()

    async def stop(self) -> None:
        """Accepts no more reports, waits up to `STOP_SECONDS` for those in progress, and writes the acknowledged ones. Does
        nothing if the server does not listen."""
        if self._server is not None:
            server, self._server = self._server, None
            await server.stop(STOP_SECONDS)
            await self._writer.close()

    def why_not_ready(self) -> str:
        """Why /readyz fails; empty while the server listens."""
        return "" if self._server is not None else "the status server does not listen"

    async def _accepts(self, request: Request) -> Response | None:
        """A refusal that can be decided from the head, before the body is read."""
        try:
            await self._reported_job(request)
        except RefusedError as error:
            return _refused(error.refusal)
        return None

    async def _serve(self, request: Request) -> Response:
        started = time.monotonic()
        try:
            response = _answer(200, await self._reported(request))
        except RefusedError as error:
            response = _refused(error.refusal)
        except Exception:
            log.exception("internal error while handling a report")
            response = _refused(BUG)
        if self._metrics:
            self._metrics.answered(response.status, time.monotonic() - started)
        return response

    async def _reported(self, request: Request) -> Json:
        """The body of the answer. Raises RefusedError."""
        key = await self._reported_job(request)
        if not self._rates.allows(key):
            raise RefusedError(TOO_MANY)
        if request.is_too_large:
            raise RefusedError(INVALID)
        try:
            status = parsed(request.body)
        except BadReport as error:
            raise RefusedError(INVALID) from error
        if status is None:
            return {}
        await self._write(key, status)
        return {"trainerStatus": status}

    async def _reported_job(self, request: Request) -> Key:
        """The job that the client may report about. Raises RefusedError."""
        length = request.headers.get("content-length", "")
        if length.isdecimal() and int(length) > BODY_LIMIT:
            raise RefusedError(TOO_LARGE)
        job = job_of(request.path) if request.method == "POST" else None
        if job is None:
            raise RefusedError(NOT_FOUND)
        key = Key(*job)
        await self._check_bearer(request.headers.get("authorization", ""), key)
        return key

    async def _check_bearer(self, authorization: str, key: Key) -> None:
        token = bearer_token(authorization)
        if not token:
            raise RefusedError(FORBIDDEN)
        try:
            if not await self._tokens.may_report(token, *key):
                raise RefusedError(FORBIDDEN)
        except ApiError as error:
            log.warning("the token review by the API server failed: %s %s", error.message, error.remedy)
            raise RefusedError(INTERNAL) from error

    async def _write(self, key: Key, status: Json) -> None:
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                await self._writer.report(key, status)
        except (Invalid, BadRequest) as error:
            raise RefusedError(Refusal(422, "Invalid", error.message)) from error
        except NotFound as error:
            raise RefusedError(NO_SUCH_JOB) from error
        except TooManyReportsError as error:
            raise RefusedError(TOO_MANY) from error
        except (ApiError, TimeoutError) as error:
            log.warning("the status of TrainJob %s could not be written: %s", key, error or "no answer in time")
            raise RefusedError(INTERNAL) from error


class _Bucket(NamedTuple):
    tokens: float
    at: float


class Rates:
    """How many requests each job may send. A job that pauses long enough to have all of its allowance back is forgotten."""

    def __init__(self, rate: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._most = 2 * rate
        self._clock = clock
        self._buckets: dict[Key, _Bucket] = {}
        self._swept_at = clock()

    def allows(self, key: Key) -> bool:
        """Whether the job may send a request now, which then counts; one that is refused does not."""
        now = self._clock()
        self._sweep(now)
        bucket = self._buckets.get(key, _Bucket(self._most, now))
        tokens = min(bucket.tokens + (now - bucket.at) * self._rate, self._most)
        self._buckets[key] = _Bucket(tokens - 1 if tokens >= 1 else tokens, now)
        return tokens >= 1

    def _sweep(self, now: float) -> None:
        full_after = self._most / self._rate
        if now - self._swept_at > full_after:
            self._buckets = {key: bucket for key, bucket in self._buckets.items() if now - bucket.at < full_after}
            self._swept_at = now


def _answer(code: int, body: Json, headers: Headers = ()) -> Response:
    return Response(msgspec.json.encode(body), status=code, content_type="application/json", headers=headers)


def _refused(refusal: Refusal) -> Response:
    status = {"status": "Failure", "message": refusal.message, "reason": refusal.reason, "code": refusal.code}
    return _answer(refusal.code, {"metadata": {}, **status}, refusal.headers)
