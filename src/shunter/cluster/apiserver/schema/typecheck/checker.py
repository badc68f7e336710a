"""Finds the type of an expression, and what is wrong with it, in the words of CEL for Go.

Source: cel-go 0.26 `checker/checker.go`, `common/error.go`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from shunter.cluster.apiserver.schema.typecheck import types
from shunter.cluster.apiserver.schema.typecheck.overloads import TYPE_NAMES, Overload, functions
from shunter.cluster.apiserver.schema.typecheck.tree import (
    Call,
    Entry,
    Ident,
    ListOf,
    Literal,
    Loop,
    MapOf,
    Message,
    Node,
    Select,
    qualified,
)
from shunter.cluster.apiserver.schema.typecheck.types import BOOL, DYN, ERROR, INT, Type

Fault = tuple[int, str]
"""Where in the text, and what is wrong."""
_MOST = 100
"""Faults that are listed."""
_WORDS = frozenset(("true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import"))
_FIELD_WORDS = _WORDS | frozenset(("let", "loop", "package", "namespace", "return", "var", "void", "while"))


class Environment(NamedTuple):
    """What an expression may name."""

    variables: Mapping[str, Type]
    structs: Mapping[str, Mapping[str, Type]]
    """The fields of types, by the type's name."""


class Resolved(NamedTuple):
    """What a call calls: `takes` are the types of each overload that fits."""

    name: str
    is_method: bool
    takes: Sequence[Sequence[Type]]


class Checked(NamedTuple):
    """A tree with the types of its nodes."""

    tree: Node
    types: Mapping[int, Type]
    """The type of each node, by the `id` of the node, which lives as long as the tree."""
    faults: Sequence[Fault]
    names: frozenset[str]
    """The variables of the environment that it reads."""
    calls: Mapping[int, Resolved]
    """The overloads of each call, by the `id` of its node."""

    @property
    def type(self) -> Type:
        """The type of the whole expression."""
        return self.types[id(self.tree)]


def check(tree: Node, environment: Environment) -> Checked:
    """The types of all nodes; whatever is wrong is in `faults`."""
    checker = _Checker(environment)
    checker.visit(tree)
    found = {node: types.substituted(checker.substitutions, one, closed=True) for node, one in checker.types.items()}
    return Checked(tree, found, checker.faults, frozenset(checker.names), checker.calls)


def displayed(text: str, faults: Sequence[Fault]) -> str:
    """Faults with the lines that they are in, in order of their places."""
    lines = text.split("\n")
    shown = []
    for at, message in sorted(faults, key=lambda fault: fault[0])[:_MOST]:
        before = text[:at]
        number, column = before.count("\n"), at - (before.rfind("\n") + 1)
        line = lines[number].replace("\t", " ")
        dots = "".join("." if ord(letter) < 128 else "．" for letter in line[:column])
        mark = "＾" if ord(line[column : column + 1] or " ") >= 128 else "^"
        shown.append(f"ERROR: <input>:{number + 1}:{column + 1}: {message}\n | {line}\n | {dots}{mark}")
    if len(faults) > _MOST:
        shown.append(f"{len(faults) - _MOST} more errors were truncated")
    return "\n".join(shown)


class _Checker:
    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._scopes: list[dict[str, Type]] = []
        self._count = 0
        self.substitutions: types.Substitutions = {}
        self.types: dict[int, Type] = {}
        self.faults: list[Fault] = []
        self.names: set[str] = set()
        self.calls: dict[int, Resolved] = {}

    def visit(self, node: Node) -> Type:
        """The type of a node, which is also noted."""
        found = self.types[id(node)] = self._type_of(node)
        return found

    def _type_of(self, node: Node) -> Type:
        match node:
            case Literal():
                return ERROR if node.kind == "error" else Type(node.kind)
            case Ident():
                return self._ident(node)
            case Select():
                return self._select(node)
            case Call():
                return self._call(node)
            case ListOf():
                return self._list(node)
            case MapOf():
                return self._map(node)
            case Message():
                return self._message(node)
            case Loop():
                return self._loop(node)

    def _fault(self, node: Node | Entry, message: str) -> Type:
        self.faults.append((node.at, message))
        return ERROR

    def _lookup(self, name: str) -> Type | None:
        name = name.removeprefix(".")
        for scope in reversed(self._scopes):
            if name in scope:
                return scope[name]
        if (found := self._environment.variables.get(name)) is not None:
            self.names.add(name)
            return found
        if name in self._environment.structs:
            return Type("type", "", (Type("struct", name),))
        return TYPE_NAMES.get(name)

    def _undeclared(self, node: Node, name: str) -> Type:
        return self._fault(node, f"undeclared reference to '{name}' (in container '')")

    def _ident(self, node: Ident) -> Type:
        found = self._lookup(node.name)
        return found if found is not None else self._undeclared(node, node.name)

    def _select(self, node: Select) -> Type:
        if (name := qualified(node)) and (found := self._lookup(name)) is not None:
            return found
        found = self._field(node, node.operand, node.field, is_optional=False)
        return BOOL if node.is_test else types.substituted(self.substitutions, found)

    def _field(self, node: Node, operand: Node, field: str, *, is_optional: bool) -> Type:
        target, was_optional = types.unwrapped(types.substituted(self.substitutions, self.visit(operand)))
        result = ERROR
        if target.kind == "map":
            result = target.parameters[1]
        elif target.kind == "struct":
            result = self._declared(node, target.name, field)
        elif target.kind == "param":
            self._assign(DYN, target)
            result = DYN
        else:
            if target.kind not in ("dyn", "any", "error"):
                self._fault(node, f"type '{target}' does not support field selection")
            result = DYN
        return types.optional_of(result) if was_optional or is_optional else result

    def _declared(self, node: Node | Entry, struct: str, field: str) -> Type:
        fields = self._environment.structs.get(struct)
        if fields is None:
            return self._fault(node, f"unexpected failed resolution of '{struct}'")
        found = fields.get(field)
        if found is None and field in _FIELD_WORDS:
            found = fields.get(f"__{field}__")
        return found if found is not None else self._fault(node, f"undefined field '{field}'")

    def _call(self, node: Call) -> Type:
        if node.function == "_?._":
            field = node.arguments[1]
            assert isinstance(field, Literal)
            self.visit(field)
            found = self._field(node, node.arguments[0], field.value, is_optional=True)
            return types.substituted(self.substitutions, found)
        arguments = [self.visit(argument) for argument in node.arguments]
        if node.target is None:
            name = node.function.removeprefix(".")
            return self._resolved(node, name, arguments) if name in functions() else self._undeclared(node, node.function)
        prefix = qualified(node.target)
        if prefix and (name := f"{prefix}.{node.function}".removeprefix(".")) in functions():
            return self._resolved(node, name, arguments)
        target = self.visit(node.target)
        if node.function not in functions():
            return self._undeclared(node, node.function)
        return self._resolved(node, node.function, [target, *arguments], is_method=True)

    def _resolved(self, node: Call, name: str, given: Sequence[Type], *, is_method: bool = False) -> Type:
        """The type that the overloads give for these arguments: dyn where they differ."""
        if name in ("_&&_", "_||_"):
            return self._logical(node, given)
        result: Type | None = None
        fitting: list[Sequence[Type]] = []
        self.calls[id(node)] = Resolved(name, is_method, fitting)
        for overload in functions()[name]:
            if overload.is_method is not is_method:
                continue
            takes, gives = self._instance(overload)
            changed = types.assigned(self.substitutions, given, takes)
            if changed is None:
                continue
            self.substitutions = changed
            fitting.append(overload.takes)
            found = types.substituted(changed, gives)
            if result is None:
                result = found
            elif not types.is_dyn(result) and found != result:
                result = DYN
        if result is not None:
            return result
        shown = [str(types.substituted(self.substitutions, one, closed=True)) for one in given]
        signature = f"{shown[0]}.({', '.join(shown[1:])})" if is_method else f"({', '.join(shown)})"
        return self._fault(node, f"found no matching overload for '{name}' applied to '{signature}'")

    def _logical(self, node: Call, given: Sequence[Type]) -> Type:
        result = BOOL
        for argument, one in zip(node.arguments, given, strict=True):
            if not self._assign(one, BOOL):
                result = self._fault(argument, f"expected type 'bool' but found '{one}'")
        return result

    def _instance(self, overload: Overload) -> tuple[Sequence[Type], Type]:
        """The overload's types, with open types of this call's own."""
        if not overload.parameters:
            return overload.takes, overload.gives
        own = {name: self._open() for name in overload.parameters}
        return [types.substituted(own, one) for one in overload.takes], types.substituted(own, overload.gives)

    def _open(self) -> Type:
        self._count += 1
        return Type("param", f"_var{self._count - 1}")

    def _assign(self, expected: Type, given: Type) -> bool:
        changed = types.assigned(self.substitutions, [expected], [given])
        if changed is not None:
            self.substitutions = changed
        return changed is not None

    def _list(self, node: ListOf) -> Type:
        joined: Type | None = None
        for index, item in enumerate(node.items):
            joined = self._joined(joined, self._optional(item, self.visit(item), index in node.optional))
        return types.list_of(self._open() if joined is None else joined)

    def _map(self, node: MapOf) -> Type:
        keys: Type | None = None
        values: Type | None = None
        for entry in node.entries:
            assert not isinstance(entry.key, str)
            keys = self._joined(keys, self.visit(entry.key))
            values = self._joined(values, self._optional(entry.value, self.visit(entry.value), entry.is_optional))
        if keys is None or values is None:
            keys, values = self._open(), self._open()
        return types.map_of(keys, values)

    def _optional(self, node: Node, found: Type, is_optional: bool) -> Type:
        if not is_optional:
            return found
        value, was_optional = types.unwrapped(found)
        if not was_optional and not types.is_dyn(value):
            self._fault(node, f"expected type '{types.optional_of(value)}' but found '{value}'")
        return value

    def _joined(self, before: Type | None, found: Type) -> Type:
        """The type of both; where they do not agree, dyn: what may not be mixed is told of afterwards (literals.py)."""
        if before is None:
            return found
        return types.most_general(before, found) if self._assign(before, found) else DYN

    def _message(self, node: Message) -> Type:
        found = self._lookup(node.name)
        if found is None:
            return self._undeclared(node, node.name)
        if found.kind != "type":
            return self._fault(node, f"'{found}' is not a type")
        struct = found.parameters[0]
        if struct.kind != "struct":
            return self._fault(node, f"'{struct}' is not a message type")
        for entry in node.entries:
            value = self._optional(entry.value, self.visit(entry.value), entry.is_optional)
            expected = self._declared(entry, struct.name, str(entry.key))
            if not self._assign(expected, value):
                self._fault(entry, f"expected type of field '{entry.key}' is '{expected}' but provided type is '{value}'")
        return struct

    def _loop(self, node: Loop) -> Type:
        self.visit(node.over)
        accumulator = self.visit(node.start)
        over = types.substituted(self.substitutions, self.types[id(node.over)])
        first, second = DYN, DYN
        if over.kind == "list":
            first, second = (INT, over.parameters[0]) if node.second else (over.parameters[0], DYN)
        elif over.kind == "map":
            first, second = over.parameters
        elif over.kind in ("dyn", "any", "error", "param"):
            self._assign(DYN, over)
        else:
            text = f"expression of type '{over}' cannot be range of a comprehension (must be list, map, or dynamic)"
            first = second = self._fault(node.over, text)
        self._scopes.append({node.accumulator: accumulator})
        self._scopes.append({node.variable: first, **({node.second: second} if node.second else {})})
        self._expect(node.condition, BOOL)
        self._expect(node.step, accumulator)
        self._scopes.pop()
        result = self.visit(node.result)
        self._scopes.pop()
        return types.substituted(self.substitutions, result)

    def _expect(self, node: Node, expected: Type) -> None:
        found = self.visit(node)
        if not self._assign(expected, found):
            self._fault(node, f"expected type '{expected}' but found '{found}'")
