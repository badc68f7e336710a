"""Reading Python code: where it takes the host name or a variable, and what it does with it.

Values are followed through assignments and what functions of the same text return, not into what they are given. Code that cannot
be parsed is searched for words.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping

from shunter.migrate.launch import python_code
from shunter.migrate.launch.reads import (
    BETWEEN_NAMES,
    HOST_NAME,
    HOSTS_FILE,
    OF_HOST_NAME,
    Read,
    is_rank,
    line_of,
    takes_last_number,
)

_HOST_NAME_CALLS = frozenset({"gethostname", "getfqdn"})
_SHELL_CALLS = frozenset(
    {"system", "popen", "check_output", "run", "getoutput", "getstatusoutput", "call", "check_call", "Popen"}
)
_ADDRESSES = frozenset({"gethostbyname", "gethostbyname_ex", "getaddrinfo", "gethostbyaddr"})
"""What is asked of an own name here is its address: another one in every pod of either generation."""
_CUTS = frozenset({
    "split", "rsplit", "partition", "rpartition", "removeprefix", "removesuffix", "replace", "translate", "isdigit", "isnumeric",
    "startswith", "endswith", "find", "rfind", "index", "rindex", "count", "encode_rank", "lstrip", "rstrip",
})  # fmt: skip
_SPLITS = frozenset({"split", "rsplit", "partition", "rpartition"})
_PATTERNS = frozenset({"search", "match", "fullmatch", "findall", "finditer", "sub", "subn", "split"})
_NUMBERS = frozenset({"int", "hash", "crc32", "adler32", "md5", "sha1", "sha256", "ord"})
_KEEPERS = frozenset(
    {"str", "repr", "open", "Path", "list", "next", "PurePath", "format", "check_output", "getoutput", "popen", "run"}
)
_LOOK_UPS = frozenset({"get", "index", "pop", "setdefault"})
_SESSIONS = frozenset({"requests", "session", "httpx", "client", "http"})
_WORDS = re.compile(
    r"\bgethostname\s*\(|\bgetfqdn\s*\(|\bplatform\.node\s*\(|\bos\.uname\s*\(|/etc/hostname\b|/proc/sys/kernel/hostname\b"
    r"|(?:environ|getenv)\b[^\n]{0,12}?[\"'](?P<variable>[A-Z][A-Z0-9_]*)[\"']"
)
_CUT_WORDS = re.compile(r"split\(|partition\(|\bre\.|\[-?\d|\bint\(|==|!=|\bin\b|endswith|startswith")


def reads(code: str, variables: Mapping[str, str]) -> list[Read]:
    """Every place at which the code takes a value of the pod. `variables` are those of the environment that hold one, with what
    each is called. Never fails."""
    tree = python_code.parsed(code)
    if tree is None:
        return [*_mentions(code, variables)]
    return _Code(code, tree, variables).reads()


def _mentions(code: str, variables: Mapping[str, str]) -> Iterator[Read]:
    for match in _WORDS.finditer(code):
        variable = match["variable"]
        if variable is None or variable in variables:
            line = line_of(code, match.start())
            decides = bool(_CUT_WORDS.search(line))
            name = HOST_NAME if variable is None else variables[variable]
            yield Read(name, match.start(), decides, decides and takes_last_number(line))


class _Code:
    def __init__(self, code: str, tree: ast.Module, variables: Mapping[str, str]) -> None:
        self._code = code
        self._tree = tree
        self._variables = variables
        self._lines = python_code.Lines(code)
        self._imported = {
            alias.asname or alias.name: alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
        self._holders: dict[str, tuple[str, int]] = {}
        """Names that hold a value: what it is called, where it was read first."""
        self._lists: set[str] = set()
        """Names that hold a list of whole values."""

    def reads(self) -> list[Read]:
        found: dict[int, Read] = {}
        sources = [(node, name) for node in ast.walk(self._tree) if (name := self._source(node))]
        if not sources:
            return []
        self._follow()
        for node, name in sources:
            start, _ = self._lines.span(node)
            found[start] = Read(name, start, decides=False)
        for node in ast.walk(self._tree):
            for held in self._decided(node):
                name, start = held
                written = ast.unparse(self._statement(node))
                before = found.get(start)
                is_last = takes_last_number(written) and (before is None or not before.decides or before.takes_last_number)
                found[start] = Read(name, start, True, is_last)
        for node in ast.walk(self._tree):
            # What is done with an address that is asked for by a name does not depend on the name.
            if isinstance(node, ast.Call) and _called(node) in _ADDRESSES:
                for inner in ast.walk(node):
                    if inner is not node and self._source(inner):
                        found.pop(self._lines.span(inner)[0], None)
        return sorted(found.values(), key=lambda read: read.start)

    def _source(self, node: ast.AST) -> str:
        """What the expression takes of the pod; empty when nothing."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return HOST_NAME if node.value in OF_HOST_NAME else HOSTS_FILE if node.value == HOSTS_FILE else ""
        if isinstance(node, ast.Call):
            return self._source_of_call(node)
        variable = python_code.variable_read(node) if isinstance(node, ast.Subscript) else None
        return self._variables.get(variable, "") if variable else ""

    def _source_of_call(self, node: ast.Call) -> str:
        name = self._imported.get(_called(node), _called(node))
        owner = ast.unparse(node.func.value) if isinstance(node.func, ast.Attribute) else ""
        if name in _HOST_NAME_CALLS or (name == "node" and (owner == "platform" or "node" in self._imported)):
            return HOST_NAME
        if name == "uname" and (owner in ("os", "platform") or not owner):
            return HOST_NAME
        if name in _SHELL_CALLS and node.args:
            return self._asked_of_shell(node.args[0])
        variable = python_code.variable_read(node)
        return self._variables.get(variable, "") if variable else ""

    def _asked_of_shell(self, words: ast.expr) -> str:
        """What a command prints of the pod that is written out in the code."""
        from shunter.migrate.launch import shell_reads

        text = ""
        if isinstance(words, ast.Constant) and isinstance(words.value, str):
            text = words.value
        elif isinstance(words, (ast.List, ast.Tuple)):
            text = " ".join(word.value for word in words.elts if isinstance(word, ast.Constant) and isinstance(word.value, str))
        return next((read.name for read in shell_reads.reads(text, self._variables)), "")

    def _follow(self) -> None:
        """Names that hold a value, until no more are found."""
        while True:
            known = len(self._holders)
            for node in ast.walk(self._tree):
                for target, value in _assignments(node):
                    if (held := self._held(value)) and ast.unparse(target) not in self._holders:
                        self._holders[ast.unparse(target)] = held
                        if self._is_list(value) and not isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
                            self._lists.add(ast.unparse(target))
            if len(self._holders) == known:
                return

    def _held(self, node: ast.AST | None, depth: int = 0) -> tuple[str, int] | None:
        """The value that an expression holds a part of: as text, not within a structure."""
        if node is None or depth > 40:
            return None
        if name := self._source(node):
            return name, self._lines.span(node)[0]
        inner: list[ast.AST | None] = []
        if isinstance(node, (ast.Name, ast.Attribute)):
            if held := self._holders.get(ast.unparse(node)):
                return held
            inner = [node.value] if isinstance(node, ast.Attribute) else []
        elif isinstance(node, ast.Call):
            inner = self._of_call(node)
        elif isinstance(node, (ast.Subscript, ast.Await, ast.NamedExpr, ast.FormattedValue, ast.Starred)):
            inner = [node.value]
        elif isinstance(node, ast.BinOp):
            inner = [node.left, node.right]
        elif isinstance(node, (ast.JoinedStr, ast.BoolOp)):
            inner = [*node.values]
        elif isinstance(node, ast.IfExp):
            inner = [node.body, node.orelse]
        elif isinstance(node, (ast.ListComp, ast.GeneratorExp, ast.SetComp)):
            inner = [generator.iter for generator in node.generators]
        return next((held for one in inner if (held := self._held(one, depth + 1))), None)

    def _of_call(self, node: ast.Call) -> list[ast.AST | None]:
        name = _called(node)
        if isinstance(node.func, ast.Name):
            if held_by := self._holders.get(f"{name}()"):
                return [ast.Name(f"{name}()")] if held_by else []
            return [*node.args] if name in _KEEPERS | _NUMBERS else []
        if isinstance(node.func, ast.Attribute):
            if ast.unparse(node.func.value) == "re" or name in _NUMBERS | _KEEPERS:
                return [node.func.value, *node.args]
            return [node.func.value, ast.Name(f"{ast.unparse(node.func)}()")]
        return []

    def _decided(self, node: ast.AST) -> Iterator[tuple[str, int]]:
        """The values that something is cut out of here, that are compared, or taken for a rank."""
        operands: list[ast.AST | None] = []
        if isinstance(node, ast.Call):
            operands = self._decided_by_call(node)
        elif isinstance(node, ast.Compare) and any(isinstance(op, (ast.Eq, ast.NotEq, ast.In, ast.NotIn)) for op in node.ops):
            sides = [node.left, *node.comparators]
            if not any(isinstance(side, ast.Constant) and side.value in ("", None) for side in sides):
                operands = [*sides]
        elif isinstance(node, ast.Subscript):
            if isinstance(node.ctx, ast.Store):
                operands = []
            elif not self._source(node):
                is_uname = isinstance(node.value, ast.Call) and _called(node.value) == "uname"
                operands = [node.slice, *([] if is_uname or self._is_list(node.value) else [node.value])]
        elif isinstance(node, ast.keyword) and node.arg and is_rank(node.arg):
            operands = [node.value]
        elif isinstance(node, ast.Match):
            operands = [node.subject]
        for target, value in _assignments(node):
            named = (
                target.slice.value
                if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant)
                else ast.unparse(target)
            )
            if is_rank(str(named)):
                operands.append(value)
        for operand in operands:
            if held := self._held(operand):
                yield held

    def _decided_by_call(self, node: ast.Call) -> list[ast.AST | None]:
        name = _called(node)
        if isinstance(node.func, ast.Attribute):
            owner = node.func.value
            if ast.unparse(owner) == "re" and name in _PATTERNS:
                return [*node.args]
            is_cut = name in _CUTS | _PATTERNS and not _keeps_names(node)
            operands: list[ast.AST | None] = [owner] if is_cut else []
            if name in _PATTERNS - {"split", "sub"} or (name in _LOOK_UPS and ast.unparse(owner).split(".")[-1] not in _SESSIONS):
                operands += [] if python_code.variable_read(node) else node.args[:1]
            return [*operands, *(node.args if name in _NUMBERS else [])]
        return [*node.args] if name in _NUMBERS else []

    def _is_list(self, node: ast.AST) -> bool:
        """Whether the expression is a list of whole names: `addresses.split(",")`."""
        if isinstance(node, (ast.ListComp, ast.GeneratorExp)):
            return self._is_list(node.generators[0].iter)
        if isinstance(node, ast.Call) and _called(node) in {"list", "tuple", "sorted"} and node.args:
            return self._is_list(node.args[0])
        if isinstance(node, ast.Call):
            return _called(node) in _SPLITS and _keeps_names(node)
        return ast.unparse(node) in self._lists

    def _statement(self, node: ast.AST) -> ast.AST:
        """The smallest statement's worth of code around the node: itself, or the assignment on its line."""
        line = getattr(node, "lineno", 0)
        around = [
            one
            for one in ast.walk(self._tree)
            if isinstance(one, (ast.Assign, ast.AnnAssign, ast.Return, ast.Expr))
            and one.lineno <= line <= (one.end_lineno or line)
        ]
        return around[-1] if around else node


def _assignments(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What is given a value, and the value. A function is `name()`, and what it returns its value."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            names = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
            yield from ((name, node.value) for name in names)
    elif isinstance(node, (ast.AnnAssign, ast.AugAssign, ast.NamedExpr)):
        yield from [(node.target, node.value)] if node.value is not None else []
    elif isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
        yield node.target, node.iter
    elif isinstance(node, (ast.withitem)) and node.optional_vars is not None:
        yield node.optional_vars, node.context_expr
    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        for inner in ast.walk(node):
            if isinstance(inner, ast.Return) and inner.value is not None:
                yield ast.Name(f"{node.name}()"), inner.value


def _called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id if isinstance(node.func, ast.Name) else ""


def _keeps_names(node: ast.Call) -> bool:
    """Whether the call cuts at most between names, or what is blank around them."""
    first = node.args[0] if node.args else None
    if _called(node) in _SPLITS:
        return first is None or (isinstance(first, ast.Constant) and first.value in BETWEEN_NAMES)
    return _called(node) in {"lstrip", "rstrip"} and first is None
