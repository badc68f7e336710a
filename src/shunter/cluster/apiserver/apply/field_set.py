"""Sets of field paths in their wire form, `FieldsV1`: one JSON object, algebra directly on it, values never mutated.

A key is a path element: `f:NAME` a field, `k:{"name":"x"}` an item of a list map, `v:VALUE` an item of a list set, `i:N` an
index. Its value says which of the paths below are in the set: `{}` only the path itself; otherwise the elements below it, plus
`"."` when the path itself is in the set too. The empty object at the root is the empty set.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, TypeAlias

import msgspec

from shunter.api.formats.digits import whole_number

FieldSet: TypeAlias = dict[str, Any]
Path: TypeAlias = tuple[str, ...]

MEMBER: FieldSet = {}
SELF = "."
_encode = msgspec.json.Encoder(order="sorted").encode
_decode = msgspec.json.decode
_ESCAPED_BY_GO = re.compile(r"[<>&\u2028\u2029]")


def field(name: str) -> str:
    """The path element of a field of an object."""
    return "f:" + name


def item_by_key(key: dict[str, Any]) -> str:
    """The path element of an item of a list map."""
    return "k:" + _element_json(key)


@lru_cache(4096)
def item_by_name(field: str, value: str) -> str:
    """The path element of an item of a list map with one key, a string: most of them, and few different ones."""
    return item_by_key({field: value})


def item_by_value(value: Any) -> str:
    """The path element of an item of a list set."""
    return "v:" + _element_json(value)


def fields_at(*paths: Path) -> FieldSet:
    """The set of the given field paths, each a tuple of field names."""
    result: FieldSet = {}
    for path in paths:
        below: FieldSet = MEMBER
        for name in reversed(path):
            below = {field(name): below}
        result = union(result, below)
    return result


def is_member(node: FieldSet | None) -> bool:
    """Whether the path that `node` stands at is in the set itself."""
    return node is not None and (not node or SELF in node)


def below(node: FieldSet | None) -> FieldSet:
    """The set of paths strictly below a node, as a set of its own."""
    if not node or SELF not in node:
        return node or {}
    return {element: child for element, child in node.items() if element != SELF}


def union(left: FieldSet, right: FieldSet) -> FieldSet:
    """What is in either set."""
    if not left or left is right:
        return right
    if not right:
        return left
    result = dict(left)
    for element, theirs in right.items():
        if element == SELF:
            result[SELF] = MEMBER
            continue
        ours = left.get(element)
        if ours is None:
            result[element] = theirs
        elif ours is not theirs:
            result[element] = _merged_nodes(ours, theirs)
    return result


def difference(left: FieldSet, right: FieldSet) -> FieldSet:
    """What is in `left` and not in `right`, path by path: a parent in `right` takes nothing below it away.

    Returns `left` itself when nothing is taken away."""
    result = None
    for element, theirs in right.items():
        if element == SELF or (ours := left.get(element)) is None:
            continue
        rest = _node_difference(ours, theirs)
        if rest is not ours:
            if result is None:
                result = dict(left)
            if rest is None:
                del result[element]
            else:
                result[element] = rest
    return left if result is None else result


def difference_with_descendants(left: FieldSet, right: FieldSet) -> FieldSet:
    """What is in `left` and neither in `right` nor below one of its paths."""
    if not right:
        return left
    result: FieldSet = {}
    for element, ours in left.items():
        if element == SELF or (theirs := right.get(element)) is None:
            result[element] = ours
        elif not is_member(theirs):
            rest = _node(is_member(ours), difference_with_descendants(below(ours), theirs))
            if rest is not None:
                result[element] = rest
    return result


def intersection(left: FieldSet, right: FieldSet) -> FieldSet:
    """What is in both sets."""
    result: FieldSet = {}
    for element, theirs in right.items():
        if element != SELF and (ours := left.get(element)) is not None:
            both = _node(is_member(ours) and is_member(theirs), intersection(below(ours), below(theirs)))
            if both is not None:
                result[element] = both
    return result


def contains(fields: FieldSet, path: Path) -> bool:
    """Whether the path, given as elements, is in the set."""
    node: FieldSet | None = fields
    for element in path:
        if not node or (node := node.get(element)) is None:
            return False
    return is_member(node)


def paths(fields: FieldSet) -> Iterator[Path]:
    """Every path in the set, in structured-merge-diff's order: at each level first the members, then what is below."""
    elements = sorted((element for element in fields if element != SELF), key=_sort_key)
    for element in elements:
        if is_member(fields[element]):
            yield (element,)
    for element in elements:
        for path in paths(below(fields[element])):
            yield (element, *path)


def path_text(path: Path) -> str:
    """A path as conflicts show it: `.spec.containers[name="main"].image`."""
    return "".join(map(shown_element, path))


def shown_element(element: str) -> str:
    """One path element as conflicts and errors show it."""
    kind, _, text = element.partition(":")
    match kind:
        case "k":
            key = _decode(text)
            return "[" + ",".join(f"{name}={_shown_value(key[name])}" for name in sorted(key)) + "]"
        case "v":
            return f"[={_shown_value(_decode(text))}]"
        case "i":
            return f"[{text}]"
    return "." + text


def _node(member: bool, children: FieldSet) -> FieldSet | None:
    if not children:
        return MEMBER if member else None
    return {SELF: MEMBER, **children} if member else children


def _node_difference(left: FieldSet, right: FieldSet) -> FieldSet | None:
    """The node that is left of `left`: itself when nothing is taken away, None when nothing is left."""
    takes_self = not right or SELF in right
    if not left:
        return None if takes_self else left
    rest = difference(left, right)
    if takes_self and SELF in rest:
        rest = {element: child for element, child in rest.items() if element != SELF}
    if not rest:
        return None
    return MEMBER if len(rest) == 1 and SELF in rest else rest


def _merged_nodes(left: FieldSet, right: FieldSet) -> FieldSet:
    node = _node(is_member(left) or is_member(right), union(below(left), below(right)))
    assert node is not None, "a node of a field set is a member or has children"
    return node


def _element_json(value: Any) -> str:
    """JSON as Go writes it into path elements: sorted keys, whole floats without a fraction, HTML characters escaped."""
    if isinstance(value, dict):
        value = {name: _whole(part) for name, part in value.items()}
    text = _encode(_whole(value)).decode()
    return _ESCAPED_BY_GO.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _shown_value(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ",".join(map(_shown_value, value)) + "]"
    return _encode(value).decode()


def _sort_key(element: str) -> tuple[int, Any]:
    kind, _, text = element.partition(":")
    match kind:
        case "f":
            return (0, text)
        case "k":
            key = _decode(text)
            return (1, [(name, *_value_sort_key(key[name])) for name in sorted(key)])
        case "v":
            return (2, _value_sort_key(_decode(text)))
    return (3, whole_number(text) or 0)


def _value_sort_key(value: Any) -> tuple[int, Any]:
    if isinstance(value, bool):
        return (2, value)
    if isinstance(value, int | float):
        return (0, value)
    return (1, str(value))
