"""What a client sends and what it wants back: request bodies to JSON, `Accept` headers to an answer's form.

Bodies may be JSON, YAML or Kubernetes protobuf (kubectl's `create` sends it and does not fall back); answers are JSON or YAML,
as whole objects, tables, or metadata only.
"""

from __future__ import annotations

import json
import math
import re
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import msgspec
import yaml

from shunter.api.meta import Json
from shunter.api.yaml import LenientLoader, dump_yaml
from shunter.cluster.apiserver.protobuf.decode import decode as decode_protobuf
from shunter.cluster.apiserver.schema import nesting
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
    """If only metadata is requested: PartialObjectMetadataList, which represents only lists; else PartialObjectMetadata, which
    represents only single objects."""


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
    """`application/json` for `application/json; charset=utf-8`."""
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


def decoded(body: bytes, *, custom: bool = False) -> Any:
    """JSON as objects keep it. Raises msgspec.DecodeError, UnicodeDecodeError, RecursionError and nesting.TooDeepError."""
    value = _decode_untyped(body) if custom else _decode_typed(body)
    nesting.check(value, body)
    return _within_64_bits(value) if _LONG.search(body) else value


_LONG = re.compile(rb"[0-9]{19}|[0-9][eE]\+?[0-9]{2}")
"""A number that may be beyond Go's integers, or beyond its floats."""


def _within_64_bits(value: Any) -> Any:
    """As Go reads it: a number that is no int64 becomes a float, and one that is none either is refused."""
    if isinstance(value, dict):
        return {name: _within_64_bits(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_within_64_bits(part) for part in value]
    is_long = isinstance(value, int) and not -(2**63) <= value < 2**63
    try:
        number = float(value) if is_long else value
    except OverflowError:
        number = math.inf
    if isinstance(number, float) and not math.isfinite(number):
        raise msgspec.DecodeError("json: cannot unmarshal number into Go value of type float64")
    return number


def _read_json(body: bytes, kind: str, *, custom: bool) -> Body:
    try:
        document = decoded(body, custom=custom)
    except (RecursionError, nesting.TooDeepError):
        raise _unrecognized(body, kind, f"invalid character '[' {nesting.TOO_DEEP}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _unrecognized(body, kind, _syntax_error(str(error))) from None
    if document is None:
        return Body({}, [])
    if not isinstance(document, dict):
        type_name = go_type(document)
        target = 'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
        raise _unrecognized(body, kind, f"json: cannot unmarshal {type_name} into Go value of type {target}")
    _check_type_meta(document, body, kind)
    return Body(document, _duplicates(body, document))


def _check_type_meta(document: Json, body: bytes, kind: str) -> None:
    """Kind and apiVersion are read before anything else. Raises 400."""
    for name in ("apiVersion", "kind"):
        value = document.get(name)
        if value is not None and not isinstance(value, str):
            why = f"json: cannot unmarshal {go_type(value)} into Go struct field .{name} of type string"
            raise _unrecognized(body, kind, why)


_GO_TYPES: dict[type, str] = {list: "array", str: "string", int: "number", float: "number", bool: "bool"}


def go_type(value: Any) -> str:
    """What Go's decoder calls a JSON value."""
    return _GO_TYPES.get(type(value), "object")


_SHOWN_BYTES = 4096


def _syntax_error(error: str) -> str:
    """In Go's words where a text ends too early; else the decoder's own."""
    return "unexpected end of JSON input" if "truncated" in error else error


def _unrecognized(body: bytes, kind: str, why: str) -> StatusError:
    body = body[:_SHOWN_BYTES]
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


def _read_yaml(body: bytes, kind: str, *, custom: bool) -> Body:
    try:
        document = decoded(body, custom=custom)
    except (msgspec.DecodeError, UnicodeDecodeError):
        pass
    except (RecursionError, nesting.TooDeepError):
        raise bad_request(f"error decoding YAML: {nesting.TOO_DEEP}") from None
    else:
        if isinstance(document, dict):
            _check_type_meta(document, body, kind)
            return Body(document, _duplicates(body, document))
    try:
        document = yaml.load(body, LenientLoader)
        nesting.check_aliased(document)
        # What JSON cannot say (dates, sets, numbers without end) is not let in; a key that is a number becomes text.
        document = decoded(_encode_json(_json_form(document)), custom=custom)
    except (yaml.YAMLError, ValueError, TypeError, OverflowError) as error:
        raise bad_request(f"error decoding YAML: {error}") from None
    except (RecursionError, nesting.TooDeepError):
        raise bad_request(f"error decoding YAML: {nesting.TOO_DEEP}") from None
    if document is None:
        return Body({}, [])
    if not isinstance(document, dict):
        raise bad_request(f"the object provided is unrecognized (must be of type {kind}): couldn't get version/kind")
    _check_type_meta(document, body, kind)
    return Body(document, [])


def _json_form(value: Any) -> Any:
    """A value from YAML as JSON has it. Raises TypeError and ValueError for what it has not."""
    match value:
        case dict():
            return {_json_key(key): _json_form(part) for key, part in value.items()}
        case list():
            return [_json_form(part) for part in value]
        case float() if not math.isfinite(value):
            raise ValueError(f"json: unsupported value: {value}")
        case bytes():
            return value.decode(errors="replace")
        case int() if not -(2**63) <= value < 2**63:
            return float(value)
        case None | str() | bool() | int() | float():
            return value
    raise TypeError(f"unsupported value of type {type(value).__name__}")


def _json_key(key: Any) -> str:
    if isinstance(key, bool):
        return "true" if key else "false"
    if isinstance(key, str | int | float):
        return str(key)
    raise TypeError(f"unsupported map key: {key}")


def encoded(document: Json, form: Form) -> bytes:
    """An answer that was put together for one request."""
    if form.syntax == "yaml":
        return dump_yaml(document, sort_keys=True).encode()
    return _encode_json(document)


def content_type(form: Form) -> str:
    """Without a charset. The shape makes no difference."""
    return "application/yaml" if form.syntax == "yaml" else "application/json"
