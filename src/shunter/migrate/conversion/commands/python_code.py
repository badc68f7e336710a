"""Reading Python code: which environment variables it asks for, and whether it can do without them."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple, TypeGuard

from shunter.api.late_patterns import late_pattern

_READERS = frozenset({"getenv", "get", "pop", "setdefault"})
_ENVIRONMENTS = frozenset({"environ", "environb"})
_PATHS = frozenset({"Path", "PurePath", "PosixPath", "join", "joinpath"})
_LINE = late_pattern(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+$")
_PYTHON = late_pattern(r"^#!.*\bpython")
_STATEMENT = late_pattern(r"^[ \t]*(?:import|from|def|print)\b", re.MULTILINE)
_MENTION = late_pattern(r"(?:environ|getenv)\b[^\n]{0,12}?[\"']([A-Z][A-Z0-9_]*)[\"']")
_MOST_LEVELS = 200
"""Of a syntax tree: `ast.unparse` takes three calls a level, and Python allows a thousand."""


UNPARSABLE = (SyntaxError, ValueError, RecursionError, MemoryError)
"""What `ast.parse` raises for a text."""

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


class Reading(NamedTuple):
    """A variable that the code asks for."""

    name: str
    start: int
    end: int
    default: str | None = None
    """What it takes when there is none, as written; None when it then fails or gets nothing."""


@lru_cache(maxsize=256)
def readings(code: str) -> tuple[Reading, ...]:
    """Every `os.environ["NAME"]`, `os.environ.get("NAME", ...)` and `os.getenv("NAME", ...)`. Never fails: code of another
    version of Python, or with holes of a template, is searched for these words."""
    tree = parsed(code)
    if tree is None:
        return tuple(Reading(match[1], match.start(), match.end()) for match in _MENTION.finditer(code))
    lines = Lines(code)
    return tuple(sorted(_readings(tree, lines), key=lambda reading: reading.start))


@lru_cache(maxsize=256)
def parsed(code: str) -> ast.Module | None:
    """The code as a tree, not to be changed; None when it cannot be parsed, or has more levels than can be read."""
    try:
        tree = syntax_tree(code)
    except UNPARSABLE:
        return None
    return None if _is_too_deep(tree) else tree


def _is_too_deep(tree: ast.Module) -> bool:
    level: list[ast.AST] = [tree]
    for _ in range(_MOST_LEVELS):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
    return bool(level)


def syntax_tree(code: str) -> ast.Module:
    """The code as a tree, without a word of the user's own strings, e.g. invalid escapes. Raises one of UNPARSABLE for what is no
    Python of this version, or nested too deep."""
    with warnings.catch_warnings(action="ignore"):
        return ast.parse(code)


def is_python_code(text: str) -> bool:
    """Whether a text of an unknown language is Python. Words of a shell, `cd src`, can be parsed as Python only by chance."""
    return bool(_PYTHON.search(text.partition("\n")[0])) or (bool(_STATEMENT.search(text)) and parsed(text) is not None)


def variable_read(node: ast.AST) -> str | None:
    """The environment variable that an expression asks for; None when it asks for none."""
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) and is_environ(node.value):
        return literal_text(node.slice)
    if isinstance(node, ast.Call) and node.args and _reads(node.func):
        return literal_text(node.args[0])
    return None


def is_environ(node: ast.expr) -> bool:
    """Whether it is `os.environ`."""
    return (isinstance(node, ast.Name) and node.id in _ENVIRONMENTS) or (
        isinstance(node, ast.Attribute) and node.attr in _ENVIRONMENTS
    )


def called(node: ast.Call) -> str:
    """The last word of what is called: `get` of `os.environ.get("RANK")`; empty when it has no name."""
    return node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id if isinstance(node.func, ast.Name) else ""


def parameters(function: Function) -> list[str]:
    """The names of all parameters of a function, those by place first."""
    given = function.args
    return [one.arg for one in (*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg) if one]


def constant(node: ast.AST) -> str | None:
    """The text that an expression is whatever happens: `"HOSTNAME"`, `"HOST" + "NAME"`, `Path("/etc") / "hostname"`,
    `os.path.join("/etc", "hostname")`, `f"HOST{'NAME'}"`, `"".join(["HOST", "NAME"])`; None for any other."""
    if isinstance(node, ast.Constant):
        value = node.value.decode(errors="replace") if isinstance(node.value, bytes) else node.value
        return value if isinstance(value, str) else None
    parts: list[ast.expr] = []
    between = ""
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Div)):
        parts, between = [node.left, node.right], "/" if isinstance(node.op, ast.Div) else ""
    elif isinstance(node, ast.JoinedStr):
        parts = [part.value if _is_put_in_whole(part) else part for part in node.values]
    elif isinstance(node, ast.Call) and (joined := _joined(node)):
        between, parts = joined
    elif isinstance(node, ast.Call) and called(node) in _PATHS:
        owner = node.func.value if isinstance(node.func, ast.Attribute) and called(node) == "joinpath" else None
        parts, between = [*([owner] if owner else []), *node.args], "/"
    texts = [constant(part) for part in parts]
    return between.join(text for text in texts if text is not None) if texts and None not in texts else None


def _is_put_in_whole(part: ast.expr) -> TypeGuard[ast.FormattedValue]:
    """Whether it is `{VALUE}` of an f-string, without a conversion or a format."""
    return isinstance(part, ast.FormattedValue) and part.conversion == -1 and part.format_spec is None


def _joined(node: ast.Call) -> tuple[str, list[ast.expr]] | None:
    """The separator and the parts of `"-".join(["a", "b"])`; None for any other call."""
    if not isinstance(node.func, ast.Attribute) or node.func.attr != "join" or len(node.args) != 1:
        return None
    between, parts = literal_text(node.func.value), node.args[0]
    return (between, parts.elts) if between is not None and isinstance(parts, (ast.List, ast.Tuple)) else None


def _readings(tree: ast.AST, lines: Lines) -> Iterator[Reading]:
    for node in ast.walk(tree):
        if (name := variable_read(node)) is not None:
            default = ast.unparse(node.args[1]) if isinstance(node, ast.Call) and len(node.args) > 1 else None
            yield Reading(name, *lines.span(node), default)


def _reads(function: ast.expr) -> bool:
    if isinstance(function, ast.Name):
        return function.id == "getenv"
    if not isinstance(function, ast.Attribute) or function.attr not in _READERS:
        return False
    return function.attr == "getenv" or is_environ(function.value)


def given(nodes: Sequence[ast.AST]) -> Iterator[tuple[ast.expr, ast.expr]]:
    """The parameters of the functions of the text, and what calls give them: `main(parser.parse_args())`."""
    functions = {node.name: node.args for node in nodes if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))}
    for node in nodes:
        if isinstance(node, ast.Call) and (parameters := functions.get(called(node))):
            names = [one.arg for one in (*parameters.posonlyargs, *parameters.args)]
            names = names[1:] if names[:1] == ["self"] else names
            yield from ((ast.Name(name), value) for name, value in zip(names, node.args, strict=False))
            yield from ((ast.Name(one.arg), one.value) for one in node.keywords if one.arg)


def literal_text(node: ast.expr | None) -> str | None:
    """The text that an expression is; None for any other expression, and for none."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


class Lines:
    """Offsets from ast's lines and columns, which count bytes of UTF-8."""

    def __init__(self, code: str) -> None:
        self._lines = _LINE.findall(code)
        self._starts = [0]
        for line in self._lines:
            self._starts.append(self._starts[-1] + len(line))

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Where an expression or a statement begins and ends."""
        assert isinstance(node, (ast.expr, ast.stmt)), "other nodes have no place"
        end_line, end_column = node.end_lineno or node.lineno, node.end_col_offset or node.col_offset
        return self._offset(node.lineno, node.col_offset), self._offset(end_line, end_column)

    def _offset(self, line: int, column: int) -> int:
        text = self._lines[line - 1] if line <= len(self._lines) else ""
        return self._starts[line - 1] + len(text.encode()[:column].decode(errors="ignore"))
