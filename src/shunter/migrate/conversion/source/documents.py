"""A text taken apart into its documents, each read by itself: a bad one never stops the others.

Nothing is normalised. The documents of a text, joined, are the text again, byte for byte, so code that changes one document
writes all the others back as they were.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise
from typing import Any

import msgspec
import yaml

from shunter.api.late_patterns import late_pattern
from shunter.api.yaml import Loader
from shunter.migrate.conversion.source import templates
from shunter.migrate.conversion.source.embedded import V1, Embedded, found_in
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.conversion.source.size import refuse_depth, refuse_expansion
from shunter.migrate.conversion.source.versions import findings_of, is_convertible
from shunter.migrate.findings import Finding, Place, Topic

UNPARSABLE = Topic(
    id="INPUT011",
    title="a document that is not valid YAML or JSON",
    severity="error",
    change="unsupported",
    grade="N",
    explanation=(
        "The document mentions kubeflow.org and cannot be read: it has a syntax error, or a duplicate key in one object, for "
        "which some YAML readers use the first value and some the last. Its meaning is unclear, so it is left unchanged."
    ),
    remedy="Repair the document; all others are converted.",
)
UNRELATED = Topic(
    id="INPUT012",
    title="an unreadable document that seems to contain no v1 job",
    severity="info",
    change="lossless",
    grade="E",
    explanation="The document cannot be read as YAML and does not mention kubeflow.org. It is left unchanged.",
    remedy="Nothing, if it is not a manifest.",
    effort=0,
)

LARGEST_WITHOUT_OBJECTS = 1024 * 1024
"""Characters of a document that names no apiVersion. A larger one is data, whose nodes would take a hundred times its size."""

_SEPARATOR = late_pattern(r"^(?:---|\.\.\.)(?=[ \t\r\n]|\Z)", re.M)
_NOTHING = late_pattern(r"(?:(?:---|\.\.\.)?[ \t\r]*(?:[#%][^\n]*)?(?:\n|\Z))*\Z")
_SEPARATOR_LINE = late_pattern(r"(?:%[^\n]*\n)*(?:---|\.\.\.)[ \t]*(?:#[^\r\n]*)?(?:\r?\n|\Z)")
_ALIAS = late_pattern(r"(?:^|[\s,:\[{])\*[^\s*]")
"""What an alias looks like; some text does, too."""


class Document(msgspec.Struct, frozen=True, dict=True):
    """One part of a text, its separator (`---`) included."""

    source: str
    text: str
    first_line: int
    """The number of lines before it."""
    node: yaml.Node | None = None
    """None for an empty document and for one that could not be read."""
    value: Any = None
    objects: tuple[SourceObject, ...] = ()
    """The Kubernetes objects in it; several when it is a List."""
    findings: tuple[Finding, ...] = ()
    is_template: bool = False
    is_of_chart: bool = False
    """Whether it stands in a Helm chart."""

    @cached_property
    def separator(self) -> str:
        """The line that it begins with, if that says nothing else; what replaces the document stands behind it."""
        match = _SEPARATOR_LINE.match(self.text)
        return match[0] if match else ""

    @cached_property
    def is_json(self) -> bool:
        """Whether it is JSON, not only YAML in brackets."""
        return _as_json(self.text[len(self.separator) :]) is not None

    @cached_property
    def embedded(self) -> tuple[Embedded, ...]:
        """The v1 jobs within its objects, or within its values when it is no object."""
        if V1 not in self.text or not isinstance(self.value, dict):
            return ()
        at = Place(self.source, self.first_line + 1, 1)
        hosts = self.objects or (SourceObject(self.value, self.source, self.node, self.first_line, self.text, at=at),)
        return tuple(inner for host in hosts if not is_convertible(host) for inner in found_in(host))

    @property
    def is_list(self) -> bool:
        """Whether it is no object itself but a List, or has no objects at all. False for an empty or unreadable one."""
        return self.value is not None and not (len(self.objects) == 1 and self.objects[0].value is self.value)


def parsed(text: str, source: str, *, is_of_chart: bool = False) -> tuple[Document, ...]:
    """The documents of a text (without a byte order mark) in order; `"".join(document.text ...)` is the text. In a chart all
    that looks like one is a template."""
    documents = []
    line = 0
    for part in parts(text):
        documents.append(_document(part, source, line, is_of_chart=is_of_chart))
        line += part.count("\n")
    return tuple(documents)


def parts(text: str) -> list[str]:
    """The text cut before each separator. A separator ends whatever stands before it, block scalars included, so it is found
    without reading the rest."""
    cuts = [match.start() for match in _SEPARATOR.finditer(text)]
    bounds = [0, *(cut for cut in cuts if cut), len(text)]
    found = [text[start:end] for start, end in pairwise(bounds) if start < end]
    return _with_directives(found)


def _with_directives(found: list[str]) -> list[str]:
    """`%YAML 1.2` and its like belong to the document behind them."""
    joined: list[str] = []
    for part in found:
        if joined and joined[-1].startswith("%") and _NOTHING.match(joined[-1]):
            joined[-1] += part
        else:
            joined.append(part)
    return joined


def _document(text: str, source: str, first_line: int, *, is_of_chart: bool) -> Document:
    if _NOTHING.match(text) or (len(text) > LARGEST_WITHOUT_OBJECTS and "apiVersion" not in text):
        return Document(source, text, first_line)
    template = Document(source, text, first_line, is_template=True, is_of_chart=is_of_chart)
    has_actions = templates.has_actions(text)
    if has_actions and is_of_chart:
        return template
    try:
        node, value = _read(text)
        if has_actions and templates.needs_filling(text, node):
            return template
    except yaml.YAMLError as error:
        if has_actions:
            return template
        return Document(source, text, first_line, findings=(_fault(error, text, source, first_line),))
    mappings = tuple(_mappings(value, node, source, first_line, text))
    objects = tuple(found for found in mappings if found.is_object)
    findings = tuple(finding for found in mappings for finding in findings_of(found))
    return Document(source, text, first_line, node, value, objects, findings)


def _read(text: str) -> tuple[yaml.Node | None, Any]:
    if text.startswith("..."):
        text = "   " + text[3:]
    refuse_depth(text)
    loader = Loader(text)
    try:
        node = loader.get_single_node()
        if node is None:
            return None, None
        if "*" in text and "&" in text and _ALIAS.search(text):  # an alias names an anchor, or was no YAML just now
            refuse_expansion(node)
        return node, loader.construct_document(node)
    except yaml.scanner.ScannerError:
        value = _as_json(text)
        if value is None:
            raise
        return None, value
    finally:
        loader.dispose()


def _as_json(text: str) -> Any:
    """JSON that is no YAML, such as escaped surrogate pairs; None for what is no JSON."""
    text = text.removeprefix("---").strip()
    if not text.startswith("{"):
        return None
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return None


def _fault(error: yaml.YAMLError, text: str, source: str, first_line: int) -> Finding:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    place = Place(source, first_line + mark.line + 1, mark.column + 1) if mark else Place(source, first_line + 1, 1)
    topic = UNPARSABLE if "kubeflow.org" in text else UNRELATED
    problem = getattr(error, "problem", None) or getattr(error, "context", None) or str(error).splitlines()[0]
    return Finding(topic, source, place, (), f"Not valid YAML: {problem}.")


def _mappings(value: Any, node: yaml.Node | None, source: str, first_line: int, text: str) -> Iterator[SourceObject]:
    """The objects in a document, Lists taken apart, and what is none for want of a kind or version."""
    if not isinstance(value, dict):
        return
    found = SourceObject(value, source, node, first_line, text, at=Place(source, first_line + 1, 1))
    items = value.get("items")
    if not found.is_object or not isinstance(items, list) or not found.kind.endswith("List"):
        yield found
        return
    nodes = _item_nodes(node)
    for index, item in enumerate(items):
        if isinstance(item, dict) and value["kind"] != "List":
            # The API server leaves kind and version of a typed List's items out.
            item = {"apiVersion": value["apiVersion"], "kind": value["kind"].removesuffix("List"), **item}
        yield from _mappings(item, nodes[index] if nodes else None, source, first_line, text)


def _item_nodes(node: yaml.Node | None) -> list[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        for key, inner in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value == "items" and isinstance(inner, yaml.SequenceNode):
                return list(inner.value)
    return []
