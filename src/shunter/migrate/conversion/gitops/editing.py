"""Small changes to a kustomization's text that leave everything else in it as it is, comments included."""

from __future__ import annotations

import re
from collections.abc import Collection

import msgspec
import yaml

from shunter.api.yaml import Loader
from shunter.migrate.conversion.emit.job import plain_text
from shunter.migrate.conversion.source.files import BOM


def without_items(text: str, field: str, indexes: Collection[int]) -> str:
    """The text without some items of a list, and without the list when none is left."""
    text = _in_lines(text, field)
    root, key, node = _found(text, field)
    if key is None or node is None:
        return text
    if root.flow_style or node.flow_style:
        return _with_items(text, field, [item for index, item in enumerate(_value(text)[field]) if index not in indexes])
    lines = text.split("\n")
    starts = [_dash_line(lines, item) for item in node.value]
    ends = [*starts[1:], _last_line(lines, node) + 1]
    gone: set[int] = set()
    for index in indexes:
        end = ends[index]
        while end > starts[index] + 1 and (not lines[end - 1].strip() or lines[end - 1].lstrip().startswith("#")):
            end -= 1
        gone.update(range(starts[index], end))
    if len(set(indexes)) == len(node.value):
        gone.update(range(key.start_mark.line, starts[0]))
    return "\n".join(line for number, line in enumerate(lines) if number not in gone)


def with_item(text: str, field: str, item: str) -> str:
    """The text with one more item, a plain string, at the end of a list; a new list when there is none. What is there already is
    not added again."""
    value = _value(text).get(field) or []
    if item in value:
        return text
    text = _in_lines(text, field)
    root, key, node = _found(text, field)
    if root.flow_style or (node is not None and node.flow_style):
        return _with_items(text, field, [*value, item])
    if key is None or node is None or not node.value:
        return f"{text.rstrip(chr(10))}\n{field}:\n- {item}\n"
    lines = text.split("\n")
    lines.insert(_last_line(lines, node) + 1, f"{' ' * node.start_mark.column}- {item}")
    return "\n".join(lines)


def with_patch(text: str, path: str) -> str:
    """The text with one more entry `path: ...` among the patches."""
    text = _in_lines(text, "patches")
    root, key, node = _found(text, "patches")
    if root.flow_style or (node is not None and node.flow_style):
        return _with_items(text, "patches", [*(_value(text).get("patches") or []), {"path": path}])
    if key is None or node is None or not node.value:
        return f"{text.rstrip(chr(10))}\npatches:\n- path: {path}\n"
    lines = text.split("\n")
    lines.insert(_last_line(lines, node) + 1, f"{' ' * node.start_mark.column}- path: {path}")
    return "\n".join(lines)


def with_inline(text: str, field: str, content: str) -> str:
    """The text with one more patch that is written out in it."""
    text = _in_lines(text, field)
    entry = content if field == "patchesStrategicMerge" else {"patch": content}
    root, key, node = _found(text, field)
    if root.flow_style or (node is not None and node.flow_style):
        return _with_items(text, field, [*(_value(text).get(field) or []), entry])
    margin = " " * (node.start_mark.column if node is not None and node.value else 0)
    block = [f"{margin}- {'|' if isinstance(entry, str) else 'patch: |'}"]
    block += [f"{margin}    {line}" if line else "" for line in content.rstrip("\n").split("\n")]
    if key is None or node is None or not node.value:
        return "\n".join([text.rstrip("\n"), f"{field}:", *block, ""])
    lines = text.split("\n")
    number = _last_line(lines, node) + 1
    return "\n".join([*lines[:number], *block, *lines[number:]])


def _in_lines(text: str, field: str) -> str:
    """The text with a list that is written in brackets in lines, one an item, below the comments within; and without the field
    where nothing is in it. A list with anchors or aliases stays as it is."""
    if text.startswith(BOM):  # places of nodes are counted without it
        return BOM + _in_lines(text.removeprefix(BOM), field)
    root = yaml.compose(text, Loader=Loader)
    pairs = root.value if isinstance(root, yaml.MappingNode) and not root.flow_style else []
    for key, node in pairs:
        if not isinstance(key, yaml.ScalarNode) or key.value != field:
            continue
        behind, newline, below = text[node.end_mark.index :].partition("\n")
        if not _value(text)[field]:
            comment = behind.lstrip()
            return text[: key.start_mark.index] + (comment + newline if comment else "") + below
        written = text[node.start_mark.index : node.end_mark.index]
        if written.startswith("[") and not set("&*") & set(written):
            lines = re.findall(r"(?<=\s)#[^\r\n]*", written) if "\n" in written else []
            lines += [f"- {_in_a_line(text, *item)}" for item in zip(node.value, _value(text)[field], strict=True)]
            return text[: node.start_mark.index].rstrip() + behind + "".join(f"\n{line}" for line in lines) + newline + below
    return text


def _in_a_line(text: str, node: yaml.Node, value: object) -> str:
    written = text[node.start_mark.index : node.end_mark.index]
    return written if "\n" not in written else msgspec.json.encode(value).decode()


def _found(text: str, field: str) -> tuple[yaml.MappingNode, yaml.ScalarNode | None, yaml.SequenceNode | None]:
    root = yaml.compose(text, Loader=Loader)
    assert isinstance(root, yaml.MappingNode), "what is no mapping is no kustomization"
    for key, node in root.value:
        if isinstance(key, yaml.ScalarNode) and key.value == field and isinstance(node, yaml.SequenceNode):
            return root, key, node
    return root, None, None


def _value(text: str) -> dict[str, list[object]]:
    value: dict[str, list[object]] = yaml.load(text, Loader)
    return value


def _with_items(text: str, field: str, items: list[object]) -> str:
    value = {key: inner for key, inner in _value(text).items() if key != field}
    return plain_text({**value, **({field: items} if items else {})})


def _dash_line(lines: list[str], item: yaml.Node) -> int:
    """The line of an item's dash; its value may start below."""
    number: int = item.start_mark.line
    while not lines[number].lstrip().startswith("-"):
        number -= 1
    return number


def _last_line(lines: list[str], node: yaml.SequenceNode) -> int:
    """The last line of a list that says something."""
    mark = node.end_mark
    number: int = (
        mark.line if mark.column and mark.line < len(lines) and lines[mark.line][: mark.column].strip() else mark.line - 1
    )
    while not lines[number].strip() or lines[number].lstrip().startswith("#"):
        number -= 1
    return number
