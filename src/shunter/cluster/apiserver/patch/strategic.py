"""Strategic merge patch: a merge patch that knows from the schema which lists are merged item by item, and obeys directives.

Directives: `$patch: replace|delete|merge` in an object or list item, `$retainKeys`, `$setElementOrder/LIST` and
`$deleteFromPrimitiveList/LIST` beside the list. Source: apimachinery `util/strategicpatch` (Kubernetes 1.36), including where
items end up: those that the patch names come in its order, the others keep their place relative to their neighbours.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from shunter.api.meta import Json
from shunter.cluster.apiserver.patch.errors import PatchError, inapplicable, malformed, unexpected

_DIRECTIVE = "$patch"
_RETAIN_KEYS = "$retainKeys"
_ELEMENT_ORDER = "$setElementOrder/"
_DELETE_ITEMS = "$deleteFromPrimitiveList/"
_BAD_RETAIN_KEYS = "invalid patch format of retainKeys"


def apply(document: Json, patch: Json, openapi: Json, definitions: Mapping[str, Json]) -> Json:
    """`document` with `patch` merged in; neither is changed.

    `openapi` is the kind's schema, `definitions` what its references name. Raises PatchError in kube-apiserver's words.
    """
    return _merged(document, patch, _Schema(openapi, definitions))


class _Field(NamedTuple):
    """What the schema says about one field: how it is patched, and the type of its value or of its items."""

    strategy: str
    merge_key: str
    schema: _Schema


class _Schema:
    """A place in the schema."""

    def __init__(self, schema: Json, definitions: Mapping[str, Json]) -> None:
        self.schema = _resolved(schema, definitions)
        self.definitions = definitions

    def field(self, name: str, *, is_list: bool) -> _Field:
        properties = self.schema.get("properties")
        declared = properties.get(name) if properties else self.schema.get("additionalProperties", {})
        if declared is None:
            raise unexpected(f'unable to find api field in struct {self.name} for the json field "{name}"')
        declared = declared if isinstance(declared, dict) else {}
        strategies = [part for part in declared.get("x-kubernetes-patch-strategy", "").split(",") if part != "retainKeys"]
        below = _Schema(declared, self.definitions)
        if is_list:
            below = _Schema(below.schema.get("items", {}), self.definitions)
        return _Field(strategies[0] if strategies else "", declared.get("x-kubernetes-patch-merge-key", ""), below)

    @property
    def name(self) -> str:
        kinds = self.schema.get("x-kubernetes-group-version-kind")
        return kinds[0]["kind"] if kinds else "struct"


def _resolved(schema: Json, definitions: Mapping[str, Json]) -> Json:
    while reference := schema.get("$ref") or next((part.get("$ref") for part in schema.get("allOf", ())), None):
        schema = definitions[reference.rpartition("/")[2]]
    return schema


def _merged(original: Json, patch: Json, schema: _Schema) -> Json:
    """One object with its patch."""
    if _DIRECTIVE in patch:
        return _directed(patch)
    result = _retained(original, patch)
    ordered = _ordered_lists(patch)
    for key in ordered:
        _merge_ordered(result, patch, key, schema)
    for name, value in patch.items():
        if name == _RETAIN_KEYS or name.startswith(_ELEMENT_ORDER) or name in ordered:
            continue
        if name.startswith(_DELETE_ITEMS):
            target = name.removeprefix(_DELETE_ITEMS)
            if isinstance(result.get(target), list) and isinstance(value, list):
                result[target] = _merged_list(result[target], value, schema.field(target, is_list=True), deleting=True)
            elif value is None:
                result.pop(target, None)
            continue
        _merge_field(result, name, value, schema)
    return result


def _directed(patch: Json) -> Json:
    match patch[_DIRECTIVE]:
        case "replace":
            return {name: value for name, value in patch.items() if name != _DIRECTIVE}
        case "delete":
            return {}
    raise _unknown_directive(patch)


def _retained(original: Json, patch: Json) -> Json:
    """A copy of the original with only the fields that `$retainKeys` names, if the patch has it."""
    if _RETAIN_KEYS not in patch:
        return dict(original)
    keys = patch[_RETAIN_KEYS]
    if not isinstance(keys, list):
        raise malformed(_BAD_RETAIN_KEYS)
    for name, value in patch.items():
        if value is None or name == _RETAIN_KEYS or name.startswith((_DELETE_ITEMS, _ELEMENT_ORDER)):
            continue
        if name not in keys:
            raise malformed(_BAD_RETAIN_KEYS)
    return {name: value for name, value in original.items() if name in keys}


def _ordered_lists(patch: Json) -> list[str]:
    return [name.removeprefix(_ELEMENT_ORDER) for name in patch if name.startswith(_ELEMENT_ORDER)]


def _merge_field(result: Json, name: str, value: Any, schema: _Schema) -> None:
    before = result.get(name)
    if value is None:
        result.pop(name, None)
    elif isinstance(before, dict) and isinstance(value, dict):
        field = schema.field(name, is_list=False)
        result[name] = value if field.strategy == "replace" else _merged(before, value, field.schema)
    elif isinstance(before, list) and isinstance(value, list):
        field = schema.field(name, is_list=True)
        result[name] = _merged_list(before, value, field) if field.strategy == "merge" else value
    else:
        cleaned = _without_directives(_without_nulls(value))
        if cleaned is _NOTHING:
            result.pop(name, None)
        else:
            result[name] = cleaned


def _merge_ordered(result: Json, patch: Json, name: str, schema: _Schema) -> None:
    """One list that comes with `$setElementOrder`, patched or not."""
    order = patch[_ELEMENT_ORDER + name]
    for value in (order, *(lists[name] for lists in (result, patch) if name in lists)):
        if not isinstance(value, list):
            raise unexpected(f"expected a []interface {{}}, but received a {_go_type(value)}")
    original, changes = result.get(name), patch.get(name)
    field = schema.field(name, is_list=True)
    _check_order(changes or [], order, field.merge_key)
    if original is None and changes is None:
        return
    if changes is None:
        merged = original
    elif original is None:
        merged = _without_directives(changes)
    elif field.strategy == "merge":
        merged = _merged_list(original, changes, field)
    else:
        merged = changes
    _element_type(original or [], changes or [])
    result[name] = _in_order(merged or [], order, original or [], field.merge_key)


def _check_order(changes: list[Any], order: list[Any], merge_key: str) -> None:
    """Items that the patch sets stand in the order list, in the same order."""
    if not order or not changes:
        return
    waiting = [item for item in changes if not (merge_key and _object(item).get(_DIRECTIVE) == "delete")]
    position = 0
    for wanted in order:
        while position < len(waiting) and _DIRECTIVE in _object(waiting[position]):
            position += 1
        if position < len(waiting) and _key(waiting[position], merge_key) == _key(wanted, merge_key):
            position += 1
    if position < len(waiting):
        raise unexpected(f"The order in patch list:\n{_go(changes)}\n doesn't match {_ELEMENT_ORDER[:-1]} list:\n{_go(order)}\n")


def _merged_list(original: list[Any], patch: list[Any], field: _Field, *, deleting: bool = False) -> list[Any]:
    if not original and not patch:
        return original
    if _element_type(original, patch) != "map":
        if deleting:
            merged = [item for item in original if item not in patch]
            return _in_order(merged, patch, original, "")
        merged = list(dict.fromkeys(original + patch))
        return _in_order(merged, patch, original, "")
    if not field.merge_key:
        raise unexpected(f"cannot merge lists without merge key for {field.schema.name}")
    kept, changes = _without_special_items(original, patch, field.merge_key)
    merged = list(kept)
    for change in changes:
        key = _key(change, field.merge_key)
        position = next((at for at, item in enumerate(merged) if _same_key(item, field.merge_key, key)), None)
        if position is None:
            merged.append(change)
        else:
            merged[position] = _merged(merged[position], change, field.schema)
    return _in_order(merged, changes, kept, field.merge_key)


def _without_special_items(original: list[Json], patch: list[Json], merge_key: str) -> tuple[list[Json], list[Json]]:
    """The original less the items that the patch deletes, and the patch less its directives."""
    changes = [item for item in patch if _DIRECTIVE not in item]
    replaces = False
    kept = original
    for item in patch:
        match item.get(_DIRECTIVE):
            case None:
                pass
            case "delete":
                key = _key(item, merge_key)
                kept = [existing for existing in kept if not _same_key(existing, merge_key, key)]
            case "replace":
                replaces = True
            case "merge":
                raise unexpected("merging lists cannot yet be specified in the patch")
            case _:
                raise _unknown_directive(item)
    return (changes, []) if replaces else (kept, changes)


def _in_order(items: list[Any], order: list[Any], before: list[Any], merge_key: str) -> list[Any]:
    """Items that `order` names in that order; each of the others goes where it stood among its neighbours `before`."""
    wanted = [_key(item, merge_key) for item in order]
    earlier = [_key(item, merge_key) for item in before]
    named = [item for item in items if _key(item, merge_key) in wanted]
    named.sort(key=lambda item: wanted.index(_key(item, merge_key)))
    others = [item for item in items if _key(item, merge_key) not in wanted]
    others.sort(key=lambda item: _position(earlier, _key(item, merge_key)))
    result = []
    while named and others:
        ours = _position(earlier, _key(others[0], merge_key))
        theirs = _position(earlier, _key(named[0], merge_key))
        result.append(named.pop(0) if theirs == len(earlier) or theirs < ours else others.pop(0))
    return result + named + others


def _position(keys: list[Any], key: Any) -> int:
    return keys.index(key) if key in keys else len(keys)


def _key(item: Any, merge_key: str) -> Any:
    if not merge_key:
        return item
    if not isinstance(item, dict):
        raise unexpected(f"expected a map[string]interface {{}}, but received a {_go_type(item)}")
    if merge_key not in item:
        raise unexpected(f"map: {_go(item)} does not contain declared merge key: {merge_key}")
    return item[merge_key]


def _object(item: Any) -> Json:
    return item if isinstance(item, dict) else {}


def _same_key(item: Any, merge_key: str, key: Any) -> bool:
    return isinstance(item, dict) and item.get(merge_key) == key


def _element_type(*lists: list[Any]) -> str:
    """The type that all items have: `map` or a scalar's."""
    items = [item for part in lists for item in part]
    if not items:
        raise unexpected("no elements in any of the given slices")
    if isinstance(items[0], list):
        raise inapplicable("lists of lists are not supported")
    if len({_go_type(item) for item in items}) > 1:
        raise unexpected(f"list element types are not identical: [{' '.join(map(_go, lists))}]")
    return "map" if isinstance(items[0], dict) else _go_type(items[0])


_NOTHING: Any = object()


def _without_directives(value: Any) -> Any:
    """A value that is new in the object; _NOTHING when it is only a directive."""
    if isinstance(value, dict):
        if _DIRECTIVE in value:
            return _NOTHING
        cleaned = {name: _without_directives(part) for name, part in value.items()}
        return {name: part for name, part in cleaned.items() if part is not _NOTHING}
    if isinstance(value, list):
        return [part for part in map(_without_directives, value) if part is not _NOTHING]
    return value


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_nulls(part) for name, part in value.items() if part is not None}
    if isinstance(value, list):
        return [_without_nulls(part) for part in value]
    return value


def _unknown_directive(patch: Json) -> PatchError:
    directive = patch[_DIRECTIVE]
    shown = directive if isinstance(directive, str) else f"%!s({_go_type(directive)}={_go(directive)})"
    return unexpected(f"unknown patch type: {shown} in map: {_go(patch)}")


def _go_type(value: Any) -> str:
    """A type as Go's reflection names it."""
    match value:
        case None:
            return "%!s(<nil>)"
        case bool():
            return "bool"
        case str():
            return "string"
        case int():
            return "int64"
        case float():
            return "float64"
        case list():
            return "[]interface {}"
    return "map[string]interface {}"


def _go(value: Any) -> str:
    """A value as Go's `%v` prints it."""
    match value:
        case None:
            return "<nil>"
        case bool():
            return "true" if value else "false"
        case dict():
            return "map[" + " ".join(f"{name}:{_go(value[name])}" for name in sorted(value)) + "]"
        case list():
            return "[" + " ".join(map(_go, value)) + "]"
    return str(value)
