"""How a request shows whose it is, and how that becomes a session: one way for a laptop, two in a cluster.

| way | whose it is | asks the API server as |
|---|---|---|
| local | a cookie, got for a login code that the terminal printed | the kubeconfig's user |
| token | `Authorization: Bearer` of a proxy in front, else a cookie, got for a token typed into a form | that token |
| proxy | user and groups in headers of a proxy that proves itself | this process, impersonating them |

A session is found by a random id, or by a digest of what the proxy says: two viewers never find the same one.
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
from shunter.kube.http.request import Request
from shunter.kube.kubeconfig import Connection
from shunter.page.access.guard import Refusal, RefusedError, Settings, cookie_value, new_session_id
from shunter.page.access.sessions import Session, Sessions

SECRET_HEADER = "x-shunter-proxy-secret"
_TOKEN = re.compile(r"[A-Za-z0-9\-._~+/]+=*")
_BEARER = re.compile(r"bearer +(.+)", re.IGNORECASE)


class Login(Protocol):
    """One of these ways."""

    takes_codes: bool
    """Codes of the terminal log in."""
    takes_tokens: bool
    """Tokens typed into the form log in."""

    async def session(self, request: Request, sessions: Sessions, settings: Settings) -> Session:
        """Whose the request is. Raises RefusedError."""

    async def with_token(self, token: str, sessions: Sessions) -> str:
        """The id of a new session. Raises RefusedError."""

    def with_code(self, sessions: Sessions) -> str:
        """The id of a new session; the code was good. Raises RefusedError."""


class LocalLogin:
    """For who may read this user's files, and nobody else."""

    takes_codes, takes_tokens = True, False

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def session(self, request: Request, sessions: Sessions, settings: Settings) -> Session:
        """The session of the cookie. RefusedError (401) where it is of none, or of one that is over."""
        found = sessions.find(cookie_value(request.headers, settings.cookie))
        if found is None:
            remedy = "Open the link that shunter ui prints; shunter status prints a new one."
            raise RefusedError(Refusal(401, "you are not logged in.", remedy))
        return found

    async def with_token(self, token: str, sessions: Sessions) -> str:
        """Always RefusedError (404): nobody logs in with a token here."""
        raise RefusedError(Refusal(404, "there is no such page."))

    def with_code(self, sessions: Sessions) -> str:
        """The id of a new session, which asks with the kubeconfig's credentials."""
        return _added(sessions, Session(self._connection, sessions.options))


class TokenLogin:
    """For who has a token that the API server knows. `connection` says where it is; its credentials are not used."""

    takes_codes, takes_tokens = False, True

    def __init__(self, connection: Connection) -> None:
        self._connection = dataclasses.replace(connection, credentials=StaticCredentials())

    async def session(self, request: Request, sessions: Sessions, settings: Settings) -> Session:
        """That of the bearer token, made at its first request; without a token that of the cookie. RefusedError (401) for
        neither."""
        authorization = request.headers.get("authorization", "")
        if authorization:
            token = bearer_token(authorization)
            return await _known(sessions, f"bearer {_digest(token)}", self._session(token, sessions))
        found = sessions.find(cookie_value(request.headers, settings.cookie))
        if found is None:
            remedy = "Log in with a token, for example of: kubectl create token ACCOUNT"
            raise RefusedError(Refusal(401, "you are not logged in.", remedy, url="/login"))
        return found

    async def with_token(self, token: str, sessions: Sessions) -> str:
        """The id of a new session, once the API server knows the token; RefusedError (401) where it does not. The session can log
        out."""
        session = self._session(bearer_token(f"Bearer {token.strip()}"), sessions)
        session.can_log_out = True  # The cookie that is made of it goes; a token that a proxy sends comes again.
        await _identify(session)
        return _added(sessions, session)

    def with_code(self, sessions: Sessions) -> str:
        """Always RefusedError (404): no code is given out here."""
        raise RefusedError(Refusal(404, "there is no such page."))

    def _session(self, token: str, sessions: Sessions) -> Session:
        credentials = StaticCredentials(bearer(token))
        return Session(dataclasses.replace(self._connection, credentials=credentials), sessions.options)


class ProxyRules(NamedTuple):
    """How the proxy in front proves itself, and in which headers it says who the viewer is."""

    user_header: str = "kubeflow-userid"
    groups_header: str = ""
    """Empty: viewers have no groups."""
    secret: bytes = b""
    """What `X-Shunter-Proxy-Secret` must be; empty: anything."""
    needs_certificate: bool = True
    """A client certificate that the server's TLS has verified proves it. Where there is a secret as well, both must be right."""


class ProxyLogin:
    """For who a proxy says they are."""

    takes_codes, takes_tokens = False, False

    def __init__(self, connection: Connection, rules: ProxyRules) -> None:
        self._connection = connection
        self._rules = rules

    async def session(self, request: Request, sessions: Sessions, settings: Settings) -> Session:
        """That of the user and groups in the headers. RefusedError where the proxy's proof is missing, or the names are not
        taken."""
        found = proxied_user(request.headers, request.certificate, self._rules)
        if isinstance(found, Refusal):
            raise RefusedError(found)
        credentials = Impersonated(self._connection.credentials, found.name, groups=found.groups)
        session = Session(dataclasses.replace(self._connection, credentials=credentials), sessions.options, found.name)
        return await _known(sessions, f"proxied {_digest(repr(found))}", session)

    async def with_token(self, token: str, sessions: Sessions) -> str:
        """Always RefusedError (404): nobody logs in here but by the proxy."""
        raise RefusedError(Refusal(404, "there is no such page."))

    def with_code(self, sessions: Sessions) -> str:
        """Always RefusedError (404): nobody logs in here but by the proxy."""
        raise RefusedError(Refusal(404, "there is no such page."))


class ProxiedUser(NamedTuple):
    """Whom the proxy names."""

    name: str
    groups: tuple[str, ...] = ()


def proxied_user(headers: Mapping[str, str], certificate: Mapping[str, Any] | None, rules: ProxyRules) -> ProxiedUser | Refusal:
    """Whom a request is of. Pure. Headers without the proxy's proof say nothing, whatever is in them."""
    has_secret = hmac.compare_digest(headers.get(SECRET_HEADER, "").encode(), rules.secret) if rules.secret else True
    has_certificate = bool(certificate) or not rules.needs_certificate
    if not (has_secret and has_certificate) or not (rules.secret or rules.needs_certificate):
        return Refusal(401, "this request does not come through the proxy that knows the viewers.")
    user = headers.get(rules.user_header.lower(), "").strip()
    listed = headers.get(rules.groups_header.lower(), "") if rules.groups_header else ""
    if "," in user or ", " in listed:
        # Values of a header that came twice are joined so: then one of them may be the viewer's own.
        return Refusal(400, f"the header {rules.user_header} or {rules.groups_header or 'of groups'} came twice.")
    if not user:
        return Refusal(401, f"the proxy names no user in {rules.user_header}.")
    groups = tuple(dict.fromkeys(group.strip() for group in listed.split(",") if group.strip()))
    for name in (user, *groups):
        if is_reserved(name):
            return Refusal(403, f"{name!r} is not taken from a proxy: names that begin with system: are the cluster's own.")
        if not name.isascii() or not name.isprintable():
            return Refusal(400, "a user or group is not printable ASCII.")
    return ProxiedUser(user, groups)


def bearer_token(authorization: str) -> str:
    """Raises RefusedError for what is no token."""
    found = _BEARER.fullmatch(authorization)
    if found is None or not _TOKEN.fullmatch(found[1]):
        raise RefusedError(Refusal(401, "this is no bearer token.", url="/login"))
    return found[1]


async def _known(sessions: Sessions, key: str, fresh: Session) -> Session:
    """The session of this key; a fresh one, once the API server knows its viewer, if there is none."""
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
            401, "the API server does not know this token, or it has expired.", "Log in with another.", url="/login"
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
