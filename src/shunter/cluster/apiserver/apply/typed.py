"""Whether an applied configuration fits its kind, in structured-merge-diff's words (`typed.Validate`)."""

from __future__ import annotations

from typing import Any

from shunter.api.formats.go_values import go_syntax, go_type, go_value
from shunter.api.meta import Json
from shunter.cluster.apiserver.apply.field_set import shown_element
from shunter.cluster.apiserver.apply.fields import FieldTree, UnkeyedItemError

_SCALAR_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "boolean": (bool,),
    "number": (int, float),
    "any": (str, bool, int, float),
}


def misfits(value: Any, tree: FieldTree) -> list[str]:
    """The schema errors, each prefixed with its path: `.spec.foo: field not declared in schema`."""
    if value is None:
        return []
    if isinstance(value, dict) and tree.is_map:
        return _in_map(value, tree)
    if isinstance(value, list) and tree.list_type:
        return _in_list(value, tree)
    if tree.is_map and not tree.scalar:
        return [f": expected map, got &{{{go_value(value)}}}"]
    if tree.list_type and not tree.scalar:
        return [f": expected list, got &{{{go_value(value)}}}"]
    return [] if _fits(value, tree) else [": " + _expected(value, tree)]


def summary(errors: list[str]) -> str:
    """Several schema errors as one message."""
    if len(errors) == 1:
        return errors[0]
    return "\n".join(["errors:", *("  " + error for error in errors)])


def _in_map(value: Json, tree: FieldTree) -> list[str]:
    errors = []
    for name, part in value.items():
        child = tree.fields.get(name) or tree.additional
        if child is None:
            errors.append(f".{name}: field not declared in schema")
            return errors
        errors += [f".{name}{error}" for error in misfits(part, child)]
    return errors


def _in_list(value: list[Any], tree: FieldTree) -> list[str]:
    errors: list[str] = []
    seen = set()
    for position, item in enumerate(value):
        shown = f"[{position}]"
        if tree.list_type in ("map", "set"):
            try:
                element = tree.element(item)
            except UnkeyedItemError as error:
                return [*errors, f": element {position}: {error}"]
            shown = shown_element(element)
            if element in seen:
                errors.append(f": duplicate entries for key {shown}")
            seen.add(element)
        errors += [f"{shown}{error}" for error in misfits(item, tree.item)]
    return errors


def _fits(value: Any, tree: FieldTree) -> bool:
    if tree.scalar is None:
        return False
    return isinstance(value, _SCALAR_TYPES[tree.scalar]) and (tree.scalar != "number" or not isinstance(value, bool))


def _expected(value: Any, tree: FieldTree) -> str:
    match tree.scalar:
        case "number":
            return f"expected numeric (int or float), got {go_type(value)}"
        case "string":
            return f"expected string, got &value.valueUnstructured{{Value:{go_syntax(value)}}}"
        case "boolean":
            return f"expected boolean, got &{{{go_value(value)}}}"
    return f"expected any scalar, got &{{{go_value(value)}}}"
