"""Sessions of viewers, each with a client that has the viewer's credentials, and the views that are open.

Sessions share nothing: each has its own client, connections, watches and rows. These end 60 seconds after the session's last
stream; the session itself stays for as long as it is used.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import shunter
from shunter.api.meta import Json
from shunter.api.resources import Resource
from shunter.kube.client import Client, connect
from shunter.kube.errors import ApiError, ConnectionProblem, Unauthorized
from shunter.kube.kubeconfig import Connection
from shunter.page.refresh.live import Listener
from shunter.page.refresh.view_refresh import RefreshedView
from shunter.page.views.view import OpenView, PageOptions, Parameters, Viewer
from shunter.page.wire import Session as SessionFacts

log = logging.getLogger(__name__)

REST_SECONDS = 60.0
"""How long after its last stream a session's watches and connections end."""
MOST_STREAMS = 20
MOST_SESSIONS = 200
MOST_REQUESTS = 4
"""How many requests a session sends to the API server at once, besides its watches."""
SELF_REVIEWS = Resource("authentication.k8s.io", "v1", "SelfSubjectReview", "selfsubjectreviews", namespaced=False)


class TooManyStreams(Exception):
    """The session already has `MOST_STREAMS` streams."""


class Session:
    """One viewer."""

    def __init__(self, connection: Connection, options: PageOptions, user: str = "") -> None:
        self.user = user
        self.can_log_out = False
        self.used = time.monotonic()
        self.streams = 0
        self.is_over = False
        self._connection = connection
        self._options = options
        self._client: Client | None = None
        self._views: dict[tuple[str, Parameters], RefreshedView] = {}
        self._resting: asyncio.TimerHandle | None = None
        self._ends: dict[object, Callable[[], None]] = {}

    @property
    def viewer(self) -> Viewer:
        """The viewer with a client, which is created when needed, also again after it was closed for lack of streams."""
        if self._client is None:
            self._client = connect(self._connection, component="shunter-page", max_requests=MOST_REQUESTS)
        return Viewer(self._client, self.user, self._options)

    async def identify(self) -> str:
        """Reads the viewer's name from the API server. Raises Unauthorized (credentials rejected) and ConnectionProblem."""
        body: Json = {"apiVersion": SELF_REVIEWS.api_version, "kind": SELF_REVIEWS.kind}
        try:
            answer: Json = await self.viewer.client.create(SELF_REVIEWS, body)
        except (Unauthorized, ConnectionProblem):
            raise
        except ApiError as problem:
            # Servers before 1.28 do not have it. The name is only shown; nothing depends on it.
            log.debug("the viewer's name is not known: %s", problem)
            return self.user
        self.user = str((answer.get("status") or {}).get("userInfo", {}).get("username") or self.user)
        return self.user

    @property
    def now(self) -> float:
        """The time of the cluster, in seconds since 1970."""
        return self.viewer.client.now().timestamp()

    def facts(self, namespaces: tuple[str, ...] = ()) -> SessionFacts:
        """What the page shows about the session."""
        options = self._options
        return SessionFacts(
            user=self.user,
            cluster=options.cluster,
            is_read_only=options.is_read_only,
            can_log_out=self.can_log_out,
            version=shunter.__version__,
            now=self.now,
            namespaces=namespaces,
            kubectl=options.kubectl,
            options=options.options,
        )

    @asynccontextmanager
    async def stream(self, on_end: Callable[[], None] = lambda: None) -> AsyncIterator[None]:
        """Counts a stream while it is open; `on_end` is called if the session ends before it. Raises TooManyStreams."""
        if self.streams >= MOST_STREAMS:
            raise TooManyStreams
        self.streams += 1
        if self._resting is not None:
            self._resting.cancel()
            self._resting = None
        key = object()
        self._ends[key] = on_end
        try:
            yield
        finally:
            self._ends.pop(key, None)
            self.streams -= 1
            self.used = time.monotonic()
            if not self.streams and not self.is_over:
                self._resting = asyncio.get_running_loop().call_later(REST_SECONDS, self._rest)

    def listen(self, name: str, open_view: OpenView, parameters: Parameters) -> Listener:
        """A listener of a view, which is started unless it already runs. To be called within `stream`; the caller closes it."""
        key = name, parameters
        running = self._views.get(key)
        if running is None:
            viewer = self.viewer
            view = open_view(viewer, parameters)
            running = RefreshedView(view, viewer, parameters, self._options.namespaces, lambda: self.end("expired"))
            self._views[key] = running
            running.start()
        self._close_unseen(besides=key)
        return running.table.listen(lambda: self.facts(running.namespaces))

    def end(self, why: str) -> None:
        """Ends all streams, with this reason, and closes everything of the session."""
        self.is_over = True
        for running in self._views.values():
            running.table.end(why)
        for end in [*self._ends.values()]:
            end()
        self._rest()

    def _close_unseen(self, besides: tuple[str, Parameters]) -> None:
        """Stops other views without listeners, so that a viewer who opens a thousand jobs one by one does not watch all."""
        for key, running in [*self._views.items()]:
            if key != besides and not running.table.listeners:
                running.stop()
                del self._views[key]

    def _rest(self) -> None:
        for running in self._views.values():
            running.stop()
        self._views.clear()
        if self._client is not None:
            client, self._client = self._client, None
            self._closing = asyncio.get_running_loop().create_task(client.close())


class Sessions:
    """All sessions, by the id in a cookie, or by a digest of what a proxy sends."""

    def __init__(self, options: PageOptions) -> None:
        self.options = options
        self._sessions: dict[str, Session] = {}

    def find(self, key: str) -> Session | None:
        """None if it is unknown, has ended, or was not used for `idle_seconds`. Being found counts as use."""
        session = self._sessions.get(key)
        if session is None or session.is_over or self._is_idle(session):
            return None
        session.used = time.monotonic()
        return session

    def add(self, key: str, session: Session) -> None:
        """Adds a session. If there are too many, the one unused for longest ends, those without streams first."""
        self.purge()
        while len(self._sessions) >= MOST_SESSIONS:
            self.remove(
                min(self._sessions, key=lambda one: (self._sessions[one].streams > 0, self._sessions[one].used)), "expired"
            )
        self._sessions[key] = session

    def purge(self) -> None:
        """Removes sessions that have ended or are idle, with their credentials."""
        for key, found in [*self._sessions.items()]:
            if found.is_over or self._is_idle(found):
                self.remove(key, "expired")

    def remove(self, key: str, why: str) -> None:
        """Ends the session of this key, if there is one; its streams end with this reason."""
        if (session := self._sessions.pop(key, None)) is not None:
            session.end(why)

    def forget(self, session: Session) -> None:
        """Removes the session, so that its viewer has to log in again."""
        for key in [key for key, found in self._sessions.items() if found is session]:
            self.remove(key, "logged out")

    def close(self) -> None:
        """Ends all sessions; their streams end with the reason `stopped`."""
        for key in [*self._sessions]:
            self.remove(key, "stopped")

    def __len__(self) -> int:
        return len(self._sessions)

    def _is_idle(self, session: Session) -> bool:
        return not session.streams and time.monotonic() - session.used > self.options.idle_seconds
