"""Reading Python code: where it takes the host name or a variable, and what it does with it.

Values are followed through assignments and what functions of the same text return, not into what they are given. Code that cannot
be parsed is searched for words.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise

from shunter.migrate.conversion.commands import python_code
from shunter.migrate.conversion.commands.mentions import mentions
from shunter.migrate.conversion.commands.nested_programs import nested_programs
from shunter.migrate.conversion.commands.python_code import called
from shunter.migrate.conversion.commands.python_sources import Sources
from shunter.migrate.conversion.commands.reads import (
    BETWEEN_NAMES,
    LOCAL,
    TF_CONFIG,
    Read,
    ReadShell,
    is_rank,
    takes_last_number,
    takes_size,
)

ALL_ADDRESSES = frozenset({"getaddrinfo", "gethostbyname_ex"})
"""Functions of the module `socket` that return all addresses of a name."""
ADDRESSES = ALL_ADDRESSES | {"gethostbyname"}
"""What is asked of an own name here is its address: another one in every pod of either generation."""
_CUTS = frozenset({
    "split", "rsplit", "partition", "rpartition", "removeprefix", "removesuffix", "replace", "translate", "isdigit", "isnumeric",
    "startswith", "endswith", "find", "rfind", "index", "rindex", "count", "encode_rank", "lstrip", "rstrip",
})  # fmt: skip
_SPLITS = frozenset({"split", "rsplit", "partition", "rpartition"})
_LINES = frozenset({"splitlines", "readlines"})
_PATTERNS = frozenset({"search", "match", "fullmatch", "findall", "finditer", "sub", "subn", "split"})
_NUMBERS = frozenset({
    "int", "hash", "crc32", "adler32", "md5", "sha1", "sha224", "sha256", "sha384", "sha512", "blake2b", "blake2s", "ord",
    "seed", "manual_seed", "Random", "RandomState", "SeedSequence", "default_rng",
})  # fmt: skip
_FOLDS = frozenset({"reduce", "sum"})
"""Those of Python make a number of a name; those of other owners, such as a metric or MPI's, need not."""
_KEEPERS = frozenset(
    {
        "str",
        "repr",
        "open",
        "Path",
        "list",
        "map",
        "bytes",
        "bytearray",
        "next",
        "PurePath",
        "format",
        "check_output",
        "getoutput",
        "popen",
        "run",
        "loads",
        "resolve",
        "query",
    }
)
_LOOK_UPS = frozenset({"get", "index", "pop", "setdefault"})
_SESSIONS = frozenset({"requests", "session", "httpx", "client", "http"})
_OF_TASK = frozenset({"task", "environment"})
"""What TF_CONFIG says beside the names of hosts: the same in both generations."""
_OF_RESOLVER = frozenset({
    "task_type", "task_id", "task_index", "task_indices", "num_tasks", "num_accelerators", "jobs", "environment", "rpc_layer",
})  # fmt: skip
"""What TensorFlow's resolver says beside them."""
_PARSERS = frozenset({"parse_args", "parse_known_args", "parse_intermixed_args", "parse_known_intermixed_args"})
_STEPS_OF_JSON = 3
"""`cluster`, a role and an index lead to a name in TF_CONFIG."""


def reads(code: str, variables: Mapping[str, str], in_shell: ReadShell) -> list[Read]:
    """Every place at which the code takes a value of the pod. `variables` are those of the environment that hold one, with what
    each is called; `in_shell` reads the commands and scripts that the code holds. Never fails."""
    return [*_reads(code, tuple(variables.items()), in_shell)]


@lru_cache(maxsize=1024)
def _reads(code: str, variables: tuple[tuple[str, str], ...], in_shell: ReadShell) -> tuple[Read, ...]:
    tree = python_code.parsed(code)
    found = mentions(code, dict(variables)) if tree is None else _Code(code, tree, dict(variables), in_shell).reads()
    return tuple(found)


class _Code:
    def __init__(self, code: str, tree: ast.Module, variables: Mapping[str, str], in_shell: ReadShell) -> None:
        self._code, self._variables, self._in_shell = code, variables, in_shell
        self._nodes = [*ast.walk(tree)]
        self._lines = python_code.Lines(code)
        self._sources = Sources(self._nodes, variables, in_shell)
        self._statements = [node for node in self._nodes if isinstance(node, (ast.Assign, ast.AnnAssign, ast.Return, ast.Expr))]
        self._holders: dict[str, tuple[str, int]] = {}
        """Names that hold a value: what it is called, where it was read first."""
        self._steps: dict[str, int] = {}
        """Of names that hold lists of whole values: how many steps lead to one, two in `[["a"]]`."""
        self._options: set[str] = set()
        """Names that hold the options that argparse has read."""

    def reads(self) -> list[Read]:
        found: dict[int, Read] = {}
        for node in self._nodes:
            if name := self._sources.value(node) or self._sources.mention(node):
                start = self._start(node)
                found[start] = Read(name, start, decides=False)
        lines = {self._line(start) for start in found}
        nested = [read for read in self._nested() if read.decides or self._line(read.start) not in lines]
        if not found and not nested:
            return []
        self._follow()
        for node in self._nodes:
            for name, start in self._decided(node):
                written = ast.unparse(self._statement(node))
                if takes_size(name, written):
                    continue
                before = found.get(start)
                is_last = takes_last_number(written) and (before is None or not before.decides or before.takes_last_number)
                found[start] = Read(name, start, True, is_last)
        for node in self._nodes:
            # What is done with an address that is asked for by a name does not depend on the name.
            if isinstance(node, ast.Call) and called(node) in ADDRESSES:
                for inner in ast.walk(node):
                    if inner is not node and self._sources.value(inner):
                        found.pop(self._start(inner), None)
        for read in nested:
            if read.start not in found or read.decides:
                found[read.start] = read
        return sorted(found.values(), key=lambda read: read.start)

    def _line(self, start: int) -> int:
        """Where its line begins."""
        return self._code.rfind("\n", 0, start)

    def _nested(self) -> list[Read]:
        """What programs within the code read, where the code writes them."""
        found = []
        for language, text, start in nested_programs(self._code, self._nodes, self._lines):
            is_python = language == "python"
            inner = reads(text, self._variables, self._in_shell) if is_python else self._in_shell(text, self._variables)
            found += [read._replace(start=start) for read in inner]
        return found

    def _start(self, node: ast.AST) -> int:
        return self._lines.span(node)[0]

    def _follow(self) -> None:
        """Names that hold a value, until no more are found."""
        assignments = [
            (ast.unparse(target), value, isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)))
            for node in self._nodes
            for target, value in _assignments(node)
        ]
        if any(target.startswith(".") for target, _, _ in assignments):
            given = [(ast.unparse(target), value) for target, value in python_code.given(self._nodes)]
            self._options = _options([*given, *((target, value) for target, value, _ in assignments)])
        known = -1
        while known != len(self._holders):
            known = len(self._holders)
            for target, value, is_loop in assignments:
                if target not in self._holders and (held := self._held(value)):
                    self._holders[target] = held
                    if steps := self._steps_of(value) - is_loop:
                        self._steps[target] = steps

    def _held(self, node: ast.AST | None, depth: int = 0) -> tuple[str, int] | None:
        """The value that an expression holds a part of: as text, not within a structure."""
        if node is None or depth > 40:
            return None
        if name := self._sources.value(node):
            return name, self._start(node)
        inner: list[ast.AST | None] = []
        if isinstance(node, (ast.Name, ast.Attribute)):
            if held := self._holders.get(ast.unparse(node)):
                return held
            if isinstance(node, ast.Attribute):
                option = self._holders.get(f".{node.attr}")
                if option and _holds_options(node.value, self._options):
                    return option
                inner = [node.value]
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
        held = next((held for one in inner if (held := self._held(one, depth + 1))), None)
        return None if held and held[0] == TF_CONFIG and _is_of_task(node) else held

    def _of_call(self, node: ast.Call) -> list[ast.AST | None]:
        name = called(node)
        if isinstance(node.func, ast.Name):
            if held_by := {name, f"{name}()"} & self._holders.keys():
                return [ast.Name(one) for one in held_by]
            return [*node.args] if name in _KEEPERS or _makes_number(node) else []
        if isinstance(node.func, ast.Attribute):
            if ast.unparse(node.func.value) == "re" or name in _KEEPERS or _makes_number(node):
                return [node.func.value, *node.args]
            return [node.func.value, ast.Name(f"{ast.unparse(node.func)}()")]
        return [node.func] if isinstance(node.func, ast.Call) else []  # getattr(os, "uname")()

    def _decided(self, node: ast.AST) -> Iterator[tuple[str, int]]:
        """The values that something is cut out of here, that are compared, or taken for a rank."""
        operands: list[ast.AST | None] = []
        if isinstance(node, ast.Call):
            operands = self._decided_by_call(node)
        elif isinstance(node, ast.Compare) and any(isinstance(op, (ast.Eq, ast.NotEq, ast.In, ast.NotIn)) for op in node.ops):
            sides = [node.left, *node.comparators]
            compared = [pair for pair in pairwise(sides) if not any(map(_is_no_name, pair))]
            operands = [side for pair in compared for side in pair]
        elif isinstance(node, ast.Subscript):
            if isinstance(node.ctx, ast.Store):
                operands = []
            elif not self._sources.value(node):
                is_record = isinstance(node.value, ast.Call) and (
                    called(node.value) in {"uname", "gethostbyaddr"} or isinstance(node.value.func, ast.Call)
                )
                operands = [node.slice, *([] if is_record or self._steps_of(node.value) else [node.value])]
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
        name = called(node)
        if isinstance(node.func, ast.Attribute):
            owner = node.func.value
            if ast.unparse(owner) == "re" and name in _PATTERNS:
                return [*node.args]
            is_cut = name in _CUTS | _PATTERNS and not _keeps_names(node)
            operands: list[ast.AST | None] = [owner] if is_cut else []
            if name in _PATTERNS - {"split", "sub"} or (name in _LOOK_UPS and ast.unparse(owner).split(".")[-1] not in _SESSIONS):
                operands += [] if python_code.variable_read(node) else node.args[:1]
            return [*operands, *(node.args if _makes_number(node) else [])]
        return [*node.args] if _makes_number(node) else []

    def _steps_of(self, node: ast.AST) -> int:
        """How many steps lead from what the expression holds to whole names: one from `addresses.split(",")`; 0 for a name."""
        if isinstance(node, (ast.ListComp, ast.GeneratorExp)):
            takes_field = isinstance(node.elt, ast.Subscript) and self._steps_of(node.elt.value) == 1  # [line.split()[0] for ...]
            return self._steps_of(node.generators[0].iter) or int(takes_field)
        if isinstance(node, ast.Subscript):
            return max(self._steps_of(node.value) - (not isinstance(node.slice, ast.Slice)), 0)
        if isinstance(node, ast.Call):
            return self._steps_of_call(node)
        return self._steps.get(ast.unparse(node), 0)

    def _steps_of_call(self, node: ast.Call) -> int:
        name = called(node)
        if name in {"list", "tuple", "sorted"} and node.args:
            return self._steps_of(node.args[0])
        if name in {"loads", "load", "as_dict"}:
            return _STEPS_OF_JSON
        if name in {"items", "values", "get"} and isinstance(node.func, ast.Attribute):
            return max(self._steps_of(node.func.value) - (name == "get"), 0)
        return int(name in _LINES or (name in _SPLITS and _keeps_names(node)))

    def _statement(self, node: ast.AST) -> ast.AST:
        """The smallest statement's worth of code around the node: itself, or the assignment on its line."""
        line = getattr(node, "lineno", 0)
        around = [one for one in self._statements if one.lineno <= line <= (one.end_lineno or line)]
        return around[-1] if around else node


def _is_no_name(node: ast.AST) -> bool:
    """Whether it is nothing that a pod is called in either generation."""
    if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
        return bool(node.elts) and all(map(_is_no_name, node.elts))
    return isinstance(node, ast.Constant) and (node.value in ("", None) or node.value in LOCAL)


def _assignments(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What is given a value, and the value. A function is `name()`, and what it returns its value."""
    if isinstance(node, ast.Assign):
        if isinstance(node.value, ast.Lambda):
            yield from ((ast.Name(f"{ast.unparse(target)}()"), node.value.body) for target in node.targets)
        for target in node.targets:
            names = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
            names = names[:1] if _splits_port(node.value) else names
            yield from ((name, node.value) for name in names)
    elif isinstance(node, (ast.AnnAssign, ast.AugAssign, ast.NamedExpr)):
        yield from [(node.target, node.value)] if node.value is not None else []
    elif isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
        is_of_pairs = isinstance(node.iter, ast.Call) and called(node.iter) in {"items", "enumerate"}
        yield node.target.elts[-1] if is_of_pairs and isinstance(node.target, ast.Tuple) else node.target, node.iter
    elif isinstance(node, ast.Call) and called(node) == "add_argument":
        yield from _default(node)
    elif isinstance(node, ast.Call) and called(node) == "gethostname" and node.args:  # of C: it fills in what it is given
        yield node.args[0], node
    elif isinstance(node, (ast.withitem)) and node.optional_vars is not None:
        yield node.optional_vars, node.context_expr
    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        for inner in ast.walk(node):
            if isinstance(inner, ast.Return) and inner.value is not None:
                yield ast.Name(f"{node.name}()"), inner.value


def _default(node: ast.Call) -> Iterator[tuple[ast.expr, ast.expr]]:
    """The default of an option of argparse. It is `.name` of all options: that of `dest`, of the first long form,
    or of the first one."""
    given = {keyword.arg: keyword.value for keyword in node.keywords}
    options = [text for word in node.args if (text := python_code.constant(word))]
    option = next((one for one in options if one.startswith("--")), next(iter(options), ""))
    name = python_code.constant(given["dest"]) if "dest" in given else option.lstrip("-").replace("-", "_")
    if name and "default" in given:
        yield ast.Name(f".{name}"), given["default"]


def _options(assigned: Sequence[tuple[str, ast.expr]]) -> set[str]:
    """The names, and functions as `name()`, that hold the options that argparse has read."""
    found: set[str] = set()
    known = -1
    while known != len(found):
        known = len(found)
        found |= {target for target, value in assigned if _holds_options(value, found)}
    return found


def _holds_options(node: ast.expr, names: Collection[str]) -> bool:
    if isinstance(node, ast.Call):
        return called(node) in _PARSERS or f"{called(node)}()" in names
    if isinstance(node, ast.Tuple):  # as `parse_known_args` returns them
        return any(_holds_options(one, names) for one in node.elts)
    if isinstance(node, (ast.Subscript, ast.NamedExpr)):
        return _holds_options(node.value, names)
    return isinstance(node, (ast.Name, ast.Attribute)) and ast.unparse(node) in names


def _splits_port(node: ast.expr) -> bool:
    """Whether a host and its port are separated."""
    is_split = isinstance(node, ast.Call) and called(node) in _SPLITS
    return is_split and any(isinstance(one, ast.Constant) and one.value == ":" for one in getattr(node, "args", ()))


def _is_of_task(node: ast.AST) -> bool:
    """Whether it takes what is no host, if what it is taken out of is TF_CONFIG: `config["task"]`, `resolver.task_id`."""
    key: ast.expr | None = None
    if isinstance(node, ast.Attribute):
        return node.attr in _OF_RESOLVER
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _OF_RESOLVER:
        return True
    if isinstance(node, ast.Subscript):
        key = node.slice
    elif isinstance(node, ast.Call) and called(node) == "get" and node.args:
        key = node.args[0]
    return isinstance(key, ast.Constant) and key.value in _OF_TASK


def _makes_number(node: ast.Call) -> bool:
    is_of_python = isinstance(node.func, ast.Name) or ast.unparse(node.func) == "functools.reduce"
    return called(node) in _NUMBERS or (called(node) in _FOLDS and is_of_python and not _adds_lengths(node))


def _adds_lengths(node: ast.Call) -> bool:
    """Whether it adds how many of something there are, whatever they are: `sum(len(hosts) for hosts in cluster.values())`."""
    first = node.args[0] if node.args else None
    if isinstance(first, ast.Call) and called(first) == "map" and first.args:
        return isinstance(first.args[0], ast.Name) and first.args[0].id == "len"
    return isinstance(first, (ast.GeneratorExp, ast.ListComp)) and isinstance(first.elt, ast.Call) and called(first.elt) == "len"


def _keeps_names(node: ast.Call) -> bool:
    """Whether the call cuts at most between names, or what is blank around them."""
    first = node.args[0] if node.args else None
    if called(node) in _SPLITS:
        return first is None or (isinstance(first, ast.Constant) and first.value in BETWEEN_NAMES)
    return called(node) in {"lstrip", "rstrip"} and first is None
