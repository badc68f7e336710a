"""Runs the CEL rules of a schema over an object.

Only values below a rule are converted to rule values: declared fields under their escaped names, numbers, times, durations and
bytes as the schema says (cel_times.py). On update, a value is correlated with its old value: fields by name, items of map lists
by key. Source: apiextensions-apiserver 1.36 `schema/cel`.
"""

from __future__ import annotations

from typing import Any

from shunter.api.field_errors import FieldError, duplicate, forbidden, invalid, required
from shunter.api.meta import Json
from shunter.cluster.apiserver.schema.cel import NO_OLD, EvaluationError, Rule, escaped
from shunter.cluster.apiserver.schema.node import NOTHING, Node
from shunter.cluster.apiserver.schema.validate import NO_FIELD, correlated

_BLOCKING = frozenset(
    ("FieldValueNotSupported", "FieldValueRequired", "FieldValueTooLong", "FieldValueTooMany", "FieldValueTypeInvalid")
)
_BLOCKED = (
    "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation"
)
_META_FIELDS = ("name", "generateName")


def rule_errors(root: Node, obj: Json, old: Any, earlier: list[FieldError]) -> list[FieldError]:
    """Faults found by the rules; a single fault when `earlier` ones prevent the rules from running."""
    if not root.rules_below:
        return []
    if any(error.reason in _BLOCKING for error in earlier) or not obj.get("metadata", {}).get("name"):
        return [invalid(NO_FIELD, None, _BLOCKED)]
    run = _Run()
    run.visit(root, obj, old, "", unchanged=False, is_resource=True)
    return run.errors


def default_errors(node: Node, value: Any, field: str) -> list[FieldError]:
    """Faults that the rules find in a default, as one that stays and as one that comes."""
    for old in (value, NOTHING):
        run = _Run()
        run.visit(node, value, old, field, unchanged=False, is_resource=False)
        if run.errors:
            return run.errors
    return []


class _Run:
    """One evaluation of all rules; stops for good when a rule runs out of budget."""

    def __init__(self) -> None:
        self.errors: list[FieldError] = []
        self.stopped = False

    def visit(self, node: Node, value: Any, old: Any, path: str, *, unchanged: bool, is_resource: bool) -> None:
        """`unchanged`: the nearest enclosing value that has an old value is equal to it."""
        if value is None or self.stopped:
            return
        if old is not NOTHING:
            unchanged = value == old
        if node.rules:
            self._check(node, value, old, path, unchanged=unchanged, is_resource=is_resource)
        if type(value) is dict:
            olds = old if type(old) is dict else {}
            for name, item in value.items():
                declared = node.properties[name]
                child = declared or node.additional
                if child is not None and child.rules_below:
                    step = f"[{name}]" if declared is None else f".{name}" if path else name
                    before = olds.get(name, NOTHING)
                    self.visit(child, item, before, path + step, unchanged=unchanged, is_resource=child.embedded)
        elif type(value) is list and node.item is not None and node.item.rules_below:
            for index, (item, before) in enumerate(zip(value, correlated(node, value, old), strict=True)):
                here = f"{path}[{index}]"
                self.visit(node.item, item, before, here, unchanged=unchanged, is_resource=node.item.embedded)

    def _check(self, node: Node, value: Any, old: Any, path: str, *, unchanged: bool, is_resource: bool) -> None:
        has_old = old is not NOTHING and old is not None
        due = [rule for rule in node.rules if has_old or rule.applies_without_old]
        if not due:
            return
        reads = _fields_read(due)
        seen = _for_rules(node, _only(reads, value), is_resource=is_resource)
        seen_old = _for_rules(node, _only(reads, old), is_resource=is_resource) if has_old else NO_OLD
        if has_old and any(rule.uses_old_self for rule in due):
            seen = _in_order_of(node, seen, seen_old)
        kind = node.types[0] if len(node.types) == 1 else ""
        for rule in due:
            try:
                if rule.holds(seen, seen_old):
                    continue
                fault = _fault(rule, node, value, path, rule.message(seen, seen_old))
            except EvaluationError as error:
                self.errors.append(invalid(path or NO_FIELD, kind, str(error)))
                self.stopped = error.is_final
                if self.stopped:
                    return
                continue
            if rule.uses_old_self or not unchanged:
                self.errors.append(fault)


def _fields_read(due: list[Rule]) -> frozenset[str] | None:
    """The fields that these rules read; None: any of them."""
    reads: set[str] = set()
    for rule in due:
        if rule.reads is None:
            return None
        reads |= rule.reads
    return frozenset(reads)


def _only(reads: frozenset[str] | None, value: Any) -> Any:
    """The value without the fields that no rule reads: converting them to rule values costs more than the rules."""
    if reads is None or type(value) is not dict:
        return value
    return {name: item for name, item in value.items() if name in reads or escaped(name) in reads}


def _fault(rule: Rule, node: Node, value: Any, path: str, message: str) -> FieldError:
    field = f"{path}{rule.source.get('fieldPath', '')}".lstrip(".") or NO_FIELD
    reason = rule.source.get("reason")
    if reason == "FieldValueForbidden":
        return forbidden(field, message)
    if reason == "FieldValueRequired":
        return required(field, message)
    composite = node.types and node.types[0] in ("object", "array")
    if reason == "FieldValueDuplicate":
        return FieldError("FieldValueDuplicate", field, "Duplicate value") if composite else duplicate(field, value)
    if composite:
        return FieldError("FieldValueInvalid", field, f"Invalid value: {message}")
    return invalid(field, value, message)


def _for_rules(node: Node, value: Any, *, is_resource: bool) -> Any:
    """A value as rules see it."""
    if type(value) is dict:
        return _object_for_rules(node, value, is_resource=is_resource)
    if type(value) is list:
        item = node.item
        return value if item is None else [_for_rules(item, each, is_resource=item.embedded) for each in value]
    if value is None:
        return None
    return value if node.read is None else node.read(value)


def _in_order_of(node: Node, value: Any, old: Any) -> Any:
    """The value with its lists of type map and set in the order of the old value: to rules their order has no meaning."""
    if type(value) is dict and type(old) is dict:
        children = ((name, item, node.properties[name] or node.additional) for name, item in value.items())
        return {name: item if child is None else _in_order_of(child, item, old.get(name)) for name, item, child in children}
    if type(value) is not list or type(old) is not list or node.item is None:
        return value
    if node.list_type == "set":
        return [item for item in old if item in value] + [item for item in value if item not in old]
    if node.list_type != "map":
        return value
    earlier = correlated(node, value, old)
    places = {id(item): place for place, item in enumerate(old)}
    ordered = sorted(zip(value, earlier, strict=True), key=lambda pair: places.get(id(pair[1]), len(old)))
    return [item if before is NOTHING else _in_order_of(node.item, item, before) for item, before in ordered]


def _object_for_rules(node: Node, value: Json, *, is_resource: bool) -> Json:
    if node.additional is not None:
        return {name: _for_rules(node.additional, item, is_resource=node.additional.embedded) for name, item in value.items()}
    shown: Json = {}
    for name, item in value.items():
        if item is None:
            continue  # to rules it is absent
        if is_resource and name in ("apiVersion", "kind"):
            shown[name] = item
        elif is_resource and name == "metadata":
            shown[name] = {field: item[field] for field in _META_FIELDS if field in item}
        elif (child := node.properties[name]) is not None:
            converted = _for_rules(child, item, is_resource=child.embedded)
            shown[name] = converted
            if alias := escaped(name):
                shown[alias] = converted
        elif node.preserve:
            shown[name] = item
    return shown
