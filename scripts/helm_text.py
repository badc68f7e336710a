"""The template of an installation (shunter/install/template.py) in Helm's language.

Holes are written with `toJson`, which is YAML for a value of any type; a condition is an `if` around a key, an element or an
object.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from shunter.install.template import (
    AllOf,
    AnyOf,
    Condition,
    Digest,
    Document,
    Each,
    Equals,
    Hole,
    Item,
    MoreThan,
    Namespace,
    Not,
    On,
    Served,
    Text,
    Value,
    When,
)

HOLES = (Value, Namespace, Item, Text, Document, Digest)


def file_text(objects: Sequence[Any]) -> str:
    """One file of the chart's templates."""
    return "".join(f"{line}\n" for node in objects for line in _object(node))


def _object(node: Any) -> Iterator[str]:
    if isinstance(node, When | Each):
        yield from _around(node, _object)
    else:
        yield "---"
        yield from _mapping(node, "")


def _around(node: When | Each, body: Any) -> Iterator[str]:
    """The lines of a node inside the directives that it stands for."""
    if isinstance(node, Each):
        yield f"{{{{- range $.Values.{node.path} }}}}"
        yield from body(node.element)
    else:
        yield f"{{{{- if {condition(node.condition)} }}}}"
        yield from body(node.then)
        if node.otherwise is not None:
            yield "{{- else }}"
            yield from body(node.otherwise)
    yield "{{- end }}"


def _mapping(node: dict[str, Any], indent: str) -> Iterator[str]:
    for key, value in node.items():
        yield from _entry(key, value, indent)


def _entry(key: str, value: Any, indent: str) -> Iterator[str]:
    if isinstance(value, When):
        yield from _around(value, lambda inner: _entry(key, inner, indent))
    elif isinstance(value, dict | list) and value:
        yield f"{indent}{scalar(key)}:"
        yield from _block(value, indent if isinstance(value, list) else indent + "  ")
    else:
        yield f"{indent}{scalar(key)}: {_inline(value)}"


def _block(value: Any, indent: str) -> Iterator[str]:
    if isinstance(value, dict):
        yield from _mapping(value, indent)
    else:
        for element in value:
            yield from _element(element, indent)


def _element(node: Any, indent: str) -> Iterator[str]:
    if isinstance(node, When | Each):
        yield from _around(node, lambda inner: _element(inner, indent))
    elif isinstance(node, dict) and node:
        first, *rest = _mapping(node, indent + "  ")
        assert not first.startswith("{{"), "an element starts with a key that is always there"
        yield f"{indent}- {first.strip()}"
        yield from rest
    else:
        yield f"{indent}- {_inline(node)}"


def _inline(value: Any) -> str:
    return f"{{{{ {expression(value)} | toJson }}}}" if isinstance(value, HOLES) else scalar(value)


def expression(hole: Hole) -> str:
    """A hole as an expression, of the type that the value has."""
    match hole:
        case Value(path):
            return f"$.Values.{path}"
        case Namespace():
            return "$.Release.Namespace"
        case Item():
            return "."
        case Document(path):
            return f"$.Values.{path} | toPrettyJson"
        case Digest(path):
            return f"$.Values.{path} | toJson | sha256sum"
        case Text(parts):
            words = [part for part in parts if not isinstance(part, str)]
            form = "".join(part.replace("%", "%%") if isinstance(part, str) else "%v" for part in parts)
            return f"printf {json.dumps(form)} {' '.join(expression(word) for word in words)}"


def condition(node: Condition) -> str:
    match node:
        case On(path):
            return f"$.Values.{path}"
        case Equals(path, value):
            return f"eq $.Values.{path} {json.dumps(value)}"
        case MoreThan(path, number):
            return f"gt (int $.Values.{path}) {number}"
        case Served(api_version):
            return f"$.Capabilities.APIVersions.Has {json.dumps(api_version)}"
        case Not(inner):
            return f"not ({condition(inner)})"
        case AllOf(inner):
            return " ".join(("and", *(f"({condition(one)})" for one in inner)))
        case AnyOf(inner):
            return " ".join(("or", *(f"({condition(one)})" for one in inner)))


def scalar(value: Any) -> str:
    """A scalar as YAML: plain where nothing can be misread, else quoted."""
    if isinstance(value, str) and _is_plain(value):
        return value
    # What Helm would read as a template is for others: Prometheus and Grafana.
    return json.dumps(value, ensure_ascii=False).replace("{{", '{{ "{{" }}')


_WORDS = frozenset(("true", "false", "yes", "no", "on", "off", "null", "y", "n"))


def _is_plain(text: str) -> bool:
    starts_well = text[:1].isalpha() or text[:1] in ("/",)
    return starts_well and text.isascii() and all(c.isalnum() or c in "/._-" for c in text) and text.lower() not in _WORDS
