"""What Python code makes of the answers of look-ups in DNS, and of requests to the cluster: which ranks, and which numbers of
ranks or shards.

Values are followed statement by statement: through names, attributes, functions and loops of the same code, and commands that it
starts. A name that is given something else, or is a parameter, holds them no more. All branches are taken.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import lru_cache, partial

from shunter.api.late_patterns import late_pattern
from shunter.migrate.conversion.commands import python_code
from shunter.migrate.conversion.rules.programs.peers.cluster_results import CALLS_CLUSTER
from shunter.migrate.conversion.rules.programs.peers.peer_numbers import (
    NOTHING,
    Files,
    Found,
    Values,
    key_before,
    names_number,
    numbers_of,
)
from shunter.migrate.conversion.rules.programs.peers.results_in_calls import ASKS_DNS
from shunter.migrate.conversion.rules.programs.peers.results_in_expressions import DEEPEST, Environment, Expressions
from shunter.migrate.conversion.rules.programs.programs_as_written import programs_as_written

_COUNTED = late_pattern(
    rf"\blen\((?:[\w.]{{1,40}}\(|[({{\[]){{0,4}}(?P<call>[\w.]{{0,40}}\b(?:{ASKS_DNS}|(?P<request>{CALLS_CLUSTER})\())"
)


@lru_cache(maxsize=64)
def found_in_python(code: str, files: Files = frozenset()) -> tuple[Found, Values]:
    """What the code makes of the answers of its look-ups, and what it prints of them; `files` are what it may read. Places are
    where the first argument of a look-up begins, or where a command names the program that looks up. Never fails; finds little in
    code that cannot be read."""
    tree = python_code.parsed(code)
    if tree is None:
        return _found_unparsed(code), NOTHING
    reader = _Code(code, tree, partial(found_in_python, files=files) if files else found_in_python, files)
    reader.run()
    return reader.found, reader.printed


def _found_unparsed(code: str) -> Found:
    """The numbers that are given a count in the same line."""
    found = Found()
    for match in _COUNTED.finditer(code):
        name = key_before(code[max(match.start() - 80, 0) : match.start()])
        if names_number(name):
            place = match.start("call") if match["request"] else match.end()
            found.numbers[place] = name
            if match["request"]:
                found.requests.add(place)
    return found


class _Code(Expressions):
    """Follows the values from statement to statement."""

    def run(self) -> None:
        """Reads the code twice: what methods keep in attributes is known to all of them then."""
        for _ in range(2):
            environment: Environment = {}
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
                self.found.take(self._read_python(text)[0], begin)

    def _block(self, statements: Sequence[ast.stmt], environment: Environment) -> None:
        self._depth += 1
        for statement in statements if self._depth <= DEEPEST else ():
            self._statement(statement, environment)
        self._depth -= 1

    def _statement(self, node: ast.stmt, environment: Environment) -> None:
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

    def _branches(self, node: ast.stmt, environment: Environment) -> None:
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

    def _loop(self, node: ast.For | ast.AsyncFor, environment: Environment) -> None:
        over = self._iterate(node.target, node.iter, environment)
        before, self._over = self._over, self._over | over
        for _ in range(2):
            self._block(node.body, environment)
        self._over = before
        self._block(node.orelse, environment)

    def _assign(self, target: ast.expr, value: ast.expr, environment: Environment) -> None:
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
