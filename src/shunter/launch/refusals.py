"""The error for a manifest that the server refuses: the server's message, the line of each field that it names, the field's value
if the message lacks it, and for an unknown field the name that was probably meant."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from shunter.api.meta import Json
from shunter.api.paths import value_at
from shunter.api.resources import Resource
from shunter.did_you_mean import did_you_mean
from shunter.errors import EnvironmentProblem, InputError, ShunterError
from shunter.kube.client import Client
from shunter.kube.errors import ApiError, NotFound, ServerProblem, Unauthorized
from shunter.kube.manifests import Manifest
from shunter.kube.refused_fields import path_of, refused_fields
from shunter.kube.served_fields import nearest_field, served_schemas
from shunter.kube.webhooks.admission_wait import may_pass

NO_FIELD = re.compile(r"(?<![\w\"])<nil>: (?=[A-Z])")
"""The field that Go prints for a fault of none."""
LONGEST_VALUE = 80
"""Characters of a value that is repeated in an error; a script would hide the message."""


class Place(NamedTuple):
    """Where a field that was refused stands, and what may have been meant by it."""

    name: str
    line: int | None
    meant: str | None = None
    value: str = ""
    """The rejected value as JSON, if it is a string, a number or a boolean that the server's message does not contain."""


def is_rejection(error: ApiError, kind: str) -> bool:
    """Whether the server refuses the object of this kind that was written. Otherwise it may accept the same later, or with other
    credentials. A 5xx is a refusal only if it names a field: a kube-apiserver answers 500 to one of a wrong name or type in an
    apply; without a field it is the server's own failure, such as a full disk (507)."""
    if may_pass(error) or isinstance(error, Unauthorized):
        return False
    return not isinstance(error, ServerProblem) or bool(refused_fields(error.status, kind))


async def refused(client: Client, resource: Resource, manifest: Manifest, error: ApiError, *, called: str = "") -> ShunterError:
    """The error to show for a rejection by the server. Its schemas are read only for an unknown field. `called` is the name that
    was sent, if it differs from the manifest's."""
    if not is_rejection(error, resource.kind):
        return EnvironmentProblem(f"{manifest.place}: {manifest.title}: {error.message}", error.remedy)
    fields = refused_fields(error.status, resource.kind)
    unknown = any(field.fault == "unknown" for field in fields)
    schemas = await served_schemas(client, resource) if unknown else {}
    return refusal(manifest, error, places(manifest, resource, error, schemas), called=called)


def places(manifest: Manifest, resource: Resource, error: ApiError, schemas: Json) -> list[Place]:
    """The fields that a refusal names, as far as they can be found in the manifest: a line that may be wrong is none."""
    found = []
    for field in refused_fields(error.status, resource.kind):
        path = path_of(field, manifest.object)
        line = None if path is None else manifest.line_of(path, or_parent=field.fault == "required")
        meant, value = None, ""
        if path and field.fault == "unknown":
            meant = nearest_field(schemas, resource, path, value_at(manifest.object, path[:-1]))
        elif path and line is not None:
            value = _value_in_manifest(value_at(manifest.object, path), error.message)
        found.append(Place(field.name.removeprefix("."), line, meant, value))
    return found


def _value_in_manifest(value: Any, message: str) -> str:
    """A single value as JSON; empty for a mapping, a list, a long text, and a value that the message contains."""
    if not isinstance(value, str | int | float):
        return ""
    as_json = json.dumps(value, ensure_ascii=False)
    text = value if isinstance(value, str) and value else as_json
    if len(text) > LONGEST_VALUE or re.search(rf"(?<!\w){re.escape(text)}(?!\w)", message):
        return ""
    return as_json


def refusal(manifest: Manifest, error: ApiError, found: list[Place], *, called: str = "") -> ShunterError:
    """One field's line stands before the server's words, the lines of several below them."""
    remedy = error.remedy
    if isinstance(error, NotFound) and "namespaces" in error.message:
        remedy = f"Create it first: kubectl create namespace {manifest.object['metadata'].get('namespace')}"
    message = NO_FIELD.sub("", error.message)
    if called:
        message = message.replace(f' "{called}" is ', f' "{manifest.object["metadata"]["name"]}" is ')
    if len(found) == 1:
        line = found[0].line or manifest.line
        value = f"The manifest has {found[0].value} there." if found[0].value else ""
        hint = did_you_mean([found[0].meant] if found[0].meant else [], remedy or value)
        return InputError(f"{manifest.source}:{line}: {manifest.title}: {message}", hint)
    lines = [
        f"\n       {manifest.source}:{place.line}: {place.name}" + _what_is_there(place)
        for place in found
        if place.line is not None
    ]
    return InputError(f"{manifest.place}: {manifest.title}: {message}{''.join(lines)}", remedy)


def _what_is_there(place: Place) -> str:
    if place.meant:
        return f" (did you mean {place.meant}?)"
    return f": {place.value}" if place.value else ""
