"""How a source object is written: the text of its keys and values, its comments and empty lines, its indentation.

A comment belongs to a field. One at the end of a line belongs to the last field that starts in the line; one in a line of its
own to the field below it, or, when it is indented further than that one, to the field above it. Comments are found by looking for
`#` outside of scalars, whose places the nodes know.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Any, NamedTuple

import msgspec
import yaml

from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.paths import Path


class Entry(NamedTuple):
    """One field or item of the source. `key` is the key as it is written, empty for an item; `column` that of the key or dash."""

    key: str
    node: yaml.Node
    value: Any
    column: int


class FieldComments(msgspec.Struct):
    """The comments of one field, each from its `#` on; "" is an empty line."""

    before: list[str] = []
    behind: str = ""
    """At the end of its line, with the blanks before it."""
    inside: list[str] = []
    """Within its brackets, where it is written in flow style."""
    after: list[str] = []
    """Below everything that belongs to it, indented like it."""

    def comments(self) -> list[str]:
        """All of them as they are read from top to bottom, without empty lines."""
        return [line for line in (*self.before, self.behind.strip(), *self.inside, *self.after) if line]


class Layout(msgspec.Struct):
    """All that is known of one source's text. A result is written as its source was, as far as fields correspond."""

    text: str = ""
    entries: dict[Path, Entry] = {}
    remarks: dict[Path, FieldComments] = {}
    head: list[str] = []
    """Comments at the top, set apart from the object by an empty line, which is the last of them."""
    tail: list[str] = []
    step: int = 2
    """The number of spaces by which the fields of a mapping are indented."""
    dash: int = 0
    """The number of spaces by which the items of a list are indented below their key."""


class _Event(NamedTuple):
    """A field or item in block style, where it starts."""

    offset: int
    line: int
    column: int
    path: Path


def layout_of(source: SourceObject, *, is_whole_document: bool) -> Layout:
    """An object of a cluster, or of JSON that is no YAML, has no layout: what is written of it gets the usual one."""
    if source.node is None:
        return Layout()
    layout = Layout(source.text)
    walk = _Walk(layout)
    walk.visit(source.node, source.value, (), is_block=True)
    _measure(layout, walk.events)
    if is_whole_document:
        _attach(layout, walk, 0, len(source.text), first=0)
    else:
        start, end = source.node.start_mark, source.node.end_mark
        _attach(layout, walk, start.index - start.column, end.index - end.column, first=start.line)
    return layout


class _Walk:
    """Collects entries, where fields start, and what is no place for comments."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.events: list[_Event] = []
        self.scalars: list[tuple[int, int]] = []
        """Start and end of scalars that hold a `#` or several lines."""
        self.inside: set[int] = set()
        """Lines that a block scalar or a flow collection covers but for its first."""
        self.flows: list[tuple[int, int, Path]] = []
        """Flow collections of several lines: start, end, whose value they are."""
        self._seen: set[int] = set()

    def visit(self, node: yaml.Node, value: Any, path: Path, *, is_block: bool) -> None:
        """`is_block` is false within a flow collection and below an alias: there no field has a place of its own."""
        if id(node) in self._seen:
            is_block, is_alias = False, True
        else:
            self._seen.add(id(node))
            is_alias = False
        if isinstance(node, yaml.ScalarNode):
            if not is_alias:
                self._scalar(node)
            return
        assert isinstance(node, yaml.CollectionNode), "what is no scalar is a collection"
        if node.flow_style and is_block and not is_alias:
            start, end = node.start_mark, node.end_mark
            if end.line > start.line:
                self.flows.append((start.index, end.index, path))
                self.inside.update(range(start.line + 1, end.line + 1))
            is_block = False
        if isinstance(node, yaml.SequenceNode):
            self._sequence(node, value, path, is_block)
        elif isinstance(node, yaml.MappingNode):
            self._mapping(node, value, path, is_block)

    def _sequence(self, node: yaml.SequenceNode, value: Any, path: Path, is_block: bool) -> None:
        column = node.start_mark.column
        for index, item in enumerate(node.value):
            inner = (*path, index)
            self.layout.entries[inner] = Entry("", item, value[index], column)
            if is_block and id(item) not in self._seen:
                mark = item.start_mark
                self.events.append(_Event(mark.index, mark.line, column, inner))
            self.visit(item, value[index], inner, is_block=is_block)

    def _mapping(self, node: yaml.MappingNode, value: Any, path: Path, is_block: bool) -> None:
        text = self.layout.text
        for key, item in node.value:
            if not isinstance(key, yaml.ScalarNode) or not isinstance(value, dict) or key.value not in value:
                continue
            inner = (*path, key.value)
            start, end = key.start_mark, key.end_mark
            is_own = is_block and id(key) not in self._seen and start.index >= node.start_mark.index
            self._seen.add(id(key))
            self.layout.entries[inner] = Entry(text[start.index : end.index], item, value[key.value], start.column)
            if is_own:
                self.events.append(_Event(start.index, start.line, start.column, inner))
            self.visit(item, value[key.value], inner, is_block=is_own)

    def _scalar(self, node: yaml.ScalarNode) -> None:
        start, end = node.start_mark, node.end_mark
        if end.line == start.line:
            if "#" in node.value:
                self.scalars.append((start.index, end.index))
            return
        text = self.layout.text[start.index : end.index]
        if node.style not in ("|", ">"):
            self.scalars.append((start.index, end.index))
            return
        header, _, content = text.partition("\n")
        if "+" in header.partition("#")[0]:
            count = content.count("\n")
        else:
            content = content.rstrip()
            count = content.count("\n") + 1 if content else 0
        first = start.index + len(header) + 1
        self.scalars.append((first, first + len(content)))
        self.inside.update(range(start.line + 1, start.line + 1 + count))

    def is_in_scalar(self, index: int) -> bool:
        at = bisect_right(self.scalars, (index, 1 << 62)) - 1
        return at >= 0 and self.scalars[at][0] <= index < self.scalars[at][1]

    def flow_at(self, index: int) -> Path | None:
        return next((path for start, end, path in self.flows if start < index < end), None)


def _measure(layout: Layout, events: list[_Event]) -> None:
    columns = {event.path: event.column for event in events}
    steps = (
        column - columns[path[:-1]]
        for path, column in columns.items()
        if isinstance(path[-1], str) and len(path) > 1 and isinstance(path[-2], str) and path[:-1] in columns
    )
    layout.step = next((step for step in steps if step > 0), layout.step)
    dashes = (
        column - columns[path[:-1]]
        for path, column in columns.items()
        if isinstance(path[-1], int) and len(path) > 1 and isinstance(path[-2], str) and path[:-1] in columns
    )
    layout.dash = max(next(dashes, layout.dash), 0)


def _attach(layout: Layout, walk: _Walk, begin: int, end: int, *, first: int) -> None:
    """Gives every comment and every empty line of a part of the text, whose first line has the number `first`, to its field."""
    events = sorted(walk.events)
    columns = {event.path: event.column for event in events}
    pending: list[tuple[int, str]] = []
    position, index = 0, begin
    previous: Path | None = None
    for number, raw in enumerate(layout.text[begin:end].removesuffix("\n").split("\n"), start=first):
        start, index = index, index + len(raw) + 1
        line = raw.rstrip("\r")
        stripped = line.strip()
        column = len(line) - len(line.lstrip())
        if not stripped:
            if number not in walk.inside:
                pending.append((-1, ""))
            continue
        if stripped.startswith("#") and not walk.is_in_scalar(start + column):
            flow = walk.flow_at(start + column)
            if flow is None:
                pending.append((column, stripped))
            else:
                _remarks(layout, flow).inside.append(stripped)
            continue
        while position < len(events) and events[position].line <= number:
            event = events[position]
            if event.line == number and pending:
                _settle(layout, pending, event, previous, columns)
                pending = []
            previous = event.path
            position += 1
        comment = _comment_in(line, start, walk)
        if comment is None or (number == first and previous is None):
            continue
        flow = walk.flow_at(start + comment)
        if flow is not None:
            _remarks(layout, flow).inside.append(line[comment:].rstrip())
        elif previous is not None:
            text = line[len(line[:comment].rstrip()) :].rstrip()
            owner = _remarks(layout, previous)
            if owner.behind:
                owner.after.append(text.strip())
            else:
                owner.behind = text
    _settle_rest(layout, pending, previous, columns)


def _remarks(layout: Layout, path: Path) -> FieldComments:
    return layout.remarks.setdefault(path, FieldComments())


def _comment_in(line: str, start: int, walk: _Walk) -> int | None:
    """Where the comment of a line with other text begins."""
    at = line.find("#")
    while at >= 0:
        if at and line[at - 1] in " \t" and not walk.is_in_scalar(start + at):
            return at
        at = line.find("#", at + 1)
    return None


def _settle(
    layout: Layout, pending: list[tuple[int, str]], event: _Event, previous: Path | None, columns: dict[Path, int]
) -> None:
    """Divides lines between two fields: what is indented further than the second one belongs to the first."""
    if previous is None:
        lines = [line for _, line in pending]
        cut = len(lines) - lines[::-1].index("") if "" in lines else 0
        layout.head = lines[:cut] if any(lines[:cut]) else []
        if lines[cut:]:
            _remarks(layout, event.path).before += lines[cut:]
        return
    cut = next((at for at, (column, _) in enumerate(pending) if 0 <= column <= event.column), len(pending))
    while cut and not pending[cut - 1][1]:
        cut -= 1
    _below(layout, pending[:cut], previous, columns)
    if pending[cut:]:
        _remarks(layout, event.path).before += [line for _, line in pending[cut:]]


def _below(layout: Layout, lines: list[tuple[int, str]], previous: Path, columns: dict[Path, int]) -> None:
    for column, line in lines:
        owner = previous
        while len(owner) > 1 and (owner not in columns or (line and columns[owner] > column)):
            owner = owner[:-1]
        _remarks(layout, owner).after.append(line)


def _settle_rest(layout: Layout, pending: list[tuple[int, str]], previous: Path | None, columns: dict[Path, int]) -> None:
    cut = next((at for at, (column, line) in enumerate(pending) if line and column == 0), len(pending))
    while cut and not pending[cut - 1][1]:
        cut -= 1
    if previous is None:
        cut = 0
    else:
        _below(layout, pending[:cut], previous, columns)
    layout.tail = [line for _, line in pending[cut:]]
