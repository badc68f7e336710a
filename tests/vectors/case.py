"""Cases: what is asked of an API server, step by step. cases/*.yaml hold them; README.md says how one is written."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

import yaml

from shunter.api.resources import Resource
from shunter.cluster.apiserver import builtin, packaged_schemas
from shunter.cluster.apiserver.custom_resources import crd

HERE = Path(__file__).parent
Json = dict[str, Any]

PATCHES = {
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "json": "application/json-patch+json",
    "apply": "application/apply-patch+yaml",
}
_METHODS = {"create": "POST", "update": "PUT", "get": "GET", "delete": "DELETE", "open": "GET", "await": "GET"} | dict.fromkeys(
    PATCHES, "PATCH"
)
_WHOLE_OBJECTS = ("create", "update", "apply")
_REVIEWS = {
    "TokenReview": "authentication.k8s.io/v1",
    "SelfSubjectReview": "authentication.k8s.io/v1",
    "SubjectAccessReview": "authorization.k8s.io/v1",
    "SelfSubjectAccessReview": "authorization.k8s.io/v1",
    "SelfSubjectRulesReview": "authorization.k8s.io/v1",
}


@dataclass(frozen=True, slots=True)
class Case:
    """Steps that share a namespace of their own."""

    file: str
    name: str
    number: int
    steps: list[Json]
    hooks: Json
    timed: bool
    """A second passes before each step, so that the times in the answers tell the steps apart."""


@dataclass(frozen=True, slots=True)
class CaseFile:
    name: str
    definitions: list[Json]
    """The CustomResourceDefinitions that its cases need."""
    controllers: bool
    """Whether the Job, JobSet, garbage and namespace controllers run beside the API server."""
    cases: list[Case]


def case_files() -> list[str]:
    return sorted(path.stem for path in (HERE / "cases").glob("*.yaml"))


@cache
def load(file: str) -> CaseFile:
    """The cases of cases/FILE.yaml."""
    content = yaml.load((HERE / "cases" / f"{file}.yaml").read_text(), yaml.CSafeLoader)
    found = []
    for number, (name, body) in enumerate(content["cases"].items()):
        settings = body if isinstance(body, dict) else {"steps": body}
        steps = settings["steps"]
        found.append(Case(file, name, number, steps, settings.get("hooks", {}), settings.get("timed", False)))
    crds = [definition(name) for name in content.get("definitions", ())]
    return CaseFile(file, crds, content.get("controllers", False), found)


@cache
def definition(name: str) -> Json:
    """The CustomResourceDefinition of definitions/NAME.yaml, or one that Shunter serves, by its full name."""
    for packaged in packaged_schemas.packaged_crds():
        if packaged["metadata"]["name"] == name:
            return packaged
    loaded: Json = yaml.load((HERE / "definitions" / f"{name}.yaml").read_text(), yaml.CSafeLoader)
    return loaded


@cache
def _resources() -> dict[str, Resource]:
    """By kind, and by KIND.GROUP where two groups have the kind; the core group goes first."""
    custom = [*packaged_schemas.packaged_crds(), *(definition(path.stem) for path in _definition_files())]
    found: dict[str, Resource] = {}
    for kind in [*builtin.kinds(), *(kind for one in custom for kind in crd.kinds(one))]:
        resource = kind.resource
        found.setdefault(resource.kind, resource)
        found.setdefault(f"{resource.kind}.{resource.group}", resource)
    for name, version in _REVIEWS.items():
        group, _, version = version.partition("/")
        found[name] = Resource(group, version, name, name.lower() + "s", False)
    return found


def _definition_files() -> Iterator[Path]:
    return (HERE / "definitions").glob("*.yaml")


@dataclass(frozen=True, slots=True)
class Request:
    """One HTTP request, names filled in."""

    method: str
    path: str
    body: str | bytes | None
    headers: dict[str, str]


def verb(step: Json) -> str:
    """What kind of step it is."""
    return next(name for name in (*_METHODS, "send", "read", "asked", "pause") if name in step)


def request(step: Json, fill: Any) -> Request:
    """The request of a step; `fill` puts values in the place of {names}."""
    what = verb(step)
    body = step.get("body")
    headers = {name: fill(value) for name, value in step.get("headers", {}).items()}
    if what == "send":
        method, _, target = step["send"].partition(" ")
        path, resource, name = _path(method.lower(), target)
    else:
        method = _METHODS[what]
        path, resource, name = _path(what, step[what])
        if what in _WHOLE_OBJECTS and resource is not None and isinstance(body, dict | None):
            body = _whole(body or {}, resource, name)
    if "as" in step:
        path += f"{'&' if '?' in path else '?'}fieldManager={step['as']}"
    if step.get("force"):
        path += "&force=true"
    if "accept" in step:
        headers["Accept"] = step["accept"]
    if body is not None:
        headers["Content-Type"] = step.get("type", PATCHES.get(what, "application/json"))
    if isinstance(body, bytes):
        return Request(method, fill(path), body, headers)
    text = body if isinstance(body, str) or body is None else json.dumps(body, separators=(",", ":"))
    if "long" in step:
        path, text = path.replace("{long}", long_text(step)), text and text.replace("{long}", long_text(step))
    if text is not None and "deep" in step:
        text = text.replace("{deep}", "[" * step["deep"] + "]" * step["deep"])
    if step.get("padded"):
        text = (text or "") + " " * step["padded"]
    return Request(method, fill(path), fill(text) if text is not None else None, headers)


def long_text(step: Json) -> str:
    """What stands for `{long}` in a step."""
    return "a" * int(step.get("long", 0))


def _path(what: str, target: str) -> tuple[str, Resource | None, str]:
    """The path of `KIND/NAME/SUBRESOURCE?QUERY` in the case's namespace; one that starts with a slash stands for itself."""
    if target.startswith("/"):
        return target, None, ""
    target, question, query = target.partition("?")
    kind, *parts = target.split("/")
    resource = _resources()[kind]
    name, subresource = (parts[0] if parts else ""), "/".join(parts[1:])
    shown = "" if what == "create" and not subresource else name
    path = resource.path("{ns}" if resource.namespaced else "", quote(shown, safe="{}"), subresource)
    return path + (question and "?" + quote(query, safe="={}&,()!:+%/.")), None if subresource in _FOREIGN else resource, name


_FOREIGN = ("scale", "eviction", "token", "binding")
"""Subresources of a kind of their own, which their bodies have to name."""


def _whole(body: Json, resource: Resource, name: str) -> Json:
    named = {"name": name} if name else {}
    metadata = body.get("metadata", {})
    metadata = {**named, **metadata} if isinstance(metadata, dict) else metadata
    return {"apiVersion": resource.api_version, "kind": resource.kind, **body, "metadata": metadata}
