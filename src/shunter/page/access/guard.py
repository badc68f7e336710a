"""Who may ask the page what: a request and the settings in, a refusal or nothing out. Pure; the clock is an argument.

Everything is refused that is not known to be allowed, every method, every route:

    the Host is ours                         else 421: a foreign name that leads here is DNS rebinding
    the route and its method exist           else 404, 405
    what is asked beyond the shell comes
      from our own page                      else 403: Sec-Fetch-Site; without it, for what acts, a matching Origin
    what acts is JSON with our own header    else 403, 415: no form of another page can send that
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
"""How long a login code is good."""
ACTING = frozenset(("POST",))
READING = frozenset(("GET", "HEAD"))
OWN_HEADER = ("x-shunter", "page")
JSON_TYPE = "application/json"


class Settings(NamedTuple):
    """How the page is served."""

    hosts: frozenset[str]
    """Values of Host that are ours, with the port where it is not the scheme's own."""
    cookie: str
    is_secure: bool = False
    """Viewers reach it by https."""
    frame_ancestors: str = "'none'"


class Refusal(NamedTuple):
    """A status and what to say."""

    status: int
    message: str
    remedy: str = ""
    url: str = ""
    """Of the page that helps."""


class RefusedError(Exception):
    """A request that is answered by a refusal."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal


class Route(NamedTuple):
    """What is served at a path."""

    method: str
    pattern: re.Pattern[str]
    name: str
    is_open: bool = False
    """Holds nothing of the cluster: needs no session, and may be asked for from anywhere."""


def local_hosts(port: int) -> frozenset[str]:
    """The names of this machine's own address, which nobody else can give it."""
    hosts = ("127.0.0.1", "localhost", "[::1]")
    return frozenset((*(f"{host}:{port}" for host in hosts), *(hosts if port == 80 else ())))


def cookie_name(port: int, *, is_secure: bool) -> str:
    """Cookies know no ports, so the name does; `__Host-` lets browsers take it from https without a Domain only."""
    return "__Host-shunter" if is_secure else f"shunter-{port}"


def refusal(method: str, headers: Mapping[str, str], route: Route, settings: Settings) -> Refusal | None:
    """Why a request for a route that exists is not answered, whoever asks; None where it may be."""
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
    """Before anything else is looked at."""
    if headers.get("host", "").lower() in settings.hosts:
        return None
    return Refusal(421, "this page is not served under that name.", "Open the address that shunter ui printed.")


def _is_own_page(headers: Mapping[str, str], site: str, settings: Settings) -> bool:
    if site:
        return site == "same-origin" and ("origin" not in headers or _is_own_origin(headers, settings))
    return _is_own_origin(headers, settings)


def _is_own_origin(headers: Mapping[str, str], settings: Settings) -> bool:
    scheme = "https" if settings.is_secure else "http"
    return headers.get("origin", "").lower() == f"{scheme}://{headers.get('host', '').lower()}"


def cookie_value(headers: Mapping[str, str], name: str) -> str:
    """The cookie's value; empty where there is none, or two of that name: then somebody else set one."""
    values = [
        value.strip()
        for part in headers.get("cookie", "").split(";")
        for key, _, value in [part.partition("=")]
        if key.strip() == name
    ]
    return values[0] if len(values) == 1 else ""


def set_cookie(settings: Settings, value: str) -> str:
    """The header that gives it to the browser; an empty value takes it away."""
    end = "" if value else "; Max-Age=0"
    return f"{settings.cookie}={value}; Path=/; HttpOnly; SameSite=Strict{'; Secure' if settings.is_secure else ''}{end}"


def new_session_id() -> str:
    """256 random bits."""
    return secrets.token_urlsafe(32)


def new_code(key: bytes, now: float) -> str:
    """A login code; whoever may read the key can make one."""
    made = f"{int(now)}.{secrets.token_urlsafe(16)}"
    return f"{made}.{_signature(key, made)}"


def is_good_code(code: str, key: bytes, now: float) -> bool:
    """Whether the code was made with the key and is not too old. That it was not used before is the caller's to know."""
    made, _, signature = code.rpartition(".")
    begun = made.partition(".")[0]
    if not hmac.compare_digest(signature.encode(), _signature(key, made).encode()) or not begun.isdecimal():
        return False
    return 0 <= now - int(begun) <= CODE_SECONDS


def _signature(key: bytes, text: str) -> str:
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
