"""What is wrong with literals in an expression whose types are right: durations, times and patterns that are none, and lists and
maps of several types. Source: cel-go 0.26 `cel/validator.go`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from shunter.api.formats.durations import nanoseconds
from shunter.api.formats.times import moment
from shunter.cluster.apiserver.schema.formats import go_fault, go_pattern
from shunter.cluster.apiserver.schema.typecheck.checker import Checked, Fault
from shunter.cluster.apiserver.schema.typecheck.tree import Call, ListOf, Literal, MapOf, Node, children, descendants
from shunter.cluster.apiserver.schema.typecheck.types import Type, unwrapped
from shunter.errors import InputError


def literal_faults(checked: Checked) -> list[Fault]:
    """Faults of the literals of a checked expression that has no other."""
    return [*_call_faults(checked.tree), *_mixture_faults(checked)]


def _call_faults(tree: Node) -> Iterator[Fault]:
    for node in descendants(tree):
        if not isinstance(node, Call) or node.function not in _READERS or not node.arguments:
            continue
        argument = node.arguments[0]
        if isinstance(argument, Literal) and argument.kind == "string":
            try:
                _READERS[node.function](argument.value)
            except (ValueError, InputError):
                yield argument.at, f"invalid {node.function} argument"


def _pattern(text: str) -> None:
    try:
        go_pattern(text)
    except re.error as error:
        raise ValueError from error


def program_fault(checked: Checked) -> str:
    """What keeps a checked expression from becoming a program: patterns that are none; those of the method `matches` are
    literal faults already."""
    for node in descendants(checked.tree):
        if isinstance(node, Call) and node.function in ("matches", "find", "findAll"):
            operands = [*([node.target] if node.target else ()), *node.arguments]
            pattern = operands[1] if len(operands) > 1 else None
            if isinstance(pattern, Literal) and pattern.kind == "string":
                try:
                    go_pattern(pattern.value)
                except re.error as error:
                    return f"program instantiation failed: error parsing regexp: {go_fault(error, pattern.value)}"
    return ""


_READERS: Mapping[str, Callable[[str], object]] = {"duration": nanoseconds, "timestamp": moment, "matches": _pattern}


def _mixture_faults(checked: Checked) -> Iterator[Fault]:
    for node in _outside_of_formats(checked.tree):
        if isinstance(node, ListOf):
            of = [_inner(checked.types[id(item)], index in node.optional) for index, item in enumerate(node.items)]
            differing = next((index for index, one in enumerate(of) if one != of[0]), None)
            if differing is not None:
                yield _mismatch(node.items[differing], of[0], of[differing])
        elif isinstance(node, MapOf):
            keys = [entry.key for entry in node.entries if not isinstance(entry.key, str)]
            values = [_inner(checked.types[id(entry.value)], entry.is_optional) for entry in node.entries]
            for entry, key, value in zip(node.entries, keys, values, strict=True):
                if checked.types[id(key)] != checked.types[id(keys[0])]:
                    yield _mismatch(key, checked.types[id(keys[0])], checked.types[id(key)])
                if value != values[0]:
                    yield _mismatch(entry.value, values[0], value)


def _outside_of_formats(node: Node) -> Iterator[Node]:
    """All nodes but those in a call of `format`, whose list may hold anything."""
    if isinstance(node, Call) and node.function == "format":
        return
    yield node
    for child in children(node):
        yield from _outside_of_formats(child)


def _inner(one: Type, is_optional: bool) -> Type:
    return unwrapped(one)[0] if is_optional else one


def _mismatch(node: Node, expected: Type, found: Type) -> Fault:
    return node.at, f"expected type '{expected}' but found '{found}'"
