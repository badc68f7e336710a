"""What Python code makes of the answers of look-ups in DNS: which ranks, and which numbers of ranks or shards.

Values are followed statement by statement: through names, attributes, functions and loops of the same code, and commands that it
starts. A name that is given something else, or is a parameter, holds them no more. All branches are taken.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise

from shunter.api.late_patterns import late_pattern
from shunter.migrate.conversion.launch import python_code
from shunter.migrate.conversion.launch.python_code import called
from shunter.migrate.conversion.launch.python_commands import STARTS
from shunter.migrate.conversion.launch.python_reads import ALL_ADDRESSES
from shunter.migrate.conversion.launch.reads import is_rank
from shunter.migrate.conversion.rules.programs.answers_in_calls import (
    ADDS,
    KEEPERS,
    LISTERS,
    SHOWS,
    asks_dns,
    named_by_place,
)
from shunter.migrate.conversion.rules.programs.peer_numbers import (
    NOTHING,
    SHARE,
    Derived,
    Found,
    Values,
    answers,
    chosen_by,
    key_before,
    moved,
    names_number,
    numbers_of,
    only_shares,
    shares_of,
)
from shunter.migrate.conversion.rules.programs.peers_in_shell import found_in_shell
from shunter.migrate.conversion.rules.programs.programs_as_written import between_quotes, programs_as_written

_COUNTED = late_pattern(
    rf"\blen\((?:[\w.]{{1,40}}\(|[({{\[]){{0,4}}[\w.]{{0,40}}\b(?:{'|'.join(sorted(ALL_ADDRESSES))})\(\s{{0,80}}"
)
_DEEPEST = 100
"""Expressions, blocks and calls within each other that are looked into."""
_MOST_STEPS = 20_000
"""Expressions that are looked into beside those of the text itself, as for each call of a function."""
_Environment = dict[str, Values]


@lru_cache(maxsize=64)
def found_in_python(code: str) -> tuple[Found, Values]:
    """What the code makes of the answers of its look-ups, and what it prints of them. Places are where the first argument of a
    look-up begins, or where a command names the program that looks up. Never fails; finds little in code that cannot be read."""
    tree = python_code.parsed(code)
    if tree is None:
        return _found_unparsed(code), NOTHING
    reader = _Code(code, tree)
    reader.run()
    return reader.found, reader.printed


def _found_unparsed(code: str) -> Found:
    """The numbers that are given a count in the same line."""
    found = Found()
    for match in _COUNTED.finditer(code):
        name = key_before(code[max(match.start() - 80, 0) : match.start()])
        if names_number(name):
            found.numbers[match.end()] = name
    return found


class _Code:
    def __init__(self, code: str, tree: ast.Module) -> None:
        self._code, self._tree = code, tree
        self._lines = python_code.Lines(code)
        self.found = Found()
        self.printed = NOTHING
        self._nodes = nodes = [*ast.walk(tree)]
        self._imported = {
            alias.asname or alias.name: alias.name for node in nodes if isinstance(node, ast.ImportFrom) for alias in node.names
        }
        self._functions: dict[str, python_code.Function] = {
            node.name: node for node in nodes if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        }
        self._texts: dict[str, list[ast.expr]] = {}
        """What names are given that may be a command, of names that were not asked for."""
        self._printed_by: dict[str, Values] = {}
        """What the commands print that a name holds."""
        for node in nodes:
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                self._texts.setdefault(node.targets[0].id, []).append(node.value)
        self._attributes: dict[str, Values] = {}
        """Of any object."""
        self._returned: list[Values] = []
        """Of the functions that are read, the innermost last."""
        self._over = NOTHING
        """The answers that the loops around go over."""
        self._chosen = NOTHING
        """What the conditions around choose by answers."""
        self._calls: list[str] = []
        self._is_shown = False
        self._left, self._depth = _MOST_STEPS + 4 * len(nodes), 0

    def run(self) -> None:
        """Reads the code twice: what methods keep in attributes is known to all of them then."""
        for _ in range(2):
            environment: _Environment = {}
            self._block(self._tree.body, environment)
            for name, function in self._functions.items():
                self._call(name, function, {}, environment)
        self._nested()

    def _nested(self) -> None:
        """Programs that the code holds as texts: `exec` runs them, or they become files."""
        for language, text, begin in programs_as_written(self._code, self._nodes, self._lines):
            if language == "shell":
                self._printed(text, begin)
            else:
                self.found.take(found_in_python(text)[0], begin)

    def _block(self, statements: Sequence[ast.stmt], environment: _Environment) -> None:
        self._depth += 1
        for statement in statements if self._depth <= _DEEPEST else ():
            self._statement(statement, environment)
        self._depth -= 1

    def _statement(self, node: ast.stmt, environment: _Environment) -> None:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            environment.pop(node.name, None)
        elif isinstance(node, ast.ClassDef):
            self._block(node.body, {**environment})
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                self._assign(target, node.value, environment)
        elif isinstance(node, ast.AnnAssign):
            if node.value is not None:
                self._assign(node.target, node.value, environment)
        elif isinstance(node, ast.AugAssign):
            added = self._value(node.value, environment)
            counted = numbers_of(self._over) if isinstance(node.value, ast.Constant) else NOTHING
            self._give(node.target, self._value(node.target, environment) | added | counted, environment)
        elif isinstance(node, ast.Return):
            if self._returned:
                self._returned[-1] |= self._value(node.value, environment)
        elif isinstance(node, (ast.For, ast.AsyncFor)):
            self._loop(node, environment)
        elif isinstance(node, (ast.Raise, ast.Assert)):
            self._shown([one for one in ast.iter_child_nodes(node) if isinstance(one, ast.expr)], environment)
        else:
            self._branches(node, environment)

    def _branches(self, node: ast.stmt, environment: _Environment) -> None:
        """A statement with expressions, and blocks each of which may be run."""
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.withitem):
                values = self._value(child.context_expr, environment)
                if child.optional_vars is not None:
                    self._give(child.optional_vars, values, environment)
            elif isinstance(child, ast.expr):
                self._value(child, environment)
        blocks = [getattr(node, field, None) for field in ("body", "orelse", "finalbody")]
        blocks += [one.body for one in (*getattr(node, "handlers", ()), *getattr(node, "cases", ()))]
        if isinstance(node, (ast.With, ast.AsyncWith)):
            self._block(node.body, environment)
            return
        ends = [{**environment}] if not getattr(node, "orelse", None) or not isinstance(node, ast.If) else []
        before = self._chosen
        if isinstance(node, ast.If):
            self._chosen |= self._chosen_by(node.test, environment)
        for block in blocks:
            if block:
                inside = {**environment}
                self._block(block, inside)
                ends.append(inside)
        self._chosen = before
        names = {name for end in ends for name in end}
        environment |= {name: NOTHING.union(*(end.get(name, NOTHING) for end in ends)) for name in names}

    def _loop(self, node: ast.For | ast.AsyncFor, environment: _Environment) -> None:
        over = self._iterate(node.target, node.iter, environment)
        before, self._over = self._over, self._over | over
        for _ in range(2):
            self._block(node.body, environment)
        self._over = before
        self._block(node.orelse, environment)

    def _iterate(self, target: ast.expr, iterated: ast.expr, environment: _Environment) -> Values:
        """Gives the names of a loop their values, and returns the answers that it goes over."""
        over = frozenset(one for one in self._value(iterated, environment) if not one.is_number)
        is_numbered = isinstance(iterated, ast.Call) and called(iterated) == "enumerate"
        if is_numbered and isinstance(iterated, ast.Call) and isinstance(target, ast.Tuple) and iterated.args:
            over = frozenset(one for one in self._value(iterated.args[0], environment) if not one.is_number)
            self._give(target, NOTHING, environment)
            if isinstance(target.elts[0], ast.Name):
                environment[target.elts[0].id] = numbers_of(over)
        else:
            self._give(target, NOTHING, environment)
        return over

    def _assign(self, target: ast.expr, value: ast.expr, environment: _Environment) -> None:
        lists = (ast.Tuple, ast.List)
        if isinstance(target, lists) and isinstance(value, lists) and len(target.elts) == len(value.elts):
            for one, held in zip(target.elts, value.elts, strict=True):
                self._assign(one, held, environment)
            return
        if isinstance(value, ast.Lambda) and isinstance(target, ast.Name):
            self._functions[target.id] = value
        values = self._value(value, environment)
        if self._over and isinstance(target, ast.Name) and isinstance(value, ast.BinOp):
            is_counted = any(isinstance(one, ast.Name) and one.id == target.id for one in ast.walk(value))
            values |= numbers_of(self._over) if is_counted else NOTHING
        self._give(target, values | self._chosen if isinstance(value, ast.Constant) else values, environment)

    def _give(self, target: ast.expr, values: Values, environment: _Environment) -> None:
        if isinstance(target, (ast.Tuple, ast.List)):
            for one in target.elts:
                self._give(one, values, environment)
        elif isinstance(target, ast.Starred):
            self._give(target.value, values, environment)
        elif isinstance(target, ast.Name):
            _hold(environment, target.id, values)
            self._number(target.id, values)
        elif isinstance(target, ast.Attribute):
            _hold(environment, ast.unparse(target), values)
            if values:
                self._attributes[target.attr] = self._attributes.get(target.attr, NOTHING) | values
            self._number(target.attr, values)
        elif isinstance(target, ast.Subscript):
            self._number(python_code.constant(target.slice) or "", values)

    def _number(self, name: str, values: Values) -> None:
        if not self._is_shown:
            self.found.name(name, values)

    def _shown(self, nodes: Sequence[ast.expr], environment: _Environment) -> Values:
        before, self._is_shown = self._is_shown, True
        values = self._union(nodes, environment)
        self._is_shown = before
        return values

    def _union(self, nodes: Sequence[ast.expr | None], environment: _Environment) -> Values:
        return NOTHING.union(*(self._value(node, environment) for node in nodes))

    def _value(self, node: ast.expr | None, environment: _Environment) -> Values:
        self._left -= 1
        if node is None or self._left < 0 or self._depth > _DEEPEST:
            return NOTHING
        self._depth += 1
        reader = _READERS.get(type(node))
        if reader is not None:
            values = reader(self, node, environment)
        else:
            values = self._union([one for one in ast.iter_child_nodes(node) if isinstance(one, ast.expr)], environment)
        self._depth -= 1
        if isinstance(node, ast.Compare):
            for side in (node.left, *node.comparators):
                if isinstance(side, ast.BinOp) and isinstance(side.op, ast.Mod):  # index % n == rank
                    self._number(SHARE, self._value(side.right, environment))
            return chosen_by(values)
        return values

    def _of_name(self, node: ast.Name, environment: _Environment) -> Values:
        return environment.get(node.id, NOTHING)

    def _of_attribute(self, node: ast.Attribute, environment: _Environment) -> Values:
        owner = self._value(node.value, environment)
        if (name := ast.unparse(node)) in environment:
            return environment[name]
        if node.attr in self._attributes:
            return self._attributes[node.attr]
        if (function := self._functions.get(node.attr)) and getattr(function, "decorator_list", None):
            return self._call(node.attr, function, {}, environment)
        if node.attr in {"shape", "size"}:
            return numbers_of(owner)
        return owner if node.attr in {"stdout", "output"} else frozenset(one for one in owner if not one.is_number)

    def _of_named(self, node: ast.NamedExpr, environment: _Environment) -> Values:
        values = self._value(node.value, environment)
        self._give(node.target, values, environment)
        return values

    def _of_choice(self, node: ast.IfExp, environment: _Environment) -> Values:
        chosen = self._chosen_by(node.test, environment)
        is_written = all(isinstance(one, ast.Constant) for one in (node.body, node.orelse))
        return self._union([node.body, node.orelse], environment) | (chosen if is_written else NOTHING)

    def _chosen_by(self, test: ast.expr, environment: _Environment) -> Values:
        """What is chosen by a condition."""
        return frozenset(one for one in self._value(test, environment) if one.is_chosen)

    def _of_subscript(self, node: ast.Subscript, environment: _Environment) -> Values:
        self._value(node.slice, environment)
        values = self._value(node.value, environment)
        if isinstance(node.slice, ast.Slice) and node.slice.step is not None:  # files[rank::n]
            own = {one.place for one in values}
            self._number(SHARE, frozenset(one for one in self._value(node.slice.step, environment) if one.place not in own))
        return values

    def _of_lambda(self, node: ast.Lambda, environment: _Environment) -> Values:
        self._value(node.body, {**environment, **dict.fromkeys(python_code.parameters(node), NOTHING)})
        return NOTHING

    def _of_comprehension(
        self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp, environment: _Environment
    ) -> Values:
        inside, over = {**environment}, NOTHING
        for generator in node.generators:
            over |= self._iterate(generator.target, generator.iter, inside)
            self._union(generator.ifs, inside)
        self.found.listed |= answers(over)
        parts = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        inner = self._union(parts, inside)
        return over | frozenset(one for one in inner if one.is_number)

    def _of_dict(self, node: ast.Dict, environment: _Environment) -> Values:
        for key, value in zip(node.keys, node.values, strict=True):
            values = self._value(value, environment)
            self._number((key is not None and python_code.constant(key)) or "", values)
        return NOTHING

    def _of_list(self, node: ast.List | ast.Tuple | ast.Set, environment: _Environment) -> Values:
        self._pairs(node.elts, environment)
        return self._union(node.elts, environment)

    def _pairs(self, nodes: Sequence[ast.expr], environment: _Environment) -> None:
        """A name and its value side by side: `"--nnodes", str(n)`."""
        for before, node in pairwise(nodes):
            if name := python_code.literal_text(before):
                self._number(name, self._value(node, environment))

    def _of_text(self, node: ast.JoinedStr, environment: _Environment) -> Values:
        written, values = "", NOTHING
        for part in node.values:
            held = self._value(part, environment)
            self._number(key_before(written), held)
            written += python_code.literal_text(part) or "{}"
            values |= held
        return values

    def _of_operation(self, node: ast.BinOp, environment: _Environment) -> Values:
        right, values = self._value(node.right, environment), self._union([node.left], environment)
        if isinstance(node.op, (ast.Div, ast.FloorDiv)):  # len(files) // n
            right = shares_of(right)
        if isinstance(node.op, (ast.Mult, ast.Div, ast.FloorDiv)) and (shares := only_shares(values | right)):
            self._number(SHARE, shares if _names_rank(node) else NOTHING)  # rank * share
        if (text := python_code.literal_text(node.left)) is not None:
            self._number(key_before(re.split(r"%[sd]", text)[0] if isinstance(node.op, ast.Mod) else text), right)
        return values | right

    def _of_call(self, node: ast.Call, environment: _Environment) -> Values:
        name = self._imported.get(called(node), called(node))
        if SHOWS.match(ast.unparse(node.func)):
            shown = self._shown([*node.args, *(one.value for one in node.keywords)], environment)
            self.printed |= shown if name == "print" else NOTHING
            return NOTHING
        owner = self._value(node.func.value, environment) if isinstance(node.func, ast.Attribute) else NOTHING
        arguments = [self._value(one, environment) for one in node.args]
        self._told(node, name, arguments, environment)
        if asks_dns(node, name):
            place = self._lines.span(node.args[0])[0]
            self.found.places.add(place)
            return frozenset({Derived(place, is_number=False)})
        if name in STARTS and node.args:
            return self._started(node.args[0]).union(*arguments)
        if function := self._functions.get(called(node)):
            return self._call(called(node), function, self._bound(node, function, arguments, environment), environment)
        every = owner.union(*arguments)
        if (isinstance(node.func, ast.Name) and name in {"len", "sum"}) or name in {"__len__", "count", "index"}:
            self.found.counted |= answers(every)
            return numbers_of(every)
        if name in ADDS and isinstance(node.func, ast.Attribute):
            self._add(node.func.value, arguments, environment)
            return NOTHING
        if name == "divmod" and len(arguments) == 2:
            return shares_of(arguments[1])
        if name in LISTERS:
            self.found.listed |= answers(every)
        return every if name in KEEPERS else owner

    def _told(self, node: ast.Call, name: str, arguments: Sequence[Values], environment: _Environment) -> None:
        """The numbers that the call is given by name, by place or behind their name."""
        named = python_code.literal_text(node.args[0]) if node.args else None
        ranked = any(one.arg and re.fullmatch(r"(?:\w+_)?rank", one.arg) for one in node.keywords)
        for keyword in node.keywords:
            values = self._value(keyword.value, environment)
            self._number("num_ranks" if ranked and keyword.arg == "num_replicas" else keyword.arg or "", values)
            if named and keyword.arg in {"default", "value"}:
                self._number(named, values)
        self._pairs(node.args, environment)
        for parameter, values in named_by_place(node, name, arguments):
            self._number(parameter, values)

    def _add(self, collection: ast.expr, arguments: Sequence[Values], environment: _Environment) -> None:
        name = ast.unparse(collection)
        held = self._value(collection, environment).union(self._over, *arguments)
        if isinstance(collection, (ast.Name, ast.Attribute)):
            environment[name] = held
        if isinstance(collection, ast.Attribute):
            self._attributes[collection.attr] = self._attributes.get(collection.attr, NOTHING) | held

    def _started(self, command: ast.expr) -> Values:
        """What the texts of a command print, also those that a name holds, as a shell reads them."""
        printed = NOTHING
        for part in ast.walk(command):
            if isinstance(part, ast.Name):
                if texts := self._texts.pop(part.id, ()):
                    self._printed_by[part.id] = NOTHING.union(*map(self._started, texts))
                printed |= self._printed_by.get(part.id, NOTHING)
            elif isinstance(part, ast.JoinedStr) or (isinstance(part, ast.Constant) and isinstance(part.value, str)):
                start, end = self._lines.span(part)
                if (quoted := between_quotes(self._code, start, end)) is not None:
                    printed |= self._printed(*quoted)
        return printed

    def _printed(self, text: str, begin: int) -> Values:
        """What a shell text prints that stands there."""
        found, printed = found_in_shell(text, found_in_python)
        self.found.take(found, begin)
        return moved(printed, begin)

    def _bound(
        self, node: ast.Call, function: python_code.Function, arguments: Sequence[Values], environment: _Environment
    ) -> Mapping[str, Values]:
        names = python_code.parameters(function)
        names = names[1:] if names[:1] in (["self"], ["cls"]) and isinstance(node.func, ast.Attribute) else names
        given = dict(zip(names, arguments, strict=False))
        return given | {one.arg: self._value(one.value, environment) for one in node.keywords if one.arg}

    def _call(self, name: str, function: python_code.Function, given: Mapping[str, Values], environment: _Environment) -> Values:
        """What the function returns."""
        if name in self._calls or self._left < 0:
            return NOTHING
        self._calls.append(name)
        self._returned.append(NOTHING)
        outside = (self._over, self._is_shown)
        self._over, self._is_shown = NOTHING, False
        inside = {**environment, **dict.fromkeys(python_code.parameters(function), NOTHING), **given}
        for parameter, values in given.items():
            self._number(parameter, values)
        if isinstance(function, ast.Lambda):
            self._returned[-1] |= self._value(function.body, inside)
        else:
            self._block(function.body, inside)
        self._over, self._is_shown = outside
        self._calls.pop()
        return self._returned.pop()


def _names_rank(node: ast.expr) -> bool:
    """Whether a part of the expression says a rank: `rank`, `self.rank`, `os.environ["RANK"]`."""
    names = (getattr(one, "id", None) or getattr(one, "attr", None) or python_code.constant(one) for one in ast.walk(node))
    return any(name and is_rank(name) for name in names)


def _hold(environment: _Environment, name: str, values: Values) -> None:
    if values:
        environment[name] = values
    else:
        environment.pop(name, None)


_READERS: dict[type[ast.expr], Callable[..., Values]] = {
    ast.Name: _Code._of_name,
    ast.Attribute: _Code._of_attribute,
    ast.NamedExpr: _Code._of_named,
    ast.IfExp: _Code._of_choice,
    ast.Subscript: _Code._of_subscript,
    ast.Lambda: _Code._of_lambda,
    ast.ListComp: _Code._of_comprehension,
    ast.SetComp: _Code._of_comprehension,
    ast.GeneratorExp: _Code._of_comprehension,
    ast.DictComp: _Code._of_comprehension,
    ast.Dict: _Code._of_dict,
    ast.List: _Code._of_list,
    ast.Tuple: _Code._of_list,
    ast.Set: _Code._of_list,
    ast.JoinedStr: _Code._of_text,
    ast.BinOp: _Code._of_operation,
    ast.Call: _Code._of_call,
}
"""What an expression holds, by what it is; of others what their parts hold."""
