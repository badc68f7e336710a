"""What a client sends and what it wants back: request bodies to JSON, `Accept` headers to an answer's form.

Bodies may be JSON, YAML or Kubernetes protobuf (kubectl's `create` sends it and does not fall back); answers are JSON or YAML,
as whole objects, tables, or metadata only.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import msgspec
import yaml

from shunter.api.meta import Json
from shunter.cluster.apiserver.protobuf.decode import decode as decode_protobuf
from shunter.cluster.apiserver.status import StatusError, bad_request, not_acceptable, unsupported_body

PROTOBUF = "application/vnd.kubernetes.protobuf"
BODIES = ("application/json", "application/yaml", PROTOBUF)
_AVAILABLE = ("application/json", "application/yaml", PROTOBUF)


def _whole_or_float(text: str) -> int | float:
    """A number as objects without Go types keep it: 2.0 is 2."""
    value = float(text)
    return int(value) if value.is_integer() and abs(value) < 2**63 else value


_decode_typed = msgspec.json.Decoder().decode
_decode_untyped = msgspec.json.Decoder(float_hook=_whole_or_float).decode
_encode_json = msgspec.json.Encoder().encode


class Form(NamedTuple):
    """How an answer is to look. `shape` is what stands for an object, `version` the meta.k8s.io version of a table."""

    syntax: Literal["json", "yaml"] = "json"
    shape: Literal["object", "table", "metadata"] = "object"
    version: str = "v1"
    of_lists: bool = True
    """False for PartialObjectMetadata, in which a list cannot be shown."""


_SHAPES: dict[str, Literal["object", "table", "metadata"]] = {
    "": "object",
    "Table": "table",
    "PartialObjectMetadata": "metadata",
    "PartialObjectMetadataList": "metadata",
}


@lru_cache(maxsize=256)
def form(accept: str) -> Form:
    """The first form in an Accept header that this server can give. Raises 406 when there is none."""
    if not accept:
        return Form()
    transforms = False
    for clause in accept.split(","):
        media, *parameters = (part.strip() for part in clause.split(";"))
        options = dict(parameter.partition("=")[::2] for parameter in parameters)
        kind, version = options.get("as", ""), options.get("v", "v1")
        transforms = transforms or bool(kind)
        shape = _SHAPES.get(kind)
        if shape is None or (kind and (options.get("g") != "meta.k8s.io" or version not in ("v1", "v1beta1"))):
            continue
        of_lists = kind != "PartialObjectMetadata"
        if media in ("application/json", "*/*"):
            return Form("json", shape, version, of_lists)
        if media in ("application/yaml", "text/yaml"):
            return Form("yaml", shape, version, of_lists)
    if transforms:
        listed = ", ".join(_AVAILABLE)
        raise StatusError(406, "NotAcceptable", f"only the following media types are accepted: {listed}")
    raise not_acceptable(_AVAILABLE)


def media_type(content_type: str) -> str:
    return content_type.partition(";")[0].strip()


class Body(NamedTuple):
    """A decoded request body; `duplicates` are the paths of keys that stood there twice."""

    document: Json
    duplicates: list[str]


def read(body: bytes, content_type: str, kind: str, *, custom: bool = False) -> Body:
    """The object in a request body. Raises 400 or 415 in the original's words; `kind` is what was expected.

    In a `custom` kind, whose fields have no Go type, 2.0 is read as 2.
    """
    media = media_type(content_type) or "application/json"
    if media == "application/json":
        return _read_json(body, kind, custom=custom)
    if media == "application/yaml":
        return _read_yaml(body, kind, custom=custom)
    if media == PROTOBUF:
        return Body(decode_protobuf(body), [])
    raise unsupported_body(BODIES)


def _read_json(body: bytes, kind: str, *, custom: bool) -> Body:
    try:
        document = _decode_untyped(body) if custom else _decode_typed(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _unrecognized(body, kind, _go_syntax_error(body, str(error))) from None
    if document is None:
        return Body({}, [])
    if not isinstance(document, dict):
        type_name = go_type(document)
        target = 'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
        raise _unrecognized(body, kind, f"json: cannot unmarshal {type_name} into Go value of type {target}")
    return Body(document, _duplicates(body, document))


_GO_TYPES: dict[type, str] = {list: "array", str: "string", int: "number", float: "number", bool: "bool"}


def go_type(value: Any) -> str:
    """What Go's decoder calls a JSON value."""
    return _GO_TYPES.get(type(value), "object")


def _go_syntax_error(body: bytes, error: str) -> str:
    return "unexpected end of JSON input" if "truncated" in error else error


def _unrecognized(body: bytes, kind: str, why: str) -> StatusError:
    text = body.decode(errors="replace") if body.lstrip().startswith(b"{") else body.hex() or "<empty>"
    what = f"the object provided is unrecognized (must be of type {kind}): couldn't get version/kind"
    return bad_request(f"{what}; json parse error: {why} ({text})")


def _duplicates(body: bytes, document: Json) -> list[str]:
    """Paths of duplicate keys. A decoded object holds as many keys as its text unless some stood there twice, so the careful
    look is taken only when the counts differ."""
    if body.count(b'":') == _encode_json(document).count(b'":'):
        return []
    found: list[str] = []

    def keep(pairs: list[tuple[str, Any]]) -> Any:
        return _Pairs(pairs)

    _find_duplicates(json.loads(body, object_pairs_hook=keep), "", found)
    return found


class _Pairs(list[tuple[str, Any]]):
    """A JSON object before its keys become unique."""


def _find_duplicates(value: Any, path: str, found: list[str]) -> None:
    if isinstance(value, _Pairs):
        seen: set[str] = set()
        for name, child in value:
            where = f"{path}.{name}" if path else name
            if name in seen and where not in found:
                found.append(where)
            seen.add(name)
            _find_duplicates(child, where, found)
    elif isinstance(value, list):
        for index, child in enumerate(value):
            _find_duplicates(child, f"{path}[{index}]", found)


class _Timeless(yaml.CSafeLoader):
    """YAML as Kubernetes reads it: what looks like a date stays text, and y and n are booleans."""


_Timeless.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}
_Timeless.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"[yYnN]\Z"), list("yYnN"))
_Timeless.bool_values = {**yaml.CSafeLoader.bool_values, "y": True, "n": False}


def _read_yaml(body: bytes, kind: str, *, custom: bool) -> Body:
    try:
        document = _decode_untyped(body) if custom else _decode_typed(body)
    except msgspec.DecodeError:
        pass
    else:
        if isinstance(document, dict):
            return Body(document, _duplicates(body, document))
    try:
        document = yaml.load(body, _Timeless)
    except yaml.YAMLError as error:
        raise bad_request(f"error decoding YAML: {error}") from None
    if not isinstance(document, dict):
        raise bad_request(f"the object provided is unrecognized (must be of type {kind}): couldn't get version/kind")
    return Body(document, [])


def encoded(document: Json, form: Form) -> bytes:
    """An answer that was put together for one request."""
    if form.syntax == "yaml":
        return as_yaml(document)
    return _encode_json(document)


def as_yaml(document: Json) -> bytes:
    return yaml.dump(document, Dumper=yaml.CSafeDumper, encoding="utf-8", allow_unicode=True)


def content_type(form: Form) -> str:
    return "application/yaml" if form.syntax == "yaml" else "application/json"
