"""Replaces selectors in a manifest's text; nothing else changes, and if that is impossible, nothing at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import msgspec
import yaml

from shunter.api.meta import Json, as_json
from shunter.kube.positions import followed
from shunter.migrate.conversion.emit.files import item_text
from shunter.migrate.conversion.emit.job import plain_text
from shunter.migrate.conversion.source.documents import Document, parsed
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.survey.neighbours.selections import Selection


class _Edit(NamedTuple):
    start: int
    end: int
    text: str


class NotRewrittenError(ValueError):
    """A selector cannot be replaced; the message is half a sentence."""


def with_selectors(document: Document, changes: Sequence[tuple[Selection, Json]]) -> str:
    """The document's text with these new selectors. Raises NotRewrittenError."""
    text = document.text
    edits = [_edit(document, selection, new) for selection, new in changes]
    for edit in sorted(edits, reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    expected = [as_json(source.value) for source in document.objects]
    for selection, new in changes:
        place = next(place for place, source in enumerate(document.objects) if source is selection.source)
        holder: Any = expected[place]
        for step in selection.path[:-1]:
            holder = holder[step]
        holder[selection.path[-1]] = new
    if [source.value for one in parsed(text, document.source) for source in one.objects] != expected:
        raise NotRewrittenError("its text shares parts with others")
    return text


def item_with_selectors(source: SourceObject, changes: Sequence[tuple[Selection, Json]]) -> str:
    """The text of an item of a List as a separate object, with these new selectors. Raises NotRewrittenError."""
    (document,) = parsed(item_text(source), source.source)
    return with_selectors(document, [(replace(selection, source=document.objects[0]), new) for selection, new in changes])


def _edit(document: Document, selection: Selection, new: Json) -> _Edit:
    if selection.source.node is None:
        raise NotRewrittenError("its text is JSON that is not YAML")
    steps, _, node = followed(selection.source.node, selection.path)
    if steps != len(selection.path) or not isinstance(node, yaml.MappingNode) or not node.value:
        raise NotRewrittenError("the selector is not written out in its text")
    start, end = node.start_mark.index, _last(node).end_mark.index
    text = document.text[start:end]
    if "#" in text:
        raise NotRewrittenError("there are comments within the selector")
    if node.flow_style:
        return _Edit(start, node.end_mark.index, msgspec.json.encode(new).decode() if document.is_json else _in_line(new))
    margin = "\n" + " " * node.start_mark.column
    line_end = "\r" if "\r\n" in document.text else ""
    return _Edit(start, end, plain_text(new).rstrip("\n").replace("\n", line_end + margin))


def _last(node: yaml.Node) -> yaml.Node:
    """The last leaf below a node in block style. Its end is that of the text; the node's own end is the start of the next
    token."""
    if isinstance(node, yaml.MappingNode) and node.value and not node.flow_style:
        return _last(node.value[-1][1])
    if isinstance(node, yaml.SequenceNode) and node.value and not node.flow_style:
        return _last(node.value[-1])
    return node


def _in_line(value: Json) -> str:
    text: str = yaml.safe_dump(value, default_flow_style=True, sort_keys=False, width=float("inf"))
    return text.rstrip("\n")
