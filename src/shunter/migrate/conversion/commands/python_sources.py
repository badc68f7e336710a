"""Which expressions of Python code are values of the pod: its host name, a variable, a file, what a command prints of it."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from shunter.api.late_patterns import late_pattern
from shunter.migrate.conversion.commands import python_code
from shunter.migrate.conversion.commands.reads import HOST_NAME, TF_CONFIG, ReadShell, paths, sought

_HOST_NAME_CALLS = frozenset(
    {"gethostname", "getfqdn", "gethostbyaddr", "getnameinfo", "resolve_address", "from_address", "Get_processor_name"}
)
_SHELL_CALLS = frozenset(
    {"system", "popen", "check_output", "run", "getoutput", "getstatusoutput", "call", "check_call", "Popen"}
)
_READERS = frozenset({"get", "getenv", "pop", "getenvb"})
_MARKS = frozenset({"lower", "upper", "casefold", "IGNORECASE"})
"""What shows that names are compared in any case."""
_OF_UNAME = frozenset({"node", "nodename"})
_COPIES = frozenset({"copy", "deepcopy", "dict"})
_OWN_NAME = late_pattern(r"_?(?:get_?)?(?:my_?|own_?|local_?|fq_?)?host_?name", re.IGNORECASE)
"""Functions without arguments, of whatever library, that are called as what they return."""
_NAMES_FILES: Mapping[str, tuple[int, frozenset[str]]] = {
    "SummaryWriter": (0, frozenset({"log_dir", "logdir"})),
    "tensorboard_trace_handler": (1, frozenset({"worker_name"})),
}
"""What puts the host name into the name of a directory or a file (runs/DATE_HOST, HOST_PID.TIME.pt.trace.json) unless an argument
says another: at which position, and by which keyword."""
PREFIXES = frozenset({"auto_envvar_prefix", "auto_env_var_prefix", "env_prefix", "_env_prefix", "envvar_prefix", "prefixed"})
"""What click, typer, ConfigArgParse, pydantic, jsonargparse, dynaconf and environs call the beginning of the names of variables
that they fill options from."""
_OPTION = late_pattern(r"(?:--)?[A-Za-z]\w*(?:-\w+)*")
_NAMED_LATER = late_pattern(r"\$\{(?:oc\.)?env:[^}]*\$\{")
"""A variable of the environment whose name is put together when a setting is read: `${oc.env:${prefix}NAME}`."""
_RESOLVERS = frozenset({"TFConfigClusterResolver"})
"""What reads TF_CONFIG for a program."""


class Sources:
    """The expressions of one text. `variables` are those of the environment that hold a value, with what each is called;
    `in_shell` reads the commands that the text starts."""

    def __init__(self, nodes: Sequence[ast.AST], variables: Mapping[str, str], in_shell: ReadShell) -> None:
        self._variables, self._in_shell = variables, in_shell
        self._imported = {
            alias.asname or alias.name: alias.name for node in nodes if isinstance(node, ast.ImportFrom) for alias in node.names
        }
        self._environments: set[str] = set()
        """Names that hold a copy of the environment."""
        self._readers: set[str] = set()
        """Names that hold `os.environ.get`."""
        for node in nodes:
            if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                if self._is_environment(node.value):
                    self._environments.add(node.targets[0].id)
                elif isinstance(node.value, ast.Attribute) and node.value.attr in _READERS:
                    self._readers.add(node.targets[0].id)
        self._looked_for = self._sought(nodes)
        self._others = self._other_parts(nodes)
        self._settings = {
            id(field)
            for node in nodes
            if isinstance(node, ast.ClassDef) and any("Settings" in ast.unparse(base) for base in node.bases)
            for field in node.body
        }
        """Fields of classes that a library fills from variables of their names."""
        self._keys = {id(key) for node in nodes for key in _keys(node)}
        self._prefixes = frozenset(prefix for node in nodes for prefix in _prefixes(node))

    def value(self, node: ast.AST) -> str:
        """What the expression takes of the pod; empty when nothing."""
        if id(node) in self._others:
            return ""
        if (text := python_code.constant(node)) is not None and (name := self._of_text(text)):
            return name
        if isinstance(node, ast.Call):
            return self._of_call(node)
        if isinstance(node, ast.Attribute) and node.attr in _HOST_NAME_CALLS:
            return HOST_NAME
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
            return self._of_key(node.value, node.slice)
        return ""

    def mention(self, node: ast.AST) -> str:
        """What a text names that may be a variable's: `["RANK", "HOSTNAME"]`; empty when none does."""
        if id(node) in self._settings and isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            return self._variables.get(node.target.id.upper(), "") or self._behind_a_prefix(node.target.id)
        if self._prefixes and (found := [*filter(None, map(self._behind_a_prefix, _options(node)))]):
            return found[0]
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str) or id(node) in self._keys:
            return ""
        if node.value in _HOST_NAME_CALLS:
            return HOST_NAME
        if _NAMED_LATER.search(node.value):
            return self._looked_for
        return self._variables.get(node.value) or next((called for _, called in self._put_in(node.value)), "")

    def _behind_a_prefix(self, option: str) -> str:
        """The variable that a library makes of the option's name and a prefix."""
        words = option.lstrip("-").replace("-", "_").upper()
        names = (f"{prefix.upper()}{joint}{words}" for prefix in self._prefixes for joint in ("", "_"))
        return next((self._variables[name] for name in names if name in self._variables), "")

    def _put_in(self, text: str) -> Iterator[tuple[int, str]]:
        """The variables that something puts into the text: `${oc.env:HOSTNAME}`."""
        for match in re.finditer(r"\$\{?(?:[\w.]+:)?(\w+)", text):
            if match[1] in self._variables:
                yield match.start(), self._variables[match[1]]

    def _of_text(self, text: str) -> str:
        """What is read with a file of that name."""
        found = next((name for name, start in paths(text) if start == 0), "")
        return found or (self._variables.get(text, "") if text.startswith("/") else "")

    def _of_key(self, owner: ast.expr, key: ast.expr) -> str:
        """What stands under a key: of an environment also one that is made when the program runs."""
        name = python_code.constant(key)
        if name is not None:
            return self._variables.get(name) or (self._variables.get(name.upper(), "") if self._is_environment(owner) else "")
        is_position = isinstance(key, (ast.Constant, ast.Slice, ast.UnaryOp))
        return self._looked_for if not is_position and self._is_environment(owner) else ""

    def _of_call(self, node: ast.Call) -> str:
        called_as = python_code.called(node)
        name = self._imported.get(called_as, called_as)
        owner = ast.unparse(node.func.value) if isinstance(node.func, ast.Attribute) else ""
        if name in _HOST_NAME_CALLS or (name == "node" and (owner == "platform" or "node" in self._imported)):
            return HOST_NAME
        if name == "uname" and (owner in ("os", "platform") or not owner):
            return HOST_NAME
        if name in _SHELL_CALLS and node.args:
            return self._asked_of_shell(node.args[0])
        if name in {"items", "values"} and isinstance(node.func, ast.Attribute) and self._is_environment(node.func.value):
            return self._looked_for
        if name == "getattr" and len(node.args) > 1 and python_code.constant(node.args[1]) in {"uname", *_HOST_NAME_CALLS}:
            return HOST_NAME
        if name == "expandvars" and node.args:
            return next((called for _, called in self._put_in(python_code.constant(node.args[0]) or "")), "")
        if name in _NAMES_FILES and not _says_file(node, *_NAMES_FILES[name]):
            return HOST_NAME
        if not node.args and _OWN_NAME.fullmatch(name):
            return HOST_NAME
        if name in _RESOLVERS:
            return self._variables.get(TF_CONFIG, "")
        if node.args and (name in _READERS or called_as in self._readers):
            return self._of_key(node.func.value if isinstance(node.func, ast.Attribute) else node.func, node.args[0])
        return ""

    def _asked_of_shell(self, words: ast.expr) -> str:
        """What a command prints of the pod that is written out in the code."""
        text = python_code.constant(words) or ""
        if isinstance(words, (ast.List, ast.Tuple)):
            text = " ".join(filter(None, map(python_code.constant, words.elts)))
        elif isinstance(words, ast.Call) and not text:
            text = " ".join(_texts([*ast.walk(words)]))
        return next((read.name for read in self._in_shell(text, self._variables)), "")

    def _is_environment(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Name) and (node.id in self._environments or self._imported.get(node.id) == "environ"):
            return True
        if python_code.is_environ(node):
            return True
        if isinstance(node, ast.DictComp):
            return any(self._is_environment(part) for part in ast.walk(node.generators[0].iter) if isinstance(part, ast.expr))
        if isinstance(node, ast.Call) and python_code.called(node) in _COPIES:
            return any(
                map(self._is_environment, [*node.args, *([node.func.value] if isinstance(node.func, ast.Attribute) else [])])
            )
        if isinstance(node, ast.Dict):
            return any(key is None and self._is_environment(value) for key, value in zip(node.keys, node.values, strict=True))
        return isinstance(node, ast.BinOp) and (self._is_environment(node.left) or self._is_environment(node.right))

    def _sought(self, nodes: Sequence[ast.AST]) -> str:
        """The variable that a loop over all variables would look for in this text: one whose name begins with a text in it."""
        marks = _MARKS & {*map(_word, nodes)} if any(map(self._is_searched, nodes)) else ()
        wanted = sought(self._variables, " ".join([*_texts(nodes), *marks]))
        return self._variables[wanted[0]] if wanted else ""

    def _is_searched(self, node: ast.AST) -> bool:
        """Whether it goes through all variables."""
        if isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
            return self._is_environment(node.iter)
        if not isinstance(node, ast.Call):
            return False
        owner = node.func.value if isinstance(node.func, ast.Attribute) else None
        is_listed = owner is not None and python_code.called(node) in {"items", "keys", "values"} and self._is_environment(owner)
        return is_listed or any(map(self._is_environment, node.args))

    def _other_parts(self, nodes: Sequence[ast.AST]) -> set[int]:
        """Where uname is called or looked up and something else is taken than the host name: `os.uname().machine`. Also where a
        function is looked up to see whether there is one."""
        found = set()
        for node in nodes:
            part = node.value if isinstance(node, (ast.Attribute, ast.Subscript)) else None
            if isinstance(part, ast.Call) and (uname := _of_uname(part)) is not None:
                is_host = (
                    node.attr in _OF_UNAME
                    if isinstance(node, ast.Attribute)
                    else isinstance(node, ast.Subscript) and not (isinstance(node.slice, ast.Constant) and node.slice.value != 1)
                )
                if not is_host:
                    found.add(id(uname))
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                found.add(id(node.func))  # the call is the value
            found |= {id(tested) for tested in _tested(node) if _is_look_up(tested)}
        return found


def _prefixes(node: ast.AST) -> list[str]:
    """The beginnings of names of variables that the node gives to a library of options: as an argument, in a class or in a
    dictionary, by `env.prefixed("POD_")`."""
    pairs: list[tuple[str | None, ast.expr]] = []
    if isinstance(node, ast.keyword):
        pairs = [(node.arg, node.value)]
    elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        pairs = [(node.targets[0].id, node.value)]
    elif isinstance(node, ast.Dict):
        pairs = [(python_code.constant(key), value) for key, value in zip(node.keys, node.values, strict=True) if key is not None]
    elif isinstance(node, ast.Call) and python_code.called(node) == "prefixed":
        pairs = [("prefixed", one) for one in node.args[:1]]
    texts = (python_code.constant(value) for name, value in pairs if name in PREFIXES)
    return [text for text in texts if text is not None]


def _options(node: ast.AST) -> list[str]:
    """What the node may name options by: a text, a field of a class, the parameters of a function."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and _OPTION.fullmatch(node.value):
        return [node.value]
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return [node.target.id]
    return python_code.parameters(node) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) else []


def _says_file(call: ast.Call, position: int, keywords: Collection[str]) -> bool:
    """Whether the argument is there and not None; what is handed on by `*` and `**` may be it."""
    if any(isinstance(one, ast.Starred) for one in call.args) or any(keyword.arg is None for keyword in call.keywords):
        return True
    given = [*call.args[position : position + 1], *(keyword.value for keyword in call.keywords if keyword.arg in keywords)]
    return any(not (isinstance(one, ast.Constant) and one.value is None) for one in given)


def _of_uname(call: ast.Call) -> ast.Call | None:
    """What of a call of uname names it: the call itself, or that of getattr which is called again."""
    if python_code.called(call) == "uname":
        return call
    looked_up = call.func
    if isinstance(looked_up, ast.Call) and _is_look_up(looked_up) and python_code.constant(looked_up.args[1]) == "uname":
        return looked_up
    return None


def _is_look_up(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and python_code.called(node) == "getattr" and len(node.args) > 1


def _tested(node: ast.AST) -> list[ast.expr]:
    """Expressions of which it only counts whether they are true."""
    if isinstance(node, (ast.If, ast.While, ast.IfExp, ast.Assert)):
        return [node.test, *(node.test.values if isinstance(node.test, ast.BoolOp) else ())]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return [node.operand]
    if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
        return node.values[:-1]
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.Is, ast.IsNot)):
        return [node.left]
    return node.args if isinstance(node, ast.Call) and python_code.called(node) in {"bool", "callable"} else []


def _keys(node: ast.AST) -> list[ast.AST]:
    """Texts that name what is set or printed, or that a value is asked for by, which is the value itself."""
    if isinstance(node, ast.Subscript):
        return [node.slice]
    if isinstance(node, ast.Dict):
        return [key for key in node.keys if key is not None]
    if isinstance(node, ast.Compare):
        return [node.left, *node.comparators]
    if isinstance(node, ast.Call):
        return (
            [*node.args]
            if python_code.called(node) in {"print", "startswith", "setdefault", "getattr", "expandvars", *_READERS}
            else []
        )
    return []


def _word(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else ""


def _texts(nodes: Sequence[ast.AST]) -> list[str]:
    return [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
