"""Macros: calls that stand for loops and tests.

Source: cel-go 0.26 `parser/macro.go`, `ext/comprehensions.go`, `ext/lists.go`, `cel/library.go`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from shunter.cluster.apiserver.schema.typecheck.tree import Call, Ident, ListOf, Literal, Loop, MapOf, Node, Select

ACCUMULATOR = "@result"
_OLD_ACCUMULATOR = "__result__"
_NO_NAME = "argument must be a simple name"


class MacroFault(Exception):
    """A macro with wrong arguments, and where."""

    def __init__(self, at: int, message: str) -> None:
        super().__init__(message)
        self.at = at


def expanded(at: int, function: str, target: Node | None, arguments: list[Node]) -> Node | None:
    """What a call stands for; None when it is no macro. Raises MacroFault."""
    macro = _MACROS.get((function, len(arguments), target is not None))
    return macro(at, target or Ident(at, ""), arguments) if macro else None


def _has(at: int, target: Node, arguments: list[Node]) -> Node:
    tested = arguments[0]
    if not isinstance(tested, Select):
        raise MacroFault(tested.at, "invalid argument to has() macro")
    return Select(at, tested.operand, tested.field, is_test=True)


def _name(argument: Node, fault: str = _NO_NAME) -> str:
    if not isinstance(argument, Ident):
        raise MacroFault(argument.at, fault)
    if argument.name in (ACCUMULATOR, _OLD_ACCUMULATOR):
        raise MacroFault(argument.at, "iteration variable overwrites accumulator variable")
    return argument.name


def _names(arguments: list[Node]) -> tuple[str, str]:
    first, second = (argument.name if isinstance(argument, Ident) else "" for argument in arguments[:2])
    if first and first == second:
        raise MacroFault(arguments[1].at, f"duplicate variable name: {first}")
    return _name(arguments[0]), _name(arguments[1])


def _loop(
    at: int, over: Node, names: tuple[str, str], start: Node, condition: Node, step: Node, result: Node | None = None
) -> Loop:
    return Loop(at, over, names[0], ACCUMULATOR, start, condition, step, result or Ident(at, ACCUMULATOR), names[1])


def _quantifier(kind: str) -> Callable[[int, Node, list[Node]], Node]:
    def macro(at: int, target: Node, arguments: list[Node]) -> Node:
        names = _names(arguments) if len(arguments) == 3 else (_name(arguments[0]), "")
        predicate, so_far = arguments[-1], Ident(at, ACCUMULATOR)
        if kind == "all":
            condition: Node = Call(at, "@not_strictly_false", [Ident(at, ACCUMULATOR)])
            return _loop(at, target, names, Literal(at, "bool"), condition, Call(at, "_&&_", [so_far, predicate]))
        if kind == "exists":
            condition = Call(at, "@not_strictly_false", [Call(at, "!_", [Ident(at, ACCUMULATOR)])])
            return _loop(at, target, names, Literal(at, "bool"), condition, Call(at, "_||_", [so_far, predicate]))
        counted = Call(at, "_+_", [Ident(at, ACCUMULATOR), Literal(at, "int")])
        step = Call(at, "_?_:_", [predicate, counted, so_far])
        result = Call(at, "_==_", [Ident(at, ACCUMULATOR), Literal(at, "int")])
        return _loop(at, target, names, Literal(at, "int"), Literal(at, "bool"), step, result)

    return macro


def _collected(at: int, target: Node, names: tuple[str, str], item: Node, condition: Node | None) -> Loop:
    """A list of `item` of all that fulfil the condition."""
    step: Node = Call(at, "_+_", [Ident(at, ACCUMULATOR), ListOf(at, [item])])
    if condition is not None:
        step = Call(at, "_?_:_", [condition, step, Ident(at, ACCUMULATOR)])
    return _loop(at, target, names, ListOf(at, []), Literal(at, "bool"), step)


def _map(at: int, target: Node, arguments: list[Node]) -> Node:
    name = _name(arguments[0], "argument is not an identifier")
    return _collected(at, target, (name, ""), arguments[-1], arguments[1] if len(arguments) == 3 else None)


def _filter(at: int, target: Node, arguments: list[Node]) -> Node:
    name = _name(arguments[0], "argument is not an identifier")
    return _collected(at, target, (name, ""), arguments[0], arguments[1])


def _transform_list(at: int, target: Node, arguments: list[Node]) -> Node:
    return _collected(at, target, _names(arguments), arguments[-1], arguments[2] if len(arguments) == 4 else None)


def _transform_map(*, entries: bool) -> Callable[[int, Node, list[Node]], Node]:
    def macro(at: int, target: Node, arguments: list[Node]) -> Node:
        names = _names(arguments)
        inserted: list[Node] = [Ident(at, ACCUMULATOR), *([] if entries else [Ident(at, names[0])]), arguments[-1]]
        step: Node = Call(at, "cel.@mapInsert", inserted)
        if len(arguments) == 4:
            step = Call(at, "_?_:_", [arguments[2], step, Ident(at, ACCUMULATOR)])
        return _loop(at, target, names, MapOf(at, []), Literal(at, "bool"), step)

    return macro


def bound(at: int, name: str, value: Node, result: Node) -> Loop:
    """A loop over nothing, which gives a value a name."""
    return Loop(at, ListOf(at, []), "#unused", name, value, Literal(at, "bool"), Ident(at, name), result)


def _optional_map(*, flat: bool) -> Callable[[int, Node, list[Node]], Node]:
    function = "optFlatMap" if flat else "optMap"

    def macro(at: int, target: Node, arguments: list[Node]) -> Node:
        if not isinstance(name := arguments[0], Ident):
            raise MacroFault(name.at, f"{function}() variable name must be a simple identifier")
        mapped: Node = bound(at, name.name, Call(at, "value", [], target), arguments[1])
        found = mapped if flat else Call(at, "optional.of", [mapped])
        return Call(at, "_?_:_", [Call(at, "hasValue", [], target), found, Call(at, "optional.none", [])])

    return macro


def _sort_by(at: int, target: Node, arguments: list[Node]) -> Node:
    if isinstance(target, Literal):
        text = "sortBy can only be applied to a list, identifier, comprehension, call or select expression"
        raise MacroFault(target.at, text)
    name = "@__sortBy_input__"
    by = _map(at, Ident(at, name), arguments)
    return bound(at, name, target, Call(at, "@sortByAssociatedKeys", [by], Ident(at, name)))


_MACROS: Mapping[tuple[str, int, bool], Callable[[int, Node, list[Node]], Node]] = {
    ("has", 1, False): _has,
    **{(kind, count, True): _quantifier(kind) for kind in ("all", "exists", "exists_one") for count in (2, 3)},
    ("existsOne", 3, True): _quantifier("exists_one"),
    ("map", 2, True): _map,
    ("map", 3, True): _map,
    ("filter", 2, True): _filter,
    **{("transformList", count, True): _transform_list for count in (3, 4)},
    **{("transformMap", count, True): _transform_map(entries=False) for count in (3, 4)},
    **{("transformMapEntry", count, True): _transform_map(entries=True) for count in (3, 4)},
    ("optMap", 2, True): _optional_map(flat=False),
    ("optFlatMap", 2, True): _optional_map(flat=True),
    ("sortBy", 2, True): _sort_by,
}
