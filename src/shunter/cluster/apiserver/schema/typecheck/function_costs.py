"""What calls of functions of the libraries may cost at most, and how large what they give may be.

Source: k8s.io/apiserver 1.36 `cel/library/cost.go`, cel-go 0.26 `ext/lists.go`, `ext/sets.go`. They decide
what is accepted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from shunter.cluster.apiserver.schema.typecheck.ranges import ONE, TRAVERSAL, UNKNOWN, Range, fixed
from shunter.cluster.apiserver.schema.typecheck.types import Type

Cost: TypeAlias = tuple[Range, Range | None]
"""The cost without that of the arguments, and the size of the result if it is known."""


class Operand(NamedTuple):
    """What a function is called with."""

    type: Type
    size: Range | None
    item: Type | None
    """The type of a list's items."""
    item_size: Range | None
    literal: int | None = None
    """A whole number that stands in the expression."""


_UNKNOWN_OPERAND = Operand(Type("dyn"), None, None, None)
_CHECK = fixed(350_000)
_LIST = fixed(10)
_ADDRESS = Range(4, 16)
_LONGEST_PATTERN = 128 * 0.25
_LONGEST_FORMAT = 64
_CHEAP = frozenset(
    (
        *(
            "serviceAccount",
            "path",
            "group",
            "resource",
            "subresource",
            "namespace",
            "name",
            "allowed",
            "reason",
            "error",
            "errored",
        ),
        *("masked", "prefixLength", "family", "isUnspecified", "isLoopback", "isLinkLocalMulticast", "isLinkLocalUnicast"),
        *(
            "isGlobalUnicast",
            "format.named",
            "sign",
            "asInteger",
            "isInteger",
            "asApproximateFloat",
            "isGreaterThan",
            "isLessThan",
        ),
        *(
            "compareTo",
            "add",
            "sub",
            "major",
            "minor",
            "patch",
            "getScheme",
            "getHostname",
            "getHost",
            "getPort",
            "getEscapedPath",
        ),
        "getQuery",
    )
)
_READERS = frozenset(("cidr", "isIP", "isCIDR", "quantity", "isQuantity", "semver", "isSemver", "ip", "url"))
_EQUAL_AT_ONCE = frozenset(
    (
        *("net.IP", "net.CIDR", "kubernetes.Quantity", "kubernetes.Semver", "kubernetes.authorization.Authorizer"),
        *("kubernetes.authorization.PathCheck", "kubernetes.authorization.GroupCheck"),
        *("kubernetes.authorization.ResourceCheck", "kubernetes.authorization.Decision"),
    )
)


def call_cost(name: str, takes: Sequence[Type], target: Operand | None, arguments: Sequence[Operand]) -> Cost | None:
    """None for functions of the language itself. `takes` are the types of the overload that is called."""
    if name in _CHEAP:
        return ONE, None
    if name == "check":
        return _CHECK, None
    if name == "_==_":
        return _equality(*arguments)
    first = arguments[0] if arguments else _UNKNOWN_OPERAND
    if name in _READERS:
        if target is not None:
            return ONE, None  # the address of a network
        return _size(first).by(TRAVERSAL), _size(first) if name == "url" else None
    if name.startswith("sets."):
        return (_size(first) * _size(arguments[1])).by(2 if name == "sets.equivalent" else 1) + ONE, None
    if name == "lists.range":
        return _new_list(1, fixed(_number(first, UNKNOWN.most)))
    if name == "ip.isCanonical":
        return _size(first).by(2 * TRAVERSAL), None
    return _method_cost(name, takes, target, arguments) if target is not None else None


def _method_cost(name: str, takes: Sequence[Type], target: Operand, arguments: Sequence[Operand]) -> Cost | None:
    size = _size(target)
    first = _size(arguments[0]) if arguments else UNKNOWN
    match name:
        case "fieldSelector" | "labelSelector":
            return fixed(10) + first.by(TRAVERSAL) + first.by(0.5).by(50), None
        case "isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf":
            return _traversal(target, size), None
        case "lowerAscii" | "upperAscii" | "substring" | "trim":
            return size.by(TRAVERSAL), size
        case "replace":
            return size.by(2 * TRAVERSAL), _replaced(size, first, _size(arguments[1]))
        case "split":
            limit = arguments[1].literal if len(arguments) > 1 else None
            return size.by(2 * TRAVERSAL), Range(0, size.most if limit is None else limit % 2**64)
        case "join":
            joined = size * (target.item_size or UNKNOWN)
            if arguments:
                joined += first * Range(max(size.least - 1, 0), max(size.most - 1, 0))
            return joined.by(TRAVERSAL), joined
        case "find" | "findAll":
            return (size + ONE).by(TRAVERSAL) * first.by(0.25), Range(0, size.most)
        case "slice":
            end = _number(arguments[1], size.most)
            return _new_list(1, fixed((end - _number(arguments[0], 0)) % 2**64))
        case "reverse":
            return _new_list(1, size)
        case "flatten":
            return _new_list(_number(arguments[0], UNKNOWN.most) if arguments else 1, size)
        case "distinct":
            return _new_list(2, size * size)
        case "sort" | "@sortByAssociatedKeys":
            keys = size if name == "sort" else first
            of_texts = takes[-1].parameters[0].kind in ("string", "bytes")
            return _new_list(2 + TRAVERSAL if of_texts else 2, keys * keys)
        case "containsIP" | "containsCIDR":
            return _contained(name, takes, first), None
        case "validate":
            return first.by(TRAVERSAL).by(_LONGEST_PATTERN), None
    return None


def _size(operand: Operand) -> Range:
    return operand.size or UNKNOWN


def _number(operand: Operand, otherwise: int) -> int:
    return otherwise if operand.literal is None else max(operand.literal, 0)


def _new_list(factor: float, size: Range) -> Cost:
    """The cost of a call that makes a list of this size."""
    return size.by(factor) + ONE + _LIST, size


def _traversal(target: Operand, size: Range) -> Range:
    if target.item is None:
        return size.by(TRAVERSAL)
    one = ONE
    if target.item.kind in ("string", "bytes"):
        one += (target.item_size or UNKNOWN).by(TRAVERSAL)
    return size * one


def _replaced(size: Range, old: Range, new: Range) -> Range:
    """The sizes of a text after what is old in it is new."""
    if old.least == 0:
        most_often, most_kept = min(size.most + 1, UNKNOWN.most), size.most
    elif new.most <= old.least:
        most_often, most_kept = 0, size.most
    else:
        most_often, most_kept = math.ceil(size.most / old.least), 0
    if old.most == 0:
        least_often, least_kept = size.least + 1, size.least
    elif old.most <= new.least:
        least_often, least_kept = 0, size.least
    else:
        least_often, least_kept = math.ceil(size.least / old.most), 0
    return Range(least_often, most_often) * new + Range(least_kept, most_kept)


def _contained(name: str, takes: Sequence[Type], other: Range) -> Range:
    cost = (_ADDRESS + _ADDRESS).by(TRAVERSAL)
    if name == "containsCIDR":
        cost += _ADDRESS.by(TRAVERSAL) + ONE
    return cost + other.by(TRAVERSAL) if takes[1].kind == "string" else cost


def _equality(first: Operand, second: Operand) -> Cost | None:
    if first.type != second.type:
        return None
    if first.type.name in _EQUAL_AT_ONCE:
        return ONE, None
    if first.type.name == "kubernetes.NamedFormat":
        return Range(1, _LONGEST_FORMAT).by(TRAVERSAL), None
    if first.type.name == "kubernetes.URL":
        return Range(1, second.size.most if second.size else 1).by(TRAVERSAL), None
    return None
