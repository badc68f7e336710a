"""Pruning and defaulting of custom resources: two walks over a compiled schema, both in place.

Pruning drops what the schema does not know, and nulls that it neither allows nor defaults. Type fields and metadata of the object
itself are not part of the schema. Source: apiextensions-apiserver 1.36, `schema/pruning` and `schema/defaulting`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from shunter.api.meta import Json
from shunter.cluster.apiserver.schema.node import NOTHING, Node

META_FIELDS = frozenset({"apiVersion", "kind", "metadata"})
_NOTHING_OLD: Json = {}


def prune(root: Node, obj: Json, old: Json = _NOTHING_OLD) -> list[str]:
    """The paths of the fields dropped, sorted. Fields whose values are the very objects of `old` are not looked at."""
    unknown: list[str] = []
    _prune_object(root, obj, "", unknown, is_resource=True, old=old)
    unknown.sort()
    return unknown


def default(root: Node, obj: Json, old: Json = _NOTHING_OLD) -> None:
    """Fills absent fields, and nulls where null is not allowed, with the schema's defaults; `old` as for `prune`."""
    if root.defaults_below:
        _default(root, obj, old)


def visit_embedded(root: Node, obj: Json, visit: Callable[[str, Json, Node], None], old: Json = _NOTHING_OLD) -> None:
    """Calls `visit(path, value, node)` for every value that the schema marks as an embedded resource; `old` as for `prune`."""
    if root.embedded_below:
        _visit_embedded(root, obj, "", visit, old)


def _prune(node: Node, value: Any, path: str, unknown: list[str]) -> None:
    if type(value) is dict:
        _prune_object(node, value, path, unknown, is_resource=node.embedded)
    elif node.item is not None:
        for index, item in enumerate(value):
            if type(item) is dict or type(item) is list:
                _prune(node.item, item, f"{path}[{index}]", unknown)
    elif not node.preserve:
        for index, item in enumerate(value):
            _drop_all(item, f"{path}[{index}]", unknown)


def _prune_object(node: Node, value: Json, path: str, unknown: list[str], *, is_resource: bool, old: Json = _NOTHING_OLD) -> None:
    properties = node.properties
    dropped: list[str] = []
    for name, item in value.items():
        if (is_resource and name in META_FIELDS) or (old and item is old.get(name, NOTHING)):
            continue
        child = properties[name]
        if child is None:
            child = node.additional
            if child is None and not node.has_additional:
                if not node.preserve:
                    dropped.append(name)
                    unknown.append(f"{path}.{name}" if path else name)
                continue
        if type(item) is dict or type(item) is list:
            step = f"{path}.{name}" if path else name
            if child is None:
                _drop_all(item, step, unknown)
            else:
                _prune(child, item, step, unknown)
        elif item is None and child is not None and not child.nullable and child.default is NOTHING:
            dropped.append(name)
    for name in dropped:
        del value[name]


def _drop_all(value: Any, path: str, unknown: list[str]) -> None:
    """Drops every field in items or additional properties that are allowed but not described: all of them are unknown."""
    if type(value) is dict:
        unknown.extend(f"{path}.{name}" for name in value)
        value.clear()
    elif type(value) is list:
        for index, item in enumerate(value):
            _drop_all(item, f"{path}[{index}]", unknown)


def _default(node: Node, value: Any, old: Json = _NOTHING_OLD) -> None:
    if type(value) is dict:
        for name, wanted in node.defaulted:
            present = value.get(name, NOTHING)
            if present is NOTHING or (present is None and _refuses_null(node.properties[name])):
                value[name] = copy.deepcopy(wanted) if isinstance(wanted, (dict, list)) else wanted
        for name, item in value.items():
            child = node.properties[name] or node.additional
            if child is not None and child.defaults_below and not (old and item is old.get(name, NOTHING)):
                if item is None and child is node.additional and child.default is not NOTHING and not child.nullable:
                    item = value[name] = copy.deepcopy(child.default)
                _default(child, item)
    elif type(value) is list and node.item is not None and node.item.defaults_below:
        child = node.item
        for index, item in enumerate(value):
            if item is None and child.default is not NOTHING and not child.nullable:
                item = value[index] = copy.deepcopy(child.default)
            _default(child, item)


def _refuses_null(node: Node | None) -> bool:
    return node is not None and not node.nullable


def _visit_embedded(
    node: Node, value: Any, path: str, visit: Callable[[str, Json, Node], None], old: Json = _NOTHING_OLD
) -> None:
    if type(value) is dict:
        if node.embedded:
            visit(path, value, node)
        for name, item in value.items():
            declared = node.properties[name]
            child = declared or node.additional
            if child is not None and child.embedded_below and not (old and item is old.get(name, NOTHING)):
                step = f".{name}" if path else name
                _visit_embedded(child, item, path + (step if declared else f"[{name}]"), visit)
    elif type(value) is list and node.item is not None and node.item.embedded_below:
        for index, item in enumerate(value):
            _visit_embedded(node.item, item, f"{path}[{index}]", visit)
