"""What expressions of Python hold of the answers of look-ups in DNS and requests to the cluster: names, attributes, calls of
functions of the same code, and commands that they start. `results_in_python` follows the values from statement to statement."""

from __future__ import annotations

import ast
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise

from shunter.migrate.conversion.commands import python_code
from shunter.migrate.conversion.commands.python_code import called
from shunter.migrate.conversion.commands.python_commands import STARTS
from shunter.migrate.conversion.commands.reads import is_rank
from shunter.migrate.conversion.commands.shell_programs import ASKERS
from shunter.migrate.conversion.rules.programs.peers.cluster_results import answers_a_number, asks_cluster, calls_cluster
from shunter.migrate.conversion.rules.programs.peers.peer_numbers import (
    NOTHING,
    SHARE,
    Derived,
    Files,
    Found,
    Values,
    answers,
    chosen_by,
    key_before,
    moved,
    numbers_of,
    only_shares,
    shares_of,
)
from shunter.migrate.conversion.rules.programs.peers.results_in_calls import (
    ADDS,
    KEEPERS,
    LISTERS,
    SHOWS,
    WRITES,
    asks_dns,
    named_by_place,
)
from shunter.migrate.conversion.rules.programs.peers.results_in_shell import ReadPython, found_in_shell
from shunter.migrate.conversion.rules.programs.programs_as_written import between_quotes

DEEPEST = 100
"""Expressions, blocks and calls within each other that are looked into."""
_MOST_STEPS = 20_000
"""Expressions that are looked into beside those of the text itself, as for each call of a function."""
Environment = dict[str, Values]
"""What the names of a block hold."""


class Expressions(ABC):
    """The state of reading a code, and what each kind of expression holds."""

    def __init__(self, code: str, tree: ast.Module, read_python: ReadPython, files: Files) -> None:
        self._code, self._tree, self._read_python, self._files = code, tree, read_python, dict(files)
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
        self._opened = dict(_opened(nodes))
        """The files that names stand for."""
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

    @abstractmethod
    def _block(self, statements: Sequence[ast.stmt], environment: Environment) -> None:
        """Follows the values through the statements; in `_returned` what `return` is given."""

    def _iterate(self, target: ast.expr, iterated: ast.expr, environment: Environment) -> Values:
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

    def _give(self, target: ast.expr, values: Values, environment: Environment) -> None:
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

    def _shown(self, nodes: Sequence[ast.expr], environment: Environment) -> Values:
        before, self._is_shown = self._is_shown, True
        values = self._union(nodes, environment)
        self._is_shown = before
        return values

    def _union(self, nodes: Sequence[ast.expr | None], environment: Environment) -> Values:
        return NOTHING.union(*(self._value(node, environment) for node in nodes))

    def _value(self, node: ast.expr | None, environment: Environment) -> Values:
        self._left -= 1
        if node is None or self._left < 0 or self._depth > DEEPEST:
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

    def _of_constant(self, node: ast.Constant, environment: Environment) -> Values:
        if not isinstance(node.value, str) or node.value not in self._files:
            return NOTHING
        place = self._lines.span(node)[0]
        self.found.read[place] = node.value
        return frozenset({Derived(place, is_number=self._files[node.value])})

    def _of_name(self, node: ast.Name, environment: Environment) -> Values:
        return environment.get(node.id, NOTHING)

    def _of_attribute(self, node: ast.Attribute, environment: Environment) -> Values:
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

    def _of_named(self, node: ast.NamedExpr, environment: Environment) -> Values:
        values = self._value(node.value, environment)
        self._give(node.target, values, environment)
        return values

    def _of_choice(self, node: ast.IfExp, environment: Environment) -> Values:
        chosen = self._chosen_by(node.test, environment)
        is_written = all(isinstance(one, ast.Constant) for one in (node.body, node.orelse))
        return self._union([node.body, node.orelse], environment) | (chosen if is_written else NOTHING)

    def _chosen_by(self, test: ast.expr, environment: Environment) -> Values:
        """What is chosen by a condition."""
        return frozenset(one for one in self._value(test, environment) if one.is_chosen)

    def _of_subscript(self, node: ast.Subscript, environment: Environment) -> Values:
        self._value(node.slice, environment)
        values = self._value(node.value, environment)
        if isinstance(node.slice, ast.Slice) and node.slice.step is not None:  # files[rank::n]
            own = {one.place for one in values}
            self._number(SHARE, frozenset(one for one in self._value(node.slice.step, environment) if one.place not in own))
        return values

    def _of_lambda(self, node: ast.Lambda, environment: Environment) -> Values:
        self._value(node.body, {**environment, **dict.fromkeys(python_code.parameters(node), NOTHING)})
        return NOTHING

    def _of_comprehension(
        self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp, environment: Environment
    ) -> Values:
        inside, over = {**environment}, NOTHING
        for generator in node.generators:
            over |= self._iterate(generator.target, generator.iter, inside)
            self._union(generator.ifs, inside)
        self.found.listed |= answers(over)
        parts = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        inner = self._union(parts, inside)
        return over | frozenset(one for one in inner if one.is_number)

    def _of_dict(self, node: ast.Dict, environment: Environment) -> Values:
        for key, value in zip(node.keys, node.values, strict=True):
            values = self._value(value, environment)
            self._number((key is not None and python_code.constant(key)) or "", values)
        return NOTHING

    def _of_list(self, node: ast.List | ast.Tuple | ast.Set, environment: Environment) -> Values:
        self._pairs(node.elts, environment)
        return self._union(node.elts, environment)

    def _pairs(self, nodes: Sequence[ast.expr], environment: Environment) -> None:
        """A name and its value side by side: `"--nnodes", str(n)`."""
        for before, node in pairwise(nodes):
            if name := python_code.literal_text(before):
                self._number(name, self._value(node, environment))

    def _of_text(self, node: ast.JoinedStr, environment: Environment) -> Values:
        written, values = "", NOTHING
        for part in node.values:
            held = self._value(part, environment)
            self._number(key_before(written), held)
            written += python_code.literal_text(part) or "{}"
            values |= held
        return values

    def _of_operation(self, node: ast.BinOp, environment: Environment) -> Values:
        right, values = self._value(node.right, environment), self._union([node.left], environment)
        if isinstance(node.op, (ast.Div, ast.FloorDiv)):  # len(files) // n
            right = shares_of(right)
        if isinstance(node.op, (ast.Mult, ast.Div, ast.FloorDiv)) and (shares := only_shares(values | right)):
            self._number(SHARE, shares if _names_rank(node) else NOTHING)  # rank * share
        if (text := python_code.literal_text(node.left)) is not None:
            self._number(key_before(re.split(r"%[sd]", text)[0] if isinstance(node.op, ast.Mod) else text), right)
        return values | right

    def _of_call(self, node: ast.Call, environment: Environment) -> Values:
        name = self._imported.get(called(node), called(node))
        if SHOWS.match(ast.unparse(node.func)):
            shown = self._shown([*node.args, *(one.value for one in node.keywords)], environment)
            self._write(node, shown)
            self.printed |= shown if name == "print" else NOTHING
            return NOTHING
        owner = self._value(node.func.value, environment) if isinstance(node.func, ast.Attribute) else NOTHING
        arguments = [self._value(one, environment) for one in node.args]
        if name in WRITES:
            self._write(node, NOTHING.union(*arguments))
        self._name_arguments(node, name, arguments, environment)
        if asks_dns(node, name):
            place = self._lines.span(node.args[0])[0]
            self.found.places.add(place)
            return frozenset({Derived(place, is_number=False)})
        if calls_cluster(node, name):
            place = self._lines.span(node)[0]
            self.found.requests.add(place)
            return frozenset({Derived(place, is_number=answers_a_number(ast.unparse(node)))})
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

    def _name_arguments(self, node: ast.Call, name: str, arguments: Sequence[Values], environment: Environment) -> None:
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

    def _add(self, collection: ast.expr, arguments: Sequence[Values], environment: Environment) -> None:
        name = ast.unparse(collection)
        held = self._value(collection, environment).union(self._over, *arguments)
        if isinstance(collection, (ast.Name, ast.Attribute)):
            environment[name] = held
        if isinstance(collection, ast.Attribute):
            self._attributes[collection.attr] = self._attributes.get(collection.attr, NOTHING) | held

    def _write(self, node: ast.Call, values: Values) -> None:
        """Takes note of what the call writes to a file that is known."""
        places = [node.func, *(one.value for one in node.keywords if one.arg == "file")]
        path = next((path for one in places if (path := _path(one, self._opened))), "")
        if values and path:
            self.found.files[path] = self.found.files.get(path, NOTHING) | values

    def _started(self, command: ast.expr) -> Values:
        """What the texts of a command print, also those that a name holds, as a shell reads them."""
        printed = NOTHING
        for part in ast.walk(command):
            if isinstance(part, (ast.List, ast.Tuple)):
                printed |= self._asked_by_words(part)
            elif isinstance(part, ast.Name):
                if texts := self._texts.pop(part.id, ()):
                    self._printed_by[part.id] = NOTHING.union(*map(self._started, texts))
                printed |= self._printed_by.get(part.id, NOTHING)
            elif isinstance(part, ast.JoinedStr) or (isinstance(part, ast.Constant) and isinstance(part.value, str)):
                start, end = self._lines.span(part)
                if (quoted := between_quotes(self._code, start, end)) is not None:
                    printed |= self._printed(*quoted)
        return printed

    def _asked_by_words(self, command: ast.List | ast.Tuple) -> Values:
        """What the cluster answers to a command that is written word by word."""
        words = [python_code.literal_text(one) or "$" for one in command.elts]
        written = " ".join(words)
        if not words or words[0].rpartition("/")[2] not in ASKERS or not asks_cluster(written):
            return NOTHING
        place = self._lines.span(command.elts[0])[0]
        self.found.requests.add(place)
        return frozenset({Derived(place, is_number=answers_a_number(written))})

    def _printed(self, text: str, begin: int) -> Values:
        """What a shell text prints that stands there."""
        found, printed = found_in_shell(text, self._read_python)
        self.found.take(found, begin)
        return moved(printed, begin)

    def _bound(
        self, node: ast.Call, function: python_code.Function, arguments: Sequence[Values], environment: Environment
    ) -> Mapping[str, Values]:
        names = python_code.parameters(function)
        names = names[1:] if names[:1] in (["self"], ["cls"]) and isinstance(node.func, ast.Attribute) else names
        given = dict(zip(names, arguments, strict=False))
        return given | {one.arg: self._value(one.value, environment) for one in node.keywords if one.arg}

    def _call(self, name: str, function: python_code.Function, given: Mapping[str, Values], environment: Environment) -> Values:
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


def _opened(nodes: Sequence[ast.AST]) -> Iterator[tuple[str, str]]:
    """Names that stand for a file: `with open("/shared/n", "w") as f`."""
    for node in nodes:
        given = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "optional_vars", None)
        value = node.value if isinstance(node, ast.Assign) else getattr(node, "context_expr", None)
        if isinstance(given, ast.Name) and isinstance(value, ast.Call) and (path := _path(value, {})):
            yield given.id, path


def _path(node: ast.AST, opened: Mapping[str, str]) -> str:
    """The absolute path that an expression holds, or a name in it stands for; empty for none."""
    for one in ast.walk(node):
        if isinstance(one, ast.Constant) and isinstance(one.value, str) and one.value.startswith("/"):
            return one.value
        if isinstance(one, ast.Name) and one.id in opened:
            return opened[one.id]
    return ""


def _names_rank(node: ast.expr) -> bool:
    """Whether a part of the expression says a rank: `rank`, `self.rank`, `os.environ["RANK"]`."""
    names = (getattr(one, "id", None) or getattr(one, "attr", None) or python_code.constant(one) for one in ast.walk(node))
    return any(name and is_rank(name) for name in names)


def _hold(environment: Environment, name: str, values: Values) -> None:
    if values:
        environment[name] = values
    else:
        environment.pop(name, None)


_READERS: dict[type[ast.expr], Callable[..., Values]] = {
    ast.Constant: Expressions._of_constant,
    ast.Name: Expressions._of_name,
    ast.Attribute: Expressions._of_attribute,
    ast.NamedExpr: Expressions._of_named,
    ast.IfExp: Expressions._of_choice,
    ast.Subscript: Expressions._of_subscript,
    ast.Lambda: Expressions._of_lambda,
    ast.ListComp: Expressions._of_comprehension,
    ast.SetComp: Expressions._of_comprehension,
    ast.GeneratorExp: Expressions._of_comprehension,
    ast.DictComp: Expressions._of_comprehension,
    ast.Dict: Expressions._of_dict,
    ast.List: Expressions._of_list,
    ast.Tuple: Expressions._of_list,
    ast.Set: Expressions._of_list,
    ast.JoinedStr: Expressions._of_text,
    ast.BinOp: Expressions._of_operation,
    ast.Call: Expressions._of_call,
}
"""What an expression holds, by what it is; of others what their parts hold."""
