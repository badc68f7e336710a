"""One request as a value: user, verb, target and options. Only parsing; nothing here answers.

Source: k8s.io/apiserver `endpoints/request` (paths and verbs), meta/v1 `ListOptions`, `CreateOptions`, ... (query parameters).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from shunter.api.field_errors import FieldError, required
from shunter.api.field_errors import invalid as invalid_field
from shunter.api.formats.digits import integer
from shunter.api.formats.go_values import go_quoted
from shunter.api.meta import Json
from shunter.cluster.apiserver.status import bad_request, invalid, plain
from shunter.kube.http.request import flag


class User(NamedTuple):
    """Who asks, as the authenticator found out."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: Mapping[str, tuple[str, ...]] = {}

    @property
    def is_admin(self) -> bool:
        """Whether everything is allowed, without any role: to members of `system:masters`."""
        return "system:masters" in self.groups


class Target(NamedTuple):
    """What a path names. A path outside /api and /apis has no target."""

    group: str
    version: str
    plural: str = ""
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    is_watch: bool = False
    """Whether it is one of the older paths, `/api/v1/watch/...`, which watch without `watch=true`."""


_NAMESPACE_SUBRESOURCES = ("status", "finalize")


@lru_cache(maxsize=1024)
def target(path: str) -> Target | None:
    """`/apis/GROUP/VERSION/namespaces/NAMESPACE/PLURAL/NAME/SUBRESOURCE` taken apart, also with `watch` after the version.

    None for other paths.
    """
    parts = [part for part in path.split("/") if part]
    if len(parts) >= 2 and parts[0] == "api":
        group, version, rest = "", parts[1], parts[2:]
    elif len(parts) >= 3 and parts[0] == "apis":
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        return None
    is_watch = rest[:1] == ["watch"]
    if is_watch:
        rest = rest[1:]
    namespace = ""
    if rest[:1] == ["namespaces"] and len(rest) > 2 and not (len(rest) == 3 and rest[2] in _NAMESPACE_SUBRESOURCES):
        namespace, rest = rest[1], rest[2:]
    plural, name = (rest[0] if rest else ""), (rest[1] if len(rest) > 1 else "")
    return Target(group, version, plural, namespace, name, "/".join(rest[2:]), is_watch)


def verb(method: str, target: Target, *, watch: bool) -> str:
    """The verb that authorization, metrics and admission speak of."""
    if target.is_watch:
        return "watch"
    match method:
        case "GET" | "HEAD":
            if target.name:
                return "get"
            return "watch" if watch else "list"
        case "POST":
            return "create"
        case "PUT":
            return "update"
        case "PATCH":
            return "patch"
        case "DELETE":
            return "delete" if target.name else "deletecollection"
        case _:
            return method.lower()


Query = Mapping[str, str]


_INTEGER = re.compile(r"[+-]?[0-9]+")


def number(query: Query, name: str) -> int | None:
    """A whole number of 64 bits; None where it is not given. Raises 400."""
    text = query.get(name)
    if text is None:
        return None
    value = integer(text)
    if value is None:
        why = "value out of range" if _INTEGER.fullmatch(text) else "invalid syntax"
        raise bad_request(f"strconv.ParseInt: parsing {go_quoted(text)}: {why}")
    return value


def revision(text: str, *, watch: bool) -> int:
    """A resourceVersion of a query; 0 for none."""
    if not text:
        return 0
    if why := unsigned_fault(text):
        fault = f'resourceVersion: Invalid value: "{text}": {why}'
        raise plain(500, fault) if watch else bad_request(f"invalid resource version: {fault}")
    return int(text)


def revision_to_replace(metadata: Json) -> int:
    """The resourceVersion that an object to be written says it replaces; 0 for none. Raises 500."""
    text = metadata.get("resourceVersion", "")
    if text and (fault := unsigned_fault(text)):
        raise plain(500, fault)
    return int(text or 0)


def unsigned_fault(text: str) -> str:
    """Go's error for a text that is not a number of 64 bits without a sign; empty for such a number."""
    is_number = text.isascii() and text.isdecimal()
    if is_number and len(text.lstrip("0")) <= 20 and int(text) < 2**64:
        return ""
    return f'strconv.ParseUint: parsing "{text}": {"value out of range" if is_number else "invalid syntax"}'


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteOptions:
    """CreateOptions, UpdateOptions and PatchOptions in one."""

    dry_run: bool
    manager: str
    strictness: str
    """`Strict`, `Warn` or `Ignore`."""
    force: bool = False


def write_options(query: Query, user_agent: str, kind: str, *, applies: bool = False) -> WriteOptions:
    """The options of a write; `kind` (CreateOptions, ...) is named when they are refused with 422."""
    errors: list[FieldError] = []
    manager = query.get("fieldManager", "")
    if applies and not manager:
        errors.append(required("fieldManager", "is required for apply patch"))
    if kind == "PatchOptions" and not applies and "force" in query:
        errors.append(FieldError("FieldValueForbidden", "force", "Forbidden: may not be specified for non-apply patch"))
    odd = next(((at, character) for at, character in enumerate(manager) if not character.isprintable()), None)
    if odd:
        why = f"invalid character U+{ord(odd[1]):04X} (at position {odd[0]})"
        errors.append(invalid_field("fieldManager", manager, why))
    if len(manager) > 128:
        errors.append(FieldError("FieldValueTooLong", "fieldManager", "Too long: may not be more than 128 bytes"))
    errors += dry_run_errors([query["dryRun"]] if "dryRun" in query else [])
    strictness = query.get("fieldValidation", "") or "Warn"
    if strictness not in ("Strict", "Warn", "Ignore"):
        text = f'Unsupported value: "{strictness}": supported values: "", "Ignore", "Strict", "Warn"'
        errors.append(FieldError("FieldValueNotSupported", "fieldValidation", text))
    if errors:
        raise invalid("meta.k8s.io", kind, "", errors)
    return WriteOptions(
        dry_run=bool(query.get("dryRun")),
        manager=manager or user_agent.partition("/")[0][:128] or "unknown",
        strictness=strictness,
        force=flag(query, "force"),
    )


def dry_run_errors(values: list[str]) -> list[FieldError]:
    """At most one fault, with all the values in it: only `All` is allowed. An empty list has none."""
    if set(values) <= {"All"}:
        return []
    shown = ",".join(map(go_quoted, values))
    return [FieldError("FieldValueNotSupported", "dryRun", f'Unsupported value: [{shown}]: supported values: "All"')]


@dataclass(slots=True)
class Call:
    """One request: its target, its user, and the warnings collected for its answer."""

    method: str
    path: str
    target: Target
    verb: str
    query: Query
    user: User
    user_agent: str = ""
    content_type: str = ""
    accept: str = ""
    body: bytes = b""
    warnings: list[str] = field(default_factory=list)

    def warn(self, text: str) -> None:
        """Adds a `Warning` header to the answer, unless one with the same text is there."""
        if text not in self.warnings:
            self.warnings.append(text)
