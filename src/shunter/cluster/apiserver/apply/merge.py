"""Merging an applied configuration into an object, and taking fields out of one. Inputs are never mutated.

The rules, down to the order of list items and to which emptied containers stay, are structured-merge-diff's `Merge` and
`RemoveItems`.
"""

from __future__ import annotations

from collections import deque
from typing import Any, TypeVar, cast

from shunter.api.meta import Json
from shunter.cluster.apiserver.apply.field_set import MEMBER, SELF, FieldSet, below, field, is_member
from shunter.cluster.apiserver.apply.fields import FieldTree

_ABSENT: Any = object()
Container = TypeVar("Container", Json, list[Any])


def merged(live: Json, applied: Json, tree: FieldTree) -> Json:
    """`live` with every field of `applied` set; nothing is removed."""
    result = _merged_maps(live, applied, tree)
    return {} if result is _ABSENT else cast(Json, result)


def without(value: Json, fields: FieldSet, tree: FieldTree) -> Json:
    """`value` less the fields in the set; returns `value` itself when there are none."""
    return _without_fields(value, fields, tree) if fields else value


def with_named_parents(fields: FieldSet, tree: FieldTree) -> FieldSet:
    """The set plus every declared struct field that something in it stands below.

    Ownership does not list mere parents, while taking an owned subtree away has to take its parent as well."""
    result: FieldSet = {}
    for element, node in fields.items():
        if element == SELF:
            continue
        if not node:
            result[element] = MEMBER
            continue
        child = _type_below(element, tree)
        inner = with_named_parents(below(node), child) if child else below(node)
        named = tree.is_map and element.startswith("f:") and element[2:] in tree.fields
        result[element] = {SELF: MEMBER, **inner} if named or is_member(node) else inner
    return result


def _type_below(element: str, tree: FieldTree) -> FieldTree | None:
    if element.startswith("f:"):
        return tree.child(element[2:]) if tree.is_map else None
    return tree.item if element.startswith("k:") and tree.list_type else None


def _merged(live: Any, applied: Any, tree: FieldTree) -> Any:
    """One path of both sides, of which at most one is absent; absent when nothing is left."""
    if applied is _ABSENT:
        return live
    if tree.is_granular and _either(dict, live, applied):
        return _merged_maps(live or {} if live is not _ABSENT else {}, applied or {}, tree)
    if tree.list_type in ("map", "set") and _either(list, live, applied):
        return _merged_lists(live or [] if live is not _ABSENT else [], applied or [], tree)
    return applied


def _either(container: type, live: Any, applied: Any) -> bool:
    """Whether both sides are containers of this type or nothing, and one of them holds something."""
    fits_live = live is _ABSENT or live is None or isinstance(live, container)
    fits_applied = applied is None or isinstance(applied, container)
    return fits_live and fits_applied and ((live is not _ABSENT and bool(live)) or bool(applied))


def _merged_maps(live: Json, applied: Json, tree: FieldTree) -> Any:
    result = dict(live)
    for name, value in applied.items():
        outcome = _merged(live.get(name, _ABSENT), value, tree.child(name))
        if outcome is not _ABSENT:
            result[name] = outcome
    return result if result else _ABSENT


def _merged_lists(live: list[Any], applied: list[Any], tree: FieldTree) -> Any:
    """The items of both, in the applied order where both have them, the others kept at their place in the live order."""
    theirs = {tree.element(item): item for item in applied}
    elements = [tree.element(item) for item in live]
    ours: dict[str, Any] = {}
    for element, item in zip(elements, live, strict=True):
        ours[element] = _ABSENT if element in ours else item
    shared = deque(element for element in theirs if element in ours)
    waiting = deque(theirs)
    placed: set[str] = set()
    result: list[Any] = []

    def place(element: str) -> None:
        placed.add(element)
        outcome = _merged(ours.get(element, _ABSENT), theirs[element], tree.item)
        if outcome is not _ABSENT:
            result.append(outcome)
        if shared and shared[0] == element:
            shared.popleft()

    position = 0
    while position < len(elements) or waiting:
        if position < len(elements):
            element = elements[position]
            if waiting and element == waiting[0]:
                place(waiting.popleft())
                position += 1
                continue
            if waiting and element in theirs and shared and shared[0] != element:
                position += 1
                continue
            if element not in theirs:
                result.append(live[position])
                position += 1
                continue
            if element in placed:
                position += 1
        if waiting:
            place(waiting.popleft())
    return result if result else _ABSENT


def _without(value: Any, fields: FieldSet, tree: FieldTree) -> Any:
    if isinstance(value, dict):
        return _without_fields(value, fields, tree) if tree.is_granular else {}
    if isinstance(value, list):
        return _without_items(value, fields, tree) if tree.list_type in ("map", "set") else []
    return value


def _without_fields(value: Json, fields: FieldSet, tree: FieldTree) -> Json:
    result: Json = {}
    for name, part in value.items():
        node = fields.get(field(name))
        if node is None:
            result[name] = part
        elif not is_member(node):
            result[name] = _without(part, node, tree.child(name))
    return result


def _without_items(items: list[Any], fields: FieldSet, tree: FieldTree) -> list[Any]:
    result = []
    for item in items:
        node = fields.get(tree.element(item))
        if node is None:
            result.append(item)
        elif not is_member(node):
            result.append(_without(item, node, tree.item))
    return result
