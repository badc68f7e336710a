"""Validation of custom resources against a compiled schema, in the words of the real API server.

On update, faults at unchanged values are ignored (ratcheting), so a part that is the same Python object as in the old version is
skipped: a status write shares all of spec with it. Order of faults in one answer: schema, then duplicates in lists of type map
and set; within an object its own limits, its fields in the order given, what is required. Source: kube-openapi
`validation/validate`, apiextensions-apiserver 1.36 `validation`, `schema/listtype`; compared with a real.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, NamedTuple, TypeAlias

from shunter.api.field_errors import FieldError, duplicate, invalid, required, too_long, too_many, type_invalid
from shunter.api.meta import Json
from shunter.cluster.apiserver.schema.formats import FORMATS, go_pattern
from shunter.cluster.apiserver.schema.node import NOTHING, Node

Path: TypeAlias = "tuple[Path, str | int] | None"
"""Steps from the root, innermost last; text is made only for faults."""

NO_FIELD = "<nil>"
"""How apimachinery prints an absent path; faults of whole alternatives and of number ranges stand there."""
_INT32 = range(-(2**31), 2**31)
_INT64 = range(-(2**63), 2**63)
_EXACT_FLOAT = 2**53 - 1


def schema_errors(root: Node, obj: Any, old: Any = NOTHING, *, prefix: str = "") -> list[FieldError]:
    """Faults against the schema. `prefix` goes before every field but not into the sentences, as in a status write."""
    checker = _Checker(prefix)
    checker.check(root, obj, None, old)
    return checker.errors


def list_errors(root: Node, obj: Any, old: Any = NOTHING) -> list[FieldError]:
    """Repeated items of lists of type set and repeated keys of lists of type map; none when the old version has some already."""
    errors: list[FieldError] = []
    if root.lists_below:
        _check_lists(root, obj, old, "", errors)
        if errors and old is not NOTHING and list_errors(root, old):
            return []
    return errors


class _Outcome(NamedTuple):
    errors: list[FieldError]
    matches: int


class _Checker:
    """One validation: collects faults; `matches` counts passed checks to find the alternative that came closest."""

    __slots__ = ("errors", "matches", "prefix")

    def __init__(self, prefix: str) -> None:
        self.errors: list[FieldError] = []
        self.matches = 0
        self.prefix = prefix

    def check(self, node: Node, value: Any, path: Path, old: Any) -> None:
        if value is old:
            return
        before = len(self.errors)
        if value is None:
            self._check_null(node, path)
        else:
            self._check_present(node, value, path, old)
        if old is not NOTHING and len(self.errors) > before and old == value:
            del self.errors[before:]

    def _check_null(self, node: Node, path: Path) -> None:
        if node.types and not node.nullable:
            self._wrong_type(path, ",".join(node.types), "null")
        if allowed := node.source.get("enum"):
            self.errors.append(_unsupported(self._field(path), None, allowed))

    def _check_present(self, node: Node, value: Any, path: Path, old: Any) -> None:
        kind = type(value)
        if kind is node.exact_type:
            self.matches += 1
        elif node.types:
            self._check_type(node, value, path)
        if node.has_alternatives:
            self._check_alternatives(node, value, path)
        if kind is str:
            self._check_string(node, value, path)
        elif kind is int or kind is float:
            self._check_number(node, value, path)
        elif kind is list:
            self._check_list(node, value, path, old)
        if node.constrained and (allowed := node.source.get("enum")) and not any(_same(value, choice) for choice in allowed):
            self.errors.append(_unsupported(self._field(path), value, allowed))
        if kind is dict:
            self._check_object(node, value, path, old)
        self.matches += 1

    def _check_type(self, node: Node, value: Any, path: Path) -> None:
        types = node.types
        actual = _json_type(value)
        fits = (
            actual in types
            or (actual == "integer" and "number" in types)
            or (actual == "number" and "integer" in types and float(value).is_integer() and abs(value) <= _EXACT_FLOAT)
        )
        format_ = _format(node)
        if fits:
            self.matches += 1
        elif format_ and actual not in ("string", "array"):
            self._wrong_type(path, format_, {"integer": "int64", "number": "float64"}.get(actual, ""))
        elif not (format_ and actual in ("string", "array") and not {"number", "integer"} & set(types)):
            self._wrong_type(path, ",".join(types), actual)

    def _check_string(self, node: Node, value: str, path: Path) -> None:
        if not node.constrained:
            self.matches += 1
            return
        source = node.source
        if (limit := source.get("maxLength")) is not None and len(value) > limit:
            self.errors.append(too_long(self._field(path), limit))
        elif (limit := source.get("minLength")) is not None and len(value) < limit:
            self._invalid(path, value, f"should be at least {limit} chars long")
        elif (pattern := source.get("pattern")) and not _matches(pattern, value):
            self._invalid(path, value, f"should match '{pattern}'")
        else:
            self.matches += 1
        if (name := source.get("format")) and source.get("type", "string") == "string":
            known = FORMATS.get(name.replace("-", ""))
            if known is not None and not known(value):
                self._wrong_type(path, name, value)

    def _check_number(self, node: Node, value: int | float, path: Path) -> None:
        source = node.source
        size = _format(node)
        if node.types == ("integer",) and not _holds(_INT32 if size == "int32" else _INT64, value):
            described = f"with format {size}" if size else "(default format)"
            where = _sentence(path)
            self.errors.append(invalid(NO_FIELD, "", f"Checked value must be of type integer {described} in {where}"))
        factor = source.get("multipleOf")
        if factor is not None and not _is_multiple(value, factor):
            self._invalid(path, value, f"should be a multiple of {_number(_like(factor, value))}")
        limit = source.get("minimum")
        if limit is not None:
            exclusive = bool(source.get("exclusiveMinimum"))
            if value < limit or (exclusive and value == limit):
                self._invalid(
                    path, value, f"should be greater than {'' if exclusive else 'or equal to '}{_number(_like(limit, value))}"
                )
        limit = source.get("maximum")
        if limit is not None:
            exclusive = bool(source.get("exclusiveMaximum"))
            if value > limit or (exclusive and value == limit):
                self._invalid(
                    path, value, f"should be less than {'' if exclusive else 'or equal to '}{_number(_like(limit, value))}"
                )
        self.matches += 1

    def _check_list(self, node: Node, value: list[Any], path: Path, old: Any) -> None:
        if (item_node := node.item) is not None:
            for index, (item, old_item) in enumerate(zip(value, correlated(node, value, old), strict=True)):
                self.check(item_node, item, (path, index), old_item)
        if node.constrained:
            self._check_list_limits(node.source, value, path)
        self.matches += 1

    def _check_list_limits(self, source: Json, value: list[Any], path: Path) -> None:
        if (limit := source.get("minItems")) is not None and len(value) < limit:
            self._invalid(path, len(value), f"should have at least {limit} items")
        if (limit := source.get("maxItems")) is not None and len(value) > limit:
            self.errors.append(too_many(self._field(path), len(value), limit))
        if source.get("uniqueItems") and any(_same(item, other) for index, item in enumerate(value) for other in value[:index]):
            self._invalid(path, "", "shouldn't contain duplicates")

    def _check_object(self, node: Node, value: Json, path: Path, old: Any) -> None:
        if node.constrained:
            if (limit := node.source.get("minProperties")) is not None and len(value) < limit:
                self._invalid(path, len(value), f"should have at least {limit} properties")
            if (limit := node.source.get("maxProperties")) is not None and len(value) > limit:
                self.errors.append(too_many(self._field(path), len(value), limit))
        plain = node.plain
        properties = node.properties
        additional = node.additional
        old_fields = old if type(old) is dict else {}
        for name, item in value.items():
            if type(item) is plain.get(name):
                self.matches += 1
                continue
            child = properties[name] or additional
            if child is not None:
                self.check(child, item, (path, name), old_fields.get(name, NOTHING))
        for name in node.required:
            if name not in value:
                self.errors.append(required(self._field((path, name))))
        self.matches += 1

    def _check_alternatives(self, node: Node, value: Any, path: Path) -> None:
        source = node.source
        if alternatives := source.get("anyOf"):
            outcomes = [self._outcome(node, schema, value, path) for schema in alternatives]
            if all(outcome.errors for outcome in outcomes):
                self._alternative(path, "must validate at least one schema (anyOf)")
                self.errors.extend(_closest(outcomes).errors)
        if alternatives := source.get("oneOf"):
            outcomes = [self._outcome(node, schema, value, path) for schema in alternatives]
            valid = sum(not outcome.errors for outcome in outcomes)
            if valid != 1:
                found = f"Found {valid} valid alternatives" if valid else "Found none valid"
                self._alternative(path, f"must validate one and only one schema (oneOf). {found}")
                if not valid:
                    self.errors.extend(_closest(outcomes).errors)
        if alternatives := source.get("allOf"):
            outcomes = [self._outcome(node, schema, value, path) for schema in alternatives]
            for outcome in outcomes:
                self.errors.extend(outcome.errors)
            if any(outcome.errors for outcome in outcomes):
                none = ". None validated" if all(outcome.errors for outcome in outcomes) else ""
                self._alternative(path, f"must validate all the schemas (allOf){none}")
        if (refused := source.get("not")) is not None and not self._outcome(node, refused, value, path).errors:
            self._alternative(path, "must not validate the schema (not)")

    def _outcome(self, node: Node, schema: Json, value: Any, path: Path) -> _Outcome:
        trial = _Checker(self.prefix)
        trial.check(node.alternative(schema), value, path, NOTHING)
        return _Outcome(trial.errors, trial.matches)

    def _field(self, path: Path) -> str:
        field = _sentence(path).removeprefix(".")
        if not field:
            return self.prefix or NO_FIELD
        return f"{self.prefix}.{field}" if self.prefix else field

    def _invalid(self, path: Path, value: Any, fault: str) -> None:
        self.errors.append(invalid(self._field(path), value, f"{_sentence(path)} in body {fault}"))

    def _wrong_type(self, path: Path, expected: str, actual: str) -> None:
        detail = f"{_sentence(path)} in body must be of type {expected}: {json.dumps(actual, ensure_ascii=False)}"
        self.errors.append(type_invalid(self._field(path), actual, detail))

    def _alternative(self, path: Path, fault: str) -> None:
        self.errors.append(invalid(self.prefix or NO_FIELD, "", f'"{_sentence(path)}" {fault}'))


def correlated(node: Node, value: list[Any], old: Any) -> list[Any]:
    """The old item for each new one: found by key in lists of type map, by equality in sets, unknown in atomic lists."""
    if type(old) is list and node.list_type == "map":
        known = {repr(_key_fields(item, node.list_keys)): item for item in old if type(item) is dict}
        return [known.get(repr(_key_fields(item, node.list_keys)), NOTHING) if type(item) is dict else NOTHING for item in value]
    return [NOTHING] * len(value)


def _key_fields(item: Json, keys: tuple[str, ...]) -> Json:
    """What identifies an item of a list of type map: scalars, so their `repr` is sufficient."""
    return {key: item[key] for key in keys if key in item}


def _check_lists(node: Node, value: Any, old: Any, path: str, errors: list[FieldError]) -> None:
    """Skips values that are the same Python object as in the old version: their faults, if any, are the old version's."""
    if value is old:
        return
    if type(value) is dict:
        olds = old if type(old) is dict else {}
        for name, item in value.items():
            declared = node.properties[name]
            child = declared or node.additional
            if child is not None and child.lists_below:
                step = f"[{name}]" if declared is None else f".{name}" if path else name
                _check_lists(child, item, olds.get(name, NOTHING), path + step, errors)
    elif type(value) is list:
        if node.list_type == "set":
            texts = [json.dumps(item, sort_keys=True) for item in value]
            errors.extend(duplicate(f"{path}[{index}]", value[index]) for index in _repeated(texts))
        elif node.list_type == "map":
            errors.extend(_map_errors(node, value, path))
        if node.item is not None and node.item.lists_below:
            for index, item in enumerate(value):
                _check_lists(node.item, item, NOTHING, f"{path}[{index}]", errors)


def _map_errors(node: Node, items: list[Any], path: str) -> list[FieldError]:
    for index, item in enumerate(items):
        if item is not None and type(item) is not dict:
            return [invalid(f"{path}[{index}]", item, "must be an object for an array of list-type map")]
    keys = [_key_fields(item or {}, node.list_keys) for item in items]
    return [duplicate(f"{path}[{index}]", keys[index]) for index in _repeated([repr(key) for key in keys])]


def _repeated(texts: list[str]) -> list[int]:
    """The positions at which texts occur for the second time; further repeats are not reported."""
    if len(set(texts)) == len(texts):
        return []
    seen: dict[str, int] = {}
    repeated: list[int] = []
    for index, text in enumerate(texts):
        seen[text] = seen.get(text, 0) + 1
        if seen[text] == 2:
            repeated.append(index)
    return repeated


def _closest(outcomes: list[_Outcome]) -> _Outcome:
    return max(outcomes, key=lambda outcome: outcome.matches)


def _sentence(path: Path) -> str:
    """The path inside a sentence: `spec.containers[0].name`; keys of maps stand after a dot as well."""
    steps: list[str] = []
    while path is not None:
        path, step = path
        steps.append(f"[{step}]" if type(step) is int else f".{step}")
    return "".join(reversed(steps)).removeprefix(".")


def _json_type(value: Any) -> str:
    kind = type(value)
    if kind is int:
        return "integer" if value in _INT64 else "number"
    return {str: "string", bool: "boolean", float: "number", list: "array", dict: "object"}[kind]


def _format(node: Node) -> str:
    """The declared format if the API server knows it for this type, else nothing."""
    name: str = node.source.get("format", "")
    if not name or len(node.types) != 1:
        return ""
    kind = node.types[0]
    if kind == "integer":
        return name if name in ("int32", "int64") else ""
    if kind == "number":
        return name if name in ("float", "double") else ""
    return name if kind == "string" and name.replace("-", "") in FORMATS else ""


def _matches(pattern: str, value: str) -> bool:
    try:
        return go_pattern(pattern).search(value) is not None
    except re.error:
        return False


def _same(value: Any, other: Any) -> bool:
    """Equality as JSON has it: true is not 1."""
    return value == other and isinstance(value, bool) == isinstance(other, bool)


def _holds(range_: range, value: int | float) -> bool:
    return float(value).is_integer() and int(value) in range_


def _is_multiple(value: int | float, factor: int | float) -> bool:
    if type(value) is int and float(factor).is_integer():
        return value % int(factor) == 0
    quotient = value / factor
    return math.isclose(quotient, round(quotient), rel_tol=1e-9, abs_tol=1e-9)


def _like(limit: int | float, value: int | float) -> int | float:
    """A limit as it is printed: cut to an integer where the value is one."""
    return int(limit) if type(value) is int else float(limit)


def _number(value: int | float) -> str:
    """A number as Go's %v prints it."""
    if type(value) is int:
        return str(value)
    if float(value).is_integer() and abs(value) < 1e21:
        return str(int(value))
    return re.sub(r"e([+-])(\d)$", r"e\g<1>0\2", repr(value))


def _unsupported(field: str, value: Any, allowed: list[Any]) -> FieldError:
    """Like `not_supported`, in the order of the schema."""
    names = ", ".join(
        json.dumps(choice if isinstance(choice, str) else json.dumps(choice, separators=(",", ":"), sort_keys=True))
        for choice in allowed
    )
    shown = json.dumps(value, separators=(",", ":"), ensure_ascii=False, sort_keys=True)
    return FieldError("FieldValueNotSupported", field, f"Unsupported value: {shown}: supported values: {names}")
