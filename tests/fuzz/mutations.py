"""Requests made of real ones: an object or a request of the recorded vectors with something in it changed at random.

Everything comes from the `Random` that is given, so a seed stands for the same requests for ever.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from functools import cache
from random import Random
from typing import Any, NamedTuple

from shunter.api.resources import Resource
from shunter.cluster.apiserver import builtin
from shunter.cluster.apiserver.custom_resources import crd
from shunter.cluster.apiserver.packaged_schemas import packaged_crds
from vectors.answers import read
from vectors.case import PATCHES, case_files

Json = dict[str, Any]

_NEST: Any = [[]]
for _ in range(150):
    _NEST = [_NEST]
_VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 1.5, 2**31, 2**63, -(2**63) - 1, 1e300,
    "", " ", "x", "-1", "0", "1e9999999", "a/b", "A_b", "\u00e9\u0000", "x" * 300, "2026-01-01T00:00:00Z", "{ns}", "*",
    [], [None], [[]], ["x"], [1], [{}], {}, {"": ""}, {"x": None}, {"": {}}, {"a": {"b": "c"}}, _NEST,
)  # fmt: skip
_QUERIES = (
    "limit", "continue", "resourceVersion", "resourceVersionMatch", "timeoutSeconds", "labelSelector", "fieldSelector", "dryRun",
    "fieldManager", "fieldValidation", "force", "gracePeriodSeconds", "propagationPolicy", "orphanDependents", "pretty",
    "tailLines", "sinceSeconds", "sinceTime", "limitBytes", "container", "previous", "command", "ports", "includeObject",
    "sendInitialEvents",
    "allowWatchBookmarks",
)  # fmt: skip
_TEXTS = (
    "",
    "x",
    "-1",
    "0",
    "1",
    "99999999999999999999",
    "1.5",
    "true",
    "All",
    "a=b",
    "a in (b)",
    "((",
    "%00",
    "%ff",
    "a,b",
    "Strict",
)
_ACCEPTS = (
    "application/json", "application/yaml", "*/*", "application/json;as=Table;v=v1;g=meta.k8s.io", "text/html",
    "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
)  # fmt: skip
_SUBRESOURCES = (
    "status",
    "scale",
    "log",
    "binding",
    "eviction",
    "token",
    "finalize",
    "exec",
    "attach",
    "portforward",
    "nonsense",
)
_KEPT_METADATA = ("labels", "annotations", "finalizers", "generateName")
_OPTIONS: Json = {
    "kind": "DeleteOptions",
    "apiVersion": "v1",
    "gracePeriodSeconds": 0,
    "preconditions": {"uid": "x", "resourceVersion": "1"},
    "propagationPolicy": "Background",
    "dryRun": ["All"],
}


class Sent(NamedTuple):
    """A request; `{ns}` stands for a namespace of the test's own."""

    method: str
    path: str
    body: bytes | None = None
    content_type: str = "application/json"
    accept: str = "application/json"


@cache
def served() -> dict[tuple[str, str], Resource]:
    """Every kind that is served, by apiVersion and kind."""
    kinds = [*builtin.kinds(), *(kind for definition in packaged_crds() for kind in crd.kinds(definition))]
    return {(kind.resource.api_version, kind.resource.kind): kind.resource for kind in kinds}


@cache
def real_objects() -> tuple[Json, ...]:
    """The objects that a real API server answered with, one of each kind and shape of its spec at least."""
    found: dict[str, Json] = {}
    for file in case_files():
        for answers in read(file).values():
            for answer in answers:
                body = answer.get("body")
                if answer.get("code") in (200, 201) and isinstance(body, dict) and _is_served(body):
                    found.setdefault(_shape(body), body)
    for resource in served().values():
        metadata = {"name": "a"}
        bare = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata, "spec": {}}
        found.setdefault(_shape(bare), bare)
    return tuple(found[shape] for shape in sorted(found))


def _is_served(body: Json) -> bool:
    return (body.get("apiVersion"), body.get("kind")) in served() and isinstance(body.get("metadata"), dict)


def _shape(body: Json) -> str:
    return json.dumps(
        [body["apiVersion"], body["kind"], sorted(body), sorted(body["spec"]) if isinstance(body.get("spec"), dict) else ""]
    )


def unchanged() -> Iterator[Sent]:
    """Creates of the real objects as they are, so that there is something to change."""
    for number, real in enumerate(real_objects()):
        subject, resource = _named(copy.deepcopy(real), "abcd"[number % 4])
        path = resource.path("{ns}" if resource.namespaced else "")
        yield Sent("POST", path, json.dumps(subject).encode())


def _named(subject: Json, name: str) -> tuple[Json, Resource]:
    """The object under another name, with the metadata that users write; webhooks are never asked."""
    resource = served()[subject["apiVersion"], subject["kind"]]
    subject["metadata"] = {field: part for field, part in subject["metadata"].items() if field in _KEPT_METADATA}
    subject["metadata"]["name"] = name if resource.namespaced else f"{{ns}}-{name}"
    if resource.kind.endswith("WebhookConfiguration"):
        subject["webhooks"] = [{**hook, "failurePolicy": "Ignore", "rules": []} for hook in subject.get("webhooks") or ()]
    return subject, resource


def requests(random: Random, count: int) -> Iterator[Sent]:
    """As many requests as that, the same for the same seed."""
    for _ in range(count):
        yield _request(random)


def _request(random: Random) -> Sent:
    subject, resource = _named(copy.deepcopy(random.choice(real_objects())), random.choice("abcd"))
    name = subject["metadata"]["name"]
    space = "{ns}" if resource.namespaced else ""
    method = random.choices(("POST", "PUT", "PATCH", "DELETE", "GET"), (40, 15, 30, 5, 10))[0]
    subresource = random.choice(_SUBRESOURCES) if random.random() < 0.15 else "status" if random.random() < 0.15 else ""
    path = resource.path(space, "" if method == "POST" and not subresource else name, subresource) + _query(random)
    accept = random.choice(_ACCEPTS) if random.random() < 0.1 else "application/json"
    match method:
        case "GET":
            return Sent(method, path, accept=accept)
        case "DELETE":
            return Sent(method, path, _encoded(random, _mutated(random, _OPTIONS)) if random.random() < 0.5 else None)
        case "PATCH":
            return _patch(random, path, subject)
    body = _mutated(random, subject)
    if random.random() < 0.1:
        return Sent(method, path, _as_yaml(body), "application/yaml", accept)
    return Sent(method, path, _encoded(random, body), accept=accept)


def _query(random: Random) -> str:
    if random.random() < 0.75:
        return ""
    chosen = random.sample(_QUERIES, random.choice((1, 1, 2)))
    return "?" + "&".join(f"{name}={random.choice(_TEXTS).replace(' ', '%20')}" for name in chosen)


def _patch(random: Random, path: str, subject: Json) -> Sent:
    verb = random.choice(tuple(PATCHES))
    mutated = _mutated(random, subject)
    body: Any = mutated
    if verb == "apply":
        path += ("&" if "?" in path else "?") + "fieldManager=fuzz" + random.choice(("", "&force=true"))
    elif verb == "json":
        body = [_operation(random, subject) for _ in range(random.choice((1, 1, 3)))]
        if random.random() < 0.3:
            body = _mutated(random, {"": body}).get("")
    elif random.random() < 0.7:
        parts = [part for part in mutated if part not in ("apiVersion", "kind")] or ["spec"]
        chosen = random.choice(parts)
        body = {chosen: mutated.get(chosen)}
    return Sent("PATCH", path, _encoded(random, body), PATCHES[verb])


def _operation(random: Random, subject: Json) -> Json:
    places = [pointer for pointer, _ in _places(subject)]
    operation: Json = {
        "op": random.choice(("add", "replace", "remove", "copy", "move", "test")),
        "path": _pointer(random.choice(places)),
    }
    if operation["op"] in ("copy", "move"):
        operation["from"] = _pointer(random.choice(places))
    elif operation["op"] != "remove":
        operation["value"] = random.choice(_VALUES)
    return operation


def _pointer(place: tuple[Any, ...]) -> str:
    return "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in place)


def _places(value: Any, here: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    yield here, value
    if isinstance(value, dict):
        for name, part in value.items():
            yield from _places(part, (*here, name))
    elif isinstance(value, list):
        for index, part in enumerate(value):
            yield from _places(part, (*here, index))


def _mutated(random: Random, subject: Json) -> Json:
    """A copy with up to three places changed: another value, one less, one more, or one that stands elsewhere."""
    changed = copy.deepcopy(subject)
    for _ in range(random.choice((0, 1, 1, 1, 2, 3))):
        places = [place for place, _ in _places(changed) if place]
        if not places:
            break
        *way, last = random.choice(places)
        parent: Any = changed
        for step in way:
            parent = parent[step]
        match random.randrange(6):
            case 0 | 1 | 2:
                parent[last] = copy.deepcopy(random.choice(_VALUES))
            case 3:
                del parent[last]
            case 4 if isinstance(parent, dict):
                parent[random.choice(("", "x", "name", "rules", "a b", "$patch"))] = copy.deepcopy(random.choice(_VALUES))
            case _:
                source = random.choice(places)
                found: Any = changed
                for step in source:
                    found = found[step] if isinstance(found, dict | list) and _has(found, step) else None
                parent[last] = copy.deepcopy(found)
    return changed


def _has(container: Any, step: Any) -> bool:
    return step in container if isinstance(container, dict) else isinstance(step, int) and step < len(container)


def _encoded(random: Random, body: Any) -> bytes:
    text = json.dumps(body).encode()
    if random.random() < 0.03:
        at = random.randrange(len(text))
        return text[:at] + bytes([random.randrange(256)]) + text[at + random.choice((0, 1, 5)) :]
    return text


def _as_yaml(body: Json) -> bytes:
    return json.dumps(body, indent=1).encode() + b"\n# a comment\n"
