"""The HTTP server of the page: the guard checks every request, then its route answers it.

| route | answer |
|---|---|
| `GET /open?code=` | logs in with a code of the terminal: sets a cookie, redirects to the page |
| `GET /` and each view's address | the shell, which holds no data |
| `GET /assets/...` | files |
| `GET /api/session` | who is logged in |
| `POST /api/login`, `/api/logout` | logs in with a token, in a cluster: sets a cookie; logs out |
| `GET /healthz` | `ok`, without authentication |
| `GET /api/live?view=...` | the event stream of a view (`wire`) |
| `GET /api/logs/NS/KIND/NAME`, `....txt` | log lines as events, or the whole log as a file |
| `GET /api/yaml/NS/KIND/NAME[/pods/POD]` | YAML of a job or pod |
| `GET /api/migration/NS/KIND/NAME` | the migration of one v1 job |
| `POST /api/actions/ACTION` | performs an action |
"""

from __future__ import annotations

import asyncio
import logging
import ssl
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from functools import cached_property
from typing import cast
from urllib.parse import quote

import msgspec

from shunter.api.names import subdomain_faults
from shunter.errors import InputError, ShunterError
from shunter.kube.errors import ApiError, ConnectionProblem, Unauthorized
from shunter.kube.http.limits import Limits
from shunter.kube.http.request import Request
from shunter.kube.http.response import Headers, Response
from shunter.kube.http.server import HttpServer
from shunter.page.access.guard import (
    JSON_TYPE,
    Refusal,
    RefusedError,
    Settings,
    is_valid_code,
    new_code,
    refusal,
    refused_host,
    set_cookie,
)
from shunter.page.access.logins import Login
from shunter.page.access.sessions import Session, Sessions, TooManyStreams
from shunter.page.addresses import ROUTES, job_parameters, log_query, view_parameters
from shunter.page.assets import Assets
from shunter.page.calls import Calls
from shunter.page.refresh.live import Listener, encoded
from shunter.page.streams import EVENT_STREAM, EventStream
from shunter.page.tables import all_calls, view_named
from shunter.page.views.view import OpenView, PageOptions
from shunter.page.wire import ActionName, ActionRequest, Answer, TokenRequest

log = logging.getLogger(__name__)

BODY_LIMIT = 64 * 1024
BEAT_SECONDS = 15.0
PURGE_SECONDS = 60.0
"""How often idle sessions are removed."""
NAME_SECONDS = 5.0
"""Timeout for reading the viewer's name from the API server."""

OpenHandler = Callable[[Request, Mapping[str, str]], Awaitable[Response | None]]
"""Answers without a session. The mapping has the groups of the route's pattern."""
Handler = Callable[[Session, Request, Mapping[str, str]], Awaitable[Response | None]]
"""Answers the viewer of the session. The mapping has the groups of the route's pattern."""


class PageServer:
    """Serves the page until it is stopped."""

    def __init__(
        self,
        login: Login,
        options: PageOptions,
        settings: Callable[[int], Settings],
        *,
        key: bytes = b"",
        view_named: Callable[[str], OpenView | None] = view_named,
        calls: Callable[[], Calls] = all_calls,
    ) -> None:
        """`settings` is called with the port once it is known; `key` signs the login codes of the terminal."""
        assert key or not login.takes_codes, "with an empty key anyone could create a code"
        self.sessions = Sessions(options)
        self._login = login
        self._options = options
        self._settings_of = settings
        self._key = key
        self._view_named = view_named
        self._all_calls = calls
        self._assets = Assets()
        self._used_codes: dict[str, float] = {}
        self._server = HttpServer(self._handle, Limits(body=BODY_LIMIT, held=4 * 2**20, connections=1024))
        self._open_routes: Mapping[str, OpenHandler] = {
            "open": self._open,
            "shell": self._shell,
            "asset": self._asset,
            "login": self._login_with_token,
        }
        self._routes: Mapping[str, Handler] = {
            "session": self._session,
            "logout": self._logout,
            "live": self._live,
            "log_file": self._log_file,
            "logs": self._logs,
            "yaml": self._yaml,
            "job_migration": self._job_migration,
            "act": self._act,
        }

    async def start(self, host: str, port: int, tls: ssl.SSLContext | None = None) -> int:
        """Starts listening, and returns the port. Raises OSError."""
        bound = await self._server.start(host, port, tls)
        self._settings = self._settings_of(bound)
        self._headers = security_headers(self._settings, self._assets.script_hash)
        self._purging = asyncio.get_running_loop().create_task(self._purge())
        return bound

    async def stop(self) -> None:
        """Ends all streams and sessions."""
        self._purging.cancel()
        self.sessions.close()
        await self._server.stop(1.0)

    async def _purge(self) -> None:
        while True:
            await asyncio.sleep(PURGE_SECONDS)
            self.sessions.purge()

    def new_code(self) -> str:
        """A login code, valid once and for a minute."""
        return new_code(self._key, time.time())

    @cached_property
    def _calls(self) -> Calls:
        """Imported when first used."""
        return self._all_calls()

    # Every request.

    async def _handle(self, request: Request) -> Response | None:
        try:
            return await self._answered(request)
        except RefusedError as refused:
            return self._answer(refused.refusal)
        except ApiError as error:
            status = error.code if 400 <= error.code < 500 else 502
            return self._answer(Refusal(status, error.message, error.remedy))
        except ShunterError as error:
            return self._answer(Refusal(400 if isinstance(error, InputError) else 503, error.message, error.remedy))
        except (ConnectionResetError, asyncio.CancelledError):
            raise
        except Exception:
            log.exception("%s %s fails", request.method, request.path)
            return self._answer(Refusal(500, "internal error; see the log of shunter ui."))

    async def _answered(self, request: Request) -> Response | None:
        if request.path == "/healthz":
            return Response(b"ok\n", headers=self._headers)
        if refused := refused_host(request.headers, self._settings):
            raise RefusedError(refused)
        matches = [(route, match) for route in ROUTES if (match := route.pattern.fullmatch(request.path))]
        if not matches:
            raise RefusedError(Refusal(404, "there is no such page."))
        method = "GET" if request.method == "HEAD" and matches[0][0].is_open else request.method
        found = [(route, match) for route, match in matches if route.method == method]
        if not found:
            raise RefusedError(Refusal(405, f"{request.method} is not allowed here."))
        route, match = found[0]
        if refused := refusal(method, request.headers, route, self._settings):
            raise RefusedError(refused)
        if request.is_too_large:
            raise RefusedError(Refusal(413, f"the body has more than {BODY_LIMIT} bytes."))
        if route.name in self._open_routes:
            return await self._open_routes[route.name](request, match.groupdict(""))
        session = await self._login.session(request, self.sessions, self._settings)
        return await self._routes[route.name](session, request, match.groupdict(""))

    def _answer(self, refused: Refusal) -> Response:
        return self._json(Answer(message=refused.message, remedy=refused.remedy, url=refused.url), refused.status)

    def _json(self, value: msgspec.Struct, status: int = 200, headers: Headers = ()) -> Response:
        return Response(
            msgspec.json.encode(value), status=status, content_type=JSON_TYPE, headers=(*self._headers, NO_STORE, *headers)
        )

    # Logging in.

    async def _open(self, request: Request, _: Mapping[str, str]) -> Response:
        now = time.time()
        code = request.query.get("code", "")
        self._used_codes = {used: at for used, at in self._used_codes.items() if now - at < 3600}
        if not self._login.takes_codes or code in self._used_codes or not is_valid_code(code, self._key, now):
            why = "This link has been used, or is older than a minute."
            return self._page(403, why, "Get a new one in a terminal: shunter status")
        self._used_codes[code] = now
        return self._logged_in(self._login.with_code(self.sessions), status=303)

    async def _login_with_token(self, request: Request, _: Mapping[str, str]) -> Response:
        if not self._login.takes_tokens:
            raise RefusedError(Refusal(404, "there is no such page."))
        try:
            token = msgspec.json.decode(request.body, type=TokenRequest).token
        except (msgspec.DecodeError, RecursionError):
            raise RefusedError(Refusal(400, "the body is not a token.")) from None
        return self._logged_in(await self._login.with_token(token, self.sessions))

    def _logged_in(self, id: str, status: int = 200) -> Response:
        cookie = ("Set-Cookie", set_cookie(self._settings, id))
        if status == 200:
            return self._json(Answer(message="logged in", url=self._options.home), headers=(cookie,))
        return Response(status=status, headers=(*self._headers, NO_STORE, ("Location", self._options.home), cookie))

    def _page(self, status: int, *sentences: str) -> Response:
        text = "".join(f"<p>{sentence}</p>" for sentence in sentences)
        body = f"<!doctype html><meta charset=utf-8><title>Shunter</title>{text}".encode()
        return Response(body, status=status, content_type="text/html; charset=utf-8", headers=(*self._headers, NO_STORE))

    async def _session(self, session: Session, request: Request, _: Mapping[str, str]) -> Response:
        await self._identify(session)
        return self._json(session.facts())

    async def _identify(self, session: Session) -> None:
        """Reads the viewer's name if it is not known yet. Raises RefusedError (401) if the API server rejects the viewer."""
        if session.user:
            return
        try:
            async with asyncio.timeout(NAME_SECONDS):
                await session.identify()
        except (ConnectionProblem, TimeoutError) as problem:
            log.debug("the viewer's name is not known: %s", problem)
        except Unauthorized as error:
            raise RefusedError(Refusal(401, "the API server rejects the credentials of this viewer.", error.remedy)) from error

    async def _logout(self, session: Session, request: Request, _: Mapping[str, str]) -> Response:
        self.sessions.forget(session)
        return self._json(Answer(message="logged out"), headers=(("Set-Cookie", set_cookie(self._settings, "")),))

    # The page's files.

    async def _shell(self, request: Request, _: Mapping[str, str]) -> Response:
        return self._file(request, self._assets.shell.body, self._assets.shell.content_type, self._assets.shell.etag)

    async def _asset(self, request: Request, match: Mapping[str, str]) -> Response:
        asset = self._assets.files.get(match["path"])
        if asset is None:
            raise RefusedError(Refusal(404, "there is no such file."))
        is_gzipped = "gzip" in request.headers.get("accept-encoding", "") and bool(asset.gzipped)
        encoding: Headers = (("Content-Encoding", "gzip"),) if is_gzipped else ()
        return self._file(request, asset.gzipped if is_gzipped else asset.body, asset.content_type, asset.etag, encoding)

    def _file(self, request: Request, body: bytes, content_type: str, etag: str, encoding: Headers = ()) -> Response:
        headers = (*self._headers, ("Cache-Control", "no-cache"), ("ETag", etag), ("Vary", "Accept-Encoding"))
        if etag in request.headers.get("if-none-match", ""):
            return Response(status=304, headers=headers)
        return Response(body, content_type=content_type, headers=(*headers, *encoding))

    # Streams.

    async def _live(self, session: Session, request: Request, _: Mapping[str, str]) -> Response | None:
        name = request.query.get("view", "")
        parameters = view_parameters(request.query_string)
        open_view = self._view_named(name)
        if open_view is None:
            raise RefusedError(Refusal(404, f"there is no view {name[:40]!r}."))
        await self._identify(session)
        try:
            async with session.stream():
                listener = session.listen(name, open_view, parameters)
                try:
                    stream = EventStream(request, (*self._headers, NO_STORE), packs=self._settings.is_secure)
                    await self._send_events(session, listener, stream)
                finally:
                    listener.close()
        except TooManyStreams:
            stream = EventStream(request, (*self._headers, NO_STORE))
            await stream.write(encoded(("end", {"why": "too many streams"})))
            await stream.end()
        return None

    async def _send_events(self, session: Session, listener: Listener, stream: EventStream) -> None:
        """Sends the events of the listener until the session ends, and a beat after `BEAT_SECONDS` without any."""
        with stream.cut_on_error():
            sent = time.monotonic()
            while True:
                await listener.wait(max(sent + BEAT_SECONDS - time.monotonic(), 0))
                events = listener.take(time.time())
                if not events:
                    if time.monotonic() - sent < BEAT_SECONDS:
                        continue
                    events = [("beat", {"now": session.now})]
                await stream.write(b"".join(map(encoded, events)))
                sent = time.monotonic()
                if events[-1][0] == "end":
                    await stream.end()
                    return

    async def _logs(self, session: Session, request: Request, match: Mapping[str, str]) -> Response | None:
        lines = self._calls.follow_logs(session.viewer, job_parameters(match), log_query(request.query_string))
        return await self._send_pieces(
            session, request, EVENT_STREAM, (encoded(("lines", each)) async for each in lines), end=encoded(("end", {}))
        )

    async def _log_file(self, session: Session, request: Request, match: Mapping[str, str]) -> Response | None:
        job = job_parameters(match)
        text = self._calls.log_file(session.viewer, job, log_query(request.query_string))
        name = quote(f"{job.namespace}-{job.name}.log")
        attachment = ("Content-Disposition", f'attachment; filename="{name}"')
        return await self._send_pieces(session, request, "text/plain; charset=utf-8", text, headers=(attachment,))

    async def _send_pieces(
        self,
        session: Session,
        request: Request,
        content_type: str,
        pieces: AsyncGenerator[bytes],
        *,
        end: bytes = b"",
        headers: Headers = (),
    ) -> Response | None:
        """Sends the pieces as they come. The head goes with the first piece, so that an error before it has its own status."""
        task = asyncio.current_task()

        def cancel() -> None:
            if task is not None:
                task.cancel()

        try:
            async with session.stream(on_end=cancel), aclosing(pieces):
                first = await anext(pieces, b"")
                stream = EventStream(request, (*self._headers, NO_STORE, *headers), content_type=content_type)
                with stream.cut_on_error():
                    await stream.write(first)
                    async for piece in pieces:
                        await stream.write(piece)
                    await stream.write(end)
                    await stream.end()
        except TooManyStreams:
            raise RefusedError(Refusal(429, "this viewer has too many streams open.", "Close a tab.")) from None
        return None

    # Single requests.

    async def _yaml(self, session: Session, request: Request, match: Mapping[str, str]) -> Response:
        pod = match["pod"]
        if pod and subdomain_faults(pod):
            raise RefusedError(Refusal(400, f"{pod[:80]!r} is not the name of a pod."))
        reveal = request.query.get("reveal") == "true"
        text = await self._calls.yaml(session.viewer, job_parameters(match), pod, reveal=reveal)
        return Response(text.encode(), content_type="text/plain; charset=utf-8", headers=(*self._headers, NO_STORE))

    async def _job_migration(self, session: Session, request: Request, match: Mapping[str, str]) -> Response:
        return self._json(await self._calls.job_migration(session.viewer, job_parameters(match)))

    async def _act(self, session: Session, request: Request, match: Mapping[str, str]) -> Response:
        if self._options.is_read_only:
            raise RefusedError(Refusal(403, "this page was started with --read-only."))
        try:
            asked = msgspec.json.decode(request.body, type=ActionRequest)
        except (msgspec.DecodeError, RecursionError) as error:
            raise RefusedError(Refusal(400, f"the body is not an action: {error}.")) from error
        job_parameters({"namespace": asked.namespace, "kind": asked.kind, "name": asked.name})
        action = cast("ActionName", match["action"])  # The route takes no others.
        return self._json(await self._calls.act(session.viewer, action, asked))


NO_STORE = ("Cache-Control", "no-store")


def security_headers(settings: Settings, script_hash: str) -> Headers:
    """The headers of every answer."""
    policy = (
        f"default-src 'none'; script-src 'self' {script_hash}; style-src 'self'; img-src 'self' data:; font-src 'self'; "
        f"connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors {settings.frame_ancestors}; "
        "require-trusted-types-for 'script'; trusted-types 'none'"
    )
    return (
        ("Content-Security-Policy", policy),
        ("X-Content-Type-Options", "nosniff"),
        ("Referrer-Policy", "no-referrer"),
        ("Cross-Origin-Resource-Policy", "same-origin"),
        ("Cross-Origin-Opener-Policy", "same-origin"),
    )
