"""Types of expressions, and which value may stand where. Source: cel-go 0.26 `checker/types.go`, `checker/format.go`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias


class Type(NamedTuple):
    """`kind` is `struct` or `opaque` for types with a name of their own, and `param` for one that is still open."""

    kind: str
    name: str = ""
    parameters: tuple[Type, ...] = ()

    def __str__(self) -> str:
        if self.kind == "error":
            return "!error!"
        name = self.name or self.kind
        return f"{name}({', '.join(map(str, self.parameters))})" if self.parameters else name


DYN: Final = Type("dyn")
ERROR: Final = Type("error")
BOOL: Final = Type("bool")
INT: Final = Type("int")
STRING: Final = Type("string")
TYPE: Final = Type("type")

Substitutions: TypeAlias = Mapping[str, Type]
"""What open types stand for, by their names."""

_OPTIONAL = "optional_type"
_NULLABLE = ("opaque", "struct", "any", "duration", "timestamp")


def list_of(item: Type) -> Type:
    """A list of one type of items."""
    return Type("list", "", (item,))


def map_of(key: Type, value: Type) -> Type:
    """A map of one type of keys and one of values."""
    return Type("map", "", (key, value))


def optional_of(value: Type) -> Type:
    """An optional value."""
    return Type("opaque", _OPTIONAL, (value,))


def unwrapped(of: Type) -> tuple[Type, bool]:
    """The type of the value of an optional, and whether it was one."""
    if of.kind == "opaque" and of.name == _OPTIONAL:
        return of.parameters[0], True
    return of, False


def substituted(substitutions: Substitutions, of: Type, *, closed: bool = False) -> Type:
    """The type with its open parts replaced; `closed`: what is still open then is dyn."""
    if of.kind == "param":
        if (known := substitutions.get(of.name)) is not None:
            return substituted(substitutions, known, closed=closed)
        return DYN if closed else of
    if not of.parameters:
        return of
    return of._replace(parameters=tuple(substituted(substitutions, part, closed=closed) for part in of.parameters))


def assigned(substitutions: Substitutions, expected: Sequence[Type], given: Sequence[Type]) -> Substitutions | None:
    """What open types stand for once all these pairs agree; None when one does not."""
    changed = dict(substitutions)
    return changed if _all_assignable(changed, expected, given) else None


def most_general(first: Type, second: Type) -> Type:
    """The more general of two types that agree."""
    return first if _is_no_more_specific(first, second) else second


def is_dyn(one: Type) -> bool:
    """Whether nothing is known of it."""
    return one.kind in ("dyn", "any")


def _all_assignable(substitutions: dict[str, Type], expected: Sequence[Type], given: Sequence[Type]) -> bool:
    return len(expected) == len(given) and all(
        _is_assignable(substitutions, one, other) for one, other in zip(expected, given, strict=True)
    )


def _is_assignable(substitutions: dict[str, Type], first: Type, second: Type) -> bool:
    if second.kind == "param":
        fits, is_known = _stands_for(substitutions, first, second)
        if fits or is_known:
            return fits
    if first.kind == "param":
        return _stands_for(substitutions, second, first)[0]
    if is_dyn(first) or is_dyn(second) or "error" in (first.kind, second.kind):
        return True
    if "null" in (first.kind, second.kind):
        other = second if first.kind == "null" else first
        return other.kind in _NULLABLE or other.kind == "null"
    if first.kind != second.kind or first.name != second.name:
        return False
    if first.kind == "type":
        return True
    return first == second if first.kind == "struct" else _all_assignable(substitutions, first.parameters, second.parameters)


def _stands_for(substitutions: dict[str, Type], value: Type, open_type: Type) -> tuple[bool, bool]:
    """Whether the open type may stand for the value, and whether it stands for something already."""
    if value == open_type:
        return True, True
    known = substitutions.get(open_type.name)
    if known is not None:
        if value == known:
            return True, True
        if _is_assignable(substitutions, value, known):
            general = most_general(value, known)
            if not _occurs(substitutions, open_type, general):
                substitutions[open_type.name] = general
            return True, True
        return False, True
    if _occurs(substitutions, open_type, value):
        return False, False
    substitutions[open_type.name] = value
    return True, False


def _occurs(substitutions: Substitutions, open_type: Type, within: Type) -> bool:
    if open_type == within:
        return True
    if within.kind == "param":
        known = substitutions.get(within.name)
        return known is not None and _occurs(substitutions, open_type, known)
    return any(_occurs(substitutions, open_type, part) for part in within.parameters)


def _is_no_more_specific(first: Type, second: Type) -> bool:
    if is_dyn(first) or first.kind == "param":
        return True
    if is_dyn(second) or second.kind == "param" or first.kind != second.kind:
        return False
    if first.kind == "type":
        return True
    if first.name != second.name or len(first.parameters) != len(second.parameters):
        return False
    return all(_is_no_more_specific(one, other) for one, other in zip(first.parameters, second.parameters, strict=True))
