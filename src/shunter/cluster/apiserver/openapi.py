"""OpenAPI documents: v3 per group and version for kubectl's explain, validation and patches, and a v2 for older clients.

Schemas are the kinds' own; definitions they refer to are added. Built on demand, kept until the registry changes.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator

import msgspec

from shunter.api.meta import Json
from shunter.cluster.apiserver.discovery import Document
from shunter.cluster.apiserver.packaged_schemas import definition_names, definitions
from shunter.cluster.apiserver.protobuf import swagger
from shunter.cluster.apiserver.registry import Registry, ServedKind
from shunter.cluster.apiserver.version import GIT_VERSION

_REFERENCE = re.compile(rb'"#/components/schemas/([A-Za-z0-9_.\-]+)"')
_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
_WRITE_QUERY = ("dryRun", "fieldManager", "fieldValidation", "pretty")
_PATCH_TYPES = ("application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml")
_LIST_QUERY = (
    "allowWatchBookmarks",
    "continue",
    "fieldSelector",
    "labelSelector",
    "limit",
    "resourceVersion",
    "resourceVersionMatch",
    "sendInitialEvents",
    "timeoutSeconds",
    "watch",
)


class OpenApi:
    """The documents of a registry."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._edition = -1
        self._documents: dict[str, Document] = {}

    def _drop_outdated(self) -> None:
        if self._edition != self._registry.edition:
            self._edition = self._registry.edition
            self._documents.clear()

    def index(self) -> bytes:
        """/openapi/v3: where the document of each group and version is; its hash changes with it."""
        self._drop_outdated()
        paths = {}
        for path in sorted({_path(served) for served in self._registry.all()}):
            content = "".join(sorted(served.hash_seed for served in self._of(path)))
            digest = hashlib.sha256(content.encode()).hexdigest().upper()
            paths[path] = {"serverRelativeURL": f"/openapi/v3/{path}?hash={digest}"}
        return msgspec.json.encode({"paths": paths})

    def v3(self, path: str) -> Document | None:
        """The document of `api/v1` or `apis/GROUP/VERSION`; None when it is not served."""
        self._drop_outdated()
        if path not in self._documents:
            served = self._of(path)
            if not served:
                return None
            body = msgspec.json.encode(_v3(served))
            self._documents[path] = Document(body, f'"{hashlib.sha256(body).hexdigest().upper()}"')
        return self._documents[path]

    def v2(self) -> Document:
        """One Swagger 2.0 document for everything."""
        self._drop_outdated()
        if "v2" not in self._documents:
            document = _v3(self._registry.all())
            schemas = msgspec.json.encode(document["components"]["schemas"])
            schemas = schemas.replace(b"#/components/schemas/", b"#/definitions/")
            paths = {path: _v2_operations(operations) for path, operations in document["paths"].items()}
            body = b'{"swagger":"2.0","info":%s,"paths":%s,"definitions":%s}' % (
                msgspec.json.encode(document["info"]),
                msgspec.json.encode(paths),
                schemas,
            )
            self._documents["v2"] = Document(body, f'"{hashlib.sha256(body).hexdigest().upper()}"')
        return self._documents["v2"]

    def v2_protobuf(self) -> Document:
        """The v2 document in protobuf, of type swagger.MEDIA_TYPE."""
        document = self.v2()
        if "v2 protobuf" not in self._documents:
            self._documents["v2 protobuf"] = Document(swagger.encoded(msgspec.json.decode(document.body)), document.etag)
        return self._documents["v2 protobuf"]

    def _of(self, path: str) -> list[ServedKind]:
        return [served for served in self._registry.all() if _path(served) == path]


def _path(served: ServedKind) -> str:
    resource = served.resource
    return f"apis/{resource.group}/{resource.version}" if resource.group else f"api/{resource.version}"


def _v3(kinds: Iterable[ServedKind]) -> Json:
    paths: Json = {}
    schemas: Json = {}
    for served in kinds:
        name = _schema_name(served)
        if served.custom:
            schemas[name] = _custom_schema(served)
        schemas[f"{name}List"] = _list_schema(served, name)
        paths.update(_paths(served, name))
        if not served.custom:
            schemas[name] = {**definitions()[name], "x-kubernetes-group-version-kind": [_gvk(served)]}
    for options in ("DeleteOptions", "Status"):
        schemas[_META + options] = definitions().get(_META + options, {"type": "object"})
    _add_referenced(schemas)
    return {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": GIT_VERSION},
        "paths": paths,
        "components": {"schemas": schemas},
    }


def _add_referenced(schemas: Json) -> None:
    """Adds the definitions that schemas refer to, and those that they refer to."""
    waiting = list(schemas.values())
    while waiting:
        for match in _REFERENCE.finditer(msgspec.json.encode(waiting.pop())):
            name = match[1].decode()
            if name not in schemas:
                schemas[name] = definitions().get(name, {"type": "object"})
                waiting.append(schemas[name])


_CONVENTIONS = "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md"


def _schema_name(served: ServedKind) -> str:
    resource = served.resource
    if not served.custom:
        return definition_names()[resource.group, resource.version, resource.kind]
    reversed_group = ".".join(reversed(resource.group.split(".")))
    return f"{reversed_group}.{resource.version}.{resource.kind}"


def _gvk(served: ServedKind, suffix: str = "") -> Json:
    resource = served.resource
    return {"group": resource.group, "version": resource.version, "kind": resource.kind + suffix}


def _custom_schema(served: ServedKind) -> Json:
    """A custom kind's schema with the types of apiVersion, kind and metadata, as the real server publishes it."""
    schema = dict(served.kind.schema().openapi)
    properties = dict(schema.get("properties") or {})
    for name in ("apiVersion", "kind", "metadata"):
        properties[name] = _standard(name)
    properties["metadata"]["allOf"] = [{"$ref": f"#/components/schemas/{_META}ObjectMeta"}]
    return {**schema, "type": "object", "properties": properties, "x-kubernetes-group-version-kind": [_gvk(served)]}


def _standard(name: str) -> Json:
    """A field that every object has, described as in Kubernetes' own."""
    described = definitions()["io.k8s.api.core.v1.ConfigMap"]["properties"][name]
    return {part: described[part] for part in ("description", "type") if part in described}


def _list_schema(served: ServedKind, name: str) -> Json:
    resource = served.resource
    return {
        "description": f"{resource.kind}List is a list of {resource.kind}",
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": _standard("apiVersion"),
            "kind": _standard("kind"),
            "metadata": {
                "description": f"Standard list metadata. More info: {_CONVENTIONS}#types-kinds",
                "allOf": [{"$ref": f"#/components/schemas/{_META}ListMeta"}],
            },
            "items": {
                "description": f"List of {resource.plural}. More info: {_CONVENTIONS}",
                "type": "array",
                "items": {"$ref": f"#/components/schemas/{name}"},
            },
        },
        "x-kubernetes-group-version-kind": [_gvk(served, "List")],
    }


def _paths(served: ServedKind, name: str) -> Iterator[tuple[str, Json]]:
    resource = served.resource
    scope = "/namespaces/{namespace}" if resource.namespaced else ""
    collection = f"{resource.root}{scope}/{resource.plural}"
    gvk = _gvk(served)
    one, many = _content(name), _content(f"{name}List")
    shared = [_parameter("namespace", "path")] if resource.namespaced else []
    named = [*shared, _parameter("name", "path")]
    patch_types = (*_PATCH_TYPES, *(() if served.custom else ("application/strategic-merge-patch+json",)))
    writes = [_parameter(query) for query in _WRITE_QUERY]

    def operation(verb: str, action: str, answer: Json, query: Iterable[Json] = (), body: Json | None = None) -> Json:
        built: Json = {
            "operationId": f"{verb}{resource.group.title().replace('.', '')}{resource.version.title()}{resource.kind}",
            "parameters": list(query),
            "responses": {"200": {"description": "OK", "content": answer}},
            "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind": gvk,
        }
        if body is not None:
            built["requestBody"] = {"content": body}
        return built

    yield (
        collection,
        {
            "get": operation("list", "list", many, [_parameter(query) for query in _LIST_QUERY]),
            "post": operation("create", "post", one, writes, one),
            "delete": operation("deleteCollection", "deletecollection", _content(_META + "Status")),
            "parameters": shared,
        },
    )
    patch_body = {media: {"schema": {"type": "object"}} for media in patch_types}
    item = {
        "get": operation("read", "get", one),
        "put": operation("replace", "put", one, writes, one),
        "patch": operation("patch", "patch", one, [*writes, _parameter("force", type="boolean")], patch_body),
        "delete": operation("delete", "delete", _content(_META + "Status"), writes, _content(_META + "DeleteOptions")),
        "parameters": named,
    }
    yield f"{collection}/{{name}}", item
    if served.kind.has_status:
        yield f"{collection}/{{name}}/status", {name: item[name] for name in ("get", "put", "patch", "parameters")}


def _content(schema: str) -> Json:
    return {"application/json": {"schema": {"$ref": f"#/components/schemas/{schema}"}}}


def _parameter(name: str, place: str = "query", type: str = "string") -> Json:
    parameter: Json = {"name": name, "in": place, "schema": {"type": type}}
    return {**parameter, "required": True} if place == "path" else parameter


def _v2_operations(operations: Json) -> Json:
    """Path operations in Swagger's form, as far as checks of kubectl and the Python clients read them."""
    converted: Json = {}
    for verb, operation in operations.items():
        if verb == "parameters":
            converted[verb] = [_v2_parameter(parameter) for parameter in operation]
            continue
        body = operation.get("requestBody")
        parameters = [_v2_parameter(parameter) for parameter in operation["parameters"]]
        if body:
            parameters.append({"name": "body", "in": "body", "schema": {"type": "object"}})
        converted[verb] = {
            "operationId": operation["operationId"],
            "parameters": parameters,
            "responses": {"200": {"description": "OK"}},
            "consumes": list(body["content"]) if body else ["*/*"],
            "produces": ["application/json"],
            "x-kubernetes-action": operation["x-kubernetes-action"],
            "x-kubernetes-group-version-kind": operation["x-kubernetes-group-version-kind"],
        }
    return converted


def _v2_parameter(parameter: Json) -> Json:
    kept = {name: value for name, value in parameter.items() if name != "schema"}
    return {**kept, "type": parameter["schema"]["type"]}
