"""Computes the fields that a write changed, and the fields that an applied configuration sets.

Both walk values beside the kind's `FieldTree`. The rules are structured-merge-diff's `Compare` and `ToFieldSet`; their modified
and added fields are one set here, as ownership does not need the difference.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from shunter.api.meta import Json
from shunter.cluster.apiserver.apply.field_set import MEMBER, SELF, FieldSet
from shunter.cluster.apiserver.apply.fields import FieldTree


class Changes(NamedTuple):
    """The fields that are new or have another value, and those that are gone."""

    changed: FieldSet
    removed: FieldSet


def changes(old: Json, new: Json, tree: FieldTree) -> Changes:
    """How `new` differs from `old`. A created object is compared with `{}`."""
    changed: FieldSet = {}
    removed: FieldSet = {}
    if old != new:
        _compare_maps(old, new, tree, changed, removed)
    return Changes(changed, removed)


def applied_fields(value: Json, tree: FieldTree) -> FieldSet:
    """The fields that an applied configuration mentions: all leaves, all list items, and no mere parents."""
    fields: FieldSet = {}
    for name, part in value.items():
        node = _applied(part, tree.child(name))
        if name not in tree.fields or part is None or part == {}:
            node = {SELF: MEMBER, **node} if node else MEMBER
        elif node is None:
            continue
        fields["f:" + name] = node
    return fields


def _compare_maps(old: Json, new: Json, tree: FieldTree, changed: FieldSet, removed: FieldSet) -> None:
    fields, zeros = tree.fields, tree.zeros
    for name, value in new.items():
        if name in old:
            before = old[name]
            if before is value or (before == value and type(before) is type(value)):
                continue
            _compare(before, value, fields.get(name) or tree.child(name), "f:" + name, changed, removed)
        elif name in zeros:
            if value != zeros[name]:
                _compare(zeros[name], value, fields[name], "f:" + name, changed, removed)
        else:
            changed["f:" + name] = _whole(value, fields.get(name) or tree.child(name))
    if old.keys() <= new.keys():
        return
    for name, before in old.items():
        if name in new:
            continue
        if name not in zeros:
            removed["f:" + name] = _whole(before, fields.get(name) or tree.child(name))
        elif before != zeros[name]:
            _compare(before, zeros[name], fields[name], "f:" + name, changed, removed)


def _compare(before: Any, value: Any, tree: FieldTree, element: str, changed: FieldSet, removed: FieldSet) -> None:
    """Two different values at one path."""
    below: FieldSet = {}
    gone: FieldSet = {}
    if tree.is_granular and isinstance(before, dict | None) and isinstance(value, dict | None):
        if not (before or value or tree.zeros):
            changed[element] = MEMBER
            return
        _compare_maps(before or {}, value or {}, tree, below, gone)
    elif tree.list_type in ("map", "set") and isinstance(before, list | None) and isinstance(value, list | None):
        if not before and not value:
            changed[element] = MEMBER
            return
        _compare_lists(before or [], value or [], tree, below, gone)
    else:
        gone = {element: child for element, child in _whole(before, tree).items() if element != SELF}
        below = _whole(value, tree)
        if not below:
            changed[element] = MEMBER
    if below:
        changed[element] = below
    if gone:
        removed[element] = gone


def _compare_lists(old: list[Any], new: list[Any], tree: FieldTree, changed: FieldSet, removed: FieldSet) -> None:
    before, after = _by_element(old, tree), _by_element(new, tree)
    for element, items in after.items():
        earlier = before.get(element, ())
        if len(items) == 1 and len(earlier) == 1:
            if earlier[0] != items[0]:
                _compare(earlier[0], items[0], tree.item, element, changed, removed)
        elif len(items) > 1 and len(earlier) > 1:
            if earlier != items:
                changed[element] = MEMBER
        elif len(items) > 1:
            changed[element] = MEMBER
            if earlier:
                removed[element] = _whole(earlier[0], tree.item)
        else:
            changed[element] = _whole(items[0], tree.item)
            if earlier:
                removed[element] = MEMBER
    for element, earlier in before.items():
        if element not in after:
            removed[element] = _whole(earlier[0], tree.item) if len(earlier) == 1 else MEMBER


def _by_element(items: list[Any], tree: FieldTree) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for item in items:
        found.setdefault(tree.element(item), []).append(item)
    return found


def _whole(value: Any, tree: FieldTree) -> FieldSet:
    """A value that came or went as a whole: the path itself and everything below it."""
    if isinstance(value, dict):
        if tree.is_granular and (value or tree.zeros):
            fields = tree.fields
            node: FieldSet = {SELF: MEMBER}
            for name, part in value.items():
                node["f:" + name] = _whole(part, fields.get(name) or tree.child(name))
            for name, zero in tree.zeros.items():
                if name not in value:
                    node["f:" + name] = _whole(zero, fields[name])
            return node
    elif isinstance(value, list) and value and tree.list_type in ("map", "set"):
        node = {SELF: MEMBER}
        for element, items in _by_element(value, tree).items():
            node[element] = _whole(items[0], tree.item) if len(items) == 1 else MEMBER
        return node
    return MEMBER


def _applied(value: Any, tree: FieldTree) -> FieldSet | None:
    """The node of one value: None when it stands for nothing itself (a map or list with nothing owned in it)."""
    if isinstance(value, dict) and tree.is_granular:
        return applied_fields(value, tree) or None
    if isinstance(value, list) and tree.list_type in ("map", "set"):
        node: FieldSet = {}
        for element, items in _by_element(value, tree).items():
            below = _applied(items[0], tree.item) if len(items) == 1 else None
            node[element] = {SELF: MEMBER, **below} if below else MEMBER
        return node or None
    return MEMBER
