"""Which commands Python code starts, written as a shell would read them: `ssh -p 22 $` for `run(["ssh", "-p", "22", host])`."""

from __future__ import annotations

import ast
import shlex
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from shunter.api.late_patterns import late_pattern
from shunter.jobs.commands.shells import SHELLS, shell_operands
from shunter.migrate.conversion.commands import python_code
from shunter.migrate.conversion.commands.python_code import called, given

UNKNOWN = "$"
"""What is only known when the code runs."""
_RUN = frozenset({"run", "call", "check_call", "check_output", "Popen", "system", "popen", "getoutput", "getstatusoutput"}) | {
    "create_subprocess_shell",
    "spawn",
}
"""Their first argument is a command: a list of words, or a text."""
_RUN_WORDS = frozenset({"create_subprocess_exec", "subprocess_exec", "Command"})
"""Each argument is a word."""
_COMMAND_KEYWORDS = frozenset({"args", "cmd", "command"})
_OF_OS = frozenset({
    "execl", "execle", "execlp", "execlpe", "execv", "execve", "execvp", "execvpe", "posix_spawn", "posix_spawnp",
    "spawnl", "spawnle", "spawnlp", "spawnlpe", "spawnv", "spawnve", "spawnvp", "spawnvpe",
})  # fmt: skip
"""Functions of `os` that take a path and then all words, the first one again; those with an `l` each as an argument."""
_BINDS_ANY = frozenset({"globals", "locals", "vars", "setattr", "exec", "eval", "__dict__", "__setattr__"})
"""By these, code gives names values without writing the names."""
STARTS = _RUN | _RUN_WORDS | _OF_OS
"""The functions by which code starts commands."""
_KEEP_TEXT = frozenset({"str", "quote", "fspath", "Path"})
_KEEP_WORDS = frozenset({"list", "tuple"})
_PERCENT = late_pattern(r"%(?:\(\w*\))?[-#0 +]*[\d.*]*[a-zA-Z]")
_BRACES = late_pattern(r"\{[^{}]*\}")
_DEEPEST = 40
"""Expressions within expressions that are looked into."""
_MOST = 50
"""Values of one name that are looked at, and names that are followed from one expression."""
_MOST_STEPS = 300
"""Expressions that are looked into for one command, a hundred letters of a text counted as one: `x = x + x` has no end, and
`b = a + a; c = b + b; ...` a far one."""


class PythonCommand(NamedTuple):
    """A command of the code."""

    text: str
    """The command as a shell reads it, with a dollar for what is unknown."""
    start: int
    """Where the code writes its first word."""
    is_run: bool
    """Whether it is passed to a function that starts it; a list may be kept for another one to do so, or be none."""


class Connection(NamedTuple):
    """A use of a library for ssh."""

    hosts: tuple[str, ...]
    """The hosts that the code names, with a dollar for what is not known; empty when it names none."""
    start: int
    """Where the library is imported."""


@lru_cache(maxsize=256)
def commands(code: str) -> tuple[PythonCommand, ...]:
    """The commands that the code contains as literals, in order; empty for code that cannot be parsed."""
    tree = python_code.parsed(code)
    return () if tree is None else tuple(sorted({*_Code(code, tree).commands()}, key=lambda command: command.start))


@lru_cache(maxsize=256)
def connection(code: str, modules: frozenset[str], functions: frozenset[str]) -> Connection | None:
    """How the code uses one of the modules, whose functions take a host first; None when it imports none of them, or cannot be
    parsed."""
    tree = python_code.parsed(code)
    return None if tree is None else _Code(code, tree).connection(modules, functions)


class _Code:
    def __init__(self, code: str, tree: ast.Module) -> None:
        self._nodes = [*ast.walk(tree)]
        self._lines = python_code.Lines(code)
        self._imported = {
            alias.asname: alias.name
            for node in self._nodes
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
            if alias.asname
        }
        self._values: dict[str, list[ast.expr]] = defaultdict(list)
        """What names hold, parameters of functions with it."""
        self._added: dict[str, list[ast.expr]] = defaultdict(list)
        """What is put behind the words of a list, each a list itself, or behind a text."""
        self._changing: set[str] = set()
        """Names of which not every value is written out: parameters, and what loops go through."""
        self._elements: dict[str, list[ast.expr]] = defaultdict(list)
        """What loops go through, by the name that they give it."""
        self._in_turn: dict[str, ast.expr] = {}
        """Of a name of such a loop the element that is looked at."""
        self._steps_left = _MOST_STEPS
        for node in self._nodes:
            self._learn(node)
        for target, value in given(self._nodes):
            self._keep(self._values, target, value)
        self._binds = Counter(name for node in self._nodes for name in _bound(node))
        """How often the code gives each name a value, or may."""
        self._loads = Counter(node.id for node in self._nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load))
        self._looped = Counter(one.id for iters in self._elements.values() for one in iters if isinstance(one, ast.Name))
        """How often loops go through what a name holds."""
        self._constants = {id(node.value) for node in tree.body if isinstance(node, ast.Assign) and len(node.targets) == 1}
        """What the module's own statements give names."""
        self._is_bound_unseen = any(_binds_unseen(node) for node in self._nodes)

    def _learn(self, node: ast.AST) -> None:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                self._keep(self._values, target, node.value)
        elif isinstance(node, (ast.AnnAssign, ast.NamedExpr)) and node.value is not None:
            self._keep(self._values, node.target, node.value)
        elif isinstance(node, ast.AugAssign):
            self._keep(self._added, node.target, node.value)
            self._changing.add(_name(node.target))
        elif isinstance(node, ast.withitem) and node.optional_vars is not None:
            self._keep(self._values, node.optional_vars, node.context_expr)
        elif isinstance(node, ast.arg):
            self._changing.add(node.arg)
        elif isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
            self._changing |= {one.id for one in ast.walk(node.target) if isinstance(one, ast.Name)}
            if isinstance(node.target, ast.Name):
                self._elements[node.target.id].append(node.iter)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and len(node.args) == 1:
            if node.func.attr == "append":
                self._keep(self._added, node.func.value, ast.List(node.args))
            elif node.func.attr == "extend":
                self._keep(self._added, node.func.value, node.args[0])

    def _keep(self, where: dict[str, list[ast.expr]], target: ast.expr, value: ast.expr) -> None:
        if name := _name(target):
            where[name].append(value)

    def commands(self) -> Iterator[PythonCommand]:
        others = {id(other) for node in self._nodes for other in _no_commands(node)}
        names = {id(value): name for name, values in self._values.items() for value in values}
        for node in self._nodes:
            if isinstance(node, ast.Call):
                for value in self._run_by(node):
                    yield from self._commands_of(value)
            elif isinstance(node, (ast.List, ast.Tuple)) and id(node) not in others and node.elts:
                for element in self._turns(node):
                    self._in_turn, self._steps_left = element, _MOST_STEPS
                    words = self._with_added(self._words(node) or [], names.get(id(node), ""))
                    yield PythonCommand(_shell_text(words), self._start(node.elts[0]), is_run=False)
                self._in_turn = {}

    def connection(self, modules: frozenset[str], functions: frozenset[str]) -> Connection | None:
        imports = next((node for node in self._nodes if _imports(node, modules)), None)
        if imports is None:
            return None
        imported = [(name, _imports(alone, modules)) for node in self._nodes for name, alone in _imported_alone(node)]
        others = frozenset(name for name, _ in imported) - {name for name, is_of_modules in imported if is_of_modules}
        texts = []
        for node in self._nodes:
            if isinstance(node, ast.Call) and called(node) in functions and not self._is_of(others, node.func, set()):
                self._steps_left = _MOST_STEPS
                texts += self._hosts(node)
        return Connection(tuple(texts), self._start(imports))

    def _hosts(self, node: ast.Call) -> list[str]:
        """The one to which the call connects; none for a call that says none, as that of paramiko's Transport, which has it."""
        owner = self._value(node.func.value) if isinstance(node.func, ast.Attribute) else None
        if isinstance(owner, ast.Call) and called(owner) == "Transport":
            return []
        given_hosts = [*node.args[:1], *(one.value for one in node.keywords if one.arg in {"host", "hostname", "hosts"})][:1]
        return [(self._words(host) or [self._text(host)])[0] for host in given_hosts]

    def _is_of(self, others: frozenset[str], node: ast.expr, followed: set[str]) -> bool:
        """Whether the expression is surely a part of these modules, or made by them; `followed` are the names that led to it."""
        while (name := _name(node)) not in self._values:
            if isinstance(node, (ast.Attribute, ast.Subscript, ast.Await)):
                node = node.value
            elif isinstance(node, ast.Call) and called(node) not in {"import_module", "__import__"}:
                node = node.func
            else:
                return isinstance(node, ast.Name) and node.id in others
        if name in followed or len(followed) >= _MOST:
            return name in followed
        followed.add(name)
        return all(self._is_of(others, value, followed) for value in self._values[name])

    def _run_by(self, node: ast.Call) -> list[ast.expr]:
        """The expressions that the call starts: of a call with one word an argument, a list of them."""
        name = self._imported.get(called(node), called(node))
        if name in _OF_OS:
            words = node.args[2 if name.startswith("spawn") else 1 :]
            return [ast.List(words)] if name.startswith(("execl", "spawnl")) else words[:1]
        if name in _RUN_WORDS:
            return [ast.List(node.args)]
        return [*node.args[:1], *(one.value for one in node.keywords if one.arg in _COMMAND_KEYWORDS)] if name in _RUN else []

    def _commands_of(self, node: ast.expr) -> Iterator[PythonCommand]:
        """What it is to start the expression, for each value that it may have."""
        for value, name in self._alternatives(node, set()):
            for element in self._turns(value):
                self._in_turn = element
                yield from self._command_of(value, name)
            self._in_turn = {}

    def _turns(self, node: ast.expr) -> Iterator[dict[str, ast.expr]]:
        """The elements that a name in the expression stands for, one after the other, where loops over lists that are written
        out give them and nothing else does."""
        names = (one.id for one in ast.walk(node) if isinstance(one, ast.Name))
        looped = next((name for name in names if name in self._elements), "")
        lists = [self._written_out(one) for one in self._elements.get(looped, ())]
        elements = [element for one in lists for element in one]
        is_certain = all(lists) and self._binds[looped] == len(lists) and not self._is_bound_unseen
        yield from ({looped: one} for one in elements) if elements and is_certain and len(elements) <= _MOST else [{}]

    def _written_out(self, node: ast.expr) -> Sequence[ast.expr]:
        """The elements of a list of texts that stands here, or that a name always holds; none of anything else."""
        if isinstance(node, ast.Name):
            held: Sequence[ast.expr] = self._values.get(node.id, ())
            is_only_looped = self._binds[node.id] == len(held) == 1 and self._loads[node.id] == self._looped[node.id]
            if not is_only_looped or id(held[0]) not in self._constants:
                return ()
            node = held[0]
        elements = node.elts if isinstance(node, (ast.List, ast.Tuple, ast.Set)) else ()
        is_text = all(isinstance(one, ast.Constant) and isinstance(one.value, str) for one in elements)
        return elements if is_text else ()

    def _command_of(self, value: ast.expr, name: str) -> Iterator[PythonCommand]:
        """What it is to start the value, which the name holds."""
        self._steps_left = _MOST_STEPS
        words = self._words(value)
        if words is not None:
            words = self._with_added(words, name)
            first = value.elts[0] if isinstance(value, (ast.List, ast.Tuple)) and value.elts else value
            text = _of_shell(words) or _shell_text(words)
        else:
            first = value
            text = self._text(value) + "".join(self._text(added) for added in islice(self._added.get(name, ()), _MOST))
        if hasattr(first, "lineno"):
            yield PythonCommand(text, self._start(first), is_run=True)

    def _with_added(self, words: Sequence[str], name: str) -> list[str]:
        """The words, and those that are put behind them in the list of that name."""
        return [*words, *(word for added in islice(self._added.get(name, ()), _MOST) for word in self._words(added) or [UNKNOWN])]

    def _alternatives(self, node: ast.expr, followed: set[str], name: str = "") -> Iterator[tuple[ast.expr, str]]:
        """The values that the expression may have, and the name that holds each. A name that was `followed` is not again: the
        `cmd` of a function may be given the `cmd` of another one."""
        inner: Sequence[ast.expr] = ()
        if isinstance(node, (ast.Name, ast.Attribute)):
            name = _name(node)
            if name in followed or len(followed) >= _MOST:
                return
            followed.add(name)
            inner = self._values.get(name, ())
        elif isinstance(node, ast.IfExp):
            inner = [node.body, node.orelse]
        elif isinstance(node, ast.BoolOp):
            inner = node.values
        elif isinstance(node, ast.NamedExpr):
            inner = [node.value]
        else:
            yield node, name
        for value in islice(inner, _MOST):
            yield from self._alternatives(value, followed, name)

    def _value(self, node: ast.expr) -> ast.expr:
        """What a name holds that is given one value; any other expression itself."""
        name = _name(node)
        if name in self._in_turn:
            return self._in_turn[name]
        if not name or name in self._changing:
            return node
        held = self._values.get(name, ())
        return held[0] if len(held) == 1 else node

    def _words(self, node: ast.expr, depth: int = 0) -> list[str] | None:
        """The words of a list; None for an expression that is none."""
        if self._is_too_far(depth):
            return None
        node = self._value(node)
        if isinstance(node, (ast.List, ast.Tuple)):
            found: list[str] = []
            for one in node.elts:
                words = self._words(one.value, depth + 1) or [UNKNOWN] if isinstance(one, ast.Starred) else [self._text(one)]
                found += words
            return found
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            left, right = self._words(node.left, depth + 1), self._words(node.right, depth + 1)
            return None if left is None and right is None else [*(left or [UNKNOWN]), *(right or [UNKNOWN])]
        if isinstance(node, ast.Call) and called(node) == "split":
            is_shlex = len(node.args) > 0 and (not isinstance(node.func, ast.Attribute) or _name(node.func.value) == "shlex")
            text = node.args[0] if is_shlex else node.func.value if isinstance(node.func, ast.Attribute) else None
            return _split(self._text(text)) if text is not None else None
        if isinstance(node, ast.Call) and called(node) in _KEEP_WORDS and node.args:
            return self._words(node.args[0], depth + 1)
        return None

    def _text(self, node: ast.expr, depth: int = 0) -> str:
        """The text that the expression is, with a dollar for each part that is not known."""
        if self._is_too_far(depth):
            return UNKNOWN
        text = python_code.constant(node)
        if text is not None:
            self._steps_left -= len(text) // 100
            return text
        node = self._value(node)
        if isinstance(node, ast.Constant):
            return self._text(node, depth + 1) if isinstance(node.value, (str, bytes)) else str(node.value)
        if isinstance(node, ast.JoinedStr):
            return "".join(self._text(part, depth + 1) for part in node.values)
        if isinstance(node, ast.FormattedValue):
            return self._text(node.value, depth + 1)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            return self._text(node.left, depth + 1) + self._text(node.right, depth + 1)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
            values = node.right.elts if isinstance(node.right, ast.Tuple) else [node.right]
            texts = iter([self._text(value, depth + 1) for value in values])
            return _PERCENT.sub(lambda _: next(texts, UNKNOWN), self._text(node.left, depth + 1))
        return self._text_of_call(node, depth) if isinstance(node, ast.Call) else UNKNOWN

    def _text_of_call(self, node: ast.Call, depth: int) -> str:
        if called(node) in _KEEP_TEXT and node.args:
            return self._text(node.args[0], depth + 1)
        if called(node) == "join" and isinstance(node.func, ast.Attribute) and node.args:
            words = self._words(node.args[0], depth + 1)
            owner = node.func.value
            return shlex.join(words) if words and _name(owner) == "shlex" else self._text(owner).join(words or [UNKNOWN])
        if called(node) == "format" and isinstance(node.func, ast.Attribute):
            return _BRACES.sub(UNKNOWN, self._text(node.func.value, depth + 1))
        return UNKNOWN

    def _is_too_far(self, depth: int) -> bool:
        """Whether this step, which it counts, is one too many."""
        self._steps_left -= 1
        return self._steps_left < 0 or depth > _DEEPEST

    def _start(self, node: ast.AST) -> int:
        return self._lines.span(node)[0]


def _bound(node: ast.AST) -> Iterator[str]:
    """The names to which the node gives a value, or lets others do so."""
    if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        yield node.id
    elif isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
        yield node.attr  # may be that of a module
    elif isinstance(node, ast.alias):
        yield (node.asname or node.name).partition(".")[0]
    elif isinstance(node, ast.arg):
        yield node.arg
    elif isinstance(node, (ast.Global, ast.Nonlocal)):
        yield from node.names
    elif isinstance(node, ast.MatchMapping):
        yield node.rest or ""
    elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield node.name or ""


def _binds_unseen(node: ast.AST) -> bool:
    """Whether it may give any name a value."""
    if isinstance(node, ast.alias):
        return node.name == "*"
    if isinstance(node, ast.Attribute):
        return node.attr in _BINDS_ANY - {"eval"}  # as models have it
    return isinstance(node, ast.Name) and node.id in _BINDS_ANY


def _imported_alone(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """What the code calls each thing that the statement imports, and a statement that imports only that."""
    if isinstance(node, ast.Import):
        yield from ((alias.asname or alias.name.partition(".")[0], ast.Import([alias])) for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        yield from ((one.asname or one.name, ast.ImportFrom(node.module, [one], node.level)) for one in node.names)


def _no_commands(node: ast.AST) -> Iterator[ast.expr]:
    """Lists and tuples within it that are not kept to be run: compared or unpacked ones, and tuples that are arguments."""
    if isinstance(node, ast.Compare):
        yield from (node.left, *node.comparators)
    elif isinstance(node, ast.Assign) and any(isinstance(target, (ast.Tuple, ast.List)) for target in node.targets):
        yield node.value
    elif isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)) and isinstance(node.target, (ast.Tuple, ast.List)):
        yield from node.iter.elts if isinstance(node.iter, (ast.List, ast.Tuple, ast.Set)) else ()
    elif isinstance(node, ast.Call):
        given_values = [*node.args, *(one.value for one in node.keywords)]
        yield from (one.value for one in given_values if isinstance(one, ast.Starred))
        yield from (one for one in given_values if isinstance(one, ast.Tuple))


def _name(node: ast.expr) -> str:
    """What the code calls it: `cmd`, `self.cmd`; empty for any other expression, and for more names than anybody writes."""
    names = list[str]()
    while isinstance(node, ast.Attribute) and len(names) < _DEEPEST:
        names.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(names)]) if isinstance(node, ast.Name) else ""


def _imports(node: ast.AST, modules: frozenset[str]) -> bool:
    if isinstance(node, ast.Import):
        return any(alias.name in modules or alias.name.partition(".")[0] in modules for alias in node.names)
    if isinstance(node, ast.ImportFrom) and not node.level:
        module = node.module or ""
        return module.partition(".")[0] in modules or any(f"{module}.{alias.name}" in modules for alias in node.names)
    is_import = isinstance(node, ast.Call) and called(node) in {"import_module", "__import__"} and bool(node.args)
    return is_import and isinstance(node, ast.Call) and python_code.literal_text(node.args[0]) in modules


def _of_shell(words: Sequence[str]) -> str:
    """The text that a shell among the words runs; empty when there is none."""
    if not words or words[0].rpartition("/")[2] not in SHELLS:
        return ""
    operands = shell_operands(words)
    return next(iter(words[operands.start :]), "") if operands.is_text else ""


def _shell_text(words: Sequence[str]) -> str:
    if len(words) == 1:
        return words[0]  # With `shell=True` the one word of a list is a whole command.
    return " ".join(word if word == UNKNOWN else shlex.quote(word) for word in words)


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()
