"""Writes one manifest: values in the order and the style of what they came from, with the remarks that belong to them.

Text is lifted only where it says the very value that is to be written, so reading what was written always gives the manifest.
"""

from __future__ import annotations

from typing import Any

import yaml

from shunter.api.meta import Json
from shunter.migrate.conversion.emit.anchors import NONE, repeated
from shunter.migrate.conversion.emit.comments import CommentPlacement
from shunter.migrate.conversion.emit.layout import Entry, FieldComments, Layout
from shunter.migrate.conversion.emit.origins import Origins
from shunter.migrate.conversion.emit.scalars import block, inline, inline_in_flow, is_ambiguous, lifted, same
from shunter.migrate.conversion.ledger import Manifest, Target
from shunter.migrate.paths import Path, has_more_leaves

FLOW_WIDTH = 120
MOST_IN_LINE = 3
"""Values of a mapping that is written in one line."""
_SECTIONS: tuple[Path, ...] = (("spec", "trainer"), ("spec", "template"))
_OWN_METADATA: dict[Manifest, Path] = {"TrainingRuntime": ("metadata",)}
"""What is in no source."""
_NO_REMARKS = FieldComments()


def lines_of(
    value: Json, manifest: Manifest, layout: Layout, origins: Origins, placed: CommentPlacement, *, is_compact: bool = False
) -> list[str]:
    """`is_compact` puts small mappings that come from no field of the source into one line each, and writes a block of a runtime
    once: where it stands again, an alias does."""
    writer = _Writer(manifest, layout, origins, placed, is_compact)
    return writer.write(value)


class _Writer:
    def __init__(self, manifest: Manifest, layout: Layout, origins: Origins, placed: CommentPlacement, is_compact: bool) -> None:
        self.lines: list[str] = []
        self._manifest = manifest
        self._layout = layout
        self._origins = origins
        self._placed = placed
        self._is_compact = is_compact
        self._end_of_kept = -1
        """Where a block scalar ended that keeps line breaks at its end: an empty line there would belong to it."""
        self._repeated = NONE
        self._orders: dict[Path, list[str]] = {}

    def write(self, value: Json) -> list[str]:
        if self._is_compact and self._manifest == "TrainingRuntime":
            self._repeated = repeated(value, self._order, self._is_block)
        self.mapping(value, (), 0)
        return self.lines

    def mapping(self, value: Json, path: Path, indent: int) -> None:
        margin = " " * indent
        for key in self._order(value, path):
            inner = (*path, key)
            entry = self._entry(inner)
            written = entry.key if entry is not None and entry.key.strip("\"'") == key else inline(key)
            self._field(f"{margin}{written}:", value[key], inner, indent, entry)

    def _sequence(self, value: list[Any], path: Path, indent: int) -> None:
        margin = " " * indent
        for index, item in enumerate(value):
            inner = (*path, index)
            entry = self._entry(inner)
            if not isinstance(item, dict) or not item or self._flow(item, inner, indent, entry) is not None:
                self._field(f"{margin}-", item, inner, indent, entry)
                continue
            remarks = self._remarks(inner)
            self._before(remarks, margin)
            if remarks.behind:
                self.lines.append(margin + remarks.behind.strip())
            start = len(self.lines)
            self.mapping(item, inner, indent + 2)
            first = next(at for at in range(start, len(self.lines)) if self.lines[at].lstrip()[:1] not in ("", "#"))
            self.lines[start:first] = [margin + line.lstrip() if line else line for line in self.lines[start:first]]
            self.lines[first] = f"{margin}- {self.lines[first][indent + 2 :]}"
            self._after(remarks, margin)

    def _field(self, head: str, value: Any, path: Path, indent: int, entry: Entry | None) -> None:
        margin = " " * indent
        remarks = self._remarks(path)
        deeper = indent + (2 if head.endswith("-") else self._layout.step)
        if (name := self._repeated.aliases.get(path)) is not None:
            self.lines.append(f"{head} *{name}")
        elif isinstance(value, dict | list) and value:
            flow = self._flow(value, path, indent, entry)
            self._before(remarks, margin)
            if flow is not None:
                text, is_lifted = flow
                if not is_lifted:
                    self.lines += [margin + line for line in remarks.inside]
                self._value(head, text, remarks.behind, is_block=False)
            else:
                self.lines += [margin + line for line in remarks.inside]
                name = self._repeated.anchors.get(path)
                self.lines.append((f"{head} &{name}" if name is not None else head) + remarks.behind)
                if isinstance(value, dict):
                    self.mapping(value, path, deeper)
                else:
                    self._sequence(value, path, indent + (2 if head.endswith("-") else self._layout.dash))
        else:
            self._before(remarks, margin)
            self.lines += [margin + line for line in remarks.inside]
            text = self._scalar(value, entry, deeper)
            self._value(head, text, remarks.behind, is_block=text[0][:1] in ("|", ">"))
        self._after(remarks, margin)

    def _value(self, head: str, text: list[str], behind: str, *, is_block: bool) -> None:
        first = f"{head} {text[0]}" if text[0] else head
        rest = text[1:]
        if is_block or not rest:
            self.lines += [first + behind, *rest]
            if is_block and "+" in text[0]:
                self._end_of_kept = len(self.lines)
        else:
            self.lines += [first, *rest[:-1], rest[-1] + behind]

    def _scalar(self, value: Any, entry: Entry | None, indent: int) -> list[str]:
        """Its lines, the first without indentation."""
        if entry is not None and isinstance(entry.node, yaml.ScalarNode) and same(entry.value, value):
            text = lifted(entry.node, self._layout.text, indent)
            if text is not None:
                return text
        if isinstance(value, str):
            text = block(value, indent) if value else None
            if text is not None:
                return text
        return [inline(value)]

    def _flow(self, value: Any, path: Path, indent: int, entry: Entry | None) -> tuple[list[str], bool] | None:
        """The text of a collection in flow style, and whether it is the source's own; None where it is to be a block."""
        if Target(self._manifest, path) in self._placed.commented:
            return None
        if entry is None:
            return _long_list_of_numbers(value, indent) or self._compact(value, path, indent)
        if not isinstance(entry.node, yaml.CollectionNode) or not entry.node.flow_style:
            return None
        node = entry.node
        text = self._layout.text[node.start_mark.index : node.end_mark.index]
        if same(entry.value, value) and not any(mark in text for mark in "&*!") and not is_ambiguous(node):
            lines = text.replace("\r\n", "\n").split("\n")
            if len(lines) == 1:
                return lines, True
            shift = indent - entry.column
            return [lines[0], *(_shifted(line, shift, indent) for line in lines[1:])], True
        if "\n" in text and "#" in text:
            return None
        flow = self._recomposed(value, path)
        return ([flow], False) if flow is not None and len(flow) + indent < FLOW_WIDTH else None

    def _compact(self, value: Any, path: Path, indent: int) -> tuple[list[str], bool] | None:
        """A small mapping, or a short list of words, that is in no source, in one line; the sections that people look for and add
        to stay as they are."""
        is_section = len(path) < 2 and path != _OWN_METADATA.get(self._manifest)
        is_section |= path in _SECTIONS and len(value) > 1
        if not self._is_compact or is_section or (isinstance(value, list) and any(isinstance(one, dict) for one in value)):
            return None
        if has_more_leaves(value, MOST_IN_LINE) or self._origins.has_any(Target(self._manifest, path)):
            return None
        flow = self._recomposed(value, path)
        width = indent + len(str(path[-1])) + 2 + len(flow or "")
        return ([flow], False) if flow is not None and width < FLOW_WIDTH else None

    def _is_block(self, value: Any, path: Path) -> bool:
        """Whether a value takes several lines, none of them with a comment or in flow style."""
        if not isinstance(value, dict | list) or not has_more_leaves(value, MOST_IN_LINE):
            return False
        target, entry = Target(self._manifest, path), self._entry(path)
        is_commented = target in self._placed.commented or target in self._placed.remarks
        is_flow = entry is not None and isinstance(entry.node, yaml.CollectionNode) and bool(entry.node.flow_style)
        is_numbers = isinstance(value, list) and all(type(item) is int for item in value)
        return not (is_commented or is_flow or is_numbers)

    def _recomposed(self, value: Any, path: Path) -> str | None:
        if isinstance(value, dict) and value:
            parts = []
            for key in self._order(value, path):
                inner = self._recomposed(value[key], (*path, key))
                if inner is None:
                    return None
                parts.append(f"{inline_in_flow(key)}: {inner}")
            return "{" + ", ".join(parts) + "}"
        if isinstance(value, list) and value:
            items = [self._recomposed(item, (*path, index)) for index, item in enumerate(value)]
            known = [item for item in items if item is not None]
            return "[" + ", ".join(known) + "]" if len(known) == len(items) else None
        if isinstance(value, str) and "\n" in value:
            return None
        return inline_in_flow(value)

    def _order(self, value: Json, path: Path) -> list[str]:
        """The source's order for what came from there; what is new stays behind what it stands behind in the value."""
        if path not in self._orders:
            self._orders[path] = self._new_order(value, path)
        return self._orders[path]

    def _new_order(self, value: Json, path: Path) -> list[str]:
        source = self._origins.source(Target(self._manifest, path))
        entry = self._layout.entries.get(source) if source is not None else None
        if source == ():
            places = {key[0]: place for place, key in enumerate(key for key in self._layout.entries if len(key) == 1)}
        elif entry is not None and isinstance(entry.value, dict):
            places = {key: place for place, key in enumerate(entry.value)}
        else:
            return list(value)
        ranks: dict[str, tuple[int, int]] = {}
        last = (-1, 0)
        for number, key in enumerate(value):
            origin = self._origins.source(Target(self._manifest, (*path, key)))
            if origin is not None and origin[:-1] == source and origin[-1] in places:
                last = (places[origin[-1]], 0)
            else:
                last = (last[0], number + 1)
            ranks[key] = last
        return sorted(value, key=ranks.__getitem__)

    def _entry(self, path: Path) -> Entry | None:
        source = self._origins.source(Target(self._manifest, path))
        return self._layout.entries.get(source) if source is not None else None

    def _remarks(self, path: Path) -> FieldComments:
        return self._placed.remarks.get(Target(self._manifest, path), _NO_REMARKS)

    def _before(self, remarks: FieldComments, margin: str) -> None:
        self._remark(remarks.before if self.lines else [line for line in remarks.before if line], margin)

    def _after(self, remarks: FieldComments, margin: str) -> None:
        self._remark(remarks.after, margin)

    def _remark(self, lines: list[str], margin: str) -> None:
        for line in lines:
            if line:
                self.lines.append(margin + line)
            elif len(self.lines) != self._end_of_kept:
                self.lines.append("")


def _shifted(line: str, by: int, least: int) -> str:
    stripped = line.lstrip()
    return " " * max(len(line) - len(stripped) + by, least) + stripped if stripped else ""


def _long_list_of_numbers(value: Any, indent: int) -> tuple[list[str], bool] | None:
    """Several numbers a line: a list of all exit codes would fill pages."""
    if not isinstance(value, list) or len(value) <= 4 or not all(type(item) is int for item in value):
        return None
    lines = ["["]
    for number in value:
        piece = f"{number}, "
        if len(lines[-1]) + len(piece) > FLOW_WIDTH:
            lines[-1] = lines[-1].rstrip()
            lines.append(" " * (indent + 2))
        lines[-1] += piece
    lines[-1] = lines[-1].removesuffix(", ") + "]"
    return lines, False
