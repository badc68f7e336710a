"""An expression as a tree, macros expanded.

`at` is where error messages point: the operator of an operation, the bracket of a call or a list, the first letter of anything
else. Nodes are compared by identity.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

Node: TypeAlias = "Literal | Ident | Select | Call | ListOf | MapOf | Message | Loop"


@dataclass(slots=True, eq=False)
class Literal:
    """`kind` is the name of its type; `value` is that of a text or of bytes, and what is written of a number."""

    at: int
    kind: str
    value: str = ""


@dataclass(slots=True, eq=False)
class Ident:
    """A name."""

    at: int
    name: str


@dataclass(slots=True, eq=False)
class Select:
    """`operand.field`."""

    at: int
    operand: Node
    field: str
    is_test: bool = False
    """`has(operand.field)`."""


@dataclass(slots=True, eq=False)
class Call:
    """A function or a method; operators are functions: `_+_`."""

    at: int
    function: str
    arguments: list[Node]
    target: Node | None = None


@dataclass(slots=True, eq=False)
class ListOf:
    """`[1, 2]`."""

    at: int
    items: list[Node]
    optional: frozenset[int] = frozenset()
    """The indexes of items with a question mark."""


@dataclass(slots=True, eq=False)
class Entry:
    """An entry of a map or a message; the keys of a message are names."""

    at: int
    key: Node | str
    value: Node
    is_optional: bool


@dataclass(slots=True, eq=False)
class MapOf:
    """`{1: 2}`."""

    at: int
    entries: list[Entry]


@dataclass(slots=True, eq=False)
class Message:
    """`Name{field: 1}`."""

    at: int
    name: str
    entries: list[Entry]


@dataclass(slots=True, eq=False)
class Loop:
    """Each item of `over` becomes `variable`, and `step` the accumulator; then `result` is the value."""

    at: int
    over: Node
    variable: str
    accumulator: str
    start: Node
    condition: Node
    step: Node
    result: Node
    second: str = ""
    """The second variable, of macros that have two."""


def children(node: Node) -> Iterator[Node]:
    """The nodes right below one."""
    match node:
        case Select():
            yield node.operand
        case Call():
            if node.target is not None:
                yield node.target
            yield from node.arguments
        case ListOf():
            yield from node.items
        case MapOf() | Message():
            for entry in node.entries:
                if not isinstance(entry.key, str):
                    yield entry.key
                yield entry.value
        case Loop():
            yield from (node.over, node.start, node.condition, node.step, node.result)


def descendants(node: Node) -> Iterator[Node]:
    """The node and all below it, outermost first."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += reversed(list(children(node)))


def qualified(node: Node) -> str:
    """`a.b.c` of names alone; nothing for any other expression."""
    if isinstance(node, Ident):
        return node.name
    if isinstance(node, Select) and not node.is_test and (prefix := qualified(node.operand)):
        return f"{prefix}.{node.field}"
    return ""
