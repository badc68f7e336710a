"""Strategic merge patch: a merge patch that knows which lists are merged item by item, and obeys directives. Pure.

Directives: `$patch: replace|delete|merge` in an object or list item, `$retainKeys`, `$setElementOrder/LIST` and
`$deleteFromPrimitiveList/LIST` beside the list. Source: apimachinery `util/strategicpatch` (Kubernetes 1.36), including where
items end up: those that the patch names come in its order, the others keep their place relative to their neighbours.
Which lists are merged, and by which key, a `Kind` says: the API server's from OpenAPI, the operator's from a table.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from shunter.api.formats.go_values import go_type, go_value
from shunter.api.meta import Json, without_nulls

_DIRECTIVE = "$patch"
_RETAIN_KEYS = "$retainKeys"
_ELEMENT_ORDER = "$setElementOrder/"
_DELETE_ITEMS = "$deleteFromPrimitiveList/"
_BAD_RETAIN_KEYS = "invalid patch format of retainKeys"


class MergeError(Exception):
    """A patch that cannot be merged, in the words of Kubernetes' library."""


class MalformedPatchError(MergeError):
    """The patch contradicts itself; an API server answers 400."""


class InapplicablePatchError(MergeError):
    """The object does not take the patch; an API server answers 422."""


class UnexpectedPatchError(MergeError):
    """The patch does not fit the kind, or its items have no key; an API server answers 500."""


class Field(NamedTuple):
    """How a field is patched, and the kind of its value, or of the items if it is a list."""

    strategy: str
    """`merge`, `replace`, or empty: objects are merged and lists are replaced."""
    merge_key: str
    """The field that tells the items of a list apart; empty for lists of scalars."""
    kind: Kind


class Kind(Protocol):
    """The type of an object that is patched."""

    @property
    def name(self) -> str:
        """Its name in error messages."""

    def field(self, name: str, *, is_list: bool) -> Field:
        """How a field is patched. Raises MergeError for one that the kind does not have."""


def strategic_merge(original: Json, patch: Json, kind: Kind) -> Json:
    """`original` with `patch` merged in; neither is changed. Raises MergeError."""
    if _DIRECTIVE in patch:
        return _directed(patch)
    result = _retained(original, patch)
    ordered = [name.removeprefix(_ELEMENT_ORDER) for name in patch if name.startswith(_ELEMENT_ORDER)]
    for key in ordered:
        _merge_ordered(result, patch, key, kind)
    for name, value in patch.items():
        if name == _RETAIN_KEYS or name.startswith(_ELEMENT_ORDER) or name in ordered:
            continue
        if name.startswith(_DELETE_ITEMS):
            target = name.removeprefix(_DELETE_ITEMS)
            if isinstance(result.get(target), list) and isinstance(value, list):
                result[target] = _merged_list(result[target], value, kind.field(target, is_list=True), deleting=True)
            elif value is None:
                result.pop(target, None)
            continue
        _merge_field(result, name, value, kind)
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
        raise MalformedPatchError(_BAD_RETAIN_KEYS)
    for name, value in patch.items():
        if value is None or name == _RETAIN_KEYS or name.startswith((_DELETE_ITEMS, _ELEMENT_ORDER)):
            continue
        if name not in keys:
            raise MalformedPatchError(_BAD_RETAIN_KEYS)
    return {name: value for name, value in original.items() if name in keys}


def _merge_field(result: Json, name: str, value: Any, kind: Kind) -> None:
    before = result.get(name)
    if value is None:
        result.pop(name, None)
    elif isinstance(before, dict) and isinstance(value, dict):
        field = kind.field(name, is_list=False)
        result[name] = value if field.strategy == "replace" else strategic_merge(before, value, field.kind)
    elif isinstance(before, list) and isinstance(value, list):
        field = kind.field(name, is_list=True)
        result[name] = _merged_list(before, value, field) if field.strategy == "merge" else value
    else:
        cleaned = _without_directives(without_nulls(value))
        if cleaned is _NOTHING:
            result.pop(name, None)
        else:
            result[name] = cleaned


def _merge_ordered(result: Json, patch: Json, name: str, kind: Kind) -> None:
    """One list that comes with `$setElementOrder`, patched or not."""
    order = patch[_ELEMENT_ORDER + name]
    for value in (order, *(lists[name] for lists in (result, patch) if name in lists)):
        if not isinstance(value, list):
            raise UnexpectedPatchError(f"expected a []interface {{}}, but received a {go_type(value)}")
    original, changes = result.get(name), patch.get(name)
    field = kind.field(name, is_list=True)
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
        raise UnexpectedPatchError(
            f"The order in patch list:\n{go_value(changes)}\n doesn't match {_ELEMENT_ORDER[:-1]} list:\n{go_value(order)}\n"
        )


def _merged_list(original: list[Any], patch: list[Any], field: Field, *, deleting: bool = False) -> list[Any]:
    if not original and not patch:
        return original
    if _element_type(original, patch) != "map":
        if deleting:
            merged = [item for item in original if item not in patch]
            return _in_order(merged, patch, original, "")
        merged = list(dict.fromkeys(original + patch))
        return _in_order(merged, patch, original, "")
    if not field.merge_key:
        raise UnexpectedPatchError(f"cannot merge lists without merge key for {field.kind.name}")
    kept, changes = _without_special_items(original, patch, field.merge_key)
    merged = list(kept)
    for change in changes:
        key = _key(change, field.merge_key)
        position = next((at for at, item in enumerate(merged) if _same_key(item, field.merge_key, key)), None)
        if position is None:
            merged.append(change)
        else:
            merged[position] = strategic_merge(merged[position], change, field.kind)
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
                raise UnexpectedPatchError("merging lists cannot yet be specified in the patch")
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
        raise UnexpectedPatchError(f"expected a map[string]interface {{}}, but received a {go_type(item)}")
    if merge_key not in item:
        raise UnexpectedPatchError(f"map: {go_value(item)} does not contain declared merge key: {merge_key}")
    return item[merge_key]


def _object(item: Any) -> Json:
    return item if isinstance(item, dict) else {}


def _same_key(item: Any, merge_key: str, key: Any) -> bool:
    return isinstance(item, dict) and item.get(merge_key) == key


def _element_type(*lists: list[Any]) -> str:
    """The type that all items have: `map` or a scalar's."""
    items = [item for part in lists for item in part]
    if not items:
        raise UnexpectedPatchError("no elements in any of the given slices")
    if isinstance(items[0], list):
        raise InapplicablePatchError("lists of lists are not supported")
    if len({go_type(item) for item in items}) > 1:
        raise UnexpectedPatchError(f"list element types are not identical: [{' '.join(map(go_value, lists))}]")
    return "map" if isinstance(items[0], dict) else go_type(items[0])


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


def _unknown_directive(patch: Json) -> MergeError:
    directive = patch[_DIRECTIVE]
    shown = directive if isinstance(directive, str) else f"%!s({go_type(directive)}={go_value(directive)})"
    return UnexpectedPatchError(f"unknown patch type: {shown} in map: {go_value(patch)}")
