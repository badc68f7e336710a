"""The checks of every request: a request and the settings -> a refusal, or None. Pure; the clock is an argument.

What is not explicitly allowed is refused, for every method and route:

    the Host is one of the settings          else 421: another name that resolves to this address means DNS rebinding
    the route and its method exist           else 404, 405
    a request beyond the shell comes
      from the page itself                   else 403: by Sec-Fetch-Site; without it, for POST, by a matching Origin
    a POST is JSON with the page's header    else 403, 415: a form of another site cannot send these
    the request belongs to a session         else 401
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Mapping
from typing import NamedTuple

CODE_SECONDS = 60.0
"""How long a login code is valid."""
ACTING = frozenset(("POST",))
READING = frozenset(("GET", "HEAD"))
OWN_HEADER = ("x-shunter", "page")
JSON_TYPE = "application/json"


class Settings(NamedTuple):
    """How the page is served."""

    hosts: frozenset[str]
    """Accepted values of Host, with the port unless it is the scheme's default."""
    cookie: str
    """The name of the session's cookie."""
    is_secure: bool = False
    """Viewers use https."""
    frame_ancestors: str = "'none'"


class Refusal(NamedTuple):
    """An HTTP status with its message."""

    status: int
    message: str
    remedy: str = ""
    url: str = ""
    """The address of a page that helps, such as the login."""


class RefusedError(Exception):
    """The request is answered with a refusal."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal


class Route(NamedTuple):
    """A method and the paths that it is served at."""

    method: str
    pattern: re.Pattern[str]
    name: str
    is_open: bool = False
    """It shows nothing of the cluster: it needs no session, and other sites may link to it."""


def local_hosts(port: int) -> frozenset[str]:
    """The values of Host for the loopback address: names that DNS cannot redirect."""
    hosts = ("127.0.0.1", "localhost", "[::1]")
    return frozenset((*(f"{host}:{port}" for host in hosts), *(hosts if port == 80 else ())))


def cookie_name(port: int, *, is_secure: bool) -> str:
    """Contains the port, as browsers share cookies between the ports of a host. Browsers accept a name with the prefix `__Host-`
    only over https and without a Domain."""
    return "__Host-shunter" if is_secure else f"shunter-{port}"


def refusal(method: str, headers: Mapping[str, str], route: Route, settings: Settings) -> Refusal | None:
    """The refusal of a request for an existing route, with or without a session; None if it is allowed."""
    site = headers.get("sec-fetch-site", "")
    if route.is_open and method in READING:
        return None
    if method in ACTING:
        if not _is_own_page(headers, site, settings):
            return Refusal(403, "this request does not come from the page itself.")
        if headers.get("content-type", "").partition(";")[0].strip().lower() != JSON_TYPE:
            return Refusal(415, f"the Content-Type must be {JSON_TYPE}.")
        if headers.get(OWN_HEADER[0]) != OWN_HEADER[1]:
            return Refusal(403, "the header X-Shunter: page is missing.")
    elif site not in ("", "same-origin", "none") or ("origin" in headers and not _is_own_origin(headers, settings)):
        return Refusal(403, "this request does not come from the page itself.")
    return None


def refused_host(headers: Mapping[str, str], settings: Settings) -> Refusal | None:
    """The refusal of a request with a foreign Host; the first check."""
    if headers.get("host", "").lower() in settings.hosts:
        return None
    return Refusal(421, "this page is not served under that host name.", "Open the address that shunter ui printed.")


def _is_own_page(headers: Mapping[str, str], site: str, settings: Settings) -> bool:
    if site:
        return site == "same-origin" and ("origin" not in headers or _is_own_origin(headers, settings))
    return _is_own_origin(headers, settings)


def _is_own_origin(headers: Mapping[str, str], settings: Settings) -> bool:
    scheme = "https" if settings.is_secure else "http"
    return headers.get("origin", "").lower() == f"{scheme}://{headers.get('host', '').lower()}"


def cookie_value(headers: Mapping[str, str], name: str) -> str:
    """The cookie's value; empty if there is none, or two of this name: then another site has set one of them."""
    values = [
        value.strip()
        for part in headers.get("cookie", "").split(";")
        for key, _, value in [part.partition("=")]
        if key.strip() == name
    ]
    return values[0] if len(values) == 1 else ""


def set_cookie(settings: Settings, value: str) -> str:
    """The value of the header Set-Cookie; an empty cookie value deletes the cookie."""
    end = "" if value else "; Max-Age=0"
    return f"{settings.cookie}={value}; Path=/; HttpOnly; SameSite=Strict{'; Secure' if settings.is_secure else ''}{end}"


def new_session_id() -> str:
    """256 random bits."""
    return secrets.token_urlsafe(32)


def new_code(key: bytes, now: float) -> str:
    """A login code: time, random bits and a signature with the key."""
    payload = f"{int(now)}.{secrets.token_urlsafe(16)}"
    return f"{payload}.{_signature(key, payload)}"


def is_valid_code(code: str, key: bytes, now: float) -> bool:
    """Whether the code was signed with the key and is not too old. The caller checks that it has not been used."""
    payload, _, signature = code.rpartition(".")
    created = payload.partition(".")[0]
    if not hmac.compare_digest(signature.encode(), _signature(key, payload).encode()) or not created.isdecimal():
        return False
    return 0 <= now - int(created) <= CODE_SECONDS


def _signature(key: bytes, text: str) -> str:
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
