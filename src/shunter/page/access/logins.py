"""Authentication of viewers: which session a request belongs to. One login for the local page, two in a cluster.

| login | authenticates by | credentials at the API server |
|---|---|---|
| local | a cookie, set for a login code that the terminal printed | the kubeconfig's |
| token | `Authorization: Bearer` of a proxy in front, else a cookie, set for a token entered in a form | that token |
| proxy | user and groups in headers of an authenticated proxy | this process's, impersonating them |

A session is found by a random id, or by a digest of what the proxy sends, so two viewers never share one.
"""

from __future__ import annotations

import dataclasses
import hashlib
import hmac
import re
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from shunter.api.viewers import is_reserved
from shunter.kube.credentials import Impersonated, StaticCredentials, bearer
from shunter.kube.errors import Unauthorized
from shunter.kube.http.request import Request, bearer_token
from shunter.kube.kubeconfig import Connection
from shunter.page.access.guard import Refusal, RefusedError, Settings, cookie_value, new_session_id
from shunter.page.access.sessions import Session, Sessions

SECRET_HEADER = "x-shunter-proxy-secret"
_TOKEN = re.compile(r"[A-Za-z0-9\-._~+/]+=*")


class Login(Protocol):
    """One of these logins."""

    takes_codes: bool
    """Viewers can log in with a code of the terminal."""
    takes_tokens: bool
    """Viewers can log in with a token in the form."""

    async def session(self, request: Request, sessions: Sessions, settings: Settings) -> Session:
        """The session of the request. Raises RefusedError."""

    async def with_token(self, token: str, sessions: Sessions) -> str:
        """The id of a new session. Raises RefusedError."""

    def with_code(self, sessions: Sessions) -> str:
        """The id of a new session. The caller has checked the code. Raises RefusedError."""


class LocalLogin:
    """For processes that can read this user's files."""

    takes_codes, takes_tokens = True, False

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def session(self, request: Request, sessions: Sessions, settings: Settings) -> Session:
        """The session of the cookie. Raises RefusedError (401) if there is none, or it has ended."""
        found = sessions.find(cookie_value(request.headers, settings.cookie))
        if found is None:
            remedy = "Open the link that shunter ui prints; shunter status prints a new one."
            raise RefusedError(Refusal(401, "you are not logged in.", remedy))
        return found

    async def with_token(self, token: str, sessions: Sessions) -> str:
        """Raises RefusedError (404): there is no login with a token."""
        raise RefusedError(Refusal(404, "there is no such page."))

    def with_code(self, sessions: Sessions) -> str:
        """The id of a new session with the kubeconfig's credentials."""
        return _added(sessions, Session(self._connection, sessions.options))


class TokenLogin:
    """For viewers with a token that the API server accepts. The credentials of `connection` are not used."""

    takes_codes, takes_tokens = False, True

    def __init__(self, connection: Connection) -> None:
        self._connection = dataclasses.replace(connection, credentials=StaticCredentials())

    async def session(self, request: Request, sessions: Sessions, settings: Settings) -> Session:
        """The session of the bearer token, created with its first request; without a token, that of the cookie. Raises
        RefusedError (401) if there is neither."""
        authorization = request.headers.get("authorization", "")
        if authorization:
            token = valid_token(bearer_token(authorization))
            return await _known(sessions, f"bearer {_digest(token)}", self._session(token, sessions))
        found = sessions.find(cookie_value(request.headers, settings.cookie))
        if found is None:
            remedy = "Log in with a token, for example of: kubectl create token ACCOUNT"
            raise RefusedError(Refusal(401, "you are not logged in.", remedy, url="/login"))
        return found

    async def with_token(self, token: str, sessions: Sessions) -> str:
        """The id of a new session, which can log out. Raises RefusedError (401) if the API server does not accept the token."""
        session = self._session(valid_token(token.strip()), sessions)
        session.can_log_out = True  # Logging out deletes the cookie; a token from a proxy would come with the next request.
        await _identify(session)
        return _added(sessions, session)

    def with_code(self, sessions: Sessions) -> str:
        """Raises RefusedError (404): there are no login codes."""
        raise RefusedError(Refusal(404, "there is no such page."))

    def _session(self, token: str, sessions: Sessions) -> Session:
        credentials = StaticCredentials(bearer(token))
        return Session(dataclasses.replace(self._connection, credentials=credentials), sessions.options)


class ProxyRules(NamedTuple):
    """How the proxy is authenticated, and which of its headers name the viewer."""

    user_header: str = "kubeflow-userid"
    groups_header: str = ""
    """Empty: viewers have no groups."""
    secret: bytes = b""
    """The value of `X-Shunter-Proxy-Secret`; empty: not checked."""
    needs_certificate: bool = True
    """The proxy needs a client certificate, verified by the server's TLS. If there is a secret as well, both are checked."""


class ProxyLogin:
    """For viewers that a proxy has authenticated."""

    takes_codes, takes_tokens = False, False

    def __init__(self, connection: Connection, rules: ProxyRules) -> None:
        self._connection = connection
        self._rules = rules

    async def session(self, request: Request, sessions: Sessions, settings: Settings) -> Session:
        """The session of the user and groups in the headers. Raises RefusedError if the proxy is not authenticated, or a name is
        not accepted."""
        found = proxied_user(request.headers, request.certificate, self._rules)
        if isinstance(found, Refusal):
            raise RefusedError(found)
        credentials = Impersonated(self._connection.credentials, found.name, groups=found.groups)
        session = Session(dataclasses.replace(self._connection, credentials=credentials), sessions.options, found.name)
        return await _known(sessions, f"proxied {_digest(repr(found))}", session)

    async def with_token(self, token: str, sessions: Sessions) -> str:
        """Raises RefusedError (404): only the proxy logs viewers in."""
        raise RefusedError(Refusal(404, "there is no such page."))

    def with_code(self, sessions: Sessions) -> str:
        """Raises RefusedError (404): only the proxy logs viewers in."""
        raise RefusedError(Refusal(404, "there is no such page."))


class ProxiedUser(NamedTuple):
    """The viewer, as named by the proxy."""

    name: str
    groups: tuple[str, ...] = ()


def proxied_user(headers: Mapping[str, str], certificate: Mapping[str, Any] | None, rules: ProxyRules) -> ProxiedUser | Refusal:
    """The viewer of a request. Pure. Headers that do not come from the authenticated proxy are not trusted."""
    has_secret = hmac.compare_digest(headers.get(SECRET_HEADER, "").encode(), rules.secret) if rules.secret else True
    has_certificate = bool(certificate) or not rules.needs_certificate
    if not (has_secret and has_certificate) or not (rules.secret or rules.needs_certificate):
        return Refusal(401, "this request does not come through the proxy that authenticates viewers.")
    user = headers.get(rules.user_header.lower(), "").strip()
    listed = headers.get(rules.groups_header.lower(), "") if rules.groups_header else ""
    if "," in user or ", " in listed:
        # The server joins the values of a repeated header like this: one of them may have been added by the viewer.
        return Refusal(400, f"the header {rules.user_header} or {rules.groups_header or 'of groups'} came twice.")
    if not user:
        return Refusal(401, f"the proxy names no user in {rules.user_header}.")
    groups = tuple(dict.fromkeys(group.strip() for group in listed.split(",") if group.strip()))
    for name in (user, *groups):
        if is_reserved(name):
            return Refusal(403, f"{name!r} is not accepted from a proxy: names that begin with system: are reserved.")
        if not name.isascii() or not name.isprintable():
            return Refusal(400, "a user or group is not printable ASCII.")
    return ProxiedUser(user, groups)


def valid_token(token: str) -> str:
    """The token, if it has only the characters of a bearer token. Raises RefusedError (401) otherwise."""
    if not _TOKEN.fullmatch(token):
        raise RefusedError(Refusal(401, "this is not a bearer token.", url="/login"))
    return token


async def _known(sessions: Sessions, key: str, fresh: Session) -> Session:
    """The session of this key; if there is none, `fresh`, once the API server has accepted its credentials."""
    found = sessions.find(key)
    if found is None:
        await _identify(fresh)
        found = sessions.find(key)
    if found is None:
        sessions.add(key, fresh)
        found = fresh
    elif fresh is not found:
        fresh.end("logged out")
    return found


async def _identify(session: Session) -> None:
    try:
        await session.identify()
    except Unauthorized:
        session.end("expired")
        refused = Refusal(
            401, "the API server does not accept this token; it may have expired.", "Log in with another.", url="/login"
        )
        raise RefusedError(refused) from None
    except BaseException:
        session.end("expired")
        raise


def _added(sessions: Sessions, session: Session) -> str:
    id = new_session_id()
    sessions.add(id, session)
    return id


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
