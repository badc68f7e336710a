"""Addresses of the page: its routes, and the checks of their parameters. Pure. Only valid names reach the API server."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import get_args
from urllib.parse import parse_qsl

from shunter.api.names import label_faults, subdomain_faults
from shunter.page.access.guard import Refusal, RefusedError, Route
from shunter.page.calls import LogQuery
from shunter.page.tables import shown_kinds
from shunter.page.views.view import Parameters
from shunter.page.wire import ActionName

QUERY_LIMIT = 16_000
"""Characters."""
MOST_NAMESPACES = 50
"""The limit of one stream: each namespace is watched for each kind of job."""

_JOB = r"/(?P<namespace>[^/]+)/(?P<kind>[^/]+)/(?P<name>[^/]+)"


def _route(method: str, pattern: str, name: str, *, is_open: bool = False) -> Route:
    return Route(method, re.compile(pattern), name, is_open)


ROUTES = (
    _route("GET", r"/open", "open", is_open=True),
    _route("GET", r"/(jobs|migration)?|/cluster|/login|/(jobs|migration)/[^/]+/[^/]+/[^/]+", "shell", is_open=True),
    _route("GET", r"/assets/(?P<path>.+)", "asset", is_open=True),
    _route("GET", r"/api/session", "session"),
    _route("POST", r"/api/login", "login"),
    _route("POST", r"/api/logout", "logout"),
    _route("GET", r"/api/live", "live"),
    _route("GET", rf"/api/logs{_JOB}\.txt", "log_file"),
    _route("GET", rf"/api/logs{_JOB}", "logs"),
    _route("GET", rf"/api/yaml{_JOB}(/pods/(?P<pod>[^/]+))?", "yaml"),
    _route("GET", rf"/api/migration{_JOB}", "job_migration"),
    _route("POST", rf"/api/actions/(?P<action>{'|'.join(get_args(ActionName))})", "act"),
)


def view_parameters(query: str) -> Parameters:
    """The parameters in a stream's address. Raises RefusedError for an invalid name."""
    pairs = _pairs(query)
    namespaces = tuple(dict.fromkeys(value for name, value in pairs if name == "namespace" and value))
    if len(namespaces) > MOST_NAMESPACES:
        message = f"the address names {len(namespaces)} namespaces; at most {MOST_NAMESPACES} are shown at once."
        raise RefusedError(Refusal(400, message, "Name fewer, or none to see all that you may list."))
    values = dict(reversed(pairs))
    return _checked(Parameters(namespaces, values.get("kind", ""), values.get("name", "")))


def job_parameters(match: Mapping[str, str]) -> Parameters:
    """The parameters in a path. Raises RefusedError for an invalid or missing name."""
    found = Parameters((match["namespace"],), match["kind"], match["name"])
    if not all((found.namespace, found.kind, found.name)):
        raise RefusedError(Refusal(400, "namespace, kind and name of the job are needed."))
    return _checked(found)


def log_query(query: str) -> LogQuery:
    """The query of a log. Raises RefusedError for a value that is not a number."""
    values = dict(reversed(_pairs(query)))
    ranks, since = values.get("ranks", ""), values.get("since", "") or "0"
    numbers = [each for each in ranks.split(",") if each]
    if not all(each.isascii() and each.isdecimal() and len(each) < 8 for each in [*numbers, since]):
        raise RefusedError(Refusal(400, "ranks and since are whole numbers."))
    return LogQuery(frozenset(map(int, numbers)), int(since), values.get("find", ""), values.get("follow") == "true")


def _pairs(query: str) -> list[tuple[str, str]]:
    if len(query) > QUERY_LIMIT:
        raise RefusedError(Refusal(400, "the address is too long."))
    return parse_qsl(query, keep_blank_values=True)


def _checked(found: Parameters) -> Parameters:
    for namespace in found.namespaces:
        if label_faults(namespace):
            raise RefusedError(Refusal(400, f"{namespace[:80]!r} is not the name of a namespace."))
    if found.kind and found.kind not in (kinds := shown_kinds()):
        raise RefusedError(Refusal(400, f"{found.kind[:80]!r} is not a kind of job.", f"It is one of {', '.join(kinds)}."))
    if found.name and subdomain_faults(found.name):
        raise RefusedError(Refusal(400, f"{found.name[:80]!r} is not the name of a job."))
    return found
