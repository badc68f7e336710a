"""Programs that Python code holds as texts: what it gives `exec` or `eval`, commands that it starts, scripts that it writes."""

from __future__ import annotations

import ast
import textwrap
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from shunter.jobs.commands.shells import is_shell_script
from shunter.migrate.conversion.commands import python_code
from shunter.migrate.conversion.commands.python_code import called
from shunter.migrate.conversion.commands.python_commands import STARTS, commands

_RUN_CODE = frozenset({"exec", "eval", "compile"})
_OF_PYTHON = frozenset({"builtins", "__builtins__"})


class NestedProgram(NamedTuple):
    """A program within the code; its own places are not those of the code, which may write it with escapes."""

    language: Literal["shell", "python"]
    text: str
    start: int
    """Where the code writes it."""


def nested_programs(code: str, nodes: Sequence[ast.AST], lines: python_code.Lines) -> Iterator[NestedProgram]:
    """The nested programs of the code whose syntax tree consists of `nodes`."""
    texts: dict[str, list[ast.expr]] = defaultdict(list)
    for node in nodes:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                texts[ast.unparse(target)].append(node.value)
    docstrings = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    given = [node.args[0] for node in nodes if isinstance(node, ast.Call) and _runs_code(node)]
    parts = [part for one in given for part in ast.walk(one)]
    names = {ast.unparse(part) for part in parts if isinstance(part, (ast.Name, ast.Attribute))}
    run = {id(part) for value in (*given, *(text for name in names for text in texts[name])) for part in ast.walk(value)}
    for node in nodes:
        text = python_code.constant(node) if id(node) in run or isinstance(node, ast.Constant) else None
        if text is None or id(node) in docstrings or not isinstance(node, ast.expr) or not hasattr(node, "lineno"):
            continue
        if id(node) in run or python_code.is_python_code(textwrap.dedent(text)):
            yield NestedProgram("python", textwrap.dedent(text), lines.span(node)[0])
        elif is_shell_script(text):
            yield NestedProgram("shell", text, lines.span(node)[0])
    if any(map(_may_start, nodes)):
        for command in commands(code):
            if command.is_run:
                yield NestedProgram("shell", command.text, command.start)


def _runs_code(node: ast.Call) -> bool:
    """Whether it is a function of Python itself that takes code; `re.compile` and `model.eval` are others."""
    is_own = isinstance(node.func, ast.Name) or (
        isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name) and node.func.value.id in _OF_PYTHON
    )
    return is_own and bool(node.args) and called(node) in _RUN_CODE


def _may_start(node: ast.AST) -> bool:
    names = {node.id} if isinstance(node, ast.Name) else {node.attr} if isinstance(node, ast.Attribute) else set[str]()
    return not STARTS.isdisjoint(names or ({node.name} if isinstance(node, ast.alias) else ()))
