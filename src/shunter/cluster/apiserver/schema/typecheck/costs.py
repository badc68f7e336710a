"""What an expression may cost at most, before it is evaluated: by the largest values that the schema allows.

Source: cel-go 0.26 `checker/cost.go`; apiextensions-apiserver 1.36 `apiserver/schema/cel/compilation.go`. What Kubernetes' own
functions cost is in function_costs.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from shunter.cluster.apiserver.schema.typecheck.checker import Checked, Resolved
from shunter.cluster.apiserver.schema.typecheck.function_costs import Operand, call_cost
from shunter.cluster.apiserver.schema.typecheck.macros import ACCUMULATOR
from shunter.cluster.apiserver.schema.typecheck.ranges import NOTHING, ONE, TRAVERSAL, UNKNOWN, Range, fixed
from shunter.cluster.apiserver.schema.typecheck.schemas import Declared
from shunter.cluster.apiserver.schema.typecheck.tree import (
    Call,
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
from shunter.cluster.apiserver.schema.typecheck.types import Type

_LIST, _MAP, _MESSAGE = fixed(10), fixed(30), fixed(40)
_NONE_YET = Range(UNKNOWN.most, 0)
_PATTERN = 0.25
_SCALARS = ("bool", "double", "duration", "int", "timestamp", "uint")
_ORDERS = ("_<_", "_<=_", "_>_", "_>=_")
_TEXTS = ("string", "bytes")


class _Entries(NamedTuple):
    """The sizes of what is in a list or a map."""

    kind: str
    keys: Range
    values: Range

    def union(self, other: _Entries) -> _Entries:
        return _Entries(self.kind, self.keys.union(other.keys), self.values.union(other.values))


class _Local(NamedTuple):
    """A variable of a loop."""

    path: Sequence[str]
    size: Range | None
    entries: _Entries | None


def most_cost(checked: Checked, self_type: Declared) -> int:
    """The units that the expression costs at most."""
    return _Coster(checked, self_type).cost(checked.tree).most


class _Coster:
    def __init__(self, checked: Checked, self_type: Declared) -> None:
        self._checked = checked
        self._self_type = self_type
        self._paths: dict[int, Sequence[str]] = {}
        self._sizes: dict[int, Range] = {}
        self._entries: dict[int, _Entries] = {}
        self._locals: dict[str, list[_Local]] = {}

    def cost(self, node: Node) -> Range:
        match node:
            case Literal():
                return NOTHING
            case Ident():
                local = self._local(node.name)
                self._paths[id(node)] = local.path if local else (node.name,)
                return ONE
            case Select():
                return self._select(node)
            case Call():
                return self._call(node)
            case ListOf():
                return self._list(node)
            case MapOf():
                return self._map(node)
            case Message():
                return sum((self.cost(entry.value) for entry in node.entries), _MESSAGE)
            case Loop():
                return self._bound(node) if node.variable == "#unused" else self._loop(node)

    def _type(self, node: Node) -> Type:
        return self._checked.types[id(node)]

    def _local(self, name: str) -> _Local | None:
        found = self._locals.get(name)
        return found[-1] if found else None

    def _path(self, node: Node) -> Sequence[str]:
        """Where in the object the value of a node is; nothing for one that is computed."""
        if isinstance(node, Ident) and (local := self._local(node.name)):
            return local.path
        return self._paths.get(id(node), ())

    def _select(self, node: Select) -> Range:
        if id(node.operand) not in self._checked.types:
            self._paths[id(node)] = (qualified(node),)  # one name with dots in it, such as that of a type
            return ONE
        cost = self.cost(node.operand)
        if node.is_test:
            return cost
        self._paths[id(node)] = (*self._path(node.operand), node.field)
        return cost + ONE if self._type(node.operand).kind in ("map", "struct") else cost

    def _list(self, node: ListOf) -> Range:
        cost, sizes = _LIST, _NONE_YET if node.items else NOTHING
        for item in node.items:
            cost += self.cost(item)
            sizes = sizes.union(self._size_or_unknown(item))
        self._entries[id(node)] = _Entries("list", ONE, sizes)
        return cost

    def _map(self, node: MapOf) -> Range:
        cost = _MAP
        keys = values = _NONE_YET if node.entries else NOTHING
        for entry in node.entries:
            assert not isinstance(entry.key, str)
            cost += self.cost(entry.key) + self.cost(entry.value)
            keys = keys.union(self._size_or_unknown(entry.key))
            values = values.union(self._size_or_unknown(entry.value))
        self._entries[id(node)] = _Entries("map", keys, values)
        return cost

    def _call(self, node: Call) -> Range:
        if node.function == "dyn":
            cost = self.cost(node.arguments[0])
            self._copy_sizes(node, node.arguments[0])
            return cost + ONE
        costs = [self.cost(argument) for argument in node.arguments]
        resolved = self._checked.calls.get(id(node), Resolved(node.function, False, ()))
        target: Operand | None = None
        total = NOTHING
        arguments = [self._operand(argument) for argument in node.arguments]
        if resolved.is_method and node.target is not None:
            total = self.cost(node.target)
            target = self._operand(node.target)
        most, result = _NONE_YET, None
        for takes in resolved.takes or ((),):
            cost, size = self._overload_cost(node, resolved.name, takes, target, arguments, costs)
            most = most.union(cost)
            if size is not None:
                result = size if result is None else result.union(size)
            if resolved.name == "_[_]" and takes[0].kind in ("list", "map"):
                entries = self._entry_sizes(node.arguments[0])
                result = entries.values if entries else None
                step = "@items" if takes[0].kind == "list" else "@values"
                self._paths[id(node)] = (*self._path(node.arguments[0]), step)
            if result is None:
                result = self._size(node)
        if result is not None:
            self._sizes[id(node)] = result
        return total + most

    def _overload_cost(
        self,
        node: Call,
        name: str,
        takes: Sequence[Type],
        target: Operand | None,
        arguments: Sequence[Operand],
        costs: Sequence[Range],
    ) -> tuple[Range, Range | None]:
        """The cost of a call with its arguments, and the size of what it gives."""
        before = sum(costs, NOTHING)
        if (found := call_cost(name, takes, target, arguments)) is not None:
            return found[0] + before, found[1]
        sizes = [argument.size or UNKNOWN for argument in arguments]
        kind = takes[0].kind if takes else ""
        size: Range | None = None
        cost = ONE
        match name:
            case "format" if target is not None:
                cost = (target.size or UNKNOWN).by(TRAVERSAL)
            case "bytes" if kind == "string":
                cost, size = sizes[0].by(TRAVERSAL), Range(sizes[0].least, sizes[0].most * 4 % 2**64)
            case "string" if kind == "bytes":
                cost, size = sizes[0].by(TRAVERSAL), Range(sizes[0].least // 4, sizes[0].most)
            case "strings.quote":
                cost = sizes[0].by(TRAVERSAL)
                size = Range(sizes[0].least + 2, (sizes[0].most * 2 + 2) % 2**64)
            case "startsWith" | "endsWith":
                cost = sizes[0].by(TRAVERSAL)
            case "@in" if takes[1].kind == "list":
                cost = sizes[1].by(1)
            case "matches" if target is not None:
                cost = ((target.size or UNKNOWN) + ONE).by(TRAVERSAL) * sizes[0].by(_PATTERN)
            case "contains" if target is not None:
                cost = (target.size or UNKNOWN).by(TRAVERSAL) * sizes[0].by(TRAVERSAL)
            case "_&&_" | "_||_":
                return Range(costs[0].least, (costs[0] + costs[1]).most), None
            case "_?_:_":
                self._unite_entries(node, node.arguments[1], node.arguments[2])
                return costs[0] + costs[1].union(costs[2]), sizes[1].union(sizes[2])
            case "_+_" if kind in (*_TEXTS, "list"):
                self._unite_entries(node, *node.arguments)
                size = sizes[0] + sizes[1]
                cost = ONE if kind == "list" else size.by(TRAVERSAL)
            case "_==_" | "_!=_":
                cost = _compared(*sizes)
            case _ if name in _ORDERS and kind in _TEXTS:
                cost = _compared(*sizes)
        return cost + before, size

    def _loop(self, node: Loop) -> Range:
        cost = self.cost(node.over) + self.cost(node.start)
        self._push(node.accumulator, self._path(node.start), self._size(node.start), self._entry_sizes(node.start))
        entries = self._entry_sizes(node.over)
        kind = entries.kind if entries else self._type(node.over).kind
        keys, values = (entries.keys, entries.values) if entries else (None, None)
        path = self._path(node.over)
        each = (*path, "@items" if kind == "list" else "@values"), values
        key = (*path, "@indices" if kind == "list" else "@keys"), keys
        if node.second:
            self._push(node.variable, *key)
            self._push(node.second, *each)
        else:
            self._push(node.variable, *(each if kind == "list" else ((*path, "@keys"), keys)))
        once = self.cost(node.condition) + self.cost(node.step)
        for name in (node.variable, node.second):
            if name:
                self._locals[name].pop()
        cost += self.cost(node.result)
        self._locals[node.accumulator].pop()
        count = self._size_or_unknown(node.over)
        if isinstance(node.start, Literal):
            if (size := self._size(node.start)) is not None:
                self._sizes[id(node)] = size
        elif isinstance(node.start, ListOf | MapOf):
            self._sizes[id(node)] = count
            if (entries := self._entry_sizes(node.step)) is not None:
                self._entries[id(node)] = entries
        return cost + count * once

    def _bound(self, node: Loop) -> Range:
        cost = self.cost(node.over) + self.cost(node.start)
        self._push(node.accumulator, self._path(node.start), self._size(node.start), self._entry_sizes(node.start))
        cost += self.cost(node.result)
        self._copy_sizes(node, node.result)
        self._locals[node.accumulator].pop()
        return cost

    def _push(self, name: str, path: Sequence[str], size: Range | None, entries: _Entries | None = None) -> None:
        self._locals.setdefault(name, []).append(_Local(path, size, entries))

    def _operand(self, node: Node) -> Operand:
        path = self._path(node)
        if path and path[0] == ACCUMULATOR:
            path = ()
        of = self._type(node)
        item = of.parameters[0] if of.parameters else None
        of_items = self._estimated((*path, "@items")) if path and item is not None else None
        whole = node.value if isinstance(node, Literal) and node.kind == "int" else ""
        return Operand(of, self._size(node), item, of_items, int(whole, 0) if whole else None)

    def _size(self, node: Node) -> Range | None:
        """How large the value of a node may be."""
        if (known := self._sizes.get(id(node))) is not None:
            return known
        if isinstance(node, Literal):
            return fixed(len(node.value)) if node.kind in _TEXTS else ONE
        if isinstance(node, ListOf | MapOf):
            return fixed(len(node.items if isinstance(node, ListOf) else node.entries))
        if (estimated := self._estimated(self._path(node))) is not None:
            self._sizes[id(node)] = estimated
            return estimated
        if _is_scalar(self._type(node)):
            return ONE
        local = self._local(node.name) if isinstance(node, Ident) else None
        return local.size if local else None

    def _size_or_unknown(self, node: Node) -> Range:
        return self._size(node) or UNKNOWN

    def _estimated(self, path: Sequence[str]) -> Range | None:
        """The size that the schema allows at a path, which begins with a variable's name."""
        if not path:
            return None
        place: Declared | None = self._self_type
        for step in path[1:]:
            assert place is not None
            if step == "@keys":
                if place.type.kind != "map":
                    return None
                place = Declared(Type("string"), 2)
            else:
                place = place.item if step in ("@items", "@values") else (place.fields or {}).get(step)
            if place is None:
                return None
        assert place is not None
        return Range(0, place.largest)

    def _entry_sizes(self, node: Node) -> _Entries | None:
        if (known := self._entries.get(id(node))) is not None:
            return known
        local = self._local(node.name) if isinstance(node, Ident) else None
        return local.entries if local else None

    def _unite_entries(self, node: Node, *parts: Node) -> None:
        first, second = map(self._entry_sizes, parts)
        if first is not None and second is not None:
            self._entries[id(node)] = first.union(second)

    def _copy_sizes(self, node: Node, source: Node) -> None:
        if (size := self._size(source)) is not None:
            self._sizes[id(node)] = size
        if (entries := self._entry_sizes(source)) is not None:
            self._entries[id(node)] = entries


def _is_scalar(one: Type) -> bool:
    return one.kind in _SCALARS or (one.name == "optional_type" and _is_scalar(one.parameters[0]))


def _compared(first: Range, second: Range) -> Range:
    most = min(first.most, second.most)
    return Range(1 if most else 0, most).by(TRAVERSAL)
